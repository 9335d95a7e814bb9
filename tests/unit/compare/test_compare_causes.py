"""Which settings explain why two recipes give a row otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sftui.comparison import RowComparison, RowSide
from sftui.comparison.causes import (
    TOKENIZER,
    TRAINER,
    TRANSFORMERS,
    Setting,
    Switch,
    collect,
    explained,
    settings_between,
    switched,
)
from sftui.recipe import Recipe, changed
from sftui.session.comparing import chosen
from sftui.trainers import preset
from sftui.trainers.versions import reference_version


def side(*labels: int, stopped: bool = False) -> RowSide:
    gone = "it cannot be" if stopped else None
    return RowSide(tuple(range(len(labels))), labels, None, 1, gone=gone, stopped=stopped)


def row(number: int, differs: bool, stopped: bool = False) -> RowComparison:
    return RowComparison(number, (side(1, 2), side(stopped=stopped) if differs else side(1, 2)), ())


def only(*needed: str) -> Callable[[frozenset[str]], RowComparison | None]:
    """A row that is the same once these settings are switched, and differs before."""

    def differs(names: frozenset[str]) -> RowComparison:
        equal = set(needed) <= names
        return RowComparison(0, (side(1), side(1) if equal else replace(side(1), gone="x")))

    return differs


@given(st.sets(st.sampled_from("abcdefg"), min_size=1))
def test_the_settings_that_are_needed_are_found_and_no_others(needed: set[str]) -> None:
    assert explained("abcdefg", only(*needed), ()) == Switch(frozenset(needed))


def test_what_explained_another_row_is_tried_first() -> None:
    known = [Switch(frozenset("ab")), Switch(frozenset("c"))]
    assert explained("abc", only("a"), known) == known[0]
    assert explained("abc", only("c"), known) == known[1]


def test_a_row_that_no_setting_explains_is_told_as_such() -> None:
    assert explained("ab", only("z"), ()) is None
    [*_, causes] = collect([(row(3, True), None), (row(4, True), None)], ())
    assert [(cause.settings, cause.rows, cause.first) for cause in causes] == [((), 2, (3, 4))]


def test_a_setting_that_the_other_trainer_does_not_take_goes_with_it() -> None:
    def differs(names: frozenset[str]) -> RowComparison | None:
        if TRAINER in names and "mask.rule" not in names:
            return None  # the first trainer refuses the value of the second
        return only(TRAINER, "length.max")(names)

    names = (TRAINER, "mask.rule", "length.max")
    assert explained(names, differs, ()) == Switch(frozenset(names), frozenset({"mask.rule"}))


def test_causes_count_rows_and_tokens_and_the_largest_comes_first() -> None:
    settings = (Setting("a", (1, 2)), Setting("b", (3, 4)))
    one, other = Switch(frozenset("a")), Switch(frozenset("b"))
    [*_, causes] = collect([(row(1, True), one), (row(2, True), other), (row(5, True), other)], settings)
    assert [(cause.settings, cause.rows, cause.first) for cause in causes] == [
        ((settings[1],), 2, (2, 5)),
        ((settings[0],), 1, (1,)),
    ]
    assert causes[0].trained == (4, 0) and causes[0].received == (4, 0)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (a, b)
        for a in ("trl", "axolotl", "hf-trainer", "unsloth", "llamafactory", "torchtune")
        for b in ("trl", "axolotl@0.19")
    ],
)
def test_all_settings_of_one_make_its_recipe_of_the_other(one: str, other: str) -> None:
    a = changed(changed(preset(one), "tokenizer.name", "builtin:chatml"), "length.max", 77)
    b = changed(preset(other), "tokenizer.name", "builtin:llama3")
    names = [setting.name for setting in settings_between(a, b, reference_version)]
    made = switched(a, b, names, reference_version)
    assert reference_version(made) == reference_version(a)
    assert changed(made, "tokenizer.transformers", None) == changed(a, "tokenizer.transformers", None)
    assert switched(a, b, (), reference_version) == b


def test_another_release_of_transformers_is_a_setting_of_its_own() -> None:
    one = changed(preset("axolotl@0.21"), "tokenizer.name", "builtin:chatml")
    other = changed(preset("axolotl@0.20"), "tokenizer.name", "builtin:chatml")
    found = {setting.name: setting.values for setting in settings_between(one, other, reference_version)}
    assert found[TRANSFORMERS] == ("5.20.1", "5.17.0") and found[TRAINER] == ("axolotl@0.21", "axolotl@0.20")
    alone = switched(one, other, {TRAINER}, reference_version)
    assert alone.preset == "axolotl@0.21" and reference_version(alone) == "5.17.0"
    named = changed(other, "tokenizer.name", "builtin:llama3")
    assert {TOKENIZER, TRAINER} <= {setting.name for setting in settings_between(one, named, reference_version)}


def test_rows_are_chosen_at_even_distances() -> None:
    assert chosen(range(10), 20) == list(range(10))
    assert chosen(range(0, 100, 10), 3) == [0, 30, 60]
    assert chosen([], 3) == []


def test_recipes_of_one_trainer_differ_by_its_own_options() -> None:
    one = preset("unsloth")
    path = next(info for info in vars(type(one.own))["__dataclass_fields__"])
    other = replace(one, own=replace(one.own, **{path: "x"}))
    assert [setting.name for setting in settings_between(one, other, reference_version)] == [f"own.{path}"]


def test_a_recipe_is_no_cause_of_itself() -> None:
    recipe = Recipe("hf-trainer")
    assert settings_between(recipe, recipe, reference_version) == ()


def test_between_releases_of_a_trainer_its_own_options_go_over_one_by_one() -> None:
    one = preset("trl@1.14")
    other = changed(preset("trl@1.16"), "own.completion_only_loss", False)
    assert {TRAINER, "own.completion_only_loss"} <= {
        setting.name for setting in settings_between(one, other, reference_version)
    }
    release = switched(one, other, {TRAINER}, reference_version)
    assert release.preset == "trl@1.14" and release.own == other.own
    both = switched(one, other, {TRAINER, "own.completion_only_loss"}, reference_version)
    assert both.own == one.own != other.own
