"""What is offered against a finding, tried as the inspector and `check` try it, then applied and prepared again.

Every bad example of every rule stands in a file, under each trainer that can be set so. What is offered takes the
finding away or lessens it, brings no error, and leaves every row and every answer that was trained.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from case_runner import ODD_TOKENIZERS, recipe_of
from fix_proof import losses
from test_findings_fixes import PRESETS

from sftui.errors import SftuiError
from sftui.findings import CODES, Finding, check_setup
from sftui.findings.model import Severity
from sftui.findings.rule import Case
from sftui.model import Inspection
from sftui.recipe import changed, knobs_of
from sftui.repairs.catalogue import DROP
from sftui.session.checking import result_of
from sftui.session.harm import harm_of
from sftui.session.ready import Ready, open_data, ready_under, tokenized
from sftui.session.trial import changed_by, with_cures
from sftui.trainers import preset, traits_of
from sftui.workspace import OpenOptions


class Prepared(NamedTuple):
    """The rows of an open set, and what is wrong with them."""

    rows: list[Inspection]
    findings: list[Finding]

    @classmethod
    def of(cls, session: Ready) -> Prepared:
        rows = list(session.all_rows(spans=True))
        found = [one for row in rows for one in session.found(row)]
        return cls(rows, [*found, *check_setup(session.checks(), rows)])

    def count(self, finding: Finding) -> int:
        alike = (one for one in self.findings if one.code == finding.code)
        return sum(one.count for one in alike if one.severity.rank <= finding.severity.rank)

    def errors(self) -> set[str]:
        return {one.code for one in self.findings if one.severity is Severity.ERROR}


def in_a_file(case: Case) -> bool:
    """Whether a case is rows, a recipe and a bundled tokenizer alone."""
    odd = (case.edit, case.facts, case.damage, case.evaluation, case.generation_config, case.model_config, case.second)
    return not any(odd) and case.tokenizer not in ODD_TOKENIZERS and case.template != ""


def cases() -> Iterator[tuple[str, Case]]:
    for code in sorted(CODES):
        for case in filter(in_a_file, (CODES[code].bad, *CODES[code].more)):
            for name in dict.fromkeys((case.preset, *PRESETS)):
                known = {info.path for info in knobs_of(preset(name))}
                if not any(path.startswith("own.") and path not in known for path in case.changes):
                    yield code, replace(case, preset=name)


def opened(case: Case, folder: Path) -> Ready:
    path = folder / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in case.rows))
    recipe = recipe_of(case)
    if case.template is not None:
        source = case.template
        if " " in source:
            (folder / "own.jinja").write_text(source)
            source = f"file:{folder / 'own.jinja'}"
        recipe = changed(recipe, "render.template", source)
    options = OpenOptions((str(path),), recipe=changed(recipe, "tokenizer.name", f"builtin:{case.tokenizer}"))
    return tokenized(open_data(options), "provisional").ready()


def cured(session: Ready, finding: Finding) -> Finding:
    found = result_of(with_cures(session, finding))
    assert found is not None
    return found


@pytest.mark.long
def test_what_is_offered_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told: Counter[str] = Counter()
    wrong: list[str] = []
    for number, (code, case) in enumerate(cases()):
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            session = opened(case, folder)
            if losses(session.recipe):
                continue
            before = Prepared.of(session)
        except (SftuiError, AssertionError):  # other trainers do not take every case
            continue
        finding = next((one for one in before.findings if one.code == code), None)
        if finding is None:
            continue
        told["symptoms"] += 1
        found = cured(session, finding)
        fix = found.fix
        repairs = [name for name in found.repairs or () if name != DROP]
        if fix is not None and (fix.changes or fix.template):
            told["offered a change" if fix.changes else "offered tags"] += 1
            try:
                with ExitStack() as files:
                    recipe, _ = changed_by(session, (fix,), files)
                    after = Prepared.of(ready_under(session, recipe))
            except SftuiError as error:
                wrong.append(f"{code} {case.preset}: {fix.title}: {error}")
                continue
            answering = traits_of(session.requested.preset).answering
            problems = [
                *(f"brings {new}" for new in after.errors() - before.errors()),
                *(why for was, now in zip(before.rows, after.rows) if (why := harm_of(was, now, answering))),
                *(["stays"] if after.count(finding) >= before.count(finding) else []),
            ]
            wrong += [f"{code} {case.preset}: {fix.title}: {problem}" for problem in problems]
        elif repairs:
            told["offered a repair"] += 1
        else:
            told["rows left out alone" if found.repairs else "none found"] += 1
    with capsys.disabled():
        print("\ncures:", ", ".join(f"{count} {what}" for what, count in told.items()))
    assert not wrong, "\n".join(wrong)
    assert told["offered a change"] >= 120 and told["offered tags"] >= 20


@pytest.mark.parametrize("code", ["CON017", "CON001"])
def test_no_setting_is_tried_against_what_the_data_says(code: str, tmp_path: Path) -> None:
    session = opened(replace(CODES[code].bad, rows=[*CODES[code].bad.rows, *CODES[code].good.rows]), tmp_path)
    finding = next(one for one in Prepared.of(session).findings if one.code == code)
    made = cured(session, finding)
    assert DROP in (made.repairs or ())
    searched = {key[1] for key in session.checks().memo if isinstance(key, tuple) and key[0] == "searched"}
    assert searched == (set() if CODES[code].inherent else {code})
