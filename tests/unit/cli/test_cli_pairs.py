"""Both sides of a preference as `show`, `report` and `compare` print them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PAIRS = ("-t", "builtin:chatml", "--trainer", "trl", "--set", "loss.objective=dpo")
Run = Callable[..., Any]


def said(role: str, text: str) -> list[dict[str, str]]:
    return [{"role": role, "content": text}]


def pair(asked: str, chosen: str, rejected: str, **more: object) -> dict[str, object]:
    sides = {"chosen": said("assistant", chosen), "rejected": said("assistant", rejected)}
    return {"prompt": said("user", asked), **sides, **more}


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    rows = [
        pair("The capital of Peru?", "It is Lima.", "It is Cusco, high in the mountains.", margin=1.5),
        pair("Say hi", "hi", "hi", margin=0.5),
        pair("Long? " * 90, "Yes.", "No.", margin=0.5),
        pair("Cut?", "yes " * 200, "no", margin=0.5),
    ]
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def blocks(sftui: Run, *words: object) -> tuple[str, list[str], list[str]]:
    """The head, and the lines of each side."""
    head, chosen, rejected = sftui("show", *words).out.split("\n\n")
    return " ".join(head.split()), chosen.splitlines(), rejected.splitlines()


def test_show_prints_the_shared_prompt_once(sftui: Run, pairs: Path) -> None:
    records = sftui("show", pairs, *PAIRS, "--format", "json").records()
    ids = [record["input_ids"] for record in records]
    head, chosen, rejected = blocks(sftui, pairs, *PAIRS)
    shared = next(at for at, (one, other) in enumerate(zip(*ids)) if one != other)
    begins = next(at for at, label in enumerate(records[1]["labels"]) if label != -100)
    longer = len(ids[1]) - len(ids[0])
    assert head.endswith(f"{shared} shared, rejected is {longer} longer, margin 1.5")
    trained = sum(label != -100 for label in records[0]["labels"])
    last = len(ids[0]) - 1
    assert chosen[0] == f"chosen: {len(ids[0])} tokens, {trained} trained at {begins}–{last}"
    assert rejected[1] == f"tokens 0 to {begins - 1} are those of chosen" and begins < shared, "answers begin alike"
    numbers = [[int(line.split()[0]) for line in side if line.strip()[:1].isdigit()] for side in (chosen, rejected)]
    assert numbers == [[*range(len(ids[0]))], [*range(begins, len(ids[1]))]]


@pytest.mark.parametrize("shift", [(), ("--shift",)])
@pytest.mark.parametrize("view", ["text", "columns", "rows"])
def test_the_rejected_side_begins_where_the_sides_part(
    sftui: Run, pairs: Path, view: str, shift: tuple[str, ...]
) -> None:
    chosen, rejected = sftui("show", pairs, *PAIRS, "--view", view, "--width", 50, *shift).out.split("rejected: ")
    assert "capital" in chosen and "capital" not in rejected and "It" in chosen and "It" in rejected


def test_equal_cut_and_dropped_sides_say_so(sftui: Run, pairs: Path) -> None:
    head, _, rejected = blocks(sftui, pairs, *PAIRS, "--row", 1)
    assert head.endswith("both sides are the same, margin 0.5") and len(rejected) > 2
    head, chosen, rejected = blocks(sftui, pairs, *PAIRS, "--row", 2, "--max-length", 64)
    assert "dropped" in head and chosen[0].endswith("none trained") and rejected[0].endswith("none trained")
    head, chosen, rejected = blocks(sftui, pairs, *PAIRS, "--row", 3, "--max-length", 64)
    assert re.fullmatch(r"chosen: 64 tokens, \d+ trained at \d+–63, \d+ cut", chosen[0])
    assert "chosen is" in head and "cut" not in rejected[0]


def test_a_reward_model_trains_no_tokens(sftui: Run, pairs: Path) -> None:
    head, chosen, _ = blocks(sftui, pairs, *PAIRS[:-1], "loss.objective=reward")
    records = sftui("show", pairs, *PAIRS[:-1], "loss.objective=reward", "--format", "json").records()
    size = len(records[0]["input_ids"])
    assert "one score for each side" in head and "trained" not in head
    assert chosen[0] == f"chosen: {size} tokens, score at {size - 1}"


def test_a_row_that_stops_prints_as_before(sftui: Run, pairs: Path) -> None:
    pairs.write_text(pairs.read_text() + json.dumps({**pair("x", "y", "z", margin=0.5), "chosen": []}) + "\n")
    done = sftui("show", pairs, *PAIRS, "--row", 4)
    assert done.code == 2 and "`chosen` is an empty list" in " ".join(done.out.split()) and "rejected:" not in done.out


def test_compare_counts_both_sides(sftui: Run, pairs: Path) -> None:
    rows = [pair("Cut?", "no", "yes " * 90)]
    pairs.write_text("".join(json.dumps(row) + "\n" for row in rows))
    cut = sftui("compare", pairs, *PAIRS, "--with", "length.max=64", "--format", "json").records()[0]
    received = [len(record["input_ids"]) for record in sftui("encode", pairs, *PAIRS, "-o", "-").records()]
    assert cut["sides"][0]["tokens"] == sum(received) and cut["sides"][1]["tokens"] == received[0] + 64
    assert cut["differing_rows"] == 1 and cut["differing_tokens"] == received[1] - 64, "the rejected side alone is cut"
    shown = sftui("compare", pairs, *PAIRS, "--with", "length.max=64").out
    assert "\nrejected\n" in shown and "\nchosen\n" not in shown, "bands in which nothing differs are left out"
    tokenizers = sftui("compare", pairs, *PAIRS, "--with", "tokenizer=builtin:gemma").out
    assert tokenizers.index("\nchosen\n") < tokenizers.index("\nrejected\n")


def test_the_report_draws_both_sides(sftui: Run, pairs: Path, tmp_path: Path) -> None:
    done = sftui("report", pairs, *PAIRS, "-o", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert done.code in (0, 1) and "chosen and rejected, counted as a sequence each" in page
    found = page[page.index('id="PRF001"') :]
    assert re.search(r"<p>chosen</p>.*?hi.*?<p>rejected</p>.*?hi", found, re.S)


def test_a_config_is_named_after_what_it_trains(sftui: Run, pairs: Path, tmp_path: Path) -> None:
    done = sftui("export", pairs, *PAIRS, "--to", "trl", "-o", tmp_path / "out")
    assert done.code == 0 and sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "recipe.yaml",
        "trl_dpo.yaml",
    ]


def test_another_trainer_is_compared_under_the_same_objective(sftui: Run, pairs: Path) -> None:
    same = sftui("compare", pairs, *PAIRS, "--with", "trl@1.14", "--with", "unsloth", "--show", 0)
    assert same.code in (0, 1) and "rows failed" not in same.out
    totals = re.findall(r"of ([\d,]+) tokens trained", same.out)
    assert len(totals) == 3 and len({*totals}) == 1
    none = sftui("compare", pairs, *PAIRS, "--with", "verl")
    assert none.code == 2 and "sftui does not model dpo under verl" in none.err
    fails = sftui("compare", pairs, *PAIRS, "--with", "loss.objective=sft", "--show", 0)
    assert fails.code == 2 and "this is a preference set" in fails.err


def test_the_reader_of_a_conversion_is_its_trainer(sftui: Run, pairs: Path, tmp_path: Path) -> None:
    words = ("-t", "builtin:chatml", "--for", "trl", "--set", "loss.objective=kto", "-o", tmp_path / "kto.jsonl")
    made = sftui("convert", pairs, *words)
    assert made.code == 0 and "hf-trainer" not in made.err, made.err
    config = tmp_path / "kto-config" / "trl_kto.yaml"
    assert "desirable_weight: 1.0" in config.read_text()
    assert sftui("check", config, "-t", "builtin:chatml").code in (0, 1)


def test_an_export_whose_trainer_reads_other_rows_names_the_conversion(sftui: Run, pairs: Path, tmp_path: Path) -> None:
    done = sftui("export", pairs, *PAIRS, "--to", "llamafactory", "-o", tmp_path / "out")
    assert done.code == 1 and not (tmp_path / "out").exists()
    assert "`sftui check --trainer llamafactory` says why, `sftui convert --for llamafactory` writes rows" in done.err
    words = ("--for", "llamafactory", "--set", "loss.objective=dpo", "-o", tmp_path / "made.jsonl")
    assert sftui("convert", pairs, "-t", "builtin:chatml", *words).code == 0


def test_the_waste_of_pairs_is_not_that_of_one_side(sftui: Run, pairs: Path) -> None:
    done = sftui("waste", pairs, *PAIRS)
    assert done.code == 2 and not done.out and "sftui does not work out what limits cost pairs" in done.err
