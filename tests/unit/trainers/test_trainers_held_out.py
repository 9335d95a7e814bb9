"""Rows set aside for evaluation: the same as `datasets` draws them when the trainer calls it."""

from __future__ import annotations

import pytest

from sftui.trainers import trainer_named
from sftui.trainers.config import KeyUse
from sftui.trainers.held_out import HeldOut, drawn_order, evaluation_rows

AXOLOTL = "base_model: m\nsequence_len: 99\ndatasets:\n  - {path: d.jsonl, type: chat_template}\n"
FACTORY = "model_name_or_path: m\nstage: sft\ndataset_dir: ONLINE\ndataset: d\n"


@pytest.mark.parametrize("size", [0.05, 0.1, 0.5, 7, 30])
@pytest.mark.parametrize("rows", [40, 41, 1000])
@pytest.mark.parametrize("seed", [42, 7])
def test_the_same_rows_as_datasets_gives_the_trainers(size: float, rows: int, seed: int) -> None:
    from datasets import Dataset

    data = Dataset.from_dict({"row": list(range(rows))})
    kept = [row % 7 != 3 for row in range(rows)]
    for shuffled in (True, False):
        # utils/data/sft.py: merged and shuffled, too long rows dropped, then split without a shuffle
        merged = data.shuffle(seed=seed) if shuffled else data
        left = merged.filter(lambda one: kept[one["row"]])
        real = left.train_test_split(test_size=size, shuffle=False, seed=seed)["test"]["row"]
        held = HeldOut("val_set_size", size, seed, drawn=False, shuffled=shuffled)
        assert evaluation_rows(held, kept) == set(real)
    real = data.train_test_split(test_size=size, seed=seed)  # data/data_utils.py split_dataset
    held = HeldOut("val_size", size, seed, drawn=True)
    assert evaluation_rows(held, kept) == set(real["test"]["row"])
    assert drawn_order(held, rows) == (list(real["train"]["row"]), list(real["test"]["row"]))


def test_max_samples_comes_before_the_draw() -> None:
    held = HeldOut("val_size", 0.5, 42, drawn=True, most=10)
    assert evaluation_rows(held, [True] * 1000) <= set(range(10))
    training, evaluating = drawn_order(held, 12) or ([], [])
    assert sorted(training + evaluating) == list(range(12)) and training[-2:] == [10, 11]


def _held(trainer: str, text: str) -> HeldOut | None:
    opened = trainer_named(trainer).read_config("c.yaml", text, None)
    return trainer_named(trainer).held_out(opened.recipe)


@pytest.mark.parametrize(
    ("trainer", "text", "held"),
    [
        ("axolotl", AXOLOTL, None),
        ("axolotl", AXOLOTL + "val_set_size: 0.0\nseed: 3\n", None),
        ("axolotl", AXOLOTL + "val_set_size: 0.05\n", HeldOut("val_set_size", 0.05, 42, drawn=False)),
        ("axolotl", AXOLOTL + "val_set_size: '20'\nseed: 3\n", HeldOut("val_set_size", 20, 3, drawn=False)),
        (
            "axolotl",
            AXOLOTL + "val_set_size: 0.05\nshuffle_merged_datasets: false\n",
            HeldOut("val_set_size", 0.05, 42, drawn=False, shuffled=False),
        ),
        (
            "axolotl",
            AXOLOTL + "val_set_size: 0.05\nsample_packing: true\neval_sample_packing: false\n",
            HeldOut("val_set_size", 0.05, 42, drawn=False, packs=False),
        ),
        ("llamafactory", FACTORY + "seed: 3\n", None),
        ("llamafactory", FACTORY + "val_size: 0.1\nseed: 3\n", HeldOut("val_size", 0.1, 3, drawn=True)),
        (
            "llamafactory",
            FACTORY + "val_size: 0.1\nmax_samples: 9\n",
            HeldOut("val_size", 0.1, 42, drawn=True, most=9),
        ),
    ],
)
def test_a_config_says_what_is_set_aside(trainer: str, text: str, held: HeldOut | None) -> None:
    assert _held(trainer, text) == held


def test_the_notes_say_it_and_no_key_is_told_as_not_modelled() -> None:
    opened = trainer_named("axolotl").read_config("c.yaml", AXOLOTL + "val_set_size: 0.05\n", None)
    assert not [
        key
        for key in opened.keys
        if key.use in (KeyUse.UNSUPPORTED, KeyUse.UNKNOWN, KeyUse.UNSURE, KeyUse.NEWEST_STOPS)
    ]
    assert [one for one in trainer_named("axolotl").notes(opened.recipe) if "0.05 of the rows aside" in one]
