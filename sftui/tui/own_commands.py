"""sftui itself: help, palette, themes, mouse, suspending, export, quitting."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sftui.text import visible
from sftui.tui.dialogs import EXPORT, ONWARD, Dialog
from sftui.tui.export_dialog import ExportDialog
from sftui.tui.help_text import help_lines
from sftui.tui.themes import TITLES, Styles
from sftui.views import Line, Role, line, value_text, wrap

if TYPE_CHECKING:
    from sftui.tui.app import SftuiApp
    from sftui.tui.main_screen import MainScreen
    from sftui.workspace.history import Unexported


class OwnCommands:
    """Commands that are about the program, not about the data."""

    def __init__(self, screen: MainScreen) -> None:
        self.screen = screen
        self.kept = screen.workspace.recipe
        self.let_go = False

    @property
    def app(self) -> SftuiApp:
        from sftui.tui.app import SftuiApp

        app = self.screen.app
        assert isinstance(app, SftuiApp)
        return app

    def handlers(self) -> dict[str, Callable[[int | None], None]]:
        return {
            "help": lambda n: self.help(),
            "help.pages": lambda n: self.pages(),
            "palette": lambda n: self.palette(n),
            "theme": lambda n: self.theme(),
            "mouse": lambda n: self.mouse(),
            "suspend": lambda n: self.app.action_suspend_process(),
            "export": lambda n: ExportDialog(self.screen).open(),
            "quit": lambda n: self.quit(),
            "interrupt": lambda n: self.interrupt(),
        }

    def help(self) -> None:
        """The keys from the one table, those of the pane that has the keys first."""
        context, keymap = self.screen.context, self.screen.keymap
        dialog = Dialog(
            "keys",
            lambda width: help_lines(context, keymap, width),
            keymap,
            self.screen.look,
            onward="lists the pages of help",
        )
        self.app.push_screen(dialog, lambda answer: self.pages() if answer == ONWARD else None)

    def pages(self) -> None:
        from sftui.tui.help_pages import open_pages

        open_pages(self.screen)

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
        self.screen.say("mouse on: sftui uses it" if on else "mouse off: select and copy as usual")

    # — quitting —

    def lost(self) -> Unexported:
        """What would be lost now; review marks are kept by themselves."""
        from sftui.workspace.history import Chosen, unexported

        workspace = self.screen.workspace
        written = workspace.written[0] if workspace.written is not None else ()
        return unexported(Chosen(workspace.recipe, workspace.repairs), Chosen(self.kept, written))

    def quit(self) -> None:
        """At once where everything is in a file, else after one question."""
        lost = self.lost()
        if not lost:
            self.app.exit()
            return
        dialog = Dialog(
            lost.words(),
            lambda width: lost_lines(lost, width),
            self.screen.keymap,
            self.screen.look,
            offer="y quits · ",
            exports=True,
            leave="stays",
        )
        self.app.push_screen(dialog, self._answered)

    def _answered(self, answer: int | None) -> None:
        if answer == EXPORT:
            ExportDialog(self.screen).open()
        elif answer is not None:
            self.let_go = True
            self.app.exit()

    def farewell(self) -> str:
        """What is lost with the session, for the terminal it leaves behind; empty where the user knows or nothing
        is."""
        lost = self.lost()
        return f"{lost.words()}: {', '.join(told for _, told in lost_parts(lost))}" if lost and not self.let_go else ""

    def interrupt(self) -> None:
        screen = self.screen
        if not (screen.search_commands.cancel() or screen.data_export.cancel() or screen.figures_commands.cancel()):
            self.app.exit()


def lost_parts(lost: Unexported) -> list[tuple[str, str]]:
    """Each change with what it is, as data names it."""
    waivers = [
        f"{one.get('code')}{' in row ' + str(one['rows']) if 'rows' in one else ''}: {one.get('reason')}"
        for one in lost.waivers
    ]
    return [
        *(("recipe", f"{one.path} {value_text(one.before)} → {value_text(one.after)}") for one in lost.changes),
        *(("repair", visible(one)) for one in lost.repairs),
        *(("waiver", visible(one)) for one in waivers),
    ]


def lost_lines(lost: Unexported, width: int) -> list[Line]:
    """What quitting would lose, one by one."""
    return [
        cells
        for kind, told in lost_parts(lost)
        for cells in wrap(line((f"{kind}  ", Role.KEY), (told, Role.PLAIN)), width, " " * 8)
    ]
