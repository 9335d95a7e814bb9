"""What the inspector has now, to take along: as a command for the shell, as a session file, and for the next time."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sftui.errors import SftuiError
from sftui.session.marks import data_names, state_of
from sftui.session.options import file_next_to
from sftui.text import visible
from sftui.tui.commands import rows
from sftui.tui.commands.command import Command
from sftui.tui.commands.copying import copy_out, write
from sftui.tui.dialogs import DialogAnswer
from sftui.tui.inspector import Inspector
from sftui.tui.state import StatusMessage, unless
from sftui.views.cells import Line, Role, line, warned, wrap

if TYPE_CHECKING:
    from sftui.session.command_line import InForce, ShellCommand

WHAT = {
    "check": "find what is wrong with these rows",
    "encode": "write these rows as the trainer receives them",
    "repair": "write the repaired rows to a new file",
    "show": "print this row",
    "sftui": "open the inspector here again",
    "waste": "what limits and packings cost",
}
"""What each command does."""


def in_force(here: Inspector) -> InForce:
    """The data, recipe, repairs, marks, filter, row and view that are in force."""
    from sftui.session.command_line import InForce

    workspace, state, file = here.workspace, here.state, here.marks_file.path
    where, listed = state.filtering.text, state.audited.listed
    if listed:
        from sftui.findings import CODES

        of_code = f'finding("{listed}")' if listed in CODES else ""
        where = f"{of_code} and ({where})" if of_code and where else of_code or where
        listed = "" if of_code else listed
    gaps = (f"what F lists ({listed})",) if listed else ()
    marks, counts = None if file is None else str(file), state.kept.marks.counts
    chosen = workspace.recipe, workspace.repairs, state.row, where
    return InForce(workspace.options, *chosen, marks, counts, state.open.view or "", gaps)


@Command("copy.command", ("y c",), "copy a command", "Copy")
def copy_command(here: Inspector, count: int | None) -> None:
    """Copy the sftui command that does in a shell what you see: same data, recipe, filter, repairs and row."""
    from sftui.session.command_line import commands_of

    found = commands_of(in_force(here))
    entries = [(one.name, WHAT[one.name]) for one in found]
    here.pick("copy a command", entries, lambda number: _copied(here, found[number]))


def _copied(here: Inspector, found: ShellCommand) -> None:
    """Copies the command, and shows all of it."""
    sent = copy_out(found.text, here.terminal.write_to_terminal, os.environ)

    def answered(answer: DialogAnswer) -> None:
        here.say(sent)
        if answer is not None:
            here.put(here.state.kept._replace(to_print=(*here.state.kept.to_print, found.text)))
            here.say("the command will be printed when sftui quits")

    here.read("copied", partial(_lines, found, sent), answered, {"yes": "Enter or a prints it when sftui quits"})


def _lines(found: ShellCommand, sent: str, width: int) -> Sequence[Line]:
    """The command, what it does not say, and what became of it."""
    lines = [*wrap(line((f" {visible(found.text)}", Role.VALUE)), width, "   "), ()]
    for gap in found.gaps:
        lines += warned(f" ! not in it: {visible(gap)}", width)
    return (*lines, *wrap(line((f" {sent}", Role.DIM)), width, " "))


# — as a file —


@Command("write.session", ("w s",), "write a session file", "Copy")
def write_session(here: Inspector, count: int | None) -> None:
    """Write what you see to a session file: recipe, repairs, filter, row and view; sftui FILE opens it again."""
    name = file_next_to(here.workspace.options.paths[0], "session", ".yml")
    here.ask("file for the session", partial(_written, here), value=name)


def _written(here: Inspector, name: str) -> None:
    from sftui.session.session_file import as_yaml, session_tree

    file = os.path.expanduser(name.removesuffix("!"))
    tree = session_tree(in_force(here), Path(file).parent)
    env = " --env …" if here.workspace.options.env is not None else ""  # which no file may name: it runs
    here.say(f"{write(here, as_yaml(tree, os.path.basename(file)), name)} · sftui {visible(file)}{env} opens it again")


# — for the next time —


def begin(here: Inspector) -> None:
    """The view of the session that was opened; else it is said where one was the last time."""
    options = here.workspace.options
    if options.view in here.views:
        here.open_view(options.view)
    row, changed = _left(here)
    if row and not options.row and not here.state.filtering.text and here.state.tour.at is None:
        here.put(here.state.kept._replace(left=row))
        said, role = here.state.said
        if not said:
            said, role = "the data changed since you left" * changed, Role.WARNING if changed else Role.DIM
        here.say(" · ".join(filter(None, (said, left_words(here)))), role)


def left_words(here: Inspector) -> str:
    """The key that leads where one was the last time, until one goes on; "" where there is no such row."""
    left = here.state.kept.left
    return f"' goes to row {left:,}, where you left" if left and not here.state.row else ""


def _file(here: Inspector) -> Path | None:
    """Where it is kept where one was in this dataset, beside its marks; None for piped rows."""
    marks = here.marks_file.path
    return None if marks is None else marks.parent.parent / "sessions" / f"{marks.stem}.yml"


def _seen(here: Inspector) -> list[str]:
    """What tells the data from what it was."""
    return state_of(data_names(here.workspace.options))


def _left(here: Inspector) -> tuple[int, bool]:
    """The row that was left the last time, 0 where there is none, and whether the data has changed since."""
    from sftui.side_files import read_side_file

    file = _file(here)
    with contextlib.suppress(SftuiError, OSError, ValueError, TypeError, KeyError):
        if file is not None and file.exists():
            left = json.loads(read_side_file(str(file), "the last session", SftuiError))
            return int(left["row"]), left["as"] != _seen(here)
    return 0, False


def leave(here: Inspector) -> None:
    """Keep where one is, for the next time."""
    file = _file(here)
    if file is None or here.state.tour.at is not None:
        return
    from sftui.session.session_file import leave

    row = here.state.row or here.state.kept.left or 0  # who never went on may still go on the next time
    with contextlib.suppress(SftuiError, OSError):
        leave(replace(in_force(here), row=row), file, _seen(here))


def _nowhere(here: Inspector) -> StatusMessage | None:
    return unless(here.state.kept.left is not None, "there is no row to go back to")


@Command("row.back", ("'",), "back to the row you left", "Rows", when=_nowhere)
def back(here: Inspector, count: int | None) -> None:
    """Go to the row that you left the last time, and back."""
    row = here.state.kept.left
    if row is not None:
        here.put(here.state.kept._replace(left=here.state.row))
        rows.go(here, row)
