"""TRL's YAML: every key is accounted for, and writing changes only what changed."""

from __future__ import annotations

import difflib
from typing import Any

import pytest
import yaml

from sftui.errors import RecipeError
from sftui.recipe import changed, get
from sftui.trainers import preset, trainer_named
from sftui.trainers.config import Facts, KeyUse
from sftui.trainers.own_config import write_config
from sftui.trainers.recognise import recognise

CONFIG = """\
# SFT of a small model
model_name_or_path: some/model
dataset_name: data/chat.jsonl   # ours
max_length: 2048
assistant_only_loss: true
packing: true
learning_rate: 2.0e-4
gradient_checkpointing: true
"""


def read(text: str) -> Any:
    return trainer_named("trl").read_config("trl.yaml", text)


@pytest.mark.parametrize(
    ("line", "path", "value"),
    [
        ("max_length: 2048", "length.max", 2048),
        ("max_length: null", "length.max", None),
        ("truncation_mode: keep_end", "length.over", "cut_left"),
        ("assistant_only_loss: true", "mask.rule", "generation_tag"),
        ("completion_only_loss: false", "mask.rule", "all"),
        ("completion_only_loss: true", "mask.rule", "completion"),
        ("packing: true", "pack.strategy", "bfd"),
        ("packing: no", "pack.strategy", "none"),  # PyYAML reads YAML 1.1
        ("pad_to_multiple_of: 010", "batch.multiple", 8),
        ("packing: true\npacking_strategy: wrapped", "pack.strategy", "wrapped"),
        ("packing: true", "batch.flatten", True),
        ("padding_free: true", "batch.flatten", True),
        ("padding_free: 1", "batch.flatten", True),  # no text: argparse leaves it, TRL asks whether it is true
        ("padding_free: null", "batch.flatten", False),
        ("pad_to_multiple_of: 16", "batch.multiple", 16),
        ("eos_token: <|im_end|>", "tokenizer.eos_token", "<|im_end|>"),
        ("dataset_text_field: body", "own.dataset_text_field", "body"),
        ("chat_template_path: t.jinja", "render.template", "file:t.jinja"),
        ("model_name_or_path: a/b", "tokenizer.name", "a/b"),
    ],
)
def test_each_key_sets_its_knob(line: str, path: str, value: Any) -> None:
    opened = read(f"dataset_name: x\n{line}\n")
    assert get(opened.recipe, path) == value


def test_every_key_gets_a_note() -> None:
    opened = read(CONFIG + "no_such_key: 1\ndataset_kwargs: {skip_prepare_dataset: true}\n")
    uses = {note.path: note.use for note in opened.keys}
    assert uses["learning_rate"] is KeyUse.PASSED and uses["max_length"] is KeyUse.USED
    assert uses["no_such_key"] is KeyUse.UNSURE and uses["dataset_kwargs"] is KeyUse.UNSUPPORTED
    assert set(uses) == set(yaml.safe_load(CONFIG)) | {"no_such_key", "dataset_kwargs"}


def test_a_changed_knob_changes_one_line() -> None:
    opened = read(CONFIG)
    recipe = changed(opened.recipe, "length.max", 4096)
    written = write_config(recipe, opened)
    lines = [
        line for line in difflib.ndiff(CONFIG.splitlines(), written.files[0].content.splitlines()) if line[0] in "+-"
    ]
    assert lines == ["- max_length: 2048", "+ max_length: 4096"]
    same = write_config(opened.recipe, opened)
    assert same.files[0].content == CONFIG


def test_a_fresh_config_reads_back_as_the_recipe() -> None:
    recipe = preset("trl@1.16")
    for path, value in (
        ("mask.rule", "generation_tag"),
        ("length.max", 512),
        ("pack.strategy", "bfd_split"),
        ("batch.flatten", True),
        ("pack.isolate", True),
    ):
        recipe = changed(recipe, path, value)
    written = write_config(recipe, None, Facts(tokenizer="a/b", data="d.jsonl"))
    opened = read(written.files[0].content)
    assert changed(opened.recipe, "tokenizer.name", None) == recipe
    assert opened.datasets[0].paths == ("d.jsonl",)


def test_what_trl_has_no_key_for_is_said() -> None:
    written = write_config(changed(preset("trl@1.16"), "mask.terminator", "mask"), None)
    assert written.losses == ("mask.terminator = 'mask' has no key in TRL's config",)


def test_several_datasets_are_several_refs() -> None:
    opened = read(
        "datasets:\n  - path: json\n    data_files: a.jsonl\n  - path: org/set\n    split: test\n    name: sub\n"
    )
    assert [ref.paths for ref in opened.datasets] == [("a.jsonl",), ("org/set",)]
    assert opened.datasets[1].split == "test" and opened.datasets[1].subset == "sub"


def test_no_dataset_is_said() -> None:
    with pytest.raises(RecipeError, match="names no dataset"):
        read("max_length: 5\n")


def test_what_a_mixture_leaves_out_is_told() -> None:
    text = "datasets: [{path: d, fraction: 0.5, columns: [a], split: train, weigth: 1}]\ntest_split_size: 0.1\n"
    uses = {note.path: note.use for note in read(text).keys}
    assert uses["datasets[0].fraction"] is uses["datasets[0].columns"] is uses["test_split_size"] is KeyUse.UNSUPPORTED
    assert uses["datasets[0].split"] is KeyUse.USED and uses["datasets[0].weigth"] is KeyUse.UNSURE


@pytest.mark.parametrize(
    ("line", "path", "value"),
    [
        ("max_length: '512'", "length.max", 512),
        ("max_length: 'none'", "length.max", None),
        ("max_length: true", "length.max", 1),
        ("pad_to_multiple_of: '8'", "batch.multiple", 8),
        ("pad_to_multiple_of: auto", "batch.multiple", None),
        ("packing: 'no'", "pack.strategy", "none"),
        ("packing: 'yes'\npacking_strategy: bfd-requeue", "pack.strategy", "bfd_split"),
        ("assistant_only_loss: 'false'", "mask.rule", "auto"),
        ("completion_only_loss: 'n'", "mask.rule", "all"),
        ("learning_rate: 1e-4", "batch.size", 8),  # transformers' own default
        ("per_device_train_batch_size: '2'", "batch.size", 2),
    ],
)
def test_a_value_that_is_text_is_what_argparse_makes_of_it(line: str, path: str, value: Any) -> None:
    assert get(read(f"model_name_or_path: m\ndataset_name: d\n{line}\n").recipe, path) == value


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("max_length: x", "`max_length` cannot be 'x'"),
        ("packing: maybe", "argparse finds no bool in it"),
        ("learning_rate: fast", "argparse finds no float in it"),
        ("seed: 1.5e", "argparse finds no int in it"),
        ("env: x", "`env` is not a mapping"),
        ("mixed_precision: fp7", "`accelerate launch` accepts bf16, fp16, fp8, no"),
    ],
)
def test_a_value_that_argparse_stops_at_is_refused(line: str, said: str) -> None:
    with pytest.raises(RecipeError) as refused:
        read(f"model_name_or_path: m\ndataset_name: d\n{line}\n")
    assert said in str(refused.value)


@pytest.mark.parametrize("objective", ["sft", *trainer_named("trl").objectives])
def test_a_written_config_says_whose_it_is_and_what_it_trains(objective: str) -> None:
    recipe = changed(preset("trl"), "loss.objective", objective)
    text = write_config(recipe, None, Facts(data="pairs.jsonl", format="messages")).files[0].content
    assert "data_files: pairs.jsonl" in text and recognise(yaml.safe_load(text)).trainer == "trl"
    assert read(text).recipe.loss.objective == objective
