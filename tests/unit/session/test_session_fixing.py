"""Cures that are put in force together: what conflicts is left out, the smallest first, and what is needless."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import ExitStack
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from sftui.audit.found import FindingCounts
from sftui.errors import RecipeError
from sftui.exports.report_model import Cure, tried_as
from sftui.findings import Finding, Fix, Severity
from sftui.findings.rule import DROP
from sftui.model import RecipeChange
from sftui.recipe import changed, get
from sftui.session import fixing
from sftui.session.trial import changed_by
from sftui.trainers import preset

WORST, BAD, MILD = Severity.ERROR, Severity.WARNING, Severity.INFO


def finding(code: str, severity: Severity = BAD, *repairs: str, count: int = 1, fix: Fix | None = None) -> Finding:
    return Finding(code, severity, code, row=0, repairs=repairs, count=count, fix=fix)


def together(
    monkeypatch: pytest.MonkeyPatch,
    *found: Finding,
    harms: Iterable[set[str]] = (),
    heals: dict[str, set[str]] | None = None,
    often: dict[str, int] | None = None,
) -> tuple[tuple[str, ...], list[Cure], list[Cure]]:
    """What comes of findings in a world where sets of repairs do harm together, and where a repair also heals others
    (`heals`): the repairs in force, the cures and those left out."""
    counts = FindingCounts()
    for one in found:
        counts.add([one] * (often or {}).get(one.code, 1))

    def judged(session: Any, other: tuple[str, ...], one: Finding) -> Generator[None, None, str]:
        yield
        harmful = next((some for some in harms if some <= set(other)), None)
        if harmful:
            return f"{' and '.join(sorted(harmful))} lose a row"
        cured = {*(one.repairs or ()), *(name for name, codes in (heals or {}).items() if one.code in codes)}
        return "" if cured & set(other) else f"{one.code} stays"

    monkeypatch.setattr(fixing, "judged", judged)
    monkeypatch.setattr(fixing, "changed_by", lambda session, cures, files: (tuple(cures),))
    monkeypatch.setattr(fixing, "ready_under", lambda session, cures: cures)
    session = SimpleNamespace(requested=preset("trl"))
    cured = {tried_as(one): one for one in found}
    checked: Any = SimpleNamespace(audit=SimpleNamespace(found=counts), cured=cured)
    with ExitStack() as files:
        other, taken, left = fixing._together(session, checked, [], (), files)  # type: ignore[arg-type]
    return other, fixing._in_force(taken, preset("trl"), preset("trl")), left  # type: ignore[return-value]


def codes(cures: list[Cure]) -> list[tuple[str, tuple[str, ...]]]:
    return [(cure.text.partition(":")[0], cure.codes) for cure in cures]


def test_each_cure_is_taken_once_with_all_that_it_cures(monkeypatch: pytest.MonkeyPatch) -> None:
    found = (
        finding("ROL001", WORST, "map-roles"),
        finding("LAB015", WORST, "map-roles"),
        finding("CON003", BAD, "trim"),
    )
    force, cures, left = together(monkeypatch, *found)
    assert force == ("map-roles", "trim") and not left
    assert codes(cures) == [("map-roles", ("ROL001", "LAB015")), ("trim", ("CON003",))]


def test_of_two_that_do_harm_together_the_smaller_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    milder = (finding("CON003", BAD, "trim"), finding("ROL001", BAD, "map-roles"))
    found, often = (*milder, finding("ROL002", WORST, "fold-system")), {"CON003": 2, "ROL001": 9}
    force, _, left = together(monkeypatch, *found, harms=[{"trim", "map-roles"}], often=often)
    assert force == ("fold-system", "map-roles")
    assert codes(left) == [("trim", ("CON003",))] and left[0].why == "map-roles and trim lose a row"
    force, _, left = together(monkeypatch, *found, harms=[{"trim", "fold-system"}, {"fold-system", "map-roles"}])
    assert force == ("fold-system",) and [cure.codes for cure in left] == [("CON003",), ("ROL001",)]


def test_another_cure_of_the_finding_takes_the_place_of_one_that_does_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    found = (finding("ROL001", WORST, "map-roles"), finding("CON003", BAD, "trim", "fill-content"))
    force, cures, left = together(monkeypatch, *found, harms=[{"trim", "map-roles"}])
    assert force == ("map-roles", "fill-content") and not left and codes(cures)[1] == ("fill-content", ("CON003",))


def test_a_cure_that_others_make_needless_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    found = (finding("ROL001", WORST, "map-roles"), finding("CON003", BAD, "trim"))
    force, cures, left = together(monkeypatch, *found, heals={"map-roles": {"CON003"}})
    assert force == ("map-roles",) and not left and codes(cures) == [("map-roles", ("ROL001", "CON003"))]


def test_rows_are_not_left_out_and_informations_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    found = (finding("CON003", BAD, DROP), finding("CON004", MILD, "trim"), finding("ROL001", BAD, "map-roles", DROP))
    force, cures, left = together(monkeypatch, *found)
    assert force == ("map-roles",) and codes(cures) == [("map-roles", ("ROL001",))]
    assert left == [Cure("drop 1 row", ("CON003",), "--drop CON003 asks for it", 1)]


def test_another_release_is_in_no_config(monkeypatch: pytest.MonkeyPatch) -> None:
    newer = Fix("newer", (RecipeChange("preset", "trl@1.14", "trl@1.16"),), trainer_keys={"trl": "TRL 1.16"})
    _, cures, left = together(monkeypatch, finding("RUN002", WORST, fix=newer))
    assert not cures and left == [
        Cure("TRL 1.16", ("RUN002",), "it is another release of TRL, which no config selects")
    ]


def test_a_cure_that_cannot_be_had_is_left_out_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixing, "judged", None)

    def refuse(*_: object) -> None:
        raise RecipeError("no tags can be put there", why="it is no ChatML")

    found = finding("LAB002", BAD, "trim")
    counts = FindingCounts()
    counts.add([found])
    checked: Any = SimpleNamespace(audit=SimpleNamespace(found=counts), cured={tried_as(found): found})
    monkeypatch.setattr(fixing, "changed_by", refuse)
    with ExitStack() as files:
        session: Any = SimpleNamespace(requested=preset("trl"))
        other, cures, left = fixing._together(session, checked, [], (), files)
    assert other is session and not cures and left[0].why == "no tags can be put there, because it is no ChatML"


def test_of_cures_that_set_one_knob_the_last_is_in_force() -> None:
    shorter, longer = (
        Fix(f"to {length}", (RecipeChange("length.max", 64, length),), trainer_keys={"trl": f"max_length: {length}"})
        for length in (512, 4096)
    )
    before, after = preset("trl"), changed(preset("trl"), "length.max", 4096)
    taken: list[fixing.Taken] = [("trim", ["CON004"]), (shorter, ["TRU001"]), (longer, ["TRU002", "TRU001"])]
    made = fixing._in_force(taken, before, after)
    assert [cure[:2] for cure in made][1:] == [("max_length: 4096", ("TRU001", "TRU002"))]


def test_a_repair_is_told_where_the_length_beside_it_is_set_otherwise_later() -> None:
    before, after = preset("trl"), changed(preset("trl"), "length.max", 4096)
    both = Fix("both", (RecipeChange("length.max", 1024, 2048),), repairs=("to-messages",))
    longer = Fix("longer", (RecipeChange("length.max", 1024, 4096),), trainer_keys={"trl": "max_length: 4096"})
    made = fixing._in_force([(both, ["ROL001"]), (longer, ["TRU001"])], before, after)
    repair, length = [(cure.text.partition(":")[0], cure.codes) for cure in made]
    assert repair == ("to-messages", ("ROL001",)) and length == ("max_length", ("ROL001", "TRU001"))


def test_tags_that_went_with_their_template_are_not_told() -> None:
    keys = {"trl": "assistant_only_loss: true, with generation tags in the template"}
    tags = Fix("tags", (RecipeChange("mask.rule", "auto", "generation_tag"),), "generation_tags", trainer_keys=keys)
    before, after = preset("trl"), changed(preset("trl"), "mask.rule", "generation_tag")
    assert fixing._in_force([(tags, ["LAB002"])], before, after) == [Cure("assistant_only_loss: true", ("LAB002",))]
    tagged = changed(after, "render.template", "file:/tmp/sftui-trial-x/tagged.jinja")
    assert fixing._in_force([(tags, ["LAB002"])], before, tagged) == [Cure(keys["trl"], ("LAB002",))]


def test_changes_of_one_mapping_are_joined() -> None:
    recipe = replace(preset("axolotl"))
    had = dict(get(recipe, "data.message_keys"))
    one = Fix("flags", (RecipeChange("data.message_keys", had, {**had, "train_flag": "train"}),))
    other = Fix("weights", (RecipeChange("data.message_keys", had, {**had, "weight": "loss"}),))
    gone = Fix("no flags", (RecipeChange("data.message_keys", {**had, "train_flag": "train"}, had),))
    session: Any = SimpleNamespace(requested=recipe, repairs=("trim",))
    with ExitStack() as files:
        made, repairs = changed_by(session, (one, "map-roles", other), files)
        assert get(made, "data.message_keys") == {**had, "train_flag": "train", "weight": "loss"}
        assert repairs == ("trim", "map-roles")
        made, _ = changed_by(session, (one, other, gone), files)
        assert get(made, "data.message_keys") == {**had, "weight": "loss"}
