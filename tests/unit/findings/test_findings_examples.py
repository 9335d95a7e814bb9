"""Every implemented code is raised by its bad example and not by its good one."""

from __future__ import annotations

import pytest
from case_runner import run

from sftui.findings import CODES, SCOPE_OF, explain
from sftui.findings.catalogue import DATASET_CHECKS, ROW_CHECKS, SETUP_CHECKS
from sftui.findings.look import RowLook
from sftui.findings.run import moments


@pytest.mark.parametrize("code", sorted(CODES))
def test_code_is_raised_by_bad_only(code: str) -> None:
    bad, good = CODES[code].bad, CODES[code].good
    raised = run(bad)
    assert code in raised.codes, [(one.code, one.sentence) for one in raised.findings]
    finding = raised.of(code)[0]
    assert finding.sentence and finding.fix is not None and finding.fix.title
    if SCOPE_OF[code] == "row":
        assert finding.row is not None
    passed = run(good)
    assert code not in passed.codes, passed.of(code)[0].sentence


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_is_explained(code: str) -> None:
    text = explain(code)
    assert code in text and "What repairs it:" in text


@pytest.mark.parametrize("code", sorted(CODES))
def test_a_check_reports_by_the_rules_that_it_names(code: str) -> None:
    """Whether rows can have a code, and which fixes there are to prove for it, goes by the rules that checks name."""
    for case in (CODES[code].bad, *CODES[code].more):
        made = run(case)
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
    assert set(CODES) - named == {"ROW006", "ROW010"}, "which damaged_files and refused_files tell, of no row"
