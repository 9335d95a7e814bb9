"""Everything the inspector shows, as pure data: no Textual, no Rich, no styles.

Contract: a *line* is a tuple of `Segment(text, role, over)`; `text` is already visible and its
width is `cell_width(text)`; roles are mapped to styles by the widget, `over` (cursor, hit) lies
on top. Every function here is pure and takes frozen data.

    table = make_table(inspection)                                      # None where there are no tokens
    layout = lay_out(table, state.zoom, state.shift, state.width)       # cache by (inspection, zoom, shift, width)
    state = settle(state, layout)                                       # after each new layout
    state = apply(state, Action.RIGHT, table, layout, amount)           # after each key
    lines = draw(table, layout, state)                                  # what is seen, O(height)
"""

from sftui.views.cells import Line, Over, Role, Segment, crop, plain, role_map, wrap
from sftui.views.draw import draw, draw_lines
from sftui.views.grid import Action, GridState, Layout, Zoom, apply, settle
from sftui.views.layout import lay_out
from sftui.views.table import TokenTable, make_table
from sftui.views.words import convention, explain, shift_warning, what_is_learnt, why_stopped

__all__ = [
    "Action", "GridState", "Layout", "Line", "Over", "Role", "Segment", "TokenTable", "Zoom", "apply",
    "convention", "crop", "draw", "draw_lines", "explain", "lay_out", "make_table", "plain", "role_map",
    "settle", "shift_warning", "what_is_learnt", "why_stopped", "wrap",
]
