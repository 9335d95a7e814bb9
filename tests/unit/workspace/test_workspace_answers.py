"""What a workspace delivers: never a stale answer, and again after every change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sftui.model import RowSummary
from sftui.recipe import changed
from sftui.trainers import preset
from sftui.workspace import OpenOptions, SearchQuery
from sftui.workspace import events as ev
from sftui.workspace import requests as rq


def proven_row(event: ev.RowReady) -> bool:
    return not event.inspection.provisional and event.inspection.tokens is not None


def test_t3_stale_results_never_arrive(open_workspace: Callable[..., Any]) -> None:
    """Trap T3: answers to older questions come late, out of order, and must be dropped."""
    workspace, heard = open_workspace("late")
    heard.wait(ev.RowReady)
    workspace.request_row(1)
    workspace.request_row(2)
    last = workspace.request_row(3)
    event = heard.wait(ev.RowReady)
    assert (event.ticket, event.inspection.row.index) == (last, 3)
    assert [e for e in heard.rest() if isinstance(e, ev.RowReady)] == []


def test_t3_an_answer_made_with_an_older_recipe_never_arrives(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace("old-version")
    heard.wait(ev.RowReady)
    workspace.change("length.max", 5)
    workspace.request_row(4)
    event = heard.wait(ev.RowReady)
    assert event.inspection.row.raw == f"made with {workspace.version}"
    assert heard.rest() == []


def test_an_event_that_waited_too_long_is_known_to_be_stale(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace("old-version")
    event = heard.wait(ev.RowReady)
    assert workspace.is_current(event)
    workspace.change("length.max", 7)
    assert not workspace.is_current(event)


def test_rows_come_before_the_tokenizer_and_again_after_it(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace()
    first = heard.wait(ev.RowReady)
    assert first.inspection.conversation is not None and first.inspection.tokens is None
    assert first.inspection.provisional and first.inspection.problem is None
    loaded = heard.wait(ev.TokenizerChanged, lambda e: e.state != "loading")
    assert loaded.state == "proven"
    whole = heard.wait(ev.RowReady)
    assert proven_row(whole) and whole.ticket == first.ticket
    assert workspace.source is not None and workspace.source.format == "messages"
    assert workspace.count == ev.CountChanged(40, True, 1.0)


def test_a_change_answers_the_row_and_undo_brings_it_back(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace()
    before = heard.wait(ev.RowReady, proven_row).inspection
    assert workspace.change("length.max", 4)
    assert not workspace.change("length.max", 4), "nothing changes twice"
    cut = heard.wait(ev.RowReady, proven_row).inspection
    assert cut.example is not None and len(cut.example.input_ids) == 4
    assert [c.path for c in workspace.changes()] == ["length.max"]
    assert workspace.undo() and not workspace.undo()
    assert heard.wait(ev.RowReady, proven_row).inspection == before
    assert workspace.redo() and not workspace.redo()
    assert heard.wait(ev.RowReady, proven_row).inspection == cut


def test_the_list_is_answered_and_answered_again(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace()
    heard.wait(ev.RowReady, proven_row)
    ticket = workspace.ask(rq.SummariesRequest, 35, 60)
    rows: list[RowSummary] = []
    while len(rows) < 5:
        event = heard.wait(ev.SummariesReady)
        assert event.ticket == ticket
        rows += event.rows
    assert [row.index for row in rows] == [35, 36, 37, 38, 39]
    assert rows[0].preview == "Question 35?" and rows[0].tokens and rows[0].trained
    workspace.change("mask.rule", "all")
    again = heard.wait(ev.SummariesReady, lambda e: bool(e.rows))
    assert again.ticket == ticket and again.rows[0].trained == rows[0].tokens


def test_a_batch_is_padded(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace()
    heard.wait(ev.RowReady, proven_row)
    workspace.ask(rq.BatchRequest, 8, 4)
    batch = heard.wait(ev.BatchReady).batch
    assert batch is not None and batch.rows == (8, 9, 10, 11)
    assert len({len(ids) for ids in batch.input_ids}) == 1


def test_search_finds_forwards_and_backwards_and_says_when_there_is_nothing(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace()
    heard.wait(ev.RowReady, proven_row)

    def found(query: SearchQuery, start: int, forward: bool = True) -> ev.SearchFound:
        workspace.ask(rq.SearchRequest, query, start, forward)
        found: ev.SearchFound = heard.wait(ev.SearchFound, lambda e: e.finished)
        return found

    assert found(SearchQuery("text", "answer 17"), 0).row == 17
    assert found(SearchQuery("text", "answer 17"), 39, False).row == 17
    assert found(SearchQuery("text", "answer 17"), 18).row is None
    assert found(SearchQuery("regex", r"Question 2\d\?"), 0).row == 20
    assert found(SearchQuery("regex", "("), 0).problem is not None
    assert found(SearchQuery("id", "x"), 0).problem is not None
    hit = found(SearchQuery("token", "<|im_end|>"), 3)
    assert hit.row == 3 and hit.positions


def test_hits_are_counted_over_all_rows_and_anew_under_another_recipe(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace()
    heard.wait(ev.RowReady, proven_row)

    def counted() -> list[tuple[int, int]]:
        told: list[tuple[int, int]] = []
        while True:
            event = heard.wait(ev.HitsCounted)
            assert event.version == workspace.version and (event.first == 0) == (not told)
            told += zip(event.rows, event.hits)
            if event.done:
                assert event.searched == 40
                return told

    workspace.ask(rq.HitsRequest, SearchQuery("text", "17"))
    assert counted() == [(17, 2)], "in the question and in the answer"
    workspace.ask(rq.HitsRequest, SearchQuery("regex", r"<\|im_end\|>"))
    assert counted() == [(row, 2) for row in range(40)]
    workspace.change("render.template", "builtin:llama3")
    assert counted() == []
    workspace.ask(rq.HitsRequest, SearchQuery("id", "x"))
    assert heard.wait(ev.HitsCounted).problem is not None


def test_hits_are_told_in_parts_that_add_up(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sftui.cli.loading import loaded_session
    from sftui.workspace import search

    monkeypatch.setattr(search, "COUNT_EVERY", -1.0)
    session = loaded_session(OpenOptions((str(data),), recipe=changed(preset(), "tokenizer.name", "builtin:chatml")))
    asked = rq.HitsRequest(1, SearchQuery("text", "7"))
    parts = [event for event in search.count_hits(session, asked, rq.answering(asked, 1)) if event]
    session.close()
    assert [(part.first, part.searched) for part in parts[:-1]] == [(row, row + 1) for row in range(40)]
    assert [row for part in parts for row in part.rows] == [7, 17, 27, 37] and parts[-1].done


def test_another_tokenizer_is_loaded_when_the_recipe_names_it(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace()
    first = heard.wait(ev.RowReady, proven_row).inspection
    workspace.change("tokenizer.name", "builtin:llama3")
    heard.wait(ev.TokenizerChanged, lambda e: e.state == "proven")
    other = heard.wait(ev.RowReady, proven_row).inspection
    assert other.tokens is not None and first.tokens is not None
    assert other.tokens.input_ids != first.tokens.input_ids


def test_a_tokenizer_that_cannot_be_loaded_leaves_the_conversation(
    open_workspace: Callable[..., Any], tmp_path: Path
) -> None:
    workspace, heard = open_workspace(tokenizer=str(tmp_path / "none"))
    failed = heard.wait(ev.TokenizerChanged, lambda e: e.state == "failed")
    assert failed.problem is not None
    row = heard.wait(ev.RowReady).inspection
    assert row.conversation is not None and row.problem == failed.problem and not row.provisional
    assert workspace.tokenizer == failed


def test_data_that_cannot_be_opened_is_told(open_workspace: Callable[..., Any], tmp_path: Path) -> None:
    recipe = changed(preset(), "data.fields", {"messages": "nowhere"})
    _, heard = open_workspace(recipe=recipe)
    assert heard.wait(ev.SourceOpened).refused is not None


def test_a_source_that_cannot_be_opened_answers_every_row_with_the_reason(
    open_workspace: Callable[..., Any], data: Path
) -> None:
    data.write_text("")
    workspace, heard = open_workspace()
    refused = heard.wait(ev.SourceOpened).refused
    assert refused is not None and "is empty" in refused.what
    assert heard.wait(ev.RowReady).inspection.problem == refused
    workspace.request_row(3)
    event = heard.wait(ev.RowReady)
    assert (event.inspection.row.index, event.inspection.problem) == (3, refused)
    workspace.change("length.max", 3)
    assert heard.wait(ev.RowReady).version == workspace.version
    workspace.ask(rq.SearchRequest, SearchQuery("text", "x"), 0)
    assert heard.wait(ev.SearchFound).problem == refused
    workspace.ask(rq.AuditRequest)
    assert heard.wait(ev.AuditReady).problem == refused
    workspace.ask(rq.FindingsRequest, 3)
    assert heard.wait(ev.FindingsReady).problem == refused


def test_a_row_past_the_end_says_so(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace()
    heard.wait(ev.RowReady, proven_row)
    workspace.request_row(40)
    row = heard.wait(ev.RowReady, lambda e: e.inspection.row.index == 40).inspection
    assert row.problem is not None and "the last one is 39" in row.problem.sentence()


def test_a_row_at_hand_is_answered_at_once(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace()
    first = heard.wait(ev.RowReady, proven_row).inspection
    workspace.request_row(1)
    heard.wait(ev.RowReady, lambda e: e.inspection.row.index == 1)
    assert workspace.cached(0) == first
    ticket = workspace.request_row(0)
    # row 1 may be told once more in between, when its tokenizer is proven
    assert heard.wait(ev.RowReady, lambda e: e.ticket == ticket).inspection is first
    workspace.change("length.max", 3)
    assert workspace.cached(0) is None, "an older recipe's row is not at hand any more"
    assert heard.wait(ev.RowReady, proven_row).inspection.row.index == 0


def test_a_file_that_grows_shows_its_new_rows(open_workspace: Callable[..., Any], data: Path) -> None:
    workspace, heard = open_workspace()
    heard.wait(ev.CountChanged, lambda e: e.exact)
    with data.open("a") as file:
        file.write('{"messages": [{"role": "user", "content": "new"}, {"role": "assistant", "content": "row"}]}\n')
    assert heard.wait(ev.CountChanged, lambda e: e.exact).rows == 41
    workspace.request_row(40)
    assert heard.wait(ev.RowReady, lambda e: e.inspection.row.index == 40).inspection.conversation is not None


def test_a_tokenizer_without_a_template_is_offered_some(open_workspace: Callable[..., Any], tmp_path: Path) -> None:
    """google/gemma-2b has none: the event names templates that fit, and one of them makes rows work."""
    import json
    import shutil

    from sftui.tokens import builtin

    folder = tmp_path / "gemma-2b"
    shutil.copytree(builtin.folder("gemma"), folder)
    config = json.loads((folder / "tokenizer_config.json").read_text())
    config.pop("chat_template", None)
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    for left in folder.glob("*.jinja"):
        left.unlink()
    workspace, heard = open_workspace(tokenizer=str(folder))
    event = heard.wait(ev.TokenizerChanged, lambda e: e.state != "loading")
    assert event.templates[0] == "gemma" and "no chat template" in event.message
    row = heard.wait(ev.RowReady, lambda e: e.inspection.problem is not None).inspection
    assert row.problem is not None and "chat template" in row.problem.what
    workspace.change("render.template", f"builtin:{event.templates[0]}")
    assert heard.wait(ev.RowReady, lambda e: e.inspection.tokens is not None).inspection.problem is None
