"""Rules and titles between panes: which pane has the keys shows by glyphs, without any colour."""

from __future__ import annotations

import pytest

from sftui.views.cells import Role, plain
from sftui.views.frame import FramedPane, frame_lines, title_cells


def panes(active: str = "") -> tuple[FramedPane, ...]:
    """A list, tokens over a view, and two panes beside them, in a body of 42×9."""
    places = {"list": (1, 1, 8, 7), "tokens": (11, 1, 16, 3), "raw": (11, 6, 16, 2), "talk": (29, 1, 12, 2)}
    places["found"] = (29, 5, 12, 3)
    return tuple(
        FramedPane(*place, title_cells(name, "", place[2], name == active, number=number), name == active)
        for number, (name, place) in enumerate(places.items(), 1)
    )


def test_frames_are_round_and_hold_numbered_titles() -> None:
    assert plain(frame_lines(panes(), 42, 9)) == (
        "╭─1 list ╮╭─2 tokens ──────╮╭─4 talk ────╮\n"
        "│        ││                ││            │\n"
        "│        ││                ││            │\n"
        "│        ││                │╰────────────╯\n"
        "│        │╰────────────────╯╭─5 found ───╮\n"
        "│        │╭─3 raw ─────────╮│            │\n"
        "│        ││                ││            │\n"
        "│        ││                ││            │\n"
        "╰────────╯╰────────────────╯╰────────────╯\n"
    )


def test_the_pane_that_has_the_keys_has_a_sign_and_its_frame_another_role() -> None:
    for name in ("list", "tokens", "raw", "talk", "found"):
        drawn = frame_lines(panes(name), 42, 9)
        text = plain(drawn)
        assert text.count("▸") == 1 and f" {name} " in text.partition("▸")[2].partition("\n")[0][:9]
        corners = [run.text for cells in drawn for run in cells if run.role is Role.FOCUS and set(run.text) & set("╭╰")]
        assert len(corners) == 2, "the frame of one pane"


def test_a_title_names_the_key_and_as_many_hints_as_fit() -> None:
    told = {width: plain((title_cells("why", "t trains it · Esc closes", width, True, number=3, key="Enter"),))
            for width in (9, 20, 34, 44)}  # fmt: skip
    assert told == {
        9: "▸3 why\n",
        20: "▸3 why (Enter)\n",
        34: "▸3 why (Enter) t trains it\n",
        44: "▸3 why (Enter) t trains it · Esc closes\n",
    }


def test_a_rule_alone_stands_above_a_pane_that_is_not_boxed_and_rules_within_join_the_frame() -> None:
    flat = FramedPane(0, 2, 20, 2, title_cells("raw row", "", 20, False), boxed=False)
    assert plain(frame_lines((flat,), 20, 4)) == "\n─raw row ───────────\n\n\n"
    ruled = FramedPane(1, 1, 6, 3, title_cells("a", "", 6, False), rules=(1,))
    assert plain(frame_lines((ruled,), 8, 5)) == "╭─a ───╮\n│      │\n├      ┤\n│      │\n╰──────╯\n"


def test_of_a_frame_that_was_drawn_only_the_line_of_another_title_is_drawn() -> None:
    """The token pane's title holds the cursor: each move would draw all cells of the screen."""
    before = frame_lines(panes("tokens"), 42, 9)
    renamed = tuple(
        pane._replace(title=title_cells("more", "", pane.width, False)) if pane.y == 6 else pane
        for pane in panes("tokens")
    )
    after = frame_lines(renamed, 42, 9)
    assert [y for y in range(9) if before[y] is not after[y]] == [5]


@pytest.mark.parametrize("width", [0, 1, 2])
def test_a_pane_without_cells_ends_too(width: int) -> None:
    """Between two sizes of the terminal a pane may have none."""
    title = title_cells("tokens", "", 30, True)
    lines = frame_lines((FramedPane(0, 1, width, 3, title, True), FramedPane(width + 1, 1, 9 - width, 3, title)), 10, 4)
    assert len(lines) == 4 and all(sum(run.width for run in cells) <= 10 for cells in lines)
