"""Rows that the trainer sets aside for evaluation, where rows are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sftui import trainers
from sftui.model import Row
from sftui.recipe import Recipe, changed
from sftui.session.opened import UNSETTLED, settle_split
from sftui.session.options import OpenOptions
from sftui.session.ready import Ready, open_data, tokenized, under
from sftui.trainers.held_out import HeldOut, evaluation_rows
from sftui.workspace import events as ev
from sftui.workspace import requests as rq
from sftui.workspace.answers import packs
from sftui.workspace.comparing import Comparison
from sftui.workspace.requests import CompareRequest, CountRequest, PacksRequest, answering


def recipe(preset: str = "axolotl@0.19", **options: Any) -> Recipe:
    made = changed(trainers.preset(preset), "tokenizer.name", "builtin:chatml")
    return changed(changed(made, "own", replace(made.own, **options)), "length.max", 99)


ASIDE = evaluation_rows(HeldOut("val_set_size", 0.2, 42, drawn=False), [True] * 40)


def opened(data: Path, asked: Recipe, repairs: tuple[str, ...] = ()) -> Ready:
    return tokenized(open_data(OpenOptions((str(data),)), asked, repairs), "provisional").ready()


@pytest.fixture
def session(data: Path) -> Ready:
    asked = changed(recipe(val_set_size=0.2, seed=42), "pack.strategy", "multipack")
    return opened(data, asked)


def test_a_batch_and_a_pack_hold_rows_of_one_kind(session: Ready) -> None:
    assert settle_split(session).evaluation == ASIDE and len(ASIDE) == 8
    first = min(ASIDE)
    for start in (first, min(set(range(40)) - ASIDE)):
        batch = session.batch(start, 16)
        assert {row in ASIDE for row in batch.rows} == {start in ASIDE}
        assert [note for note in batch.notes if "are therefore in separate batches" in note]
        asked = PacksRequest(1, start)
        told = [event for event in packs(session, asked, answering(asked, 1)) if event is not None][-1]
        rows = {row for pack in told.packs for row, _, _ in pack.documents}
        assert rows == {row for row in range(start, 40) if (row in ASIDE) == (start in ASIDE)}


@pytest.mark.parametrize("size", [0, 0.2])
def test_the_rows_are_gone_through_once_for_both_kinds(
    session: Ready, monkeypatch: pytest.MonkeyPatch, size: float
) -> None:
    session = under(session, recipe(val_set_size=size, seed=42)).ready()
    aside = settle_split(session).evaluation
    passes: list[int] = []
    whole = session.source.rows

    def counted(start: int = 0) -> Iterator[Row]:
        passes.append(start)
        return whole(start)

    monkeypatch.setattr(session.source, "rows", counted)
    for evaluate in (False, True):
        found = list(session.rows_that(evaluate))
        assert {one.row.index for one in found} == (aside if evaluate else set(range(40)) - aside)
        assert all(one.evaluates == evaluate for one in found)
    assert passes == [0]


def test_another_recipe_asks_anew(session: Ready) -> None:
    settle_split(session)
    other = under(session, recipe()).ready()
    assert other.split is UNSETTLED and not settle_split(other).evaluation
    assert not any(one.evaluates for one in other.all_rows())
    assert session.split.evaluation == ASIDE


def test_rows_that_a_repair_leaves_out_are_not_drawn(data: Path) -> None:
    data.write_text(data.read_text() + data.read_text())  # every row twice
    asked = recipe("llamafactory@0.9", val_size=0.25, seed=7, formatting="openai")
    made = opened(data, asked, ("deduplicate",))
    assert settle_split(made).evaluation == evaluation_rows(HeldOut("val_size", 0.25, 7, drawn=True), [True] * 40)


def test_the_list_and_the_row_say_which_evaluate(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace(recipe=recipe(val_set_size=0.2, seed=42))
    workspace.request_row(min(ASIDE))
    workspace.ask(rq.SummariesRequest, 0, 40)
    row = heard.wait(ev.RowReady, lambda event: event.inspection.evaluates)
    assert row.inspection.row.index == min(ASIDE)
    listed: dict[int, bool] = {}
    while {index for index, on in listed.items() if on} != ASIDE:
        listed.update((one.index, one.evaluates) for one in heard.wait(ev.SummariesReady).rows)


@pytest.mark.one_of(3)
@pytest.mark.parametrize(
    ("preset", "options", "other"),
    [
        ("axolotl@0.19", {"val_set_size": 0.2, "seed": 42}, {"val_set_size": 0.2, "seed": 43}),
        (
            "llamafactory@0.9",
            {"val_size": 8, "formatting": "openai"},
            {"val_size": 8, "seed": 7, "formatting": "openai"},
        ),
        ("axolotl@0.19", {"val_set_size": 0.2, "seed": 42}, {}),
    ],
)
def test_the_comparison_says_which_rows_only_one_side_trains(
    data: Path, open_workspace: Callable[..., Any], preset: str, options: dict[str, Any], other: dict[str, Any]
) -> None:
    sides = []
    for asked in (recipe(preset, **options), recipe(preset, **other)):
        sides.append(settle_split(opened(data, asked)).evaluation)
    differing = sides[0] ^ sides[1]
    assert differing
    workspace, heard = open_workspace(recipe=recipe(preset, **options))
    second = recipe(preset, **other)
    workspace.ask(rq.CompareRequest, min(differing), second)
    workspace.ask(rq.CountRequest, second)
    done = heard.wait(ev.CountReady, lambda event: event.done)
    assert (done.count.evaluation_differing, done.count.differing_rows) == (len(differing),) * 2
    assert done.count.evaluation_rows == tuple(map(len, sides))
    told: list[Any] = [event for event in (*heard.seen, *heard.rest()) if isinstance(event, ev.ComparisonReady)]
    told = [event for event in told if event.comparison.columns]  # before that the tokenizer was on its way
    assert all(event.comparison.evaluation_differs or event.unmarked for event in told), "nothing is guessed meanwhile"
    assert told[-1].comparison.evaluation_differs and not told[-1].unmarked
    assert [side.evaluates for side in told[-1].comparison.sides] == [min(differing) in side for side in sides]
    assert told[-1].other.evaluates == (min(differing) in sides[1])


def test_a_row_is_compared_without_going_through_all_of_them(session: Ready) -> None:
    second = recipe(val_set_size=0.2, seed=43)
    told: Any
    asked = CompareRequest(1, 3, second)
    answers = Comparison().compare(session, asked, answering(asked, 1))
    [told] = [event for event in answers if event is not None]
    assert session.split is UNSETTLED and not told.comparison.evaluation_differs
    why = "are not marked: every row must be prepared to know which"
    assert told.unmarked == (f"rows held out for evaluation (val_set_size) {why}",) * 2


def test_repairs_move_what_is_held_out_and_nothing_else_does(data: Path) -> None:
    """Where a repair leaves rows out, others are drawn; one that touches no row changes nothing."""
    rows = data.read_text().splitlines(keepends=True)
    data.write_text("".join(rows[:2]) + "".join(rows))  # the first two stand twice
    asked = recipe("llamafactory@0.9", val_size=0.25, seed=7, formatting="openai")
    made = opened(data, asked)
    told: Any
    for repairs in (("deduplicate",), ("map-roles",)):
        question = CountRequest(1, asked, repairs)
        answers = Comparison().count(made, question, answering(question, 1), lambda: None)
        told = [one for one in answers if one is not None][-1]
        other = under(made, asked, repairs)
        ours, theirs = settle_split(made).evaluation, settle_split(other).evaluation
        gone = {2, 3} if repairs == ("deduplicate",) else set()
        assert told.count.evaluation_differing == len((ours ^ theirs) - gone)
        assert (told.count.evaluation_differing > 0) == bool(gone) == (ours != theirs)
