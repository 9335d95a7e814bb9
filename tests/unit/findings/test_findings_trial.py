"""Every fix of the recipe or the template, tried as the inspector and `check` try it before they offer it.

The fixes are those of test_findings_fixes, which proves each of them by itself. Here the same rows stand in a file:
what the trial offers takes the finding away or lessens it and brings no error, and what it declines is listed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from case_runner import ODD_TOKENIZERS, recipe_of
from fix_proof import Fixed, fixed_recipe
from test_findings_fixes import offered

from sftui.errors import SftuiError
from sftui.findings import Finding, check_setup
from sftui.recipe import changed
from sftui.session.ready import Ready, open_data, tokenized, under, waits
from sftui.session.trial import fix_fails
from sftui.workspace import OpenOptions

DECLINED: Mapping[tuple[str, str], str] = {
    ("LAB010", "axolotl"): "the flag leaves the only answer of the only row out, so nothing would be trained",
}
"""By code and trainer: fixes that do what they say and are declined for these rows."""


def in_a_file(one: Fixed) -> bool:
    """Whether a case is rows, a recipe and a bundled tokenizer alone."""
    case = one.case
    odd = (case.edit, case.facts, case.damage, case.evaluation, case.generation_config, case.model_config)
    return not any(odd) and case.tokenizer not in ODD_TOKENIZERS and case.template != ""


def opened(one: Fixed, folder: Path) -> Ready:
    path = folder / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in one.case.rows))
    recipe = recipe_of(one.case)
    if one.case.template is not None:
        source = one.case.template
        if " " in source:
            (folder / "own.jinja").write_text(source)
            source = f"file:{folder / 'own.jinja'}"
        recipe = changed(recipe, "render.template", source)
    options = OpenOptions((str(path),), recipe=changed(recipe, "tokenizer.name", f"builtin:{one.case.tokenizer}"))
    return tokenized(open_data(options), "provisional").ready()


def found(session: Ready, rows: int) -> list[Finding]:
    made = [session.inspect(number) for number in range(rows)]
    return [*(one for some in made for one in session.found(some)), *check_setup(session.checks(), made)]


@pytest.mark.long
def test_what_is_offered_helps_and_brings_no_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told: Counter[str] = Counter()
    wrong: list[str] = []
    declined: dict[tuple[str, str], str] = {}
    for name, one in offered().items():
        if not in_a_file(one):
            told["not in a file"] += 1
            continue
        folder = tmp_path / name
        folder.mkdir()
        try:
            session = opened(one, folder)
            before = found(session, len(one.case.rows))
        except SftuiError as error:
            wrong.append(f"{name}: {error}")
            continue
        mine = [f for f in before if f.code == one.finding.code and f.fix and (f.fix.changes or f.fix.template)]
        if not mine:
            told["not found in the file"] += 1
            continue
        if why := fix_fails(session, mine):
            told["declined"] += 1
            declined[one.finding.code, one.trainer] = why
            continue
        told["offered"] += 1
        fix, recipe = mine[0].fix, session.recipe
        assert fix is not None
        if fix.template:
            recipe = changed(recipe, "render.template", fixed_recipe(one, folder).render.template)
        for change in fix.changes:
            recipe = changed(recipe, change.path, change.after)
        beside = under(session, recipe)
        other = (tokenized(beside, "provisional") if waits(beside) else beside).ready()
        after = found(other, len(one.case.rows))
        left, had = (
            sum(f.count for f in some if f.code == mine[0].code and f.severity.rank <= mine[0].severity.rank)
            for some in (after, before)
        )
        if new := {f.code for f in after if f.severity.rank == 0} - {f.code for f in before if f.severity.rank == 0}:
            wrong.append(f"{name} brings {new}")
        if left >= had:
            wrong.append(f"{name}: {left} of {had} left")
    with capsys.disabled():
        print("\nfixes tried:", ", ".join(f"{count} {what}" for what, count in told.items()))
    assert not wrong, "\n".join(wrong)
    assert set(declined) == set(DECLINED), declined
    assert told["offered"] >= 100
