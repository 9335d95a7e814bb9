"""Preferences of each shape as each trainer reads them, and taken apart or put together for KTO."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import sftui
from sftui.cli import main

sys.path.append(str(Path(__file__).parent))
from preferences import ANSWERS, BAD, CAREFUL, GOOD, HI, LONG, PAIRS, TOLD

WANTED: Mapping[str, Mapping[str, Any]] = {
    "trl": {"prompt": [HI], "chosen": [GOOD], "rejected": [BAD]},
    "llamafactory": {"messages": [HI], "chosen": GOOD, "rejected": BAD},
    "axolotl": {"messages": [HI], "chosen": GOOD, "rejected": BAD},
    "ms-swift": {"messages": [HI, GOOD], "rejected_messages": [HI, BAD]},
}
KTO: Mapping[str, Any] = {
    "trl": lambda answer, good: {"prompt": [HI], "completion": [answer], "label": good},
    "llamafactory": lambda answer, good: {"messages": [HI, answer], "kto_tag": good},
}


def convert(
    rows: list[Any], trainer: str, objective: str, folder: Path, capsys: pytest.CaptureFixture[str], *more: str
) -> tuple[list[Any], str, int]:
    """The rows of the new file, what is printed, and how it ends."""
    data, out = folder / "rows.jsonl", folder / "out.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = [str(data), "-t", "builtin:chatml", "--trainer", trainer, "--set", f"loss.objective={objective}"]
    words += ["--set", "render.template=ms-swift/chatml"] if trainer == "ms-swift" else []
    with pytest.raises(SystemExit) as done:
        main(["convert", *words, "-o", str(out), *more])
    made = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    return made, capsys.readouterr().err, int(done.value.code or 0)


@pytest.mark.parametrize("trainer", WANTED)
@pytest.mark.parametrize("shape", PAIRS)
def test_pairs_of_each_shape_become_those_of_a_trainer(
    shape: str, trainer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made, said, code = convert([PAIRS[shape]] * 3, trainer, "dpo", tmp_path, capsys)
    before = {name: PAIRS[shape][name] for name in ("score",) if name in PAIRS[shape]}
    assert made == [{**before, **WANTED[trainer]}] * 3 and not code, said


@pytest.mark.parametrize("trainer", WANTED)
def test_the_printed_command_opens_what_was_written(
    trainer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, said, _ = convert([PAIRS["a side is a message"]] * 3, trainer, "dpo", tmp_path, capsys)
    command = shlex.split(said.partition("open it with `sftui ")[2].partition("`")[0])
    with pytest.raises(SystemExit) as done:
        main(["show", *command, "--row", "1", "--format", "json"])
    sides = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert not done.value.code and [side["side"] for side in sides] == ["chosen", "rejected"]


@pytest.mark.parametrize("trainer", KTO)
@pytest.mark.parametrize("shape", [*PAIRS, *ANSWERS])
def test_pairs_become_two_answers_each(
    shape: str, trainer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ANSWERS.get(shape) or [PAIRS[shape]]
    made, said, _ = convert(rows, trainer, "kto", tmp_path, capsys)
    assert [{name: value for name, value in row.items() if name != "score"} for row in made] == [
        KTO[trainer](GOOD, True),
        KTO[trainer](BAD, False),
    ], said


@pytest.mark.parametrize("trainer", WANTED)
@pytest.mark.parametrize("shape", ANSWERS)
def test_answers_to_one_question_become_pairs(
    shape: str, trainer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In any order; those without another answer are counted, not lost in silence."""
    good, bad = ANSWERS[shape]
    made, said, _ = convert([bad, bad, good], trainer, "dpo", tmp_path, capsys)
    assert made == [WANTED[trainer]] and "1 answer left out" in said


@pytest.mark.parametrize(("row", "trainer", "why"), TOLD)
def test_what_cannot_be_carried_is_said(
    row: Mapping[str, Any], trainer: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made, said, code = convert([row], trainer, "dpo", tmp_path, capsys)
    assert not made and code == 2 and why in said, said


def test_trl_makes_the_same_of_rows_that_it_read_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def sequences(rows: list[Any]) -> list[Any]:
        with sftui.open(rows, tokenizer="builtin:chatml", trainer="trl", set={"loss.objective": "dpo"}) as data:
            return [(part.input_ids, part.labels) for row in data for part in row.parts]

    rows = [PAIRS["the prompt in both sides"], PAIRS["a prompt of messages"]]
    asked, alike = PAIRS["a prompt of messages"], [GOOD, HI]
    rows += [{**asked, "chosen": [*alike, GOOD], "rejected": [*alike, BAD]}]  # the prompt ends where it says
    for row in rows:
        made, _, _ = convert([row], "trl", "dpo", tmp_path, capsys, "--force")
        assert sequences(made) == sequences([row]) != []


@pytest.mark.parametrize(
    ("rows", "trainer", "objective", "more", "made"), [one[1:] for one in CAREFUL], ids=[one[0] for one in CAREFUL]
)
def test_nothing_is_lost_or_made_up_in_silence(
    rows: list[Any],
    trainer: str,
    objective: str,
    more: tuple[str, ...],
    made: list[Any] | str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found, said, code = convert(rows, trainer, objective, tmp_path, capsys, *more)
    if isinstance(made, str):
        assert not found and code == 2 and made in said, said
    else:
        assert found == made and not code, said


def test_numbers_of_pairs_keep_their_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    data.write_text(json.dumps(PAIRS["texts"])[:-1] + f', "big": {LONG}, "share": 0.10}}\n')
    words = [str(data), "-t", "builtin:chatml", "--trainer", "trl", "--set", "loss.objective=kto", "-o", str(out)]
    with pytest.raises(SystemExit):
        main(["convert", *words])
    lines = out.read_text().splitlines()
    assert len(lines) == 2 and all(f'"big": {LONG}' in line and '"share": 0.10' in line for line in lines)


def test_what_the_rejected_side_loses_is_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """ms-swift gives its own `system` to the chosen side alone; converted, both have it."""
    row = {**PAIRS["rejected messages"], "system": "S"}
    _, said, _ = convert([row], "ms-swift", "dpo", tmp_path, capsys)
    assert "have different ids from before" in said, said
