"""`sftui encode` of a recipe that packs: the packs, from which and from the unpacked rows each can be rebuilt."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TOK = ("-t", "builtin:chatml")
PACKERS: dict[str, tuple[str, ...]] = {
    "trl bfd": ("trl", "pack.strategy=bfd", "length.max=64"),
    "trl bfd_split": ("trl", "pack.strategy=bfd_split", "length.max=20"),
    "trl wrapped": ("trl", "pack.strategy=wrapped", "length.max=33"),
    "trl groups": ("trl", "pack.strategy=bfd", "length.max=64", "pack.group=7"),
    "axolotl": ("axolotl", "pack.strategy=multipack", "length.max=64"),
    "axolotl groups": ("axolotl", "pack.strategy=multipack", "length.max=64", "pack.group=9"),
    "axolotl in order": (
        "axolotl",
        "pack.strategy=multipack",
        "length.max=64",
        "own.sample_packing_sequentially=true",
    ),
    "llamafactory knapsack": ("llamafactory", "pack.strategy=knapsack", "length.max=64"),
    "llamafactory neat": ("llamafactory", "pack.strategy=neat", "length.max=64", "pack.group=7"),
    "unsloth": ("unsloth", "pack.strategy=bfd", "length.max=64"),
    "torchtune": ("torchtune@0.6.1", "pack.strategy=sequential", "length.max=96", "render.template=torchtune/qwen2_5"),
    "torchtune split": (
        "torchtune@0.7",
        "pack.strategy=sequential",
        "length.max=40",
        "own.split_across_pack=true",
        "render.template=torchtune/qwen2_5",
    ),
}


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Rows of 12 to some 60 tokens."""
    turns = [("Why? " * (i % 3), "because " * (i * 7 % 23 + 1)) for i in range(40)]
    roles = ("user", "assistant")
    made = [{"messages": [{"role": role, "content": text} for role, text in zip(roles, pair)]} for pair in turns]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in made))
    return path


def words(name: str) -> list[str]:
    trainer, *knobs = PACKERS[name]
    return ["--trainer", trainer, *(word for knob in knobs for word in ("--set", knob))]


def rebuilt(pack: dict[str, Any], by_row: dict[tuple[int, int], dict[str, Any]], column: str) -> list[int]:
    pieces = (by_row[d["row"], d["part"]][column][d["start"] : d["end"]] for d in pack["documents"])
    return [value for piece in pieces for value in piece]


@pytest.mark.parametrize("name", PACKERS)
def test_every_pack_can_be_rebuilt_of_the_unpacked_rows(sftui: Callable[..., Any], rows: Path, name: str) -> None:
    packed = sftui("encode", rows, *TOK, *words(name), "-o", "-")
    plain = sftui("encode", rows, *TOK, *words(name), "-o", "-", "--unpacked").records()
    by_row = {(one["row"], one.get("part", 0)): one for one in plain}
    packs = packed.records()
    assert [pack["pack"] for pack in packs] == list(range(len(packs))) and packed.code == 0
    assert (len(packs) < len(plain) or "split" in name) and f"{len(packs)} packs of 40 rows" in packed.err
    masked = 0
    for pack in packs:
        n = len(pack["input_ids"])
        along = ("labels", "attention_mask", "position_ids", "document_ids")
        assert all(len(pack[column]) == n for column in along if column in pack)
        ids, labels = rebuilt(pack, by_row, "input_ids"), rebuilt(pack, by_row, "labels")
        assert pack["input_ids"][: len(ids)] == ids
        assert pack["labels"][len(ids) :] == [-100] * (n - len(ids))
        differ = [place for place, label in enumerate(labels) if pack["labels"][place] != label]
        # torchtune 0.7 shifts before it packs: what goes on in a pack learns its first token in the pack before
        assert all(pack["labels"][place] == -100 and not (place and pack["position_ids"][place]) for place in differ)
        masked += len(differ)
        lengths = [d["end"] - d["start"] for d in pack["documents"]]
        numbers = [number for number, length in enumerate(lengths, 1) for _ in range(length)]
        assert pack["document_ids"] == numbers + [0] * (n - len(numbers))
        assert pack["seq_lens"][: len(lengths)] == lengths and sum(pack["seq_lens"]) in (len(ids), n)
    documents = sorted((d["row"], d["part"], d["start"], d["end"]) for pack in packs for d in pack["documents"])
    assert {(row, part) for row, part, _, _ in documents} == set(by_row)
    assert sum(end - start for _, _, start, end in documents) == sum(len(one["input_ids"]) for one in plain)
    masks = name.startswith(("trl bfd", "trl groups", "unsloth", "torchtune split"))
    assert bool(masked) == masks, "TRL masks where a document begins"


@pytest.mark.parametrize("name", ["trl bfd", "trl wrapped", "llamafactory neat", "torchtune"])
def test_parquet_holds_the_same_packs(sftui: Callable[..., Any], rows: Path, tmp_path: Path, name: str) -> None:
    import pyarrow.parquet as pq

    lines, table = tmp_path / "packs.jsonl", tmp_path / "packs.parquet"
    for out in (lines, table):
        assert sftui("encode", rows, *TOK, *words(name), "-o", out).out == ""
    kept = [{key: value for key, value in row.items() if value is not None} for row in pq.read_table(table).to_pylist()]
    assert kept == [json.loads(line) for line in lines.read_text().splitlines()]


def test_rows_that_are_in_no_pack_are_told(sftui: Callable[..., Any], data: Path) -> None:
    """The second row has no pair of turns, the third cannot be read."""
    done = sftui("encode", data, *TOK, "--trainer", "llamafactory", "--set", "pack.strategy=neat", "-o", "-")
    told = [one for one in done.records() if "row" in one]
    assert [set(one) for one in told] == [{"row", "dropped"}, {"row", "error"}]
    (pack,) = (one for one in done.records() if "pack" in one)
    assert sorted(document["row"] for document in pack["documents"]) == [0, 3]
    assert done.code == 2 and "1 pack of 4 rows, 1 dropped by the trainer, 1 could not be prepared" in done.err


def test_what_the_packs_assume_is_told_in_one_line(sftui: Callable[..., Any], rows: Path) -> None:
    for name, told in (("trl groups", "in groups of 7 rows"), ("torchtune", "one after the other")):
        lines = sftui("encode", rows, *TOK, *words(name), "-o", "-").err.splitlines()
        (line,) = (line for line in lines if "--unpacked writes rows" in line)
        assert told in line
    assert "--unpacked" not in sftui("encode", rows, *TOK, "-o", "-").err, "a recipe that does not pack says nothing"


def test_a_last_batch_that_is_not_full_is_left_out_where_the_trainer_leaves_it(
    sftui: Callable[..., Any], rows: Path
) -> None:
    """Axolotl's multipack_real_batches: a batch is batch.size bins."""
    real = ("--set", "own.multipack_real_batches=true", "--set", "batch.size=4")
    done = sftui("encode", rows, *TOK, *words("axolotl"), *real, "-o", "-")
    every = sftui("encode", rows, *TOK, *words("axolotl"), "-o", "-").records()
    assert len(every) % 4 and done.records() == every[: len(every) // 4 * 4]
    assert "tokens left out of every pack" in done.err


def test_a_trainer_that_does_not_pack_so_writes_nothing(sftui: Callable[..., Any], rows: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    done = sftui("encode", rows, *TOK, "--set", "pack.strategy=bfd", "-o", out)
    assert done.code == 2 and "does not pack" in done.err and not out.exists()


@pytest.mark.parametrize("name", PACKERS)
def test_the_pack_view_shows_the_packs_that_encode_writes(sftui: Callable[..., Any], rows: Path, name: str) -> None:
    """From the first row on, where a packing group fits into the view."""
    from sftui.recipe import changed
    from sftui.recipe_io import parse_yaml
    from sftui.session.options import OpenOptions
    from sftui.session.ready import open_data, tokenized
    from sftui.trainers import preset
    from sftui.workspace.answers import packs
    from sftui.workspace.requests import PacksRequest, answering

    trainer, *knobs = PACKERS[name]
    recipe = changed(preset(trainer), "tokenizer.name", "builtin:chatml")
    for knob in knobs:
        path, _, value = knob.partition("=")
        recipe = changed(recipe, path, parse_yaml(f"v: {value}", "")["v"])
    few, most = rows.with_name("few.jsonl"), min(recipe.pack.group, 40)
    few.write_text("".join(rows.read_text().splitlines(keepends=True)[:most]))
    session = tokenized(open_data(OpenOptions(paths=(str(few),)), recipe))
    asked = PacksRequest(0, 0)
    (shown,) = (event for event in packs(session, asked, answering(asked, 0)) if event is not None)
    written = sftui("encode", few, *TOK, *words(name), "-o", "-").records()
    assert [(list(p.input_ids), list(p.labels), [d[0] for d in p.documents]) for p in shown.packs] == [
        (p["input_ids"], p["labels"], [d["row"] for d in p["documents"]]) for p in written
    ]
    session.close()


@pytest.mark.parametrize("name", PACKERS)
def test_a_pack_is_explained_as_its_rows_are(sftui: Callable[..., Any], rows: Path, name: str) -> None:
    packs = sftui("encode", rows, *TOK, *words(name), "-o", "-", "--explain").records()
    plain = sftui("encode", rows, *TOK, *words(name), "-o", "-", "--unpacked", "--explain").records()
    by_row = {(one["row"], one.get("part", 0)): one for one in plain}
    seen = 0
    for pack in packs:
        n, told = len(pack["input_ids"]), sum(d["end"] - d["start"] for d in pack["documents"])
        assert pack["tokens"][:told] == rebuilt(pack, by_row, "tokens")
        assert pack["spans"] == rebuilt(pack, by_row, "spans") + [None] * (n - told)
        for mine, row, label in zip(pack["reasons"], rebuilt(pack, by_row, "reasons"), pack["labels"]):
            assert mine == row or (mine == "first of document" and label == -100)
        assert pack["reasons"][told:] == ["pad"] * (n - told) and len(pack["tokens"]) == n
        seen += told
    assert seen > 0
