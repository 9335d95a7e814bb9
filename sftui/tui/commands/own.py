"""sftui itself: help, palette, themes, mouse, suspending, quitting, the tour."""

from __future__ import annotations

from functools import partial

from sftui.text import visible
from sftui.tui.commands import edits, export, figures, rows, search, writing
from sftui.tui.commands.command import Command
from sftui.tui.dialogs import DialogAnswer
from sftui.tui.inspector import Inspector
from sftui.tui.themes import TITLES
from sftui.tui.tour import toggled
from sftui.views.cells import Line, Role, line, wrap
from sftui.views.knobs import change_text
from sftui.workspace.workspace import RecipeChoice, UnsavedWork, unexported


@Command("palette", (":", "ctrl+p"), "palette", "Help")
def palette(here: Inspector, count: int | None) -> None:
    """Find any command by name, or type a row number to go there."""
    if count is not None:
        rows.go(here, count)
    else:
        here.open_palette(partial(_chosen, here))


def _chosen(here: Inspector, entry: Command | int) -> None:
    if isinstance(entry, int):
        rows.go(here, entry)
    else:
        here.run_command(entry)


@Command("help", ("?", "f1"), "help", "Help")
def show_help(here: Inspector, count: int | None) -> None:
    """Show keys, signs and concepts, this pane's first; type to filter, Enter lists the help pages."""
    here.open_help(lambda answer: _pages(here) if answer == "accept" else None)


@Command("help.pages", (), "help pages", "Help")
def help_pages(here: Inspector, count: int | None) -> None:
    """List the help pages: labels, templates, trainers, …"""
    _pages(here)


def _pages(here: Inspector, marked: str = "") -> None:
    """The list of pages; Enter opens one, Esc in it comes back to the list."""
    from sftui.docs import topics
    from sftui.tui.help_pages import page

    found = topics()

    def picked(number: int) -> None:
        topic = found[number]
        made, back = partial(page, topic.name), partial(_pages, here, topic.title)
        here.read(f"help: {topic.name}", made, lambda _: back(), leave="goes back")

    here.pick("help", [(topic.title, topic.line) for topic in found], picked, marked=marked)


@Command("theme", (), "theme", "Help")
def theme(here: Inspector, count: int | None) -> None:
    """Choose the colours: dark, light, high contrast, ansi (your terminal's 16), mono."""
    names = list(TITLES)
    name = names[(names.index(here.look.name) + 1) % len(names)]
    here.set_theme(name)
    here.say(f"theme: {TITLES[name]}")


@Command("mouse", (), "mouse", "Help")
def mouse(here: Inspector, count: int | None) -> None:
    """Turn mouse support on or off."""
    # Textual asks for the mouse at the start; giving it back makes the terminal's own selection work.
    on = here.terminal.toggle_mouse()
    here.say("mouse on: sftui handles it" if on else "mouse off: select and copy as usual")


@Command("redraw", ("ctrl+l",), "redraw", "Help")
def redraw(here: Inspector, count: int | None) -> None:
    """Redraw the whole screen, e.g. after another program wrote on it."""
    here.redraw()


@Command("suspend", ("ctrl+z",), "suspend", "Help")
def suspend(here: Inspector, count: int | None) -> None:
    """Suspend sftui and return to the shell; fg resumes."""
    here.terminal.action_suspend_process()


# — quitting —


def lost(here: Inspector) -> UnsavedWork:
    """What would be lost now; review marks and edits are kept by themselves."""
    workspace = here.workspace
    opened = workspace.options.repairs
    written = (*opened, *edits.kept(here), *(workspace.written[0] if workspace.written is not None else ()))
    return unexported(RecipeChoice(workspace.recipe, workspace.repairs), RecipeChoice(here.state.kept.recipe, written))


@Command("quit", ("q",), "quit", "Help", means="leave")
def leave(here: Inspector, count: int | None) -> None:
    """Quit; asks once if there are unsaved changes."""
    # At once where everything is in a file, else after one question.
    left = lost(here)
    if not left:
        here.terminal.exit()
        return
    offers = {"export": "Enter or x exports", "yes": "a quits"}
    here.read(left.words(), partial(lost_lines, left), partial(_answered, here), offers, leave="stays")


def _answered(here: Inspector, answer: DialogAnswer) -> None:
    if answer == "export":
        export.ask(here)
    elif answer is not None:
        here.put(here.state.kept._replace(let_go=True))
        here.terminal.exit()


def farewell(here: Inspector) -> str:
    """What is lost with the session, for the terminal it leaves behind; empty where the user knows or nothing is."""
    left = lost(here)
    if not left or here.state.kept.let_go:
        return ""
    return f"{left.words()}: {', '.join(words for _, words in lost_parts(left))}"


@Command("interrupt", ("ctrl+c",), "interrupt", "Help")
def interrupt(here: Inspector, count: int | None) -> None:
    """Cancel a running search or audit; otherwise quit at once."""
    if not (search.cancel(here) or writing.cancel(here) or figures.cancel(here)):
        here.terminal.exit()


def lost_parts(lost: UnsavedWork) -> list[tuple[str, str]]:
    """Each change with what it is, as data names it."""
    from sftui.repairs.edits import repair_title

    waivers = [
        f"{waiver.get('code')}{' in row ' + str(waiver['rows']) if 'rows' in waiver else ''}: {waiver.get('reason')}"
        for waiver in lost.waivers
    ]
    return [
        *(("recipe", change_text(change)) for change in lost.changes),
        *(("repair", visible(repair_title(repair))) for repair in lost.repairs),
        *(("waiver", visible(one)) for one in waivers),
    ]


def lost_lines(lost: UnsavedWork, width: int) -> list[Line]:
    """What quitting would lose, one by one."""
    return [
        cells
        for kind, words in lost_parts(lost)
        for cells in wrap(line((f"{kind}  ", Role.KEY), (words, Role.PLAIN)), width, " " * 8)
    ]


@Command("tour", ("f2",), "tour", "Program")
def toggle(here: Inspector, count: int | None) -> None:
    """Start or leave the tour of the inspector."""
    here.put(toggled(here.state.tour))
