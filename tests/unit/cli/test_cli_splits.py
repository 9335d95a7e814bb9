"""A trainer's config that names a part of a split of local files: its rows, and no others."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CONFIGS = {
    "axolotl": (
        "base_model: builtin:chatml\nsequence_len: 99\ndatasets:\n"
        "  - {path: d.jsonl, type: chat_template, split: 'train[20%:50%]'}\n"
    ),
    "llamafactory": (
        "model_name_or_path: builtin:chatml\nstage: sft\ndataset_dir: .\ndataset: d\ntemplate: chatml\ncutoff_len: 99\n"
    ),
    "trl": (
        "model_name_or_path: builtin:chatml\nmax_length: 99\n"
        "datasets:\n  - {path: json, data_files: d.jsonl, split: 'train[20%:50%]'}\n"
    ),
    "torchtune": (
        "tokenizer: {_component_: torchtune.models.qwen2_5.qwen2_5_tokenizer, path: vocab.json,\n"
        "  merges_file: merges.txt}\n"
        "dataset: {_component_: torchtune.datasets.chat_dataset, source: json, data_files: d.jsonl,\n"
        "  conversation_column: messages, conversation_style: openai, split: 'train[20%:50%]'}\n"
    ),
}


@pytest.mark.parametrize("trainer", CONFIGS)
def test_a_config_takes_the_part_that_it_names(
    sftui: Callable[..., Any], trainer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        {"messages": [{"role": "user", "content": f"Hi {i}"}, {"role": "assistant", "content": "Yes"}]}
        for i in range(10)
    ]
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    tags = {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"}
    entry = {"file_name": "d.jsonl", "formatting": "sharegpt", "columns": {"messages": "messages"}, "tags": tags}
    (tmp_path / "dataset_info.json").write_text(json.dumps({"d": {**entry, "split": "train[20%:50%]"}}))
    (tmp_path / "c.yaml").write_text(CONFIGS[trainer])
    monkeypatch.chdir(tmp_path)
    done = sftui("encode", "c.yaml", "--trainer", trainer, "-t", "builtin:chatml", "--explain", "-o", "-")
    assert done.code == 0, done.err
    told = ["".join(one["tokens"]) for one in done.records()]
    assert [one["row"] for one in done.records()] == [0, 1, 2]
    assert all(str(i) in text for i, text in zip((2, 3, 4), told))
