"""The one-line prompt: search, go to row, a knob's value, a file name. Textual's Input, mounted on first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.widgets import Input

    from sftui.tui.main_screen import MainScreen


class Prompt:
    """Takes the place of the line under the panes while it is open."""

    def __init__(self, screen: MainScreen) -> None:
        self.screen = screen
        self.open = False
        self._input: Input | None = None
        self._done: Callable[[str], str | None] = lambda text: None
        self._at_once: Callable[[str], bool] = lambda text: False

    def ask(
        self, label: str, done: Callable[[str], str | None], *, value: str = "", at_once: Callable[[str], bool] | None = None,
    ) -> None:
        """Asks; `done` gets the text and returns None, or a complaint that keeps the prompt open.

        `at_once` says for a text that it needs no Enter.
        """
        field = self._input
        if field is None:
            field = self._input = _make_input(self)
            self.screen.mount(field, after=self.screen.detail)
        self._done = done
        self._at_once = at_once or (lambda text: False)
        self.open = True
        field.placeholder = label
        with field.prevent(_changed()):
            field.value = value
        field.cursor_position = len(value)
        field.display = True
        field.focus()
        self.screen.detail.display = False

    def close(self) -> None:
        self.open = False
        if self._input is not None:
            self._input.display = False
        self.screen.set_focus(None)
        self.screen.detail.display = True
        self.screen.update_detail()

    def submitted(self, text: str) -> None:
        complaint = self._done(text)
        if complaint is None:
            if self.open:
                self.close()
            return
        assert self._input is not None
        with self._input.prevent(_changed()):
            self._input.value = ""
        self._input.placeholder = complaint

    def typed(self, text: str) -> None:
        if self.open and self._at_once(text):
            self.submitted(text)


def _changed() -> type:
    from textual.widgets import Input

    return Input.Changed


def _make_input(prompt: Prompt) -> Input:
    from textual.widgets import Input

    class PromptInput(Input):
        """The stock Input on one line; placeholders and values are plain text, never markup."""

        DEFAULT_CSS = """
        PromptInput { border: none; height: 1; padding: 0 1; background: $surface; }
        PromptInput:focus { border: none; background-tint: transparent; }
        """

        def on_input_submitted(self, event: Input.Submitted) -> None:
            event.stop()
            prompt.submitted(event.value)

        def on_input_changed(self, event: Input.Changed) -> None:
            event.stop()
            prompt.typed(event.value)

    return PromptInput(id="prompt", compact=True, select_on_focus=False)

