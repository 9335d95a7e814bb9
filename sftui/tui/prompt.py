"""The one-line prompt: search, go to row, a knob's value, a file name.

It never takes Textual's focus: moving the focus is asynchronous, and keys typed in between (`/word`
from a quick hand, or pasted) would be lost or arrive out of order.
"""

from __future__ import annotations

from collections.abc import Callable

from sftui.errors import SftuiError
from sftui.text import cell_width, visible
from sftui.tui.line_view import LineView
from sftui.views.cells import Line, Over, Role, Segment

Done = Callable[[str], None]
"""Gets what was typed."""


def edit(text: str, cursor: int, key: str, character: str | None) -> tuple[str, int]:
    """The text and the cursor after a key; keys without meaning change nothing."""
    if character is not None and character.isprintable():
        return text[:cursor] + character + text[cursor:], cursor + len(character)
    if key in ("backspace", "ctrl+w"):
        start = cursor - 1 if key == "backspace" else text[:cursor].rstrip().rfind(" ") + 1
        start = max(0, start)
        return text[:start] + text[cursor:], start
    if key == "delete":
        return text[:cursor] + text[cursor + 1 :], cursor
    if key == "ctrl+u":
        return text[cursor:], 0
    if key == "ctrl+k":
        return text[:cursor], cursor
    places = {"left": cursor - 1, "right": cursor + 1, "home": 0, "ctrl+a": 0, "end": len(text), "ctrl+e": len(text)}
    return text, max(0, min(places.get(key, cursor), len(text)))


def around_cursor(text: str, cursor: int) -> tuple[str, str, str]:
    """What is shown before the cursor, under it and after it."""
    return visible(text[:cursor]), visible(text[cursor : cursor + 1]) or " ", visible(text[cursor + 1 :])


def ignore(text: str) -> None:
    """Nothing follows what is typed."""


class Prompt(LineView):
    """Takes the place of the keys in the footer while it is open; the line above shows the question."""

    DEFAULT_CSS = "Prompt { height: 1; display: none; }"

    def __init__(self, say: Callable[[str, Role], None]) -> None:
        """`say` shows the question, and a complaint, in the line above."""
        super().__init__("prompt")
        self.ground = "bar"
        self._say = say
        self.open = False
        self.text = ""
        self.cursor = 0
        self._done: Done = ignore
        self._typed: Done = ignore
        self._raw = False
        self._at_once: tuple[str, ...] = ()

    def ask(
        self,
        label: str,
        done: Done,
        *,
        value: str = "",
        raw: bool = False,
        at_once: tuple[str, ...] = (),
        typed: Done = ignore,
    ) -> None:
        """Asks for a line; `done` gets it, and what it raises is a complaint that keeps the prompt open.

        `raw`: as it was typed, else without blanks around it, and not at all where nothing is left. The texts `at_once`
        need no Enter; `typed` gets each text on the way, and none where Esc gives up.
        """
        self._done, self._raw, self._at_once, self._typed = done, raw, at_once, typed
        self.text, self.cursor = value, len(value)
        self._say(label, Role.PLAIN)
        self._show(True)

    def close(self) -> None:
        self._show(False)
        self._say("", Role.PLAIN)

    def press(self, key: str, character: str | None) -> None:
        """One key, in the order in which keys are typed."""
        if key in ("escape", "ctrl+c"):
            self.close()
            self._typed("")
        elif key == "enter":
            self.submit()
        else:
            before = self.text
            self.text, self.cursor = edit(self.text, self.cursor, key, character)
            if self.text != before and self.text in self._at_once:
                self.submit()
            else:
                if self.text != before:
                    self._typed(self.text)
                self.repaint()

    def submit(self) -> None:
        self.close()
        try:
            if self._raw or self.text.strip():
                self._done(self.text if self._raw else self.text.strip())
        except (SftuiError, OSError) as error:
            self._say(str(error), Role.ERROR)
            self._show(True)

    def _show(self, on: bool) -> None:
        self.open = self.display = on
        self.repaint()

    def line_count(self) -> int:
        return 1

    def line_cells(self, line: int) -> Line:
        """The text around the cursor: what is left of a narrow screen goes to what was typed last."""
        before, at, after = around_cursor(self.text, self.cursor)
        room = max(4, self.size.width - cell_width(at) - 2)
        while cell_width(before) > room:
            before = before[1:]
        return (Segment(" " + before, Role.VALUE), Segment(at, Role.VALUE, Over.CURSOR), Segment(after, Role.VALUE))
