"""What a mistyped word may have meant: a slip is named, anything else is not guessed at."""

from __future__ import annotations

import random

import pytest

from sftui.cli.app import COMMANDS
from sftui.findings import CODES
from sftui.nearest import did_you_mean, nearest
from sftui.recipe import knobs
from sftui.trainers import TRAINERS

WORLDS = {
    "commands": tuple(COMMANDS),
    "knobs": tuple(info.path for info in knobs()),
    "trainers": TRAINERS,
    "columns": ("messages", "conversations", "instruction", "output", "input", "system", "tools"),
}


def slips(word: str) -> set[str]:
    """A letter left out, doubled, or two changed over; and other letter case."""
    made = {word.upper(), word.replace("_", "-")}
    for i in range(1, len(word) - 1):
        made |= {
            word[:i] + word[i + 1 :],
            word[:i] + word[i] + word[i:],
            word[:i] + word[i + 1] + word[i] + word[i + 2 :],
        }
    return made


@pytest.mark.parametrize("world", WORLDS)
def test_every_slip_of_a_longer_word_is_understood(world: str) -> None:
    known = WORLDS[world]
    wrong = {(slip, nearest(slip, known)) for word in known if len(word) > 4 for slip in slips(word)}
    wrong = {(slip, found) for slip, found in wrong if found is None or not slip_of(slip, found)}
    assert not wrong


def slip_of(slip: str, word: str) -> bool:
    return slip in slips(word) or slip.lower() in slips(word) or slip.lower() == word


@pytest.mark.parametrize("world", WORLDS)
def test_random_words_are_not_guessed_at(world: str) -> None:
    rng = random.Random(5)
    words = ["".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randint(5, 12))) for _ in range(300)]
    assert [word for word in words if nearest(word, WORLDS[world])] == []


def test_what_is_said() -> None:
    assert did_you_mean("shwo", COMMANDS) == "did you mean `show`?"
    assert did_you_mean("tru005x", CODES, "see the list") == "did you mean `TRU005`?"
    assert did_you_mean("xyz", ("a", "b")) == "there are `a`, `b`"
    assert did_you_mean("xyz", [str(i) for i in range(20)]).endswith("`11` and 8 more")
    assert did_you_mean("xyz", ("a", "b"), "none is near") == "none is near" and did_you_mean("xyz", ()) == ""
