"""The tokens of the current row: what `sftui.views` draws, with a cursor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sftui.model import Inspection, Problem, Stage, common_prefix
from sftui.recipe import Recipe
from sftui.tui.line_view import LineView
from sftui.views.cells import Line, Role, Segment, line, wrap
from sftui.views.draw import DrawnBands, draw, draw_lens, draw_words, named_rule, token_of_flow
from sftui.views.grid import Action, GridLayout, GridState, Zoom, apply, nearest, settle
from sftui.views.layout import LABEL_WIDTH, lay_out, prelude_width
from sftui.views.status import problem_lines, shift_lines, stop_lines, token_line
from sftui.views.strip import strip, with_cursor
from sftui.views.table import LEARNT, TokenTable, make_table
from sftui.views.words import fact

LEAST_STRIP = 12
"""Cells below which a strip says nothing."""
LOOKS = (Action.ZOOM, Action.ZOOM_BACK, Action.SHIFT, Action.BLANKS)
LEAST_SHIFT = 12
"""Lines of a side without which it does not say who shifts."""
LEAST_TEXT = 4
"""Lines of text without which there is no lens below it."""
MOST_LENS = 2 / 5
"""Of the pane, where the text would fill it."""
LEAST_WORDS = 10
"""Lines that the text and the whole lens leave, from which on tokens follow below in words."""


class TokenPane(LineView):
    """Holds the inspection on screen and the view state; keys come in as `Action`s."""

    def __init__(self) -> None:
        super().__init__()
        self.inspection: Inspection | None = None
        self.side = self.figures = ""
        """The name of the side of a preference that is shown, and its figures."""
        self.before = 0
        """Tokens of the side before it, where they are numbered through."""
        self.twin: TokenPane | None = None
        """The pane of the other side, which looks where this one does."""
        self.shown = 0
        """How often another inspection was shown, which tells them apart at once."""
        self.state = GridState()
        self.table: TokenTable | None = None
        self.bands: GridLayout = lay_out(None, Zoom.COLUMNS, False, 80)
        self.lens: GridLayout | None = None
        self.lens_bands = self.words = 0
        self.recipe: Recipe | None = None
        self.heading: tuple[Line, ...] = ()
        self.waiting_for: int | None = None
        self.failure: Problem | None = None
        self.loading_text = ""
        self.coming = ""
        self.unloaded = False
        self._strip: tuple[object, tuple[tuple[str, Role], ...]] = (None, ())
        self._drawn = DrawnBands()
        self._lens_lines: dict[object, Line] = {}

    # — content —

    def show(
        self, inspection: Inspection, recipe: Recipe, *, hits: tuple[int, ...] | None = (), cursor: int | None = None
    ) -> None:
        """Another inspection; the cursor stays where it was on the same row, else starts anew. None keeps the hits."""
        before = self.inspection
        same = self.table is not None and before is not None and before.row.index == inspection.row.index
        self.inspection, self.waiting_for, self.failure = inspection, None, None
        self.recipe, self.shown = recipe, self.shown + 1
        self.table = make_table(inspection, ignore_index=recipe.mask.ignore_index)
        if cursor is None:
            cursor = self.state.cursor if same else self.first_trained()
        top, hits = self.state.top if same else 0, self.state.hits if hits is None else hits
        self.state = replace(self.state, cursor=cursor, top=top, hits=hits)
        self.resized()
        if self.side and not same:
            self.state = settle(replace(self.state, top=max(0, self.bands.band_of(cursor) - 1)), self.bands)
        self.repaint()

    @property
    def whole(self) -> bool:
        """Whether all bands are on screen."""
        return self.bands.bands <= self.bands.visible_bands(self.state.height)

    def look_with(self, state: GridState) -> None:
        """Look as the other side does, and where: at the token of the same number, since both begin alike."""
        now, leads = self.state, self.twin is not None and not self.twin.whole
        self.state = replace(state, width=now.width, height=now.height, hits=now.hits, quiet=True)
        self.state = replace(self.state, top=state.top if leads else now.top)
        if (now.zoom, now.shift) != (state.zoom, state.shift):
            self.resized()
        self.state = settle(self.state, self.bands)
        self.repaint()

    def wait(self, row: int) -> None:
        """Another row was requested and is not here yet."""
        self.inspection, self.table, self.waiting_for = None, None, row
        self.shown += 1
        self.rebuild()

    def first_trained(self) -> int:
        """The token a row opens at: where training starts, so that the boundary is seen."""
        loss = self.table.loss if self.table is not None else ""
        return min((at for at in map(loss.find, LEARNT) if at >= 0), default=0)

    def resized(self) -> None:
        self.heading = self._heading()
        height = max(self.size.height - len(self.heading), 1)
        state = replace(self.state, width=max(self.size.width, 8), height=height, aside=bool(self.side))
        self.bands = lay_out(self.table, state.zoom, state.shift, state.width)
        self._fit_lens(height)
        self.state = settle(replace(state, height=height - self._lens_height), self.bands)

    def _fit_lens(self, height: int) -> None:
        """The lens below the text: a band of columns, more where the text leaves room; none where there is no room."""
        self.lens, self.lens_bands, self.words, self._lens_lines = None, 0, 0, {}
        if self.state.zoom is not Zoom.TEXT or self.table is None or not self.table.ids:
            return
        lens = lay_out(self.table, Zoom.COLUMNS, self.state.shift, max(self.size.width, 8))
        if height < LEAST_TEXT + lens.band_height:
            return
        room = max(height - max(self.bands.bands, LEAST_TEXT), int(height * MOST_LENS))
        self.lens, self.lens_bands = lens, max(1, min(room // lens.band_height, lens.bands))
        left = height - max(self.bands.bands, LEAST_TEXT) - self._lens_height
        self.words = left if left >= LEAST_WORDS else 0

    @property
    def _lens_height(self) -> int:
        """Lines of the lens, the rule above it among them."""
        return self.lens_bands * self.lens.band_height if self.lens is not None else 0

    def rules(self) -> tuple[int, ...]:
        if self.lens is None:
            return ()
        text = max(self.bands.bands, LEAST_TEXT) + len(self.heading)
        first = min(text, self.size.height - self._lens_height)
        return (first, first + self._lens_height) if self.words else (first,)

    def _heading(self) -> tuple[Line, ...]:
        """What stands over the grid: why the row stopped or is dropped, and in the shift view who shifts."""
        if self.inspection is None:
            return ()
        width = max(self.size.width, 8)
        if self.table is None and self.inspection.stopped_at is None:
            return wrap(line((self.loading_text or "tokenizing a long row …", Role.WARNING)), width)
        lines = stop_lines(self.inspection, width)
        if self.figures:
            lines = (*wrap(line((self.figures, Role.DIM)), width), *lines)
        if self.state.shift and self.table is not None and not (self.side and self.size.height < LEAST_SHIFT):
            lines += shift_lines(self.recipe.loss.shift if self.recipe is not None else "internal", width)
        room = max(1, self.size.height // 3)
        if len(lines) <= room or self.table is None:
            return lines
        return (*lines[: room - 1], line((f"… and {len(lines) - room + 1} more lines", Role.DIM)))

    # — moving —

    def act(self, action: Action, amount: int = 1) -> bool:
        """One action of the views; False where nothing moved."""
        if self.table is None and action not in LOOKS:
            return False
        before = self.state
        self.state = apply(before, action, self.table, self.bands, amount)
        if action in LOOKS:
            self.resized()
        self.repaint()
        if self.twin is not None and self.side:
            self.twin.look_with(self.state)
        return self.state != before

    def mark(self, tokens: tuple[int, ...]) -> None:
        """Marks tokens as hits, in place of those marked before."""
        self.state = replace(self.state, hits=tokens)
        self.repaint()

    def token_at(self, x: int, y: int) -> int | None:
        """The token drawn at a cell, None where there is none."""
        if self.lens is not None and self.table is not None and y > self.rules()[0]:
            bands = self.lens
            band = bands.band_of(self.state.cursor) // self.lens_bands * self.lens_bands
            band += (y - self.rules()[0] - 1) // bands.band_height
            return nearest(bands, band, x - LABEL_WIDTH) if band < bands.bands else None
        bands, row = self.bands, y - len(self.heading) - self.bands.header
        band = self.state.top + max(0, row) // max(1, bands.band_height)
        if self.table is None or row < 0 or band >= bands.bands:
            return None
        tokens = bands.tokens_of(band)
        if bands.zoom is Zoom.TEXT:
            return token_of_flow(self.table, bands, band, x)
        if not bands.columns:
            return tokens[0]
        before = LABEL_WIDTH + (prelude_width(self.table, self.state.shift) if tokens[0] == self.table.first else 0)
        return nearest(bands, band, x - before)

    def scroll_lines(self, lines: int) -> None:
        self.act(Action.DOWN if lines > 0 else Action.UP, max(1, abs(lines) // self.bands.band_height))

    # — lines —

    def named(self) -> str:
        return self.side or self.state.zoom.value

    def title(self, width: int, active: bool) -> Line:
        """Its name, and the whole row in the rest of the rule."""
        name = super().title(width, active)
        room = width - sum(run.width for run in name) - 2
        if self.table is None or not self.table.ids or room < LEAST_STRIP:
            return name
        key = (self.table, room, self.state.shift)
        if self._strip[0] != key:
            self._strip = (key, strip(*key))
        return (*name, *with_cursor(self._strip[1], self.state.cursor, len(self.table)), Segment(" "))

    def line_count(self) -> int:
        return self.size.height

    def visible_lines(self) -> list[Line]:
        if self.inspection is None:
            waiting = "opening …" if self.waiting_for is None else f"row {self.waiting_for:,} …"
            lines = wrap(line((self.coming or waiting, Role.DIM)), max(self.size.width, 8))
            return list(lines) if self.failure is None else self._failed(self.failure)
        if self.table is None:
            return [*self.heading, *self._hints()][: self.size.height]
        shown = [*self.heading, *draw(self.table, self.bands, self.state, self._drawn)]
        if self.lens is not None:
            shown += [()] * (self.rules()[0] - len(shown))
            shown += [named_rule("lens", self.size.width)]
            shown += draw_lens(self.table, self.lens, self.state, self.lens_bands, self._lens_lines)
        if self.words:
            shown += [named_rule("in words", self.size.width)]
            shown += draw_words(self.table, self.state, self.words - 1)
        return shown[: self.size.height]

    def _hints(self) -> list[Line]:
        """What to press where a row has no tokens."""
        here = self.inspection
        stage = here.stopped_at if here is not None else None
        keys = HINTS_BY_STAGE.get(stage, "oc]") if stage is not None else "oc]"
        if here is not None and here.problem is not None and CONVERT in here.problem.fix:
            keys = f"M{keys}"
        if self.unloaded and here is not None and here.stopped_at is Stage.TOKENS and here.rendered is None:
            keys = f"DK{keys}"
        elif self.loading_text:
            keys = f"K{keys}q"
        hints = (line((f"  {key}  ", Role.KEY), (HINTS[key], Role.DIM)) for key in keys)
        return [(), *(part for hint in hints for part in wrap(hint, self.size.width, "     "))]

    def show_loading(self, text: str) -> None:
        """What is loading, in the place of tokens that wait for it; "" once nothing is."""
        if text != self.loading_text:
            self.loading_text = text
            self.rebuild()

    def show_coming(self, text: str) -> None:
        """How much of the data came, while none of its rows can be shown; "" once it is open."""
        if text != self.coming:
            self.coming = text
            self.repaint()

    def fail(self, problem: Problem) -> None:
        """The data could not be opened at all."""
        self.failure = problem
        self.repaint()

    def _failed(self, failure: Problem) -> list[Line]:
        lines = problem_lines(failure, max(self.size.width, 8))
        return [*lines, (), line(("  q  ", Role.KEY), (HINTS["q"], Role.DIM))]

    def sentence(self, place: str = "") -> Line:
        """The token under the cursor in one line, after which hit of a search it is."""
        if self.table is None:
            return ()
        head = line((f" {place} · ", Role.KEY)) if place else line(" ")
        width = max(20, self.app.size.width - sum(run.width for run in head))
        at, said = self.state.cursor, ""
        if self.inspection is not None and self.recipe is not None:
            from sftui.trainers import traits_of

            said = fact(self.table, at, self.inspection, self.recipe, traits_of(self.recipe.trainer).title)
        return (*head, *token_line(self.table, at, width, shift=self.state.shift, fact=said))


CONVERT = "sftui convert"
"""The command in whose place a key does the same here."""
HINTS = {
    "M": "converts the rows to messages, like sftui convert",
    "o": "conversation, rendered text and raw row, in turn",
    "T": "choose a chat template",
    "K": "choose another tokenizer: name, folder or file",
    "D": "retry loading the tokenizer",
    "c": "the recipe: edit every knob live",
    "]": "the next row",
    "q": "quits",
}
HINTS_BY_STAGE = {Stage.ROW: "o]", Stage.RENDERED: "Toc]", Stage.TOKENS: "co]", Stage.LABELS: "co]"}


def changed_tokens(before: Inspection, after: Inspection) -> int:
    """How many tokens or labels of a row a correction changed."""
    if before.tokens is None or after.tokens is None:
        return 0
    a, b = before.tokens.input_ids, after.tokens.input_ids
    if len(a) == len(b):
        pairs: list[tuple[Iterable[object], Iterable[object]]] = [(a, b)]
        if before.labels is not None and after.labels is not None:
            pairs += [(before.labels.labels, after.labels.labels)]
            pairs += [(before.labels.weights or (), after.labels.weights or ())]
        return next(filter(None, (sum(x != y for x, y in zip(old, new)) for old, new in pairs)), 0)
    head = common_prefix(a, b)
    tail = common_prefix(a[head:][::-1], b[head:][::-1])
    return max(len(a), len(b)) - head - tail
