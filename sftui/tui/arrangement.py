"""Which panes are seen at a size, where each stands, and who of them holds the keys. Pure."""

from __future__ import annotations

from typing import NamedTuple

from sftui.tui.contexts import (
    CONVERSATION,
    CONVERSATION_PANE,
    DOCUMENT,
    FIGURES,
    FINDINGS,
    LIST,
    OTHER_SIDE,
    RECIPE,
    TOKENS,
)
from sftui.tui.state import FocusState, Sizes

NARROW = 80
WIDE = 120
"""From this width on a view stands next to the tokens."""
WIDEST = 160
"""From this width on the conversation and the findings stand next to the tokens, whatever else is open."""
TALL = 36
SIDES = (DOCUMENT, CONVERSATION_PANE, FINDINGS, FIGURES)
"""Who may hold the keys next to the tokens, or in their place."""
PREVIEW = 18
"""Cells of a row's preview where the list is as narrow as it may be with one."""
SLIM = 27
"""Cells of a list that shows no more than the share, the flags and what a row begins with."""
LEAST = {LIST: 12, RECIPE: 24, CONVERSATION_PANE: 24, TOKENS: 30}
"""Cells of a column that is made narrower by hand."""
FEWEST = 3
"""Lines of a pane that is made lower by hand."""


BOX, RULE = "box", "rule"


class Box(NamedTuple):
    """Where a pane stands, in cells of the body; `frame` is what stands around it: a BOX, a RULE above, or nothing."""

    x: int
    y: int
    width: int
    height: int
    frame: str = ""


class Arrangement(NamedTuple):
    """The panes that are seen: columns from left to right, each with its panes from above. `below` is what the pane
    below the tokens (or in their place) shows, `standing` are the views that are on screen without being open. `sides`
    stand where the tokens do: next to each other where they are `beside`, else above each other."""

    narrow: bool
    columns: tuple[tuple[str, ...], ...]
    below: str | None
    standing: tuple[str, ...] = ()
    sides: tuple[str, ...] = (TOKENS,)
    beside: bool = False

    @property
    def panes(self) -> tuple[str, ...]:
        each = (pane for column in self.columns for pane in column)
        return tuple(one for pane in each for one in (self.sides if pane == TOKENS else (pane,)))

    @property
    def views(self) -> tuple[str, ...]:
        """The views on screen: those that stand there always, and the one that is open."""
        return tuple(dict.fromkeys((*self.standing, *((self.below,) if self.below is not None else ()))))

    def pane_of(self, view: str) -> str:
        """The pane that shows a view."""
        if view == CONVERSATION and CONVERSATION_PANE in self.panes and view in self.standing:
            return CONVERSATION_PANE
        return {FINDINGS: FINDINGS, FIGURES: FIGURES}.get(view, DOCUMENT)

    def holder(self, context: str, view: str | None = None) -> str:
        """Who holds the keys where `context` should: the nearest one where that pane is hidden."""
        moved = (context == DOCUMENT and view in self.standing) or (
            context == CONVERSATION_PANE and CONVERSATION_PANE not in self.panes
        )
        if moved and view is not None:
            context = self.pane_of(view)
        if context in self.panes:
            return context
        return next((one for one in (TOKENS, *SIDES) if one in self.panes), self.panes[-1])

    @property
    def main(self) -> int:
        """Which column has what the others leave: that of the tokens, or of what stands in their place."""
        return next((number for number, column in enumerate(self.columns) if TOKENS in column), len(self.columns) - 1)


def arrange(what: FocusState, width: int, height: int) -> Arrangement:
    """The panes at a size in cells; the list gives way to the recipe where there is no room, a view takes the place of
    the tokens. A pane that is wanted alone has all of it."""
    whole = _arrange(what, width, height)
    if not what.alone:
        return whole
    holder = whole.holder(what.context, what.view)
    seen = tuple(view for view in whole.views if whole.pane_of(view) == holder)
    standing = tuple(view for view in seen if view in whole.standing)
    below = whole.below if whole.below in seen else None
    return Arrangement(whole.narrow, ((holder,),), below, standing)


def _arrange(what: FocusState, width: int, height: int) -> Arrangement:
    wide, roomy, tall = width >= WIDE, width >= WIDEST, height >= TALL
    standing: tuple[str, ...] = ()
    below = what.view
    if roomy:
        standing = (CONVERSATION, FINDINGS)
        below = None if what.view in standing else what.view
    view = {None: None, FINDINGS: FINDINGS, FIGURES: FIGURES}.get(below, DOCUMENT)
    columns: list[tuple[str, ...]] = []
    if what.rows and (not what.recipe or roomy):
        columns.append((LIST,))
    if what.recipe:
        columns.append((RECIPE,))
    shown = () if view is None else (view,)
    if roomy and tall:
        columns += [(TOKENS, *shown), (CONVERSATION_PANE, FINDINGS)]
    elif roomy:
        columns += [(TOKENS,), (*(shown or (CONVERSATION_PANE,)), FINDINGS)]
        standing = standing if not shown else tuple(one for one in standing if one != CONVERSATION)
    elif wide and not what.recipe:
        columns += [(TOKENS,), shown] if shown else [(TOKENS,)]
    elif tall or not shown:
        columns.append((TOKENS, *shown))
    else:
        columns.append(shown)
    both = (TOKENS,) if what.sides < 2 else (OTHER_SIDE, TOKENS) if what.side else (TOKENS, OTHER_SIDE)
    return Arrangement(width < NARROW, tuple(columns), below, standing, both, wide)


# — places —


def place(now: Arrangement, sizes: Sizes, width: int, height: int, bare: int) -> dict[str, Box]:
    """Where each pane stands in a body of so many cells and lines; `bare` are the cells of a list without previews."""
    if now.narrow:
        return _with_sides(_stacked(now, width, height), now)
    boxes: dict[str, Box] = {}
    x = 0
    for column, cells in zip(now.columns, _widths(now, sizes, width, bare)):
        boxes |= _column(column, x + 1, cells, height, sizes)
        x += cells + 2
    return _with_sides(boxes, now)


def _with_sides(boxes: dict[str, Box], now: Arrangement) -> dict[str, Box]:
    """The place of the tokens with both sides of a preference in it, as wide as each other; one where there is no room
    for two."""
    if TOKENS not in boxes or len(now.sides) < 2:
        return boxes
    x, y, width, height, frame = boxes[TOKENS]
    cells, lines, rule = (width - 2) // 2, (height - 2) // 2, 2 if frame == BOX else 1
    if now.beside and cells >= LEAST[TOKENS]:
        places = [Box(x, y, cells, height, frame), Box(x + cells + 2, y, cells, height, frame)]
    elif lines >= FEWEST:
        lower = Box(x, y + lines + rule, width, height - lines - rule, frame or RULE)
        places = [Box(x, y, width, lines, frame), lower]
    else:
        return boxes
    both = dict(zip(now.sides, places))
    return {one: box for name, own in boxes.items() for one, box in (both if name == TOKENS else {name: own}).items()}


def _stacked(now: Arrangement, width: int, height: int) -> dict[str, Box]:
    """All of them below each other: the list is a line, and of the others each but the first has a rule above."""
    boxes: dict[str, Box] = {}
    y = 0
    rest = [pane for pane in now.panes if pane != LIST]
    if LIST in now.panes:
        boxes[LIST] = Box(0, 0, width, 1 if rest else height)
        y = 1
    for number, pane in enumerate(rest):
        ruled = number > 0
        lines = (height - y) // (len(rest) - number) - ruled
        boxes[pane] = Box(0, y + ruled, width, max(lines, 0), RULE if ruled else "")
        y += lines + ruled
    return boxes


def _column(column: tuple[str, ...], x: int, width: int, height: int, sizes: Sizes) -> dict[str, Box]:
    """The panes of a column, the last one as high as it was made."""
    if len(column) == 1:
        return {column[0]: Box(x, 1, width, max(height - 2, 0), BOX)}
    upper, lower = column
    room, size = max(height - 4, 0), _height_of(column)
    lines = (room * 2 // 5 if size == "findings" else room // 2) + getattr(sizes, size)
    lines = max(min(lines, room - FEWEST), FEWEST) if room >= 2 * FEWEST else room // 2
    return {upper: Box(x, 1, width, room - lines, BOX), lower: Box(x, room - lines + 3, width, lines, BOX)}


def _widths(now: Arrangement, sizes: Sizes, width: int, bare: int) -> tuple[int, ...]:
    """Cells of each column, without its frame; the tokens have what the others leave."""
    main = now.main
    room = width - 2 * len(now.columns)
    usual, made = [0] * len(now.columns), [0] * len(now.columns)
    for number, column in enumerate(now.columns):
        if number != main:
            usual[number] = _usual(column[0], now, width, bare)
            by_hand = getattr(sizes, _width_of(column))
            least = LEAST.get(column[0], LEAST[CONVERSATION_PANE])
            made[number] = max(usual[number] + by_hand, least) if by_hand else usual[number]
    over = sum(made) + LEAST[TOKENS] - room
    for number in sorted(range(len(made)), key=lambda n: usual[n] - made[n]):
        cut = max(0, min(over, made[number] - usual[number]))
        made[number] -= cut
        over -= cut
    made[main] = max(room - sum(made), 0)
    return tuple(made)


def _width_of(column: tuple[str, ...]) -> str:
    """Which of the `Sizes` is the width of a column."""
    return {LIST: "list", RECIPE: "recipe"}.get(column[0], "side")


def _height_of(column: tuple[str, ...]) -> str:
    """Which of the `Sizes` is the height of the lower pane of a column."""
    return "findings" if column[1] == FINDINGS and column[0] != TOKENS else "view"


def _usual(name: str, now: Arrangement, width: int, bare: int) -> int:
    """Cells of a column that nobody changed."""
    recipe, side = (RECIPE,) in now.columns, any(column[0] in SIDES for column in now.columns)
    if name == LIST:
        pair = len(now.sides) > 1 and width < WIDEST
        if width < WIDE or pair or (side and width < WIDE + 20) or (recipe and width < 200):
            return max(SLIM, width * 35 // 100 if not side and not recipe and not pair else 0)
        if width < WIDEST:
            return bare + PREVIEW
        return max(bare + PREVIEW, int(width * (0.25 if recipe else 0.28)))
    if name == RECIPE:
        if width < WIDE:
            return 39
        return 51 if width < WIDEST else min(max(43, int(width * 0.19)), 60)
    if width < WIDEST:
        most = width - (2 + _usual(LIST, now, width, bare) if (LIST,) in now.columns else 0)
        return (most - 4) // 2
    return int(width * (0.25 if recipe else 0.27))


# — made larger and smaller —


def resized(
    what: FocusState, cells: int, lines: int, size: tuple[int, int], body: tuple[int, int], bare: int
) -> FocusState:
    """The pane that holds the keys wider by so many cells and higher by so many lines, as far as the others leave
    room; the same where nothing gives way. `size` is that of the screen, `body` that of the panes."""
    now = arrange(what, *size)
    if now.narrow or what.alone:
        return what
    holder = now.holder(what.context, what.view)
    before = place(now, what.sizes, *body, bare)
    wanted = _requested(now, holder, what.sizes, cells, lines)
    after = place(now, wanted, *body, bare)
    if after == before:
        return what
    usual = place(now, Sizes(), *body, bare)
    return what._replace(sizes=_kept(now, wanted, usual, after))


def _requested(now: Arrangement, holder: str, sizes: Sizes, cells: int, lines: int) -> Sizes:
    """The sizes with one of them changed: the tokens grow at the cost of what stands next to them."""
    number = next(number for number, column in enumerate(now.columns) if holder in column)
    column, others = now.columns[number], [column for column in now.columns if holder not in column]
    if lines:
        if len(column) == 1:
            return sizes
        name, more = _height_of(column), lines if column[1] == holder else -lines
    elif number != now.main:
        name, more = _width_of(column), cells
    elif others:
        name, more = _width_of(others[-1]), -cells
    else:
        return sizes
    return sizes._replace(**{name: getattr(sizes, name) + more})


def _kept(now: Arrangement, wanted: Sizes, usual: dict[str, Box], after: dict[str, Box]) -> Sizes:
    """What was requested as far as there was room for it, so that the way back begins at once."""
    kept: dict[str, int] = {}
    for number, column in enumerate(now.columns):
        if number != now.main:
            kept[_width_of(column)] = after[column[0]].width - usual[column[0]].width
        if len(column) == 2:
            kept[_height_of(column)] = after[column[1]].height - usual[column[1]].height
    return wanted._replace(**kept)
