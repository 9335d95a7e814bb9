"""The one long-lived screen: it draws the state, routes keys to commands and events to what hears them.

What the keys do is in `commands/`, what they change in `state`, how lines look in the panes, data in the workspace.
Nothing here can take focus, so every key arrives in `take_key`, in order.
"""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult

from sftui.tui import tour
from sftui.tui.bars import footer, footer_cells, message_lines, status_cells
from sftui.tui.commands import edits, figures, filters, findings, notes, rows, search, sessions, tokens
from sftui.tui.commands.command import show_key
from sftui.tui.commands.table import BY_ID
from sftui.tui.contexts import FINDINGS, LIST, OTHER_SIDE, TOKENS, keys_of
from sftui.tui.hearing import HEARING, VIEWS
from sftui.tui.inspector import Inspector
from sftui.tui.keys import Keymap, KeyReader
from sftui.tui.line_view import LineView
from sftui.tui.panes.document_pane import FiguresPane
from sftui.tui.panes.findings_pane import FindingsPane
from sftui.tui.panes.recipe_pane import RecipePane
from sftui.tui.panes.row_list import RowList
from sftui.tui.state import Memo, TourState
from sftui.tui.themes import Styles
from sftui.views.cells import Line, Role
from sftui.views.grid import Action
from sftui.workspace import Workspace
from sftui.workspace import events as ev
from sftui.workspace import requests as rq


class MainScreen(Inspector, inherit_bindings=False):
    """Status line, panes, the line that explains or answers, footer: the `Inspector` of the commands."""

    DEFAULT_CSS = """
    MainScreen { layout: vertical; }
    #status { height: 2; } #tour { height: auto; display: none; } #detail { height: 1; }
    """
    views = VIEWS

    def __init__(self, workspace: Workspace, keymap: Keymap, look: Styles) -> None:
        super().__init__(workspace, keymap, look)
        self.reader = KeyReader(keymap)
        self.notes = Memo(0)
        self.panes.figures.marked = lambda: figures.marked(self)
        self.panes.figures.mark = lambda by: figures.choose(self, by)

    def compose(self) -> ComposeResult:
        self.laid_out_for = self.app.size
        self.set_panes(self.app.size)
        self.draw()
        yield self.status_bar
        yield self.tour
        yield self.body
        yield self.detail
        yield self.footer
        yield self.prompt

    # — life —

    def on_mount(self) -> None:
        self.workspace.listen(self.heard)
        self.call_after_refresh(self.drawing(self.begin))

    def begin(self) -> None:
        """What is kept of earlier sessions, and the rows that are to be listed."""
        edits.load(self)
        sessions.begin(self)
        if where := self.state.filtering.text:
            filters.start(self, where)

    def heard(self, event: ev.Event) -> None:
        """Called on the workspace's thread; `call_later` is safe from any thread."""
        self.call_later(self.hear, event)

    # — the state and what is drawn of it —

    def draw(self) -> None:
        """The bars; panes draw themselves. Once for each key and event, when all that follows from it was put."""
        self.draw_tour()
        self.put(self.state.moved.to(self.state.row, self.panes.tokens.state.cursor, self.state.open.context))
        status = self.state.status_line(notes.count(self, self.notes), self.reader.pending)
        keys = self._how_to_run("findings"), self._how_to_run("notes")
        self.status_bar.show(*status_cells(status, self.cells.width, *keys))
        said, context = self.state.said, self.state.open.context
        shown, left = message_lines(said.text, said.role, self.cells.width) if said.text else (self.sentence(), ())
        self.detail.show(shown)
        self.body.draw(context)
        context = keys_of(context)
        idle = frozenset(name for ids, _ in footer(context) for name in ids if BY_ID[name].when(self) is not None)
        self.footer.show(left or footer_cells(context, self.cells.width, self.keymap, idle))
        self.footer.display = bool(left) or not self.prompt.open

    def draw_tour(self) -> None:
        """What the tour says after what was just done; nothing where there is none."""
        if self.state.tour.at is None and not self.tour.display:
            return
        tokens, state = self.panes.tokens, self.state
        seen = None
        if tokens.inspection is not None and state.status.state not in ("loading", "provisional"):
            seen = TourState(tokens.inspection, tokens.state.cursor, state.open.view, self.workspace.recipe)
        self.put(tour.after(state.tour, seen))
        keys = {name: self._how_to_run(name) for name in (*tour.commands_named(), "tour")}
        lines = tour.lines(self.state.tour, keys, keys["tour"], self.cells.width)
        self.tour.display, self.tour.styles.height = bool(lines), max(1, len(lines))
        self.tour.show(*lines)

    def _how_to_run(self, name: str) -> str:
        """The key of a command, or what to type for one that has none."""
        keys = self.keymap.keys_of(name)
        return show_key(keys[0]) if keys else f":{BY_ID[name].title}"

    def sentence(self) -> Line:
        """The line under the panes: the finding, the knob, the row or the token that is marked."""
        context, moved = self.state.open.context, self.state.moved.pane
        if context in (LIST, TOKENS) and moved in self.arranged.panes:
            return self._sentence_of(moved) or self._sentence_of(context)
        return self._sentence_of(context)

    def _sentence_of(self, context: str) -> Line:
        pane = self.by_context[context]
        if isinstance(pane, RowList | RecipePane):
            return pane.sentence()
        if isinstance(pane, FindingsPane | FiguresPane):
            return findings.sentence(self) if context == FINDINGS else figures.sentence(self)
        place = search.place(self)
        return self.panes.tokens.sentence(f"hit {place}" if place else "")

    def on_resize(self, event: events.Resize) -> None:
        if event.size != self.laid_out_for:
            self.laid_out_for = event.size
            self.set_panes()
            self.draw()
        else:
            self.refresh(layout=True)  # made smaller and larger again meanwhile, the terminal has lost what stood there

    # — keys, the mouse and what was pasted —

    def take_key(self, event: events.Key) -> None:
        if self.prompt.open:
            self.prompt.press(event.key, event.character if event.is_printable else None)
        else:
            printed = event.character and event.is_printable and event.character != " "
            self.press(event.character if event.character and printed else event.key)
        self.draw()

    def on_paste(self, event: events.Paste) -> None:
        """Pasted text goes to the prompt; elsewhere it is no keys and does nothing."""
        if self.prompt.open:
            line = event.text.splitlines()[0] if event.text else ""
            self.prompt.press("", "".join(c for c in line if c.isprintable()))
            self.draw()

    def press(self, key: str) -> None:
        """One key; says what is awaited, or that it means nothing here."""
        had_pending, context = bool(self.reader.pending), keys_of(self.state.open.context)
        stroke = self.reader.feed(key, context)
        if not stroke.pending:
            self.say("")
        if stroke.pending and (awaited := self.reader.awaited(context)):
            self.say(awaited, Role.DIM)
        if stroke.command is not None:
            self.run_command(stroke.command, stroke.count)
        elif stroke.unknown and not (had_pending and key == "escape"):
            self.say(f"{stroke.unknown} does nothing here; ? shows the keys", Role.DIM)

    def on_line_view_clicked(self, message: LineView.Clicked) -> None:
        """The mouse: a row, a knob, or simply the keys."""
        pane = message.pane
        if pane not in self.by_context.values():
            return
        if pane is self.panes.other:
            self.hold_keys(OTHER_SIDE)
        panes = self.panes
        if pane is panes.rows and message.line < panes.rows.rows:
            rows.go(self, panes.rows.row_at(message.line))
        elif pane is panes.tokens:
            token = panes.tokens.token_at(message.x, message.line)
            if token is not None:
                tokens.act(self, Action.GOTO, token)
        elif isinstance(pane, RecipePane | FindingsPane | FiguresPane):
            pane.pick(message.line)
        self.hold_keys(next((context for context, one in self.by_context.items() if one is pane), TOKENS))
        self.draw()

    def on_line_view_wheeled(self, message: LineView.Wheeled) -> None:
        message.pane.scroll_lines(message.lines)
        self.draw()

    # — the workspace —

    def hear(self, event: ev.Event) -> None:
        hear = HEARING.get(type(event))
        if hear is not None and self.workspace.is_current(event):
            hear(self, event)
            self.draw()

    def on_row_list_wanted(self, message: RowList.Wanted) -> None:
        self.workspace.ask(rq.SummariesRequest, *message.window, message.rows)
