"""Every implemented code is raised by its bad example and not by its good one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from case_runner import Outcome, outcome_of

from sftui.findings import CODES, SCOPE_OF, explain
from sftui.findings.catalogue import DATASET_CHECKS, ROW_CHECKS, SETUP_CHECKS
from sftui.findings.look import RowLook
from sftui.findings.run import moments


@pytest.mark.parametrize("code", sorted(CODES))
def test_code_is_raised_by_bad_only(code: str) -> None:
    bad, good = CODES[code].bad, CODES[code].good
    raised = outcome_of(bad)
    assert code in raised.codes, [(one.code, one.sentence) for one in raised.findings]
    finding = raised.of(code)[0]
    assert finding.sentence and finding.fix is not None and finding.fix.title
    if SCOPE_OF[code] == "row":
        assert finding.row is not None
    passed = outcome_of(good)
    assert code not in passed.codes, passed.of(code)[0].sentence


GOLDEN = Path(__file__).parents[2] / "golden" / "findings" / "examples.txt"


def _places(outcome: Outcome, code: str) -> Iterator[str]:
    """Each finding of a code, its words, where it says it is (message, tokens, and the text of its span), and its
    fix."""
    texts = {inspection.row.index: inspection.rendered for inspection in outcome.inspections}
    for finding in outcome.of(code):
        yield f"  {finding.severity.value} row {finding.row} message {finding.message}: {finding.sentence}"
        if finding.tokens is not None:
            yield f"    tokens {finding.tokens[0]} to {finding.tokens[1]}"
        rendered = texts.get(finding.row) if finding.row is not None else None
        if finding.span is not None and rendered is not None:
            yield f"    text {rendered.text[finding.span[0] : finding.span[1]]!r} at {finding.span[0]}"
        if finding.evidence:
            yield f"    evidence {finding.evidence}"
        if finding.rows or finding.count > 1:
            yield f"    {finding.count} rows: {list(finding.rows)}"
        if (fix := finding.fix) is not None and (fix.changes or fix.template):
            changes = [f"{one.path} {one.after!r}" for one in fix.changes]
            yield f"    fix {', '.join([*changes, *([fix.template] if fix.template else [])])}"


def _section(code: str) -> str:
    lines: list[str] = []
    for number, example in enumerate((CODES[code].bad, *CODES[code].more)):
        made = outcome_of(example)
        lines += [f"{code} {'more' if number else 'bad'}", *_places(made, code)]
        if beside := sorted(made.codes - {code}):
            lines.append(f"  beside {', '.join(beside)}")
    text = "\n".join(line.rstrip() for line in lines) + "\n"
    return text.replace(f"{date.today()}", "TODAY")


@pytest.fixture(scope="module")
def sections() -> list[str]:
    """SFTUI_GOLDEN=write writes them anew: read the diff."""
    if os.environ.get("SFTUI_GOLDEN") == "write":
        GOLDEN.write_text("\n".join(map(_section, sorted(CODES))), encoding="utf-8")
    return [f"{section.rstrip()}\n" for section in GOLDEN.read_text(encoding="utf-8").split("\n\n")]


def test_the_examples_of_each_code_are_recorded(sections: list[str]) -> None:
    assert [section.partition(" ")[0] for section in sections] == sorted(CODES)


@pytest.mark.parametrize("number", range(len(CODES)), ids=sorted(CODES))
def test_what_bad_examples_come_to(number: int, sections: list[str]) -> None:
    assert _section(sorted(CODES)[number]) == sections[number], "run with SFTUI_GOLDEN=write and read the diff"


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_is_explained(code: str) -> None:
    text = explain(code)
    assert code in text and "What may fix it:" in text


@pytest.mark.parametrize("code", sorted(CODES))
def test_a_check_reports_by_the_rules_that_it_names(code: str) -> None:
    """Whether rows can have a code, and which fixes there are to prove for it, goes by the rules that checks name."""
    for case in (CODES[code].bad, *CODES[code].more):
        made = outcome_of(case)
        for inspection in made.inspections:
            asked, look = set(moments(inspection)), RowLook(inspection, made.context)
            for check in ROW_CHECKS:
                if check.when in asked and check.fits(made.context, look.shape):
                    assert {one.code for one in check(look)} <= {one.code for one in check.rules}
        for setup in SETUP_CHECKS:
            found = setup(made.context, made.inspections)
            assert {one.code for one in found} <= {one.code for one in setup.rules}


def test_every_rule_is_named_by_a_check() -> None:
    rules = (
        [one.rules for one in ROW_CHECKS] + [one.rules for one in SETUP_CHECKS] + [one.rules for one in DATASET_CHECKS]
    )
    named = {one.code for some in rules for one in some}
    files, near = {"ROW006", "ROW010"}, {"DUP004", "DUP005"}
    assert set(CODES) - named == files | near, "which damaged_files, refused_files and near_finding tell"
