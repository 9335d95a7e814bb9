"""What a command may use: the state, the workspace, the panes, and the ways to say, to ask and to show something.

The main screen is one; commands know it by this alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, Protocol

from sftui.views.cells import Line, Role

if TYPE_CHECKING:
    from sftui.tui.panes.document_pane import DocumentPane
    from sftui.tui.panes.figures_pane import FiguresPane
    from sftui.tui.panes.findings_pane import FindingsPane
    from sftui.tui.panes.recipe_pane import RecipePane
    from sftui.tui.panes.row_list import RowList
    from sftui.tui.panes.token_pane import TokenPane
    from sftui.tui.state import Part, State
    from sftui.workspace import Workspace
    from sftui.workspace.marks_file import MarksFile

Maker = Callable[[int], Sequence[Line]]
"""Lines for a width in cells."""
Answer = Callable[[int | None], None]
"""What follows a dialog: None where it was closed, else the number of its answer."""


class Panes(NamedTuple):
    """The panes, each with its own scroll and cursor."""

    rows: RowList
    recipe: RecipePane
    tokens: TokenPane
    document: DocumentPane
    conversation: DocumentPane
    findings: FindingsPane
    figures: FiguresPane


class Terminal(Protocol):
    """The program around the screen."""

    def use_theme(self, name: str) -> None: ...

    def toggle_mouse(self) -> bool: ...

    def write_to_terminal(self, text: str) -> None: ...

    def forget_cells(self) -> None:
        """What stands on the terminal is not known: all of the next frame is written."""

    def suspend(self) -> AbstractContextManager[None]: ...

    def action_suspend_process(self) -> None: ...

    def exit(self) -> None: ...


class Inspector(Protocol):
    """What stands around a command. What a command puts, says and opens is drawn once it is done."""

    marks_file: MarksFile

    @property
    def state(self) -> State: ...

    @property
    def workspace(self) -> Workspace: ...

    @property
    def panes(self) -> Panes: ...

    @property
    def terminal(self) -> Terminal: ...

    @property
    def theme_name(self) -> str: ...

    def put(self, *parts: Part) -> None:
        """Other parts of the state."""

    def say(self, text: str, role: Role = Role.PLAIN) -> None:
        """An answer in the line under the panes, until the next key; a long one goes on in place of the keys."""

    def ask(
        self,
        label: str,
        done: Callable[[str], None],
        *,
        value: str = "",
        raw: bool = False,
        at_once: tuple[str, ...] = (),
    ) -> None:
        """Asks for a line, as `Prompt.ask` does."""

    def pick(
        self, title: str, entries: Sequence[tuple[str, str]], then: Callable[[int], None], *, marked: int = 0
    ) -> None:
        """A list of names and what they mean; `then` gets the number of the one picked."""

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
        """Lines to read in a dialog, and what it offers."""

    def later(self, seconds: float, call: Callable[[], None]) -> None: ...

    def hold_keys(self, context: str) -> None:
        """Gives the keys to a pane; to the nearest one where that pane is hidden."""

    def next_pane(self, step: int) -> None: ...

    def resize_pane(self, cells: int, lines: int) -> bool:
        """Makes the pane that holds the keys wider and higher; False where there is no room."""

    def pane_showing(self, view: str) -> DocumentPane:
        """The pane to read in that shows a view: the conversation may have one of its own."""

    def on_screen(self, view: str) -> bool:
        """Whether a view is open, or stands there."""

    def open_view(self, name: str) -> None:
        """Opens a view next to the tokens and gives it the keys; the same one is closed. Of one that stands there the
        keys go to it, and back."""

    def close_view(self) -> None: ...

    def show_view(self, *, keep: bool = False) -> None:
        """The open view for the row on screen; `keep` stays where the reader is."""

    def paint_view(self, name: str) -> None:
        """What a view shows is another thing now; nothing where it is not open."""

    def set_signs(self) -> None:
        """Room in the row list for what is marked and repaired, once there is any."""

    def set_theme(self, name: str) -> None: ...

    def redraw(self) -> None:
        """Everything, after another program had the terminal."""

    def open_help(self, then: Answer) -> None:
        """Keys, signs and concepts, those keys first that work in the pane that holds them."""

    def open_palette(self) -> None: ...
