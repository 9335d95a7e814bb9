"""The file changes on disk, or turns out to be cut off, while it is open: nothing false is said, and it can be read
again."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sftui.recipe import changed
from sftui.trainers import preset
from sftui.workspace import SearchQuery
from sftui.workspace import events as ev
from sftui.workspace import requests as rq


def proven_row(event: ev.RowReady) -> bool:
    return event.inspection.tokens is not None and not event.inspection.provisional


def lines(words: list[str]) -> str:
    rows = [{"messages": [{"role": "user", "content": "Q?"}, {"role": "assistant", "content": word}]} for word in words]
    return "".join(json.dumps(row) + "\n" for row in rows)


def replace_with(data: Path, text: str) -> None:
    new = data.with_name("new")
    new.write_text(text)
    os.replace(new, data)


def found(workspace: Any, heard: Any, text: str) -> ev.SearchFound:
    ticket = workspace.ask(rq.SearchRequest, SearchQuery("text", text), 0)
    found: ev.SearchFound = heard.wait(
        ev.SearchFound, lambda e: e.ticket == ticket and (e.finished or e.problem is not None)
    )
    return found


def test_a_replaced_file_stays_what_was_opened(open_workspace: Callable[..., Any], data: Path) -> None:
    workspace, heard = open_workspace()
    heard.wait(ev.RowReady, proven_row)
    replace_with(data, lines(["anew"] * 3))
    told = heard.wait(ev.SourceChanged)
    assert (
        not told.lost
        and told.problem.sentence()
        == "chat.jsonl changed on disk: D reloads it; another file has replaced it, and the rows are shown as they were"
    )
    assert found(workspace, heard, "Answer 7").row == 7
    workspace.ask(rq.AuditRequest)
    audit = heard.wait(ev.AuditReady, lambda e: e.done)
    assert audit.rows == 40 and not [one for one in audit.codes if one.code == "ROW001"]


def test_nothing_is_found_in_rows_that_cannot_be_read(open_workspace: Callable[..., Any], data: Path) -> None:
    workspace, heard = open_workspace()
    heard.wait(ev.RowReady, proven_row)
    text = data.read_text()
    data.write_text(text.replace("Answer", "Reply!"))
    os.utime(data, ns=(5, 5))
    search = found(workspace, heard, "Answer 7")
    assert search.row is None and search.problem is not None
    assert (
        search.problem.sentence()
        == "chat.jsonl changed on disk: D reloads it; it was rewritten, and its rows can no longer"
        " be read"
    )
    workspace.ask(rq.AuditRequest)
    audit = heard.wait(ev.AuditReady, lambda e: e.problem is not None)
    assert "changed on disk" in audit.problem.what and audit.codes == ()
    while not any(isinstance(event, ev.SourceChanged) and event.lost for event in heard.seen):
        heard.wait(ev.SourceChanged)
    row = heard.seen[-1] if isinstance(heard.seen[-1], ev.RowReady) else heard.wait(ev.RowReady)
    assert "changed while sftui read it" in (row.inspection.row.problem or "")
    assert workspace.cached(0) is None or workspace.cached(0).problem is not None


def test_reopening_keeps_recipe_repairs_and_place(open_workspace: Callable[..., Any], data: Path) -> None:
    workspace, heard = open_workspace(row=2)
    heard.wait(ev.RowReady, proven_row)
    workspace.change("length.max", 64)
    workspace.set_repairs(("trim",))
    replace_with(data, lines(["  one", "  two", "  three", "  four"]))
    version = workspace.version
    workspace.reopen()
    assert workspace.version == version + 1
    row = heard.wait(ev.RowReady, lambda e: e.version == workspace.version and proven_row(e)).inspection.row
    assert row.index == 2 and row.data["messages"][1]["content"] == "three" and row.repairs
    assert workspace.count is not None and (workspace.count.rows, workspace.count.exact) == (4, True)
    assert workspace.recipe.length.max == 64 and workspace.repairs == ("trim",) and workspace.undo()
    assert found(workspace, heard, "three").row == 2
    assert found(workspace, heard, "Answer 7").row is None
    with data.open("a") as file:  # the new file is watched, too
        file.write(lines(["five"]))
    assert heard.wait(ev.CountChanged, lambda e: e.rows == 5).exact


@pytest.mark.long
def test_a_search_under_way_goes_on_in_the_data_as_it_is_read_again(
    open_workspace: Callable[..., Any], data: Path
) -> None:
    data.write_text(lines([f"answer {i}" for i in range(20_000)]))
    workspace, heard = open_workspace()
    heard.wait(ev.RowReady, proven_row)
    ticket = workspace.ask(rq.SearchRequest, SearchQuery("text", "nowhere to be found"), 0)
    heard.wait(ev.SearchFound, lambda e: not e.finished)
    workspace.reopen()
    end = heard.wait(ev.SearchFound, lambda e: e.finished, 60)
    assert (end.ticket, end.row, end.problem, end.searched) == (ticket, None, None, 20_000)


def test_what_cannot_be_opened_again_stays_open(open_workspace: Callable[..., Any], data: Path) -> None:
    workspace, heard = open_workspace()
    heard.wait(ev.RowReady, proven_row)
    data.unlink()
    workspace.reopen()
    told = heard.wait(ev.SourceChanged, lambda e: "reopened" in e.problem.what)
    assert "does not exist" in told.problem.what and told.problem.fix == "the data opened before stays open"
    assert heard.wait(ev.RowReady, lambda e: e.version == workspace.version).inspection.row.data is not None


def test_nothing_is_written_of_a_file_that_changed(
    open_workspace: Callable[..., Any], data: Path, tmp_path: Path
) -> None:
    workspace, heard = open_workspace()
    heard.wait(ev.RowReady, proven_row)
    workspace.set_repairs(("trim",))
    replace_with(data, lines(["anew"] * 40))
    workspace.request_write(str(tmp_path / "out.jsonl"), str(tmp_path / "out.log"))
    written = heard.wait(ev.RepairsWritten)
    assert written.problem is not None and "nothing was written: chat.jsonl changed on disk" in written.problem.what
    assert not (tmp_path / "out.jsonl").exists()


def test_a_cut_file_says_so_and_has_a_count(open_workspace: Callable[..., Any], data: Path, tmp_path: Path) -> None:
    whole = "".join(lines([os.urandom(200).hex()]) for _ in range(40)).encode()
    data.write_bytes(gzip.compress(whole)[:-4000])
    workspace, heard = open_workspace()
    count = heard.wait(ev.CountChanged, lambda e: e.exact)
    assert 10 < count.rows < 40 and count.damage.startswith(
        "chat.jsonl cannot be read completely, because its compressed data is damaged"
    )
    heard.wait(ev.RowReady, proven_row)
    assert found(workspace, heard, "nowhere").finished
    workspace.ask(rq.AuditRequest)
    codes = heard.wait(ev.AuditReady, lambda e: e.done).codes
    assert [one.code for one in codes if one.severity == "error"] == ["ROW006"]
    workspace.set_repairs(("trim",))
    workspace.request_write(str(tmp_path / "out.jsonl"), str(tmp_path / "out.log"))
    written = heard.wait(ev.RepairsWritten)
    assert (
        "nothing was written: the data cannot be read to the end, chat.jsonl" in written.problem.what
        and not (tmp_path / "out.jsonl").exists()
    )


def test_a_late_column_is_said_and_rows_are_drawn_anew(
    tmp_path: Path, data: Path, open_workspace: Callable[..., Any]
) -> None:
    """Rows are shown before all are known: what a late one says of how they are read corrects them, out loud."""
    tool = {"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {}}}}
    first = data.read_text().splitlines(keepends=True)
    late = json.loads(first[0]) | {"tools": [tool]}
    data.write_text("".join(first) * 400 + json.dumps(late) + "\n")
    recipe = changed(preset("ms-swift"), "render.template", "ms-swift/qwen2_5")
    workspace, heard = open_workspace(recipe=recipe, row=0)
    before = heard.wait(ev.SourceOpened)
    assert any("provisional" in note for note in before.notes) and not before.anew
    anew = heard.wait(ev.SourceOpened, lambda event: bool(event.anew))
    assert "line 16001 has `tools`" in anew.anew and not any("provisional" in note for note in anew.notes)
    heard.wait(ev.RowReady, lambda event: event.inspection.row.index == 0)
    workspace.request_row(len(first) * 400)
    shown = heard.wait(ev.RowReady, lambda event: event.inspection.row.index == 16000).inspection
    assert shown.conversation is not None and shown.conversation.tools
