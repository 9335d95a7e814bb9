"""What the workspace reports and what follows from it; and what each view next to the tokens shows of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from sftui.model import Inspection, Problem
from sftui.text import many, visible
from sftui.tui.commands import (
    batch,
    compare,
    edits,
    facets,
    figures,
    filters,
    findings,
    repairs,
    rows,
    search,
    sessions,
    tokens,
    waste,
    writing,
)
from sftui.tui.contexts import (
    BATCH,
    BOUNDARY,
    COMPARE,
    CONVERSATION,
    FIGURES,
    FINDINGS,
    PACKS,
    RAW,
    RENDERED,
    WASTE,
    WHY,
)
from sftui.tui.inspector import Inspector, View
from sftui.tui.panes.document_pane import HINT
from sftui.tui.panes.token_pane import changed_tokens
from sftui.views.cells import Line, Role, line
from sftui.views.grid import hit_starts
from sftui.views.status import problem_lines
from sftui.workspace import events as ev

# — the row —


def _row(here: Inspector, event: ev.RowReady) -> None:
    inspection, pane, reading = event.inspection, here.panes.tokens, here.state.reading
    row = inspection.row.index
    if row != here.state.row:
        here.put(here.state.status._replace(row=row))
    hits: tuple[int, ...] | None = None
    cursor = None
    if reading.hits is not None:
        hits = reading.hits
        here.put(reading._replace(hits=None))
        cursor = hit_starts(hits)[-1 if reading.backwards else 0] if hits else None
    elif pane.inspection is None or pane.inspection.row.index != row:
        hits = ()
    here.show_row(inspection, here.workspace.recipe, hits, cursor)
    here.panes.rows.learn(inspection)
    compare.left_b(here)
    here.show_view(keep=True)
    findings.on_row(here)
    figures.on_row(here, row)
    _say_correction(here, inspection)
    rows.show_figures(here, inspection)


def _say_correction(here: Inspector, inspection: Inspection) -> None:
    """A correction of a provisional tokenizer is said aloud, with what it changed."""
    before = here.state.reading.provisional
    if before is None:
        return
    here.put(here.state.reading._replace(provisional=None))
    if before.row.index == inspection.row.index:
        n = changed_tokens(before, inspection)
        what = f"{many(n, 'token')} of this row changed" if n else "nothing changed in this row"
        here.say(f"corrected: {what}", Role.WARNING)


def _summaries(here: Inspector, event: ev.SummariesReady) -> None:
    here.panes.rows.put(event.rows)
    verdict, found = here.panes.rows.verdict(here.state.row), here.panes.rows.found(here.state.row)
    before = here.state.status.verdict
    if (verdict, found) != (before, here.state.status.found):
        here.put(here.state.status._replace(verdict=verdict, found=found))
    if verdict != before:
        _say_step(here, verdict)


def _say_step(here: Inspector, verdict: tuple[str, str] | None) -> None:
    """What to do about a grave verdict, once a verdict and where nothing else was answered."""
    if verdict is None or verdict[0] != "error" or here.state.said.role is Role.ERROR:
        return
    words, reported = verdict[1], here.state.reading.reported
    if words not in reported:
        here.put(here.state.reading._replace(reported=(*reported, words)))
        step = f"✗ {words}: f shows why and how to fix it, A counts such rows"
        here.say(" · ".join(filter(None, (step, sessions.left_words(here)))), Role.ERROR)


# — the data —


def _count(here: Inspector, event: ev.CountChanged) -> None:
    newest = _shows_newest(here) and event.rows > here.state.status.rows
    here.put(here.state.status._replace(rows=event.rows, exact=event.exact, indexing=event.fraction))
    here.panes.rows.set_count(event.rows)
    if newest:
        rows.go(here, here.state.status.last)
    figures.follow(here)
    if event.exact and here.state.row > here.state.status.last:
        rows.go(here, here.state.status.last)
    if event.damage != here.state.reading.damage:
        here.put(here.state.reading._replace(damage=event.damage))
        if event.damage:
            here.say(event.damage, Role.ERROR)


def _shows_newest(here: Inspector) -> bool:
    """Whether the newest row of a followed file is on screen, in a list of all rows."""
    state = here.state
    listed = state.audited.listed or state.filtering.text
    there = state.row >= state.status.last if state.status.rows else not state.row
    return state.reading.follows and there and not listed


def _data_changed(here: Inspector, event: ev.SourceChanged) -> None:
    here.put(here.state.reading._replace(changed=event.problem is not None))
    if event.problem is not None:
        here.say(event.problem.sentence(), Role.ERROR if event.lost else Role.WARNING)


def _source(here: Inspector, event: ev.SourceOpened) -> None:
    here.put(here.state.status._replace(source=event.title))
    for pane in here.sides:
        pane.show_coming("")
    if event.refused is not None:
        _fail(here, event.refused)
        here.say(repairs.refusal(event.refused), Role.ERROR)
    elif event.anew:
        here.say(visible(event.anew), Role.WARNING)
    elif new := [note for note in event.notes if note not in here.state.reading.notes]:
        here.say(new[0], Role.WARNING)
    elif here.state.said.text == rows.RELOADING:
        here.say("reloaded: the data matches the files on disk", Role.DIM)
    here.put(here.state.reading._replace(notes=event.notes))


def _coming(here: Inspector, event: ev.DataLoading) -> None:
    """How much of the data came, where its rows will be; next to them where they are read anew."""
    if here.panes.tokens.inspection is not None:
        here.say(visible(event.progress), Role.DIM)
    else:
        for pane in here.sides:
            pane.show_coming(visible(event.progress))


def _tokenizer(here: Inspector, event: ev.TokenizerChanged) -> None:
    pane, before = here.panes.tokens, here.state.status.state
    here.put(here.state.status._replace(state=event.state, version=event.whose))
    figures.follow(here)
    for one in here.sides:
        one.unloaded = event.state == "failed"
        one.show_loading(visible(event.message) if event.state == "loading" else "")
    if event.state == "corrected" and pane.inspection is not None:
        here.put(here.state.reading._replace(provisional=pane.inspection))
    if event.state == "failed" and event.problem is not None:
        here.say(event.problem.sentence(), Role.ERROR)
    elif event.state == "provisional":
        here.say("tokens are provisional until verified against AutoTokenizer", Role.WARNING)
    elif event.state == "proven" and before == "provisional":
        here.say("tokenizer verified: same tokens as AutoTokenizer", Role.GOOD)
    if event.whose and event.whose != here.state.reading.whose:
        here.say(event.message, Role.WARNING)
    here.put(here.state.reading._replace(whose=event.whose))
    own = here.workspace.recipe.render.template == "tokenizer"
    if event.templates and own and not getattr(event.facts, "chat_templates", None):
        here.say("this tokenizer has no chat template: T chooses one", Role.WARNING)


# — the recipe —


def _recipe(here: Inspector, event: ev.RecipeChanged) -> None:
    """Another recipe is in force: the knobs show it; the row and the list answer by themselves."""
    now = here.workspace.recipe
    here.panes.recipe.repaint()
    here.panes.rows.pairs = now.paired
    here.set_sides(now.paired)
    here.panes.rows.forget()
    here.put(
        here.state.status._replace(rule=rows.trainer_words(now)),
        here.state.batched.under_another_recipe(here.state.open.view),
        here.state.searching.under_another_recipe(),
    )
    figures.on_recipe(here)
    tokens.on_recipe(here)
    repairs.on_recipe(here)
    edits.on_recipe(here)


def _counted(here: Inspector, event: ev.CountReady) -> None:
    """The count of the card's change, or that of a comparison."""
    if not tokens.on_count(here, event):
        compare.on_count(here, event)


def _findings(here: Inspector, event: ev.FindingsReady) -> None:
    findings.on_findings(here, event)
    figures.on_findings(here, event)


# — what went wrong —


def _fail(here: Inspector, problem: Problem) -> None:
    for pane in here.sides:
        pane.fail(problem)


def _failed(here: Inspector, event: ev.WorkerFailed) -> None:
    _fail(here, event.problem)
    figures.failed(here)
    writing.ended(here)
    here.say(event.problem.sentence(), Role.ERROR)


HEARING: Mapping[type, Callable[[Inspector, Any], None]] = {
    ev.RowReady: _row,
    ev.SummariesReady: _summaries,
    ev.CountChanged: _count,
    ev.SourceChanged: _data_changed,
    ev.SourceOpened: _source,
    ev.DataLoading: _coming,
    ev.TokenizerChanged: _tokenizer,
    ev.RecipeChanged: _recipe,
    ev.FindingsReady: _findings,
    ev.WorkerFailed: _failed,
    ev.WorkLeft: lambda here, event: here.say(event.problem.sentence(), Role.ERROR),
    ev.BatchReady: batch.on_answer,
    ev.PacksReady: batch.on_answer,
    ev.SearchFound: search.on_found,
    ev.HitsCounted: search.on_counted,
    ev.RowsMatched: filters.on_matched,
    ev.FacetsCounted: facets.on_counted,
    ev.AuditReady: figures.on_audit,
    ev.WasteReady: waste.on_answer,
    ev.TagsReady: findings.on_tags,
    ev.OrderReady: figures.on_order,
    ev.WhyReady: tokens.on_why,
    ev.ComparisonReady: compare.on_compared,
    ev.CountReady: _counted,
    ev.RepairsCounted: repairs.on_counted,
    ev.RepairsWritten: writing.on_written,
}


# — the views next to the tokens —


def _document(here: Inspector, name: str, keep: bool) -> None:
    """A view of one row."""
    inspection, pane = here.panes.tokens.inspection, here.pane_showing(name)
    hint = " · ".join(filter(None, (here.panes.tokens.side, HINT if here.state.open.view == name else "")))
    make = partial(_no_row, here) if inspection is None else partial(_lines, name, inspection)
    pane.show(name, make, keep=keep, hint=hint)


def _no_row(here: Inspector, width: int) -> tuple[Line, ...]:
    failure = here.panes.tokens.failure
    if failure is None:
        return (line((f"loading row {here.state.row:,} …", Role.DIM)),)
    return problem_lines(failure, width)


def _lines(name: str, inspection: Inspection, width: int) -> tuple[Line, ...]:
    from sftui.views.boundary import boundary_lines
    from sftui.views.panes import conversation_lines, raw_lines, rendered_lines

    views = {CONVERSATION: conversation_lines, RENDERED: rendered_lines, BOUNDARY: boundary_lines}
    return raw_lines(inspection.row, width) if name == RAW else views[name](inspection, width)


def _comparison_closed(here: Inspector) -> str | None:
    """The finding that it previewed is shown again; where the tokens under B are to be seen, nothing ends."""
    compare.stop_counting(here)
    return FINDINGS if not here.state.compared.peeking and compare.drop_preview(here) else None


VIEWS = {
    **{name: View(_document, _document) for name in (CONVERSATION, RENDERED, RAW, BOUNDARY)},
    FINDINGS: View(findings.show, findings.show),
    WHY: View(tokens.show, tokens.paint, tokens.closed),
    COMPARE: View(compare.show, compare.paint, _comparison_closed),
    BATCH: View(batch.show, batch.paint),
    PACKS: View(batch.show, batch.paint),
    WASTE: View(waste.show, waste.paint, waste.closed),
    FIGURES: View(figures.show, figures.paint),
}
"""What each shows of the row on screen, how it is drawn anew, and what follows it."""
