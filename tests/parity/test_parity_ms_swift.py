"""Configs and command lines that sftui reads and writes, given to the real ms-swift: its own parser loads them, and it
makes the rows that sftui showed; and the template that each model gets by its name (marker parity).

Rows and settings are compared in test_parity_trainers.py, as every trainer's are.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import record as recorder
from case import environment, home, python_of, shared_folder
from emulate import of_config, rows_of
from trainers.ms_swift import rows as swift_rows

from sftui import pipeline
from sftui.errors import RecipeError
from sftui.recipe import changed
from sftui.session.verifying import piece
from sftui.sources import SourceSpec, open_source
from sftui.trainers import preset, trainer_named
from sftui.trainers.config import Facts
from sftui.trainers.ms_swift import registry
from sftui.trainers.own_config import write_config
from sftui.trainers.verify.session import read_result

pytestmark = [pytest.mark.parity, pytest.mark.shared]
TRAINER, VERSION = "ms-swift", "4.6.0"
QWEN: dict[str, Any] = {"render.template": "ms-swift/qwen2_5", "length.max": 2048}
ROWS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "chats": swift_rows.chats(),
    "tools": swift_rows.tools(),
    "pairs": swift_rows.pairs(),
    "named": [{"chat" if key == "messages" else key: one for key, one in row.items()} for row in swift_rows.chats()],
}
FRESH: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "plain": ("chats", QWEN),
    "last_round": ("chats", {**QWEN, "mask.turns": "last"}),
    "weights": ("tools", {**QWEN, "own.loss_scale": "hermes"}),
    "cut": ("chats", {**QWEN, "length.max": 30, "length.over": "cut_left", "batch.size": 2}),
    "columns": ("named", {**QWEN, "data.fields": {"messages": "chat"}}),
    "pairs": ("pairs", {**QWEN, "render.inject_system": "Be\nbrief."}),
    "options": ("chats", {**QWEN, "render.template": "ms-swift/qwen3", "own.add_non_thinking_prefix": False}),
    "texts": ("chats", {**QWEN, "own.use_chat_template": False, "mask.rule": "all"}),
}
OPENED: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "edited": ("pairs", "template: qwen2_5\nmax_length: 512  # ours\nlearning_rate: 1e-5\n", {"length.max": 31}),
    "agent": ("tools", "template: chatml\nmax_length: '900'\nagent_template: react_en\nloss_scale: react\n", {}),
    "words": ("chats", "template: qwen3\nmax_length: 900\nadd_non_thinking_prefix: no\nstrict: 0\n", {}),
    "system": ("chats", "template: llama\nmax_length: 900\nsystem: 'Be\\nbrief.'\n", {"mask.rule": "all"}),
    "renamed": ("named", "template: qwen2_5\nmax_length: 900\ncolumns: {chat: messages}\n", {"mask.turns": "last"}),
}
SCRIPTS: Mapping[str, tuple[str, str]] = {
    "script": (
        "chats",
        "swift sft --template qwen3 --max_length 900 \\\n  --loss_scale last_round+ignore_think_prefix --system ''",
    ),
    "pretraining": ("chats", "NPROC_PER_NODE=1 swift pt --template qwen2_5 --max-length 900 --lora_rank 8"),
}


def prepared(name: str, folder: Path, tokenizer: Path) -> tuple[Any, dict[str, Any]]:
    """What sftui reads of the config of one round trip, and the request that hands the same to ms-swift."""
    trainer = trainer_named(TRAINER)
    rows = (FRESH.get(name) or OPENED.get(name) or SCRIPTS[name])[0]
    data = folder / "rows.jsonl"
    data.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS[rows]), encoding="utf-8")
    opened, recipe, knobs = None, preset(TRAINER), FRESH[name][1] if name in FRESH else {}
    if name in OPENED:
        _, text, knobs = OPENED[name]
        text = f"model: {tokenizer}\ndataset: rows.jsonl\n{text}"
        (folder / "sft.yaml").write_text(text)
        opened = trainer.read_config(str(folder / "sft.yaml"), text)
    elif name in SCRIPTS:
        text = f"{SCRIPTS[name][1]} --model {tokenizer} --dataset rows.jsonl\n"
        opened = trainer.read_config(str(folder / "run.sh"), text)
    recipe = recipe if opened is None else opened.recipe
    for knob, value in knobs.items():
        recipe = changed(recipe, knob, value)
    source = open_source(SourceSpec((str(data),)))
    found = pipeline.detect(list(source.rows()), recipe)
    source.close()
    facts = Facts(data=str(data), tokenizer=str(tokenizer), format=found.format)
    written = write_config(recipe, opened, facts)
    assert not written.losses
    [file] = written.files
    (folder / file.name).write_text(file.content)
    reference = trainer.read_config(str(folder / file.name), file.content).datasets[0]
    request = {"tokenizer": str(tokenizer), "output": str(folder / "out.jsonl"), "folder": str(folder)}
    return reference, {**request, "config_file": str(folder / file.name)}


def test_written_configs_do_what_was_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if not environment(TRAINER, VERSION).exists():
        pytest.skip(f"ms-swift {VERSION} has no environment: run tests/parity/environments.py ms-swift")
    tokenizer = shared_folder() / "testdata" / "tokenizers" / "qwen2.5"
    if not tokenizer.is_dir():
        pytest.skip(f"the shared test data is not at {shared_folder()}")
    home().mkdir(parents=True, exist_ok=True)
    expected, requests = {}, []
    for name in (*FRESH, *OPENED, *SCRIPTS):
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.chdir(folder)
        reference, request = prepared(name, folder, tokenizer)
        ours = of_config(TRAINER, rows_of(reference), reference, tokenizer)
        assert not ours.problems, (name, ours.problems)
        expected[name] = {row: piece(example) for row, (example,) in ours.rows.items()}
        requests.append(request)
    for name, request, answer in zip(expected, requests, recorder.ask(TRAINER, VERSION, requests)):
        _, records = read_result(Path(request["output"]))
        theirs = {
            one["row"]: (one["input_ids"], one["labels"], one["loss_weights"])
            for one in records
            if one["kind"] == "row"
        }
        assert theirs, (name, answer["error"])
        mine = {row: (ids, labels, list(weights or ())) for row, (ids, labels, weights) in expected[name].items()}
        assert theirs == mine, name
    with capsys.disabled():
        made = sum(map(len, expected.values()))
        print(f"\n{len(expected)} configs and scripts give ms-swift {made} rows, all as shown")


ASK = r"""
import json, sys
from swift.model import MODEL_MAPPING
from swift.model.model_meta import get_matched_model_meta
from swift.template import get_template_meta
names = {m for meta in MODEL_MAPPING.values() for g in meta.model_groups for one in g.models
         for m in (one.ms_model_id, one.hf_model_id) if m}
found = {}
for name in sorted(names):
    try:
        found[name] = get_template_meta(None, get_matched_model_meta(name)).template_type
    except Exception:
        found[name] = None
print("ASKED " + json.dumps(found))
"""


def test_every_model_gets_its_template_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    if not environment(TRAINER, VERSION).exists():
        pytest.skip(f"ms-swift {VERSION} has no environment: run tests/parity/environments.py ms-swift")
    done = subprocess.run([str(python_of(TRAINER, VERSION)), "-c", ASK], capture_output=True, text=True, check=False)
    theirs = next(json.loads(line[6:]) for line in done.stdout.splitlines() if line.startswith("ASKED "))
    other = {}
    for name, template in theirs.items():
        try:
            mine = registry.model_of(name, None, None).template
        except RecipeError:
            mine = None
        if mine != template:
            other[name] = (template, mine)
    assert not other and len(theirs) > 1000
    with capsys.disabled():
        print(f"\n{len(theirs)} models get the template that ms-swift takes for their name")
