"""What the inspector has now, to take along: as a command for the shell, and as a session file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from sftui.text import visible
from sftui.tui.commands.command import Command
from sftui.tui.commands.copying import copy_out
from sftui.tui.dialogs import DialogAnswer
from sftui.tui.inspector import Inspector
from sftui.views.cells import Line, Role, line, warned, wrap

if TYPE_CHECKING:
    from sftui.session.command_line import InForce, ShellCommand

WHAT = {
    "check": "what is wrong in these rows",
    "compare": "these rows under both recipes",
    "encode": "write these rows as the trainer receives them",
    "repair": "write the repaired rows to a new file",
    "show": "print this row",
    "sftui": "open the inspector so",
}
"""What each command does."""


def in_force(here: Inspector) -> InForce:
    """The data, recipe, repairs, marks, filter, row and view that are in force."""
    from sftui.findings import CODES
    from sftui.session.command_line import InForce

    workspace, state, file = here.workspace, here.state, here.marks_file.path
    where, listed = state.filtering.text, state.audited.listed
    if not where and listed in CODES:
        where, listed = f'finding("{listed}")', ""
    gaps = (f"the order of the list ({listed})",) if listed else ()
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

    here.read("copied", partial(_lines, found, sent), answered, {"yes": "a prints it when sftui quits"})


def _lines(found: ShellCommand, sent: str, width: int) -> Sequence[Line]:
    """The command, what it does not say, and what became of it."""
    lines = [*wrap(line((f" {visible(found.text)}", Role.VALUE)), width, "   "), ()]
    for gap in found.gaps:
        lines += warned(f" ! not in it: {visible(gap)}", width)
    return (*lines, *wrap(line((f" {sent}", Role.DIM)), width, " "))
