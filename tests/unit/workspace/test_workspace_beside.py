"""What stands beside the row: findings, a second recipe, packs, the audit; asked of the real worker."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sftui.audit.tallies import listed_by
from sftui.recipe import changed
from sftui.trainers import preset
from sftui.workspace import SearchQuery
from sftui.workspace import events as ev
from sftui.workspace import requests as rq
from sftui.workspace.requests import GROUPS


def proven(heard: Any) -> None:
    heard.wait(ev.TokenizerChanged, lambda event: event.state in ("proven", "provisional"))


def add_row(data: Path, row: Any) -> None:
    with data.open("a") as file:
        file.write(json.dumps(row) + "\n")


NO_ANSWER = {"messages": [{"role": "user", "content": "hello"}]}


def test_findings_of_a_row_and_then_of_the_set_up(data: Path, open_workspace: Callable[..., Any]) -> None:
    add_row(data, NO_ANSWER)
    workspace, heard = open_workspace()
    proven(heard)
    workspace.ask(rq.FindingsRequest, 40)
    event = heard.wait(ev.FindingsReady, lambda event: event.setup is not None)
    assert event.index == 40 and event.findings[0].severity.value == "error"
    workspace.ask(rq.FindingsRequest, 0)
    first = heard.wait(ev.FindingsReady, lambda event: event.index == 0)
    assert first.setup is not None, "the set-up is checked once a recipe"


def test_findings_answer_again_under_another_recipe(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace()
    proven(heard)
    workspace.ask(rq.FindingsRequest, 3)
    heard.wait(ev.FindingsReady)
    workspace.change("length.max", 4)
    event = heard.wait(ev.FindingsReady, lambda event: event.version == workspace.version)
    assert any(finding.code.startswith("TRU") for finding in event.findings)


def test_the_row_list_counts_findings(data: Path, open_workspace: Callable[..., Any]) -> None:
    add_row(data, NO_ANSWER)
    workspace, heard = open_workspace()
    proven(heard)
    workspace.ask(rq.SummariesRequest, 0, 41)
    event = heard.wait(
        ev.SummariesReady, lambda event: event.rows and event.rows[-1].index == 40 and event.rows[-1].errors is not None
    )
    assert event.rows[-1].errors > 0


def test_a_search_finds_rows_with_findings(data: Path, open_workspace: Callable[..., Any]) -> None:
    add_row(data, NO_ANSWER)
    workspace, heard = open_workspace()
    proven(heard)
    workspace.ask(rq.SearchRequest, SearchQuery("finding", "error"), 0)
    assert heard.wait(ev.SearchFound, lambda event: event.finished).row == 40
    workspace.ask(rq.SearchRequest, SearchQuery("finding", "XYZ"), 0)
    assert heard.wait(ev.SearchFound).problem is not None


def test_a_row_under_a_second_recipe_and_the_count(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace()
    proven(heard)
    other = changed(workspace.recipe, "mask.rule", "all")
    workspace.ask(rq.CompareRequest, 2, other)
    event = heard.wait(ev.ComparisonReady)
    assert event.comparison.row == 2 and event.comparison.labels_differing > 0 and event.other.row.index == 2
    workspace.ask(rq.CountRequest, other)
    count = heard.wait(ev.CountReady, lambda event: event.done)
    assert count.count.rows == count.count.differing_rows == count.total == 40


def test_a_second_recipe_that_cannot_be_followed_says_why(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace()
    proven(heard)
    workspace.ask(rq.CompareRequest, 0, changed(workspace.recipe, "tokenizer.name", "/nowhere/at/all"))
    assert heard.wait(ev.ComparisonReady).problem is not None


def test_packs_name_rows(open_workspace: Callable[..., Any]) -> None:
    recipe = changed(
        changed(changed(preset("trl@1.16"), "pack.strategy", "bfd"), "length.max", 64), "batch.flatten", True
    )
    workspace, heard = open_workspace(recipe=recipe)
    proven(heard)
    workspace.ask(rq.PacksRequest, 5)
    event = heard.wait(ev.PacksReady, lambda event: event.packs)
    rows = {index for pack in event.packs for index, _, _ in pack.documents}
    assert min(rows) == 5 and max(rows) == 5 + event.rows - 1 and event.batch is not None


def test_a_batch_of_a_recipe_that_packs_is_of_packs(open_workspace: Callable[..., Any]) -> None:
    recipe = changed(changed(preset("trl@1.16"), "pack.strategy", "wrapped"), "length.max", 16)
    workspace, heard = open_workspace(recipe=recipe)
    proven(heard)
    workspace.ask(rq.PacksRequest, 0)
    packs = heard.wait(ev.PacksReady, lambda event: event.packs).packs
    workspace.ask(rq.BatchRequest, 0, 2)
    batch = heard.wait(ev.BatchReady, lambda event: event.batch).batch
    assert len(packs) > 2 and batch.input_ids == tuple(pack.input_ids for pack in packs[:2])


def test_packs_of_a_recipe_that_does_not_pack(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace()
    proven(heard)
    workspace.ask(rq.PacksRequest, 0)
    assert "does not pack" in heard.wait(ev.PacksReady).problem.what


def test_the_audit_counts_every_row_and_is_cancelled(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace()
    proven(heard)
    workspace.ask(rq.AuditRequest)
    event = heard.wait(ev.AuditReady, lambda event: event.done)
    assert event.rows == event.total == event.figures.rows == 40
    workspace.cancel(workspace.ask(rq.AuditRequest))
    assert not [event for event in heard.rest() if isinstance(event, ev.AuditReady)]


def test_the_list_and_the_status_line_count_alike_where_labels_are_stored_shifted(
    open_workspace: Callable[..., Any],
) -> None:
    workspace, heard = open_workspace(recipe=preset("manual-shift"))
    proven(heard)
    workspace.request_row(1)
    row = heard.wait(ev.RowReady, lambda event: event.inspection.example is not None).inspection
    workspace.ask(rq.SummariesRequest, 1, 2)
    summary = heard.wait(ev.SummariesReady, lambda event: event.rows).rows[0]
    assert (summary.tokens, summary.trained) == (len(row.example.input_ids), row.trained)


def test_an_empty_file_has_exactly_no_rows(data: Path, open_workspace: Callable[..., Any]) -> None:
    data.write_text("")
    _, heard = open_workspace()
    count = heard.wait(ev.CountChanged)
    assert (count.rows, count.exact) == (0, True)


def test_of_a_very_long_row_only_the_columns_near_the_difference_travel(
    data: Path, open_workspace: Callable[..., Any]
) -> None:
    add_row(data, {"messages": [{"role": "user", "content": "word " * 4000}, {"role": "assistant", "content": "yes"}]})
    workspace, heard = open_workspace()
    proven(heard)
    workspace.ask(rq.CompareRequest, 40, changed(workspace.recipe, "length.max", 3000))
    event = heard.wait(ev.ComparisonReady)
    assert len(event.comparison.columns) == 1500 and event.left_out > 1000 and event.differing > 1000
    assert any(column.ids_differ or column.labels_differ for column in event.comparison.columns)


def test_rows_in_the_order_of_the_audit(data: Path, open_workspace: Callable[..., Any]) -> None:
    add_row(data, NO_ANSWER)
    add_row(
        data,
        {
            "messages": [
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": ", ".join(map(str, range(99)))},
            ]
        },
    )
    workspace, heard = open_workspace()
    proven(heard)
    workspace.ask(rq.AuditRequest)
    audited = heard.wait(ev.AuditReady, lambda event: event.done)
    found = {}
    for by in ("longest", "shortest", "most trained", "dropped", "error", "LAB012", "nothing"):
        workspace.ask(rq.OrderRequest, by)
        found[by] = heard.wait(ev.OrderReady, lambda event, by=by: event.by == by)
    assert audited.found == (1, 1), "as `sftui check` counts them"
    assert found["longest"].rows[0] == found["most trained"].rows[0] == found["shortest"].rows[-1] == 41
    assert 40 in found["error"].rows and list(found["dropped"].rows) == [40]
    assert found["nothing"].total == 0
    figures = audited.figures
    for kind, field in GROUPS.items():
        listed: list[int] = []
        for group in getattr(figures, field):
            by = listed_by(kind, group.name)
            workspace.ask(rq.OrderRequest, by)
            event = heard.wait(ev.OrderReady, lambda event, by=by: event.by == by)
            assert event.total == len(event.rows) == group.count and list(event.rows)[: len(group.rows)] == list(
                group.rows
            )
            listed += event.rows
        assert sorted(listed) == list(range(42))
    workspace.ask(rq.OrderRequest, listed_by("roles", "no such"))
    assert heard.wait(ev.OrderReady, lambda event: event.by == "roles: no such").total == 0
    workspace.ask(rq.SummariesRequest, 0, 0, (41, 3))
    event = heard.wait(ev.SummariesReady, lambda event: event.rows)
    assert [row.index for row in event.rows][:2] in ([41, 3], [41])


def test_tags_for_the_template_are_proven_on_the_first_rows(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace()
    proven(heard)
    workspace.ask(rq.TagsRequest)
    event = heard.wait(ev.TagsReady)
    assert event.problem is None and "{% generation %}" in event.source and event.proven >= 40 and event.diff


def test_waived_findings_are_neither_shown_nor_counted(data: Path, open_workspace: Callable[..., Any]) -> None:
    add_row(data, NO_ANSWER)
    workspace, heard = open_workspace()
    proven(heard)
    workspace.ask(rq.FindingsRequest, 40)
    codes = {finding.code for finding in heard.wait(ev.FindingsReady).findings if finding.severity.value == "error"}
    waivers = tuple({"code": code, "rows": 40, "reason": "a test"} for code in sorted(codes))
    workspace.set_recipe(changed(workspace.recipe, "waivers", waivers))
    event = heard.wait(ev.FindingsReady, lambda event: event.version == workspace.version)
    assert codes and not codes & {finding.code for finding in event.findings} and event.waived >= len(codes)
    workspace.ask(rq.SearchRequest, SearchQuery("finding", "error"), 0)
    assert heard.wait(ev.SearchFound, lambda event: event.finished).row is None
    workspace.ask(rq.AuditRequest)
    assert not codes & {one.code for one in heard.wait(ev.AuditReady, lambda event: event.done).codes}


def test_what_will_be_served_stands_through_other_recipes(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace(serve="builtin:llama3")
    proven(heard)
    workspace.ask(rq.FindingsRequest, 3)
    for path, value in (("length.max", 4000), ("mask.rule", "assistant")):
        event = heard.wait(ev.FindingsReady, lambda event: event.version == workspace.version)
        one = next(finding for finding in event.findings if finding.code == "TPL017")
        assert one.message == 1 and one.tokens is not None
        workspace.change(path, value)


def test_a_count_ends_with_why_the_two_differ(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace()
    proven(heard)
    workspace.ask(rq.CountRequest, changed(workspace.recipe, "length.max", 4), None, True)
    event = heard.wait(ev.CountReady, lambda event: event.causes is not None)
    assert event.done and event.causes.of == event.count.differing_rows > 0
    assert [[one.name for one in cause.settings] for cause in event.causes.found] == [["length.max"]]


def test_what_would_turn_a_label_over_does_and_is_told_again_under_another_recipe(
    open_workspace: Callable[..., Any],
) -> None:
    workspace, heard = open_workspace()
    proven(heard)
    workspace.request_row(0)
    workspace.ask(rq.WhyRequest, 0, 1)
    first = heard.wait(ev.WhyReady)
    assert (first.index, first.token) == (0, 1) and first.ways, "a token of the prompt can be trained"
    way = first.ways[0]
    workspace.ask(rq.CountRequest, way.recipe)
    counted = heard.wait(ev.CountReady, lambda event: event.done).count
    assert counted is not None and counted.differing_rows and counted.differing_tokens >= way.tokens
    for change in way.changes:
        workspace.change(change.path, change.after)
    row = heard.wait(ev.RowReady, lambda event: event.version == workspace.version).inspection
    again = heard.wait(ev.WhyReady, lambda event: event.version == workspace.version)
    assert row.labels is not None and row.labels.labels[1] != -100
    assert (again.index, again.token) == (0, 1) and again.ways != first.ways
