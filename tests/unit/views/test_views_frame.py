"""Rules and titles between panes: which pane has the keys shows by glyphs, without any colour."""

from __future__ import annotations

import pytest

from sftui.views.cells import Role, plain
from sftui.views.frame import FramedPane, _line, _rules, frame_lines, title_cells


def panes(active: str = "") -> tuple[FramedPane, ...]:
    """A list, tokens over a view, and two panes beside them, in a body of 40×9."""
    places = {"list": (0, 1, 8, 8), "tokens": (9, 1, 16, 4), "raw": (9, 6, 16, 3), "talk": (26, 1, 14, 3)}
    places["found"] = (26, 5, 14, 4)
    return tuple(
        FramedPane(*place, title_cells(name, "", place[2], name == active), name == active)
        for name, place in places.items()
    )


def test_rules_join_and_hold_the_titles() -> None:
    assert plain(frame_lines(panes(), 40, 9)) == (
        "─ list ─┬─ tokens ───────┬─ talk ───────\n"
        "        │                │\n"
        "        │                │\n"
        "        │                │\n"
        "        │                ├─ found ──────\n"
        "        ├─ raw ──────────┤\n"
        "        │                │\n"
        "        │                │\n"
        "        │                │\n"
    )


def test_the_pane_that_has_the_keys_stands_in_heavy_rules_with_a_sign() -> None:
    drawn = frame_lines(panes("tokens"), 40, 9)
    assert plain(drawn) == (
        "─ list ─┳━▸tokens ━━━━━━━┳─ talk ───────\n"
        "        ┃                ┃\n"
        "        ┃                ┃\n"
        "        ┃                ┃\n"
        "        ┃                ┣─ found ──────\n"
        "        ├─ raw ──────────┤\n"
        "        │                │\n"
        "        │                │\n"
        "        │                │\n"
    )
    heavy = {run.role for cells in drawn for run in cells if set(run.text) & set("━┃┳┣▸")}
    assert heavy == {Role.FOCUS}


def test_every_pane_can_have_them() -> None:
    for name in ("list", "raw", "talk", "found"):
        text = plain(frame_lines(panes(name), 40, 9))
        assert f"▸{name} " in text and text.count("▸") == 1
        assert all(len(row) <= 40 for row in text.splitlines())


def test_panes_without_titles_have_rules_between_them_alone() -> None:
    drawn = frame_lines((FramedPane(0, 0, 8, 3), FramedPane(9, 0, 20, 3)), 29, 3)
    assert plain(drawn) == "        │\n" * 3


def test_of_a_frame_that_was_drawn_only_the_line_of_another_title_is_drawn() -> None:
    """The token pane's title holds the cursor: each move would draw all cells of the screen."""
    before = frame_lines(panes("tokens"), 40, 9)
    renamed = tuple(
        pane._replace(title=title_cells("more", "", pane.width, False)) if pane.y == 6 else pane
        for pane in panes("tokens")
    )
    after = frame_lines(renamed, 40, 9)
    assert [y for y in range(9) if before[y] is not after[y]] == [5]
    asked = ((renamed, 40, 9), (panes("raw"), 40, 9), (panes("raw"), 30, 9), (panes("raw")[:3], 30, 9))
    drawn = [frame_lines(*frame) for frame in asked]
    _line.cache_clear()
    _rules.cache_clear()
    assert drawn == [frame_lines(*frame) for frame in asked]


@pytest.mark.parametrize("width", [0, 1, 2])
def test_a_pane_without_cells_ends_too(width: int) -> None:
    """Between two sizes of the terminal a pane may have none."""
    title = title_cells("tokens", "", 30, True)
    lines = frame_lines((FramedPane(0, 1, width, 3, title, True), FramedPane(width + 1, 1, 9 - width, 3, title)), 10, 4)
    assert len(lines) == 4 and all(sum(run.width for run in cells) <= 10 for cells in lines)
