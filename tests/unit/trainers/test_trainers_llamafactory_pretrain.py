"""LLaMA-Factory's stage pt: texts trained as a whole, in rows or in blocks, and tokens that a config adds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from golden_records import inspect, with_knobs

from sftui import pipeline
from sftui.model import IGNORE_INDEX, Example, Reason
from sftui.recipe import changed
from sftui.tokens import load_tokenizer
from sftui.trainers import preset, trainer_named
from sftui.trainers.config import Facts, OpenedConfig
from sftui.trainers.llamafactory.pretrain import bos_setting
from sftui.trainers.own_config import write_config

TEXTS = [{"text": "What is 2+2? " * n, "output": None} for n in (1, 3, 2)]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "dataset_info.json").write_text(
        json.dumps({"c4": {"file_name": "c4.json", "columns": {"prompt": "text"}}})
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(more: str, stage: str = "pt") -> OpenedConfig:
    text = f"model_name_or_path: builtin:chatml\nstage: {stage}\ndataset: c4\ndataset_dir: .\ntemplate: default\n{more}"
    return trainer_named("llamafactory").read_config("pt.yaml", text)


@pytest.mark.parametrize(
    ("more", "strategy", "size"),
    [
        ("cutoff_len: 20\n", "wrapped", 20),
        ("cutoff_len: 20\npacking: true\n", "wrapped", 19),
        ("cutoff_len: 20\npacking: false\n", "none", None),
    ],
)
def test_texts_become_blocks_unless_packing_is_off(work: Path, more: str, strategy: str, size: int | None) -> None:
    recipe = read(more).recipe
    assert recipe.pack.strategy == strategy and recipe.batch.multiple is None
    tools = pipeline.make_toolbox(recipe, load_tokenizer("builtin:chatml"))
    rows = inspect(TEXTS, recipe, tools)
    examples = [row.example for row in rows if row.example]
    assert len(examples) == 3 and not any(row.problem for row in rows)
    if size is None:
        assert [len(one.input_ids) for one in examples] == [min(20, len(row.tokens or ())) for row in rows]
        return
    packs = tuple(trainer_named("llamafactory").pack(examples, recipe, tools))
    joined = [i for one in examples for i in one.input_ids]
    assert [list(pack.input_ids) for pack in packs] == [
        joined[i : i + size] for i in range(0, len(joined) - size + 1, size)
    ]
    assert all(sum(end - start for _, start, end in pack.documents) == size for pack in packs)


def test_everything_is_trained_but_the_pad_token(work: Path) -> None:
    recipe = read("packing: false\n").recipe
    loaded = load_tokenizer("builtin:chatml")
    tools = pipeline.make_toolbox(recipe, loaded.overriding(pad=loaded.facts.eos_token))
    row = inspect(TEXTS[:1], recipe, tools)[0]
    assert row.labels and row.tokens and row.labels.reasons[-1] is Reason.PAD and row.labels.labels[-1] == IGNORE_INDEX
    assert (
        row.labels.labels[:-1] == row.tokens.input_ids[:-1]
        and row.rendered
        and row.rendered.text.endswith(loaded.facts.eos_token or "?")
    )


def test_llama3_texts_end_with_a_token_of_their_own() -> None:
    recipe = with_knobs(
        preset("llamafactory@0.9"),
        {
            "render.template": "llamafactory/llama3",
            "own.stage": "pt",
            "own.add_bos_token": False,
            "data.format": "alpaca",
            "data.fields": {"instruction": "text"},
        },
    )
    row = inspect(TEXTS[:1], recipe, pipeline.make_toolbox(recipe, load_tokenizer("builtin:llama3")))[0]
    assert row.rendered and row.rendered.text == f"{TEXTS[0]['text']}<|end_of_text|>"


def test_an_unknown_bos_setting_is_not_guessed() -> None:
    loaded = load_tokenizer("builtin:llama3")
    assert loaded.facts.adds_bos
    knobs: Mapping[str, Any] = {
        "own.stage": "pt",
        "data.format": "alpaca",
        "data.fields": {"instruction": "text"},
    }
    recipe = with_knobs(preset("llamafactory@0.9"), knobs)
    row = inspect(TEXTS[:1], recipe, pipeline.make_toolbox(recipe, loaded))[0]
    assert row.problem and "add_bos_token" in row.problem.sentence()
    recipe = changed(recipe, "own.add_bos_token", True)
    row = inspect(TEXTS[:1], recipe, pipeline.make_toolbox(recipe, loaded))[0]
    assert row.tokens and row.tokens.input_ids[0] == loaded.facts.bos_id


@pytest.mark.parametrize("pads", [True, False])
def test_a_block_begins_with_bos_where_add_bos_token_is_set(pads: bool) -> None:
    """llamafactory 0.9.5, data/processor/pretrain.py; the collator masks what is also the pad token."""
    knobs = {"own.stage": "pt", "own.add_bos_token": True, "pack.strategy": "wrapped", "length.max": 3}
    recipe = with_knobs(preset("llamafactory@0.9"), knobs)
    loaded = load_tokenizer("builtin:llama3")
    loaded = loaded.overriding(pad=loaded.facts.bos_token) if pads else loaded
    bos, tools = loaded.facts.bos_id, pipeline.make_toolbox(recipe, loaded)
    rows = [Example((4, 5), (4, 5), (1, 1)), Example((6, 7, 8, 9, 10), (6, 7, 8, 9, 10), (1,) * 5)]
    packs = list(trainer_named("llamafactory").pack(rows, recipe, tools))
    assert [pack.input_ids for pack in packs] == [(bos, 5, 6), (bos, 8, 9)]
    assert [pack.labels for pack in packs] == [(IGNORE_INDEX if pads else bos, *pack.input_ids[1:]) for pack in packs]
    plain = trainer_named("llamafactory").pack(rows, changed(recipe, "own.add_bos_token", False), tools)
    assert [pack.input_ids for pack in plain] == [(4, 5, 6), (7, 8, 9)]


@pytest.mark.parametrize(
    ("files", "setting"),
    [
        ({"tokenizer.json": "{}", "tokenizer_config.json": '{"add_bos_token": true}'}, False),
        ({"vocab.json": "{}", "tokenizer_config.json": '{"add_bos_token": true}'}, True),
        ({"vocab.json": "{}", "tokenizer_config.json": '{"add_bos_token": false}'}, False),
        ({"vocab.json": "{}", "tokenizer_config.json": "{}"}, False),
        ({}, None),
    ],
)
def test_add_bos_token_counts_where_there_is_no_fast_file(
    files: Mapping[str, str], setting: bool | None, tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert bos_setting(str(tmp_path / ("" if files else "none")), None) is setting


@pytest.mark.parametrize("more", ["", "packing: false\n", "packing: true\n"])
def test_a_fresh_config_reads_back_as_the_recipe(work: Path, more: str) -> None:
    recipe = read(more).recipe
    written = write_config(recipe, None, Facts(tokenizer="builtin:chatml", data="c4.json"))
    for file in written.files:
        (work / file.name).write_text(file.content)
    again = trainer_named("llamafactory").read_config("x.yaml", (work / "llamafactory_sft.yaml").read_text())
    assert again.recipe == recipe and not written.losses


def test_config_can_add_tokens(work: Path) -> None:
    opened = read("add_tokens: plus sign, two\nadd_special_tokens: <|new|>\n", stage="sft")
    before = load_tokenizer("builtin:chatml")
    after = trainer_named("llamafactory").tokenizer_of(before, opened.recipe)
    assert after.facts.vocab_size >= before.facts.vocab_size + 2
    ids = after.encode("a plus sign<|new|>").ids
    assert after.token_id("plus sign") in ids and after.token_id("<|new|>") == ids[-1]
    assert after.is_special(ids[-1]) and not after.is_special(after.token_id("plus sign") or 0)
    assert any("resize_vocab" in note for note in after.facts.notes)


def test_broken_conversations_stop_the_run() -> None:
    turns = [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "ho"}]
    recipe = with_knobs(preset("llamafactory@0.9"), {"own.stage": "pt", "own.add_bos_token": False})
    tools = pipeline.make_toolbox(recipe, load_tokenizer("builtin:chatml"))
    whole, broken = inspect([{"conversations": turns}, {"conversations": turns[:1]}], recipe, tools)
    assert whole.conversation and whole.conversation.text == "hi" and whole.example
    assert broken.problem and "stops the whole run" in broken.problem.sentence()
