"""The audit of the whole dataset: its figures, its findings by code, and the row list filtered or sorted by them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sftui.text import clip, many, visible
from sftui.tui.commands import TOKENS
from sftui.tui.dialogs import Dialog, Options
from sftui.tui.figures_pane import Owned
from sftui.tui.mark_commands import ORDERS as MARKS
from sftui.views import Action, Line, Over, Role, line, wrap
from sftui.workspace import events as ev
from sftui.workspace import requests as rq
from sftui.workspace.requests import GROUPS, REPAIRED, by_group

if TYPE_CHECKING:
    from sftui.audit.figures import GroupFigure
    from sftui.tui.main_screen import MainScreen

VIEW = "figures"
ALL = "all rows"
ORDERS = (
    (ALL, "every row, in file order"),
    ("error", "rows with an error"),
    ("warning", "rows with a warning"),
    ("longest", "most tokens first"),
    ("shortest", "fewest tokens first"),
    ("most trained", "largest trained share first"),
    ("least trained", "smallest trained share first"),
    ("dropped", "rows dropped or stopped before training"),
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
        self._chosen = ""
        self._listed = ""
        self._after: int | None = None
        self._unmarked: tuple[int, int] | None = None
        self._last_row = -1
        screen.figures.marked, screen.figures.mark = self.marked, self._choose

    def handlers(self) -> dict[str, Callable[[int | None], None]]:
        pane = self.screen.figures
        return {
            "figures.down": lambda n: self.move(n or 1),
            "figures.up": lambda n: self.move(-(n or 1)),
            "figures.page_down": lambda n: pane.scroll_lines((n or 1) * pane.page),
            "figures.page_up": lambda n: pane.scroll_lines(-(n or 1) * pane.page),
            "figures.home": lambda n: self.to_end(False),
            "figures.end": lambda n: self.to_end(True),
            "figures.rows": lambda n: self.to_rows(),
            "figures.explain": lambda n: self.explain(),
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
        self.ticket = self.screen.workspace.ask(rq.AuditRequest)

    def stop_or_start(self) -> None:
        """Stops the audit, or resumes it."""
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
        self.screen.say("audit stopped: the figures cover the rows so far", Role.WARNING)
        self._paint()
        return True

    def failed(self) -> None:
        """The worker could not go on: nothing comes any more."""
        self.ticket = None
        self._paint()

    def show(self, keep: bool) -> None:
        self.screen.figures.show_owned(VIEW, self.lines, keep=keep, hint=self.hint())
        self.screen.update_detail()

    def hint(self) -> str:
        """What the keys do now, which for X is another thing once the audit stands still."""
        answer = self.answer
        audit = (
            "X stops · " if self.running else "X audits · " if answer is None else "" if answer.done else "X resumes · "
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
                    else f"audit done: {_worst(event)} · A shows it, F filters rows"
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

    def lines(self, width: int) -> Owned:
        """What was done in this session, then what the audit found."""
        made: list[tuple[Line, str]] = []
        for block in (
            _unowned(self.screen.mark_commands.lines(width)),
            _unowned(self.screen.repair_commands.lines(width)),
            self._audited(width),
        ):
            told = list(block)
            while told and not told[-1][0]:
                told.pop()
            made += [((), ""), *told] if made and told else told
        return tuple(made)

    def _audited(self, width: int) -> Owned:
        answer = self.answer
        if answer is None:
            told = "auditing …" if self.running else "not audited under this recipe; press X"
            return _unowned((line((told, Role.DIM)),))
        if answer.problem is not None:
            return _unowned(wrap(line((f"✗ {answer.problem.sentence()}", Role.ERROR)), width))
        blocks = [_unowned(self._progress(answer, width)), self._codes(answer, width)]
        if answer.figures is not None:
            from sftui.views.figures import figure_lines

            blocks.append(_unowned(figure_lines(answer.figures, width)))
        made: list[tuple[Line, str]] = []
        for block in blocks:
            made += [((), ""), *block] if made and block else block
        return tuple(made)

    def _codes(self, answer: ev.AuditReady, width: int) -> Owned:
        """A line a code; the sentence of the marked one is whole."""
        if not answer.codes:
            return ()
        made = [(line(("Findings", Role.TITLE), ("  Enter shows the rows of one, R repairs them", Role.DIM)), "")]
        widest = max(len(f"{one.count:,}") for one in answer.codes)
        for one in worst_first(answer.codes):
            glyph, role = GLYPHS[one.severity]
            marked = one.code == self.marked()
            over = Over.CURSOR if marked and self.screen.figures.active else Over.NONE
            first = f"row {one.first:,}: " if one.first is not None else ""
            head = f" {one.code}  {one.count:>{widest},}  "
            told = visible(first + one.sentence)
            cells = tuple(run._replace(over=over) for run in line((glyph, role), (head, Role.KEY)))
            if marked:
                block = wrap((*cells, *line((told, Role.PLAIN))), width, "    ")
            else:
                block = ((*cells, *line((clip(told, max(4, width - len(head) - 1)), Role.PLAIN))),)
            made += [(cells, one.code) for cells in block]
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

    # — the findings —

    def _marked(self) -> ev.CodeCount | None:
        codes = worst_first(self.answer.codes) if self.answer is not None else []
        return next((one for one in codes if one.code == self._chosen), codes[0] if codes else None)

    def marked(self) -> str:
        """The code that is marked: the worst one, unless another was chosen."""
        one = self._marked()
        return one.code if one is not None else ""

    def _choose(self, code: str) -> None:
        self._chosen = code

    def move(self, steps: int) -> None:
        self.screen.figures.move(steps)
        self.screen.update_detail()

    def to_end(self, last: bool) -> None:
        self.screen.figures.to_end(last)
        self.screen.update_detail()

    def sentence(self) -> Line:
        """What Enter does with the marked finding."""
        one = self._marked()
        if one is None:
            return line((" no findings" + (" so far" if self.running else ""), Role.DIM)) if self.answer else ()
        if one.first is None:
            return line((f" {one.code} is about the set-up, not single rows:", Role.DIM), (" ?", Role.KEY), " explains")
        which = "some rows" if one.examples else "all rows"
        return line((" Enter", Role.KEY), (f" goes to row {one.first:,} and lists {which} with {one.code}", Role.DIM))

    def idle(self) -> frozenset[str]:
        """The commands that come to nothing with the marked finding."""
        one = self._marked()
        none = {"figures.rows", "figures.explain", "figures.down"}
        return frozenset(none if one is None else {"figures.rows"} if one.first is None else ())

    def explain(self) -> None:
        """The page of the marked code."""
        one = self._marked()
        if one is None:
            self.screen.say("no findings to explain", Role.DIM)
        else:
            self.screen.findings_commands.explain_code(one.code)

    def to_rows(self) -> None:
        """List the rows of the marked finding and go to the first; to the next where they are listed."""
        one, screen = self._marked(), self.screen
        if one is None:
            screen.say("no findings yet" if self.running else "no findings", Role.DIM)
        elif one.first is None:
            screen.say(f"{one.code} is about the set-up, not single rows: ? explains it", Role.DIM)
        else:
            listed = self._listed == one.code and screen.rows.line_of(screen.status.row) is not None
            self._after = screen.status.row if listed and screen.rows.order is not None else -1
            screen.workspace.ask(rq.OrderRequest, one.code)

    def on_row(self, row: int) -> None:
        """Another row of a finding's is on screen: its tokens are marked as soon as they are known."""
        if row != self._last_row:
            self._last_row = row
            self._ask(row)

    def _ask(self, row: int) -> None:
        screen, self._unmarked = self.screen, None
        listed = screen.rows.order is not None and screen.rows.line_of(row) is not None
        if self._listed and listed and not screen.tokens.state.hits:
            self._unmarked = (row, screen.tokens.state.cursor)
            screen.workspace.ask(rq.FindingsRequest, row)

    def on_findings(self, event: ev.FindingsReady) -> None:
        """Mark the tokens of the finding whose rows are listed; the cursor goes there unless it was moved meanwhile."""
        screen, waiting = self.screen, self._unmarked
        if waiting is None or waiting[0] != event.index or event.index != screen.status.row:
            return
        self._unmarked = None
        if screen.look_commands.open_view != "findings":
            screen.workspace.cancel(event.ticket)
        ranges = [one.tokens for one in event.findings if one.code == self._listed and one.tokens is not None]
        hits = tuple(sorted({token for start, end in ranges for token in range(start, end)}))
        if hits and not screen.tokens.state.hits:
            moved = screen.tokens.state.cursor != waiting[1]
            screen.tokens.mark(hits)
            if not moved:
                screen.tokens.act(Action.GOTO, hits[0])
            screen.update_detail()

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
            screen.say("auditing; press F again to filter by findings and lengths", Role.DIM)
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
        self._after = None
        if by == ALL:
            self._listed = ""
            self.screen.rows.set_order(None)
            self.screen.set_status(order="")
            self.screen.say("every row, in file order", Role.DIM)
            return
        if by in MARKS:
            self.screen.mark_commands.order(by)
        else:
            self.screen.workspace.ask(rq.OrderRequest, by)

    def list_rows(self, by: str, rows: Sequence[int], after: int = -1) -> None:
        """The list shows these rows, and the first of them is opened, or the first one after a row."""
        screen = self.screen
        screen.rows.set_order(rows)
        screen.set_status(order=clip(visible(by), WIDEST_ORDER))
        self._listed = by if self.answer is not None and by in {one.code for one in self.answer.codes} else ""
        self._last_row = -1
        row = next((row for row in rows if row > after), rows[0])
        here = screen.tokens.inspection
        screen.row_commands.go(row)
        if here is not None and here.row.index == row == screen.status.row:
            self.on_row(row)
        screen.say(f"{clip(visible(by), WIDEST_TOLD)}: {many(len(rows), 'row')} · ] [ go through them, F all rows")

    def on_order(self, event: ev.OrderReady) -> None:
        """The list shows these rows; the first of them is opened."""
        screen = self.screen
        by = clip(visible(event.by), WIDEST_TOLD)
        if event.problem is not None:
            screen.say(event.problem.sentence(), Role.ERROR)
        elif not event.total:
            screen.say(f"no {dict(ORDERS).get(event.by, f'rows: {by}')}", Role.DIM)
        else:
            self.list_rows(event.by, event.rows, -1 if self._after is None else self._after)
            if self._after is not None:
                if not screen.tokens.display:
                    screen.look_commands.close_view()
                screen.hold_keys(TOKENS)
            more = f", the first {len(event.rows):,} listed" if event.total > len(event.rows) else ""
            source = self.screen.repair_commands.counted if event.by in REPAIRED else self.answer
            so_far = "" if source is not None and source.done else " so far"
            screen.say(f"{by}: {many(event.total, 'row')}{so_far}{more} · ] [ next and previous, F all rows")


def _unowned(lines: Sequence[Line]) -> Owned:
    return tuple((cells, "") for cells in lines)


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
