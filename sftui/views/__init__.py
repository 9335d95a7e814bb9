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
`why_lines`; one line each: `row_line`, `row_heading`, `row_sentence`, `token_line`. As plain text:
`plain(lines)`.
"""
