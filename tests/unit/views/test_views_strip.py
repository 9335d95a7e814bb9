"""The whole row in one line, over any width."""

from __future__ import annotations

import pytest

from sftui.model import Example, Inspection, Row
from sftui.text import cell_width
from sftui.views.cells import Over, Role, plain
from sftui.views.strip import SMALL, strip, strip_of, with_cursor
from sftui.views.table import TokenTable


def table(loss: str, messages: tuple[int, ...] = (), writers: tuple[str, ...] = ()) -> TokenTable:
    n = len(loss)
    return TokenTable(
        ids=tuple(range(n)),
        cells=("x",) * n,
        pieces=("x",) * n,
        labels=None,
        reasons=None,
        parts=("content",) * n,
        messages=messages or (-1,) * n,
        roles=(Role.PLAIN,) * n,
        loss=loss,
        loss_shifted=loss[1:] + "┊",
        kept=((0, n),),
        writers=writers,
    )


CHAT = table(
    "░" * 8 + "░" * 8 + "█" * 12 + "░" * 4 + "█" * 8,
    (0,) * 8 + (1,) * 8 + (2,) * 12 + (3,) * 4 + (4,) * 8,
    ("system", "user", "assistant", "tool", "assistant"),
)


def drawn(cells: tuple[tuple[str, Role], ...]) -> str:
    return "".join(glyph for glyph, _ in cells)


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (100, f"s{'░' * 15}u{'░' * 15}a{'█' * 23}t{'░' * 7}a{'█' * 15}"),
        (40, "s░░░░░░░u░░░░░░░a███████████t░░░a███████"),
        (20, "s░░░u░░░a█████t░a███"),
        (10, "s░u░a██░a█"),
        (5, "░░█▒█"),
        (1, "▒"),
        (0, ""),
    ],
)
def test_a_conversation_at_any_width(width: int, shown: str) -> None:
    assert drawn(strip(CHAT, width)) == shown


def test_what_is_not_trained_has_the_colour_of_who_wrote_it_and_letters_say_so_too() -> None:
    roles = {glyph: role for glyph, role in strip(CHAT, 40)[:32] if glyph != "░"}
    assert roles == {"s": Role.SYSTEM, "u": Role.USER, "a": Role.ASSISTANT, "█": Role.TRAINED, "t": Role.TOOL}
    assert [role for glyph, role in strip(CHAT, 40) if glyph == "░"][::7] == [Role.SYSTEM, Role.USER, Role.TOOL]


@pytest.mark.parametrize(
    ("loss", "width", "shown"),
    [
        ("░░██", 2, "░█"),
        ("░█░█", 2, "▒▒"),
        ("██✂✂", 2, "█✂"),
        ("░✂✂✂", 2, "✂✂"),
        ("▓▓█▓", 2, "▓█"),
        ("????", 2, "??"),
        ("", 10, ""),
    ],
)
def test_each_cell_says_what_is_in_it(loss: str, width: int, shown: str) -> None:
    assert drawn(strip(table(loss), width)) == shown


def test_the_shift_view_has_its_own() -> None:
    assert drawn(strip(table("░██"), 3, shift=True)) == "██┊"


@pytest.mark.parametrize("tokens", [1, 7, 40, 1000, 20_000])
@pytest.mark.parametrize("width", [1, 13, 80, 200])
def test_the_cursor_is_on_the_cell_that_holds_its_token(tokens: int, width: int) -> None:
    cells = strip(table("░" * tokens), width)
    assert len(cells) == (width if tokens > width else width // tokens * tokens)
    for token in {0, tokens // 3, tokens // 2, tokens - 1}:
        line = with_cursor(cells, token, tokens)
        at = sum(cell_width(run.text) for run in line[: [run.over for run in line].index(Over.CURSOR)])
        assert tokens * at // len(cells) <= token < max(tokens * (at + 1) // len(cells), tokens * at // len(cells) + 1)
        assert cell_width(plain((line,)).rstrip("\n")) == len(cells)


@pytest.mark.parametrize(
    ("labels", "shown"),
    [
        ([(-100,) * 8 + (5,) * 8], "░░░░████"),
        ([(-100, 5) * 8], "▒▒▒▒▒▒▒▒"),
        ([(-100, 5, 5)], "░██"),
        ([(-100,) * 4, (5,) * 4], "░░░░████"),
        ([], ""),
    ],
)
def test_the_small_strip_of_the_list_is_of_what_the_trainer_receives(labels: list[tuple[int, ...]], shown: str) -> None:
    examples = [Example(one, one, (1,) * len(one)) for one in labels]
    row = Row(0, {}, "{}", "x.jsonl:1")
    made = Inspection(row, example=examples[0] if examples else None, more=tuple(examples[1:]))
    assert strip_of(made) == shown and len(shown) <= SMALL
