"""The lines around the grid: header, row list, notices, recipe and diffs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from inspections_by_hand import inspection, stopped

from sftui.model import RowSummary, Stage
from sftui.recipe import changed, knobs
from sftui.text import cell_width, share, visible_blanks
from sftui.trainers import preset
from sftui.views.batch import scaled
from sftui.views.cells import Line, Role, plain
from sftui.views.knobs import diff_text_lines, knob_paths, recipe_lines, value_text
from sftui.views.status import gathered, note_lines, row_line, row_notes, stop_lines, token_line
from sftui.views.table import make_table
from sftui.views.words import explain


def listed(summary: RowSummary, width: int, current: bool = False) -> Line:
    """Its line in a list that holds the keys."""
    return row_line(summary, width, current, True, 6, "", "▸", False)


@pytest.mark.parametrize(
    ("part", "whole", "shown"),
    [(0, 0, "0 %"), (1, 3, "33 %"), (1, 1000, "<1 %"), (999, 1000, ">99 %"), (5, 5, "100 %")],
)
def test_shares_never_round_to_nothing_or_all(part: int, whole: int, shown: str) -> None:
    assert share(part, whole) == shown


def test_shares_with_decimals_do_not_either() -> None:
    assert [share(part, 100_000, 1) for part in (0, 1, 22_580, 99_999, 100_000)] == [
        "0.0 %",
        "<0.1 %",
        "22.6 %",
        ">99.9 %",
        "100.0 %",
    ]


def test_scaled_strips_keep_what_is_trained_in_sight() -> None:
    assert scaled("░░░█████╌╌", 4) == "▒█╌"
    assert scaled("░█", 1) == "░█"


@pytest.mark.parametrize("width", [12, 30, 60])
def test_row_lines_fit(width: int) -> None:
    summaries = [
        RowSummary(17, "What\x1b[31m colour", 412, 120, 3),
        RowSummary(18, "x", 96, 0),
        RowSummary(19, "y"),
        RowSummary(20, "z", 1_000_000, 999_999, 0, "too long"),
        RowSummary(21, "", problem="not JSON"),
        RowSummary(22, "held", 40, 12, evaluates=True),
    ]
    for summary in summaries:
        for current in (True, False):
            text = "".join(s.text for s in listed(summary, width, current))
            assert cell_width(text) <= width and "\x1b" not in text
    assert plain([listed(summaries[-1], 60)]) == "     22     40  eval       held\n"
    assert plain([listed(summaries[0], 60, True)]) == "▸    17    412  29 % ✂3    What␛[31m colour\n"


def test_what_stands_over_the_tokens_is_why_the_row_stopped_alone() -> None:
    assert plain(stop_lines(stopped(Stage.TOKENS), 100)).startswith(
        "✗ this row could not be tokenized: the row cannot be used"
    )
    made = inspection(provisional=True)
    assert stop_lines(replace(made, evaluates=True, notes=("a note",)), 80) == ()


def test_notes_are_told_once_each_under_their_headings() -> None:
    made = inspection()
    assert made.labels is not None
    noted = replace(
        made, evaluates=True, notes=("same",), labels=replace(made.labels, notes=("same", "other \x1b[31m"))
    )
    found = row_notes(noted)
    assert [told for told, _ in found] == [
        "evaluation row: the trainer holds it out and does not train on it",
        "same",
        "other ␛[31m",
    ]
    told = plain(note_lines((("row 0", found), ("none here", ()), ("the data", (("x" * 70, Role.PLAIN),))), 60))
    assert told.startswith("row 0\n• evaluation row") and "none here" not in told
    assert f"\n\nthe data\n• {'x' * 58}\n  xxxxxxxxxxxx\n" in told
    assert plain(note_lines((("row 0", ()),), 60)) == "no notes\n"


def test_notes_that_differ_by_their_number_are_one() -> None:
    notes = ["turn 0 (human) is odd", "turn 1 (gpt) is odd", "turn 2 (human) is odd", "turn 2 (human) is odd", "fine"]
    assert gathered(notes) == ("turn 0 (human) is odd (also 2)", "turn 1 (gpt) is odd", "fine")


def test_recipe_pane_marks_what_changed() -> None:
    base = preset()
    recipe = changed(base, "mask.terminator", "mask")
    lines = recipe_lines(recipe, base, 80, cursor="mask.rule")
    paths = knob_paths(recipe)
    assert [path for path in paths if path] == ["preset", *(info.path for info in knobs())]
    for path, cells in zip(paths, lines, strict=True):
        assert not path or plain([cells])[2:].strip().startswith(path.rpartition(".")[2][:12])
    marked = [n for n, cells in enumerate(lines) if any(s.role is Role.CHANGED for s in cells)]
    assert [paths[n] for n in marked] == ["mask.terminator"]
    assert plain([lines[marked[0]]]).startswith("● ")


def test_a_diff_keeps_its_signs() -> None:
    lines = diff_text_lines("--- before\n+++ after\n@@ -1,2 +1,2 @@\n a\n-b\n+\x1bc", 60)
    assert plain(lines) == "--- before\n+++ after\n@@ -1,2 +1,2 @@\n a\n-b\n+␛c\n"
    assert [cells[0].role for cells in lines][-2:] == [Role.REMOVED, Role.ADDED]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "null"),
        (True, "true"),
        ("", '""'),
        ("a\x1b", "a␛"),
        (("x", 1), '["x", 1]'),
        ({"a": None}, '{"a": null}'),
        (1.5, "1.5"),
    ],
)
def test_values_read_as_in_the_file(value: object, shown: str) -> None:
    assert value_text(value) == shown


@pytest.mark.parametrize("width", [59, 79])
def test_the_reason_of_a_token_is_not_cut(width: int) -> None:
    table = make_table(inspection())
    assert table is not None
    for i in range(len(table)):
        told, whole = plain((token_line(table, i, width),)).rstrip("\n"), explain(table, i)
        short = whole.replace(", because it is ", ": ").replace(", because it ", ": ").replace(", because ", ": ")
        assert told.endswith((whole, short)), told
        assert cell_width(told) <= width and str(table.ids[i]) in told


def test_blanks_that_are_easily_missed_are_visible() -> None:
    assert visible_blanks(" hi \na  b c\n\n  x") == "␣hi␣⏎\na␣␣b c⏎\n⏎\n␣␣x"


def test_a_share_looks_good_only_where_what_is_trained_is() -> None:
    found = {
        verdict: next(run.role for run in listed(RowSummary(1, "x", 10, 10, verdict=verdict), 60) if "%" in run.text)
        for verdict in (None, ("warning", "no stop learned"), ("error", "no answer reaches the model"))
    }
    assert list(found.values()) == [Role.GOOD, Role.WARNING, Role.ERROR]
