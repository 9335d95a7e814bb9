"""Every repair of the data that the catalogue names against a code, made on every bad example of it.

The rows are repaired as `sftui repair` does it, written, read again and looked at anew: the finding is gone, none
came, a row that was not touched is byte for byte what it was, and in one that was only messages that changed have
other tokens or labels.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from case_runner import Outcome, outcome_of, row, run, tokenizer_of
from fix_proof import changed_place, lost, moved, place_of, trained_elsewhere

from sftui.findings import CODES, SCOPE_OF, check_row
from sftui.findings.catalogue import REPAIR_OF
from sftui.findings.rule import DROP, TO_MESSAGES, Case
from sftui.repairs.lines import RepairedRow, line_of
from sftui.repairs.run import REPAIRS, TITLES, layout_of, make_plan, repaired
from sftui.repairs.to_messages import target_of, to_messages, way_of
from sftui.session.repairing import exact_repairs

CASES = [
    (code, number, name)
    for code in sorted(REPAIR_OF)
    for number in range(1 + len(CODES[code].more))
    for name in REPAIR_OF[code]
]

HELPLESS: Mapping[tuple[str, int, str], str] = {
    ("CON001", 0, "fill-content"): "an answer that is null says nothing: no text can stand for it",
    ("CON010", 0, "fill-content"): "an answer that is null says nothing: no text can stand for it",
    ("CON004", 1, "trim"): "an answer of white space only would be empty",
    ("ROL004", 0, "fold-system"): "no user message follows the system message",
    **dict.fromkeys((("TPL006", 0, "fold-system"), ("TPL006", 1, "fold-system")), "no system message is out of place"),
    **dict.fromkeys((("ROW003", 0, "parse-json"), ("ROW003", 1, "parse-json")), "nothing is stored as text"),
    **dict.fromkeys((("ROW003", 0, "wrap-calls"), ("ROW003", 2, "wrap-calls")), "no call lies flat"),
    ("TPL006", 2, "merge-neighbours"): "no neighbours are of one role",
    ("TOO006", 0, "parse-json"): "no tool is called",
    **dict.fromkeys((("TOO010", 0, "fill-content"), ("TOO010", 1, "fill-content")), "no content is null"),
    ("GEN005", 0, "trim"): "the tags stand around the user's text: that is the template's, and drop takes all rows",
}
"""Examples that a gentler repair leaves as they are; another one helps."""

PLACES: Mapping[str, str] = {"GEN004": "answers", "GEN005": "row", "PRF002": "row"}
"""Where labels outside the messages that changed come back, too: the answers behind a lost one; what the mask ran
over; all of a side whose question leaves it."""
UNASKED = {"join-prompt"}
"""Repairs that no finding asks for: they turn another one round."""

REVEALED: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("GEN005", "trim"): {"GEN003": "the tag leaves out the turn end, which the mask ran over"},
}
LOST: Mapping[str, str] = {
    "EOS008": "the row is rendered and trained now, with the line break behind its answer",
    "LAB009": "the row is rendered now, and the recipe trains the last of its answers",
    "LAB002": "the row is rendered now, and the trainer trains all of it",
    "GEN002": "the row is rendered now, and torchtune trains the header of an answer",
    "CON020": "the row is rendered now, and its question, which was null, is empty",
    "TPL027": "the row is rendered now, and torchtune ends it without the line break of the tokenizer's own template",
}
"""Findings that come with a row of which nothing was trained before."""


def example(code: str, number: int) -> Case:
    return (CODES[code].bad, *CODES[code].more)[number]


def mended(case: Case, code: str, name: str, before: Outcome) -> list[RepairedRow]:
    """What `sftui repair --apply NAME` or `--drop CODE` makes of the rows."""
    exact = exact_repairs(tokenizer_of(case.tokenizer))
    if name == TO_MESSAGES:
        rows = [one.row for one in before.inspections]
        exact[name] = to_messages(
            way_of(rows, before.context.recipe, before.context.detected), target_of(before.context.recipe)
        )
    names, drop = ((), (code,)) if name == DROP else ((name,), ())
    plan = make_plan(names, drop, instead=exact)
    found = {one.row.index: {finding.code for finding in check_row(one, before.context)} for one in before.inspections}
    return list(
        repaired(
            [row(index, one) for index, one in enumerate(case.rows)],
            plan,
            layout_of(before.context.detected),
            lambda one: found[one.index],
        )
    )


@pytest.mark.parametrize(("code", "number", "name"), CASES)
def test_a_repair_takes_the_finding_away_and_nothing_else(code: str, number: int, name: str) -> None:
    case = example(code, number)
    before = outcome_of(case)
    assert before.of(code)
    done = mended(case, code, name, before)
    if (code, number, name) in HELPLESS:
        assert all(one.untouched for one in done), "it helps after all"
        return
    hit = {finding.row for finding in before.of(code)} if SCOPE_OF[code] == "row" else set(before.of(code)[0].rows)
    touched = {one.row.index for one in done if not one.untouched}
    assert touched and touched <= hit, "rows without the finding stay as they are"
    left = [one for one in done if one.dropped is None]
    rows: list[Any] = [case.rows[one.row.index] if one.data is None else reread(one) for one in left]
    if not rows:
        assert name == DROP and hit == set(range(len(case.rows)))
        return
    after = run(replace(case, rows=rows))

    assert code not in after.codes, after.of(code)
    origins = {number: one.row.index for number, one in enumerate(left)}
    for new, old in origins.items():
        a, b = before.inspections[old], after.inspections[new]
        came = {one.code for one in after.findings if one.row == new} - {
            one.code for one in before.findings if one.row == old
        }
        assert came <= set(REVEALED.get((code, name), {})) | (set(LOST) if lost(a) else set()), (old, came)
        gone, arrived = moved(a, b)
        if old not in touched:
            assert not gone and not arrived
        elif lost(a):
            assert not trained_elsewhere(b, after.context, before.of(code)[0])
        else:
            finding = before.of(code)[0]
            places: tuple[set[int], ...] = changed_place(a, b)
            if code in PLACES:
                places = tuple(
                    place | place_of(PLACES[code], finding, one, side.context)
                    for place, one, side in zip(places, (a, b), (before, after))
                )
            assert gone <= places[0] and arrived <= places[1], (old, gone - places[0], arrived - places[1])
    whole = {one.code for one in after.findings if one.row is None} - {
        one.code for one in before.findings if one.row is None
    }
    assert whole <= (set(LOST) if any(map(lost, before.inspections)) else set()), whole


def reread(one: RepairedRow) -> Any:
    """The row as it stands in the written file; one that was not touched is the row itself."""
    raw = json.dumps(dict(one.row.data or {})).encode()
    line = line_of(one, raw)
    assert line is not None and (not one.untouched or line == raw + b"\n")
    return json.loads(line)


def test_every_repair_is_proven_and_every_example_cured(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        {name for names in REPAIR_OF.values() for name in names} | UNASKED
        == set(TITLES)
        == {*REPAIRS, DROP, "deduplicate", TO_MESSAGES}
    )
    proven = {(code, name) for code, number, name in CASES if (code, number, name) not in HELPLESS}
    assert proven == {(code, name) for code, names in REPAIR_OF.items() for name in names}
    with capsys.disabled():
        print(
            f"\nrepairs of the data: {len(proven)} of {len(REPAIR_OF)} codes, on {len(CASES) - len(HELPLESS)} examples"
        )
