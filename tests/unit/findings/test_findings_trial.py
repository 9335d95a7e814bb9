"""What is offered against a finding, tried as the inspector and `check` try it, then applied and prepared again.

Every bad example of every rule stands in a file, under each trainer that can be set so. What is offered takes the
finding away or lessens it, brings no error, and leaves every row and every answer that was trained.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from case_runner import ODD_TOKENIZERS, recipe_of
from fix_proof import losses
from known_changes import known_changes
from test_findings_fixes import PRESETS

from sftui.errors import SftuiError
from sftui.findings import CODES, Finding, Fix, check_setup
from sftui.findings.catalogue import cures_of
from sftui.findings.model import Severity
from sftui.findings.rule import DROP, Case, chat
from sftui.model import Inspection
from sftui.recipe import changed, knobs_of
from sftui.session.checking import result_of
from sftui.session.harm import harm_of
from sftui.session.ready import Ready, open_data, ready_under, tokenized
from sftui.session.trial import changed_by, with_cure_of, with_cures, with_pair
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


def cases(codes: Sequence[str] = (), presets: Sequence[str] = PRESETS) -> Iterator[tuple[str, Case]]:
    for code in sorted(codes or CODES):
        for case in filter(in_a_file, (CODES[code].bad, *CODES[code].more)):
            for name in dict.fromkeys((case.preset, *presets)):
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
    alone = result_of(with_cures(session, finding))
    found = None if alone is None else result_of(with_pair(session, alone))
    assert found is not None
    return found


def symptoms(found: Iterable[tuple[str, Case]], folder: Path) -> Iterator[tuple[str, Ready, Prepared, Finding]]:
    """The finding of each case, where it has it, with the open rows."""
    for number, (code, case) in enumerate(found):
        place = folder / str(number)
        place.mkdir()
        try:
            session = opened(case, place)
            if losses(session.recipe):
                continue
            before = Prepared.of(session)
        except (SftuiError, AssertionError):  # other trainers do not take every case
            continue
        finding = next((one for one in before.findings if one.code == code), None)
        if finding is not None:
            yield f"{code} {case.preset}", session, before, finding


def problems_of(session: Ready, before: Prepared, finding: Finding, cure: Fix | str) -> Iterator[str]:
    """What is wrong with a cure once it is applied and all rows are prepared again."""
    try:
        with ExitStack() as files:
            recipe, repairs = changed_by(session, (cure,), files)
            after = Prepared.of(ready_under(session, recipe, repairs))
    except SftuiError as error:
        yield str(error)
        return
    answering = traits_of(session.requested.preset).answering
    asks = session.recipe.mask == recipe.mask
    yield from (why for was, now in zip(before.rows, after.rows) if (why := harm_of(was, now, answering, asks=asks)))
    if all(row.labels is not None for row in before.rows):  # else a row that stopped may show what else is wrong
        yield from (f"brings {new}" for new in after.errors() - before.errors())
    if after.count(finding) >= before.count(finding):
        yield "stays"


LEAST = 0.95
"""This share of the symptoms with a change that is known to work must be offered one."""
EXHAUSTED = 2
"""Of so many symptoms of each code without a cure all changes are tried."""


def offered(codes: Sequence[str], folder: Path) -> tuple[Counter[str], list[str], list[str]]:
    """What is offered against the symptoms of some codes, what of it does not hold, and what is known to work and is
    not offered."""
    told, wrong, missed = Counter[str](), list[str](), list[str]()
    exhausted = Counter[str]()
    for name, session, before, finding in symptoms(cases(codes), folder):
        told["symptoms"] += 1
        found = cured(session, finding)
        if not cures_of(found):
            others = [cured(session, other) for other in before.findings if other.code != finding.code]
            found = result_of(with_cure_of(session, found, others)) or found
        cure = next(iter(cures_of(found)), None)
        if cure is not None:
            kind = "a repair" if isinstance(cure, str) else "a change" if cure.changes else "tags"
            kind = "a pair" if isinstance(cure, Fix) and cure.repairs else kind
            told[f"offered {kind}"] += 1
            wrong += [f"{name}: {cure}: {problem}" for problem in problems_of(session, before, finding, cure)]
        elif CODES[finding.code].inherent or finding.severity is Severity.INFO:
            told["of the data's words, or nothing wrong"] += 1
        elif exhausted[finding.code] == EXHAUSTED:
            told["not exhausted"] += 1
        else:
            exhausted[finding.code] += 1
            known = known_changes(session, finding, before.rows)
            missed += [f"{name}: {', '.join(known)}"] if known else []
            told["known and not offered" if known else "no single change works"] += 1
    return told, wrong, missed


@pytest.mark.long
def test_what_is_known_to_work_is_offered_and_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told, wrong, missed = offered(tuple(CODES), tmp_path)
    with capsys.disabled():
        print("\ncures:", ", ".join(f"{count} {what}" for what, count in told.items()))
        print("not offered:", *missed, sep="\n  ")
    assert not wrong, "\n".join(wrong)
    helped = sum(count for what, count in told.items() if what.startswith("offered"))
    assert helped >= 250 and len(missed) <= (1 - LEAST) * (helped + len(missed))


@pytest.mark.parametrize("code", ["BND005", "CON014", "GEN011", "LAB002", "THK001"])
def test_what_is_known_to_work_is_offered(code: str, tmp_path: Path) -> None:
    told, wrong, missed = offered((code,), tmp_path)
    assert not wrong and not missed and told["symptoms"]


@pytest.mark.parametrize("code", ["CON017", "CON001"])
def test_no_setting_is_tried_against_what_the_data_says(code: str, tmp_path: Path) -> None:
    session = opened(replace(CODES[code].bad, rows=[*CODES[code].bad.rows, *CODES[code].good.rows]), tmp_path)
    finding = next(one for one in Prepared.of(session).findings if one.code == code)
    made = cured(session, finding)
    assert DROP in (made.repairs or ())
    searched = {key[1] for key in session.checks().memo if isinstance(key, tuple) and key[0] == "searched"}
    assert searched == (set() if CODES[code].inherent else {code})


@pytest.mark.parametrize(
    ("code", "name", "left"),
    [
        ("LAB010", "nemo-automodel@0.7", "apply the flags yourself"),
        ("LAB010", "llamafactory@0.9", "split the row before such an answer"),
        ("TPL013", "axolotl@0.19", CODES["TPL013"].fixes["axolotl"]),
    ],
)
def test_advice_in_words_stays_but_for_what_was_tried_in_vain(code: str, name: str, left: str, tmp_path: Path) -> None:
    case = replace(CODES[code].bad, preset=name)
    _, session, _, finding = next(symptoms([(code, case)], tmp_path))
    made = cured(session, finding)
    assert made.fix is not None and made.fix.title == left and made.fix.in_words


FLAGGED = {"role": "assistant", "content": "Wood.", "weight": 0}


@pytest.mark.parametrize("name", ["nemo-automodel@0.7", "llamafactory@0.9"])
def test_a_mask_that_the_rows_ask_for_does_no_harm(name: str, tmp_path: Path) -> None:
    rows = chat("A metal?", FLAGGED, "No.", "Zinc."), chat("A gas?", FLAGGED, "No.", "Neon."), chat("Who?", "Me.")
    _, session, before, finding = next(symptoms([("LAB010", Case(rows, preset=name))], tmp_path))
    made = cured(session, finding)
    assert made.fix is not None and [change.path for change in made.fix.changes] == ["mask.turns"]
    assert not [*problems_of(session, before, finding, made.fix)]
