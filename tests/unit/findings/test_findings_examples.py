"""Every implemented code is raised by its bad example and not by its good one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from case_runner import run
from examples import EXAMPLES

from sftui.findings import CODES, Severity, explain
from sftui.recipe import get


@pytest.mark.parametrize("code", sorted(EXAMPLES))
def test_code_is_raised_by_bad_only(code: str) -> None:
    bad, good = EXAMPLES[code]
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


def test_every_code_has_both_examples() -> None:
    assert set(EXAMPLES) == set(CODES)
    assert len(CODES) >= 60


@pytest.mark.parametrize("code", sorted(EXAMPLES))
def test_recipe_change_removes_the_finding(code: str) -> None:
    """Applied to the recipe, the changes of a finding's fix make it go away, and bring no error of another code."""
    bad = EXAMPLES[code][0]
    raised = run(bad)
    finding = raised.of(code)[0]
    if finding.fix is None or not finding.fix.changes or finding.fix.template is not None:
        return
    changes = {**bad.changes}
    for change in finding.fix.changes:
        assert get(raised.context.recipe, change.path) == change.before
        if change.path == "preset":
            bad = replace(bad, preset=change.after)
        else:
            changes[change.path] = change.after
    template = None if any(change.path == "render.template" for change in finding.fix.changes) else bad.template
    repaired = run(replace(bad, changes=changes, template=template))
    stays = [one for one in repaired.of(code) if one.sentence == finding.sentence]
    assert not stays or stays[0].severity.rank > finding.severity.rank, stays[0].sentence
    new = {one.code for one in repaired.findings if one.severity is Severity.ERROR} - {one.code for one in raised.findings}
    assert not new, [(one.code, one.sentence) for one in repaired.findings]


@pytest.mark.parametrize("code", ["BND001", "BND009", "EOS004", "EOS006", "TPL007"])
def test_fix_changes_labels_only_at_its_place(code: str) -> None:
    bad = EXAMPLES[code][0]
    raised = run(bad)
    finding = raised.of(code)[0]
    assert finding.fix is not None and finding.tokens is not None
    presets = [change.after for change in finding.fix.changes if change.path == "preset"]
    changes = {change.path: change.after for change in finding.fix.changes if change.path != "preset"}
    after = run(replace(bad, preset=presets[0] if presets else bad.preset, changes={**bad.changes, **changes})).inspections[0]
    before = raised.inspections[0]
    assert before.labels is not None and after.labels is not None and before.tokens is not None and after.tokens is not None
    assert before.tokens.input_ids == after.tokens.input_ids
    places = [i for i, pair in enumerate(zip(before.labels.labels, after.labels.labels)) if pair[0] != pair[1]]
    # White space behind a terminator goes with it; BND009 shows one edge of the answer and mends both.
    assert places and (finding.tokens[0] <= min(places) <= max(places) <= finding.tokens[1] or code == "BND009"), (places, finding.tokens)
