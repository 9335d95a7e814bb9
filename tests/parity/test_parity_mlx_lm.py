"""Configs that sftui writes, given to the real mlx-lm: its own loader reads them, and it makes the rows that sftui
showed; flags beside a config win over it as sftui takes them (marker parity).

Rows and settings are compared in test_parity_trainers.py, as every trainer's are.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import record as recorder
from case import environment, home, shared_folder
from emulate import of_config, rows_of
from trainers.mlx_lm import rows as mlx_rows

from sftui import pipeline
from sftui.recipe import changed
from sftui.session.verifying import piece
from sftui.sources import SourceSpec, open_source
from sftui.trainers import preset, trainer_named
from sftui.trainers.config import DatasetRef, Facts
from sftui.trainers.own_config import write_config
from sftui.trainers.verify.session import read_result

pytestmark = [pytest.mark.parity, pytest.mark.shared]
TRAINER, VERSION = "mlx-lm", "0.32.2"
MASKED = {"mask.rule": "completion"}
ROWS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "chats": mlx_rows.chats(),
    "pairs": mlx_rows.pairs(),
    "texts": mlx_rows.texts(),
    "named": [{"chat" if key == "messages" else key: one for key, one in row.items()} for row in mlx_rows.chats()],
}
FRESH: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "plain": ("pairs", {}),
    "masked": ("pairs", MASKED),
    "texts": ("texts", {"length.max": 40}),
    "cut": ("chats", {"length.max": 33, "batch.size": 2, **MASKED}),
    "columns": ("named", {"data.fields": {"messages": "chat"}, **MASKED}),
    "no_limit": ("texts", {"length.max": 500_000}),
}
OPENED: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "edited": ("pairs", "max_seq_length: 512  # ours\nlearning_rate: 1e-5\n", {"length.max": 31, **MASKED}),
    "unmasked": ("chats", "mask_prompt: yes\nlora_parameters: {rank: 4}\n", {"mask.rule": "all"}),
    "null_keys": ("texts", "max_seq_length: null\nmask_prompt: ~\nbatch_size:\n", {"length.max": 64}),
    "a_text_is_true": ("pairs", "mask_prompt: 'false'\n", {}),
    "loader": (
        "texts",
        "hf_dataset:\n  path: json\n  train_split: train\n  valid_split: train\n"
        "  config: {data_files: data/train.jsonl}\n",
        {"length.max": 48},
    ),
    "loaders": (
        "texts",
        "hf_dataset:\n- path: json\n  train_split: train[:50%]\n  valid_split: train\n  text_feature: text\n"
        "  config: {data_files: data/train.jsonl}\n",
        {},
    ),
}
FLAGS: Mapping[str, tuple[str, str, str, Mapping[str, Any]]] = {
    "flag_over_config": ("pairs", "max_seq_length: 20\n", "--max-seq-length 50", {"length.max": 50}),
    "flag_beside_config": ("pairs", "max_seq_length: 50\n", "--mask-prompt", MASKED),
    "flag_over_false": ("chats", "mask_prompt: false\n", "--mask-prompt --batch-size 2", {**MASKED, "batch.size": 2}),
}


def plain(rows: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Rows of text alone, as a loader of one type a column takes them."""
    return [row for row in rows if isinstance(row.get("text"), str)]


def prepared(name: str, folder: Path, tokenizer: Path) -> tuple[DatasetRef, dict[str, Any]]:
    """What sftui reads of the config of one round trip, and the request that hands the same to mlx-lm."""
    trainer = trainer_named(TRAINER)
    data, flags = folder / "data" / "train.jsonl", ""
    if name in FRESH:
        rows, knobs = FRESH[name]
        text = None
    elif name in OPENED:
        rows, text, knobs = OPENED[name]
    else:
        rows, text, flags, knobs = FLAGS[name]
    held = ROWS[rows] if "hf_dataset" not in (text or "") else plain(ROWS[rows])
    data.parent.mkdir()
    data.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in held), encoding="utf-8")
    opened, recipe = None, preset(TRAINER)
    if text is not None:
        text = f"model: {tokenizer}\ntrain: true\ndata: data\n{text}"
        (folder / "lora.yaml").write_text(text)
        opened = trainer.read_config(str(folder / "lora.yaml"), text)
        recipe = opened.recipe
    for knob, value in knobs.items():
        recipe = changed(recipe, knob, value)
    request: dict[str, Any] = {"tokenizer": str(tokenizer), "output": str(folder / "out.jsonl"), "folder": str(folder)}
    if flags:
        assert opened is not None
        reference = opened.datasets[0]
        request |= {"config_file": str(folder / "lora.yaml"), "flags": shlex.split(flags)}
        return DatasetRef(reference.name, reference.paths, recipe), request
    source = open_source(SourceSpec((str(data),)))
    found = pipeline.detect(list(source.rows()), recipe)
    source.close()
    facts = Facts(data=str(data), tokenizer=str(tokenizer), format=found.format)
    written = write_config(recipe, opened, facts)
    assert not written.losses
    [file] = written.files
    (folder / file.name).write_text(file.content)
    request["config_file"] = str(folder / file.name)
    return trainer.read_config(str(folder / file.name), file.content).datasets[0], request


def test_written_configs_and_flags_do_what_was_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if not environment(TRAINER, VERSION).exists():
        pytest.skip(f"mlx-lm {VERSION} has no environment: run tests/parity/environments.py mlx-lm")
    tokenizer = shared_folder() / "testdata" / "tokenizers" / "qwen2.5"
    if not tokenizer.is_dir():
        pytest.skip(f"the shared test data is not at {shared_folder()}")
    home().mkdir(parents=True, exist_ok=True)
    expected, stops, requests = {}, {}, []
    for name in (*FRESH, *OPENED, *FLAGS):
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.chdir(folder)
        reference, request = prepared(name, folder, tokenizer)
        source = open_source(SourceSpec(reference.paths, split=reference.split))
        rows = list(source.rows()) if reference.split else rows_of(reference)
        source.close()
        ours = of_config(TRAINER, rows, reference, tokenizer)
        expected[name] = {row: piece(example) for row, (example,) in ours.rows.items()}
        stops[name] = sorted(ours.problems)
        requests.append(request)
    for name, request, answer in zip(expected, requests, recorder.ask(TRAINER, VERSION, requests)):
        _, records = read_result(Path(request["output"]))
        assert [one["row"] for one in records if one["kind"] == "refused"] == stops[name], (name, answer["error"])
        theirs = {one["row"]: (one["input_ids"], one["labels"]) for one in records if one["kind"] == "row"}
        assert theirs, (name, answer["error"])
        assert theirs == {row: (ids, labels) for row, (ids, labels, _) in expected[name].items()}, name
    with capsys.disabled():
        made, stopped = (sum(map(len, some.values())) for some in (expected, stops))
        print(f"\n{len(expected)} configs and flags give mlx-lm {made} rows, all as shown, and stop it at {stopped}")
