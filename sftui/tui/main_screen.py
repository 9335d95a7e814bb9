"""The one long-lived screen: panes, who holds the keys, and where keys and events go.

It only wires: commands live in the `*_commands` modules, view state in the panes, data in the
workspace. Nothing here can take focus, so every key arrives in `take_key`, in order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.geometry import Size
from textual.message import Message
from textual.screen import Screen

from sftui.tui.bars import Bar, Status, footer_cells, message_lines, status_cells
from sftui.tui.batch_commands import BatchCommands
from sftui.tui.commands import DOCUMENT, FIGURES, FINDINGS, LIST, RECIPE, TOKENS
from sftui.tui.compare_commands import CompareCommands
from sftui.tui.copy_commands import CopyCommands
from sftui.tui.data_export import DataExport
from sftui.tui.document_pane import DocumentPane
from sftui.tui.figures_commands import FiguresCommands
from sftui.tui.figures_pane import FiguresPane
from sftui.tui.findings_commands import FindingsCommands
from sftui.tui.findings_pane import FindingsPane
from sftui.tui.keys import Keymap, KeyReader
from sftui.tui.line_view import LineView
from sftui.tui.look_commands import LookCommands
from sftui.tui.mark_commands import MarkCommands, MarksFailed
from sftui.tui.own_commands import OwnCommands
from sftui.tui.prompt import Prompt
from sftui.tui.recipe_commands import RecipeCommands
from sftui.tui.recipe_pane import RecipePane
from sftui.tui.repair_commands import RepairCommands
from sftui.tui.row_commands import RowCommands
from sftui.tui.row_list import RowList
from sftui.tui.search_commands import SearchCommands
from sftui.tui.themes import Styles
from sftui.tui.token_pane import TokenPane
from sftui.views import Role
from sftui.workspace import Workspace
from sftui.workspace import events as ev
from sftui.workspace import requests as rq

NARROW = 80
WIDE = 120
TALL = 36
SIDES = (DOCUMENT, FINDINGS, FIGURES)
"""Who may hold the keys beside the tokens, or in their place."""


class WorkspaceEvent(Message):
    """An event of the workspace, on its way from the workspace's thread."""

    def __init__(self, event: ev.Event) -> None:
        super().__init__()
        self.event = event


class MainScreen(Screen[None], inherit_bindings=False):
    """Status line, panes, the line that explains or answers, footer."""

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
    #detail { height: 1; } MainScreen.-narrow #body { layout: vertical; }
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
        self.context = TOKENS
        self.status = Status()
        self.said, self.said_role = "", Role.PLAIN
        self.list_wanted = True
        self.laid_out_for = Size(0, 0)
        self.status_bar = Bar("status")
        self.rows = RowList("list")
        self.recipe = RecipePane(workspace, "recipe")
        self.tokens = TokenPane("tokens")
        self.document = DocumentPane("document")
        self.findings = FindingsPane("findings")
        self.figures = FiguresPane("figures")
        self.detail = Bar("detail", ground="back")
        self.prompt = Prompt(self)
        self.footer = Bar("footer")
        self.work = Container(id="work")
        self.panes = (
            self.rows,
            self.recipe,
            self.tokens,
            self.document,
            self.findings,
            self.figures,
            self.status_bar,
            self.detail,
            self.footer,
            self.prompt,
        )
        for pane in self.panes:
            pane.look = look
        self.row_commands = RowCommands(self)
        self.search_commands = SearchCommands(self)
        self.look_commands = LookCommands(self)
        self.findings_commands = FindingsCommands(self)
        self.compare_commands = CompareCommands(self)
        self.batch_commands = BatchCommands(self)
        self.figures_commands = FiguresCommands(self)
        self.recipe_commands = RecipeCommands(self)
        self.repair_commands = RepairCommands(self)
        self.data_export = DataExport(self)
        self.mark_commands = MarkCommands(self)
        self.copy_commands = CopyCommands(self)
        self.own_commands = OwnCommands(self)
        self.handlers: dict[str, Callable[[int | None], None]] = {}
        for part in (
            self.row_commands,
            self.search_commands,
            self.look_commands,
            self.findings_commands,
            self.compare_commands,
            self.batch_commands,
            self.figures_commands,
            self.repair_commands,
            self.mark_commands,
            self.recipe_commands,
            self.copy_commands,
            self.own_commands,
        ):
            self.handlers |= part.handlers()

        self.hearing: dict[type, Callable[..., None]] = {
            ev.RecipeChanged: lambda event: self.recipe_commands.on_changed(),
            ev.BatchReady: self.batch_commands.on_answer,
            ev.PacksReady: self.batch_commands.on_answer,
            ev.SearchFound: self.search_commands.on_found,
            ev.HitsCounted: self.search_commands.on_counted,
            ev.AuditReady: self.figures_commands.on_audit,
            ev.TagsReady: self.findings_commands.on_tags,
            ev.OrderReady: self.figures_commands.on_order,
            ev.FindingsReady: self.findings_commands.on_findings,
            ev.ComparisonReady: self.compare_commands.on_compared,
            ev.CountReady: self.compare_commands.on_count,
            ev.RepairsCounted: self.repair_commands.on_counted,
            ev.RepairsWritten: self.data_export.on_written,
        }

    def compose(self) -> ComposeResult:
        self.laid_out_for = self.app.size
        self.set_panes(self.app.size)
        yield self.status_bar
        with Container(id="body"):
            yield self.rows
            yield self.recipe
            with self.work:
                yield self.tokens
                yield self.document
                yield self.findings
                yield self.figures
        yield self.detail
        yield self.footer
        yield self.prompt

    # — life —

    def on_mount(self) -> None:
        self.workspace.listen(self.heard)
        self.call_after_refresh(self.mark_commands.load)

    def heard(self, event: ev.Event) -> None:
        """Called on the workspace's thread; `post_message` is safe from any thread."""
        self.post_message(WorkspaceEvent(event))

    def set_look(self, look: Styles) -> None:
        self.look = look
        for pane in self.panes:
            pane.set_look(look)

    def on_resize(self, event: events.Resize) -> None:
        if event.size != self.laid_out_for:
            self.laid_out_for = event.size
            self.set_panes()
        else:
            self.refresh(layout=True)  # made smaller and larger again meanwhile, the terminal has lost what stood there

    def set_panes(self, size: Size | None = None) -> None:
        """Which panes are seen at this size; the list gives way to the recipe where there is no room."""
        width, height = size or self.size
        narrow, wide = width < NARROW, width >= WIDE
        self.set_class(narrow, "-narrow")
        self.set_class(wide, "-wide")
        recipe_open, view = self.look_commands.recipe_open, self.look_commands.open_view
        beside = wide and not (recipe_open and width < 160)
        self.work.set_class(beside, "-beside")
        self.work.set_class(not beside and height >= TALL, "-below")
        self.recipe.display = recipe_open
        self.rows.styles.width = self.rows.digits + self.rows.signs + (39 if wide else 21) if not narrow else "1fr"
        self.rows.display = self.list_wanted and (not recipe_open or (wide and width >= 160))
        self.document.display = view not in (None, FINDINGS, FIGURES)
        self.findings.display = view == FINDINGS
        self.figures.display = view == FIGURES
        self.tokens.display = view is None or beside or height >= TALL
        self.hold_keys(self.context)
        self.update_bars()

    def set_signs(self) -> None:
        """Room in the row list for what is marked and repaired, once there is any."""
        self.rows.signs = 2 if self.workspace.repairs or self.mark_commands.marks else 0
        self.rows.repaint()
        self.set_panes()

    # — who holds the keys —

    def contexts(self) -> list[str]:
        panes = (
            (LIST, self.rows),
            (RECIPE, self.recipe),
            (TOKENS, self.tokens),
            (DOCUMENT, self.document),
            (FINDINGS, self.findings),
            (FIGURES, self.figures),
        )
        return [context for context, pane in panes if pane.display]

    def hold_keys(self, context: str) -> None:
        """Gives the keys to a pane; to the nearest one where that pane is hidden."""
        there = self.contexts()
        self.context = context if context in there else next((c for c in SIDES if c in there), TOKENS)
        self.rows.set_current(self.status.row, self.context == LIST)
        self.recipe.set_active(self.context == RECIPE)
        self.findings.set_active(self.context == FINDINGS)
        self.figures.set_active(self.context == FIGURES)
        self.update_bars()

    def pane(self) -> LineView:
        panes: dict[str, LineView] = {
            LIST: self.rows,
            RECIPE: self.recipe,
            DOCUMENT: self.document,
            FINDINGS: self.findings,
            FIGURES: self.figures,
        }
        return panes.get(self.context, self.tokens)

    # — keys —

    def take_key(self, event: events.Key) -> None:
        if self.prompt.open:
            self.prompt.press(event.key, event.character if event.is_printable else None)
            return
        key = event.character if event.character and event.is_printable and event.character != " " else event.key
        self.press(key)

    def on_paste(self, event: events.Paste) -> None:
        """Pasted text goes to the prompt; elsewhere it is no keys and does nothing."""
        if self.prompt.open:
            self.prompt.press(
                "", "".join(c for c in event.text.splitlines()[0] if c.isprintable()) if event.text else None
            )

    def press(self, key: str) -> None:
        """One key; says what is awaited, or that it means nothing here."""
        had_pending = bool(self.reader.pending)
        stroke = self.reader.feed(key, self.context)
        if self.said and not stroke.pending:
            self.say("")
        if stroke.pending and (awaited := self.reader.awaited(self.context)):
            self.say(awaited, Role.DIM)
        if stroke.command is not None:
            self.run_command(stroke.command.id, stroke.count)
        elif stroke.unknown and not (had_pending and key == "escape"):
            self.say(f"{stroke.unknown} does nothing here; ? shows the keys", Role.DIM)
        if self.status.pending != self.reader.pending:
            self.set_status(pending=self.reader.pending)

    def run_command(self, command_id: str, count: int | None = None) -> None:
        self.handlers[command_id](count)

    # — the workspace —

    def on_workspace_event(self, message: WorkspaceEvent) -> None:
        event = message.event
        if not self.workspace.is_current(event):
            return
        if isinstance(event, ev.WorkerFailed):
            self.tokens.fail(event.problem)
            self.figures_commands.failed()
            self.data_export.failed()
            self.say(event.problem.sentence(), Role.ERROR)
        elif isinstance(event, ev.WorkLeft):
            self.say(event.problem.sentence(), Role.ERROR)
        else:
            hear: Callable[..., None] = self.hearing.get(type(event), self.row_commands.on_event)
            hear(event)

    def on_marks_failed(self, message: MarksFailed) -> None:
        self.say(message.told, Role.ERROR)

    def on_row_list_wanted(self, message: RowList.Wanted) -> None:
        self.workspace.ask(rq.SummariesRequest, *message.window, message.rows)

    def on_line_view_clicked(self, message: LineView.Clicked) -> None:
        self.look_commands.clicked(message.pane, message.x, message.line)

    def on_line_view_wheeled(self, message: LineView.Wheeled) -> None:
        message.pane.scroll_lines(message.lines)
        self.update_detail()

    # — bars —

    @property
    def width(self) -> int:
        """Cells of the screen, also before it was laid out."""
        return self.size.width or self.app.size.width

    def set_status(self, **changes: object) -> None:
        self.status = replace(self.status, **changes)  # type: ignore[arg-type]
        self.status_bar.show(status_cells(self.status, self.width))

    def say(self, text: str, role: Role = Role.PLAIN) -> None:
        """An answer in the line under the panes, until the next key; a long one goes on in place of the keys."""
        self.said, self.said_role = text, role
        self.update_detail()

    def update_detail(self) -> None:
        told, left = (
            message_lines(self.said, self.said_role, self.width) if self.said else (self.look_commands.sentence(), ())
        )
        deciding = {FINDINGS: self.findings_commands.idle, FIGURES: self.figures_commands.idle}
        idle = deciding[self.context]() if self.context in deciding else ()
        self.detail.show(told)
        self.footer.show(left or footer_cells(self.context, self.width, self.keymap, idle))
        self.footer.display = bool(left) or not self.prompt.open

    def update_bars(self) -> None:
        self.set_status()
        self.update_detail()
