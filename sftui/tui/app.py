"""The Textual app: it only wires the main screen, themes, signals and the way out."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import sys
from collections.abc import Mapping, Sequence

from sftui.settings import UserSettings
from sftui.text import visible
from sftui.tui.base import KeyedApp, forget_old_size
from sftui.tui.commands import own, sessions
from sftui.tui.commands.table import COMMANDS
from sftui.tui.keys import build_keymap
from sftui.tui.main_screen import MainScreen
from sftui.tui.state import FilterState, Tour
from sftui.views.grid import GridState, Zoom
from sftui.workspace import Workspace

SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class SftuiApp(KeyedApp[None], inherit_bindings=False):
    """One screen over one workspace."""

    def __init__(self, workspace: Workspace, settings: UserSettings) -> None:
        super().__init__(settings)
        self.workspace = workspace
        self.main = MainScreen(workspace, build_keymap(COMMANDS, settings.keymap), self.look)
        self.main.panes.tokens.state = GridState(Zoom(settings.zoom))

    def get_default_screen(self) -> MainScreen:
        return self.main

    def on_mount(self) -> None:
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(number, self.exit, None, 128 + number)
        self.app_resume_signal.subscribe(self, lambda app: self._resumed())
        self.call_after_refresh(collect_again)

    def _resumed(self) -> None:
        """Back from the shell or an editor: everything is drawn again, the mouse is as it was left."""
        self.refresh(layout=True)
        if not self.mouse_on:
            self._set_mouse()


def collect_again() -> None:
    """Garbage is collected from the first paint on; what start-up made stays for good and is not looked through."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def pick(asks: Sequence[str], given: Mapping[str, str], settings: UserSettings) -> dict[str, str] | None:
    """What the user picks of `asks`, see `first`; None where they left."""
    from sftui.tui.first import FirstApp, Picking

    forget_old_size()
    return FirstApp(Picking(tuple(asks), dict(given)), settings).run(mouse=settings.mouse)


def run_app(
    workspace: Workspace,
    settings: UserSettings,
    *,
    tour: bool = False,
    where: str | None = None,
    follows: bool = False,
) -> int:
    """Runs the inspector until it is quit, with a `tour` or without, the list filtered by `where`, on a file that is
    being written where it `follows`; the exit code. KeymapError for a keymap that cannot be used."""
    forget_old_size()
    app = SftuiApp(workspace, settings)
    if tour:
        app.main.put(Tour(0))
    app.main.put(FilterState(where or ""), app.main.state.reading._replace(follows=follows))
    try:
        app.run(mouse=settings.mouse)
        sessions.leave(app.main)
    finally:
        if not app.main.marks_file.close():
            sys.stderr.write("sftui: the last review marks could not be saved\n")
    workspace.close()
    with contextlib.suppress(OSError):  # the terminal may be gone
        if lost := own.farewell(app.main):
            sys.stderr.write(f"sftui: {lost}\n")
            sys.stderr.flush()
    for text in app.main.state.kept.to_print:
        sys.stdout.write(visible(text, newline="\n") + "\n")
    return app.return_code or 0
