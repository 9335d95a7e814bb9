"""sftui itself: help, palette, themes, mouse, suspending, export, quitting."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sftui.tui.export_dialog import ExportDialog
from sftui.tui.help_text import help_lines
from sftui.tui.themes import TITLES, Styles

if TYPE_CHECKING:
    from sftui.tui.app import SftuiApp
    from sftui.tui.main_screen import MainScreen


class OwnCommands:
    """Commands that are about the program, not about the data."""

    def __init__(self, screen: MainScreen) -> None:
        self.screen = screen

    @property
    def app(self) -> SftuiApp:
        from sftui.tui.app import SftuiApp

        app = self.screen.app
        assert isinstance(app, SftuiApp)
        return app

    def handlers(self) -> dict[str, Callable[[int | None], None]]:
        return {
            "help": lambda n: self.help(), "palette": lambda n: self.palette(n), "theme": lambda n: self.theme(),
            "mouse": lambda n: self.mouse(), "suspend": lambda n: self.app.action_suspend_process(),
            "export": lambda n: ExportDialog(self.screen).open(),
            "quit": lambda n: self.app.exit(), "interrupt": lambda n: self.interrupt(),
        }

    def help(self) -> None:
        """The keys from the one table, those of the pane that has the keys first."""
        from sftui.tui.dialogs import Dialog

        context, keymap = self.screen.context, self.screen.keymap
        self.app.push_screen(Dialog("keys", lambda width: help_lines(context, keymap, width), keymap, self.screen.look))

    def palette(self, count: int | None) -> None:
        """The palette; with a count in front that row at once."""
        if count is not None:
            self.screen.row_commands.go(count)
            return
        from sftui.tui.palette import Palette

        self.app.push_screen(Palette(self.screen))

    def theme(self) -> None:
        names = list(TITLES)
        name = names[(names.index(self.screen.look.name) + 1) % len(names)]
        self.app.use_theme(name)
        self.screen.set_look(Styles(name))
        self.screen.say(f"theme: {TITLES[name]}")

    def mouse(self) -> None:
        """Textual asks for the mouse at the start; giving it back makes the terminal's own selection work."""
        on = self.app.toggle_mouse()
        self.screen.say("the mouse is sftui's" if on else "the mouse is the terminal's: select and copy as usual")

    def interrupt(self) -> None:
        screen = self.screen
        if not (screen.search_commands.cancel() or screen.data_export.cancel() or screen.figures_commands.cancel()):
            self.app.exit()
