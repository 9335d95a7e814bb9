"""Run the checks on a row, and once on the set-up and on the whole dataset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sftui import bound
from sftui.findings.catalogue import DATASET_CHECKS, ROW_CHECKS, SETUP_CHECKS
from sftui.findings.checks import Fault, RowCheck, RowCondition, finding_of
from sftui.findings.context import Context
from sftui.findings.dataset import DatasetChecks
from sftui.findings.look import RowLook
from sftui.findings.model import Finding
from sftui.findings.rules.rows import ROW007
from sftui.model import SIDES, Inspection
from sftui.values import with_fields

_BY_MOMENT = {when: tuple(check for check in ROW_CHECKS if check.when is when) for when in RowCondition}


def check_row(inspection: Inspection, context: Context, *, look: RowLook | None = None) -> tuple[Finding, ...]:
    """Every finding of one row, the worst first; pure but for what `context` remembers.

    Of a preference those of both sides, then those of the pair: what holds for one side alone says which.
    A row whose checks cost too much has ROW007 alone. `look` is how the checks see the row, made here where nobody else
    works with it.
    """
    look = RowLook(inspection, context) if look is None else look
    row = inspection.row
    try:
        with bound.row_work(context.recipe, row.index, row.size, "findings"):
            return _found(look) if look.inspection.rejected is None else _of_pair(look)
    except bound.OverBound as error:
        why = error.what
    except MemoryError:
        why = f"{bound.SUBJECTS['findings']} {bound.out_of_memory(row.size)}"
    except RecursionError:
        why = f"{bound.SUBJECTS['findings']} loops or recurses too deeply"
    return (finding_of(look, ROW007, Fault(why, "")),)


def _found(look: RowLook) -> tuple[Finding, ...]:
    found: list[Finding] = []
    for check in _checks(look):
        if check.row is None or check.row(look):
            found += check(look)
    return _worst_first(found) if len(found) > 1 else tuple(found)


def _of_pair(look: RowLook) -> tuple[Finding, ...]:
    chosen, rejected = map(_found, look.sides)
    found = [*_of_sides(chosen, rejected)]
    if look.inspection.labels is not None:
        for check in _BY_MOMENT[RowCondition.PAIRED]:
            if check.fits(look.context, look.shape) and (check.row is None or check.row(look)):
                found += check(look)
    return _worst_first(found)


def _of_sides(*sides: Sequence[Finding]) -> Iterator[Finding]:
    """What is found of the chosen and of the rejected side; once what both have in common."""
    known = [{_mark(one) for one in side} for side in sides]
    for name, findings, others in zip(SIDES, sides, reversed(known)):
        for one in findings:
            if _mark(one) not in others:
                yield with_fields(one, sentence=f"{name}: {one.sentence}", side=name)
            elif name == SIDES[0]:
                yield one


def _mark(finding: Finding) -> tuple[object, ...]:
    return finding.code, finding.sentence, finding.message


def _checks(look: RowLook) -> Sequence[RowCheck]:
    """What may find anything in a row of this shape and with these signs, in order."""
    asked, signs = look.shape.asked, look.signs
    checks = asked.get(signs)
    if checks is None:
        if None not in asked:
            every = (check for when in moments(look.inspection) for check in _BY_MOMENT[when])
            asked[None] = [check for check in every if check.open(look.context, look.shape)]
        checks = asked[signs] = [check for check in asked[None] if check.seen(look.context, look.shape, signs)]
    return checks


def moments(inspection: Inspection) -> Iterator[RowCondition]:
    """Which checks are tried on a row, in their order."""
    yield RowCondition.DATA
    if inspection.conversation is not None:
        yield RowCondition.CONVERSATION
    if inspection.stopped_at is not None:
        yield RowCondition.STOPPED
    if inspection.labels is not None and inspection.tokens is not None and inspection.rendered is not None:
        yield RowCondition.LABELLED
        yield RowCondition.SLOW


def check_setup(context: Context, sample: Sequence[Inspection]) -> tuple[Finding, ...]:
    """What is wrong with the recipe, the template and the tokenizer together; `sample` are some rows, inspected."""
    if not any(one.rejected is not None for one in sample):
        return _of_setup(context, sample)
    rows = [one.alone for one in sample]
    sides = ([one[number] for one in rows if len(one) > number] for number in range(len(SIDES)))
    return _worst_first(_of_sides(*[_of_setup(context, side) for side in sides]))


def _of_setup(context: Context, sample: Sequence[Inspection]) -> tuple[Finding, ...]:
    return _worst_first(finding for check in SETUP_CHECKS for finding in check(context, sample))


def check_dataset(checks: DatasetChecks) -> tuple[Finding, ...]:
    """Every finding over what was gathered; may be queried at any time."""
    return _worst_first(finding for check in DATASET_CHECKS for finding in check(checks))


def _worst_first(found: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(found, key=lambda finding: finding.severity.rank))
