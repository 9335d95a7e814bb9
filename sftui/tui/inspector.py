"""What a command may use: the state, the workspace, the panes, and the ways to say, to ask and to show something.

The main screen is one, which reads the keys and draws; commands know it by this alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

from textual.geometry import Size
from textual.screen import Screen

from sftui.errors import SftuiError
from sftui.model import SIDES, Inspection
from sftui.recipe import Recipe
from sftui.tui.arrangement import Box, arrange, place, resized
from sftui.tui.bars import Bar
from sftui.tui.base import KeyedApp
from sftui.tui.body import Body
from sftui.tui.commands.command import Command, show_key
from sftui.tui.contexts import (
    COMMAND_OF,
    CONVERSATION_PANE,
    DOCUMENT,
    FIGURES,
    FINDINGS,
    HOLDERS,
    LIST,
    OTHER_SIDE,
    RECIPE,
    TOKENS,
    keys_of,
)
from sftui.tui.dialogs import NO_OFFERS, Dialog, DialogAnswer, Maker, Offers
from sftui.tui.keys import Keymap
from sftui.tui.line_view import LineView
from sftui.tui.panes.document_pane import DocumentPane, FiguresPane
from sftui.tui.panes.findings_pane import FindingsPane
from sftui.tui.panes.recipe_pane import RecipePane
from sftui.tui.panes.row_list import RowList
from sftui.tui.panes.token_pane import TokenPane
from sftui.tui.prompt import Prompt
from sftui.tui.state import ComparisonState, Memo, Part, SessionState, State, StatusMessage
from sftui.tui.themes import Styles
from sftui.views.cells import Role
from sftui.views.pairs import side_words
from sftui.workspace import Workspace
from sftui.workspace.marks import MarksFile

Then = Callable[[DialogAnswer], None]
"""What follows a dialog."""


def nothing(answer: DialogAnswer) -> None:
    """Nothing follows."""


Do = Callable[[], None]
Show = Callable[["Inspector", str, bool], None]
"""Shows a view by its name; True: where the reader is."""


class View(NamedTuple):
    """`show` it for the row on screen, `paint` it once something else is known; `closed` gives the view that is opened
    in its place, None for none."""

    show: Show
    paint: Show
    closed: Callable[[Inspector], str | None] = lambda here: None


class Panes(NamedTuple):
    """The panes, each with its own scroll and cursor. Of a preference `tokens` is the side that has the cursor, `other`
    the other one."""

    rows: RowList
    recipe: RecipePane
    tokens: TokenPane
    other: TokenPane
    document: DocumentPane
    conversation: DocumentPane
    findings: FindingsPane
    figures: FiguresPane


class Inspector(Screen[None], inherit_bindings=False):
    """What stands around a command. What a command puts, says and opens is drawn once it is done."""

    views: Mapping[str, View]
    AUTO_FOCUS = None
    ALLOW_SELECT = False
    BLANK = True  # covered by what is in it: nothing of its own is painted

    def __init__(self, workspace: Workspace, keymap: Keymap, look: Styles) -> None:
        super().__init__()
        self.workspace = workspace
        self.keymap = keymap
        self.look = look
        self.state = State(SessionState(workspace.recipe), compared=ComparisonState(drawn=Memo(())))
        self.marks_file = MarksFile(workspace.options, self.marks_failed)
        self.laid_out_for = Size(0, 0)
        self.status_bar = Bar("status")
        self.sides = sides = TokenPane(), TokenPane()
        sides[0].twin, sides[1].twin = sides[1], sides[0]
        rows, documents = (RowList(), RecipePane(workspace)), (DocumentPane(), DocumentPane())
        self.panes = Panes(*rows, *sides, *documents, FindingsPane(), FiguresPane())
        contexts = (LIST, RECIPE, TOKENS, OTHER_SIDE, DOCUMENT, CONVERSATION_PANE, FINDINGS, FIGURES)
        self.by_context: dict[str, LineView] = dict(zip(contexts, self.panes, strict=True))
        self.detail = Bar("detail", ground="back")
        self.tour = Bar("tour")
        self.prompt = Prompt(self.say)
        self.ask = self.prompt.ask
        """Asks for a line."""
        self.footer = Bar("footer")
        self.body = Body(self.by_context, self.boxes, self.key_to)
        self.arranged = arrange(self.state.open, 0, 0)
        for pane in self.drawn():
            pane.look = look
        self.panes.rows.pairs = workspace.recipe.paired
        self.set_sides(workspace.recipe.paired)
        self.panes.rows.glyph = lambda row: self.state.kept.marks.get(row).glyph

    def key_to(self, view: str) -> str:
        """The key that leads to a pane or a view, "" where there is none."""
        keys = self.keymap.keys_of(COMMAND_OF.get(view, ""))
        return show_key(keys[0]) if keys else ""

    def drawn(self) -> tuple[LineView, ...]:
        """All that is drawn, line by line."""
        bars = (self.status_bar, self.detail, self.footer, self.tour, self.prompt)
        return (self.body.frame, *self.by_context.values(), *bars)

    def draw(self) -> None:
        """What a subclass draws around the panes, which draw themselves."""

    def marks_failed(self, reason: str) -> None:
        """Called on the thread that writes marks."""
        self.call_later(self.drawing(lambda: self.say(reason, Role.ERROR)))

    # — the state, and what follows from it —

    def put(self, *parts: Part) -> None:
        """Other parts of the state."""
        before, self.state = self.state, self.state.put(*parts)
        if self.state.open != before.open and self.laid_out_for:
            self.set_panes()
        elif self.state.row != before.row:
            self.panes.rows.set_current(self.state.row, self.panes.rows.active)

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

    def boxes(self, size: Size) -> dict[str, Box]:
        """Where the panes stand in a body of that size."""
        return place(self.arranged, self.state.open.sizes, size.width, size.height, self.panes.rows.bare)

    def set_panes(self, size: Size | None = None) -> None:
        """Which panes are seen at this size, and who of them holds the keys."""
        before, self.arranged = self.arranged, arrange(self.state.open, *(size or self.cells))
        now = self.arranged
        holder = now.holder(self.state.open.context, self.state.open.view)
        if holder == OTHER_SIDE:
            self.take_side(1 - self.state.open.side)
            return
        self.state = self.state.put(self.state.open._replace(context=holder))
        self.body.set_panes(now, holder)
        self.panes.rows.set_current(self.state.row, holder == LIST)
        for context, pane in self.by_context.items():
            if context not in (LIST, TOKENS, OTHER_SIDE):
                pane.set_active(holder == context)
        if self.is_attached:
            for view in now.views:
                moved = before.pane_of(view) != now.pane_of(view) if view in before.views else view in now.standing
                if moved:
                    self.views[view].show(self, view, False)

    def take_side(self, side: int) -> None:
        """Gives the cursor to one side of the row, at the same place, and shows all else of that one."""
        own, other = self.sides[side], self.sides[1 - side]
        self.panes = self.panes._replace(tokens=own, other=other)
        self.by_context[TOKENS], self.by_context[OTHER_SIDE] = own, other
        own.state = replace(own.state, quiet=False)
        own.repaint()
        other.look_with(own.state)
        now = self.state.open
        self.put(now._replace(side=side, context=TOKENS if now.context == OTHER_SIDE else now.context))
        self.show_view(keep=True)

    def show_row(
        self, made: Inspection, recipe: Recipe, hits: tuple[int, ...] | None = (), cursor: int | None = None
    ) -> None:
        """The tokens of a row, or of both its sides, through which hits and the cursor are numbered. None keeps the
        hits."""
        sides = made.alone
        paired = self.set_sides(recipe.paired or len(sides) > 1)
        self.sides[1].before = before = len(made.tokens or ()) if len(sides) > 1 else 0
        if cursor is not None and before and (cursor >= before) != self.state.open.side:
            self.take_side(1 - self.state.open.side)
        for pane, one in zip(self.sides, (*sides, made)[: self.state.open.sides]):
            pane.figures = side_words(one) if len(sides) > 1 else ""
            own = hits and tuple(hit - pane.before for hit in hits if not before or (hit < before) == (not pane.before))
            place = cursor if cursor is None or pane is not self.panes.tokens else cursor - pane.before
            pane.show(one, recipe, hits=own, cursor=place)
        if paired:
            self.panes.other.look_with(self.panes.tokens.state)

    def set_sides(self, paired: bool) -> bool:
        """As many panes of tokens as a row has sides; whether these are two."""
        if self.state.open.side and not paired:
            self.take_side(0)
        for pane, name in zip(self.sides, SIDES):
            pane.side = name if paired else ""
        if 1 + paired != self.state.open.sides:
            self.put(self.state.open._replace(sides=1 + paired))
        return paired

    def set_signs(self) -> None:
        """Room in the row list for what is marked and repaired, once there is any."""
        self.panes.rows.signs = 2 if self.workspace.repairs or self.state.kept.marks else 0
        self.panes.rows.repaint()
        self.set_panes()

    # — saying and asking —

    def run_command(self, command: Command, count: int | None = None) -> None:
        """Run the command, or say why it does nothing now."""
        why = command.when(self)
        if why is not None and why.text:
            self.put(why)
            return
        self.attempt(lambda: command.run(self, count))

    @property
    def terminal(self) -> KeyedApp[None]:
        """The program around the screen."""
        return cast("KeyedApp[None]", self.app)

    def say(self, text: str, role: Role = Role.PLAIN) -> None:
        """An answer in the line under the panes, until the next key; a long one goes on in place of the keys."""
        self.put(StatusMessage(text, role))

    def show_dialog(self, dialog: Dialog, then: Then = nothing) -> None:
        """A dialog over the panes, and what follows its answer."""
        self.app.push_screen(dialog, lambda answer: self.drawing(lambda: then(answer))())

    def pick(
        self, title: str, entries: Sequence[tuple[str, str]], then: Callable[[int], None], marked: str = ""
    ) -> None:
        """A list of names and what they mean; `then` gets the number of the one picked."""
        from sftui.tui.filter_dialog import OptionsDialog

        self.show_dialog(
            OptionsDialog(title, entries, self.keymap, marked),
            lambda number: then(number) if isinstance(number, int) else None,
        )

    def read(
        self, title: str, make: Maker, then: Then = nothing, offers: Offers = NO_OFFERS, leave: str = "closes"
    ) -> None:
        """Lines to read in a dialog, and what it offers."""
        self.show_dialog(Dialog(title, make, self.keymap, offers, leave), then)

    def offer_writing(self, title: str, make: Maker, write: Do, *, over: bool = False, then: Do = lambda: None) -> None:
        """Lines to read that say what would be written, or written `over`, which is done where that is wanted."""

        def answered(answer: DialogAnswer) -> None:
            if answer is None:
                self.say("nothing was written", Role.DIM)
            else:
                self.attempt(write)
            then()

        self.read(title, make, answered, {"yes": "Enter or a overwrites" if over else "Enter or a writes it"})

    def hold_keys(self, context: str) -> None:
        """Gives the keys to a pane; to the nearest one where that pane is hidden."""
        now = arrange(self.state.open._replace(alone=False), *self.cells)
        self.put(self.state.open._replace(context=now.holder(context, self.state.open.view)))

    def next_pane(self, step: int) -> None:
        """Gives the keys to the pane so many after the one that has them, round the ends."""
        there = self._standing()
        self.put(self.state.open._replace(context=there[(there.index(self.state.open.context) + step) % len(there)]))

    def pane_numbered(self, number: int) -> None:
        """Gives the keys to the pane that has this number in its title."""
        there = self._standing()
        if not 0 < number <= len(there):
            self.say(f"there is no pane {number:,}", Role.DIM)
            return
        self.put(self.state.open._replace(context=there[number - 1]))

    def _standing(self) -> tuple[str, ...]:
        """The panes on screen in their order, where none has it alone."""
        return arrange(self.state.open._replace(alone=False), *self.cells).panes

    @property
    def cells(self) -> Size:
        """Those of the screen, also before it was laid out."""
        return self.size or self.app.size

    def resize_pane(self, cells: int, lines: int) -> bool:
        """Makes the pane that holds the keys wider and higher; False where there is no room."""
        before, body = self.state.open, self.body.size
        self.put(resized(before, cells, lines, self.cells, body, self.panes.rows.bare))
        return self.state.open != before

    def pane_showing(self, view: str) -> DocumentPane:
        """The pane to read in that shows a view: the conversation may have one of its own."""
        return self.panes.conversation if self.arranged.pane_of(view) == CONVERSATION_PANE else self.panes.document

    def on_screen(self, view: str) -> bool:
        """Whether a view is open, or stands there."""
        return view == self.state.open.view or view in self.arranged.views

    def open_view(self, name: str) -> None:
        """Opens a view next to the tokens and gives it the keys; the one that has them is closed. Of one that stands
        there the keys go to it, and back."""
        now = self.state.open
        holder = self.arranged.holder(HOLDERS.get(name, self.arranged.pane_of(name)), name)
        if name in self.arranged.standing and now.view != name:
            self.hold_keys(TOKENS if now.context == self.arranged.pane_of(name) else self.arranged.pane_of(name))
        elif now.view == name and now.context == holder:
            self.close_view()
        elif now.view == name:
            self.hold_keys(holder)
        else:
            if now.view is not None:
                self.views[now.view].closed(self)
            self.put(self.state.open.opened(name))
            self.show_view()

    def close_view(self) -> None:
        """Closes the view that is open; what it opens in its place follows."""
        closed = self.state.open.view
        self.put(self.state.open.closed())
        instead = self.views[closed].closed(self) if closed is not None else None
        if instead is not None:
            self.open_view(instead)

    def show_view(self, *, keep: bool = False) -> None:
        """The open view for the row on screen; `keep` stays where the reader is, and shows those that stand there."""
        opened = self.state.open.view
        for name in dict.fromkeys((opened, *(self.arranged.views if keep else ()))):
            if name is not None:
                self.views[name].show(self, name, keep)

    def paint_view(self, name: str) -> None:
        """What a view shows is another thing now; nothing where it is not open."""
        if self.on_screen(name):
            self.views[name].paint(self, name, True)

    def open_help(self, then: Then) -> None:
        """Keys, signs and concepts, those keys first that work in the pane that holds them."""
        from sftui.tui.filter_dialog import HelpDialog

        self.show_dialog(HelpDialog(keys_of(self.state.open.context), self.keymap), then)

    def set_theme(self, name: str) -> None:
        """Other colours for everything."""
        self.terminal.use_theme(name)
        self.look = self.terminal.look
        for pane in self.drawn():
            pane.set_look(self.look)

    def redraw(self) -> None:
        """Everything, after another program had the terminal."""
        self.terminal.on_screen.forget()
        self.refresh(layout=False)

    def open_palette(self, then: Callable[[Command | int], None]) -> None:
        """Finds a command, or the number of a row."""
        from sftui.tui.filter_dialog import PaletteDialog

        def chosen(entry: Command | int) -> None:
            self.drawing(lambda: then(entry))()

        self.show_dialog(PaletteDialog(keys_of(self.state.open.context), self.keymap, chosen))
