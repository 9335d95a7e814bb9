"""The audit of the whole dataset: its figures, its findings by code, and the row list filtered or sorted by them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sftui.text import clip, visible
from sftui.tui.dialogs import Dialog, Options
from sftui.tui.mark_commands import ORDERS as MARKS
from sftui.views import Line, Role, line, wrap
from sftui.workspace import events as ev
from sftui.workspace.requests import GROUPS, REPAIRED, by_group

if TYPE_CHECKING:
    from sftui.audit.figures import GroupFigure
    from sftui.tui.main_screen import MainScreen

VIEW = "figures"
ALL = "all rows"
ORDERS = (
    (ALL, "every row, as it stands in the data"),
    ("error", "rows with an error"),
    ("warning", "rows with a warning"),
    ("longest", "most tokens first"),
    ("shortest", "fewest tokens first"),
    ("most trained", "largest trained share first"),
    ("least trained", "smallest trained share first"),
    ("never reach the trainer", "dropped, or stopped before"),
)
MOST_GROUPS = 30
"""Groups of each kind to pick from, the largest."""
WIDEST_ORDER, WIDEST_TOLD = 16, 40
"""Cells of the status line, and of what is said, that name what the list shows."""
GLYPHS = {"error": ("✗", Role.ERROR), "warning": ("!", Role.WARNING), "info": ("i", Role.DIM)}


class FiguresCommands:
    """The audit runs in the worker, behind everything that is asked there; it goes on while the view is closed."""

    def __init__(self, screen: MainScreen) -> None:
        self.screen = screen
        self.answer: ev.AuditReady | None = None
        self.ticket: int | None = None
        self._wanted_order = ""

    def handlers(self) -> dict[str, Callable[[int | None], None]]:
        return {
            "figures": lambda n: self.open(),
            "audit.stop": lambda n: self.stop_or_start(),
            "order": lambda n: self.pick_order(),
        }

    @property
    def running(self) -> bool:
        return self.ticket is not None

    def open(self) -> None:
        """Opens the figures and starts the audit where there is none; the same key closes them."""
        if not self.running and self.answer is None:
            self._start()
        self.screen.look_commands.open(VIEW)

    def _start(self) -> None:
        self.answer = None
        self.ticket = self.screen.workspace.request_audit()

    def stop_or_start(self) -> None:
        """Stops the audit; then goes on with it, or begins anew."""
        if self.cancel():
            return
        self._start()
        self.screen.say("auditing … A shows the figures, X stops", Role.DIM)
        self._paint()

    def cancel(self) -> bool:
        """Stops a running audit; what it has stays. False where none runs."""
        if self.ticket is None:
            return False
        self.screen.workspace.cancel(self.ticket)
        self.ticket = None
        self.screen.say("audit stopped: the figures are of the rows so far", Role.WARNING)
        self._paint()
        return True

    def failed(self) -> None:
        """The worker could not go on: nothing comes any more."""
        self.ticket = None
        self._paint()

    def show(self, keep: bool) -> None:
        self.screen.document.show(VIEW, self.lines, keep=keep, hint=self.hint())

    def hint(self) -> str:
        """What the keys do now, which for X is another thing once the audit stands still."""
        answer = self.answer
        audit = (
            "X stops · " if self.running else "X audits · " if answer is None else "" if answer.done else "X goes on · "
        )
        return f"F rows · L wider · {audit}A closes"

    def _paint(self) -> None:
        if self.screen.look_commands.open_view == VIEW:
            self.show(keep=True)

    def on_audit(self, event: ev.AuditReady) -> None:
        if event.ticket != self.ticket:
            return
        self.answer = event
        if event.done or event.problem is not None:
            self.ticket = None
            if self.screen.look_commands.open_view != VIEW:
                self.screen.say(
                    event.problem.sentence()
                    if event.problem is not None
                    else f"audit done: {_worst(event)} · A shows it, F goes through them"
                )
        self._paint()

    def on_recipe(self) -> None:
        """Another recipe has other figures; a running audit begins anew by itself."""
        self.answer = None
        self._paint()

    # — lines —

    def repaint(self) -> None:
        """Something beside the audit that the figures tell is another one now."""
        self._paint()

    def lines(self, width: int) -> tuple[Line, ...]:
        """What was done in this session, then what the audit found."""
        made: list[Line] = []
        for block in (
            self.screen.mark_commands.lines(width),
            self.screen.repair_commands.lines(width),
            self._audited(width),
        ):
            told = list(block)
            while told and not told[-1]:
                told.pop()
            made += [(), *told] if made and told else told
        return tuple(made)

    def _audited(self, width: int) -> tuple[Line, ...]:
        answer = self.answer
        if answer is None:
            told = "auditing …" if self.running else "no figures of this recipe: X audits"
            return (line((told, Role.DIM)),)
        if answer.problem is not None:
            return wrap(line((f"✗ {answer.problem.sentence()}", Role.ERROR)), width)
        made: list[Line] = [*self._progress(answer, width)]
        if answer.codes:
            made += [
                *([()] if made else []),
                line(("Findings", Role.TITLE), ("  F shows the rows of one, R repairs them", Role.DIM)),
            ]
        widest = max((len(f"{one.count:,}") for one in answer.codes), default=0)
        for one in worst_first(answer.codes):
            glyph, role = GLYPHS[one.severity]
            first = f"row {one.first:,}: " if one.first is not None else ""
            head = f" {one.code}  {one.count:>{widest},}  "
            made.append(
                line(
                    (glyph, role),
                    (head, Role.KEY),
                    (clip(visible(first + one.sentence), max(4, width - len(head) - 1)), Role.PLAIN),
                )
            )
        if answer.figures is not None:
            from sftui.views.figures import figure_lines

            made += [*([()] if made else []), *figure_lines(answer.figures, width)]
        return tuple(made)

    def _progress(self, answer: ev.AuditReady, width: int) -> tuple[Line, ...]:
        if answer.done:
            return ()
        of = f" of {answer.total:,}" if answer.total is not None else ""
        left = f" · {_time(answer.left)} left" if answer.left is not None else ""
        state = "auditing" if self.running else "stopped at"
        return wrap(
            line(
                (f"{state} {answer.rows:,}{of} rows", Role.WARNING), (f" · {answer.rate:,.0f} rows/s{left}", Role.DIM)
            ),
            width,
        )

    # — the row list —

    def pick_order(self) -> None:
        """Which rows the list shows, and in which order: by what the audit knows so far."""
        from sftui.views.figures import apart

        screen = self.screen
        answer = self.answer
        own = [*screen.mark_commands.orders(), *screen.repair_commands.orders()]
        if answer is None and not self.running:
            self._start()
        if answer is None and not own and screen.rows.order is None:
            screen.say("auditing first: F offers its findings and lengths as they come", Role.DIM)
            return
        entries = [ORDERS[0], *own]
        if answer is not None:
            entries += [
                *ORDERS[1:],
                *(
                    (one.code, f"{one.count:,} × {one.sentence}")
                    for one in worst_first(answer.codes)
                    if one.first is not None
                ),
            ]
        asked = [by for by, _ in entries]
        title = "which rows"
        for kind, field in GROUPS.items():
            groups: tuple[GroupFigure, ...] = getattr(answer.figures, field, ()) if answer is not None else ()
            names = apart([one.name for one in groups[:MOST_GROUPS]], WIDEST_TOLD)
            entries += [(kind, f"{one.count:,} × {name}") for one, name in zip(groups, names)]
            asked += [by_group(kind, one.name) for one in groups[:MOST_GROUPS]]
            title += (
                f" · the {MOST_GROUPS} largest of {len(groups):,} {kind} groups" if len(groups) > MOST_GROUPS else ""
            )
        dialog = Dialog(title, Options(entries), screen.keymap, screen.look, picking=True)
        screen.app.push_screen(dialog, lambda number: None if number is None else self.order(asked[number]))

    def order(self, by: str) -> None:
        if by == ALL:
            self.screen.rows.set_order(None)
            self.screen.set_status(order="")
            self.screen.say("every row, as it stands in the data", Role.DIM)
            return
        if by in MARKS:
            self.screen.mark_commands.order(by)
        else:
            self.screen.workspace.request_order(by)

    def list_rows(self, by: str, rows: Sequence[int]) -> None:
        """The list shows these rows, and the first of them is opened."""
        screen = self.screen
        screen.rows.set_order(rows)
        screen.set_status(order=clip(visible(by), WIDEST_ORDER))
        screen.row_commands.go(rows[0])
        screen.say(
            f"{clip(visible(by), WIDEST_TOLD)}: {len(rows):,} row{'s' if len(rows) != 1 else ''} · ] [ go through them,"
            " F all rows"
        )

    def on_order(self, event: ev.OrderReady) -> None:
        """The list shows these rows; the first of them is opened."""
        screen = self.screen
        by = clip(visible(event.by), WIDEST_TOLD)
        if event.problem is not None:
            screen.say(event.problem.sentence(), Role.ERROR)
        elif not event.total:
            screen.say(f"no row: {by}", Role.DIM)
        else:
            self.list_rows(event.by, event.rows)
            more = f", the first {len(event.rows):,} listed" if event.total > len(event.rows) else ""
            source = self.screen.repair_commands.counted if event.by in REPAIRED else self.answer
            so_far = "" if source is not None and source.done else " so far"
            screen.say(f"{by}: {event.total:,} rows{so_far}{more} · ] [ go through them, F all rows")


def worst_first(codes: Sequence[ev.CodeCount]) -> list[ev.CodeCount]:
    """Errors, then warnings, then infos; those of one severity as they came."""
    return sorted(codes, key=lambda one: list(GLYPHS).index(one.severity))


def _worst(event: ev.AuditReady) -> str:
    told = [
        f"{count:,} {name}{'s' if count != 1 else ''}"
        for name, count in zip(("error", "warning"), event.found)
        if count
    ]
    return ", ".join(told) or "no error and no warning"


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
