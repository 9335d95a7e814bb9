"""Configs that sftui writes, given to the real NeMo Automodel: its own loader reads them (ConfigNode, RecipeConfig),
and its dataset makes the rows that sftui showed; so do the words of a command line that sftui names (marker parity).

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
from trainers.nemo_automodel import rows as nemo_rows

from sftui import pipeline
from sftui.recipe import changed
from sftui.session.verifying import piece
from sftui.sources import SourceSpec, open_source
from sftui.trainers import preset, trainer_named
from sftui.trainers.config import Facts
from sftui.trainers.nemo_automodel.config import TARGETS
from sftui.trainers.own_config import write_config
from sftui.trainers.verify.session import read_result

pytestmark = [pytest.mark.parity, pytest.mark.shared]
TRAINER, VERSION = "nemo-automodel", "0.7.0"
ROWS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "chats": nemo_rows.chats(),
    "agents": nemo_rows.agents_openai(),
    "columns": [{"prompt": row["q"], "completion": row["a"]} for row in nemo_rows.columns() if row["q"]],
    "named": nemo_rows.columns(),
    "squad": nemo_rows.squad(),
    "xlam": nemo_rows.xlam(),
}
LAST = {"mask.turns": "last"}
TAGGED = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' %}{% generation %}{{ m.content }}"
    "<|im_end|>{% endgeneration %}{% else %}{{ m.content }}<|im_end|>{% endif %}\n{% endfor %}"
)
FRESH: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "plain": ("chats", {}),
    "cut": ("chats", {"length.max": 40, **LAST, "own.mask_generation_prompt": True}),
    "inline": ("chats", {"render.template": "nemo-automodel/inline", "own.chat_template": TAGGED}),
    "transformers": ("chats", {"own.tokenizer_backend": "transformers_auto"}),
    "agents": ("agents", {"own.dataset": "agent", **LAST, "own.drop_history_reasoning_content": True}),
    "fits": ("agents", {"own.dataset": "agent", "own.truncate_history": True, "length.max": 90}),
    "columns": ("columns", {"own.dataset": "columns"}),
    "mapped": ("named", {"own.dataset": "columns", "data.fields": {"context": "c", "question": "q", "answer": "a"}}),
    "whole": ("columns", {"own.dataset": "columns", "mask.rule": "all", "own.use_hf_chat_template": True}),
    "squad": ("squad", {"own.dataset": "squad", "length.max": 60}),
    "xlam": ("xlam", {"own.dataset": "xlam"}),
}
CHAT = f"dataset:\n  _target_: {TARGETS['chat']}\n  path_or_dataset_id: data.jsonl  # ours\n"
OPENED: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "edited": ("chats", CHAT + "  seq_length: 512\n  truncation: true\n", {"length.max": 31, **LAST}),
    "uncut": ("chats", CHAT + "  seq_length: '64'\n  truncation: 'True'\n", {"length.max": None}),
    "as_text": ("chats", CHAT + "  mask_history: 'true'\n  seq_length: 64\n", {}),
    "short_target": (
        "chats",
        CHAT.replace("chat_dataset.ChatDataset", "ChatDataset"),
        {"own.mask_generation_prompt": True},
    ),
    "config_target": ("chats", CHAT.replace("ChatDataset\n", "ChatDatasetConfig\n"), LAST),
    "wrapped": ("chats", CHAT + "  tokenizer:\n    tokenizer_backend: nemo_wrapped_auto\n", {}),
    "other_class": (
        "agents",
        CHAT.replace("path_or_dataset_id", "path").replace(TARGETS["chat"], TARGETS["agent"])
        + "  train_on_last_turn_only: true\n  mask_reasoning_content: true\n",
        {"mask.turns": "all"},
    ),
    "mapping": (
        "named",
        CHAT.replace(TARGETS["chat"], TARGETS["columns"]) + "  column_mapping: {question: q, answer: a}\n",
        {"mask.rule": "all"},
    ),
}


def prepared(name: str, folder: Path, tokenizer: Path) -> list[tuple[Any, dict[str, Any]]]:
    """What sftui reads of the config of one round trip, and the request that hands the same to NeMo Automodel; where a
    config was changed also the old one, with the change as words of a command line."""
    trainer = trainer_named(TRAINER)
    rows, old, knobs = (FRESH[name][0], None, FRESH[name][1]) if name in FRESH else OPENED[name]
    data = folder / ("train.jsonl" if name in ("squad", "xlam") else "data.jsonl")
    data.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS[rows]), encoding="utf-8")
    opened, recipe = None, preset(TRAINER)
    if old is not None:
        text = f"recipe: TrainFinetuneRecipeForNextTokenPrediction\nmodel:\n  pretrained_model_name_or_path: M\n{old}"
        (folder / "old.yaml").write_text(text)
        opened = trainer.read_config(str(folder / "old.yaml"), text)
        recipe = opened.recipe
    for knob, value in knobs.items():
        recipe = changed(recipe, knob, value)
    source = open_source(SourceSpec((str(data),)))
    found = pipeline.detect(list(source.rows()), recipe)
    source.close()
    facts = Facts(data=str(data), tokenizer=str(tokenizer), format=found.format, fields=found.fields)
    written = write_config(recipe, opened, facts)
    assert not written.losses
    [file] = written.files
    (folder / file.name).write_text(file.content)
    reference = trainer.read_config(str(folder / file.name), file.content).datasets[0]
    asked = {"tokenizer": str(tokenizer), "output": str(folder / "out.jsonl"), "folder": str(folder)}
    made: list[tuple[Any, dict[str, Any]]] = [(reference, {**asked, "config_file": str(folder / file.name)})]
    [said] = written.notes or ("",)
    words = shlex.split(said.partition(";")[0])
    if opened is not None and "automodel" in words and "alone" not in said:
        (folder / "before.yaml").write_text(opened.text)
        flags = words[words.index("automodel") + 2 :]
        request = {
            **asked,
            "output": str(folder / "flags.jsonl"),
            "config_file": str(folder / "before.yaml"),
            "flags": flags,
        }
        made.append((reference, request))
    return made


def test_written_configs_and_words_do_what_was_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if not environment(TRAINER, VERSION).exists():
        pytest.skip(f"{TRAINER} {VERSION} has no environment: run tests/parity/environments.py {TRAINER}")
    tokenizer = shared_folder() / "testdata" / "tokenizers" / "qwen2.5"
    if not tokenizer.is_dir():
        pytest.skip(f"the shared test data is not at {shared_folder()}")
    home().mkdir(parents=True, exist_ok=True)
    expected: dict[str, Any] = {}
    requests = []
    for name in (*FRESH, *OPENED):
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.chdir(folder)
        for reference, request in prepared(name, folder, tokenizer):
            ours = of_config(TRAINER, rows_of(reference), reference, tokenizer)
            rows = {row: piece(example) for row, (example,) in ours.rows.items()}
            expected[request["output"]] = rows, sorted(ours.problems)
            requests.append(request)
    made = stopped = words = 0
    for request, answer in zip(requests, recorder.ask(TRAINER, VERSION, requests)):
        name, (rows, stops) = request["output"], expected[request["output"]]
        _, records = read_result(Path(name))
        assert [one["row"] for one in records if one["kind"] == "refused"] == stops, (name, answer["error"])
        theirs = {one["row"]: (one["input_ids"], one["labels"]) for one in records if one["kind"] == "row"}
        assert theirs, (name, answer["error"])
        assert theirs == {row: (ids, labels) for row, (ids, labels, _) in rows.items()}, name
        made, stopped, words = made + len(rows), stopped + len(stops), words + ("flags" in request)
    with capsys.disabled():
        print(
            f"\n{len(requests)} configs, {words} of them by overrides, give NeMo Automodel {made} rows, all as shown,"
            f" and stop it at {stopped}"
        )
