"""Dialogs over the panes: one to read, one to pick from. Their content is lines of cells, never markup."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.geometry import Size
from textual.screen import ModalScreen

from sftui.text import visible
from sftui.tui.bars import Bar
from sftui.tui.commands.command import STEPS, show_key
from sftui.tui.contexts import DIALOG
from sftui.tui.keys import Keymap, KeyReader
from sftui.tui.line_view import LineView
from sftui.views.cells import Line, Role, barred, line, wrap

if TYPE_CHECKING:
    from sftui.tui.base import KeyedApp

Maker = Callable[[int], Sequence[Line]]
"""Lines for a width in cells."""
DialogAnswer = int | str | None
"""None where a dialog was closed, else the number of the line picked, or the name of what it offers."""
Offers = Mapping[str, str]
"""Commands of dialogs that answer one, each with the words for its key; Enter takes the first, too."""
NO_OFFERS: Offers = {}
LONGEST_TITLE = 4
"""Lines of a title."""


class DialogLines(LineView):
    """The lines of a dialog; with `marked` one of them is picked from."""

    pages_move = True

    def __init__(self, make: Maker, picking: bool) -> None:
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

    def move(self, steps: int) -> None:
        if self.picking:
            self.marked = max(0, min(self.marked + steps, len(self.lines) - 1))
            self.keep_in_view(self.marked)
            self.repaint()
        else:
            self.scroll_lines(steps)

    def line_cells(self, number: int) -> Line:
        marked = self.picking and number == self.marked
        return barred(self.lines[number], self.size.width, True) if marked else self.lines[number]


class Dialog(ModalScreen[DialogAnswer], inherit_bindings=False):
    """A titled box, which dismisses with a `DialogAnswer`."""

    DEFAULT_CSS = """
    Dialog { align: center middle; background: transparent; }
    #dialog {
        border: round $primary; background: $background;
        height: auto; max-height: 100%; width: 100%; max-width: 100;
    }
    #dialog-lines { height: auto; }
    """
    AUTO_FOCUS = None
    ALLOW_SELECT = False

    picking = False
    """Whether one of its lines is picked."""

    def __init__(
        self, title: str, make: Maker, keymap: Keymap, offers: Offers = NO_OFFERS, leave: str = "closes"
    ) -> None:
        super().__init__()
        self.heading = title
        self.offers = offers
        self.leave = leave
        self.reader = KeyReader(keymap)
        self.make = make
        self.lines = DialogLines(make, self.picking)
        self.bar = Bar("dialog-title")
        self.note = Bar("dialog-note", ground="back")
        self.foot = Bar("dialog-foot", ground="back")
        self.parts: tuple[LineView, ...] = (self.bar, self.lines, self.note, self.foot)

    def compose(self) -> ComposeResult:
        yield Container(*self.parts, id="dialog")

    def on_mount(self) -> None:
        for part in self.parts:
            part.set_look(cast("KeyedApp[None]", self.app).look)
        self.fit(self.app.size)

    def on_resize(self, event: events.Resize) -> None:
        self.fit(event.size)

    def fit(self, size: Size) -> None:
        """As tall as its lines, at most as tall as the screen; the title and the meaning of the marked line are shown
        whole."""
        width = max(8, min(size.width, 100) - 2)
        title = self.title_lines(width)
        lines = self.make(width)
        note = max((len(self.rest(number, width)) for number in range(len(lines))), default=0)
        self.bar.styles.height, self.note.styles.height = len(title), note
        self.note.display = note > 0
        self.lines.styles.height = max(1, min(len(lines), size.height - 3 - len(title) - note))
        self.bar.show(*title)
        self.show_keys()
        self.show_rest(width)

    def title_lines(self, width: int) -> tuple[Line, ...]:
        return wrap(line((f" {visible(self.heading)}", Role.TITLE)), width, " ")[:LONGEST_TITLE]

    def keys(self) -> str:
        return " · ".join(("j k scroll", *self.offers.values(), f"Esc {self.leave}"))

    def show_keys(self, idle: str = "") -> None:
        """What the keys do, Enter's among them bright; `idle` is one that does nothing."""
        said = f" {show_key(idle)} does nothing here ·" if idle else ""
        before, first, after = f"{said} {self.keys()}".partition(next(iter(self.offers.values()), "Enter selects"))
        self.foot.show(line((before, Role.DIM), (first, Role.KEY), (after, Role.DIM)))

    def rest(self, number: int, width: int) -> tuple[Line, ...]:
        """What a line is too short for."""
        return ()

    def show_rest(self, width: int = 0) -> None:
        """What the marked line is too short for."""
        self.note.show(*self.rest(self.lines.marked, width or self.note.size.width))

    def take_key(self, event: events.Key) -> None:
        if event.key == "ctrl+c":
            self.app.exit()
            return
        key = event.character if event.character and event.is_printable and event.character != " " else event.key
        stroke = self.reader.feed(key, DIALOG)
        obeyed = stroke.command is not None and self.obey(stroke.command.id.removeprefix("dialog."), stroke.count or 1)
        self.show_keys(stroke.unknown or (key if stroke.command is not None and not obeyed else ""))

    def obey(self, name: str, count: int) -> bool:
        """Does what a command says; False where that is nothing."""
        if name in STEPS:
            self.lines.step(name, count)
            self.show_rest()
        elif name in self.offers:
            self.dismiss(name)
        elif name == "accept" and self.offers:
            self.dismiss(next(iter(self.offers)))
        elif name == "accept":
            self.choose(self.lines.marked if self.lines.line_count() else None)
        elif name in ("close", "leave"):
            self.dismiss(None)
        else:
            return False
        return True

    def choose(self, number: int | None) -> None:
        self.dismiss(number if self.picking else None)

    def on_line_view_clicked(self, message: LineView.Clicked) -> None:
        if self.picking and message.line < self.lines.line_count():
            self.choose(message.line)

    def on_line_view_wheeled(self, message: LineView.Wheeled) -> None:
        self.lines.move(message.lines)
        self.show_rest()
