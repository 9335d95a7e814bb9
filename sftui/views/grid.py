"""The grid of tokens: zooms, layouts, and the pure state that keys act on.

    table = make_table(inspection)
    layout = lay_out(table, state.zoom, state.shift, state.width)     # again when one of these changes
    state = apply(state, action, table, layout, amount)               # then settle() if it re-laid out
    lines = draw(table, layout, state)                                # exactly state.height lines at most

A *band* is one wrapped group of aligned lines: in columns zoom 6 lines and an empty one, in text
and rows zoom one line. The state scrolls by bands.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import replace
from enum import Enum

from sftui.values import value_class
from sftui.views.cells import Over
from sftui.views.table import TokenTable, loss_changes, message_starts


class Zoom(str, Enum):
    """How close the tokens are looked at."""

    TEXT = "text"
    COLUMNS = "columns"
    ROWS = "rows"


class Action(str, Enum):
    """What a key may do to the grid; `amount` of `apply` is its count (for GOTO: the token)."""

    LEFT = "left"
    RIGHT = "right"
    UP = "up"
    DOWN = "down"
    HOME = "home"
    END = "end"
    LINE_HOME = "line_home"
    LINE_END = "line_end"
    PAGE_UP = "page_up"
    PAGE_DOWN = "page_down"
    HALF_UP = "half_up"
    HALF_DOWN = "half_down"
    NEXT_CHANGE = "next_change"
    PREVIOUS_CHANGE = "previous_change"
    NEXT_MESSAGE = "next_message"
    PREVIOUS_MESSAGE = "previous_message"
    NEXT_HIT = "next_hit"
    PREVIOUS_HIT = "previous_hit"
    GOTO = "goto"
    ZOOM = "zoom"
    ZOOM_BACK = "zoom_back"
    SHIFT = "shift"
    BLANKS = "blanks"


@value_class
class GridState:
    """What is looked at: pure view state, no data.

    `cursor` is a token, `top` the first visible band, `width` and `height` the pane in cells,
    `hits` the sorted tokens that the search touched (neighbours are one hit to NEXT_HIT). `goal` is the place in the
    band to which moves up and down keep, and the token that the last one came to: any other move ends it. `blanks`: all
    white space of the text is shown. `aside`: another sequence is shown, too, and this one may end above the bottom;
    `quiet`: the cursor is that of the other one.
    """

    zoom: Zoom = Zoom.COLUMNS
    shift: bool = False
    cursor: int = 0
    top: int = 0
    width: int = 80
    height: int = 24
    hits: tuple[int, ...] = ()
    goal: tuple[int, int] | None = None
    blanks: bool = False
    quiet: bool = False
    aside: bool = False


@value_class
class GridLayout:
    """Which tokens stand on which band, for one width.

    Band `b` holds tokens `starts[b]` up to `starts[b + 1]`. `columns` are the column widths
    (columns zoom). In text zoom a long token may span bands: `offsets[b]` is how many characters
    of its first token stand on earlier bands. A band without tokens holds the ghost of the first
    label (shift view of text and rows). `header` lines stand above the first band, always, and
    `gutter` cells of the text zoom before each: the role of the message, the loss glyph and a space.
    """

    zoom: Zoom
    shift: bool
    width: int
    count: int
    starts: tuple[int, ...]
    band_height: int = 1
    columns: tuple[int, ...] = ()
    offsets: tuple[int, ...] = ()
    header: int = 0
    gutter: int = 0

    @property
    def bands(self) -> int:
        return len(self.starts)

    def band_of(self, token: int) -> int:
        """The band on which `token` begins."""
        band = bisect_right(self.starts, token) - 1
        if self.offsets:
            while band > 0 and self.offsets[band] and self.starts[band] == token:
                band -= 1
        return max(band, 0)

    def tokens_of(self, band: int) -> range:
        """The tokens of a band, also those begun on an earlier one."""
        end = self.count if band + 1 >= len(self.starts) else self.starts[band + 1]
        if self.offsets and band + 1 < len(self.offsets) and self.offsets[band + 1]:
            end += 1
        return range(self.starts[band], end)

    def visible_bands(self, height: int) -> int:
        """How many whole bands fit into `height` lines, at least one."""
        height -= self.header
        return max((height + (1 if self.band_height > 1 else 0)) // self.band_height, 1)


def apply(state: GridState, action: Action, table: TokenTable | None, layout: GridLayout, amount: int = 1) -> GridState:
    """The state after an action; the cursor is kept in view.

    ZOOM, ZOOM_BACK and SHIFT change what must be laid out: lay out again, then `settle`.
    """
    if action in (Action.ZOOM, Action.ZOOM_BACK):
        zooms = tuple(Zoom)
        step = amount if action is Action.ZOOM else -amount
        return replace(state, zoom=zooms[(zooms.index(state.zoom) + step) % len(zooms)])
    if action is Action.SHIFT:
        return replace(state, shift=not state.shift)
    if action is Action.BLANKS:
        return replace(state, blanks=not state.blanks)
    if table is None or not layout.count:
        return replace(state, cursor=0, top=0)
    if action in (Action.PAGE_UP, Action.PAGE_DOWN, Action.HALF_UP, Action.HALF_DOWN):
        return _page(state, action, layout, amount)
    if action in (Action.UP, Action.DOWN):
        return settle(_vertically(state, amount if action is Action.DOWN else -amount, layout), layout)
    return settle(replace(state, cursor=_move(state, action, table, layout, amount)), layout)


def settle(state: GridState, layout: GridLayout) -> GridState:
    """The state with its cursor inside the row and its band inside the pane."""
    cursor = min(max(state.cursor, 0), max(layout.count - 1, 0))
    fits = layout.visible_bands(state.height)
    band = layout.band_of(cursor) if layout.count else 0
    upper = band - 1 if band and not layout.tokens_of(band - 1) else band
    top = min(max(state.top, band - fits + 1), upper if fits > 1 else band)
    last = layout.bands - (1 if state.aside and layout.bands > fits else fits)
    return replace(state, cursor=cursor, top=max(min(top, last), 0))


def _page(state: GridState, action: Action, layout: GridLayout, amount: int) -> GridState:
    fits = layout.visible_bands(state.height)
    far, _, way = action.value.partition("_")
    step = max(fits if far == "page" else fits // 2, 1) * (amount if way == "down" else -amount)
    top = min(max(state.top + step, 0), max(layout.bands - fits, 0))
    return settle(replace(_vertically(state, step, layout), top=top), layout)


def _move(state: GridState, action: Action, table: TokenTable, layout: GridLayout, amount: int) -> int:
    cursor = state.cursor
    tokens = layout.tokens_of(layout.band_of(cursor))
    places = {
        Action.LEFT: cursor - amount,
        Action.RIGHT: cursor + amount,
        Action.HOME: 0,
        Action.END: layout.count - 1,
        Action.GOTO: amount,
        Action.LINE_HOME: tokens[0],
        Action.LINE_END: tokens[-1],
    }
    if action in places:
        return places[action]
    towards, _, what = action.value.partition("_")
    if what == "change":
        stops = loss_changes(table, state.shift)
    else:
        stops = message_starts(table) if what == "message" else hit_starts(state.hits)
    return _jump(stops, cursor, amount if towards == "next" else -amount)


def hit_starts(hits: tuple[int, ...]) -> tuple[int, ...]:
    """Where hits begin, of the sorted tokens that they touch: neighbours are one hit."""
    return tuple(hit for hit, before in zip(hits, (-2, *hits)) if hit != before + 1)


def _jump(stops: tuple[int, ...], cursor: int, steps: int) -> int:
    """The stop `steps` after the cursor (before it where negative); as far as there are stops, and for 0 the cursor."""
    if not steps:
        return cursor
    if steps > 0:
        at = bisect_right(stops, cursor)
        return stops[min(at + steps - 1, len(stops) - 1)] if at < len(stops) else cursor
    at = bisect_left(stops, cursor)
    return stops[max(at + steps, 0)] if at > 0 else cursor


def _vertically(state: GridState, steps: int, layout: GridLayout) -> GridState:
    """The cursor `steps` bands away, at the place in the band where moves up and down began: back is the same token."""
    cursor = state.cursor
    band = layout.band_of(cursor)
    if state.goal is not None and state.goal[1] == cursor:
        place = state.goal[0]
    else:
        place = _column(layout, band, cursor) if layout.columns else cursor - _first(layout, band)
    target = min(max(band + steps, 0), layout.bands - 1)
    step = 1 if steps > 0 else -1
    while 0 <= target < layout.bands and target != band:
        cursor = nearest(layout, target, place) if layout.columns else _at(layout, target, place)
        if cursor != state.cursor:
            break
        target += step  # the token goes on there, or begins before: the move is past it
    return replace(state, cursor=cursor, goal=(place, cursor))


def _at(layout: GridLayout, band: int, place: int) -> int:
    """The token at a place of a band of flowing text or rows."""
    tokens = layout.tokens_of(band) or layout.tokens_of(min(band + 1, layout.bands - 1))
    begun = range(max(tokens.start, _first(layout, band)), tokens.stop) or tokens
    return begun[min(place, len(begun) - 1)]


def _first(layout: GridLayout, band: int) -> int:
    """The first token that begins on a band."""
    return layout.starts[band] + (1 if layout.offsets and layout.offsets[band] else 0)


def _column(layout: GridLayout, band: int, token: int) -> int:
    return sum(layout.columns[i] + 1 for i in range(layout.starts[band], token))


def nearest(layout: GridLayout, band: int, column: int) -> int:
    """The token of a band of the columns zoom that stands in a column, or before it."""
    tokens = layout.tokens_of(band)
    at = 0
    for token in tokens:
        at += layout.columns[token] + 1
        if at > column:
            return token
    return tokens[-1]


def over(state: GridState, token: int) -> Over:
    """What lies over a token: the cursor, else a hit of the search."""
    if token == state.cursor:
        return Over.MARK if state.quiet else Over.CURSOR
    at = bisect_left(state.hits, token)
    return Over.HIT if at < len(state.hits) and state.hits[at] == token else Over.NONE
