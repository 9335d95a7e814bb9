"""Dialogs over the panes: one to read, one to pick from. Their content is lines of cells, never markup."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.geometry import Size
from textual.screen import ModalScreen

from sftui.text import clip, visible
from sftui.tui.bars import Bar
from sftui.tui.commands import DIALOG
from sftui.tui.keys import Keymap, KeyReader
from sftui.tui.line_view import LineView
from sftui.tui.themes import Styles
from sftui.views import Line, Over, Role
from sftui.views.cells import LineBuilder, line

EXPORT = 1
"""The answer of a dialog that goes to the export instead."""


class DialogLines(LineView):
    """The lines of a dialog; with `marked` one of them is picked from."""

    def __init__(self, make: Callable[[int], Sequence[Line]], picking: bool) -> None:
        super().__init__("dialog-lines")
        self.make = make
        self.picking = picking
        self.marked = 0
        self.lines: tuple[Line, ...] = tuple(make(80))

    def resized(self) -> None:
        self.lines = tuple(self.make(max(self.size.width, 8)))
        if self.picking:
            self.keep_in_view(self.marked)
        super().resized()

    def move(self, lines: int) -> None:
        if self.picking:
            self.marked = max(0, min(self.marked + lines, len(self.lines) - 1))
            self.keep_in_view(self.marked)
            self.repaint()
        else:
            self.scroll_lines(lines)

    def line_count(self) -> int:
        return len(self.lines)

    def line_cells(self, number: int) -> Line:
        cells = self.lines[number]
        if not self.picking or number != self.marked:
            return cells
        builder = LineBuilder()
        for run in cells:
            builder.add(run.text, run.role, Over.CURSOR)
        return builder.line()


class Dialog(ModalScreen[int | None], inherit_bindings=False):
    """A titled box. Dismisses with None, or with the number of the line picked (0 for yes, EXPORT where that is offered)."""

    DEFAULT_CSS = """
    Dialog { align: center middle; background: transparent; }
    #dialog { border: solid $primary; background: $background; height: auto; max-height: 100%; width: 100%; max-width: 100; }
    #dialog-lines { height: auto; }
    """
    AUTO_FOCUS = None
    ALLOW_SELECT = False

    def __init__(
        self, title: str, make: Callable[[int], Sequence[Line]], keymap: Keymap, look: Styles, *,
        picking: bool = False, offer: str = "", exports: bool = False, leave: str = "closes", marked: int = 0,
    ) -> None:
        super().__init__()
        self.heading = title
        self.offer = offer + ("x exports · " if exports else "")
        self.exports = exports
        self.leave = leave
        self.reader = KeyReader(keymap)
        self.look = look
        self.lines = DialogLines(make, picking)
        self.lines.marked = marked
        self.bar = Bar("dialog-title")
        self.foot = Bar("dialog-foot", ground="back")

    def compose(self) -> ComposeResult:
        with Container(id="dialog"):
            yield self.bar
            yield self.lines
            yield self.foot

    def on_mount(self) -> None:
        for part in (self.bar, self.lines, self.foot):
            part.set_look(self.look)
        self.bar.show(line((f" {visible(self.heading)}", Role.TITLE)))
        keys = "j k move · Enter takes it · Esc closes" if self.lines.picking else f"j k scroll · {self.offer}Esc {self.leave}"
        self.foot.show(line((f" {keys}", Role.DIM)))
        self.fit(self.app.size)

    def on_resize(self, event: events.Resize) -> None:
        self.fit(event.size)

    def fit(self, size: Size) -> None:
        """As tall as its lines, at most as tall as the screen."""
        width = min(size.width, 100) - 2
        lines = len(self.lines.make(max(width, 8)))
        self.lines.styles.height = max(1, min(lines, size.height - 4))

    def take_key(self, event: events.Key) -> None:
        if event.key == "ctrl+c":
            self.app.exit()
            return
        key = event.character if event.character and event.is_printable and event.character != " " else event.key
        stroke = self.reader.feed(key, DIALOG)
        if stroke.command is not None and stroke.command.context == DIALOG:
            self.obey(stroke.command.id.removeprefix("dialog."), stroke.count or 1)

    def obey(self, name: str, count: int) -> None:
        last = self.lines.line_count()
        moves = {
            "down": count, "up": -count, "page_down": count * self.lines.page, "page_up": -count * self.lines.page,
            "home": -last, "end": last,
        }
        if name in moves:
            self.lines.move(moves[name])
        elif name == "accept":
            self.choose(self.lines.marked if last else None)
        elif name == "yes" and self.offer:
            self.dismiss(0)
        elif name == "export" and self.exports:
            self.dismiss(EXPORT)
        elif name == "close":
            self.dismiss(None)

    def choose(self, number: int | None) -> None:
        self.dismiss(number if self.lines.picking else None)

    def on_line_view_clicked(self, message: LineView.Clicked) -> None:
        if self.lines.picking and message.line < self.lines.line_count():
            self.choose(message.line)

    def on_line_view_wheeled(self, message: LineView.Wheeled) -> None:
        self.lines.move(message.lines)


def options(entries: Sequence[tuple[str, str]]) -> Callable[[int], Sequence[Line]]:
    """Lines to pick from: a name and what it means."""
    widest = max((len(name) for name, _ in entries), default=0)

    def make(width: int) -> Sequence[Line]:
        lines = []
        for name, meaning in entries:
            text = clip(f" {visible(name):<{widest}}  {visible(meaning)}", width)
            lines.append(line((text + " " * max(0, width - len(text)), Role.PLAIN)))
        return lines

    return make
