"""The v1 engine's YAML and its dataset file, read and written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sftui.errors import RecipeError
from sftui.recipe import Recipe, changed, get
from sftui.trainers import preset, trainer_named
from sftui.trainers.config import Facts, KeyUse, OpenedConfig
from sftui.trainers.own_config import losses_of, write_config
from sftui.trainers.recognise import recognise

BASE = "model: M\nmodel_class: llm\ntrain_dataset: ds.yaml\n"
LISTED = "one:\n  path: rows.jsonl\n  source: local\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ds.yaml").write_text(LISTED)
    Path("rows.jsonl").write_text(json.dumps({"messages": []}) + "\n")


def read(more: str = "", base: str = BASE, version: str | None = None) -> OpenedConfig:
    return trainer_named("llamafactory-v1").read_config("v1.yaml", base + more, version)


@pytest.mark.parametrize(
    ("more", "path", "value"),
    [
        ("", "length.max", 2048),
        ("cutoff_len: 100", "length.max", 100),
        ("micro_batch_size: 3", "batch.size", 3),
        ("", "tokenizer.name", "M"),
        ("batching_strategy: normal", "batch.flatten", False),
        ("batching_strategy: padding_free\nflash_attn: flash_attention_2", "batch.flatten", True),
        ("batching_strategy: dynamic_batching\nmax_steps: 5", "own.dynamic", True),
        ("batching_strategy: dynamic_padding_free", "own.dynamic", True),
        ("custom_chat_template: '{{ messages }}'", "render.template", "llamafactory-v1/custom"),
        ("custom_chat_template: null", "render.template", "tokenizer"),
    ],
)
def test_keys_are_knobs(more: str, path: str, value: Any) -> None:
    assert get(read(more).recipe, path) == value


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("cutoff_len: '100'", "cutoff_len is `100`"),
        ("batching_strategy: sorted", "not registered under BatchingPlugin"),
        ("batching_strategy: padding_free", "`padding_free` requires `flash_attn: flash_attention_2`"),
        ("batching_strategy: dynamic_batching", "requires `max_steps`"),
        ("flash_attn: fast", "Unsupported `flash_attn`"),
        ("micro_batch_size: 3\nglobal_batch_size: 4", "must be divisible"),
    ],
)
def test_what_it_refuses(more: str, why: str) -> None:
    with pytest.raises(RecipeError) as told:
        read(more)
    assert why in str(told.value)


@pytest.mark.parametrize(
    ("listed", "format_", "split"),
    [
        (LISTED, "messages", None),
        (LISTED + "  converter: alpaca\n", "alpaca", None),
        (LISTED + "  converter: sharegpt\n  split: test\n", "sharegpt", "test"),
        ("one:\n  path: someone/some\n", "messages", "train"),
    ],
)
def test_entries(listed: str, format_: str, split: str | None) -> None:
    Path("ds.yaml").write_text(listed)
    reference = read().datasets[0]
    assert (reference.recipe.data.format, reference.split) == (format_, split)


@pytest.mark.parametrize(
    ("listed", "why"),
    [
        (LISTED + "  converter: pair\n", "preference pairs"),
        (LISTED + "  converter: mine\n", "not registered under DataConverterPlugin"),
        (LISTED + "  streaming: true\n", "Iterable dataset is not supported yet."),
        ("one:\n  path: x\n  source: ms_hub\n", "not registered under DataLoaderPlugin"),
        ("one:\n  source: local\n", "names no path"),
    ],
)
def test_entries_that_it_refuses(listed: str, why: str) -> None:
    Path("ds.yaml").write_text(listed)
    with pytest.raises(RecipeError) as told:
        read()
    assert why in str(told.value)


def test_rows_may_be_named_without_a_file_that_lists_them() -> None:
    reference = read(base="model: M\ntrain_dataset: rows.jsonl\nmodel_class: llm\n").datasets[0]
    assert (reference.name, reference.paths, reference.split) == ("default", ("rows.jsonl",), None)


def test_rows_drawn_at_random_are_told() -> None:
    Path("ds.yaml").write_text(LISTED + "  size: 5\n")
    assert {note.path for note in read().keys if note.use is KeyUse.UNSUPPORTED} == {"train_dataset.one.size"}


def test_a_key_that_it_does_not_read_is_told() -> None:
    note = next(note for note in read("lora_rank: 8", version="0.9.6").keys if note.path == "lora_rank")
    assert note.use is KeyUse.UNKNOWN


@pytest.mark.parametrize(
    ("config", "trainer"),
    [
        ({"model": "M", "model_class": "llm", "train_dataset": "d.yaml", "cutoff_len": 5}, "llamafactory-v1"),
        ({"model": "M", "train_dataset": "d.yaml", "cutoff_len": 5}, "llamafactory-v1"),
        ({"model_name_or_path": "M", "dataset": "d", "template": "qwen", "cutoff_len": 5}, "llamafactory"),
        ({"model_name_or_path": "M", "stage": "sft", "cutoff_len": 5}, "llamafactory"),
    ],
)
def test_which_engine_a_config_is_for(config: Mapping[str, Any], trainer: str) -> None:
    assert recognise(config).trainer == trainer


def test_the_two_engines_name_each_other() -> None:
    with pytest.raises(RecipeError, match="llamafactory-v1"):
        trainer_named("llamafactory").read_config("v1.yaml", BASE)
    with pytest.raises(RecipeError, match="main engine"):
        read(base="model_name_or_path: M\ndataset: d\ncutoff_len: 5\n")
    with pytest.raises(RecipeError, match="llamafactory-v1"):
        preset("llamafactory@1")


def edited(recipe: Recipe, knobs: Mapping[str, Any]) -> Recipe:
    for path, value in knobs.items():
        recipe = changed(recipe, path, value)
    return recipe


@pytest.mark.parametrize(
    "knobs",
    [
        {},
        {"length.max": 99, "batch.size": 7},
        {"batch.flatten": True},
        {"own.dynamic": True},
        {"batch.flatten": True, "own.dynamic": True},
        {"data.format": "sharegpt"},
        {"render.template": "llamafactory-v1/custom", "own.custom_chat_template": "{% for m in messages %}\n{{ m }}"},
    ],
)
def test_what_is_written_is_read_again(knobs: Mapping[str, Any]) -> None:
    trainer = trainer_named("llamafactory-v1")
    recipe = edited(preset("llamafactory-v1"), {"tokenizer.name": "M", "data.format": "messages", **knobs})
    written = write_config(recipe, None, Facts(data="rows.jsonl", tokenizer="M"))
    assert not written.losses
    for file in written.files:
        Path(file.name).write_text(file.content)
    main = written.files[0]
    assert trainer.read_config(main.name, main.content).recipe == recipe


def test_a_config_keeps_its_comments_and_its_other_keys() -> None:
    text = "# ours\nmodel: M  # the model\nmodel_class: llm\ntrain_dataset: ds.yaml\ncutoff_len: 10\nseed: 1\n"
    opened = read(base=text)
    wanted = edited(opened.recipe, {"length.max": 20, "batch.flatten": True, "data.format": "alpaca"})
    written = write_config(wanted, opened)
    main, listed = written.files
    assert main.content == text.replace("cutoff_len: 10", "cutoff_len: 20") + (
        "batching_strategy: padding_free\nflash_attn: flash_attention_2\n"
    )
    assert (listed.name, listed.content) == ("ds.yaml", LISTED + "  converter: alpaca\n")


def test_the_file_of_datasets_names_other_rows_where_there_is_one() -> None:
    opened = read(base="model: M\nmodel_class: llm\ntrain_dataset: ds.yaml\n")
    main, listed = write_config(opened.recipe, opened, Facts(data="new.jsonl")).files
    assert main.content == opened.text and "path: new.jsonl" in listed.content
    opened = read(base="model: M\nmodel_class: llm\ntrain_dataset: rows.jsonl\n")
    (main,) = write_config(opened.recipe, opened, Facts(data="new.jsonl")).files
    assert main.content == opened.text.replace("rows.jsonl", "new.jsonl")


@pytest.mark.parametrize(
    "knobs", [{"mask.rule": "assistant"}, {"pack.strategy": "bfd"}, {"data.fields": {"messages": "talk"}}]
)
def test_what_it_has_no_key_for_is_told(knobs: Mapping[str, Any]) -> None:
    assert losses_of(edited(preset("llamafactory-v1"), knobs))
