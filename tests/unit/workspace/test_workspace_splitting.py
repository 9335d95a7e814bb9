"""Rows that the trainer sets aside for evaluation, where rows are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sftui import trainers
from sftui.model import Row
from sftui.recipe import Recipe, changed
from sftui.trainers.held_out import HeldOut, evaluation_rows
from sftui.workspace import events as ev
from sftui.workspace.options import OpenOptions
from sftui.workspace.packing import packs
from sftui.workspace.requests import PacksRequest
from sftui.workspace.session import Session


def recipe(preset: str = "axolotl@0.19", **options: Any) -> Recipe:
    made = changed(trainers.preset(preset), "tokenizer.name", "builtin:chatml")
    return changed(changed(made, "mask.options", options), "length.max", 99)


ASIDE = evaluation_rows(HeldOut("val_set_size", 0.2, 42, drawn=False), [True] * 40)


@pytest.fixture
def session(data: Path) -> Session:
    asked = changed(recipe(val_set_size=0.2), "pack.strategy", "multipack")
    made = Session(OpenOptions((str(data),), recipe=asked), asked)
    made.open()
    made.load_tokenizer("provisional")
    return made


def test_a_batch_and_a_pack_hold_rows_of_one_kind(session: Session) -> None:
    assert session.settle_split().evaluation == ASIDE and len(ASIDE) == 8
    first = min(ASIDE)
    for start in (first, min(set(range(40)) - ASIDE)):
        batch = session.batch(start, 16)
        assert {row in ASIDE for row in batch.rows} == {start in ASIDE}
        assert [note for note in batch.notes if "stand in other batches" in note]
        told = [event for event in packs(session, PacksRequest(1, start), 1) if event is not None][-1]
        rows = {row for pack in told.packs for row, _, _ in pack.documents}
        assert rows == {row for row in range(start, 40) if (row in ASIDE) == (start in ASIDE)}


@pytest.mark.parametrize("size", [0, 0.2])
def test_the_rows_are_gone_through_once_for_both_kinds(
    session: Session, monkeypatch: pytest.MonkeyPatch, size: float
) -> None:
    session.set_recipe(recipe(val_set_size=size))
    aside = session.settle_split().evaluation
    assert session.source is not None
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


def test_another_recipe_asks_anew(session: Session) -> None:
    session.settle_split()
    session.set_recipe(recipe())
    assert session.split is None and not session.settle_split().evaluation
    assert not any(one.evaluates for one in session.all_rows())


def test_rows_that_a_repair_leaves_out_are_not_drawn(data: Path) -> None:
    data.write_text(data.read_text() + data.read_text())  # every row twice
    asked = recipe("llamafactory@0.9", val_size=0.25, seed=7, formatting="openai")
    made = Session(OpenOptions((str(data),), recipe=asked), asked)
    made.repairs = ("deduplicate",)
    made.open()
    made.load_tokenizer("provisional")
    assert made.settle_split().evaluation == evaluation_rows(HeldOut("val_size", 0.25, 7, drawn=True), [True] * 40)


def test_the_list_and_the_row_say_which_evaluate(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace(recipe=recipe(val_set_size=0.2))
    workspace.request_row(min(ASIDE))
    workspace.request_summaries(0, 40)
    row = heard.wait(ev.RowReady, lambda event: event.inspection.evaluates)
    assert row.inspection.row.index == min(ASIDE)
    listed: dict[int, bool] = {}
    while {index for index, on in listed.items() if on} != ASIDE:
        listed.update((one.index, one.evaluates) for one in heard.wait(ev.SummariesReady).rows)
