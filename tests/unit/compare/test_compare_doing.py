"""What a side of a comparison does, in words: counted in its rows, never read out of a setting."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sftui.comparison import Cause, RowSide
from sftui.comparison.causes import doing
from sftui.model import IGNORE_INDEX, Part, Tokens
from sftui.runs import flat
from sftui.views.compare import does, does_words

PARTS = {"h": Part.HEADER, "c": Part.CONTENT, "e": Part.TERMINATOR, "s": Part.SEPARATOR, "b": Part.BOS}
CHAT = ("system", "user", "assistant", "user", "assistant")


def side(text: str, roles: tuple[str, ...] = CHAT, **more: object) -> RowSide:
    """A row of tokens as `2cT`: message, part, and T trained, m masked, x cut, o trained with another id; `-` is no
    message."""
    some = text.split()
    ids = tuple(range(len(some)))
    labels = tuple({"T": i, "m": IGNORE_INDEX, "x": None, "o": i + 1}[one[-1]] for i, one in enumerate(some))
    messages = [-1 if one[0] == "-" else int(one[0]) for one in some]
    tokens = Tokens(flat(ids), ids, ids, messages, [PARTS[one[1]] for one in some])
    return RowSide(ids, labels, tokens, 1, roles=roles, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("0cT 1cT 2hT 2cT 2eT", "trains every token"),
        ("0cm 1cT 2hT 2cT 2eT", "trains every token but the first of each row"),
        ("0cm 1cm 2hm 2cm 2em", "trains nothing"),
        ("1cm 2hm 2cT 2eT 3cm 4hm 4cT 4eT", "trains only the answers with their ends"),
        ("1cm 2hm 2cT 2em 3cm 4hm 4cT 4em", "trains only the answers without their ends"),
        ("1cm 2hm 2cm 2em 3cm 4hm 4cT 4eT 4sT", "trains only the last answer with its end and what follows it"),
        ("1cm 2hm 2cm 2em 3cm 4hm 4cT 4em", "trains only the last answer without its end"),
        ("1cm 2cT 2eT 3cm 4cm 4em", "trains only the answers before the last with their ends"),
        ("1cm 2cT 2cm 2eT 3cm 4cT 4eT", "trains only part of the answers with their ends"),
        ("1cm 2cT 2eT 3cm 4cT 4em", "trains only the answers with some of their ends"),
        ("0cm 1cT 2hm 2cm", "trains only the user messages"),
        ("0cT 1cm 2cT", "trains the answers and the system messages"),
        ("0hT 0cm 1cm 2cT", "trains the answers and the rest of the template"),
        ("0hT 0hm 1cm 1cm 2cT", "trains the answers and 1 other token"),
        ("1cm 2cm 2em 4cT 4eT 2eT", "trains the last answer with its end and 1 other token"),
        ("1cm 1cm 2cT 4cx 4ex", "trains only the answers and cuts 2 tokens"),
        ("1co 2co", "trains every token and has labels that differ from the ids at their positions in 1 row"),
    ],
)
def test_what_is_trained_of_a_row(row: str, told: str) -> None:
    assert does(doing(side(row)), "") == told


@pytest.mark.parametrize(
    ("roles", "row", "told"),
    [
        (("prompt", "completion"), "0cm 0cm 1cT -bT", "trains the answers and the rest of the template"),
        (("prompt", "completion"), "0cT 1cm", "trains only the prompts"),
        ((), "-cT -cm -bm", "trains only part of the text"),
        (("human", "gpt"), "0cm 0cm 1cT", "trains only the gpt messages"),
    ],
)
def test_rows_of_other_shapes(roles: tuple[str, ...], row: str, told: str) -> None:
    assert does(doing(side(row, roles)), "") == told


def test_both_sides_in_one_sentence() -> None:
    every, last, lost = (doing(side(row)) for row in ("1cT 2cT", "1cm 2cm 4cT", "1cT"))
    assert does_words(Cause((), does=(every, last)), ("A", "B")) == "A trains every token; B only the last answer"
    assert (
        does_words(Cause((), does=(every, every), ids=3), ("A", "C")) == "both train every token, but 3 tokens differ"
    )
    gone = doing(side("1cT", gone="it is too long"))
    words = does_words(Cause((), does=(lost, gone), gone=("", "it is too long")), ("A", "B"))
    assert words == "A trains every token; B does not get 1 row: it is too long".replace("1 row", "them")
    aside = does(doing(side("1cT", evaluates=True)), "")
    assert aside == "trains every token and sets 1 row aside for evaluation"


TOKENS = st.lists(
    st.tuples(st.sampled_from("01234-"), st.sampled_from([*PARTS]), st.sampled_from("Tmx")).map("".join), min_size=1
)


@given(st.lists(TOKENS, min_size=1, max_size=3))
def test_every_is_said_only_of_all_and_nothing_only_of_none(rows: list[list[str]]) -> None:
    made = sum((doing(side(" ".join(row))) for row in rows), Counter())
    told = does(made, "")
    marks = [one[-1] for row in rows for one in row if one[-1] != "x"]
    assert ("trains every token" in told and "but the first" not in told) == (bool(marks) and {*marks} == {"T"})
    assert ("trains nothing" in told) == (bool(marks) and {*marks} == {"m"})
    contents = {one[-1] for row in rows for one in row if one[0] in "24" and one[1] == "c" and one[-1] != "x"}
    if contents == {"m"}:
        assert "answer" not in told
    if "part of the answers" in told:
        assert contents == {"T", "m"}
