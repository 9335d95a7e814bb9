"""The evaluation sets of trainers' configs, under the keys that the trainers apply to them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

import sftui
from sftui.errors import RecipeError
from sftui.recipe import Recipe, get
from sftui.session.configs import ChosenConfig, open_config
from sftui.trainers.own_config import write_config

Config = Mapping[str, Any]
ROW = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}]}
AXOLOTL = {
    "base_model": "m",
    "datasets": [{"path": "train.jsonl", "type": "chat_template"}],
    "test_datasets": [{"path": "held.jsonl", "type": "alpaca"}, {"path": "org/held", "type": "chat_template"}],
    "sequence_len": 512,
    "sample_packing": True,
}
LLAMAFACTORY = {
    **{"model_name_or_path": "m", "stage": "sft", "do_train": True, "finetuning_type": "lora", "output_dir": "o"},
    **{"dataset_dir": ".", "dataset": "train", "eval_dataset": "held,train", "template": "qwen", "cutoff_len": 64},
}
SWIFT = {
    "model": "m",
    "template": "qwen2_5",
    "dataset": ["train.jsonl"],
    "val_dataset": ["held.jsonl"],
    "packing": True,
}
TORCHTUNE = {
    "tokenizer": {"_component_": "torchtune.models.qwen2_5.qwen2_5_tokenizer", "path": "m", "max_seq_len": 64},
    "dataset": {
        "_component_": "torchtune.datasets.chat_dataset",
        **{"source": "json", "data_files": "train.jsonl", "conversation_column": "messages"},
        **{"conversation_style": "openai", "packed": True},
    },
    "dataset_val": {
        "_component_": "torchtune.datasets.alpaca_dataset",
        **{"source": "json", "data_files": "held.jsonl", "train_on_input": False},
    },
}
NEMO = {
    "dataset": {
        "_target_": "nemo_automodel.components.datasets.llm.chat_dataset.ChatDataset",
        **{"path_or_dataset_id": "train.jsonl", "seq_length": 64},
    },
    "validation_dataset": {
        "_target_": "nemo_automodel.components.datasets.llm.chat_dataset.ChatDataset",
        **{"path_or_dataset_id": "held.jsonl", "mask_history": True},
    },
    "packed_sequence": {"packed_sequence_size": 64},
}
VERL = {"data": {"train_files": "train.parquet", "val_files": "held.parquet", "max_length": 64, "train_max_samples": 3}}
TRL = {
    **{"model_name_or_path": "m", "dataset_name": "train.jsonl", "eval_strategy": "steps", "max_length": 64},
    **{"packing": True, "dataset_test_split": "held"},
}
MLX = {"model": "m", "data": "data", "train": True}


def opened(folder: Path, trainer: str, config: Config, dataset: str = "eval") -> ChosenConfig:
    tags = {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"}
    info = {
        "train": {
            "file_name": "train.jsonl",
            "formatting": "sharegpt",
            "columns": {"messages": "messages"},
            "tags": tags,
        },
        "held": {"file_name": "held.jsonl"},
    }
    (folder / "data").mkdir(exist_ok=True)
    for name in ("train.jsonl", "held.jsonl", "data/train.jsonl", "data/valid.jsonl"):
        (folder / name).write_text(json.dumps(ROW) + "\n")
    (folder / "dataset_info.json").write_text(json.dumps(info))
    (folder / "config.yml").write_text(yaml.safe_dump(dict(config)))
    return open_config("config.yml", trainer, dataset)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("trainer", "config", "paths", "knobs"),
    [
        ("axolotl", AXOLOTL, ("held.jsonl",), {"length.max": 512, "pack.strategy": "multipack"}),
        (
            "axolotl",
            {**AXOLOTL, "eval_sequence_len": 24, "eval_sample_packing": False},
            ("held.jsonl",),
            {"length.max": 24, "pack.strategy": "none"},
        ),
        (
            "axolotl",
            {**AXOLOTL, "sample_packing": False, "eval_sample_packing": True},
            ("held.jsonl",),
            {"pack.strategy": "none"},
        ),
        (
            "llamafactory",
            LLAMAFACTORY,
            ("held.jsonl",),
            {"data.format": "alpaca", "length.max": 64, "own.val_size": None},
        ),
        ("ms-swift", SWIFT, ("held.jsonl",), {"own.dataset_shuffle": False, "own.split_dataset_ratio": 0.0}),
        ("torchtune", TORCHTUNE, ("held.jsonl",), {"pack.strategy": "none", "data.format": "alpaca"}),
        ("nemo-automodel", NEMO, ("held.jsonl",), {"pack.strategy": "none", "mask.turns": "last"}),
        ("verl", VERL, ("held.parquet",), {"own.train_max_samples": None, "length.max": 64}),
        ("trl", TRL, ("train.jsonl",), {"pack.strategy": "bfd", "batch.flatten": True, "pack.isolate": True}),
        (
            "trl",
            {**TRL, "eval_packing": False},
            ("train.jsonl",),
            {"pack.strategy": "none", "batch.flatten": False, "length.max": 64},
        ),
        (
            "trl",
            {**TRL, "packing": False, "eval_packing": True},
            ("train.jsonl",),
            {"pack.strategy": "bfd", "batch.flatten": False, "pack.isolate": False},
        ),
        ("mlx-lm", MLX, ("data/valid.jsonl",), {}),
    ],
)
def test_an_evaluation_set_has_the_knobs_of_its_own_keys(
    tmp_path: Path, trainer: str, config: Config, paths: tuple[str, ...], knobs: Mapping[str, Any]
) -> None:
    chosen = opened(tmp_path, trainer, config)
    assert tuple(map(str, chosen.reference.paths)) == paths and chosen.opened.evaluates
    assert {path: get(chosen.reference.recipe, path) for path in knobs} == knobs
    assert any("the evaluation set of config.yml is open" in note for note in chosen.notes)
    trained = open_config("config.yml", trainer, None)
    assert not trained.opened.evaluates and trained.opened.keys == chosen.opened.keys
    assert trained.opened.text == chosen.opened.text
    recipe: Recipe = chosen.reference.recipe
    with pytest.raises(RecipeError, match="the evaluation set of the config is open"):
        write_config(recipe, chosen.opened)


def test_the_others_of_several_are_chosen_and_have_their_split(tmp_path: Path) -> None:
    assert opened(tmp_path, "axolotl", AXOLOTL, "eval:1").reference.split == "test"
    assert opened(tmp_path, "axolotl", AXOLOTL, "eval:org/held").reference.paths == ("org/held",)
    assert opened(tmp_path, "axolotl", AXOLOTL).reference.split is None
    assert opened(tmp_path, "trl", TRL).reference.split == "held"
    named = {**AXOLOTL, "datasets": [{"path": "eval", "type": "chat_template"}]}
    assert opened(tmp_path, "axolotl", named).reference.paths == ("eval",)
    said = opened(tmp_path, "axolotl", {**AXOLOTL, "eval_sequence_len": 24}).notes
    assert "`sequence_len` shows the value of `eval_sequence_len`" in said


@pytest.mark.parametrize(
    ("trainer", "config", "said"),
    [
        ("axolotl", {**AXOLOTL, "test_datasets": None, "val_set_size": 0.1}, "names no evaluation set"),
        ("llamafactory", {**LLAMAFACTORY, "eval_dataset": None}, "names no evaluation set"),
        ("llamafactory", {**LLAMAFACTORY, "predict_with_generate": True}, "without labels"),
        ("ms-swift", {**SWIFT, "predict_with_generate": True}, "leaves its rows unprepared"),
        ("trl", {**TRL, "eval_strategy": "no"}, "names no evaluation set"),
    ],
)
def test_where_there_is_none_it_says_so(tmp_path: Path, trainer: str, config: Config, said: str) -> None:
    with pytest.raises(RecipeError) as raised:
        opened(tmp_path, trainer, config)
    assert said in str(raised.value)


def test_a_report_says_that_its_rows_evaluate(tmp_path: Path) -> None:
    opened(tmp_path, "ms-swift", SWIFT)
    given: dict[str, Any] = {"config": "config.yml", "trainer": "ms-swift", "tokenizer": "builtin:chatml"}
    assert "in 1 row of the evaluation set ·" in str(sftui.check(**given, dataset="eval"))
    assert "evaluation set" not in str(sftui.check(**given)).splitlines()[-1]
