"""Dialogs over the panes: one to read, one to pick from. Their content is lines of cells, never markup."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.geometry import Size
from textual.screen import ModalScreen

from sftui.text import cell_width, clip, visible
from sftui.tui.bars import Bar
from sftui.tui.commands.command import STEPS
from sftui.tui.contexts import DIALOG
from sftui.tui.keys import Keymap, KeyReader
from sftui.tui.line_view import LineView
from sftui.tui.themes import Styles
from sftui.views.cells import Line, Over, Role, line, wrap

Answer = int | str | None
"""None where a dialog was closed, else the number of the line picked, or the name of what it offers."""
NO_OFFERS: Mapping[str, str] = {}
LONGEST_TITLE, LONGEST_NOTE = 4, 3
"""Lines of a title, and of what the marked line is too short for."""


class DialogLines(LineView):
    """The lines of a dialog; with `marked` one of them is picked from."""

    pages_move = True

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

    def move(self, steps: int) -> None:
        if self.picking:
            self.marked = max(0, min(self.marked + steps, len(self.lines) - 1))
            self.keep_in_view(self.marked)
            self.repaint()
        else:
            self.scroll_lines(steps)

    def line_cells(self, number: int) -> Line:
        marked = self.picking and number == self.marked
        return tuple(run._replace(over=Over.CURSOR) if marked else run for run in self.lines[number])


class Dialog(ModalScreen[Answer], inherit_bindings=False):
    """A titled box, which dismisses with an `Answer`. `offers` are the commands of dialogs that answer it, each with
    the words for its key."""

    DEFAULT_CSS = """
    Dialog { align: center middle; background: transparent; }
    #dialog {
        border: solid $primary; background: $background;
        height: auto; max-height: 100%; width: 100%; max-width: 100;
    }
    #dialog-lines { height: auto; }
    """
    AUTO_FOCUS = None
    ALLOW_SELECT = False

    def __init__(
        self,
        title: str,
        make: Callable[[int], Sequence[Line]],
        keymap: Keymap,
        look: Styles,
        *,
        picking: bool = False,
        offers: Mapping[str, str] = NO_OFFERS,
        leave: str = "closes",
        marked: int = 0,
    ) -> None:
        super().__init__()
        self.heading = title
        self.offers = offers
        self.leave = leave
        self.reader = KeyReader(keymap)
        self.look = look
        self.make = make
        self.lines = DialogLines(make, picking)
        self.lines.marked = marked
        self.bar = Bar("dialog-title")
        self.note = Bar("dialog-note", ground="back")
        self.foot = Bar("dialog-foot", ground="back")
        self.parts: tuple[LineView, ...] = (self.bar, self.lines, self.note, self.foot)

    def compose(self) -> ComposeResult:
        yield Container(*self.parts, id="dialog")

    def on_mount(self) -> None:
        for part in self.parts:
            part.set_look(self.look)
        self.fit(self.app.size)

    def on_resize(self, event: events.Resize) -> None:
        self.fit(event.size)

    def fit(self, size: Size) -> None:
        """As tall as its lines, at most as tall as the screen; the title and the meaning of the marked line are shown
        whole."""
        width = max(8, min(size.width, 100) - 2)
        title = self.title_lines(width)
        entries = range(len(self.make.texts)) if isinstance(self.make, Options) else ()
        note = max((len(self.rest(number, width)) for number in entries), default=0)
        self.bar.styles.height, self.note.styles.height = len(title), note
        self.note.display = note > 0
        self.lines.styles.height = max(1, min(len(self.make(width)), size.height - 3 - len(title) - note))
        self.bar.show(*title)
        self.foot.show(line((f" {self.keys()}", Role.DIM)))
        self.show_rest(width)

    def title_lines(self, width: int) -> tuple[Line, ...]:
        return wrap(line((f" {visible(self.heading)}", Role.TITLE)), width, " ")[:LONGEST_TITLE]

    def keys(self) -> str:
        if self.lines.picking:
            return "j k move · Enter selects · Esc closes"
        return " · ".join(("j k scroll", *self.offers.values(), f"Esc {self.leave}"))

    def rest(self, number: int, width: int) -> tuple[Line, ...]:
        """What a line is too short for."""
        return self.make.left(number, width) if isinstance(self.make, Options) else ()

    def show_rest(self, width: int = 0) -> None:
        """What the marked line is too short for."""
        self.note.show(*self.rest(self.lines.marked, width or self.note.size.width))

    def take_key(self, event: events.Key) -> None:
        if event.key == "ctrl+c":
            self.app.exit()
            return
        key = event.character if event.character and event.is_printable and event.character != " " else event.key
        stroke = self.reader.feed(key, DIALOG)
        if stroke.unknown:
            moved = self.reader.keymap.went(DIALOG, stroke.sequence)
            self.foot.show(line((f" {moved or self.keys()}", Role.DIM)))
        if stroke.command is not None and stroke.command.context == DIALOG:
            self.obey(stroke.command.id.removeprefix("dialog."), stroke.count or 1)

    def obey(self, name: str, count: int) -> None:
        if name in STEPS:
            self.lines.step(name, count)
            self.show_rest()
        elif name in self.offers:
            self.dismiss(name)
        elif name == "accept":
            self.choose(self.lines.marked if self.lines.line_count() else None)
        elif name in ("close", "leave"):
            self.dismiss(None)

    def choose(self, number: int | None) -> None:
        self.dismiss(number if self.lines.picking else None)

    def on_line_view_clicked(self, message: LineView.Clicked) -> None:
        if self.lines.picking and message.line < self.lines.line_count():
            self.choose(message.line)

    def on_line_view_wheeled(self, message: LineView.Wheeled) -> None:
        self.lines.move(message.lines)
        self.show_rest()


class Options:
    """Lines to pick from: a name and what it means."""

    def __init__(self, entries: Sequence[tuple[str, str]]) -> None:
        widest = max((len(name) for name, _ in entries), default=0)
        self.meanings = [visible(meaning) for _, meaning in entries]
        self.texts = [f" {visible(name):<{widest}}  {meaning}" for (name, _), meaning in zip(entries, self.meanings)]

    def __call__(self, width: int) -> Sequence[Line]:
        texts = (clip(text, width) for text in self.texts)
        return [line((text + " " * max(0, width - cell_width(text)), Role.PLAIN)) for text in texts]

    def left(self, number: int, width: int) -> tuple[Line, ...]:
        """The meaning of an entry over a few lines, where its own line cuts it."""
        if not 0 <= number < len(self.texts) or cell_width(self.texts[number]) <= width:
            return ()
        return wrap(line((f" {self.meanings[number]}", Role.VALUE)), width, " ")[:LONGEST_NOTE]
