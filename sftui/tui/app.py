"""The Textual app: it only wires the main screen, themes, signals and the way out."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.app import App
from textual.filter import LineFilter, NoColor

from sftui.text import visible
from sftui.tui.commands import own
from sftui.tui.commands.table import COMMANDS
from sftui.tui.dialogs import Dialog
from sftui.tui.keys import build_keymap
from sftui.tui.main_screen import MainScreen
from sftui.tui.themes import DEFAULT, Styles, textual_theme

if TYPE_CHECKING:
    from sftui.settings import Settings
    from sftui.workspace import Workspace

SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class SftuiApp(App[None], inherit_bindings=False):
    """One screen over one workspace."""

    TITLE = "sftui"
    ENABLE_COMMAND_PALETTE = False
    ALLOW_SELECT = False
    CSS = "Toast { display: none; }"

    def __init__(self, workspace: Workspace, settings: Settings, *, theme: str | None = None) -> None:
        super().__init__()
        self.animation_level = "none"
        self.workspace = workspace
        self.look = Styles(theme or settings.theme or default_theme(os.environ))
        self.use_theme(self.look.name)
        self.main = MainScreen(workspace, build_keymap(COMMANDS, settings.keymap), self.look)
        self.mouse_on = settings.mouse

    def get_line_filters(self) -> Sequence[LineFilter]:
        """With NO_COLOR every colour goes; Textual's own choice can make text invisible (trap T5)."""
        return [NoColor()] if self.no_color else super().get_line_filters()

    async def on_event(self, event: events.Event) -> None:
        """Keys go straight to the screen on top, so that keys typed at once arrive in order.

        Textual would put each into the queue of the screen that is on top when it is read; a key typed
        right after the one that opens a dialog would then go to the screen below.
        """
        screen = self.screen if isinstance(event, events.Key) else None
        if isinstance(event, events.Key) and isinstance(screen, MainScreen | Dialog):
            screen.take_key(event)
        else:
            await super().on_event(event)

    def get_default_screen(self) -> MainScreen:
        return self.main

    def on_mount(self) -> None:
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(number, self.exit, None, 128 + number)
        self.app_resume_signal.subscribe(self, lambda app: self._resumed())
        self.call_after_refresh(collect_again)

    def use_theme(self, name: str) -> None:
        theme = textual_theme(name)
        self.register_theme(theme)
        self.theme = theme.name

    # — the terminal —

    def write_to_terminal(self, text: str) -> None:
        """A sequence of our own making (OSC 52), never data."""
        if self._driver is not None:
            self._driver.write(text)
            self._driver.flush()

    def _resumed(self) -> None:
        """Back from the shell or an editor: everything is drawn again, the mouse is as it was left."""
        self.refresh(layout=True)
        if not self.mouse_on:
            self._tell_mouse()

    def farewell(self) -> str:
        """What is lost without having been asked about."""
        return own.farewell(self.main)

    def toggle_mouse(self) -> bool:
        """Gives the mouse back to the terminal, or takes it."""
        self.mouse_on = not self.mouse_on
        self._tell_mouse()
        return self.mouse_on

    def _tell_mouse(self) -> None:
        for mode in ("1000", "1003", "1015", "1006"):
            self.write_to_terminal(f"\x1b[?{mode}{'h' if self.mouse_on else 'l'}")


def collect_again() -> None:
    """Garbage is collected from the first paint on; what start-up made stays for good and is not looked through."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def forget_old_size() -> None:
    """The terminal's own size counts, also where COLUMNS and LINES are exported: they would hold it fixed for ever."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        if all(os.get_terminal_size(sys.__stdout__.fileno())):  # type: ignore[union-attr]
            for name in ("COLUMNS", "LINES"):
                os.environ.pop(name, None)


def default_theme(environment: os._Environ[str]) -> str:
    """Light where the terminal says its ground is light (COLORFGBG), mono without colours, else dark."""
    if "NO_COLOR" in environment:
        return "mono"
    ground = environment.get("COLORFGBG", "").rpartition(";")[2]
    return "light" if ground in ("7", "15") else DEFAULT


def run_app(workspace: Workspace, settings: Settings, *, theme: str | None = None, mouse: bool = True) -> int:
    """Runs the inspector until it is quit; the exit code. KeymapError for a keymap that cannot be used."""
    mouse = mouse and settings.mouse
    forget_old_size()
    app = SftuiApp(workspace, settings, theme=theme)
    app.mouse_on = mouse
    try:
        app.run(mouse=mouse)
    finally:
        if not app.main.marks_file.close():
            sys.stderr.write("sftui: the last review marks could not be saved\n")
    workspace.close()
    with contextlib.suppress(OSError):  # the terminal may be gone
        if told := app.farewell():
            sys.stderr.write(f"sftui: {told}\n")
            sys.stderr.flush()
    for text in app.main.state.kept.to_print:
        sys.stdout.write(visible(text, newline="\n") + "\n")
    return app.return_code or 0
