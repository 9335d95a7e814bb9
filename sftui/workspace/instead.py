"""What answers a question that cannot be answered, so that nobody waits for ever."""

from __future__ import annotations

from typing import Any

from sftui.model import Problem
from sftui.workspace import events as ev
from sftui.workspace import requests as rq


def refusal(item: Any, version: int, problem: Problem) -> ev.Event | None:
    """The event that answers a request with a problem; None for those that a `WorkerFailed` answers.

    A row list that cannot be made asks for no event: each of its rows says itself what is wrong with it.
    """
    ticket = getattr(item, "ticket", 0)
    if isinstance(item, rq.BatchRequest):
        return ev.BatchReady(ticket, version, None, problem)
    if isinstance(item, rq.SearchRequest):
        return ev.SearchFound(ticket, None, finished=True, problem=problem)
    if isinstance(item, rq.HitsRequest):
        return ev.HitsCounted(ticket, version, done=True, problem=problem)
    if isinstance(item, rq.FindingsRequest):
        return ev.FindingsReady(ticket, version, item.index, problem=problem)
    if isinstance(item, rq.CompareRequest):
        return ev.ComparisonReady(ticket, version, item.recipe, problem=problem, repairs=item.repairs)
    if isinstance(item, rq.CountRequest):
        return ev.CountReady(ticket, version, problem=problem)
    if isinstance(item, rq.PacksRequest):
        return ev.PacksReady(ticket, version, problem=problem)
    if isinstance(item, rq.AuditRequest):
        return ev.AuditReady(ticket, version, 0, problem=problem)
    if isinstance(item, rq.OrderRequest):
        return ev.OrderReady(ticket, version, item.by, problem=problem)
    if isinstance(item, rq.TagsRequest):
        return ev.TagsReady(ticket, version, problem=problem)
    if isinstance(item, rq.RepairsRequest):
        return ev.RepairsCounted(ticket, version, ev.RepairCount(), done=True)
    if isinstance(item, rq.WriteRequest):
        return ev.RepairsWritten(ticket, item.target, item.log, problem=problem)
    return None
