"""Jobs of what is on screen take turns: none keeps the row list waiting for what it itself waits for."""

from __future__ import annotations

import contextlib
import io
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sftui.model import Problem
from sftui.recipe import changed
from sftui.session.options import OpenOptions
from sftui.session.ready import open_data
from sftui.tokens import load_tokenizer
from sftui.trainers import preset
from sftui.workspace import SearchQuery
from sftui.workspace import events as ev
from sftui.workspace import requests as rq
from sftui.workspace.inbox import Inbox
from sftui.workspace.loader import LoaderReport
from sftui.workspace.worker import Worker, next_job


def test_the_most_urgent_first_and_then_in_turn() -> None:
    jobs = {rq.SummariesRequest, rq.CompareRequest, rq.FindingsRequest, rq.AuditRequest}
    order, last = [], None
    for _ in range(4):
        last = next_job(jobs, last)
        order.append(last)
    assert order == [rq.FindingsRequest, rq.CompareRequest, rq.SummariesRequest, rq.FindingsRequest]
    assert next_job({rq.AuditRequest, rq.CountRequest}, rq.SummariesRequest) is rq.CountRequest


def test_the_row_list_is_answered_while_a_comparison_waits_for_its_tokenizer() -> None:
    worker, told = Worker(Inbox(), io.BytesIO()), []

    def waiting() -> Iterator[None]:
        while True:
            yield None

    def listed() -> Iterator[None]:
        told.append("the list")
        yield None

    worker._jobs = {
        rq.CompareRequest: (rq.AuditRequest(1), waiting()),
        rq.SummariesRequest: (rq.SummariesRequest(2, 0, 9), listed()),
    }
    for _ in range(3):
        worker._step()
    assert told == ["the list"] and list(worker._jobs) == [rq.CompareRequest]


def served(worker: Worker, out: io.BytesIO, begin: int = 0) -> list[Any]:
    """What a worker tells until nothing is left to do."""
    while worker._jobs:
        try:
            worker._step()
        except Exception as error:
            worker._give_up(None, Problem(str(error)))
    out.seek(begin)
    told = []
    with contextlib.suppress(EOFError):
        while True:
            told.append(pickle.load(out))
    return told


def test_a_job_that_fails_is_answered_and_takes_no_other_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    out = io.BytesIO()
    worker, done = Worker(Inbox(), out), []

    def failing() -> Iterator[None]:
        yield None
        raise ValueError("a bug")

    def listed() -> Iterator[None]:
        yield None
        done.append("the list")
        yield None

    search = rq.SearchRequest(1, SearchQuery("text", "x"), 0)
    asked = {
        rq.SearchRequest: search,
        rq.FindingsRequest: rq.FindingsRequest(2, 7),
        rq.AuditRequest: rq.AuditRequest(3),
        rq.OrderRequest: rq.OrderRequest(4, "longest"),
        rq.TagsRequest: rq.TagsRequest(5),
        rq.WriteRequest: rq.WriteRequest(6, "a", "b"),
        rq.PacksRequest: rq.PacksRequest(8, 0),
    }
    worker._jobs = {kind: (item, failing()) for kind, item in asked.items()}
    worker._jobs[rq.SummariesRequest] = (rq.SummariesRequest(9, 0, 9), listed())
    told = served(worker, out)
    assert done == ["the list"]
    answered = {event.ticket: event.problem.what for event in told if not isinstance(event, ev.WorkerFailed)}
    assert answered == {ticket: "a bug" for ticket in (1, 2, 3, 4, 5, 6, 8)}
    assert capsys.readouterr().err.count("Traceback") == len(answered), "what --debug shows"


def test_the_whole_of_a_tokenizer_is_told_of_only_where_it_changes_the_row(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"messages": [{"role": "user", "content": "One"}, {"role": "assistant", "content": "Two"}]}\n')
    same, other = load_tokenizer("builtin:chatml"), load_tokenizer("builtin:llama3")
    proven = ev.TokenizerChanged("proven", same.facts)

    def told(first: Any, then: Any) -> list[str]:
        """What is sent for the whole of a tokenizer, after the row was shown by a part of one."""
        out = io.BytesIO()
        worker = Worker(Inbox(), out)
        worker._session, worker._row = (
            open_data(OpenOptions((str(path),), recipe=changed(preset(), "tokenizer.name", "builtin:chatml"))),
            rq.RowRequest(1, 0),
        )
        worker._loaded(LoaderReport(0, proven, first, part=True))
        assert worker._loader.shown.is_set()
        begun = out.tell()
        worker._loaded(LoaderReport(0, proven, then, whole=True))
        return [type(event).__name__ for event in served(worker, out, begun)]

    assert told(same, load_tokenizer("builtin:chatml")) == []
    assert told(same, other)[:3] == ["TokenizerChanged", "ExportPrepared", "RowReady"]
