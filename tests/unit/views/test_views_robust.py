"""Whatever the row and the pane, every view gives lines that fit, and says why there is nothing."""

from __future__ import annotations

import json
from itertools import chain, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inspections_by_hand import CHAT, C, H, T, hostile_chat, inspection, long_row, packed, padded, stopped, tool_chat
from rich.cells import cell_len
from role_letters import role_map

from sftui.model import Batch, Conversation, Inspection, Kind, Pack, Row, Stage
from sftui.recipe import Recipe
from sftui.trainers import preset
from sftui.views.batch import batch_lines, pack_lines
from sftui.views.boundary import boundary_lines, boundary_words
from sftui.views.cells import Line, plain
from sftui.views.draw import draw
from sftui.views.grid import Action, GridState, Zoom, apply, settle
from sftui.views.knobs import recipe_lines
from sftui.views.layout import lay_out
from sftui.views.panes import conversation_lines, raw_lines, rendered_lines
from sftui.views.status import note_lines, row_notes, shift_lines, stop_lines, token_line
from sftui.views.table import make_table
from sftui.views.why import Offer, why_lines
from sftui.views.words import explain, what_is_learnt, why_stopped

texts = st.text(st.characters(exclude_categories=()), min_size=1, max_size=30)
token_rows = st.lists(st.tuples(texts, st.integers(-1, 1), st.sampled_from([H, C, T]), st.integers(0, 1)), max_size=25)


def all_lines(made: Inspection, width: int, height: int) -> list[Line]:
    lines = [*conversation_lines(made, width), *rendered_lines(made, width), *raw_lines(made.row, width)]
    lines += [*boundary_lines(made, width), *stop_lines(made, width)]
    lines += note_lines((("row", row_notes(made)),), width)
    table = make_table(made)
    for zoom in Zoom:
        for shift in (False, True):
            layout = lay_out(table, zoom, shift, width)
            state = settle(GridState(zoom=zoom, shift=shift, width=width, height=height, cursor=5), layout)
            lines += draw(table, layout, state)
    for i in range(len(table) if table is not None else 0):
        assert table is not None
        lines += [
            token_line(table, i, width),
            token_line(table, i, width, shift=True),
            *why_lines(table, i, made, Recipe("trl"), "TRL", "", Offer(()), width),
        ]
        assert what_is_learnt(table, i) and explain(table, i)
    return lines


def check(lines: list[Line], width: int) -> None:
    for cells in lines:
        text = "".join(s.text for s in cells)
        assert text.encode() is not None and "\x1b" not in text and "\n" not in text
        assert cell_len(text) <= width, (text, width)
        assert all(a.role != b.role or a.over != b.over for a, b in pairwise(cells)), "runs are merged"
    assert len(plain(lines).split("\n")) == len(role_map(lines).split("\n"))


@settings(max_examples=60, deadline=None)
@given(token_rows, st.integers(2, 90), st.integers(1, 30), st.data())
def test_any_row_fits_any_pane(
    row: list[tuple[str, int, object, int]], width: int, height: int, data: st.DataObject
) -> None:
    count = len(row)
    cuts = sorted(data.draw(st.lists(st.integers(0, count), min_size=2, max_size=4)))
    kept = tuple(zip(cuts[::2], cuts[1::2]))
    made = inspection(row, kept=kept, shifted=data.draw(st.booleans()))  # type: ignore[arg-type]
    check(all_lines(made, width, height), width)


@pytest.mark.parametrize("stage", Stage)
def test_every_stage_can_be_where_it_stops(stage: Stage) -> None:
    made = stopped(stage)
    check(all_lines(made, 60, 20), 60)
    assert "mend it" in (why_stopped(made) or "")


@pytest.mark.parametrize("width", [1, 2, 5, 9, 14, 60])
def test_odd_rows_in_narrow_panes(width: int) -> None:
    rows = [
        inspection([]),
        inspection(CHAT[:1]),
        inspection([("x" * 300, 0, C, 1), ("中" * 90, 0, C, 0)]),
        hostile_chat(),
        inspection(kept=()),
        inspection(kept=((3, 5), (9, 12))),
        inspection(dropped="too long"),
        inspection(prompt=[]),
        inspection(prompt=["never", "agrees"]),
        inspection(prompt=[t for t, *_ in CHAT] + ["more"]),
    ]
    if width >= 2:
        for made in rows:
            check(all_lines(made, width, 20), width)
    else:
        for made in rows:
            all_lines(made, width, 20)


def test_everything_else_fits_too() -> None:
    recipe = preset()
    for width in (20, 60, 80, 200):
        batches = [batch_lines(padded(side), width) for side in ("left", "right")]
        batches.append(batch_lines(Batch((), (), (), (), ()), width))
        packs = [pack_lines(packed(), width), pack_lines(Pack((), (), ()), width)]
        panes = [conversation_lines(tool_chat(), width), shift_lines("preshifted", width)]
        panes.append(recipe_lines(recipe, recipe, width))
        check(list(chain.from_iterable([*batches, *packs, *panes])), width)


def test_a_long_row_draws_in_few_segments() -> None:
    table = make_table(long_row(20_000))
    for zoom in Zoom:
        layout = lay_out(table, zoom, False, 80)
        state = settle(GridState(zoom=zoom, width=80, height=24, cursor=12_000), layout)
        lines = draw(table, layout, state)
        assert len(lines) == 24
        assert sum(len(cells) for cells in lines) < 24 * 12
        state = apply(state, Action.PAGE_DOWN, table, layout)
        assert len(draw(table, layout, state)) == 24


def test_long_blocks_are_capped_and_say_so() -> None:
    text = "word " * 100_000
    made = Inspection(
        Row(0, {"text": text}, json.dumps({"text": text}), "x:1", 500_100), Conversation(Kind.TEXT, "text", text=text)
    )
    assert plain(conversation_lines(made, 80)).rstrip().endswith("… 480,000 more characters")
    assert "more characters" in plain(raw_lines(made.row, 80))


def test_boundary_words() -> None:
    prompt = [t for t, *_ in CHAT[:15]]
    assert boundary_words(inspection(prompt=prompt)).startswith("both agree on all 15 prompt tokens")
    assert boundary_words(inspection(prompt=[*prompt[:-1], "\n\n"])) == (
        "both agree on 14 of 15 prompt tokens and differ from token 14 on: ⏎⏎ in the prompt alone, ⏎ in the whole text"
    )
    assert "does not tokenize the prompt alone" in boundary_words(inspection())
