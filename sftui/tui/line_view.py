"""The base of every pane: lines of cells (`sftui.views.cells`), painted as strips, repainted by difference.

Textual repaints a dirty region without looking at what is in it, and its scrolling marks the
whole pane dirty, so a pane keeps the lines that are on the terminal and marks only the cells that
differ: a cursor move costs some hundred bytes over SSH. Strips are kept in an LRU keyed by the
line itself and dropped when the theme changes (trap T10: Textual's own `Log` never fills its
cache). There is no scrollbar (it would double the bytes of every line) and no smooth scrolling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.cache import LRUCache
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from sftui.model import common_prefix
from sftui.text import cell_width, clip, has_clusters, has_words, visible
from sftui.tui.commands.command import steps
from sftui.tui.sgr import padded
from sftui.tui.themes import DEFAULT, Styles
from sftui.views.cells import Line, Role
from sftui.views.cells import Segment as Run
from sftui.views.frame import title_cells

Item = TypeVar("Item")
STRIPS = 1024
WIDE = 2_000
"""Cells in which what is listed is looked for whole, as a wide screen would show it."""
LONGEST_FILTER = 20
"""Cells of a filter in a title."""
WHEEL = 3


class LineView(Widget, can_focus=False, inherit_bindings=False):
    """A pane of `lines`, or of what subclasses say by `line_count` and `line_cells`; `repaint` after any change."""

    ALLOW_SELECT = False
    name_of_pane = ""
    hint = ""
    lines: tuple[Line, ...] = ()
    owners: tuple[Any, ...] = ()
    """What each of the lines belongs to; None where it is nothing that can be marked."""
    filter = ""
    """What is listed has every word of it."""
    counted = (0, 0)
    """How many have, and of how many."""
    pages_move = False
    """Whether the keys for a page move what is marked; else they scroll."""

    @dataclass
    class Clicked(Message):
        """The user clicked a cell of the content."""

        pane: LineView
        x: int
        line: int

    @dataclass
    class Wheeled(Message):
        """The user turned the wheel by so many lines."""

        pane: LineView
        lines: int

    def __init__(self, ident: str | None = None) -> None:
        super().__init__(id=ident)
        self.look = Styles(DEFAULT)
        self.ground = "back"
        self.active = False
        self.headed = False
        self.number, self.key = 0, ""
        self.drawn_anew: Callable[[], None] = lambda: None
        self.top = 0
        self.left = 0
        self.strips: LRUCache[Line, Strip] = LRUCache(STRIPS)
        self._shown: list[Line] = []
        self._drawn_for = Size(0, 0)
        self._painted: dict[int, tuple[Line | None, Strip]] = {}
        self._painted_for: tuple[object, ...] = ()

    # — what a subclass says —

    def line_count(self) -> int:
        return len(self.lines)

    def line_cells(self, line: int) -> Line:
        return self.lines[line]

    def named(self) -> str:
        """What its title calls it."""
        return self.name_of_pane

    def title(self, width: int, active: bool) -> Line:
        """Its number, name and key, in the frame above it where there is one (`headed`); `active`: it holds the
        keys."""
        named = self.named() + self.filter_words()
        return title_cells(named, self.hint, width, active, number=self.number, key=self.key)

    def filter_words(self) -> str:
        """The filter of the list, and how many of it have its words; "" where it has none."""
        return (
            f" /{visible(clip(self.filter, LONGEST_FILTER))} {self.counted[0]:,} of {self.counted[1]:,}"
            if self.filter
            else ""
        )

    def filtered(self, items: Iterable[Item], text_of: Callable[[Item], str]) -> tuple[Item, ...]:
        """Those of a list that have the words of the filter; how many is counted."""
        listed = tuple(items)
        kept = tuple(one for one in listed if has_words(text_of(one), self.filter)) if self.filter else listed
        self.counted = len(kept), len(listed)
        return kept

    def set_filter(self, text: str) -> None:
        """Lists only what has these words."""
        self.filter, self.top = text, 0
        self.rebuild()

    def rules(self) -> tuple[int, ...]:
        """Lines of it that are rules from side to side."""
        return ()

    def visible_lines(self) -> list[Line]:
        """The lines on screen, at most the height of the pane."""
        last = min(self.top + self.size.height, self.line_count())
        return [self.line_cells(line) for line in range(self.top, last)]

    # — painting —

    def repaint(self) -> None:
        """Marks the cells that differ from what is on the terminal; a hidden pane waits until it is shown."""
        if not self.display or not self.size:
            return
        before, after = self._shown, self.visible_lines()
        self._shown = after
        regions, width = [], self.size.width
        for y in range(max(len(before), len(after))):
            old = before[y] if y < len(before) else ()
            new = after[y] if y < len(after) else ()
            if old != new:
                start, end = difference(old, new)
                start, end = max(start - self.left, 0), min(end - self.left, width)
                if start < end:
                    regions.append(Region(start, y, end - start, 1))
        if regions:
            self.refresh(*regions)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Lines painted before, while their cells stay the same: no CSS draws over them, so Textual's own cache, which
        asks each line what is drawn around it, has nothing to add.

        Textual paints a new pane before it tells it its size; the first paint shows what is in it all the same.
        """
        if not self._drawn_for:
            self._lay_out()
        width, filters = self.size.width, self.get_line_filters()
        key = (self.left, width, *filters)
        if key != self._painted_for:
            self._painted_for, self._painted = key, {}
        painted, shown = self._painted, dict(enumerate(self._shown))
        anew = [y for y in crop.line_range if y not in painted or painted[y][0] is not shown.get(y)]
        if anew:
            ground = self.background_colors[1]
            for y in anew:
                strip = self._strip_at(y, width)
                for line_filter in filters:
                    strip = strip.apply_filter(line_filter, ground)
                painted[y] = shown.get(y), strip
        start, end = crop.column_span
        strips = [painted[y][1] for y in crop.line_range]
        return strips if (start, end) == (0, width) else [strip.crop(start, end) for strip in strips]

    def render_line(self, y: int) -> Strip:
        return self._strip_at(y, self.size.width)

    def _strip_at(self, y: int, width: int) -> Strip:
        if y >= len(self._shown):
            return Strip.blank(width, self.blank)
        cells = self._shown[y]
        strip = self.strips.get(cells)
        if strip is None:
            strip = self.strips[cells] = strip_of(cells, self.look, self.ground)
        return strip.crop_extend(self.left, self.left + width, self.blank)

    @property
    def blank(self) -> Style:
        return self.look.of(Role.PLAIN, ground=self.ground)

    def set_look(self, look: Styles) -> None:
        self.look = look
        self.notify_style_update()
        self.refresh()

    def notify_style_update(self) -> None:
        self.strips.clear()
        self._painted.clear()
        super().notify_style_update()

    # — moving —

    @property
    def page(self) -> int:
        return max(1, self.size.height - 1)

    def step(self, kind: str, count: int) -> None:
        """One of the movement keys (`STEPS`), so many times."""
        move = self.scroll_lines if kind.startswith("page") and not self.pages_move else self.move
        move(steps(kind, count, self.page))

    def move(self, steps: int) -> None:
        """So many lines on, or of what a subclass moves over."""
        self.scroll_lines(steps)

    @property
    def heads(self) -> int:
        """Lines before those that have owners."""
        return 0

    def owner(self, line: int) -> Any:
        """What a line belongs to."""
        at = line - self.heads
        return self.owners[at] if 0 <= at < len(self.owners) else None

    def keep_owner_in_view(self, owner: Any) -> None:
        """Scrolls to the lines that belong to something, above all to the first of them."""
        own = [line for line, by in enumerate(self.owners, self.heads) if by == owner]
        for line in (own[-1], own[0]) if own else ():
            self.keep_in_view(line)

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
        height = self.size.height
        if not height:
            return  # not laid out yet; `resized` asks again
        if not self.top <= line < self.top + height:
            near = self.top - height <= line < self.top + 2 * height
            self.top = line - height // 2 if not near else line if line < self.top else line - height + 1
        self.top = max(0, min(self.top, self.line_count() - height))

    # — events —

    def on_resize(self, event: events.Resize) -> None:
        if self.size != self._drawn_for:
            self.draw_anew()

    def on_show(self, event: events.Show) -> None:
        """Shown again: what has changed while it was hidden."""
        self.rebuild()

    def rebuild(self) -> None:
        """Lays out again what is shown, and repaints what differs."""
        self.resized()
        self.repaint()

    def draw_anew(self) -> None:
        """Lays out and draws everything, and what stands around it."""
        self._lay_out()
        self.refresh()
        self.drawn_anew()

    def _lay_out(self) -> None:
        self._drawn_for = self.size
        self.resized()
        self._shown = self.visible_lines()

    def resized(self) -> None:
        """The pane has another size: lay out again; the repaint follows."""
        self.top = max(0, min(self.top, self.line_count() - self.size.height))

    def set_active(self, active: bool) -> None:
        """Whether the pane has the keys, which its lines may show."""
        if active != self.active:
            self.active = active
            self.rebuild()

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
    start = _alike(old, new, 1)
    old_width, new_width = sum(s.width for s in old), sum(s.width for s in new)
    alike_at_end = _alike(old, new, -1) if old_width == new_width else 0
    return start, max(start, max(old_width, new_width) - alike_at_end)


def _alike(old: Line, new: Line, step: int) -> int:
    """How many cells are the same at the beginning of two lines, or at their end (-1)."""
    cells = 0
    for a, b in zip(old[::step], new[::step]):
        if a != b:
            return cells + cell_width(_shared(a, b, step)) if (a.role, a.over) == (b.role, b.over) else cells
        cells += a.width
    return cells


def _shared(a: Run, b: Run, step: int) -> str:
    """The beginning that two texts share, or the end (-1); none of words whose cells are held as a whole."""
    if has_clusters(a.text) or has_clusters(b.text):
        return ""
    text = a.text[::step]
    return text[: common_prefix(text, b.text[::step])]


def strip_of(cells: Line, look: Styles, ground: str = "back") -> Strip:
    """One line of cells as a strip; runs that look the same are one, and blanks take the style before them."""
    segments: list[Segment] = []
    text, style = "", None
    for run in cells:
        own = look.of(run.role, run.over, ground)
        drawn = style is not None and (style.reverse or style.underline or style.strike)
        blank = not run.over and style is not None and run.text.isspace() and not drawn
        shown = padded(run.text)
        if style is None or own == style or blank:
            text, style = text + shown, style or own
        else:
            segments.append(Segment(text, style))
            text, style = shown, own
    if style is not None:
        segments.append(Segment(text, style))
    return Strip(segments)
