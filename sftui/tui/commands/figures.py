"""The audit of the whole dataset: its figures, its findings by code, and the row list filtered or sorted by them.

The audit runs in the worker, behind all that is requested there; it goes on while the view is closed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from sftui.text import clip, many, visible
from sftui.tui.commands import filters, findings, marks, repairs, rows
from sftui.tui.commands.command import Command, in_pane, moves
from sftui.tui.contexts import FIGURES, FINDINGS, TOKENS
from sftui.tui.inspector import Inspector
from sftui.tui.panes.document_pane import Owned
from sftui.tui.state import StatusMessage, unless
from sftui.views.cells import Line, Over, Role, line, text_lines, wrap
from sftui.views.findings import GLYPHS, ROLES
from sftui.views.grid import Action
from sftui.views.status import problem_lines
from sftui.workspace import events as ev
from sftui.workspace import requests as rq
from sftui.workspace.requests import GROUPS, REPAIRED

if TYPE_CHECKING:
    from sftui.audit.figures import GroupFigure

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
WIDEST_ORDER, WIDEST_SHOWN = 16, 40
"""Cells of the status line, and of what is said, that name what the list shows."""


# — the audit —


@Command("figures", ("A",), "figures", "Look")
def open_view(here: Inspector, count: int | None) -> None:
    """Audit the whole dataset in the background: figures and findings by code."""
    now = here.state.audited
    if not now.running and now.answer is None:
        _start(here)
    here.open_view(FIGURES)


def _start(here: Inspector) -> None:
    here.put(here.state.audited.began(here.workspace.ask(rq.AuditRequest)))


def follow(here: Inspector) -> None:
    """Audits a followed file once its tokenizer is there, and then the rows that came since."""
    now, state = here.state.audited, here.state.status.state
    if not here.state.reading.follows or now.running or state in ("", "loading", "failed", "none"):
        return
    if now.answer is None or now.answer.problem is not None:
        _start(here)
    elif now.answer.done and here.state.status.rows > now.answer.known:
        here.put(now._replace(ticket=here.workspace.ask(rq.AuditRequest)))


def _figures_hidden(here: Inspector) -> StatusMessage | None:
    """An audit that is not on screen is not stopped or started by a letter."""
    return unless(here.state.open.view == FIGURES, "the audit is not on screen; press A")


@Command("audit.stop", ("X",), "stop the audit", "Look", when=_figures_hidden)
def stop_or_start(here: Inspector, count: int | None) -> None:
    """Stop or resume the audit."""
    if cancel(here):
        return
    _start(here)
    here.say("auditing … A shows the figures, X stops", Role.DIM)
    here.paint_view(FIGURES)


def cancel(here: Inspector) -> bool:
    """Stops a running audit; what it has stays. False where none runs."""
    ticket = here.state.audited.ticket
    if ticket is None:
        return False
    here.workspace.cancel(ticket)
    failed(here)
    here.say("audit stopped: the figures cover the rows so far", Role.WARNING)
    return True


def failed(here: Inspector) -> None:
    """Nothing comes any more."""
    here.put(here.state.audited._replace(ticket=None))
    here.paint_view(FIGURES)


def on_audit(here: Inspector, event: ev.AuditReady) -> None:
    if event.ticket != here.state.audited.ticket:
        return
    before = here.state.audited.answer
    here.put(here.state.audited.answered(event))
    again = here.state.reading.follows and before is not None
    if not here.state.audited.running and here.state.open.view != FIGURES and not again:
        done = f"audit done: {_worst(event)} · A shows it, F filters rows"
        role = Role.ERROR if any(sentence.severity == "error" for sentence in event.verdict) else Role.PLAIN
        here.say(event.problem.sentence() if event.problem is not None else done, role)
    if event.done:
        follow(here)
    here.paint_view(FIGURES)


def on_recipe(here: Inspector) -> None:
    """Another recipe has other figures; a running audit begins anew by itself."""
    here.put(here.state.audited._replace(answer=None))
    here.paint_view(FIGURES)


# — what is shown —


def show(here: Inspector, name: str, keep: bool) -> None:
    """They are not those of a row."""
    if not keep:
        paint(here, name, keep)


def paint(here: Inspector, name: str, keep: bool = True) -> None:
    here.panes.figures.show_owned(FIGURES, partial(lines, here), keep=keep, hint=hint(here))


def hint(here: Inspector) -> str:
    """What the keys do now, which for X is another thing once the audit stands still."""
    answer, running = here.state.audited.answer, here.state.audited.running
    audit = "X stops · " if running else "X audits · " if answer is None else "" if answer.done else "X resumes · "
    return f"F rows · L wider · {audit}A closes"


def lines(here: Inspector, width: int) -> Owned:
    """What was done in this session, then what the audit found."""
    blocks = [_unowned(marks.lines(here, width)), _unowned(repairs.lines(here, width)), *_audited(here, width)]
    made: list[tuple[Line, str]] = []
    for block in blocks:
        kept = list(block)
        while kept and not kept[-1][0]:
            kept.pop()
        made += [((), ""), *kept] if made and kept else kept
    return tuple(made)


def _audited(here: Inspector, width: int) -> Sequence[Owned]:
    answer = here.state.audited.answer
    if answer is None:
        text = "auditing …" if here.state.audited.running else "not audited under this recipe; press X"
        return (_unowned((line((text, Role.DIM)),)),)
    if answer.problem is not None:
        return (_unowned(problem_lines(answer.problem, width)),)
    blocks = [_unowned(_progress(here, answer, width)), _verdict(here, answer, width), _codes(here, answer, width)]
    if answer.figures is not None:
        from sftui.views.figures import figure_lines

        figures = figure_lines(answer.figures, width)
        blocks.append(tuple((_under_cursor(here, cells, by), by) for cells, by in figures))
    return blocks


def _verdict(here: Inspector, answer: ev.AuditReady, width: int) -> Owned:
    """What training does with the data; nothing where all is well so far."""
    made: list[tuple[Line, str]] = []
    for severity, sentence, by in answer.verdict:
        block = text_lines(f"{GLYPHS[severity]} {visible(sentence)}", width, ROLES[severity], "  ")
        made += [(_under_cursor(here, cells, by), by) for cells in block]
    return tuple(made)


def _under_cursor(here: Inspector, cells: Line, by: str) -> Line:
    """The line of what is marked, where the pane has the keys."""
    shown = by != "" and by == marked(here) and here.panes.figures.active
    return tuple(run._replace(over=Over.CURSOR) for run in cells) if shown else cells


def _codes(here: Inspector, answer: ev.AuditReady, width: int) -> Owned:
    """A line a code; the sentence of the marked one is whole."""
    if not answer.codes:
        return ()
    made = [(line(("Findings", Role.TITLE), ("  Enter lists its rows, R repairs them", Role.DIM)), "")]
    widest = max(len(f"{found.count:,}") for found in answer.codes)
    for found in worst_first(answer.codes):
        first = f"row {found.first:,}: " if found.first is not None else ""
        head = f" {found.code}  {found.count:>{widest},}  "
        words = visible((f"{found.share}; " if found.share else "") + first + found.sentence)
        cells = line((GLYPHS[found.severity], ROLES[found.severity]), (head, Role.KEY))
        cells = _under_cursor(here, cells, found.code)
        if found.code == marked(here):
            block = wrap((*cells, *line(words)), width, "    ")
        else:
            block = ((*cells, *line(clip(words, max(4, width - len(head) - 1)))),)
        made += [(cells, found.code) for cells in block]
    return tuple(made)


def _progress(here: Inspector, answer: ev.AuditReady, width: int) -> tuple[Line, ...]:
    if answer.done:
        return ()
    of = f" of {answer.total:,}" if answer.total is not None else ""
    left = f" · {_time(answer.left)} left" if answer.left is not None else ""
    state = "auditing" if here.state.audited.running else "stopped at"
    speed = f" · {answer.rate:,.0f} rows/s{left}"
    return wrap(line((f"{state} {answer.rows:,}{of} rows", Role.WARNING), (speed, Role.DIM)), width)


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


# — the findings —


def _marked(here: Inspector) -> ev.CodeCount | None:
    """The finding that is marked; None where a number of the figures is."""
    now, lists = here.state.audited, here.panes.figures.lists
    codes = [code for code in worst_first(now.answer.codes) if lists(code.code)] if now.answer is not None else []
    worst = codes[0] if codes and not _of_figures(_chosen(here)) else None
    return next((code for code in codes if code.code == now.chosen), worst)


def _chosen(here: Inspector) -> str:
    """The line that was chosen; "" where the filter of the list hides it."""
    chosen = here.state.audited.chosen
    return chosen if here.panes.figures.lists(chosen) else ""


def marked(here: Inspector) -> str:
    """What is marked, a code or the rows behind a number: the worst code, unless another line was chosen."""
    found = _marked(here)
    return found.code if found is not None else _chosen(here)


def _of_figures(chosen: str) -> bool:
    return chosen in dict(ORDERS) or ": " in chosen


def choose(here: Inspector, by: str) -> None:
    here.put(here.state.audited._replace(chosen=by))
    here.paint_view(FIGURES)


def _no_finding(here: Inspector) -> StatusMessage | None:
    """Why there is nothing to explain."""
    chosen = _of_figures(_chosen(here))
    words = "only findings have a help page; Enter lists the rows" if chosen else "no findings to explain"
    return unless(_marked(here), words)


def _no_rows(here: Inspector) -> StatusMessage | None:
    """Why what is marked has no rows."""
    found, now = _marked(here), here.state.audited
    if found is None:
        listed = now.answer is not None and _of_figures(_chosen(here))
        return unless(listed, "no findings yet" if now.running else "no findings")
    return unless(found.first is not None, f"{found.code} is about the setup, not single rows: W explains it")


def sentence(here: Inspector) -> Line:
    """What Enter does with what is marked."""
    found, now = _marked(here), here.state.audited
    if found is None and now.answer is not None and _of_figures(_chosen(here)):
        words = dict(ORDERS).get(now.chosen) or now.chosen.replace(":", "", 1)
        return line((" Enter", Role.KEY), (f" lists the rows: {visible(words)}", Role.DIM))
    if found is None:
        looked = now.answer is not None and now.answer.problem is None  # where the audit was refused, at nothing
        return line((" no findings" + (" so far" if now.running else ""), Role.DIM)) if looked else ()
    if found.first is None:
        return line((f" {found.code} is about the setup, not single rows:", Role.DIM), (" W", Role.KEY), " explains")
    which = "some rows" if found.examples else "all rows"
    return line((" Enter", Role.KEY), (f" goes to row {found.first:,} and lists {which} with {found.code}", Role.DIM))


MOVES = moves(FIGURES, "line", in_pane, lambda here: None if marked(here) else StatusMessage())


@Command("figures.rows", ("enter",), "show its rows", "Findings", FIGURES, when=_no_rows, means="enter")
def to_rows(here: Inspector, count: int | None) -> None:
    """Go to the first row behind a finding or number and list the others; press again for the next."""
    by, pane, now = marked(here), here.panes.rows, here.state.audited
    listed = now.listed == by and pane.line_of(here.state.row) is not None
    here.put(now._replace(after=here.state.row if listed and pane.order is not None else -1))
    here.workspace.ask(rq.OrderRequest, by)


@Command("figures.explain", ("W",), "why it matters", "Findings", FIGURES, when=_no_finding, means="why")
def explain(here: Inspector, count: int | None) -> None:
    """Explain the finding."""
    findings.explain_code(here, marked(here))


def on_row(here: Inspector, row: int) -> None:
    """Another row of a finding's is on screen: its tokens are marked as soon as they are known."""
    if row == here.state.audited.last_row:
        return
    pane, grid = here.panes.rows, here.panes.tokens.state
    listed = pane.order is not None and pane.line_of(row) is not None
    asks = here.state.audited.has(here.state.audited.listed) and listed and not grid.hits
    here.put(here.state.audited._replace(last_row=row, unmarked=(row, grid.cursor) if asks else None))
    if asks:
        here.workspace.ask(rq.FindingsRequest, row)


def on_findings(here: Inspector, event: ev.FindingsReady) -> None:
    """Mark the tokens of the finding whose rows are listed; the cursor goes there unless it was moved meanwhile."""
    now = here.state.audited
    waiting = now.unmarked
    if waiting is None or waiting[0] != event.index or event.index != here.state.row:
        return
    here.put(now._replace(unmarked=None))
    if not here.on_screen(FINDINGS):
        here.workspace.cancel(event.ticket)
    found = [finding for finding in event.findings if finding.code == now.listed and finding.tokens is not None]
    ranges = [finding.tokens or (0, 0) for finding in found if finding.side == found[0].side]
    hits = tuple(sorted({token for start, end in ranges for token in range(start, end)}))
    if hits and not here.panes.tokens.state.hits:
        moved = here.panes.tokens.state.cursor != waiting[1]
        findings.to_side(here, found[0])
        tokens = here.panes.tokens
        tokens.mark(hits)
        if not moved:
            tokens.act(Action.GOTO, hits[0])


# — the row list —


@Command("order", ("F",), "filter or sort rows", "Rows")
def pick_order(here: Inspector, count: int | None) -> None:
    """Filter or sort the row list by finding, group, length, … (after the audit)."""
    from sftui.audit.tallies import listed_by
    from sftui.views.figures import group_names

    answer = here.state.audited.answer
    own = [*marks.orders(here), *repairs.orders(here)]
    if answer is None and not here.state.audited.running:
        _start(here)
    if answer is None and not own and here.panes.rows.order is None:
        here.say("the audit is running; press F again later to filter by findings and lengths", Role.DIM)
        return
    entries = [ORDERS[0], *own]
    if answer is not None:
        codes = [found for found in worst_first(answer.codes) if found.first is not None]
        entries += [*ORDERS[1:], *((found.code, f"{found.count:,} × {found.sentence}") for found in codes)]
    listings = [by for by, _ in entries]
    title = "which rows"
    for kind, field in GROUPS.items():
        groups: tuple[GroupFigure, ...] = getattr(answer.figures, field, ()) if answer is not None else ()
        largest = groups[:MOST_GROUPS]
        names = group_names(kind, largest, WIDEST_SHOWN)
        entries += [(kind, f"{group.count:,} × {name}") for group, name in zip(largest, names)]
        listings += [listed_by(kind, group.name) for group in largest]
        title += f" · {MOST_GROUPS} of {len(groups):,} {kind} groups, the largest" if len(groups) > MOST_GROUPS else ""
    here.pick(title, entries, lambda number: order(here, listings[number]))


def order(here: Inspector, by: str) -> None:
    """List rows by what is known of them."""
    here.put(here.state.audited._replace(after=None))
    if by == ALL:
        filters.list_all(here)
    elif by in marks.ORDERS:
        _list(here, by, marks.rows_of(here, by))
    else:
        here.workspace.ask(rq.OrderRequest, by)


def _list(here: Inspector, by: str, order: Sequence[int], after: int = -1) -> None:
    """The list shows these rows, and the first of them is opened, or the first one after a row."""
    if here.state.filtering.text:
        filters.forget(here)
    here.panes.rows.set_order(order)
    now = here.state.audited
    here.put(here.state.status._replace(order=clip(visible(by), WIDEST_ORDER)), now._replace(listed=by, last_row=-1))
    row = next((row for row in order if row > after), order[0])
    shown = here.panes.tokens.inspection
    rows.go(here, row)
    if shown is not None and shown.row.index == row == here.state.row:
        on_row(here, row)
    here.say(f"{clip(visible(by), WIDEST_SHOWN)}: {many(len(order), 'row')} · ] [ next and previous, Esc all rows")


def on_order(here: Inspector, event: ev.OrderReady) -> None:
    """The list shows these rows; the first of them is opened."""
    by, now = clip(visible(event.by), WIDEST_SHOWN), here.state.audited
    if event.problem is not None:
        here.say(event.problem.sentence(), Role.ERROR)
    elif not event.total:
        here.say(f"no {dict(ORDERS).get(event.by, f'rows: {by}')}", Role.DIM)
    else:
        _list(here, event.by, event.rows, -1 if now.after is None else now.after)
        if now.after is not None:
            if not here.panes.tokens.display:
                here.close_view()
            here.hold_keys(TOKENS)
        more = f", the first {len(event.rows):,} listed" if event.total > len(event.rows) else ""
        source = here.state.repairing.counted if event.by in REPAIRED else now.answer
        so_far = "" if source is not None and source.done else " so far"
        here.say(f"{by}: {many(event.total, 'row')}{so_far}{more} · ] [ next and previous, Esc all rows")


def _unowned(lines: Sequence[Line]) -> Owned:
    return tuple((cells, "") for cells in lines)


def worst_first(codes: Sequence[ev.CodeCount]) -> list[ev.CodeCount]:
    """Errors, then warnings, then infos; those of one severity as they came."""
    return sorted(codes, key=lambda found: list(GLYPHS).index(found.severity))


def _worst(event: ev.AuditReady) -> str:
    """What the findings lead to, the worst of it; else how many there are."""
    if event.verdict:
        return visible(event.verdict[0].sentence)
    parts = [many(count, name) for name, count in zip(("error", "warning"), event.found) if count]
    return ", ".join(parts) or "no errors or warnings"
