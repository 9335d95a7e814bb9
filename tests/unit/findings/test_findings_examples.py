"""Every implemented code is raised by its bad example and not by its good one."""

from __future__ import annotations

import pytest
from case_runner import run

from sftui.findings import CODES, explain


@pytest.mark.parametrize("code", sorted(CODES))
def test_code_is_raised_by_bad_only(code: str) -> None:
    bad, good = CODES[code].bad, CODES[code].good
    raised = run(bad)
    assert code in raised.codes, [(one.code, one.sentence) for one in raised.findings]
    finding = raised.of(code)[0]
    assert finding.sentence and finding.fix is not None and finding.fix.title
    if CODES[code].scope == "row":
        assert finding.row is not None
    passed = run(good)
    assert code not in passed.codes, passed.of(code)[0].sentence


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_is_explained(code: str) -> None:
    text = explain(code)
    assert code in text and "What repairs it:" in text
