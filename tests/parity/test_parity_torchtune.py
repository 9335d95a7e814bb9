"""Configs that sftui writes, given to the real torchtune: it must make the ids and labels that sftui showed (marker
parity).

Rows and settings are compared in test_parity_trainers.py, as every trainer's are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import record as recorder
from case import environment, model_folder, shared_folder
from emulate import of_config, rows_of

from sftui.recipe import Recipe, changed
from sftui.trainers import preset, trainer_named
from sftui.trainers.config import Facts, OpenedConfig
from sftui.trainers.own_config import write_config
from sftui.trainers.torchtune import sentencepieces
from sftui.trainers.verify.session import read_result

pytestmark = [pytest.mark.parity, pytest.mark.shared]
VERSION = "0.6.1"
TURNS = [
    {"role": "user", "content": "What is 2+2?"},
    {"role": "assistant", "content": "The answer is 4."},
    {"role": "user", "content": "Add 3, please."},
    {"role": "assistant", "content": "Seven <|im_end|>."},
]
SHAREGPT = [{"from": {"user": "human", "assistant": "gpt"}[turn["role"]], "value": turn["content"]} for turn in TURNS]
ROWS: Mapping[str, list[dict[str, Any]]] = {
    "messages": [
        {"messages": TURNS},
        {"messages": [{"role": "system", "content": "Be brief."}, *TURNS]},
        {"messages": TURNS[:3]},
    ],
    "sharegpt": [{"conversations": SHAREGPT}, {"conversations": SHAREGPT[:2]}],
    "alpaca": [
        {"instruction": "Name a colour.", "input": word, "output": f"{word} is one."}
        for word in ("red", "", "blue or so")
    ],
    "columns": [{"question": "1+1?", "answer": "2"}, {"question": "Kaç?", "answer": "Üç 🙂"}],
    "text": [{"text": "Once upon a time " * n} for n in (1, 3, 9)],
}
FRESH: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "chat": ("messages", "qwen2_5", {}),
    "all_cut": ("messages", "qwen2_5", {"mask.rule": "all", "length.max": 20}),
    "answers_packed": ("sharegpt", "qwen2_5", {"length.max": 64, "pack.strategy": "sequential", "pack.isolate": True}),
    "alpaca_answers": ("alpaca", "qwen2", {"mask.rule": "turn_full"}),
    "columns_system": (
        "columns",
        "qwen2_5",
        {"render.inject_system": "Kısa konuş.", "data.fields": {"input": "question", "output": "answer"}},
    ),
    "template": ("messages", "qwen2", {"own.prompt_template": {"user": ["Q: ", "\n"]}}),
    "gemma": ("messages", "gemma", {"length.max": 40}),
    "llama2_all": ("messages", "llama2", {"mask.rule": "all"}),
    "mistral_columns": ("columns", "mistral", {"data.fields": {"input": "question", "output": "answer"}}),
    "mistral_bare": ("messages", "mistral", {"own.prompt_template": {}}),
    "phi3_packed": ("sharegpt", "phi3_mini", {"length.max": 90, "pack.strategy": "sequential", "pack.isolate": True}),
    "phi3_text": ("text", "phi3_mini", {"tokenize.append_eos": "never"}),
    "text_without_eos": ("text", "qwen2_5", {"tokenize.append_eos": "never", "length.max": 12}),
}
OPENED = """\
# ours
tokenizer:
  _component_: torchtune.models.qwen2_5.qwen2_5_tokenizer
  path: {folder}/vocab.json   # a comment
  merges_file: {folder}/merges.txt
  max_seq_len: 512
dataset:
  _component_: torchtune.datasets.chat_dataset
  source: json
  data_files: {data}
  conversation_column: messages
  conversation_style: openai
  train_on_input: ${{whole}}
whole: true
batch_size: 2
"""


def edited(recipe: Recipe, knobs: Mapping[str, Any]) -> Recipe:
    for path, value in knobs.items():
        recipe = changed(recipe, path, value)
    return recipe


def write(name: str, folder: Path, tokenizer: Path) -> OpenedConfig:
    """The config of one round trip as a file, and as sftui reads it again."""
    trainer = trainer_named("torchtune")
    kind, model, knobs = FRESH.get(name, ("messages", "", {}))
    data = folder / f"{kind}.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in ROWS[kind]), encoding="utf-8")
    if name in FRESH:
        recipe = edited(
            preset(f"torchtune@{VERSION}"), {"data.format": kind, "render.template": f"torchtune/{model}", **knobs}
        )
        written = write_config(recipe, None, Facts(data=str(data), tokenizer=str(tokenizer), format=kind))
    else:
        opened = trainer.read_config(
            str(folder / "torchtune.yaml"), OPENED.format(folder=tokenizer, data=data), VERSION
        )
        written = write_config(edited(opened.recipe, {"length.max": 24, "mask.rule": "turn_full"}), opened)
    assert not written.losses
    path = folder / "torchtune.yaml"
    path.write_text(written.files[0].content, encoding="utf-8")
    return trainer.read_config(str(path), path.read_text(encoding="utf-8"), VERSION)


def test_written_configs_do_what_was_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if not environment("torchtune", VERSION).exists():
        pytest.skip(f"torchtune {VERSION} has no environment: run tests/parity/environments.py torchtune@{VERSION}")
    qwen = shared_folder() / "testdata" / "tokenizers" / "qwen2.5"
    if not qwen.is_dir():
        pytest.skip(f"the shared test data is not at {shared_folder()}")
    expected, requests = {}, []
    for name in (*FRESH, "edited"):
        folder = tmp_path / name
        folder.mkdir()
        of_pieces = FRESH.get(name, ("", ""))[1] in sentencepieces.MODELS
        tokenizer = model_folder("kept:turns") if of_pieces else qwen
        reference = write(name, folder, tokenizer).datasets[0]
        rows = rows_of(reference)
        ours = of_config("torchtune", rows, reference, tokenizer)
        assert not ours.problems, ours.problems
        made = ours.packs or [example for row in ours.rows.values() for example in row]
        expected[name] = [(list(one.input_ids), list(one.labels)) for one in made]
        requests.append(
            {
                "rows": [row.data for row in rows],
                "tokenizer": str(tokenizer),
                "config_file": str(folder / "torchtune.yaml"),
                "output": str(folder / "out.jsonl"),
            }
        )
    for name, request, answer in zip(expected, requests, recorder.ask("torchtune", VERSION, requests)):
        assert answer["error"] is None, (name, answer["error"])
        _, records = read_result(Path(str(request["output"])))
        theirs = [(one["input_ids"], one["labels"]) for one in records if one["kind"] in ("row", "pack")]
        assert theirs and theirs == expected[name], name
    with capsys.disabled():
        print(
            f"\n{len(expected)} written configs give torchtune {sum(map(len, expected.values()))} rows and packs, all"
            " as shown"
        )
