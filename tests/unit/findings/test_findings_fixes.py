"""Every fix that a finding offers, applied: the finding is gone, none came, and labels changed at its place only.

Fixes of the recipe and of the chat template are gathered from every bad example under every trainer that can be set
so, not from a list: a fix that is new is proven, or fails. That none escapes is held against the source, which names
the knobs of each check. Fixes of the data are in test_findings_repairs.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from case_runner import Outcome, run
from fix_proof import (
    Fixed,
    effect,
    fixed_findings,
    fixed_recipe,
    losses,
    lost,
    moved,
    places_of,
    torn,
    trained_elsewhere,
)

import sftui.findings
from sftui.findings import CODES, Finding
from sftui.recipe import knobs

PRESETS = ("hf-trainer", "trl@1.16", "axolotl@0.19", "llamafactory@0.9", "unsloth@2026.10", "torchtune@0.7")

REVEALED: Mapping[str, Mapping[str, str]] = {
    "BND001": {"GEN002": "the token that merges holds the end of the header too"},
    "EOS004": {"EOS008": "the terminator's key takes the line break behind it along"},
    **{
        code: {"TPL011": "the case's template is not its tokenizer's own, and the recipe names it now"}
        for code in ("EOS008", "GEN011")
    },
    "GEN009": {"EOS008": "the tags left out the line break behind the stop token"},
    "ROL001": {"EOS008": "the answer is one now"},
    "ROL002": {"EOS008": "the answer is one now"},
    "ROL005": {"EOS008": "the answer is trained now"},
    "LAB002": {"GEN002": "torchtune trains the header of every message that it trains"},
    "LAB009": {"EOS008": "the line break behind an earlier answer is trained with it"},
    "LAB010": {
        "LAB009": "the flag leaves an answer out, as it says",
        "LAB001": "the flag leaves the only answer out, as it says",
        "RUN001": "it was the only answer of the only row",
    },
    "PRF004": {"BND001": "no text is lost now, and the seam is still inside of a token, which only the data can mend"},
    "TPL001": {
        "EOS008": "the row is rendered now",
        "LAB002": "the row is rendered now, and this trainer trains all of it",
        "EOS010": "the tokenizer brings no template, so its control tokens are probably untrained",
    },
    "TPL016": {"EOS008": "the family's template breaks the line behind an answer, and LLaMA-Factory trains that"},
    "TRU001": {"EOS008": "the answer was cut off", "GEN002": "the answer was cut off, header and all"},
    "TRU002": {
        "EOS008": "the end of the row was cut off",
        "PAC004": "packs are longer, so that other documents follow the first",
    },
    "TRU005": {"EOS008": "the end of the row was cut off"},
    "TRU007": {"EOS008": "the end of the row was cut off", "GEN002": "the answer was cut off, header and all"},
    "TRU009": {"TRU002": "the row is longer than the model takes: something is lost"},
}
"""Findings that come with a fix because they were hidden, with the reason."""

EASED: Mapping[str, str] = {
    "BND001": (
        "the mask is right now; what a server gives the model as prompt still differs, which only the data can mend"
    ),
    "BND002": (
        "the mask is right now; what a server gives the model as prompt still differs, which only the template can mend"
    ),
    "TPL007": "the mask is right now; the prompt that a server gives still differs, which only the template can mend",
}
"""Codes that stay as an information where they were worse."""

STATED: Mapping[tuple[str, str], str] = {
    ("TPL005", ""): "the recipe pins the day on which it is shown; on any other the rows would be others",
    ("TPL014", ""): "the recipe says what was left unset; the text is as before, and no default of a server changes it",
}
"""Fixes by code and trainer (all, if empty) that change only what the recipe says."""


@cache
def offered() -> Mapping[str, Fixed]:
    """One finding for every fix: by code, trainer, knobs and values, at best from the code's own example."""
    found: dict[tuple[object, ...], Fixed] = {}
    for code in sorted(CODES):
        for case in (CODES[code].bad, *CODES[code].more):
            for preset in dict.fromkeys((case.preset, *PRESETS)):
                for one in fixed_findings(code, replace(case, preset=preset)):
                    if one.key not in found or one.finding.code == code != found[one.key].name:
                        found[one.key] = one
    return {f"{one.finding.code}-{one.trainer}-{number}": one for number, one in enumerate(found.values())}


@pytest.mark.one_of(3)
@pytest.mark.parametrize("code", sorted(code for code, one in CODES.items() if one.moves))
def test_a_fix_repairs_its_place_and_nothing_else(code: str, tmp_path: Path) -> None:
    """Each fix of one code; `test_the_tables_name_what_is_there` holds that no other code has any."""
    fixes = {name: one for name, one in offered().items() if one.finding.code == code}
    assert fixes
    for name, one in fixes.items():
        (tmp_path / name).mkdir()
        repairs_its_place_and_nothing_else(one, tmp_path / name)


def repairs_its_place_and_nothing_else(one: Fixed, folder: Path) -> None:
    code, before = one.finding.code, one.before
    recipe = fixed_recipe(one, folder)
    after = run(one.case, recipe)

    assert set(losses(recipe)) <= set(losses(before.context.recipe)), "the trainer's config cannot say it"
    left = [other for other in after.of(code) if (other.row, other.message) == (one.finding.row, one.finding.message)]
    assert not left or (
        code in EASED and all(other.severity.rank == 2 > one.finding.severity.rank for other in left)
    ), left
    came = {(other.code, other.row) for other in after.findings} - {
        (other.code, other.row) for other in before.findings
    }
    assert {other for other, _ in came} <= set(REVEALED.get(code, {})), came

    changes = [moved(*pair) for pair in zip(before.inspections, after.inspections)]
    for number, (gone, arrived) in enumerate(changes):
        sides = [
            (side.inspections[number], side.context, findings(side, one.finding, number)) for side in (before, after)
        ]
        places = places_of(CODES[code].moves, *sides)
        if lost(before.inspections[number]):
            assert not gone or before.inspections[number].dropped is not None
            assert not trained_elsewhere(after.inspections[number], after.context, one.finding)
            continue
        assert gone <= places[0] and arrived <= places[1], (number, gone - places[0], arrived - places[1])
    assert not torn(after)
    assert (
        any(gone or arrived for gone, arrived in changes)
        or effect(before) != effect(after)
        or any((code, trainer) in STATED for trainer in ("", one.trainer))
    ), "nothing changed"


def findings(side: Outcome, finding: Finding, row: int) -> list[Finding]:
    """The findings whose place a row's labels may change at: its own of that code, or the one on the set-up."""
    return (
        [finding]
        if finding.row is None
        else [one for one in side.of(finding.code) if one.row == row] or [finding] * (finding.row == row)
    )


def test_every_fix_in_the_source_is_proven() -> None:
    """Each check's module names codes and knobs; every knob of a fix there is in a fix that was proven for one of its
    codes."""
    proven: dict[str, set[str]] = {}
    for one in offered().values():
        fix = one.finding.fix
        assert fix is not None
        proven.setdefault(one.finding.code, set()).update(change.path for change in fix.changes)
    paths = {knob.path for knob in knobs()} | {"preset"}
    seen = set()
    for module in sorted(Path(sftui.findings.__path__[0]).rglob("*.py")):
        tree = ast.parse(module.read_text(encoding="utf-8"))
        texts = {
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        named = {
            node.elts[0].value
            for node in ast.walk(tree)
            if isinstance(node, ast.Tuple) and len(node.elts) == 2 and isinstance(node.elts[0], ast.Constant)
        }
        named |= {
            node.args[0].value
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
            and getattr(node.func, "id", "") == "RecipeChange"
            and isinstance(node.args[0], ast.Constant)
        }
        wanted = {path for path in named if path in paths}
        texts |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        codes = texts & set(CODES)
        unproven = wanted - {path for code in codes for path in proven.get(code, ())}
        assert not unproven or module.name == "fixes.py", (
            module.name,
            unproven,
        )  # there, knobs are named for other modules
        seen |= wanted
    assert len(seen) >= 20
    assert {code for code in CODES if CODES[code].tags} == {
        one.finding.code for one in offered().values() if one.finding.fix and one.finding.fix.template
    }


def test_the_tables_name_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    codes = {one.finding.code for one in offered().values()}
    assert (
        codes == {code for code, one in CODES.items() if one.moves}
        and set(REVEALED) <= codes
        and set(EASED) <= codes
        and {code for code, _ in STATED} <= codes
    )
    with capsys.disabled():
        trainers = sorted({one.trainer for one in offered().values()})
        print(f"\nfixes of recipe and template: {len(offered())} of {len(codes)} codes, under {', '.join(trainers)}")
