"""What is offered against a finding is tried first, on the rows that it concerns and a few others."""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

from sftui.errors import SftuiError
from sftui.findings import SCOPE_OF, Finding, Fix, check_setup
from sftui.findings.catalogue import REPAIR_OF
from sftui.findings.rule import DROP
from sftui.model import Inspection, Row
from sftui.recipe import Recipe, changed, with_changes
from sftui.session.opened import HEAVY
from sftui.session.ready import Ready, ready_under
from sftui.tokens.shortcuts.bulk import Bulk

CONCERNED = 3
"""Rows that a finding names on which its cures are tried."""
OTHERS = 8
"""First rows of the data on which it is tried that a cure does no harm."""
_WHICH = attrgetter("code", "row", "message", "tokens", "sentence")
"""What tells findings apart whose cures are tried."""
Made = tuple[Inspection, "tuple[Finding, ...]"]


def with_cures(session: Ready, finding: Finding) -> Generator[None, None, Finding]:
    """The finding with the cures alone that help; `declined` says why others do not.

    A cure helps where the finding goes away or shrinks in the rows that it concerns, and no row tried can be prepared
    no more, is dropped, or has an error that it had not. Yields after each step of the work.
    """
    from sftui.repairs.run import DROPPING

    declined: list[str] = []
    fix = finding.fix
    if fix is not None and (fix.changes or fix.template):
        why = yield from _tried(session, finding, fix)
        if why:
            what = ", ".join(change.path for change in fix.changes) or "generation tags in the chat template"
            declined.append(f"changing {what} does not help: {why}")
            fix = None
    helpful: list[str] = []
    for name in REPAIR_OF.get(finding.code, ()):
        why = yield from _tried(session, finding, f"{DROPPING}{finding.code}" if name == DROP else name)
        if not why:
            helpful.append(name)
        elif name != DROP:
            declined.append(f"{name} does not help: {why}")
    return replace(finding, fix=fix, repairs=tuple(helpful), declined=tuple(declined))


def fix_fails(session: Ready, findings: Sequence[Finding]) -> str:
    """Why the fix that findings of one code share is not to be offered; "" where it helps against one of them at least,
    or changes no knob and no template."""
    reason = ""
    for finding in findings[:CONCERNED]:
        if finding.fix is None or not (finding.fix.changes or finding.fix.template):
            return ""
        steps = _tried(session, finding, finding.fix)
        try:
            while True:
                next(steps)
        except StopIteration as stop:
            if not stop.value:
                return ""
            reason = reason or stop.value
    return reason


def _tried(session: Ready, finding: Finding, cure: str | Fix) -> Generator[None, None, str]:
    """Why one cure, a repair or a fix of the recipe, does not help; "" where it does."""
    context = session.checks()
    key: tuple[object, ...] = ("tried", *_WHICH(finding), cure if isinstance(cure, str) else None)
    if key not in context.memo:
        with ExitStack() as files:
            try:
                recipe, repairs = _with(session, cure, files)
                other = ready_under(session, recipe, repairs)  # the fix may be a version with another transformers
                other.checks()
            except SftuiError as error:
                context.memo[key] = str(error)
                return str(error)
            yield None
            context.memo[key] = yield from _judged(session, other, finding)
    return str(context.memo[key])


def _with(session: Ready, cure: str | Fix, files: ExitStack) -> tuple[Recipe, tuple[str, ...] | None]:
    """The recipe and the repairs that a cure puts in force; SftuiError where it cannot be had."""
    if isinstance(cure, str):
        return session.requested, (*session.repairs, cure)
    recipe = session.requested
    if cure.template is not None:
        folder = files.enter_context(tempfile.TemporaryDirectory(prefix="sftui-trial-"))
        file = Path(folder, "chat_template.jinja")
        file.write_text(_tagged(session), encoding="utf-8")
        recipe = changed(recipe, "render.template", f"file:{file}")
    return with_changes(recipe, cure.changes), None


def _tagged(session: Ready) -> str:
    """The template in force with generation tags; SftuiError where there are none to be had."""
    from sftui.templates.tags.surgery import add_generation_tags

    tools = session.checks().tools
    template = tools.default_template
    if template is None:
        raise SftuiError("there is no chat template to put tags into")
    chats = [made.conversation for made, _ in _before(session, _light(session.sample)) if made.conversation is not None]
    done = add_generation_tags(
        template.source, template.name, dict(tools.special_tokens), chats, options=session.recipe.render
    )
    if done.refused is not None:
        raise SftuiError(f"no tags can be put into {template.name}", why=done.refused)
    return done.source


def _judged(session: Ready, other: Ready, finding: Finding) -> Generator[None, None, str]:
    rows = _rows(session, finding)
    before, after = _before(session, rows), []
    for made in _made(other, rows):
        after.append(made)
        yield None
    for (was, had), (now, has) in zip(before, after):
        number = was.row.index
        if now.row.left_out is not None:
            continue
        if now.problem is not None and was.problem is None:
            return f"row {number} can then not be prepared: {now.problem.sentence()}"
        if now.dropped is not None and was.dropped is None:
            return f"row {number} is then dropped: {now.dropped}"
        if new := _errors(has) - _errors(had):
            return f"row {number} then has {' and '.join(sorted(new))}"
    if all(now.row.left_out is not None for now, _ in after) and len(after) > 1:
        return "none of the rows tried would be left"
    if finding.row is not None:
        return _still(finding, before[0][1], *after[0])
    if SCOPE_OF[finding.code] != "setup":
        return ""  # it takes the whole dataset to tell
    had = session.checks().once("set-up as it is", lambda: _set_up(session))
    yield None
    has = _set_up(other)
    yield None
    if new := _errors(has) - _errors(had):
        return f"the set-up then has {' and '.join(sorted(new))}"
    counted, left = (
        [one.count for one in found if one.code == finding.code and _as_grave(one, finding)] for found in (had, has)
    )
    return f"{finding.code} stays" if left and sum(left) >= sum(counted) else ""


def _still(finding: Finding, had: Iterable[Finding], now: Inspection, has: Iterable[Finding]) -> str:
    """That the finding of a row stays; "" where it is gone."""
    if now.row.left_out is not None:
        return ""
    before, after = list(had), list(has)
    for alike in (_mark, lambda one: one.code):  # this very one, and then how many of its code there are
        counts = [
            sum(alike(one) == alike(finding) and _as_grave(one, finding) for one in found) for found in (before, after)
        ]
        if counts[1] >= counts[0] > 0:
            return f"{finding.code} stays"
    return ""


def _as_grave(one: Finding, finding: Finding) -> bool:
    """Whether one is as bad as another; a warning that becomes an information is lessened."""
    return one.severity.rank <= finding.severity.rank


def _mark(finding: Finding) -> tuple[object, ...]:
    """What a finding is, wherever its tokens have moved."""
    return finding.code, finding.message, finding.sentence, finding.evidence


def _rows(session: Ready, finding: Finding) -> list[Row]:
    """The rows as stored on which a cure is tried, those that the finding names first."""
    named = [finding.row] if finding.row is not None else list(finding.rows[:CONCERNED])
    rows, seen = list[Row](), set(named)
    for number in named:
        with suppress(IndexError):  # the file was cut since
            rows.append(session.stored.source.row(number))
    return [*rows, *(row for row in _light(session.stored.sample)[:OTHERS] if row.index not in seen)]


def _light(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.size <= HEAVY]


def _set_up(session: Ready) -> tuple[Finding, ...]:
    return check_setup(session.checks(), list(_inspected(session, _light(session.sample))))


def _before(session: Ready, rows: Sequence[Row]) -> list[Made]:
    known: dict[int, Made] = session.checks().once("as it is", dict)
    missing = [row for row in rows if row.index not in known]
    known.update({made[0].row.index: made for made in _made(session, missing)})
    return [known[row.index] for row in rows]


def _made(session: Ready, stored: Iterable[Row]) -> Iterator[Made]:
    rows = (session.over(row) if row.repairs == () else row for row in stored)
    for inspection in _inspected(session, rows):
        yield inspection, session.found(inspection)


def _inspected(session: Ready, rows: Iterable[Row]) -> Iterator[Inspection]:
    """Rows prepared together; too few for an engine that takes long to load."""
    return session.inspect_many(rows, engine=Bulk("never"))


def _errors(found: Iterable[Finding]) -> set[str]:
    return {finding.code for finding in found if finding.severity.value == "error"}
