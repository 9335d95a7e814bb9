"""The part of the screen where the panes stand: each at its place, the rules and titles between them below all."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from textual.app import ComposeResult
from textual.geometry import NULL_OFFSET, Region, Size, Spacing
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.widget import Widget

from sftui.tui.arrangement import BOX, Arrangement, Box
from sftui.tui.contexts import TOKENS
from sftui.tui.line_view import LineView
from sftui.views.cells import Line
from sftui.views.frame import FramedPane, frame_lines

Places = Callable[[Size], Mapping[str, Box]]
"""Where the panes stand in a body of a size."""
NO_MARGIN = Spacing()


class AtPlaces(Layout):
    """Puts the frame over all of the body, and each pane above it at its place."""

    name = "places"

    def __init__(self, frame: Widget, panes: Mapping[str, LineView], places: Places) -> None:
        super().__init__()
        self.frame, self.panes, self.places = frame, panes, places
        self.laid: Mapping[str, Box] = {}

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> ArrangeResult:
        boxes = self.laid = self.places(size)
        found = [WidgetPlacement(size.region, NULL_OFFSET, NO_MARGIN, self.frame, 0)]
        for name, pane in self.panes.items():
            if pane.display and name in boxes:
                box = boxes[name]
                region = Region(box.x, box.y, box.width, box.height)
                found.append(WidgetPlacement(region, NULL_OFFSET, NO_MARGIN, pane, 1))
        return found


class Frame(LineView):
    """The rules between the panes, with their titles."""

    def __init__(self) -> None:
        super().__init__("frame")
        self.make: Callable[[int, int], tuple[Line, ...]] = lambda width, height: ()

    def resized(self) -> None:
        self.lines = self.make(self.size.width, self.size.height)


class Body(Widget, inherit_bindings=False):
    """The panes by their names, at the places that `places` gives."""

    DEFAULT_CSS = "Body { height: 1fr; }"
    ALLOW_SELECT = False
    BLANK = True  # the frame covers it

    def __init__(self, panes: Mapping[str, LineView], places: Places, key_of: Callable[[str], str]) -> None:
        super().__init__(id="body")
        self.panes, self.places, self.key_of = panes, places, key_of
        self.frame = Frame()
        self.frame.make = self._framed
        self._at_places = AtPlaces(self.frame, panes, places)
        self.holder = TOKENS
        for pane in panes.values():
            pane.drawn_anew = lambda: self.draw(self.holder)

    @property
    def layout(self) -> Layout:
        return self._at_places

    def compose(self) -> ComposeResult:
        yield self.frame
        yield from self.panes.values()

    def set_panes(self, now: Arrangement, holder: str) -> None:
        """Shows the panes that are seen, of which one holds the keys."""
        self.holder = holder
        boxes = self.places(self.size or self.app.size)
        for name, pane in self.panes.items():
            pane.display = name in now.panes
            pane.headed = name in boxes and boxes[name].frame != ""
        if self.size and boxes != self._at_places.laid:
            self.frame.refresh(repaint=False, layout=True)  # of a child: it is its parent that is laid out anew

    def draw(self, holder: str) -> None:
        """The rules and titles, after anything that they show changed."""
        self.holder = holder
        self.frame.resized()
        self.frame.repaint()

    def _framed(self, width: int, height: int) -> tuple[Line, ...]:
        boxes = self.places(Size(width, height))
        framed = []
        for number, (name, box) in enumerate(boxes.items(), 1):
            pane, active = self.panes[name], name == self.holder
            if box.frame:
                pane.number, pane.key = number, self.key_of(pane.named())
                title = pane.title(box.width, active)
                framed.append(FramedPane(*box[:4], title, active, box.frame == BOX, pane.rules()))
        return frame_lines(framed, width, height)
