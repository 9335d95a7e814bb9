"""Configs that sftui writes, given to the real v1 engine: its loader reads them, and it makes the samples that sftui
showed (marker parity).

Rows and settings are compared in test_parity_trainers.py, as every trainer's are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import record as recorder
from case import environment, home, shared_folder
from emulate import of_config, rows_of
from trainers.llamafactory_v1 import rows as v1_rows

from sftui import pipeline
from sftui.recipe import changed
from sftui.session.verifying import piece
from sftui.sources import SourceSpec, open_source
from sftui.tokens import load_tokenizer
from sftui.trainers import preset, trainer_named
from sftui.trainers.config import DatasetRef, Facts
from sftui.trainers.own_config import write_config
from sftui.trainers.training import stand_ins
from sftui.trainers.verify.difference import parting
from sftui.trainers.verify.session import read_result

pytestmark = [pytest.mark.parity, pytest.mark.shared]
TRAINER, VERSION = "llamafactory-v1", "0.9.6"
TEMPLATE = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>' }}\n{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}{# \"quoted\": ünï #}"
)
OWN = {"render.template": "llamafactory-v1/custom", "own.custom_chat_template": TEMPLATE}
ROWS: Mapping[str, list[dict[str, Any]]] = {
    "samples": v1_rows.made()[:40],
    "sharegpt": v1_rows.sharegpt()[:40],
    "alpaca": v1_rows.alpaca()[:40],
}
FRESH: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "plain": ("alpaca", {}),
    "cut": ("samples", {"length.max": 150, **OWN}),
    "own_template": ("samples", OWN),
    "builtin_template": ("sharegpt", {"render.template": "builtin:chatml", "batch.size": 3}),
    "padding_free": ("samples", {"batch.flatten": True, "length.max": 90, **OWN}),
    "by_tokens": ("alpaca", {"own.dynamic": True, "length.max": 256, "batch.size": 2}),
    "by_tokens_free": ("alpaca", {"own.dynamic": True, "batch.flatten": True}),
}
OPENED = (
    "### ours\nmodel: x   # a comment\nmodel_class: llm\npeft_config:\n  name: lora\n  r: 16\n"
    "train_dataset: ds.yaml\ncutoff_len: 512\nlearning_rate: 1.0e-4\n"
)


def write(name: str, folder: Path, tokenizer: Path) -> DatasetRef:
    """The files of one round trip, and what sftui reads in them afterwards."""
    trainer = trainer_named(TRAINER)
    data, knobs = FRESH.get(name, ("samples", {"length.max": 77, "batch.flatten": True, **OWN}))
    path = folder / f"{data}.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS[data]))
    opened = None
    recipe = preset(TRAINER)
    if name not in FRESH:
        (folder / "ds.yaml").write_text(f"rows:\n  path: {path.name}\n  source: local\n")
        (folder / "v1.yaml").write_text(OPENED)
        opened = trainer.read_config(str(folder / "v1.yaml"), OPENED)
        recipe = opened.recipe
    for knob, value in knobs.items():
        recipe = changed(recipe, knob, value)
    source = open_source(SourceSpec((str(path),)))
    rows = list(source.rows())
    source.close()
    named = changed(recipe, "tokenizer.name", str(tokenizer))
    facts = Facts(
        data=str(path),
        tokenizer=str(tokenizer),
        format=pipeline.detect(rows, recipe).format,
        template_source=next(
            iter(pipeline.make_toolbox(recipe, load_tokenizer(str(tokenizer))).templates.values())
        ).source,
        given=stand_ins(named),
    )
    written = write_config(recipe, opened, facts)
    assert not written.losses
    for file in written.files:
        (folder / file.name).write_text(file.content)
    main = written.files[0]
    return trainer.read_config(str(folder / main.name), main.content).datasets[0]


def test_written_configs_do_what_was_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if not environment(TRAINER, VERSION).exists():
        pytest.skip(f"the v1 engine of LLaMA-Factory {VERSION} has no environment: see tests/parity/README.md")
    tokenizer = shared_folder() / "testdata" / "tokenizers" / "qwen2.5"
    if not tokenizer.is_dir():
        pytest.skip(f"the shared test data is not at {shared_folder()}")
    expected, stops, requests = {}, {}, []
    home().mkdir(parents=True, exist_ok=True)
    for name in (*FRESH, "edited"):
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.chdir(folder)
        reference = write(name, folder, tokenizer)
        ours = of_config(TRAINER, rows_of(reference), reference, tokenizer)
        expected[name] = [piece(example) for _, row in sorted(ours.rows.items()) for example in row]
        stops[name] = sorted(ours.problems)
        config = "llamafactory_v1_sft.yaml" if name in FRESH else "v1.yaml"
        requests.append(
            {
                "tokenizer": str(tokenizer),
                "config_file": str(folder / config),
                "output": str(folder / "out.jsonl"),
            }
        )
    for name, request, answer in zip(expected, requests, recorder.ask(TRAINER, VERSION, requests)):
        _, records = read_result(Path(request["output"]))
        assert [one["row"] for one in records if one["kind"] == "refused"] == stops[name], (name, answer["error"])
        theirs = [one for one in records if one["kind"] == "row"]
        assert theirs and len(theirs) == len(expected[name]), (name, answer["error"])
        for one, (ids, labels, weights) in zip(theirs, expected[name]):
            assert (one["input_ids"], one["labels"]) == (ids, labels), name
            assert parting(one["loss_weights"], weights, weights=True) is None, name
    with capsys.disabled():
        print(
            f"\n{len(expected)} written configs give the v1 engine {sum(map(len, expected.values()))} samples, all as"
            f" shown, and stop it at {sum(map(len, stops.values()))} rows"
        )
