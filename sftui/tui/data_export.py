"""Writing the repaired data: to a new file, with a log of every change, after it was said what that is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from sftui.errors import SftuiError
from sftui.text import visible
from sftui.tui.dialogs import Dialog
from sftui.views import Line, Role, line, wrap
from sftui.workspace import events as ev

if TYPE_CHECKING:
    from sftui.tui.main_screen import MainScreen


def file_beside(data: str, what: str) -> str:
    """A name for a file made from the data: `train-repaired.jsonl`."""
    stem = re.sub(
        r"[^\w.-]+", "", re.split(r"\.(?:jsonl|ndjson|json|csv|tsv|parquet|gz|zst)\b", Path(data).name)[0]
    ).strip("-.")
    return f"{stem or 'data'}-{what}.jsonl"


class DataExport:
    """Asks for a file, says what would be written, and lets the worker write; Esc or ctrl+c stops it, and nothing is
    left."""

    def __init__(self, screen: MainScreen) -> None:
        self.screen = screen
        self.ticket: int | None = None

    def open(self) -> None:
        """Ask where to."""
        if self.ticket is not None:
            self.screen.say("already writing; Esc stops it", Role.DIM)
            return
        name = file_beside(self.screen.workspace.options.paths[0], "repaired")
        self.screen.prompt.ask(
            "new file for the repaired data; the log of changes goes beside it", self._named, value=name
        )

    def _named(self, text: str) -> str | None:
        from sftui.session.repairing import check_targets

        if not text.strip():
            return None
        target = str(Path(text.strip()).expanduser())
        log = f"{target.rsplit('.', 1)[0]}.log.jsonl"
        try:
            check_targets(self.screen.workspace.options.paths, target, log)
            inputs = self.screen.copy_commands.inputs()
            for file in (target, log):
                inputs.refuse(Path(file))
            if not Path(target).parent.exists():
                return f"there is no folder {Path(target).parent}"
        except SftuiError as error:
            return str(error)
        there = [path for path in (target, log) if Path(path).exists()]
        screen = self.screen
        dialog = Dialog(
            "export the repaired data: nothing is written yet",
            lambda width: self.lines(target, log, width),
            screen.keymap,
            screen.look,
            offer="y overwrites · " if there else "y writes it · ",
        )
        screen.app.push_screen(
            dialog,
            lambda answer: screen.say("nothing was written", Role.DIM) if answer is None else self._write(target, log),
        )
        return None

    def lines(self, target: str, log: str, width: int) -> tuple[Line, ...]:
        """What would be written, and what it leaves out."""
        from sftui.views.repairs import repair_count_lines

        workspace, counted = self.screen.workspace, self.screen.repair_commands.counted
        lines: list[Line] = []
        for path, what in (
            (target, "the rows as repaired; untouched ones keep every byte"),
            (log, "what was changed or left out, row by row"),
        ):
            state = "already exists and is overwritten" if Path(path).exists() else "new"
            lines += wrap(
                line(
                    (f"{visible(path)} ", Role.KEY),
                    (state, Role.WARNING if state != "new" else Role.DIM),
                    (f" · {what}", Role.DIM),
                ),
                width,
                "  ",
            )
        lines += [
            (),
            *wrap(line((f"{visible(', '.join(workspace.options.paths))} stays as it is", Role.PLAIN)), width),
            (),
        ]
        if workspace.repairs:
            lines += wrap(line(("repairs  ", Role.KEY), (", ".join(workspace.repairs), Role.PLAIN)), width, " " * 9)
            if counted is None:
                lines += repair_count_lines(None, None, False, width)
            else:
                lines += repair_count_lines(counted.counted, counted.total, counted.done, width)
        marks = self.screen.mark_commands
        dropped = marks.marks.rows_with("drop")
        if dropped:
            listed = ", ".join(f"{row:,}" for row in dropped[:8]) + (" …" if len(dropped) > 8 else "")
            told = f"{len(dropped):,} {'row is' if len(dropped) == 1 else 'rows are'} left out too: {listed}"
            lines += wrap(line(("marked drop  ", Role.KEY), (told, Role.PLAIN)), width, " " * 13)
            if marks.file.stale:
                lines += wrap(
                    line(
                        (
                            "! the data was changed after its rows were marked: check whether the marks still fit",
                            Role.WARNING,
                        )
                    ),
                    width,
                )
        return tuple(lines)

    def _write(self, target: str, log: str) -> None:
        self.ticket = self.screen.workspace.request_write(
            target, log, self.screen.mark_commands.marks.rows_with("drop")
        )
        self.screen.say("writing … Esc stops", Role.DIM)

    def cancel(self) -> bool:
        """Stops a running write; False where none runs."""
        if self.ticket is None:
            return False
        self.screen.workspace.cancel(self.ticket)
        return True

    def failed(self) -> None:
        """The worker could not go on; its unfinished file is gone with it."""
        self.ticket = None

    def on_written(self, event: ev.RepairsWritten) -> None:
        """How far it is, or how it ended."""
        if event.ticket != self.ticket:
            return
        say, counted = self.screen.say, event.counted
        if event.problem is not None:
            self.ticket = None
            say(event.problem.sentence(), Role.ERROR)
        elif not event.target:
            self.ticket = None
            say("stopped: nothing was written", Role.WARNING)
        elif not event.done:
            of = f" of {event.total:,}" if event.total is not None else ""
            say(f"writing {counted.rows:,}{of} rows … Esc stops", Role.DIM)
        else:
            self.ticket = None
            kept = counted.rows - counted.dropped - event.lost
            lost = f", {event.lost:,} unreadable ones could not be carried over" if event.lost else ""
            told = (
                f"wrote {visible(event.target)} and its log: {kept:,} of {counted.rows:,} rows, {counted.changed:,}"
                f" changed{lost}"
            )
            self.screen.figures_commands.repaint()
            say(told, Role.WARNING if event.lost else Role.PLAIN)
