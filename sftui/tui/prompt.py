"""The one-line prompt: search, go to row, a knob's value, a file name.

It never takes Textual's focus: moving the focus is asynchronous, and keys typed in between (`/word`
from a quick hand, or pasted) would be lost or arrive out of order.
"""

from __future__ import annotations

from collections.abc import Callable

from sftui.text import cell_width, visible
from sftui.tui.line_view import LineView
from sftui.views.cells import Line, Over, Role, Segment


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
        self._done: Callable[[str], str | None] = lambda text: None
        self._at_once: Callable[[str], bool] = lambda text: False

    def ask(
        self,
        label: str,
        done: Callable[[str], str | None],
        *,
        value: str = "",
        at_once: Callable[[str], bool] = lambda text: False,
    ) -> None:
        """Asks; `done` gets the text and returns None, or a complaint that keeps the prompt open.

        `at_once` says for a text that it needs no Enter.
        """
        self._done, self._at_once = done, at_once
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
        elif key == "enter":
            self.submit()
        else:
            before = self.text
            self.text, self.cursor = edit(self.text, self.cursor, key, character)
            if self.text != before and self._at_once(self.text):
                self.submit()
            else:
                self.repaint()

    def submit(self) -> None:
        self.close()
        complaint = self._done(self.text)
        if complaint is not None:
            self._say(complaint, Role.ERROR)
            self._show(True)

    def _show(self, on: bool) -> None:
        self.open = self.display = on
        self.repaint()

    def line_count(self) -> int:
        return 1

    def line_cells(self, line: int) -> Line:
        """The text around the cursor: what is left of a narrow screen goes to what was typed last."""
        before, at, after = (
            visible(self.text[: self.cursor]),
            visible(self.text[self.cursor : self.cursor + 1]) or " ",
            visible(self.text[self.cursor + 1 :]),
        )
        room = max(4, self.size.width - cell_width(at) - 2)
        while cell_width(before) > room:
            before = before[1:]
        return (Segment(" " + before, Role.VALUE), Segment(at, Role.VALUE, Over.CURSOR), Segment(after, Role.VALUE))
