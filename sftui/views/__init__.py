"""Everything the inspector shows, as pure data: no Textual, no Rich, no styles.

Contract: a *line* is a tuple of `Segment(text, role, over)`; `text` is already visible and its
width is `cell_width(text)`; roles are mapped to styles by the widget, `over` (cursor, hit) lies
on top. Every function here is pure and takes frozen data; no line is wider than the width given.

The grid (all zooms, both views):

    table = make_table(inspection)                                 # None where there are no tokens
    layout = lay_out(table, state.zoom, state.shift, state.width)  # cache by (inspection, zoom, shift, width)
    state = settle(state, layout)                                  # after each new layout
    state = apply(state, Action.RIGHT, table, layout, amount)      # after each key
    lines = draw(table, layout, state)                             # what is seen, O(height)

Around it, each `…_lines(…, width) -> tuple[Line, ...]`: `conversation_lines`, `rendered_lines`,
`raw_lines`, `boundary_lines`, `batch_lines`, `pack_lines`, `recipe_lines`,
`diff_text_lines`, `compare_lines`, `count_lines`, `cause_lines`, `shift_lines`, `stop_lines`, `note_lines`,
`why_lines`; one line each: `row_line`, `row_heading`, `row_sentence`, `token_line`. Search:
`find(inspection, kind, query)`. For plain text and tests: `plain(lines)`, `role_map(lines)`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sftui.views.cells import Line, LineBuilder, Over, Role, Segment, crop, line, plain, role_map, wrap
from sftui.views.draw import draw, draw_all, draw_lines
from sftui.views.grid import Action, GridState, Layout, Zoom, apply, settle
from sftui.views.layout import lay_out
from sftui.views.status import (
    Summary,
    count_words,
    note_lines,
    row_heading,
    row_line,
    row_notes,
    row_sentence,
    shift_lines,
    stop_lines,
    token_line,
)
from sftui.views.table import TokenTable, make_table, weighted_tokens
from sftui.views.words import (
    EVALUATES,
    convention,
    evaluation_words,
    explain,
    shift_warning,
    what_is_learnt,
    why_stopped,
)

if TYPE_CHECKING:
    from sftui.views.batch import batch_lines, pack_lines
    from sftui.views.boundary import boundary_lines, boundary_words, straddler
    from sftui.views.causes import cause_lines, does, keys_of_setting
    from sftui.views.compare import compare_lines, count_lines, difference_words, unmarked_words
    from sftui.views.knobs import (
        KnobLine,
        change_text,
        diff_text_lines,
        knob_paths,
        new_values,
        recipe_lines,
        value_text,
    )
    from sftui.views.panes import conversation_lines, raw_lines, rendered_lines
    from sftui.views.search import check_query, find
    from sftui.views.why import Effect, Offer, why_lines

# Panes that first paint does not need are loaded on request.
_LATER = {
    "batch": ("batch_lines", "pack_lines"),
    "boundary": ("boundary_lines", "boundary_words", "straddler"),
    "causes": ("cause_lines", "does", "keys_of_setting"),
    "compare": ("compare_lines", "count_lines", "difference_words", "unmarked_words"),
    "knobs": (
        "KnobLine",
        "change_text",
        "diff_text_lines",
        "knob_paths",
        "new_values",
        "recipe_lines",
        "value_text",
    ),
    "panes": ("conversation_lines", "raw_lines", "rendered_lines"),
    "search": ("check_query", "find"),
    "why": ("Effect", "Offer", "why_lines"),
}
_HOMES = {name: module for module, names in _LATER.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"sftui.views.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "EVALUATES",
    "Action",
    "Effect",
    "GridState",
    "KnobLine",
    "Layout",
    "Line",
    "LineBuilder",
    "Offer",
    "Over",
    "Role",
    "Segment",
    "Summary",
    "TokenTable",
    "Zoom",
    "apply",
    "batch_lines",
    "boundary_lines",
    "boundary_words",
    "cause_lines",
    "change_text",
    "check_query",
    "compare_lines",
    "convention",
    "conversation_lines",
    "count_lines",
    "count_words",
    "crop",
    "diff_text_lines",
    "difference_words",
    "does",
    "draw",
    "draw_all",
    "draw_lines",
    "evaluation_words",
    "explain",
    "find",
    "keys_of_setting",
    "knob_paths",
    "lay_out",
    "line",
    "make_table",
    "new_values",
    "note_lines",
    "pack_lines",
    "plain",
    "raw_lines",
    "recipe_lines",
    "rendered_lines",
    "role_map",
    "row_heading",
    "row_line",
    "row_notes",
    "row_sentence",
    "settle",
    "shift_lines",
    "shift_warning",
    "stop_lines",
    "straddler",
    "token_line",
    "unmarked_words",
    "value_text",
    "weighted_tokens",
    "what_is_learnt",
    "why_lines",
    "why_stopped",
    "wrap",
]
