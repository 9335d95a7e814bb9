"""What is offered where nothing was named: by names, sizes and small YAML files alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sftui.session.at_hand import data_in, hub_cache, size_of, tokenizers_at_hand, trainers_at_hand
from sftui.trainers import TRAINERS, preset

AXOLOTL = "base_model: x\ndatasets:\n  - path: a.jsonl\n    type: chat_template\nsample_packing: true\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {
        "b.jsonl": "{}\n",
        "a.csv.gz": "x",
        "notes.txt": "no data",
        "README.md": "no data",
        "config.json": "{}",
        ".hidden.jsonl": "{}",
        "axolotl.yml": AXOLOTL,
        "ci.yaml": "on: push\n",
        "broken.yaml": "a: [1\n",
        "huge.yaml": AXOLOTL + "# " * 200_000,
        "data/train.parquet": "x",
        "data/deeper/not.jsonl": "{}",
        "saved/state.json": "{}",
        "saved/data.arrow": "",
        "model/tokenizer.json": "{}",
        "model/tokenizer_config.json": "{}",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_data_saved_sets_and_configs_are_offered_those_here_first(folder: Path) -> None:
    assert data_in(folder) == (
        ("a.csv.gz", "1 B"),
        ("axolotl.yml", "config of Axolotl: its data, tokenizer and settings"),
        ("b.jsonl", "3 B"),
        ("saved", "dataset saved by datasets"),
        ("data/train.parquet", "1 B"),
    )


def test_what_cannot_be_read_offers_nothing(tmp_path: Path) -> None:
    assert data_in(tmp_path / "nowhere") == () and data_in(tmp_path) == ()
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert data_in(tmp_path) == (), "a pipe would be waited for"
    (tmp_path / "loop.yml").symlink_to("loop.yml")
    assert data_in(tmp_path) == ()


def test_tokenizers_come_from_beside_the_data_the_cache_and_sftui(folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "hub"
    for name, file in (
        ("models--Qwen--Qwen3-0.6B/snapshots/abc", "tokenizer.json"),
        ("models--gpt2/snapshots/abc", "vocab.json"),
        ("models--org--weights-only/snapshots/abc", "model.safetensors"),
        ("datasets--org--rows/snapshots/abc", "tokenizer.json"),
    ):
        (cache / name).mkdir(parents=True)
        (cache / name / file).write_text("{}")
    found = tokenizers_at_hand([folder], cache)
    assert [(one.value, one.about) for one in found if one.about != "built in, small, for trying things"] == [
        (str(folder / "model"), "on this disk"),
        ("Qwen/Qwen3-0.6B", "in the Hub cache"),
        ("gpt2", "in the Hub cache"),
    ]
    assert {"builtin:chatml", "builtin:gemma", "builtin:llama3"} <= {one.value for one in found}
    assert len(tokenizers_at_hand([], tmp_path / "none")) == 3


def test_each_trainer_is_offered_by_a_preset() -> None:
    found = trainers_at_hand()
    assert [preset(one.value).trainer for one in found] == list(TRAINERS) and all(one.about for one in found)


@pytest.mark.parametrize(
    ("size", "told"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (42_000, "42 kB"), (7_300_000, "7.3 MB")]
)
def test_sizes(tmp_path: Path, size: int, told: str) -> None:
    with open(tmp_path / "file", "wb") as file:
        file.truncate(size)
    assert size_of(tmp_path / "file") == told and size_of(tmp_path / "none") == ""


def test_the_cache_is_the_hubs_own() -> None:
    from huggingface_hub import constants

    assert str(hub_cache()) == constants.HF_HUB_CACHE
