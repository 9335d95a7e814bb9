"""Keys on the grid, as tables: after each action, where the cursor stands."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspections_by_hand import inspection, long_row, tool_chat

from sftui.model import Reason
from sftui.views.draw import DrawnBands, _named, draw
from sftui.views.grid import Action, GridState, Zoom, apply, settle
from sftui.views.layout import lay_out
from sftui.views.table import TokenTable, make_table
from sftui.views.words import LENS

A = Action
ROW = make_table(inspection())
assert ROW is not None
SIZE: dict[str, Any] = {"width": 60, "height": 20}


def assert_movements(start: GridState, moves: list[tuple[Action, int, int]], table: TokenTable | None = ROW) -> None:
    """From `start`, each (action, amount) leaves the cursor at the token given."""
    state = start
    for action, amount, expected in moves:
        layout = lay_out(table, state.zoom, state.shift, state.width)
        state = apply(state, action, table, layout, amount)
        layout = lay_out(table, state.zoom, state.shift, state.width)
        state = settle(state, layout)
        assert state.cursor == expected, (action, amount)
        fits = layout.visible_bands(state.height)
        assert state.top <= layout.band_of(state.cursor) < state.top + fits


@pytest.mark.parametrize("zoom", Zoom)
@pytest.mark.parametrize("shift", [False, True])
def test_sideways_and_ends(zoom: Zoom, shift: bool) -> None:
    assert_movements(
        GridState(zoom=zoom, shift=shift, **SIZE),
        [
            (A.RIGHT, 1, 1),
            (A.RIGHT, 4, 5),
            (A.LEFT, 2, 3),
            (A.LEFT, 9, 0),
            (A.LEFT, 1, 0),
            (A.END, 1, 21),
            (A.RIGHT, 1, 21),
            (A.HOME, 1, 0),
            (A.GOTO, 7, 7),
            (A.GOTO, 900, 21),
            (A.GOTO, -3, 0),
        ],
    )


def test_bands_in_columns() -> None:
    assert_movements(
        GridState(**SIZE),
        [
            (A.DOWN, 1, 8),
            (A.DOWN, 1, 15),
            (A.DOWN, 1, 15),
            (A.UP, 1, 8),
            (A.UP, 5, 0),
            (A.GOTO, 5, 5),
            (A.DOWN, 1, 12),
            (A.UP, 1, 5),
            (A.LINE_END, 1, 7),
            (A.LINE_HOME, 1, 0),
            (A.DOWN, 2, 15),
            (A.LINE_END, 1, 21),
        ],
    )


def test_lines_in_text() -> None:
    assert_movements(
        GridState(zoom=Zoom.TEXT, **SIZE),
        [
            (A.DOWN, 1, 1),
            (A.DOWN, 1, 8),
            (A.DOWN, 9, 12),
            (A.RIGHT, 3, 15),
            (A.UP, 1, 11),
            (A.UP, 1, 4),
            (A.DOWN, 1, 11),
            (A.LINE_HOME, 1, 8),
            (A.LINE_END, 1, 11),
            (A.UP, 9, 0),
        ],
    )


def test_lines_in_rows() -> None:
    assert_movements(
        GridState(zoom=Zoom.ROWS, **SIZE),
        [
            (A.DOWN, 1, 1),
            (A.DOWN, 12, 13),
            (A.UP, 2, 11),
            (A.PAGE_DOWN, 1, 21),
            (A.PAGE_UP, 1, 2),
            (A.PAGE_UP, 1, 0),
        ],
    )
    assert_movements(
        GridState(zoom=Zoom.ROWS, shift=True, **SIZE),
        [
            (A.UP, 1, 0),
            (A.DOWN, 1, 1),
            (A.DOWN, 1, 2),
            (A.UP, 2, 0),
        ],
    )


def test_changes_of_mask_follow_the_view() -> None:
    assert_movements(
        GridState(**SIZE),
        [
            (A.NEXT_CHANGE, 1, 15),
            (A.NEXT_CHANGE, 1, 15),
            (A.END, 1, 21),
            (A.PREVIOUS_CHANGE, 1, 15),
            (A.PREVIOUS_CHANGE, 1, 15),
        ],
    )
    assert_movements(
        GridState(shift=True, **SIZE),
        [
            (A.NEXT_CHANGE, 1, 14),
            (A.NEXT_CHANGE, 1, 21),
            (A.PREVIOUS_CHANGE, 1, 14),
        ],
    )


def test_messages_and_hits() -> None:
    assert_movements(
        GridState(**SIZE),
        [
            (A.NEXT_MESSAGE, 1, 1),
            (A.NEXT_MESSAGE, 1, 12),
            (A.NEXT_MESSAGE, 1, 12),
            (A.PREVIOUS_MESSAGE, 1, 1),
        ],
    )
    assert_movements(
        GridState(hits=(3, 4, 9, 20, 21), **SIZE),
        [
            (A.NEXT_HIT, 1, 3),
            (A.NEXT_HIT, 2, 20),
            (A.PREVIOUS_HIT, 1, 9),
            (A.PREVIOUS_HIT, 9, 3),
            (A.PREVIOUS_HIT, 1, 3),
        ],
    )


def test_zoom_and_shift_keep_the_cursor() -> None:
    assert_movements(
        GridState(cursor=17, **SIZE),
        [
            (A.ZOOM, 1, 17),
            (A.ZOOM, 1, 17),
            (A.SHIFT, 1, 17),
            (A.ZOOM_BACK, 1, 17),
            (A.SHIFT, 1, 17),
        ],
    )
    layout = lay_out(ROW, Zoom.TEXT, False, 60)
    state = GridState(zoom=Zoom.TEXT)
    for zoom in (Zoom.COLUMNS, Zoom.ROWS, Zoom.TEXT):
        state = apply(state, A.ZOOM, ROW, layout)
        assert state.zoom is zoom
    assert apply(state, A.ZOOM_BACK, ROW, layout).zoom is Zoom.ROWS


def test_no_tokens_no_movement() -> None:
    empty = make_table(inspection([]))
    for table in (None, empty):
        for action in Action:
            for zoom in Zoom:
                state = GridState(zoom=zoom, **SIZE)
                layout = lay_out(table, zoom, False, 60)
                after = apply(state, action, table, layout, 3)
                assert (after.cursor, after.top) == (0, 0)
                assert len(draw(table, layout, settle(after, layout))) == 1


def test_the_pane_scrolls_only_as_far_as_needed() -> None:
    table = make_table(long_row(500))
    layout = lay_out(table, Zoom.COLUMNS, False, 60)
    state = GridState(width=60, height=20)
    assert layout.visible_bands(20) == 3
    state = apply(state, A.DOWN, table, layout, 2)
    assert state.top == 0
    state = apply(state, A.DOWN, table, layout, 1)
    assert state.top == 1
    state = apply(state, A.PAGE_DOWN, table, layout)
    assert state.top == 4
    state = apply(state, A.END, table, layout)
    assert state.top == layout.bands - 3
    assert settle(replace(state, height=1), layout).top == layout.bands - 1


@pytest.mark.parametrize("zoom", Zoom)
@pytest.mark.parametrize("shift", [False, True])
@pytest.mark.parametrize("width", [12, 40, 97])
def test_down_and_up_again_is_the_same_token(zoom: Zoom, shift: bool, width: int) -> None:
    assert ROW is not None
    layout = lay_out(ROW, zoom, shift, width)
    for start in range(0, len(ROW), 3):
        for count in (1, 2, 5):
            state = settle(GridState(zoom, shift, start, width=width, height=20), layout)
            bands = []
            for _ in range(count):
                state = apply(state, Action.DOWN, ROW, layout)
                bands.append(layout.band_of(state.cursor))
            if len(set(bands)) < count or bands[0] == layout.band_of(start):
                continue  # stopped at the end
            for _ in range(count):
                state = apply(state, Action.UP, ROW, layout)
            assert state.cursor == start, (start, count)


@pytest.mark.parametrize("zoom", Zoom)
@pytest.mark.parametrize("width", [12, 40, 97])
def test_down_comes_to_the_last_band_and_up_to_the_first(zoom: Zoom, width: int) -> None:
    assert ROW is not None
    layout = lay_out(ROW, zoom, False, width)
    state = settle(GridState(zoom, width=width, height=20), layout)
    for action, end in ((Action.DOWN, layout.band_of(len(ROW) - 1)), (Action.UP, 0)):
        for _ in range(layout.bands + 1):
            state = apply(state, action, ROW, layout)
        assert layout.band_of(state.cursor) == end


@pytest.mark.parametrize("action", [A.NEXT_CHANGE, A.PREVIOUS_CHANGE, A.NEXT_MESSAGE, A.PREVIOUS_MESSAGE, A.NEXT_HIT])
def test_no_steps_are_no_jump(action: Action) -> None:
    state = GridState(cursor=21, hits=(3, 9), **SIZE)
    assert apply(state, action, ROW, lay_out(ROW, state.zoom, False, state.width), 0).cursor == 21


TABLES = [made for made in map(make_table, (inspection(), long_row(300), tool_chat())) if made is not None]
STEPS = st.tuples(
    st.sampled_from(Action),
    st.integers(0, 40),
    st.sampled_from(TABLES),
    st.sampled_from([12, 40, 97]),
    st.frozensets(st.integers(0, 60)),
)


@given(st.lists(STEPS, max_size=12))
def test_bands_kept_are_as_drawn_anew(steps: list[tuple[Action, int, TokenTable, int, frozenset[int]]]) -> None:
    drawn, state = DrawnBands(), GridState(**SIZE)
    for action, amount, table, width, hits in steps:
        state = replace(state, width=width, hits=tuple(sorted(hits)))
        layout = lay_out(table, state.zoom, state.shift, width)
        state = apply(settle(state, layout), action, table, layout, amount)
        layout = lay_out(table, state.zoom, state.shift, width)
        state = settle(state, layout)
        assert draw(table, layout, state, drawn) == draw(table, layout, state)


def test_the_lens_calls_no_two_reasons_the_same() -> None:
    assert len(set(LENS.values())) == len(Reason) and max(map(len, LENS.values())) <= 10
    for width in range(10, 24):
        names = [_named(reason.value, width).rstrip(" ╌") for reason in Reason]
        assert len(set(names)) == len(names), width
    assert (_named("outside generation tag", 9), _named("generation tag", 9)) == ("no tag ╌╌", "tag ╌╌╌╌╌")
