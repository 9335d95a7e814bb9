"""Repairs of preferences: where their prompt is, and that the trainer is given the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import sftui
from sftui.cli import main
from sftui.repairs.model import RepairLayout
from sftui.repairs.run import REPAIRS

LAYOUT = RepairLayout(("prompt", "chosen", "rejected"), prompt="prompt", sides=("chosen", "rejected"))


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def answer(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


HI, GOOD, BAD = user("Hi"), answer("good"), answer("bad")
BLUE_RED = {"chosen": "It is blue", "rejected": "It is red"}
EXPLICIT = {"prompt": [HI], "chosen": [GOOD], "rejected": [BAD]}
IMPLICIT = {"chosen": [HI, GOOD], "rejected": [HI, BAD]}


@pytest.mark.parametrize(
    ("repair", "row", "made"),
    [
        ("split-prompt", IMPLICIT, EXPLICIT),
        ("split-prompt", {**IMPLICIT, "prompt": [HI]}, EXPLICIT),
        ("split-prompt", {**EXPLICIT, "rejected": [HI, BAD]}, EXPLICIT),
        ("split-prompt", {**IMPLICIT, "prompt": "Hi", "score": 1}, {**EXPLICIT, "score": 1}),
        ("split-prompt", {**IMPLICIT, "prompt": "Other"}, {**IMPLICIT, "prompt": "Other"}),
        ("split-prompt", {"chosen": [HI, GOOD], "rejected": [HI, GOOD]}, {**EXPLICIT, "rejected": [GOOD]}),
        ("split-prompt", {"chosen": [HI], "rejected": [HI, BAD]}, {"chosen": [HI], "rejected": [HI, BAD]}),
        (
            "split-prompt",
            {"prompt": "Where? ", "chosen": "Where? Here.", "rejected": "There."},
            {"prompt": "Where? ", "chosen": "Here.", "rejected": "There."},
        ),
        ("split-prompt", BLUE_RED, BLUE_RED),
        ("split-prompt", {"messages": [HI, GOOD]}, {"messages": [HI, GOOD]}),
        ("join-prompt", EXPLICIT, IMPLICIT),
        ("join-prompt", {"prompt": "a", "chosen": " b", "rejected": " c"}, {"chosen": "a b", "rejected": "a c"}),
        ("join-prompt", {**EXPLICIT, "prompt": "Hi"}, {**EXPLICIT, "prompt": "Hi"}),
    ],
)  # fmt: skip
def test_prompts_are_moved(repair: str, row: Mapping[str, Any], made: Mapping[str, Any]) -> None:
    data, changes = REPAIRS[repair].apply(row, LAYOUT)
    assert data == made and bool(changes) == (row != made)


def sequences(rows: list[dict[str, Any]]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    with sftui.open(rows, tokenizer="builtin:chatml", trainer="trl", set={"loss.objective": "dpo"}) as data:
        return [(part.input_ids, part.labels) for row in data for part in row.parts]


def test_trl_trains_the_same_wherever_the_prompt_is() -> None:
    shared = [user("a"), answer("b"), user("c")]
    rows = [IMPLICIT, {"chosen": [*shared, GOOD], "rejected": [*shared, BAD]}]
    split = [dict(REPAIRS["split-prompt"].apply(row, LAYOUT)[0]) for row in rows]
    joined = [dict(REPAIRS["join-prompt"].apply(row, LAYOUT)[0]) for row in split]
    assert joined == rows and sequences(split) == sequences(joined) != []


def test_rows_that_trl_does_not_read_are_repaired(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A prompt of text beside sides of messages that hold it, as in ultrafeedback_binarized."""
    data, out = tmp_path / "pairs.jsonl", tmp_path / "out.jsonl"
    data.write_text(json.dumps({**IMPLICIT, "prompt": "Hi"}) + "\n")
    words = [str(data), "-t", "builtin:chatml", "--trainer", "trl", "--set", "loss.objective=dpo"]
    with pytest.raises(SystemExit) as done:
        main(["check", *words])
    said = capsys.readouterr()
    assert done.value.code == 1 and f"sftui convert {data}" in said.out  # which also moves the prompt
    with pytest.raises(SystemExit) as done:
        main(["repair", *words, "--apply", "split-prompt", "-o", str(out)])
    assert not done.value.code and json.loads(out.read_text()) == EXPLICIT
    assert sequences([EXPLICIT]) == sequences([json.loads(out.read_text())])


def test_other_repairs_reach_both_sides() -> None:
    row = {"prompt": [HI], "chosen": [answer(" good ")], "rejected": answer(" bad")}
    data, changes = REPAIRS["trim"].apply(row, LAYOUT)
    assert data == {"prompt": [HI], "chosen": [GOOD], "rejected": BAD} and len(changes) == 2
