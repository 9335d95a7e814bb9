"""NeMo Automodel's YAML, read and written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sftui.errors import RecipeError
from sftui.recipe import changed, get
from sftui.recipe_io import parse_yaml
from sftui.templates import builtin_template
from sftui.trainers import preset, trainer_named
from sftui.trainers.config import Facts, KeyUse, OpenedConfig
from sftui.trainers.nemo_automodel.config import NAMES, REFUSED, TARGETS
from sftui.trainers.own_config import write_config
from sftui.trainers.recognise import recognise

BASE = "model:\n  pretrained_model_name_or_path: M\n"
CHAT = f"{BASE}dataset:\n  _target_: {TARGETS['chat']}\n  path_or_dataset_id: a.jsonl\n"
COLUMNS = (
    f"{BASE}dataset:\n  _target_: {TARGETS['columns']}\n  path_or_dataset_id: a.jsonl\n"
    "  column_mapping: {question: q, answer: a}\n"
)
AGENT = f"{BASE}dataset:\n  _target_: {TARGETS['agent']}\n  path: a.jsonl\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_text(json.dumps({"messages": []}) + "\n")
    Path("t.jinja").write_text("{{ messages }}")


def read(text: str = CHAT, version: str | None = None) -> OpenedConfig:
    return trainer_named("nemo-automodel").read_config("automodel.yaml", text, version)


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        (CHAT, "tokenizer.name", "M"),
        (CHAT, "own.dataset", "chat"),
        (CHAT, "length.max", None),
        (CHAT + "  seq_length: 64\n", "length.max", None),
        (CHAT + "  seq_length: 64\n  truncation: true\n", "length.max", 64),
        (CHAT + "  seq_length: '64'\n  truncation: longest_first\n", "length.max", 64),
        (CHAT + "  seq_length: 64\n  truncation: do_not_truncate\n", "length.max", None),
        (CHAT + "  seq_length: 64\n  truncation: true\n  padding: max_length\n", "batch.pad_to", "max"),
        (CHAT + "  mask_history: true\n", "mask.turns", "last"),
        (CHAT + "  mask_history: 'True'\n", "mask.turns", "last"),
        (CHAT + "  mask_history: 'none'\n", "mask.turns", "all"),
        (AGENT + "  train_on_last_turn_only: 1\n", "mask.turns", "last"),
        (CHAT + "  mask_generation_prompt: true\n", "own.mask_generation_prompt", True),
        (COLUMNS, "data.fields", {"question": "q", "answer": "a"}),
        (COLUMNS + "  answer_only_loss_mask: false\n", "mask.rule", "all"),
        (CHAT + "  chat_template: t.jinja\n", "render.template", "file:t.jinja"),
        (CHAT + "  chat_template: '{{ messages }}'\n", "own.chat_template", "{{ messages }}"),
        (CHAT + "  tokenizer: {pretrained_model_name_or_path: T}\n", "tokenizer.name", "T"),
        (
            CHAT + "  tokenizer: {_target_: transformers.AutoTokenizer.from_pretrained}\n",
            "own.tokenizer_backend",
            "transformers_auto",
        ),
        (CHAT + "  tokenizer: {force_default: true}\n", "own.tokenizer_backend", "nemo_wrapped_auto"),
        (CHAT + "step_scheduler: {local_batch_size: 3}\n", "batch.size", 3),
        (CHAT + "step_scheduler: {local_batch_size: 3}\ndataloader: {batch_size: 2}\n", "batch.size", 2),
        (
            CHAT + "dataloader: {collate_fn: {_target_: a.default_collater, pad_seq_len_divisible: 8}}\n",
            "batch.multiple",
            8,
        ),
        (CHAT + "dataloader: {collate_fn: a.packed_sequence_thd_collater}\n", "batch.attention", "none"),
        (CHAT + "packed_sequence: {packed_sequence_size: 512}\n", "pack.strategy", "sequential"),
        (
            CHAT + "packed_sequence: {packed_sequence_size: 512, packing_strategy: neat}\n",
            "own.packed_sequence_size",
            512,
        ),
        (CHAT + "packed_sequence: {packed_sequence_size: 0, packing_strategy: neat}\n", "pack.strategy", "none"),
    ],
)
def test_keys_are_knobs(text: str, path: str, value: Any) -> None:
    assert get(read(text).recipe, path) == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (BASE, "the config has no dataset"),
        (BASE + "dataloader: {dataset: {_target_: x}}\n", "move it to the top level"),
        ("recipe: FinetuneRecipeForVLM\n" + CHAT, "is for the recipe FinetuneRecipeForVLM"),
        (CHAT.replace("ChatDataset", "Other"), "sftui does not model the dataset"),
        (CHAT.replace("nemo_automodel.", "mine."), "sftui does not model the dataset"),
        (CHAT.replace("a.jsonl", "${DATA}"), "from the environment"),
        (CHAT.replace("a.jsonl", "7"), "path_or_dataset_id` cannot be"),
        (CHAT + "  seq_length: 1.5\n", "seq_length is `1.5`"),
        (CHAT + "  truncation: only_second\n", "truncation is `only_second`"),
        (COLUMNS.replace("answer: a", "other: a"), "column_mapping is"),
        (
            CHAT + "packed_sequence: {packed_sequence_size: 9, packing_strategy: x.Mine}\n",
            "sftui supports thd and neat",
        ),
    ],
)
def test_what_it_refuses(text: str, why: str) -> None:
    with pytest.raises(RecipeError) as told:
        read(text)
    assert why in str(told.value)


@pytest.mark.parametrize("name", REFUSED)
def test_other_datasets_are_refused_with_what_they_are(name: str) -> None:
    with pytest.raises(RecipeError) as told:
        read(CHAT.replace("chat_dataset.ChatDataset", name))
    assert REFUSED[name] in str(told.value) and name not in NAMES


@pytest.mark.parametrize(
    ("text", "key", "use", "said"),
    [
        (CHAT + "  start_of_turn_token: x\n", "dataset.start_of_turn_token", KeyUse.IDLE, "0.7.0 never reads it"),
        (CHAT + "  unshifted: true\n", "dataset.unshifted", KeyUse.STOPS, "KeyError: 'labels'"),
        (CHAT + "  seq_len: 3\n", "dataset.seq_len", KeyUse.STOPS, "unexpected dataset config field(s): seq_len"),
        (CHAT + "  seq_length: 3\n", "dataset.seq_length", KeyUse.PASSED, "cuts nothing without truncation"),
        (
            CHAT + "dataloader: {_target_: my.Loader}\n",
            "dataloader._target_",
            KeyUse.STOPS,
            "Unsupported dataloader _target_ 'my.Loader'",
        ),
        (
            CHAT + "dataloader: {_target_: torchdata.stateful_dataloader.StatefulDataLoader}\n",
            "dataloader._target_",
            KeyUse.PASSED,
            "",
        ),
        (
            CHAT + "dataloader: {collate_fn: my.collate}\n",
            "dataloader.collate_fn",
            KeyUse.UNSUPPORTED,
            "a collator other than",
        ),
        (
            CHAT + "  tokenizer: {_target_: my.Tokenizer}\n",
            "dataset.tokenizer",
            KeyUse.UNSUPPORTED,
            "the tokenizer of my.Tokenizer",
        ),
        (
            CHAT + "  tokenizer: {_target_: transformers.AutoTokenizer.from_pretrained}\n",
            "dataset.tokenizer",
            KeyUse.USED,
            "",
        ),
        (
            CHAT + "recipe: {_target_: my.TrainFinetuneRecipeForNextTokenPrediction}\n",
            "recipe",
            KeyUse.UNSUPPORTED,
            "your own recipe",
        ),
        (CHAT + "recipe: TrainFinetuneRecipeForNextTokenPrediction\n", "recipe", KeyUse.PASSED, ""),
        (CHAT + "dataloader: {workers: 1}\n", "dataloader.workers", KeyUse.STOPS, "Unexpected dataloader"),
        (CHAT + "packed_sequence: {sise: 1}\n", "packed_sequence.sise", KeyUse.STOPS, "unexpected packing"),
        (CHAT + "packed_sequence: {split_across_pack: true}\n", "packed_sequence.split_across_pack", KeyUse.PASSED, ""),
        (CHAT + "distributed: {cp_size: 2}\n", "distributed.cp_size", KeyUse.UNSUPPORTED, "THD packs"),
        (CHAT + "optimizer: {lr: 1}\n", "optimizer", KeyUse.PASSED, ""),
        (CHAT + "optimiser: {lr: 1}\n", "optimiser", KeyUse.UNKNOWN, "silently ignores it"),
        (
            AGENT + "  filter_overlong: true\n  seq_length: 9\n",
            "dataset.filter_overlong",
            KeyUse.IDLE,
            "drops no rows in 0.7.0",
        ),
        (AGENT + "  filter_overlong: true\n", "dataset.filter_overlong", KeyUse.STOPS, "requires `seq_length`"),
        (AGENT + "  limit_dataset_samples: 9\n", "dataset.limit_dataset_samples", KeyUse.USED, ""),
        (CHAT + "  shuffle_seed: 1\n", "dataset.shuffle_seed", KeyUse.PASSED, "order of rows"),
        (CHAT + "  shuffle_seed: 1\n  split: train[:9]\n", "dataset.shuffle_seed", KeyUse.UNSUPPORTED, "shuffled rows"),
    ],
)
def test_what_becomes_of_keys(text: str, key: str, use: KeyUse, said: str) -> None:
    [note] = [one for one in read(text, "0.7").keys if one.path == key]
    assert note.use is use and said in note.note


@pytest.mark.parametrize(
    ("text", "paths", "split"),
    [
        (CHAT, ("a.jsonl",), None),
        (CHAT.replace("a.jsonl", "[a.jsonl, b.jsonl]"), ("a.jsonl", "b.jsonl"), None),
        (CHAT.replace("a.jsonl", "someone/some\n  split: train[1024:]"), ("someone/some",), "train[1024:]"),
        (AGENT.replace("path: a.jsonl", "dataset_name: someone/some"), ("someone/some",), "train"),
        (f"{BASE}dataset:\n  _target_: {TARGETS['xlam']}\n", ("Salesforce/xlam-function-calling-60k",), "train"),
    ],
)
def test_datasets(text: str, paths: tuple[str, ...], split: str | None) -> None:
    [reference] = read(text).datasets
    assert (reference.paths, reference.split) == (paths, split)


def test_a_config_is_recognised_by_its_targets() -> None:
    assert recognise(parse_yaml(CHAT, "x.yaml", "pyyaml")).trainer == "nemo-automodel"


def test_changed_keys_alone_are_written_and_told_as_words() -> None:
    opened = read(CHAT + "  seq_length: 512 # long\n  truncation: true\noptimizer:\n  lr: 1.0e-5\n")
    recipe = changed(changed(opened.recipe, "length.max", 256), "mask.turns", "last")
    written = write_config(recipe, opened)
    [file] = written.files
    assert (
        "seq_length: 256 # long" in file.content
        and "mask_history: true" in file.content
        and "lr: 1.0e-5" in file.content
    )
    assert written.notes == (
        "as overrides: automodel automodel.yaml --dataset.seq_length 256 --dataset.mask_history True",
    )
    assert read(file.content).recipe == recipe


@pytest.mark.parametrize(
    "knobs",
    [
        {"length.max": 64, "batch.pad_to": "max", "own.mask_reasoning_content": True},
        {"own.dataset": "columns", "data.fields": {"question": "q", "answer": "a"}, "mask.rule": "all"},
        {"own.dataset": "agent", "mask.turns": "last", "own.truncate_history": True, "length.max": 9},
        {"pack.strategy": "neat", "pack.isolate": True, "own.packed_sequence_size": 512},
        {"batch.multiple": 16, "batch.size": 3},
        {"batch.attention": "none"},
        {"render.template": "file:t.jinja"},
        {"own.tokenizer_backend": "nemo_wrapped_auto"},
    ],
)
def test_a_new_config_says_the_recipe(knobs: dict[str, Any]) -> None:
    recipe = changed(preset("nemo-automodel"), "tokenizer.name", "M")
    for path, value in knobs.items():
        recipe = changed(recipe, path, value)
    written = write_config(recipe, None, Facts(data="a.jsonl", tokenizer="M"))
    assert not written.losses
    assert read(written.files[0].content).recipe == recipe


def test_a_template_of_sftui_s_own_is_written_as_its_text() -> None:
    recipe = changed(changed(preset("nemo-automodel"), "tokenizer.name", "M"), "render.template", "builtin:zephyr")
    source = builtin_template("zephyr").source
    written = write_config(recipe, None, Facts(data="a.jsonl", tokenizer="M", template_source=source))
    assert get(read(written.files[0].content).recipe, "own.chat_template") == source
