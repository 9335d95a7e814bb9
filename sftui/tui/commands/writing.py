"""Writing the repaired data: to a new file, with a log of every change, after it was said what that is.

Asks for a file, says what would be written, and lets the worker write; Esc or ctrl+c stops it, and nothing is left.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from sftui.errors import SftuiError
from sftui.session.options import file_next_to
from sftui.text import visible
from sftui.tui.commands.copying import inputs
from sftui.tui.contexts import FIGURES
from sftui.tui.inspector import Inspector
from sftui.views.cells import Line, Role, line, text_lines, warned, wrap
from sftui.views.repairs import repair_count_lines
from sftui.workspace import events as ev


def ask(here: Inspector, what: str = "repaired", only: str = "") -> None:
    """Ask where to; `what` the rows are, in the name that is proposed; `only` the rows with this mark."""
    if here.state.kept.writing is not None:
        here.say("already writing; Esc stops it", Role.DIM)
        return
    from sftui.session.repairing import PARQUET
    from sftui.trainers import traits_of
    from sftui.trainers.traits import Quirk

    ending = PARQUET if Quirk.PARQUET_ALONE in traits_of(here.workspace.recipe.preset).quirks else ".jsonl"
    name = file_next_to(here.workspace.options.paths[0], only or what, ending)
    rows = f"rows marked {only}" if only else "repaired data"
    here.ask(f"new file for the {rows}; the log of changes goes next to it", partial(_named, here, only), value=name)


def _named(here: Inspector, only: str, name: str) -> None:
    from sftui.session.repairing import check_targets

    target = os.path.expanduser(name)
    log = f"{target.rsplit('.', 1)[0]}.log.jsonl"
    check_targets(here.workspace.options.paths, target, log)
    read = inputs(here)
    for file in (target, log):
        read.refuse(Path(file))
    if not Path(target).parent.exists():
        raise SftuiError(f"there is no folder {Path(target).parent}")
    there = [path for path in (target, log) if Path(path).exists()]
    shown, write = partial(lines, here, target, log, only), partial(_write, here, target, log, only)
    here.offer_writing("export the repaired data: nothing written yet", shown, write, over=bool(there))


def lines(here: Inspector, target: str, log: str, only: str, width: int) -> tuple[Line, ...]:
    """What would be written, and what it leaves out."""
    from sftui.repairs.edits import repair_titles
    from sftui.sources.files import format_of

    workspace = here.workspace
    lines: list[Line] = []
    typed = "each column has one type" if format_of(target) == "parquet" else "unchanged rows stay identical"
    for path, what in ((target, f"the repaired rows; {typed}"), (log, "what was changed or dropped, row by row")):
        exists = Path(path).exists()
        state = ("already exists and will be overwritten", Role.WARNING) if exists else ("new", Role.DIM)
        lines += wrap(line((f"{visible(path)} ", Role.KEY), state, (f" · {what}", Role.DIM)), width, "  ")
    lines += [(), *text_lines(f"{visible(', '.join(workspace.options.paths))} stays unchanged", width), ()]
    if workspace.repairs:
        lines += wrap(
            line(("repairs  ", Role.KEY), (", ".join(repair_titles(workspace.repairs)), Role.PLAIN)), width, " " * 9
        )
        lines += counted_lines(here, width)
    marked = here.state.kept.marks.rows_with(only or "drop")
    if marked:
        listed = ", ".join(f"{row:,}" for row in marked[:8]) + (" …" if len(marked) > 8 else "")
        verb = "written" if only else "left out too"
        text = f"{len(marked):,} {'row is' if len(marked) == 1 else 'rows are'} {verb}: {listed}"
        mark = f"marked {only or 'drop'}  "
        lines += wrap(line((mark, Role.KEY), (text, Role.PLAIN)), width, " " * len(mark))
        if here.marks_file.stale:
            lines += warned("! the data changed after its rows were marked: check that the marks still apply", width)
    return tuple(lines)


def counted_lines(here: Inspector, width: int) -> tuple[Line, ...]:
    """What the repairs in force do, as far as it was counted."""
    known = here.state.repairing.counted
    if known is None:
        return repair_count_lines(None, None, False, width)
    return repair_count_lines(known.counted, known.total, known.done, width)


def _write(here: Inspector, target: str, log: str, only: str) -> None:
    marks = here.state.kept.marks
    dropped, chosen = ((), marks.rows_with(only)) if only else (marks.rows_with("drop"), None)
    ticket = here.workspace.request_write(target, log, dropped, chosen)
    here.put(here.state.kept._replace(writing=ticket))
    here.say("writing … Esc stops", Role.DIM)


def cancel(here: Inspector) -> bool:
    """Stops a running write; False where none runs."""
    ticket = here.state.kept.writing
    if ticket is None:
        return False
    here.workspace.cancel(ticket)
    return True


def ended(here: Inspector) -> None:
    """Nothing is written any more; where the worker could not go on, its unfinished file is gone with it."""
    here.put(here.state.kept._replace(writing=None))


def on_written(here: Inspector, event: ev.RepairsWritten) -> None:
    """How far it is, or how it ended."""
    if event.ticket != here.state.kept.writing:
        return
    counted = event.counted
    if event.target and event.problem is None and not event.done:
        of = f" of {event.total:,}" if event.total is not None else ""
        here.say(f"writing {counted.rows:,}{of} rows … Esc stops", Role.DIM)
        return
    ended(here)
    if event.problem is not None:
        here.say(event.problem.sentence(), Role.ERROR)
    elif not event.target:
        here.say("stopped; nothing was written", Role.WARNING)
    else:
        from sftui.findings.rule import TO_MESSAGES

        kept = counted.rows - counted.dropped - event.lost
        lost = f", {event.lost:,} unreadable rows could not be copied" if event.lost else ""
        hint = " · x writes a config for it" if TO_MESSAGES in here.workspace.repairs else ""
        file = f"wrote {visible(event.target)} and its log"
        words = f"{file}: {kept:,} of {counted.rows:,} rows, {counted.changed:,} changed{lost}{hint}"
        here.paint_view(FIGURES)
        here.say(words, Role.WARNING if event.lost else Role.PLAIN)
