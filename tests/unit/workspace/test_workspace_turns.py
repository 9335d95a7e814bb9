"""Jobs of what is on screen take turns: none keeps the row list waiting for what it itself waits for."""

from __future__ import annotations

import io
from collections.abc import Iterator

from sftui.workspace import requests as rq
from sftui.workspace.inbox import Inbox
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

    worker._jobs = {rq.CompareRequest: (1, waiting()), rq.SummariesRequest: (2, listed())}
    for _ in range(3):
        worker._step()
    assert told == ["the list"] and list(worker._jobs) == [rq.CompareRequest]
