"""Configs in JSON, which six trainers take, and data in JSON beside them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROW = {"messages": [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Hi."}]}
TAGS = {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"}
INFO = {"d": {"file_name": "d.jsonl", "formatting": "sharegpt", "columns": {"messages": "messages"}, "tags": TAGS}}
MODEL = "builtin:chatml"
CHAT = "nemo_automodel.components.datasets.llm.chat_dataset.ChatDataset"
CONFIGS: dict[str, dict[str, Any]] = {
    "ms-swift": {"model": MODEL, "template": "qwen2_5", "dataset": ["d.jsonl"]},
    "llamafactory": {
        "model_name_or_path": MODEL,
        "stage": "sft",
        "dataset_dir": ".",
        "dataset": "d",
        "template": "chatml",
    },
    "axolotl": {"base_model": MODEL, "sequence_len": 99, "datasets": [{"path": "d.jsonl", "type": "chat_template"}]},
    "trl": {"model_name_or_path": MODEL, "dataset_name": "d.jsonl", "max_length": 99},
    "mlx-lm": {"model": MODEL, "data": ".", "max_seq_length": 99, "num_layers": 4, "train": True},
    "nemo-automodel": {
        "model": {"pretrained_model_name_or_path": MODEL},
        "dataset": {"_target_": CHAT, "path_or_dataset_id": "d.jsonl"},
    },
}
DATA = (
    [ROW, ROW],
    ROW,
    {"train": [ROW]},
    {"data": [ROW, ROW], "version": 1},
    {"model": "x", "messages": ROW["messages"]},
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("d.jsonl", "train.jsonl"):
        (tmp_path / name).write_text((json.dumps(ROW) + "\n") * 4)
    (tmp_path / "dataset_info.json").write_text(json.dumps(INFO))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("indent", [None, "\t"])
@pytest.mark.parametrize("trainer", CONFIGS)
def test_a_json_config_opens_and_is_written_as_json(
    sftui: Callable[..., Any], folder: Path, trainer: str, indent: str | None, named: bool
) -> None:
    (folder / "c.json").write_text(json.dumps(CONFIGS[trainer], indent=indent))
    words = ("--trainer", trainer) if named else ()
    done = sftui("encode", "c.json", "-o", "-", *words)
    assert done.code == 0 and len(done.records()) == 4, done.err
    done = sftui("export", "c.json", "--to", trainer, "--set", "length.max=77", "-o", "out", *words)
    assert done.code == 0, done.err
    if trainer == "ms-swift":
        assert "max_length: 77" in (folder / "out/ms_swift.yaml").read_text()
        return
    written = json.loads((folder / "out/c.json").read_text())
    assert (
        77 in (*written.values(), *written.get("dataset", {}).values())
        if trainer == "nemo-automodel"
        else 77 in written.values()
    )
    again = sftui("encode", "out/c.json", "-o", "-", *words)
    assert again.code == 0 and len(again.records()) == 4, again.err


@pytest.mark.parametrize("data", DATA)
def test_data_in_json_stays_data(sftui: Callable[..., Any], folder: Path, data: Any) -> None:
    (folder / "rows.json").write_text(json.dumps(data))
    for words in ((), ("--trainer", "ms-swift"), ("--trainer", "trl"), ("--trainer", "mlx-lm")):
        done = sftui("encode", "rows.json", "-t", MODEL, "-o", "-", *words)
        assert "config, because" not in done.err and "the config" not in done.err
