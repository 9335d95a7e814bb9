"""Rows set aside for evaluation: the same as `datasets` draws them when the trainer calls it."""

from __future__ import annotations

from typing import Any

import pytest

from sftui.trainers import trainer_named
from sftui.trainers.config import KeyUse
from sftui.trainers.held_out import HeldOut, SampledRows, ShuffledRows, count_of, evaluation_rows
from sftui.trainers.ms_swift.packing import RowDraw
from sftui.trainers.own_config import notes_of

AXOLOTL = "base_model: m\nsequence_len: 99\ndatasets:\n  - {path: d.jsonl, type: chat_template}\n"
TRL = "model_name_or_path: m\ndataset_name: d.jsonl\n"
VERL = "data: {train_files: d.parquet, %s}\n"
SWIFT = "model: m\nmodel_type: qwen2_5\ndataset: ['%s']\n"
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
    assert held.order(rows) == (list(real["train"]["row"]), list(real["test"]["row"]))


def test_max_samples_comes_before_the_draw() -> None:
    held = HeldOut("val_size", 0.5, 42, drawn=True, most=10)
    assert evaluation_rows(held, [True] * 1000) <= set(range(10))
    training, evaluating = held.order(12)
    assert sorted(training + evaluating) == list(range(12)) and training[-2:] == [10, 11]


def _held(trainer: str, text: str) -> HeldOut | None:
    opened = trainer_named(trainer).read_config("c.yaml", text, None)
    return trainer_named(trainer).held_out(opened.recipe)


@pytest.mark.parametrize(
    ("trainer", "text", "held"),
    [
        ("axolotl", AXOLOTL, None),
        ("axolotl", AXOLOTL + "val_set_size: 0.0\nseed: 3\n", None),
        ("axolotl", AXOLOTL + "val_set_size: 0.05\n", HeldOut("val_set_size", 0.05, None, drawn=False)),
        ("axolotl", AXOLOTL + "val_set_size: 0.05\nseed: null\n", HeldOut("val_set_size", 0.05, 42, drawn=False)),
        ("axolotl", AXOLOTL + "val_set_size: '20'\nseed: 3\n", HeldOut("val_set_size", 20, 3, drawn=False)),
        (
            "axolotl",
            AXOLOTL + "val_set_size: 0.05\nshuffle_merged_datasets: false\n",
            HeldOut("val_set_size", 0.05, None, drawn=False, shuffled=False),
        ),
        (
            "axolotl",
            AXOLOTL + "val_set_size: 0.05\nsample_packing: true\neval_sample_packing: false\n",
            HeldOut("val_set_size", 0.05, None, drawn=False, packs=False),
        ),
        ("llamafactory", FACTORY + "seed: 3\n", None),
        ("llamafactory", FACTORY + "val_size: 1\n", None),
        ("llamafactory", FACTORY + "val_size: 2\n", HeldOut("val_size", 2.0, 42, drawn=True)),
        ("llamafactory", FACTORY + "val_size: 0.1\nseed: 3\n", HeldOut("val_size", 0.1, 3, drawn=True)),
        (
            "llamafactory",
            FACTORY + "val_size: 0.1\nmax_samples: 9\n",
            HeldOut("val_size", 0.1, 42, drawn=True, most=9),
        ),
        ("trl", TRL + "shuffle_dataset: true\n", None),
        ("trl", TRL + "packing: true\nshuffle_dataset: false\n", None),
        ("trl", TRL + "packing: true\nshuffle_dataset: true\n", ShuffledRows("shuffle_dataset", 0, 42, drawn=True)),
        (
            "trl",
            TRL + "packing: true\nshuffle_dataset: true\nseed: 7\n",
            ShuffledRows("shuffle_dataset", 0, 7, drawn=True),
        ),
        ("verl", VERL % "train_max_samples: 20", None),
        (
            "verl",
            VERL % "train_max_samples: 20, shuffle: true",
            SampledRows("data.train_max_samples", 20, None, drawn=True),
        ),
        (
            "verl",
            VERL % "train_max_samples: 20, shuffle: true, seed: 5",
            SampledRows("data.train_max_samples", 20, 5, drawn=True),
        ),
        ("verl", VERL % "train_max_samples: -1, shuffle: true, seed: 5", None),
        ("ms-swift", SWIFT % "d.jsonl", None),
        ("ms-swift", SWIFT % "d.jsonl" + "packing: true\ndataset_shuffle: false\n", None),
        (
            "ms-swift",
            SWIFT % "d.jsonl" + "packing: true\ndata_seed: 3\n",
            RowDraw("dataset_shuffle", 0, 3, True),
        ),
        (
            "ms-swift",
            SWIFT % "d.jsonl#9" + "split_dataset_ratio: 0.2\n",
            RowDraw("split_dataset_ratio", 0.2, 42, True, True, 9),
        ),
        (
            "ms-swift",
            SWIFT % "d.jsonl" + "split_dataset_ratio: 0.2\nval_dataset: [e.jsonl]\n",
            None,
        ),
    ],
)
def test_a_config_says_what_is_set_aside(trainer: str, text: str, held: HeldOut | None) -> None:
    assert _held(trainer, text) == held


@pytest.mark.parametrize(
    ("trainer", "text", "unknown"),
    [
        ("axolotl", AXOLOTL + "val_set_size: 0.05\n", "without `seed`, each run draws different rows (set it)"),
        ("axolotl", AXOLOTL + "val_set_size: 0.05\nseed: null\n", ""),
        ("axolotl", AXOLOTL + "val_set_size: 0.05\nshuffle_merged_datasets: false\n", ""),
        ("axolotl", AXOLOTL + "val_set_size: 0.05\nseed: 7\n", ""),
        ("llamafactory", FACTORY + "val_size: 0.1\n", ""),
        (
            "verl",
            VERL % "train_max_samples: 20, shuffle: true",
            "without `data.seed`, each run draws different rows (set it)",
        ),
        ("verl", VERL % "train_max_samples: 20, shuffle: true, seed: 0", ""),
        (
            "trl",
            TRL + "packing: true\nshuffle_dataset: true\nseed: null\n",
            "without `seed`, each run draws different rows",
        ),
    ],
)
def test_a_seed_is_named_only_where_there_is_one(trainer: str, text: str, unknown: str) -> None:
    behind = trainer_named(trainer)
    recipe = behind.read_config("c.yaml", text, None).recipe
    held = behind.held_out(recipe)
    assert held is not None and unknown in held.doubt and bool(unknown) == bool(held.doubt)
    told = [one for one in notes_of(recipe) if f"({held.key})" in one]
    assert len(told) == 1 and (unknown in told[0])
    assert ("with seed" in told[0]) == (held.seed is not None and (held.drawn or held.shuffled))


def test_a_share_of_a_dataset_is_told_by_the_seed_alone() -> None:
    """`weight` reads the seed, too, where nothing is set aside."""
    text = AXOLOTL.replace("chat_template}", "chat_template, weight: 0.5}")
    for seed, told in (("", "without a seed"), ("seed: 7\n", "with seed 7"), ("seed: null\n", "with seed 42")):
        recipe = trainer_named("axolotl").read_config("c.yaml", text + seed, "0.20").recipe
        assert [one for one in notes_of(recipe) if told in one]


@pytest.mark.parametrize("rows", [7, 50, 1000])
@pytest.mark.parametrize("ratio", [0, 0.05, 0.3])
@pytest.mark.parametrize("most", [None, 5, 49, 120])
@pytest.mark.parametrize("shuffled", [True, False])
def test_ms_swift_draws_by_seeds_that_one_generator_gives(
    rows: int, ratio: float, most: int | None, shuffled: bool
) -> None:
    """dataset/loader.py load_dataset, with `datasets` itself."""
    import numpy
    from datasets import Dataset

    state = numpy.random.RandomState(42)
    state.randint(0, 2**31 - 1)  # decision_augment_config
    train, wanted = Dataset.from_dict({"row": list(range(rows))}), most or rows
    evaluating: Any = []
    if ratio:
        aside = max(int(min(rows, wanted) * ratio), 1)
        seed = state.randint(0, 2**31 - 1)
        train, test = train.train_test_split(test_size=aside, shuffle=shuffled, seed=seed).values()
        evaluating, wanted = test, wanted - aside
    times, rest = divmod(wanted, len(train))
    places = [*range(len(train))] * times
    places += list((state.permutation(len(train)) if shuffled else numpy.arange(rest))[:rest]) if rest else []
    train = train.select(places)
    if shuffled:
        train = train.shuffle(seed=state.randint(0, 2**31 - 1))
        evaluating = evaluating and evaluating.shuffle(seed=state.randint(0, 2**31 - 1))
    held = RowDraw("split_dataset_ratio", ratio, 42, True, shuffled, most)
    assert held.order(rows) == (list(train["row"]), list(evaluating["row"]) if evaluating else [])


@pytest.mark.parametrize(
    ("size", "rows", "count"), [(0.5, 3, 2), (0.1, 10, 1), (1, 10, 1), (2, 10, 2), (30, 7, 7), (0.99, 1, 1)]
)
def test_a_share_counts_rows_upwards_and_a_number_is_one(size: float, rows: int, count: int) -> None:
    assert count_of(size, rows) == count


@pytest.mark.parametrize("rows", [9, 10, 11, 40])
def test_verl_draws_rows_where_there_are_more(rows: int) -> None:
    """verl 0.9.1, utils/dataset/multiturn_sft_dataset.py: drawn with the seed only where max_samples < total."""
    import numpy

    drawn = (
        numpy.random.default_rng(5).choice(rows, size=10, replace=False).tolist() if rows > 10 else list(range(rows))
    )
    assert SampledRows("data.train_max_samples", 10, 5, drawn=True).order(rows) == (drawn, [])


def test_of_a_row_alone_ms_swift_sets_aside_that_row() -> None:
    """dataset/loader.py load_dataset: at least one row is set aside; datasets would then raise."""
    assert RowDraw("split_dataset_ratio", 0.05, 42, True).order(1) == ([], [0])
    assert RowDraw("split_dataset_ratio", 0.05, 42, True).order(0) == ([], [])


def test_the_notes_say_it_and_no_key_is_told_as_not_modelled() -> None:
    opened = trainer_named("axolotl").read_config("c.yaml", AXOLOTL + "val_set_size: 0.05\n", None)
    assert not [
        key
        for key in opened.keys
        if key.use in (KeyUse.UNSUPPORTED, KeyUse.UNKNOWN, KeyUse.UNSURE, KeyUse.NEWEST_STOPS)
    ]
    assert [one for one in notes_of(opened.recipe) if "0.05 of the rows" in one]
