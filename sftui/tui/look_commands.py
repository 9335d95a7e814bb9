"""What is looked at: moves and zooms of the tokens, the panes beside them, who holds the keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sftui.model import Inspection
from sftui.text import visible
from sftui.tui.batch_commands import BATCH, PACKS
from sftui.tui.commands import DOCUMENT, FIGURES, FINDINGS, LIST, RECIPE, TOKENS
from sftui.tui.compare_commands import VIEW as COMPARE
from sftui.tui.dialogs import Dialog
from sftui.tui.line_view import LineView
from sftui.tui.row_commands import MOVES
from sftui.views import Action, Line, Role, line, token_lines, wrap

if TYPE_CHECKING:
    from sftui.tui.main_screen import MainScreen

CYCLE = ("conversation", "rendered text", "raw row", None)
STILL = {
    Action.NEXT_CHANGE: "the mask does not change after this token",
    Action.PREVIOUS_CHANGE: "the mask does not change before this token",
    Action.NEXT_MESSAGE: "no message begins after this token",
    Action.PREVIOUS_MESSAGE: "no message begins before this token",
}
"""What is said where a jump finds nothing, since nothing moves."""


class LookCommands:
    """Which panes are open, and what the document pane shows."""

    def __init__(self, screen: MainScreen) -> None:
        self.screen = screen
        self.recipe_open = False
        self.open_view: str | None = None

    def handlers(self) -> dict[str, Callable[[int | None], None]]:
        pane = self.screen.document
        moves = {name: self._mover(action) for name, action in MOVES.items()}
        return {
            **moves,
            "tokens.explain": lambda n: self.explain(),
            "zoom": lambda n: self.change(Action.ZOOM, 1),
            "zoom.back": lambda n: self.change(Action.ZOOM_BACK, 1),
            "shift": lambda n: self.change(Action.SHIFT, 1),
            "document.down": lambda n: pane.scroll_lines(n or 1),
            "document.up": lambda n: pane.scroll_lines(-(n or 1)),
            "document.page_down": lambda n: pane.scroll_lines((n or 1) * pane.page),
            "document.page_up": lambda n: pane.scroll_lines(-(n or 1) * pane.page),
            "document.home": lambda n: pane.scroll_top(0),
            "document.end": lambda n: pane.scroll_top(pane.line_count()),
            "document.right": lambda n: pane.scroll_columns((n or 1) * 8, pane.widest),
            "document.left": lambda n: pane.scroll_columns(-(n or 1) * 8, pane.widest),
            "pane.cycle": lambda n: self.cycle(),
            "pane.conversation": lambda n: self.open("conversation"),
            "pane.rendered": lambda n: self.open("rendered text"),
            "pane.raw": lambda n: self.open("raw row"),
            "boundary": lambda n: self.open("prompt boundary"),
            "recipe": lambda n: self.toggle_recipe(),
            "list.toggle": lambda n: self.toggle_list(),
            "pane.next": lambda n: self.next_pane(1),
            "pane.previous": lambda n: self.next_pane(-1),
            "close": lambda n: self.close(),
        }

    # — the tokens —

    def _mover(self, action: Action) -> Callable[[int | None], None]:
        def move(count: int | None) -> None:
            if not self.screen.tokens.act(action, count or 1) and action in STILL:
                self.screen.say(STILL[action], Role.DIM)
            self.screen.update_detail()

        return move

    def change(self, action: Action, count: int) -> None:
        """Zoom or shift: what is said under the panes follows."""
        tokens = self.screen.tokens
        tokens.act(action, count)
        told = [f"zoom: {tokens.state.zoom.value}"] if action is not Action.SHIFT else []
        if not tokens.display:
            told = [*(told or [f"shift view {'on' if tokens.state.shift else 'off'}"]), "Esc goes to the tokens"]
        if told:
            self.screen.say(" · ".join(told), Role.DIM)
        self.screen.update_detail()

    def explain(self) -> None:
        tokens = self.screen.tokens
        table = tokens.table
        if table is not None:
            cursor = tokens.state.cursor
            self.screen.app.push_screen(
                Dialog(
                    f"token {cursor:,} of {len(table):,}",
                    lambda width: token_lines(table, cursor, width),
                    self.screen.keymap,
                    self.screen.look,
                )
            )

    def clicked(self, pane: LineView, x: int, number: int) -> None:
        """The mouse: a row, a knob, or simply the keys."""
        screen = self.screen
        if pane is screen.rows:
            if number < screen.rows.rows:
                screen.row_commands.go(screen.rows.row_at(number))
            screen.hold_keys(LIST)
        elif pane is screen.recipe:
            screen.recipe.pick(number)
            screen.hold_keys(RECIPE)
        elif pane is screen.findings:
            screen.findings.pick(number)
            screen.hold_keys(FINDINGS)
        elif pane is screen.figures:
            screen.figures.pick(number)
            screen.hold_keys(FIGURES)
        elif pane is screen.document:
            screen.hold_keys(DOCUMENT)
        else:
            token = screen.tokens.token_at(x, number)
            if token is not None:
                screen.tokens.act(Action.GOTO, token)
            screen.hold_keys(TOKENS)

    def sentence(self) -> Line:
        """The line under the panes: the knob or the token that is marked."""
        screen = self.screen
        if screen.context == FINDINGS:
            return screen.findings_commands.sentence()
        if screen.context == FIGURES:
            return screen.figures_commands.sentence()
        if screen.context == RECIPE:
            return screen.recipe.sentence()
        place = screen.search_commands.place()
        return screen.tokens.sentence(f"hit {place}" if place else "")

    # — panes —

    def cycle(self) -> None:
        """Conversation, rendered text, raw row, and the tokens alone again."""
        at = CYCLE.index(self.open_view) if self.open_view in CYCLE else len(CYCLE) - 1
        following = CYCLE[(at + 1) % len(CYCLE)]
        if following is None:
            self.close_view()
        else:
            self.open(following)

    def open(self, name: str) -> None:
        """Opens a pane beside the tokens and gives it the keys; the same key closes it again."""
        if self.open_view == name:
            self.close_view()
            return
        self.open_view = name
        self.screen.set_panes()
        self.show_view()
        self.screen.hold_keys(name if name in (FINDINGS, FIGURES) else DOCUMENT)

    def close_view(self) -> None:
        closed, self.open_view = self.open_view, None
        if closed == COMPARE:
            self.screen.compare_commands.closed()
            if self.screen.findings_commands.previewed():
                self.open(FINDINGS)
                return
        self.screen.set_panes()
        self.screen.hold_keys(TOKENS)

    def show_view(self, *, keep: bool = False) -> None:
        """The open pane for the row on screen."""
        if self.open_view is None:
            return
        inspection = self.screen.tokens.inspection
        name = self.open_view
        if name in (FINDINGS, COMPARE):
            (self.screen.findings_commands if name == FINDINGS else self.screen.compare_commands).show(keep)
        elif name in (BATCH, PACKS):
            self.screen.batch_commands.show(name, keep)
        elif name == FIGURES:
            if not keep:
                self.screen.figures_commands.show(keep)
        elif inspection is None:
            self.screen.document.show(name, self._no_row, keep=keep)
        else:
            self.screen.document.show(name, lambda width: view_lines(name, inspection, width), keep=keep)

    def _no_row(self, width: int) -> tuple[Line, ...]:
        failure = self.screen.tokens.failure
        if failure is None:
            return (line((f"loading row {self.screen.status.row:,} …", Role.DIM)),)
        return tuple(wrap(line((f"✗ {visible(failure.sentence())}", Role.ERROR)), width))

    def toggle_recipe(self) -> None:
        """Opens the recipe and gives it the keys; closes it where it has them."""
        if self.recipe_open and self.screen.context != RECIPE:
            self.screen.hold_keys(RECIPE)
            return
        self.recipe_open = not self.recipe_open
        self.screen.set_panes()
        self.screen.hold_keys(RECIPE if self.recipe_open else TOKENS)

    def toggle_list(self) -> None:
        screen = self.screen
        screen.list_wanted = not screen.list_wanted
        screen.set_panes()
        if screen.list_wanted and not screen.rows.display:
            screen.say("no room for the row list beside the recipe", Role.DIM)

    def next_pane(self, step: int) -> None:
        there = self.screen.contexts()
        self.screen.hold_keys(there[(there.index(self.screen.context) + step) % len(there)])

    def close(self) -> None:
        """What Esc closes, innermost first: a search, a message, a pane; else back to the tokens."""
        if self.screen.search_commands.cancel() or self.screen.data_export.cancel():
            return
        if self.open_view is not None and self.screen.context != RECIPE:
            self.close_view()
        elif self.recipe_open:
            self.recipe_open = False
            self.screen.set_panes()
            self.screen.hold_keys(TOKENS)
        else:
            self.screen.hold_keys(TOKENS)


def view_lines(name: str, inspection: Inspection, width: int) -> tuple[Line, ...]:
    """The lines of a view of one row."""
    from sftui.views import boundary_lines, conversation_lines, raw_lines, rendered_lines

    views: dict[str, Callable[[Inspection, int], tuple[Line, ...]]] = {
        "conversation": conversation_lines,
        "rendered text": rendered_lines,
        "prompt boundary": boundary_lines,
        "raw row": lambda inspection, width: raw_lines(inspection.row, width),
    }
    return views[name](inspection, width)
