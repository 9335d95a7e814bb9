"""The one long-lived screen: it draws the state, routes keys to commands and events to what hears them.

What the keys do is in `commands/`, what they change in `state`, how lines look in the panes, data in the workspace.
Nothing here can take focus, so every key arrives in `take_key`, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.geometry import Size
from textual.message import Message
from textual.screen import Screen

from sftui.tui import tour
from sftui.tui.arrangement import Arrangement, arrange
from sftui.tui.bars import Bar, footer_cells, message_lines, status_cells
from sftui.tui.commands import figures, findings, marks, notes, rows, search, tokens
from sftui.tui.commands.command import Command, show_key
from sftui.tui.commands.footers import footer
from sftui.tui.commands.table import BY_ID
from sftui.tui.contexts import DOCUMENT, FIGURES, FINDINGS, LIST, RECIPE, TOKENS
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
from sftui.tui.state import Compared, Kept, Memo, Part, Said, Seen, State
from sftui.tui.themes import Styles
from sftui.views import Action, Line, Role
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

    def __init__(self, told: str) -> None:
        super().__init__()
        self.told = told


class MainScreen(Screen[None], inherit_bindings=False):
    """Status line, panes, the line that explains or answers, footer: the `Inspector` of the commands."""

    DEFAULT_CSS = """
    MainScreen { layout: vertical; }
    #body { layout: horizontal; height: 1fr; }
    #work { layout: vertical; width: 1fr; height: 1fr; }
    #work.-beside { layout: horizontal; }
    #list { width: 24; border-right: solid $rule; }
    #recipe { width: 40; border-right: solid $rule; display: none; }
    MainScreen.-wide #recipe { width: 52; }
    #tokens, #document, #findings, #figures { width: 1fr; height: 1fr; }
    #document, #findings, #figures { display: none; }
    #work.-beside #document, #work.-beside #findings, #work.-beside #figures { border-left: solid $rule; }
    #work.-below #document, #work.-below #findings, #work.-below #figures { border-top: solid $rule; }
    #tour { height: auto; display: none; } #detail { height: 1; } MainScreen.-narrow #body { layout: vertical; }
    MainScreen.-narrow #list { width: 1fr; height: 1; border: none; }
    MainScreen.-narrow #recipe { width: 1fr; height: 1fr; border: none; border-bottom: solid $rule; }
    """
    AUTO_FOCUS = None
    ALLOW_SELECT = False

    def __init__(self, workspace: Workspace, keymap: Keymap, look: Styles) -> None:
        super().__init__()
        self.workspace = workspace
        self.keymap = keymap
        self.reader = KeyReader(keymap)
        self.look = look
        self.state = State(Kept(workspace.recipe), compared=Compared(drawn=Memo()))
        self.marks_file = MarksFile(workspace.options, self.marks_failed)
        self.told_moved: set[str] = set()
        self.laid_out_for = Size(0, 0)
        self.status_bar = Bar("status")
        self.panes = Panes(
            RowList("list"),
            RecipePane(workspace, "recipe"),
            TokenPane("tokens"),
            DocumentPane("document"),
            FindingsPane("findings"),
            FiguresPane("figures"),
        )
        self.by_context: dict[str, LineView] = {
            LIST: self.panes.rows,
            RECIPE: self.panes.recipe,
            TOKENS: self.panes.tokens,
            DOCUMENT: self.panes.document,
            FINDINGS: self.panes.findings,
            FIGURES: self.panes.figures,
        }
        self.detail = Bar("detail", ground="back")
        self.tour = Bar("tour")
        self.prompt = Prompt(self.say)
        self.footer = Bar("footer")
        self.work = Container(id="work")
        for pane in self.drawn():
            pane.look = look
        self.panes.rows.glyph = lambda row: self.state.kept.marks.get(row).glyph
        self.panes.figures.marked = lambda: figures.marked(self)
        self.panes.figures.mark = lambda by: figures.choose(self, by)

    def drawn(self) -> tuple[LineView, ...]:
        """All that is drawn, line by line."""
        return (*self.by_context.values(), self.status_bar, self.detail, self.footer, self.tour, self.prompt)

    def compose(self) -> ComposeResult:
        self.laid_out_for = self.app.size
        self.set_panes(self.app.size)
        self.draw()
        yield self.status_bar
        yield self.tour
        with Container(id="body"):
            yield self.panes.rows
            yield self.panes.recipe
            with self.work:
                yield self.panes.tokens
                yield self.panes.document
                yield self.panes.findings
                yield self.panes.figures
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

    def marks_failed(self, told: str) -> None:
        """Called on the thread that writes marks."""
        self.post_message(MarksFailed(told))

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
        self.status_bar.show(status_cells(self.state.status._replace(notes=notes.count(self)), self.width))
        said, context = self.state.said, self.state.open.context
        told, left = message_lines(said.text, said.role, self.width) if said.text else (self.sentence(), ())
        self.detail.show(told)
        idle = {name for ids, _ in footer(context) for name in ids if BY_ID[name].when(self) is not None}
        self.footer.show(left or footer_cells(context, self.width, self.keymap, idle))
        self.footer.display = bool(left) or not self.prompt.open

    def draw_tour(self) -> None:
        """What the tour tells after what was just done; nothing where there is none."""
        if self.state.tour.at is None and not self.tour.display:
            return
        tokens, state = self.panes.tokens, self.state
        seen = None
        if tokens.inspection is not None and state.status.state not in ("loading", "provisional"):
            seen = Seen(tokens.inspection, tokens.state.cursor, state.open.view, self.workspace.recipe)
        self.put(tour.after(state.tour, seen))
        keys = {name: self._asked_by(name) for name in (*tour.commands_named(), "tour")}
        told = tour.lines(self.state.tour, keys, keys["tour"], self.width)
        self.tour.display, self.tour.styles.height = bool(told), max(1, len(told))
        self.tour.show(*told)

    def _asked_by(self, name: str) -> str:
        """The key of a command, or what to type for one that has none."""
        keys = self.keymap.keys_of(name)
        return show_key(keys[0]) if keys else f":{BY_ID[name].title}"

    def drawing(self, call: Callable[[], None]) -> Callable[[], None]:
        """What comes later, from a timer or a dialog, and draws what follows from it."""

        def called() -> None:
            call()
            self.draw()

        return called

    def sentence(self) -> Line:
        """The line under the panes: the finding, the knob or the token that is marked."""
        context = self.state.open.context
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

    def arrangement(self, size: Size | None = None) -> Arrangement:
        width, height = size or self.size or self.app.size
        return arrange(self.state.open, width, height)

    def set_panes(self, size: Size | None = None) -> None:
        """Which panes are seen at this size, and who of them holds the keys."""
        now, row_list = self.arrangement(size), self.panes.rows
        self.set_class(now.narrow, "-narrow")
        self.set_class(now.wide, "-wide")
        self.work.set_class(now.beside, "-beside")
        self.work.set_class(now.below, "-below")
        row_list.styles.width = row_list.digits + row_list.signs + (39 if now.wide else 21) if not now.narrow else "1fr"
        for context, pane in self.by_context.items():
            pane.display = context in now.panes
        holder = now.holder(self.state.open.context)
        self.state = self.state.put(self.state.open._replace(context=holder))
        row_list.set_current(self.state.row, holder == LIST)
        for context in (RECIPE, FINDINGS, FIGURES):
            self.by_context[context].set_active(holder == context)

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
            self.prompt.press(
                "", "".join(c for c in event.text.splitlines()[0] if c.isprintable()) if event.text else None
            )
            self.draw()

    def press(self, key: str) -> None:
        """One key; says what is awaited, or that it means nothing here."""
        had_pending, context = bool(self.reader.pending), self.state.open.context
        stroke = self.reader.feed(key, context)
        if not stroke.pending:
            self.say("")
        if stroke.pending and (awaited := self.reader.awaited(context)):
            self.say(awaited, Role.DIM)
        moved = self.keymap.went(context, stroke.sequence, stroke.command)
        if stroke.command is not None:
            did = self.run_command(stroke.command, stroke.count)
            if moved and not (did and moved in self.told_moved):
                self.told_moved.add(moved)
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
        command.run(self, count)
        return True

    def on_line_view_clicked(self, message: LineView.Clicked) -> None:
        """The mouse: a row, a knob, or simply the keys."""
        pane, panes = message.pane, self.panes
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
        self.say(message.told, Role.ERROR)
        self.draw()

    def on_row_list_wanted(self, message: RowList.Wanted) -> None:
        self.workspace.ask(rq.SummariesRequest, *message.window, message.rows)

    # — what commands use —

    @property
    def terminal(self) -> Terminal:
        return cast(Terminal, self.app)

    def say(self, text: str, role: Role = Role.PLAIN) -> None:
        self.put(Said(text, role))

    def ask(
        self,
        label: str,
        done: Callable[[str], str | None],
        *,
        value: str = "",
        at_once: Callable[[str], bool] = lambda text: False,
    ) -> None:
        self.prompt.ask(label, done, value=value, at_once=at_once)

    def close_prompt(self) -> None:
        self.prompt.close()

    def show_dialog(self, dialog: Dialog, then: Answer = lambda answer: None) -> None:
        def answered(answer: int | None) -> None:
            then(answer)
            self.draw()

        self.app.push_screen(dialog, answered)

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
        onward: str = "",
        leave: str = "closes",
    ) -> None:
        dialog = Dialog(title, make, self.keymap, self.look, offer=offer, exports=exports, onward=onward, leave=leave)
        self.show_dialog(dialog, then)

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        self.set_timer(seconds, self.drawing(call))

    def hold_keys(self, context: str) -> None:
        self.put(self.state.open._replace(context=self.arrangement().holder(context)))

    def next_pane(self, step: int) -> None:
        there = self.arrangement().panes
        self.hold_keys(there[(there.index(self.state.open.context) + step) % len(there)])

    def open_view(self, name: str) -> None:
        if self.state.open.view == name:
            self.close_view()
        else:
            before = self.state.open.view
            if before is not None:
                VIEWS[before].closed(self)
            self.put(self.state.open.opened(name))
            self.show_view()

    def close_view(self) -> None:
        closed = self.state.open.view
        self.put(self.state.open.closed())
        instead = VIEWS[closed].closed(self) if closed is not None else None
        if instead is not None:
            self.open_view(instead)

    def show_view(self, *, keep: bool = False) -> None:
        name = self.state.open.view
        if name is not None:
            VIEWS[name].show(self, name, keep)

    def paint_view(self, name: str) -> None:
        if self.state.open.view == name:
            VIEWS[name].paint(self, name, True)

    def open_help(self, then: Answer) -> None:
        from sftui.tui.help_dialog import Help

        self.show_dialog(Help(self.state.open.context, self.keymap, self.look), then)

    def open_palette(self) -> None:
        from sftui.tui.palette import Palette

        self.show_dialog(Palette(self.state.open.context, self.keymap, self.look, self.chosen_in_palette))

    def chosen_in_palette(self, entry: Command | int) -> None:
        """What was chosen in the palette, a command or a row."""
        if isinstance(entry, int):
            rows.go(self, entry)
        else:
            self.run_command(entry)
        self.draw()
