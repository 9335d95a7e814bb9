"""Run the checks of every section on a row, or once on the set-up."""

from __future__ import annotations

from collections.abc import Sequence

from sftui import bound
from sftui.findings.checks import Checks
from sftui.findings.context import Context
from sftui.findings.look import Look
from sftui.findings.model import Finding
from sftui.findings.rules import (
    bos,
    boundary,
    characters,
    content,
    eos,
    generation,
    injection,
    labels,
    packing,
    padding,
    reasoning,
    roles,
    rows,
    stops_setup,
    stored,
    template,
    template_setup,
    tokenizer,
    tools,
    trained_roles,
    truncation,
)
from sftui.model import Inspection

SECTIONS: tuple[Checks, ...] = tuple(
    module.CHECKS
    for module in (
        rows,
        roles,
        trained_roles,
        content,
        characters,
        template,
        template_setup,
        bos,
        boundary,
        generation,
        eos,
        stops_setup,
        labels,
        stored,
        truncation,
        padding,
        packing,
        tools,
        reasoning,
        injection,
        tokenizer,
    )
)
_DATA = tuple(check for section in SECTIONS for check in section.data)
_CONVERSATION = tuple(check for section in SECTIONS for check in section.conversation)
_STOPPED = tuple(check for section in SECTIONS for check in section.stopped)
_LABELLED = tuple(check for section in SECTIONS for check in section.labelled)
_SLOW = tuple(check for section in SECTIONS for check in section.slow)
_SETUP = tuple(check for section in SECTIONS for check in section.setup)


def check_row(inspection: Inspection, context: Context, *, slow: bool = True) -> tuple[Finding, ...]:
    """Every finding of one row, the worst first; pure but for what `context` remembers.

    `slow=False` leaves out the checks that encode or render the row again. A row for which that costs too much has
    ROW007 alone.
    """
    look = Look(inspection, context)
    row = inspection.row
    try:
        with bound.Work(bound.row_key(context.recipe, row.index), row.size, "findings"):
            return _found(look, slow)
    except bound.OverBound as error:
        why = error.what
    except MemoryError:
        why = f"{bound.subject('findings')} {bound.out_of_memory(row.size)}"
    except RecursionError:
        why = f"{bound.subject('findings')} goes in circles, or too deep"
    return (look.finding("ROW007", why, evidence=""),)


def _found(look: Look, slow: bool) -> tuple[Finding, ...]:
    inspection = look.inspection
    found: list[Finding] = []
    for check in _DATA:
        found.extend(check(look))
    if inspection.conversation is not None:
        for check in _CONVERSATION:
            found.extend(check(look))
    if inspection.stopped_at is not None:
        for check in _STOPPED:
            found.extend(check(look))
    if inspection.labels is not None and inspection.tokens is not None and inspection.rendered is not None:
        for check in _LABELLED:
            found.extend(check(look))
        if slow:
            for check in _SLOW:
                found.extend(check(look))
    if len(found) > 1:
        found.sort(key=lambda one: one.severity.rank)
    return tuple(found)


def check_setup(context: Context, sample: Sequence[Inspection]) -> tuple[Finding, ...]:
    """What is wrong with the recipe, the template and the tokenizer together; `sample` are some rows, inspected."""
    found = [finding for check in _SETUP for finding in check(context, sample)]
    found.sort(key=lambda one: one.severity.rank)
    return tuple(found)
