"""Preferences before and after `sftui convert` through the real, installed trainers (marker parity).

What a trainer makes of the converted rows is what sftui says; where it reads the rows as they are, it makes the same of
both.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from case import environment, python_of

from sftui.cli import main

pytestmark = pytest.mark.parity
RELEASES = {"trl": "1.16.0", "llamafactory": "0.9.5", "ms-swift": "4.6.0"}
Turn = dict[str, Any]


def user(text: str) -> Turn:
    return {"role": "user", "content": text}


def answer(text: str) -> Turn:
    return {"role": "assistant", "content": text}


TURNS: Sequence[tuple[list[Turn], Turn, Turn]] = [
    ([user("Hi")], answer("good"), answer("bad")),
    ([{"role": "system", "content": "Be brief."}, user("Why?")], answer("Because."), answer("I cannot say\nwhy.")),
    ([user("a"), answer("b"), user("c ")], answer(" d"), answer("d")),
    ([user("Two\n\nlines")], answer("<think>\nhm\n</think>\n\nYes"), answer("No")),
    ([user("Größe?")], answer("Das weiß ich nicht."), answer("")),
    ([user("same")], answer("beginning, then one"), answer("beginning, then the other")),
]
_NAMES = {"user": "human", "assistant": "gpt", "system": "system"}


def sharegpt(turn: Turn) -> Turn:
    return {"from": _NAMES[turn["role"]], "value": turn["content"]}


SHAPES: Mapping[str, Callable[[list[Turn], Turn, Turn], dict[str, Any]]] = {
    "explicit": lambda asked, good, bad: {"prompt": asked, "chosen": [good], "rejected": [bad]},
    "implicit": lambda asked, good, bad: {"chosen": [*asked, good], "rejected": [*asked, bad]},
    "ranking": lambda asked, good, bad: {
        "conversations": [sharegpt(one) for one in asked],
        "chosen": sharegpt(good),
        "rejected": sharegpt(bad),
    },
    "swift": lambda asked, good, bad: {"messages": [*asked, good], "rejected_response": bad["content"]},
}
READ = {"trl": "implicit", "llamafactory": "ranking", "ms-swift": "swift"}
"""What a trainer reads as it is."""


def run(words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    with pytest.raises(SystemExit) as done:
        main([*words])
    out, err = capsys.readouterr()
    assert not done.value.code, (words, out, err)
    return out, err


def sequences(words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> list[tuple[list[int], list[int]]]:
    """Ids and labels of all sides."""
    out, _ = run(["encode", *words, "-o", "-"], capsys)
    return [(one["input_ids"], one["labels"]) for one in map(json.loads, out.splitlines())]


def converted(
    shape: str, trainer: str, objective: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[list[str], list[str], list[Any]]:
    """The words that open the rows before, those that open them after, and the rows after."""
    data, out = folder / f"{shape}.jsonl", folder / f"{shape}-{trainer}-{objective}.jsonl"
    data.write_text("".join(json.dumps(SHAPES[shape](*turns)) + "\n" for turns in TURNS))
    words = [str(data), "-t", "builtin:chatml", "--trainer", trainer, "--set", f"loss.objective={objective}"]
    words += ["--set", "render.template=ms-swift/chatml", "--max-length", "512"] if trainer == "ms-swift" else []
    _, said = run(["convert", *words, "-o", str(out)], capsys)
    opening = shlex.split(said.partition("open it with `sftui ")[2].partition("`")[0])
    return words, opening, [json.loads(line) for line in out.read_text().splitlines()]


@pytest.mark.parametrize("objective", ["dpo", "kto"])
@pytest.mark.parametrize("trainer", RELEASES)
def test_a_trainer_makes_of_converted_preferences_what_it_made_of_them(
    trainer: str, objective: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not environment(trainer, RELEASES[trainer]).exists():
        pytest.skip(f"{trainer} has no environment: run tests/parity/environments.py {trainer}")
    found = {shape: converted(shape, trainer, objective, tmp_path, capsys) for shape in SHAPES}
    assert all(rows == found["explicit"][2] for _, _, rows in found.values()), "every shape says the same"
    _, after, rows = found["explicit"]
    asked = [after]
    before = found[READ[trainer]][0]
    if objective == "dpo":
        asked.append(before)
        assert sequences(before, capsys) == sequences(after, capsys)
    for words in asked:
        verified, _ = run(["verify", *words, "--python", str(python_of(trainer, RELEASES[trainer]))], capsys)
        assert f"{len(rows)} of {len(rows)} row" in verified, verified
