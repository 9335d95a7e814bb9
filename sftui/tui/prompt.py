"""The one-line prompt: search, go to row, a knob's value, a file name. Textual's Input, mounted on first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sftui.views import Role

if TYPE_CHECKING:
    from textual.widgets import Input

    from sftui.tui.main_screen import MainScreen


class Prompt:
    """Takes the place of the footer while it is open; the line above says what is asked."""

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
        self.screen.say(label)
        with field.prevent(_changed()):
            field.value = value
        field.cursor_position = len(value)
        self.reopen()

    def reopen(self) -> None:
        """The same question again, with what was typed still there."""
        assert self._input is not None
        self.open = True
        self._input.display = True
        self._input.focus()
        self.screen.footer.display = False

    def close(self) -> None:
        self.open = False
        if self._input is not None:
            self._input.display = False
        self.screen.set_focus(None)
        self.screen.footer.display = True
        self.screen.say("")

    def submitted(self, text: str) -> None:
        self.close()
        complaint = self._done(text)
        if complaint is None:
            return
        self.reopen()
        self.screen.say(complaint, Role.ERROR)

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

