"""Configs that sftui writes, given to the real LLaMA-Factory: it must make the ids and labels that sftui showed (marker
parity).

Rows and settings are compared in test_parity_trainers.py, as every trainer's are.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import record as recorder
from case import cases_of, environment, home, python_of, result_path, shared_folder
from emulate import of_config, rows_of
from trainers.llamafactory.cases import config_of

import sftui
from sftui import pipeline
from sftui.recipe import Recipe, changed
from sftui.sources import SourceSpec, open_source
from sftui.trainers import preset, trainer_named
from sftui.trainers.config import DatasetRef, Facts
from sftui.trainers.own_config import write_config
from sftui.trainers.training import stand_ins
from sftui.trainers.verify.session import read_result

pytestmark = [pytest.mark.parity, pytest.mark.shared]
VERSION = "0.9.5"
TURNS = [
    {"role": "user", "content": "What is 2+2?"},
    {"role": "assistant", "content": "The answer is 4."},
    {"role": "user", "content": "Add 3, please."},
    {"role": "assistant", "content": "<think>\n4+3\n</think>\n\nSeven."},
]
ROWS: Mapping[str, list[dict[str, Any]]] = {
    "alpaca": [
        {"instruction": "Name a colour.", "input": word, "output": f"{word} is one."}
        for word in ("red", "", "blue or so")
    ],
    "chat": [
        {"messages": TURNS},
        {"messages": [{"role": "system", "content": "Be brief."}, *TURNS]},
        {"messages": TURNS[:3]},
    ],
    "sharegpt": [
        {"conversations": [{"from": "human", "value": "Hi " * n}, {"from": "gpt", "value": "Hello."}]}
        for n in (1, 5, 30)
    ],
}
FRESH: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "alpaca": ("alpaca", {"render.template": "llamafactory/qwen"}),
    "chat": (
        "chat",
        {
            "render.template": "llamafactory/qwen3",
            "mask.turns": "last",
            "render.kwargs": {"enable_thinking": False},
            "length.max": 40,
        },
    ),
    "everything_trained": (
        "chat",
        {"render.template": "llamafactory/llama3", "mask.rule": "all", "render.inject_system": "Kısa konuş."},
    ),
    "tokenizers_own": ("chat", {"own.max_samples": 1}),
    "neat": (
        "sharegpt",
        {"render.template": "llamafactory/chatml", "pack.strategy": "neat", "pack.isolate": True, "length.max": 64},
    ),
    "knapsack": ("sharegpt", {"render.template": "llamafactory/phi", "pack.strategy": "knapsack", "length.max": 48}),
}
OPENED = (
    "### ours\nmodel_name_or_path: x   # a comment\nstage: sft\ndo_train: true\ndataset: rows\ndataset_dir:"
    " .\ntemplate: qwen\ncutoff_len: 512\npacking: true\n"
)
TAGS = {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"}


def write(name: str, folder: Path, tokenizer: Path) -> DatasetRef:
    """The files of one round trip, and what sftui reads in them afterwards."""
    trainer = trainer_named("llamafactory")
    data, knobs = FRESH.get(name, ("chat", {}))
    path = folder / f"{data}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS[data]))
    if name in FRESH:
        recipe = edited(preset("llamafactory@0.9"), knobs)
        source = open_source(SourceSpec((str(path),)))
        found = pipeline.detect([source.row(i) for i in range(len(ROWS[data]))], recipe)
        source.close()
        named = changed(recipe, "tokenizer.name", str(tokenizer))
        facts = Facts(
            data=str(path),
            tokenizer=str(tokenizer),
            format=found.format,
            fields=found.fields,
            message_keys=found.message_keys,
            role_map=found.role_map,
            given=stand_ins(named),
        )
        written = write_config(recipe, None, facts)
    else:
        info = {
            "rows": {
                "file_name": path.name,
                "formatting": "sharegpt",
                "columns": {"messages": "messages"},
                "tags": TAGS,
            }
        }
        (folder / "dataset_info.json").write_text(json.dumps(info))
        opened = trainer.read_config(str(folder / "llamafactory_sft.yaml"), OPENED)
        written = write_config(
            edited(
                opened.recipe,
                {
                    "length.max": 30,
                    "pack.strategy": "none",
                    "tokenizer.name": str(tokenizer),
                    "data.role_map": {**opened.recipe.data.role_map, "system": "system"},
                },
            ),
            opened,
        )
    for file in written.files:
        (folder / file.name).write_text(file.content)
    return trainer.read_config("llamafactory_sft.yaml", (folder / "llamafactory_sft.yaml").read_text()).datasets[0]


def edited(recipe: Recipe, knobs: Mapping[str, Any]) -> Recipe:
    for path, value in knobs.items():
        recipe = changed(recipe, path, value)
    return recipe


def test_written_configs_do_what_was_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if not environment("llamafactory", VERSION).exists():
        pytest.skip(f"LLaMA-Factory {VERSION} has no environment: run tests/parity/environments.py llamafactory")
    tokenizer = shared_folder() / "testdata" / "tokenizers" / "qwen2.5"
    if not tokenizer.is_dir():
        pytest.skip(f"the shared test data is not at {shared_folder()}")
    expected, requests = {}, []
    home().mkdir(parents=True, exist_ok=True)
    for name in (*FRESH, "edited"):
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.chdir(folder)
        reference = write(name, folder, tokenizer)
        ours = of_config("llamafactory", rows_of(reference), reference, tokenizer)
        assert not ours.problems
        made = ours.packs or [example for row in ours.rows.values() for example in row]
        expected[name] = [(list(one.input_ids), list(one.labels)) for one in made]
        requests.append(
            {
                "tokenizer": str(tokenizer),
                "config_file": str(folder / "llamafactory_sft.yaml"),
                "output": str(folder / "out.jsonl"),
            }
        )
    for name, request, answer in zip(expected, requests, recorder.ask("llamafactory", VERSION, requests)):
        assert answer["error"] is None, (name, answer["error"])
        _, records = read_result(Path(request["output"]))
        theirs = [(one["input_ids"], one["labels"]) for one in records if one["kind"] in ("row", "pack")]
        assert theirs and theirs == expected[name], name
    with capsys.disabled():
        print(
            f"\n{len(expected)} written configs give LLaMA-Factory {sum(map(len, expected.values()))} rows and packs,"
            " all as shown"
        )


def test_the_recorded_templates_are_those_of_the_installed_release(tmp_path: Path) -> None:
    script = Path(__file__).with_name("record_llamafactory_templates.py")
    python = python_of("llamafactory", VERSION)
    subprocess.run([python, str(script), str(tmp_path)], check=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    repo = script.parents[2]
    for kept in ("sftui/trainers/llamafactory/templates.json", "tests/golden/trainers/llamafactory_templates.json"):
        assert (tmp_path / Path(kept).name).read_bytes() == (repo / kept).read_bytes(), kept


def test_the_partners_of_kto_are_those_of_the_trainer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What stands in its dataset as `kl_input_ids` and `kl_labels`, against the batches of an open config."""
    if not environment("llamafactory", VERSION).exists():
        pytest.skip(f"LLaMA-Factory {VERSION} has no environment: run tests/parity/environments.py llamafactory")
    cases = [case for case in cases_of("llamafactory") if case.name.startswith("pairs_kto_")]
    assert recorder.record("llamafactory", VERSION, cases) == 0
    compared = 0
    for case in cases:
        work = tmp_path / case.name
        work.mkdir()
        config = work / "kto.yaml"
        config.write_text(json.dumps(config_of(case, str(case.tokenizer_folder()), work)))
        _, records = read_result(result_path("llamafactory", VERSION, case))
        theirs = [(one["kl_input_ids"], one["kl_labels"]) for one in records if one["kind"] == "row"]
        ours = []
        with sftui.open(str(config)) as data:
            for batch in data.batches(8):
                assert batch.partners is not None
                partners = batch.partners
                for ids, labels, size in zip(partners.input_ids, partners.labels, partners.lengths):
                    ours.append((list(ids[:size]), list(labels[:size])))
        assert ours == theirs, next(at for at, pair in enumerate(zip(ours, theirs)) if pair[0] != pair[1])
        compared += len(ours)
    assert compared
    with capsys.disabled():
        print(f"\n{compared} KL partners in {len(cases)} settings, all as LLaMA-Factory's")
