"""Text goldens: what each view looks like and what each cell means, compared exactly.

`SFTUI_GOLDEN=write pytest tests/unit/views/test_views_goldens.py` writes them anew; read the diff.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from inspections_by_hand import (
    CHAT,
    hostile_chat,
    inspection,
    packed,
    padded,
    tool_chat,
    weighted,
    weighted_batch,
)
from role_letters import role_map

from sftui.comparison import ComparisonCount
from sftui.model import Inspection, RecipeChange
from sftui.recipe import Recipe, changed
from sftui.text import cell_width
from sftui.views.batch import batch_lines, pack_lines
from sftui.views.boundary import boundary_lines
from sftui.views.cells import Line, plain
from sftui.views.draw import draw, draw_lens
from sftui.views.grid import GridState, Zoom, settle
from sftui.views.knobs import LabelFlip
from sftui.views.layout import lay_out
from sftui.views.panes import conversation_lines, raw_lines, rendered_lines
from sftui.views.status import shift_lines
from sftui.views.table import make_table
from sftui.views.why import Offer, why_lines

FOLDER = Path(__file__).parents[2] / "golden" / "views"
SIZES = [(60, 20), (80, 24), (200, 50)]


def grid(made: Inspection, zoom: Zoom, shift: bool, cursor: int = 15) -> Callable[[int, int], tuple[Line, ...]]:
    def lines(width: int, height: int) -> tuple[Line, ...]:
        table = make_table(made)
        layout = lay_out(table, zoom, shift, width)
        state = settle(GridState(zoom=zoom, shift=shift, cursor=cursor, width=width, height=height, hits=(17,)), layout)
        return draw(table, layout, state)

    return lines


def lens(shift: bool, bands: int) -> Callable[[int, int], tuple[Line, ...]]:
    def lines(width: int, height: int) -> tuple[Line, ...]:
        table = make_table(inspection())
        assert table is not None
        state = GridState(zoom=Zoom.TEXT, shift=shift, cursor=15, width=width, height=height)
        return draw_lens(table, lay_out(table, Zoom.COLUMNS, shift, width), state, bands)

    return lines


def way(path: str, before: object, after: object, tokens: int, key: str = "") -> LabelFlip:
    keys = ((key, after),) if key else ()
    return LabelFlip((RecipeChange(path, before, after),), Recipe("trl", "1.16"), tokens, keys)


def card(made: Inspection, i: int, offer: Offer) -> Callable[[int, int], tuple[Line, ...]]:
    table, recipe = make_table(made), changed(Recipe("trl", "1.16"), "length.max", 19)
    assert table is not None
    return lambda width, height: why_lines(table, i, made, recipe, "TRL", "completion_only_loss", offer, width)


CUT = inspection(kept=((0, 19),))
PARTED = inspection(prompt=[*(t for t, *_ in CHAT[:14]), "\n\n"])

VIEWS: dict[str, Callable[[int, int], tuple[Line, ...]]] = {
    "columns": grid(inspection(), Zoom.COLUMNS, False),
    "columns-cut": grid(CUT, Zoom.COLUMNS, False),
    "columns-shift": grid(CUT, Zoom.COLUMNS, True),
    "columns-shift-start": grid(CUT, Zoom.COLUMNS, True, 0),
    "columns-hostile": grid(hostile_chat(), Zoom.COLUMNS, False, 0),
    "rows": grid(inspection(), Zoom.ROWS, False),
    "rows-shift": grid(CUT, Zoom.ROWS, True),
    "rows-shift-cut-left": grid(inspection(kept=((6, 22),)), Zoom.ROWS, True, 0),
    "text": grid(inspection(), Zoom.TEXT, False),
    "text-cut": grid(CUT, Zoom.TEXT, False),
    "text-shift": grid(CUT, Zoom.TEXT, True),
    "lens": lens(False, 1),
    "lens-shift": lens(True, 2),
    "columns-weights": grid(weighted(), Zoom.COLUMNS, False),
    "columns-weights-shift": grid(weighted(kept=((0, 19),)), Zoom.COLUMNS, True),
    "rows-weights": grid(weighted(), Zoom.ROWS, False),
    "rows-weights-shift": grid(weighted(), Zoom.ROWS, True),
    "text-weights": grid(weighted(), Zoom.TEXT, False),
    "text-weights-shift": grid(weighted(0.25, 0.0), Zoom.TEXT, True),
    "batch-weights": lambda w, h: batch_lines(weighted_batch(), w),
    "why-weights": card(weighted(), 18, Offer()),
    "text-hostile": grid(hostile_chat(), Zoom.TEXT, False, 0),
    "boundary-clean": lambda w, h: boundary_lines(inspection(prompt=[t for t, *_ in CHAT[:15]]), w),
    "boundary-parted": lambda w, h: boundary_lines(PARTED, w),
    "batch": lambda w, h: batch_lines(padded(), w),
    "batch-left": lambda w, h: batch_lines(replace(padded(side="left"), attention_mask=None), w),
    "pack": lambda w, h: pack_lines(packed(), w),
    "conversation": lambda w, h: conversation_lines(tool_chat(), w),
    "rendered": lambda w, h: rendered_lines(inspection(), w),
    "raw": lambda w, h: raw_lines(tool_chat().row, w),
    "shift-banner": lambda w, h: (*shift_lines("internal", w), *shift_lines("preshifted", w)),
    "why-cut": card(CUT, 20, Offer((way("length.max", 19, 22, 3, "max_length"),))),
    "why-offer": card(
        inspection(),
        9,
        Offer(
            (way("mask.rule", "completion", "all", 14), way("mask.roles", ("assistant",), ("assistant", "user"), 7)),
            effect=ComparisonCount(5_000, turned_rows=1203, turned=45_112, stopped=(0, 2)),
        ),
    ),
    "why-none": card(
        inspection(), 15, Offer((), (("generation_tag", "the template has no \x1b[31m{% generation %} tag"),))
    ),
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize(("width", "height"), SIZES, ids=lambda n: str(n))
def test_view_looks_as_before(name: str, width: int, height: int) -> None:
    lines = VIEWS[name](width, height)
    assert max(cell_width("".join(s.text for s in cells)) for cells in lines) <= width
    text = f"{plain(lines)}{'=' * width}\n{role_map(lines)}"
    file = FOLDER / f"{name}.{width}x{height}.txt"
    if os.environ.get("SFTUI_GOLDEN") == "write":
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8"), f"{file.name} differs"


def test_no_golden_is_left_over() -> None:
    expected = {f"{name}.{w}x{h}.txt" for name in VIEWS for w, h in SIZES}
    assert {file.name for file in FOLDER.glob("*.txt")} == expected


def test_one_row_and_several_are_said_in_english() -> None:
    from sftui.comparison import ComparisonCount
    from sftui.views.compare import count_words

    assert "; 1 of them can be prepared on only some" in count_words(ComparisonCount(9, 2, one_sided=1))
    assert "; 2 of them can be prepared on only some" in count_words(ComparisonCount(9, 2, one_sided=2))


def test_a_comparison_says_which_rows_evaluate() -> None:
    from sftui.comparison import ComparisonCount, compare_row
    from sftui.views.compare import compare_lines, count_lines

    row = inspection()
    made = compare_row([row, replace(row, evaluates=True)])
    side = made.sides[0]
    told = plain(compare_lines(made, ("trl@1.16", "axolotl@0.19"), 80)).splitlines()
    assert told[0] == f"A trl@1.16      {side.trained} of {side.received} trained"
    assert told[1] == f"B axolotl@0.19  evaluation row, {side.trained} of {side.received} carry loss"
    assert told[2].endswith("held out for evaluation on only some sides")
    both = compare_row([replace(row, evaluates=True)] * 2)
    told = plain(compare_lines(both, ("trl@1.16", "axolotl@0.19"), 80)).splitlines()
    assert told[0].endswith("evaluation row, 7 of 22 carry loss") and told[1].endswith("nothing differs")
    count = ComparisonCount().plus(made).plus(both)
    words = plain(count_lines(count, ("trl@1.16", "axolotl@0.19"), 200)).splitlines()
    assert words[0] == "1 of 2 rows differ; 1 of them are held out for evaluation on only some sides"
    assert words[1].endswith(" tokens trained (31.8 %), 1 row for evaluation")
    assert words[2].endswith("0 of 0 tokens trained, 2 rows for evaluation")


def test_weights_that_differ_are_marked_and_told() -> None:
    made = weighted()
    assert made.labels is not None and made.example is not None
    plainly = replace(made, labels=replace(made.labels, weights=None), example=replace(made.example, weights=None))
    from sftui.comparison import ComparisonCount, compare_row
    from sftui.views.compare import compare_lines, count_lines

    found = compare_row([made, plainly])
    told = plain(compare_lines(found, ("acme@2.1", "acme@2.0"), 100))
    assert "≠ label  ~ token  × weight  5 weights differ" in told
    marked = [text for text in told.splitlines() if "×" in text or "▓" in text]
    assert len(marked) == 3 and marked[1].startswith("A acme@2.1 ░") and set(marked[2]) == {" ", "×"}
    words = plain(count_lines(ComparisonCount().plus(found), ("a", "b"), 100))
    assert "in 5 tokens (0 by label, 0 by id, 5 by weight)" in words
    alike = compare_row([plainly, plainly])
    assert "weight" not in plain(compare_lines(alike, ("a", "b"), 100))
