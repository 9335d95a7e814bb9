"""What every app of sftui's is: themed, without Textual's own keys, and with keys that arrive in order."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import TypeVar

from textual import events, messages
from textual.app import App
from textual.driver import Driver
from textual.filter import LineFilter, NoColor

from sftui.settings import UserSettings
from sftui.tui.ascii import Ascii, ascii_only
from sftui.tui.on_screen import OnScreen, writing_changes
from sftui.tui.themes import DEFAULT, Styles, textual_theme

ResultT = TypeVar("ResultT")
GRACE = 1.0
"""Seconds that an inspector has to end by itself once nobody serves it."""


class KeyedApp(App[ResultT], inherit_bindings=False):
    """An app whose screens take keys themselves (`take_key`), without Textual's focus and bindings."""

    TITLE = "sftui"
    ENABLE_COMMAND_PALETTE = False
    ALLOW_SELECT = False
    CSS = "Toast { display: none; }"

    def __init__(self, settings: UserSettings) -> None:
        self.on_screen = OnScreen()
        self.without_colours: Sequence[LineFilter] = (NoColor(),)
        self.to_ascii: Sequence[LineFilter] = (Ascii(),) if ascii_only(settings.glyphs, os.environ) else ()
        super().__init__()
        self.animation_level = "none"
        self.mouse_on = settings.mouse
        self.use_theme(settings.theme or default_theme(os.environ))

    def use_theme(self, name: str) -> None:
        self.look, theme = Styles(name), textual_theme(name)
        self.register_theme(theme)
        self.theme = theme.name

    def write_to_terminal(self, text: str) -> None:
        """A sequence of our own making (OSC 52), never data."""
        if self._driver is not None:
            self._driver.write(text)
            self._driver.flush()

    def toggle_mouse(self) -> bool:
        """Gives the mouse back to the terminal, or takes it."""
        self.mouse_on = not self.mouse_on
        self._set_mouse()
        return self.mouse_on

    def _set_mouse(self) -> None:
        for mode in ("1000", "1003", "1015", "1006"):
            self.write_to_terminal(f"\x1b[?{mode}{'h' if self.mouse_on else 'l'}")

    def get_driver_class(self) -> type[Driver]:
        return writing_changes(ending_with_server(super().get_driver_class()), self.on_screen)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """With NO_COLOR every colour goes, Textual's own choice can make text invisible (trap T5); without the glyphs
        there is ASCII."""
        return (*(self.without_colours if self.no_color else super().get_line_filters()), *self.to_ascii)

    async def on_event(self, event: events.Event) -> None:
        """Keys go straight to the screen on top, so that keys typed at once arrive in order.

        Textual would put each into the queue of the screen that is on top when it is read; a key typed
        right after the one that opens a dialog would then go to the screen below.
        """
        if isinstance(event, events.Resize):
            self.on_screen.forget()
        take_key = getattr(self.screen, "take_key", None) if isinstance(event, events.Key) else None
        if take_key is not None:
            take_key(event)
        else:
            await super().on_event(event)


def forget_old_size() -> None:
    """The terminal's own size counts, also where COLUMNS and LINES are exported: they would hold it fixed for ever."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        if all(os.get_terminal_size(sys.__stdout__.fileno())):  # type: ignore[union-attr]
            for name in ("COLUMNS", "LINES"):
                os.environ.pop(name, None)


def default_theme(environment: Mapping[str, str]) -> str:
    """Light where the terminal says its ground is light (COLORFGBG), mono without colours, else dark."""
    if "NO_COLOR" in environment:
        return "mono"
    ground = environment.get("COLORFGBG", "").rpartition(";")[2]
    return "light" if ground in ("7", "15") else DEFAULT


def ending_with_server(driver: type[Driver]) -> type[Driver]:
    """The driver, ending the app where its input ends: the kernel closes that even of a server that was killed.

    Textual's own stops reading then and stays (8.2.8, drivers/web_driver.py).
    """
    module = sys.modules.get("textual.drivers.web_driver")
    if module is None or not issubclass(driver, module.WebDriver):
        return driver

    class ServedDriver(driver):  # type: ignore[valid-type, misc]
        def run_input_thread(self) -> None:
            super().run_input_thread()
            if not self.exit_event.is_set():
                os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno)  # nobody reads what it says
                last = threading.Timer(GRACE, os._exit, (1,))
                last.daemon = True
                last.start()
                self._app.call_from_thread(self._app.post_message, messages.ExitApp())

    return ServedDriver
