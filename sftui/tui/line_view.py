"""The base of every pane: lines of cells (`sftui.views.cells`), painted as strips, repainted by difference.

Textual repaints a dirty region without looking at what is in it, and its scrolling marks the
whole pane dirty, so a pane keeps the lines that are on the terminal and marks only the cells that
differ: a cursor move costs some hundred bytes over SSH. Strips are kept in an LRU keyed by the
line itself and dropped when the theme changes (trap T10: Textual's own `Log` never fills its
cache). There is no scrollbar (it would double the bytes of every line) and no smooth scrolling.
"""

from __future__ import annotations

from rich.segment import Segment
from textual import events
from textual.cache import LRUCache
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from sftui.tui.themes import DEFAULT, Styles
from sftui.views.cells import Line

STRIPS = 1024
WHEEL = 3


class LineView(Widget, can_focus=False, inherit_bindings=False):
    """A pane of lines. Subclasses say `line_count` and `line_cells`; `repaint` after any change."""

    ALLOW_SELECT = False

    class Clicked(Message):
        """The user clicked a cell of the content."""

        def __init__(self, pane: LineView, x: int, line: int) -> None:
            super().__init__()
            self.pane, self.x, self.line = pane, x, line

    class Wheeled(Message):
        """The user turned the wheel by so many lines."""

        def __init__(self, pane: LineView, lines: int) -> None:
            super().__init__()
            self.pane, self.lines = pane, lines

    def __init__(self, ident: str) -> None:
        super().__init__(id=ident)
        self.look = Styles(DEFAULT)
        self.top = 0
        self.left = 0
        self.strips: LRUCache[Line, Strip] = LRUCache(STRIPS)
        self._shown: list[Line] = []

    # — what a subclass says —

    def line_count(self) -> int:
        return 0

    def line_cells(self, line: int) -> Line:
        return ()

    def visible_lines(self) -> list[Line]:
        """The lines on screen, at most the height of the pane."""
        last = min(self.top + self.size.height, self.line_count())
        return [self.line_cells(line) for line in range(self.top, last)]

    # — painting —

    def repaint(self) -> None:
        """Marks the cells that differ from what is on the terminal."""
        before, after = self._shown, self.visible_lines()
        self._shown = after
        regions = []
        for y in range(max(len(before), len(after))):
            old = before[y] if y < len(before) else ()
            new = after[y] if y < len(after) else ()
            if old != new:
                start, end = difference(old, new)
                start, end = max(start - self.left, 0), min(end - self.left, self.size.width)
                if start < end:
                    regions.append(Region(start, y, end - start, 1))
        if regions:
            self.refresh(*regions)

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if y >= len(self._shown):
            return Strip.blank(width, self.look.plain)
        cells = self._shown[y]
        strip = self.strips.get(cells)
        if strip is None:
            strip = self.strips[cells] = strip_of(cells, self.look)
        return strip.crop_extend(self.left, self.left + width, self.look.plain)

    def set_look(self, look: Styles) -> None:
        self.look = look
        self.notify_style_update()
        self.refresh()

    def notify_style_update(self) -> None:
        self.strips.clear()
        super().notify_style_update()

    # — moving —

    @property
    def page(self) -> int:
        return max(1, self.size.height - 1)

    def scroll_lines(self, lines: int) -> None:
        self.scroll_top(self.top + lines)

    def scroll_top(self, top: int) -> None:
        self.top = max(0, min(top, self.line_count() - self.size.height))
        self.repaint()

    def scroll_columns(self, columns: int, widest: int) -> None:
        left = max(0, min(self.left + columns, widest - self.size.width))
        if left != self.left:
            self.left = left
            self.refresh()

    def keep_in_view(self, line: int) -> None:
        """Scrolls as little as needed, or centres a line that is far away; does not repaint."""
        height = max(1, self.size.height)
        if not self.top <= line < self.top + height:
            near = self.top - height <= line < self.top + 2 * height
            self.top = line - height // 2 if not near else line if line < self.top else line - height + 1
        self.top = max(0, min(self.top, self.line_count() - height))

    # — events —

    def on_resize(self, event: events.Resize) -> None:
        self._shown = []
        self.resized()
        self._shown = self.visible_lines()
        self.refresh()

    def resized(self) -> None:
        """The pane has another size: lay out again; the repaint follows."""
        self.top = max(0, min(self.top, self.line_count() - self.size.height))

    def on_click(self, event: events.Click) -> None:
        self.post_message(self.Clicked(self, event.x + self.left, event.y + self.top))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.post_message(self.Wheeled(self, WHEEL))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.post_message(self.Wheeled(self, -WHEEL))


def difference(old: Line, new: Line) -> tuple[int, int]:
    """The cells from the first to after the last in which two lines differ."""
    start = 0
    for a, b in zip(old, new):
        if a != b:
            break
        start += a.width
    else:
        n = min(len(old), len(new))
        old, new = old[n:], new[n:]
        return start, start + max(sum(s.width for s in old), sum(s.width for s in new))
    old_width, new_width = sum(s.width for s in old), sum(s.width for s in new)
    end = max(old_width, new_width)
    if old_width == new_width:
        for a, b in zip(reversed(old), reversed(new)):
            if a != b:
                break
            end -= a.width
    return start, end


def strip_of(cells: Line, look: Styles, ground: str = "back") -> Strip:
    """One line of cells as a strip."""
    return Strip([Segment(run.text, look.of(run.role, run.over, ground)) for run in cells])


def bar_strip(left: Line, right: Line, width: int, look: Styles) -> Strip:
    """A bar: what is left, blank, what is right; the left gives way."""
    head, tail = strip_of(left, look, "bar"), strip_of(right, look, "bar")
    room = max(0, width - tail.cell_length)
    body = head.crop(0, room).extend_cell_length(room, look.bar)
    return Strip.join([body, tail]).crop_extend(0, width, look.bar)
