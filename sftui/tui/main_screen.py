"""The one long-lived screen: it draws the state, routes keys to commands and events to what hears them.

What the keys do is in `commands/`, what they change in `state`, how lines look in the panes, data in the workspace.
Nothing here can take focus, so every key arrives in `take_key`, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from textual import events
from textual.app import ComposeResult
from textual.geometry import Size
from textual.message import Message
from textual.screen import Screen

from sftui.errors import SftuiError
from sftui.tui import tour
from sftui.tui.arrangement import Box, arrange, place, resized
from sftui.tui.bars import Bar, footer_cells, message_lines, status_cells
from sftui.tui.body import Body
from sftui.tui.commands import figures, findings, marks, notes, rows, search, tokens
from sftui.tui.commands.command import Command, show_key
from sftui.tui.commands.footers import footer
from sftui.tui.commands.table import BY_ID
from sftui.tui.contexts import CONVERSATION_PANE, DOCUMENT, FIGURES, FINDINGS, LIST, RECIPE, TOKENS, keys_of
from sftui.tui.dialogs import Dialog, Options
from sftui.tui.hearing import HEARING
from sftui.tui.inspector import Answer, Maker, Panes, Terminal
from sftui.tui.keys import Keymap, KeyReader
from sftui.tui.line_view import LineView
from sftui.tui.panes.document_pane import DocumentPane
from sftui.tui.panes.figures_pane import FiguresPane
from sftui.tui.panes.findings_pane import FindingsPane
from sftui.tui.panes.recipe_pane import RecipePane
from sftui.tui.panes.row_list import RowList
from sftui.tui.panes.token_pane import TokenPane
from sftui.tui.prompt import Prompt
from sftui.tui.side import VIEWS
from sftui.tui.state import ComparisonState, Memo, Part, SessionState, State, StatusMessage, TourState
from sftui.tui.themes import Styles
from sftui.views.cells import Line, Role
from sftui.views.grid import Action
from sftui.workspace import Workspace
from sftui.workspace import events as ev
from sftui.workspace import requests as rq
from sftui.workspace.marks_file import MarksFile


class WorkspaceEvent(Message):
    """An event of the workspace, on its way from the workspace's thread."""

    def __init__(self, event: ev.Event) -> None:
        super().__init__()
        self.event = event


class MarksFailed(Message):
    """From the thread that writes marks."""

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason = reason


class MainScreen(Screen[None], inherit_bindings=False):
    """Status line, panes, the line that explains or answers, footer: the `Inspector` of the commands."""

    DEFAULT_CSS = """
    MainScreen { layout: vertical; }
    #tour { height: auto; display: none; } #detail { height: 1; }
    """
    AUTO_FOCUS = None
    ALLOW_SELECT = False
    BLANK = True  # covered by what is in it: nothing of its own is painted

    def __init__(self, workspace: Workspace, keymap: Keymap, look: Styles) -> None:
        super().__init__()
        self.workspace = workspace
        self.keymap = keymap
        self.reader = KeyReader(keymap)
        self.look = look
        self.state = State(SessionState(workspace.recipe), compared=ComparisonState(drawn=Memo()))
        self.marks_file = MarksFile(workspace.options, self.marks_failed)
        self.said_moved: set[str] = set()
        self.notes = notes.NoteCount()
        self.laid_out_for = Size(0, 0)
        self.status_bar = Bar("status")
        self.panes = Panes(
            RowList("list"),
            RecipePane(workspace, "recipe"),
            TokenPane("tokens"),
            DocumentPane("document"),
            DocumentPane("conversation"),
            FindingsPane("findings"),
            FiguresPane("figures"),
        )
        contexts = (LIST, RECIPE, TOKENS, DOCUMENT, CONVERSATION_PANE, FINDINGS, FIGURES)
        self.by_context: dict[str, LineView] = dict(zip(contexts, self.panes, strict=True))
        self.detail = Bar("detail", ground="back")
        self.tour = Bar("tour")
        self.prompt = Prompt(self.say)
        self.ask = self.prompt.ask
        self.footer = Bar("footer")
        self.hints = Memo()
        self.body = Body(self.by_context, self.boxes)
        self.arranged = arrange(self.state.open, 0, 0)
        for pane in self.drawn():
            pane.look = look
        self.panes.rows.glyph = lambda row: self.state.kept.marks.get(row).glyph
        self.panes.figures.marked = lambda: figures.marked(self)
        self.panes.figures.mark = lambda by: figures.choose(self, by)

    def drawn(self) -> tuple[LineView, ...]:
        """All that is drawn, line by line."""
        bars = (self.status_bar, self.detail, self.footer, self.tour, self.prompt)
        return (self.body.frame, *self.by_context.values(), *bars)

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
        self.call_after_refresh(self.drawing(lambda: marks.load(self)))

    def heard(self, event: ev.Event) -> None:
        """Called on the workspace's thread; `post_message` is safe from any thread."""
        self.post_message(WorkspaceEvent(event))

    def marks_failed(self, reason: str) -> None:
        """Called on the thread that writes marks."""
        self.post_message(MarksFailed(reason))

    # — the state and what is drawn of it —

    def put(self, *parts: Part) -> None:
        before, self.state = self.state, self.state.put(*parts)
        if self.state.open != before.open and self.laid_out_for:
            self.set_panes()
        elif self.state.row != before.row:
            self.panes.rows.set_current(self.state.row, self.panes.rows.active)

    def draw(self) -> None:
        """The bars; panes draw themselves. Once for each key and event, when all that follows from it was put."""
        self.draw_tour()
        self.put(self.state.moved.to(self.state.row, self.panes.tokens.state.cursor, self.state.open.context))
        self.status_bar.show(status_cells(self.state.status._replace(notes=self.notes.now(self)), self.width))
        said, context = self.state.said, self.state.open.context
        shown, left = message_lines(said.text, said.role, self.width) if said.text else (self.sentence(), ())
        self.detail.show(shown)
        self.body.draw(context)
        context = keys_of(context)
        idle = {name for ids, _ in footer(context) for name in ids if BY_ID[name].when(self) is not None}
        hints = self.hints.lines(
            (context, self.width, idle), lambda: (footer_cells(context, self.width, self.keymap, idle),)
        )
        self.footer.show(left or hints[0])
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
        lines = tour.lines(self.state.tour, keys, keys["tour"], self.width)
        self.tour.display, self.tour.styles.height = bool(lines), max(1, len(lines))
        self.tour.show(*lines)

    def _how_to_run(self, name: str) -> str:
        """The key of a command, or what to type for one that has none."""
        keys = self.keymap.keys_of(name)
        return show_key(keys[0]) if keys else f":{BY_ID[name].title}"

    def drawing(self, call: Callable[[], None]) -> Callable[[], None]:
        """What comes later, from a timer or a dialog, and draws what follows from it."""

        def called() -> None:
            self.attempt(call)
            self.draw()

        return called

    def attempt(self, call: Callable[[], None]) -> None:
        """Calls, and says what went wrong."""
        try:
            call()
        except (SftuiError, OSError) as error:
            self.say(str(error), Role.ERROR)

    def sentence(self) -> Line:
        """The line under the panes: the finding, the knob, the row or the token that is marked."""
        context, moved = self.state.open.context, self.state.moved.pane
        if context in (LIST, TOKENS) and moved in self.arranged.panes:
            return self._sentence_of(moved) or self._sentence_of(context)
        return self._sentence_of(context)

    def _sentence_of(self, context: str) -> Line:
        if context == LIST:
            return self.panes.rows.sentence()
        if context == FINDINGS:
            return findings.sentence(self)
        if context == FIGURES:
            return figures.sentence(self)
        if context == RECIPE:
            return self.panes.recipe.sentence()
        place = search.place(self)
        return self.panes.tokens.sentence(f"hit {place}" if place else "")

    @property
    def width(self) -> int:
        """Cells of the screen, also before it was laid out."""
        return self.size.width or self.app.size.width

    @property
    def bare(self) -> int:
        """Cells of the list of rows without previews."""
        return self.panes.rows.digits + self.panes.rows.signs + 20

    def boxes(self, size: Size) -> dict[str, Box]:
        """Where the panes stand in a body of that size."""
        return place(self.arranged, self.state.open.sizes, size.width, size.height, self.bare)

    def set_panes(self, size: Size | None = None) -> None:
        """Which panes are seen at this size, and who of them holds the keys."""
        before, self.arranged = self.arranged, arrange(self.state.open, *(size or self._cells))
        now = self.arranged
        holder = now.holder(self.state.open.context, self.state.open.view)
        self.state = self.state.put(self.state.open._replace(context=holder))
        self.body.set_panes(now, holder)
        self.panes.rows.set_current(self.state.row, holder == LIST)
        for context, pane in self.by_context.items():
            if context not in (LIST, TOKENS):
                pane.set_active(holder == context)
        if self.is_attached:
            for view in now.views:
                moved = before.pane_of(view) != now.pane_of(view) if view in before.views else view in now.standing
                if moved:
                    VIEWS[view].show(self, view, False)

    def set_signs(self) -> None:
        self.panes.rows.signs = 2 if self.workspace.repairs or self.state.kept.marks else 0
        self.panes.rows.repaint()
        self.set_panes()

    def on_resize(self, event: events.Resize) -> None:
        if event.size != self.laid_out_for:
            self.laid_out_for = event.size
            self.set_panes()
            self.draw()
        else:
            self.refresh(layout=True)  # made smaller and larger again meanwhile, the terminal has lost what stood there

    def set_theme(self, name: str) -> None:
        self.terminal.use_theme(name)
        self.look = Styles(name)
        for pane in self.drawn():
            pane.set_look(self.look)

    @property
    def theme_name(self) -> str:
        return self.look.name

    def redraw(self) -> None:
        self.terminal.forget_cells()
        self.refresh(layout=False)

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
        moved = self.keymap.went(context, stroke.sequence, stroke.command)
        if stroke.command is not None:
            did = self.run_command(stroke.command, stroke.count)
            if moved and not (did and moved in self.said_moved):
                self.said_moved.add(moved)
                said = self.state.said
                self.say(f"{said.text} · {moved}" if said.text else moved, said.role if said.text else Role.DIM)
        elif stroke.unknown and not (had_pending and key == "escape"):
            self.say(moved or f"{stroke.unknown} does nothing here; ? shows the keys", Role.DIM)
        if self.state.status.pending != self.reader.pending:
            self.put(self.state.status._replace(pending=self.reader.pending))

    def run_command(self, command: Command, count: int | None = None) -> bool:
        """What the command does, or why it comes to nothing now; False in that case."""
        why = command.when(self)
        if why is not None and why.text:
            self.put(why)
            return False
        self.attempt(lambda: command.run(self, count))
        return True

    def on_line_view_clicked(self, message: LineView.Clicked) -> None:
        """The mouse: a row, a knob, or simply the keys."""
        pane, panes = message.pane, self.panes
        if pane not in self.by_context.values():
            return
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

    def on_workspace_event(self, message: WorkspaceEvent) -> None:
        hear = HEARING.get(type(message.event))
        if hear is not None and self.workspace.is_current(message.event):
            hear(self, message.event)
            self.draw()

    def on_marks_failed(self, message: MarksFailed) -> None:
        self.say(message.reason, Role.ERROR)
        self.draw()

    def on_row_list_wanted(self, message: RowList.Wanted) -> None:
        self.workspace.ask(rq.SummariesRequest, *message.window, message.rows)

    # — what commands use —

    @property
    def terminal(self) -> Terminal:
        return cast(Terminal, self.app)

    def say(self, text: str, role: Role = Role.PLAIN) -> None:
        self.put(StatusMessage(text, role))

    def show_dialog(self, dialog: Dialog, then: Answer = lambda answer: None) -> None:
        self.app.push_screen(dialog, lambda answer: self.drawing(lambda: then(answer))())

    def pick(
        self, title: str, entries: Sequence[tuple[str, str]], then: Callable[[int], None], *, marked: int = 0
    ) -> None:
        self.show_dialog(
            Dialog(title, Options(entries), self.keymap, self.look, picking=True, marked=marked),
            lambda number: None if number is None else then(number),
        )

    def read(
        self,
        title: str,
        make: Maker,
        then: Answer = lambda answer: None,
        *,
        offer: str = "",
        exports: bool = False,
        leave: str = "closes",
    ) -> None:
        dialog = Dialog(title, make, self.keymap, self.look, offer=offer, exports=exports, leave=leave)
        self.show_dialog(dialog, then)

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        self.set_timer(seconds, self.drawing(call))

    def hold_keys(self, context: str) -> None:
        now = arrange(self.state.open._replace(alone=False), *self._cells)
        self.put(self.state.open._replace(context=now.holder(context, self.state.open.view)))

    def next_pane(self, step: int) -> None:
        there = arrange(self.state.open._replace(alone=False), *self._cells).panes
        self.put(self.state.open._replace(context=there[(there.index(self.state.open.context) + step) % len(there)]))

    @property
    def _cells(self) -> Size:
        return self.size or self.app.size

    def resize_pane(self, cells: int, lines: int) -> bool:
        before, body = self.state.open, self.body.size
        self.put(resized(before, cells, lines, self._cells, body, self.bare))
        return self.state.open != before

    def pane_showing(self, view: str) -> DocumentPane:
        return self.panes.conversation if self.arranged.pane_of(view) == CONVERSATION_PANE else self.panes.document

    def on_screen(self, view: str) -> bool:
        return view == self.state.open.view or view in self.arranged.views

    def open_view(self, name: str) -> None:
        now = self.state.open
        if name in self.arranged.standing and now.view != name:
            self.hold_keys(TOKENS if now.context == self.arranged.pane_of(name) else self.arranged.pane_of(name))
        elif now.view == name:
            self.close_view()
        else:
            if now.view is not None:
                VIEWS[now.view].closed(self)
            self.put(self.state.open.opened(name))
            self.show_view()

    def close_view(self) -> None:
        closed = self.state.open.view
        self.put(self.state.open.closed())
        instead = VIEWS[closed].closed(self) if closed is not None else None
        if instead is not None:
            self.open_view(instead)

    def show_view(self, *, keep: bool = False) -> None:
        """The view that is open; `keep`: and those that stand there."""
        opened = self.state.open.view
        for name in dict.fromkeys((opened, *(self.arranged.views if keep else ()))):
            if name is not None:
                VIEWS[name].show(self, name, keep)

    def paint_view(self, name: str) -> None:
        if self.on_screen(name):
            VIEWS[name].paint(self, name, True)

    def open_help(self, then: Answer) -> None:
        from sftui.tui.filtering import Help

        self.show_dialog(Help(keys_of(self.state.open.context), self.keymap, self.look), then)

    def open_palette(self) -> None:
        from sftui.tui.filtering import Palette

        self.show_dialog(Palette(keys_of(self.state.open.context), self.keymap, self.look, self.chosen_in_palette))

    def chosen_in_palette(self, entry: Command | int) -> None:
        """What was chosen in the palette, a command or a row."""
        if isinstance(entry, int):
            rows.go(self, entry)
        else:
            self.run_command(entry)
        self.draw()
