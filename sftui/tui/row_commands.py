"""Rows: which one is shown, going to others, and what the workspace says about them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from sftui.model import Inspection
from sftui.recipe import Recipe
from sftui.text import many, visible
from sftui.tui.commands import TOKENS
from sftui.tui.token_pane import changed_tokens
from sftui.views import Action, Role
from sftui.workspace import events as ev

if TYPE_CHECKING:
    from sftui.tui.main_screen import MainScreen

_NUMBER = re.compile(r"[+-]?\d{1,18}")
RELOADING = "reloading the data"
PATIENCE = 0.15
"""Seconds the tokens of another row may stay on screen before the pane says that it waits."""


class RowCommands:
    """Keys that change the row, and the events that answer."""

    def __init__(self, screen: MainScreen) -> None:
        self.screen = screen
        self.hits_to_show: tuple[int, ...] | None = None
        self.backwards = False
        self._provisional: Inspection | None = None
        self._notes: tuple[str, ...] = ()
        self._version = ""
        self._damage = ""
        self._changed = False

    def handlers(self) -> dict[str, Callable[[int | None], None]]:
        return {
            "row.next": lambda n: self.step(n or 1),
            "row.previous": lambda n: self.step(-(n or 1)),
            "row.last": lambda n: self.go(self.last if n is None else n),
            "row.goto": lambda n: self.ask() if n is None else self.go(n),
            "reopen": lambda n: self.reopen(),
            "row_list.down": lambda n: self.step(n or 1),
            "row_list.up": lambda n: self.step(-(n or 1)),
            "row_list.page_down": lambda n: self.step((n or 1) * self.screen.rows.page),
            "row_list.page_up": lambda n: self.step(-(n or 1) * self.screen.rows.page),
            "row_list.home": lambda n: self.step(-self.screen.rows.rows),
            "row_list.end": lambda n: (
                self.step(self.screen.rows.rows) if self.screen.rows.order is not None else self.go(self.last)
            ),
            "row_list.enter": lambda n: self.screen.hold_keys(TOKENS),
        }

    @property
    def last(self) -> int:
        return max(0, self.screen.status.rows - 1)

    def step(self, rows: int) -> None:
        """So many rows on, stopping at the ends."""
        self.go(self.screen.rows.following(self.screen.status.row, rows))

    def go(self, row: int, *, hits: tuple[int, ...] | None = None, backwards: bool = False) -> None:
        """Shows a row; past the last one known, that one, and says so."""
        screen = self.screen
        if row > self.last:
            known = (
                "the last row" if screen.status.exact else "the last row known so far: the file is still being indexed"
            )
            if screen.status.exact and self._damage:
                known = f"the last row that can be read: {self._damage}"
            if row != screen.status.row + 1 or screen.status.row == self.last:
                screen.say(f"row {self.last:,} is {known}", Role.DIM)
            row = self.last
        self.hits_to_show, self.backwards = hits, backwards
        if row == screen.status.row and screen.tokens.inspection is not None and hits is None:
            return
        if row != screen.status.row and screen.rows.line_of(row) is None:
            screen.say(
                f"row {row:,} is not in the list ({screen.status.order}) · ] returns to it, F all rows",
                Role.DIM,
            )
        if row != screen.status.row:
            screen.set_status(row=row, trained=None, total=None, stopped="")
            screen.mark_commands.show()
            screen.rows.set_current(row, screen.rows.active)
        ticket = screen.workspace.request_row(row)
        screen.set_timer(PATIENCE, lambda: self._still_waiting(row, ticket))

    def _still_waiting(self, row: int, ticket: int) -> None:
        shown = self.screen.tokens.inspection
        if self.screen.status.row == row and (shown is None or shown.row.index != row):
            self.screen.tokens.wait(row)
            self.screen.update_detail()

    def ask(self) -> None:
        """The prompt for a row: a number, +n, -n, g for the first, $ for the last."""
        self.screen.prompt.ask(
            "row: a number, +5, -5, g first, $ last", self._answer, at_once=lambda text: text in ("g", "$", "G")
        )

    def _answer(self, text: str) -> str | None:
        text = text.strip().replace(",", "").replace("_", "")
        if text in ("g", "$", "G", ""):
            if text:
                self.go(0 if text == "g" else self.last)
            return None
        if _NUMBER.fullmatch(text) is None:
            return f"{text[:20]} is not a row number"
        self.go(max(0, self.screen.status.row + int(text)) if text[0] in "+-" else int(text))
        return None

    # — events —

    def on_event(self, event: ev.Event) -> None:
        screen = self.screen
        if isinstance(event, ev.RowReady):
            self._row(event.inspection)
        elif isinstance(event, ev.CountChanged):
            screen.set_status(rows=event.rows, exact=event.exact, indexing=event.fraction)
            screen.rows.set_count(event.rows)
            if event.exact and screen.status.row > self.last:
                self.go(self.last)
            if event.damage != self._damage:
                self._damage = event.damage
                self._data(event.damage, Role.ERROR)
        elif isinstance(event, ev.SourceChanged):
            self._changed = event.problem is not None
            self._data(
                event.problem.sentence() if event.problem is not None else "",
                Role.ERROR if event.lost else Role.WARNING,
            )
        elif isinstance(event, ev.SummariesReady):
            screen.rows.put(event.rows)
        elif isinstance(event, ev.SourceOpened):
            self._source(event)
        elif isinstance(event, ev.DataLoading):
            self._coming(visible(event.told))
        elif isinstance(event, ev.TokenizerChanged):
            self._tokenizer(event)

    def _data(self, told: str, role: Role) -> None:
        """What is wrong with the file itself, in the status line for as long as it is."""
        self.screen.set_status(data="✗ changed on disk" if self._changed else "✗ damaged" if self._damage else "")
        if told:
            self.screen.say(told, role)

    def reopen(self) -> None:
        """The data as it is on disk now; an order of rows was made of the data before."""
        self.screen.rows.set_order(None)
        self.screen.set_status(order="")
        self.screen.workspace.reopen()
        self.screen.say(RELOADING, Role.DIM)

    def _coming(self, told: str) -> None:
        """How much of the data came, where its rows will be; beside them where they are read anew."""
        if self.screen.tokens.inspection is not None:
            self.screen.say(told, Role.DIM)
        else:
            self.screen.tokens.tell_coming(told)

    def _source(self, event: ev.SourceOpened) -> None:
        screen = self.screen
        screen.set_status(source=event.title)
        screen.tokens.tell_coming("")
        if event.refused is not None:
            screen.tokens.fail(event.refused)
            screen.say(event.refused.sentence(), Role.ERROR)
        elif new := [note for note in event.notes if note not in self._notes]:
            screen.say(new[0], Role.WARNING)
        elif screen.said == RELOADING:
            screen.say("the data is as on disk now", Role.DIM)
        self._notes = event.notes

    def _tokenizer(self, event: ev.TokenizerChanged) -> None:
        screen = self.screen
        before = screen.status.state
        screen.set_status(state=event.state, version=event.whose)
        screen.tokens.unloaded = event.state == "failed"
        screen.tokens.tell_loading(visible(event.message) if event.state == "loading" else "")
        shown = screen.tokens.inspection
        if event.state == "corrected" and shown is not None:
            self._provisional = shown
        if event.state == "failed" and event.problem is not None:
            screen.say(event.problem.sentence(), Role.ERROR)
        elif event.state == "provisional":
            screen.say("tokens are provisional until compared with AutoTokenizer's", Role.WARNING)
        elif event.state == "proven" and before == "provisional":
            screen.say("proven: the tokens equal AutoTokenizer's", Role.GOOD)
        if event.whose and event.whose != self._version:
            screen.say(event.message, Role.WARNING)
        self._version = event.whose
        if event.templates and screen.recipe_commands.template_missing(event):
            screen.say("this tokenizer has no chat template: T picks one", Role.WARNING)

    def _row(self, inspection: Inspection) -> None:
        screen = self.screen
        row = inspection.row.index
        if row != screen.status.row:
            screen.set_status(row=row)
            screen.mark_commands.show()
            screen.rows.set_current(row, screen.rows.active)
        hits, cursor = screen.tokens.state.hits, None
        if self.hits_to_show is not None:
            hits, self.hits_to_show = self.hits_to_show, None
            cursor = (hits[-1] if self.backwards else hits[0]) if hits else None
        elif screen.tokens.inspection is None or screen.tokens.inspection.row.index != row:
            hits = ()
        screen.tokens.show(inspection, screen.workspace.recipe, hits=hits, cursor=cursor)
        screen.rows.learn(inspection)
        screen.compare_commands.left_b()
        screen.look_commands.show_view(keep=True)
        screen.findings_commands.on_row()
        screen.figures_commands.on_row(row)
        self._announce(inspection)
        self.update_status(inspection)
        screen.update_detail()

    def _announce(self, inspection: Inspection) -> None:
        """A correction of a provisional tokenizer is said aloud, with what it changed."""
        before, self._provisional = self._provisional, None
        if before is None or before.row.index != inspection.row.index:
            return
        n = changed_tokens(before, inspection)
        what = f"{many(n, 'token')} of this row changed" if n else "nothing changed in this row"
        self.screen.say(f"corrected: {what}", Role.WARNING)

    def update_status(self, inspection: Inspection, recipe: Recipe | None = None, side: str = "") -> None:
        """Figures of a row under a recipe, the one in force unless another is named."""
        screen = self.screen
        recipe = recipe or screen.workspace.recipe
        table = screen.tokens.table
        stopped = ""
        if inspection.row.left_out is not None:
            stopped = "✗ left out"
        elif inspection.dropped is not None:
            stopped = "✗ dropped"
        elif inspection.stopped_at is not None:
            stopped = f"✗ stopped at {inspection.stopped_at.value}"
        total = len(inspection.example.input_ids) if inspection.example is not None else len(table) if table else None
        screen.set_status(
            rule=f"{recipe.preset} {recipe.mask.rule}",
            side=side,
            trained=inspection.trained,
            total=total,
            stopped=stopped,
            evaluates=inspection.evaluates,
            repaired=self._repaired(inspection),
        )

    def _repaired(self, inspection: Inspection) -> str:
        """That the row is not as the file has it, or that other rows are not."""
        row, count = inspection.row, len(self.screen.workspace.repairs)
        if row.left_out is not None or row.repairs:
            return "*left out" if row.left_out is not None else "*repaired"
        if row.skipped is not None:
            return "!not repaired"
        return f"*{many(count, 'repair')}" if count else ""


MOVES = {
    "tokens.right": Action.RIGHT,
    "tokens.left": Action.LEFT,
    "tokens.down": Action.DOWN,
    "tokens.up": Action.UP,
    "tokens.page_down": Action.PAGE_DOWN,
    "tokens.page_up": Action.PAGE_UP,
    "tokens.home": Action.HOME,
    "tokens.end": Action.END,
    "tokens.half_down": Action.HALF_DOWN,
    "tokens.half_up": Action.HALF_UP,
    "tokens.line_home": Action.LINE_HOME,
    "tokens.line_end": Action.LINE_END,
    "tokens.next_change": Action.NEXT_CHANGE,
    "tokens.previous_change": Action.PREVIOUS_CHANGE,
    "tokens.next_message": Action.NEXT_MESSAGE,
    "tokens.previous_message": Action.PREVIOUS_MESSAGE,
}
"""Keys of the token pane that are actions of the views."""
