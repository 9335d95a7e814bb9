"""Repairs over the rows of a session: what everybody sees, what is counted, and what is written."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sftui.recipe import changed
from sftui.repairs.run import Overlay
from sftui.session.opened import OpenData
from sftui.session.ready import Ready, open_data, tokenized, under
from sftui.trainers import preset
from sftui.views.words import why_stopped
from sftui.workspace import OpenOptions
from sftui.workspace import events as ev
from sftui.workspace import requests as rq
from sftui.workspace.requests import AuditRequest, answering
from sftui.workspace.workspace import RecipeChoice


def chat(*messages: tuple[str, str]) -> str:
    return json.dumps({"messages": [{"role": role, "content": content} for role, content in messages]})


ROWS = [
    chat(("user", "Hello?"), ("assistant", "Hi.")),
    chat(("user", "Hello?"), ("Assistant", " Hi there. ")),
    chat(("user", "Hello?"), ("assistant", "Hi.")),
    '{"messages": [',
    chat(("user", "One"), ("user", "Two"), ("assistant", "Three")),
    chat(("user", "Nobody?")),
]


@pytest.fixture
def dirty(tmp_path: Path) -> Path:
    path = tmp_path / "dirty.jsonl"
    path.write_text("".join(line + "\n" for line in ROWS))
    return path


@pytest.fixture
def session(dirty: Path) -> Ready:
    options = OpenOptions((str(dirty),), recipe=changed(preset(), "tokenizer.name", "builtin:chatml"))
    return tokenized(open_data(options), "provisional").ready()


def mended(session: OpenData, *repairs: str) -> Ready:
    return under(session, session.recipe, repairs).ready()


def kept(session: OpenData) -> Overlay:
    """The rows as the repairs leave them."""
    assert session.overlay is not None
    return session.overlay


def roles(session: OpenData, row: int) -> list[str]:
    data = session.row(row).data
    assert data is not None
    return [message["role"] for message in data["messages"]]


def test_every_reader_gets_the_repaired_rows_and_the_file_stays(session: Ready, dirty: Path) -> None:
    before = dirty.read_bytes()
    plain = session.inspect(0)
    session = mended(session, "merge-neighbours", "map-roles", "trim")
    assert roles(session, 1) == ["user", "assistant"] and roles(session, 4) == ["user", "assistant"]
    row = session.row(1)
    assert row.repairs == (
        "messages[1].role: 'Assistant' → 'assistant'",
        "messages[1].content: cut ' ' at the start and ' ' at the end",
    )
    assert (
        json.loads(row.raw) == row.data and row.size == len(row.raw) and row.where == session.stored.source.row(1).where
    )
    assert session.inspect(0) == plain and session.inspect(0).row is not None and not session.row(0).repairs
    assert session.inspect(1).trained > 0
    assert dirty.read_bytes() == before
    session = mended(session)
    assert roles(session, 1) == ["user", "Assistant"] and session.overlay is None


def test_rows_that_are_left_out_still_show_but_train_nothing_and_have_no_findings(session: Ready) -> None:
    session = mended(session, "drop no-answer", "drop unreadable")
    left = session.inspect(5)
    assert left.row.left_out and left.dropped and left.example is None and left.tokens is not None
    assert session.found(left) == ()
    assert [row.index for row in kept(session).rows()] == [0, 2, 4]
    assert kept(session).counts.dropped == 3 and list(kept(session).dropped) == [1, 3, 5]


def test_duplicates_are_known_once_the_rows_before_were_seen(session: Ready) -> None:
    session = mended(session, "deduplicate")
    assert session.row(2).left_out is None
    assert [row.index for row in kept(session).rows(2)] == [3, 4, 5]
    assert session.row(2).left_out == "the same conversation as row 0"
    assert [row.index for row in kept(session).rows()] == [0, 1, 3, 4, 5]
    assert kept(session).counts.rows == 6 and kept(session).counts.dropped == 1, (
        "counted once, however often they are read"
    )


def test_rows_with_a_finding_are_left_out_once_the_tokenizer_tells(dirty: Path) -> None:
    options = OpenOptions((str(dirty),), recipe=changed(preset(), "tokenizer.name", "builtin:chatml"))
    opened = open_data(options, repairs=("drop LAB001", "drop ROL002"))
    assert opened.row(1).left_out is None
    session = tokenized(opened, "provisional").ready()
    assert session.row(1).left_out == "it has the finding ROL002"
    session = mended(session, "drop ROL002", "map-roles")
    assert session.row(1).left_out is None, "the findings are those of the row as it will be written"


def test_the_audit_counts_what_is_left(session: Ready) -> None:
    from sftui.workspace.auditing import AuditRun

    session = mended(session, "merge-neighbours", "map-roles", "drop no-answer", "drop unreadable", "deduplicate")
    auditing = AuditRun()
    *_, last = (event for event in auditing.run(session, answering(AuditRequest(1), 1)) if event is not None)
    assert last.rows == 3 and not any(one.code in ("ROL002", "ROW001", "DUP001") for one in last.codes)


def test_a_batch_is_made_of_the_rows_that_stay(session: Ready) -> None:
    session = mended(session, "drop no-answer", "drop unreadable")
    assert session.batch(0, 6).rows == (0, 2, 4)
    session = mended(session, "drop ROW", "drop LAB", "drop EOS", "drop CON", "drop TPL", "drop ROL", "drop no-answer")
    assert session.refused is None and session.detected.format == "messages", "rows are read as before where none stays"


def test_another_recipe_is_compared_over_the_same_repairs(session: Ready) -> None:
    session = mended(session, "map-roles")
    other = under(session, changed(session.recipe, "mask.rule", "all"))
    assert (
        other.repairs == ("map-roles",)
        and other.row(1).repairs
        and not under(session, session.recipe, ()).row(1).repairs
    )


def test_a_row_left_out_counts_as_such_and_no_longer_as_one_that_cannot_be_prepared(session: Ready) -> None:
    from sftui.comparison import compare_row

    before = session.inspect(3)
    session = mended(session, "drop unreadable")
    compared = compare_row([before, session.inspect(3)])
    assert (
        [side.stopped for side in compared.sides] == [True, False]
        and "left out" in (compared.sides[1].gone or "")
        and not compared.differs
    )
    assert (why_stopped(session.inspect(3)) or "").startswith("left out of the repaired data")


def test_a_row_that_cannot_be_repaired_stays_and_the_others_are_repaired(tmp_path: Path) -> None:
    path = tmp_path / "half.jsonl"
    half = r'{"messages":[{"role":"user","content":"\ud83d"},{"role":"assistant","content":" x<|im_end|>"}]}'
    typed = chat(("user", "Hi"), ("assistant", "Now<|im_end|>"))
    path.write_text("".join(line + "\n" for line in (half, typed, half, typed)))
    options = OpenOptions((str(path),), recipe=changed(preset(), "tokenizer.name", "builtin:chatml"))
    session = mended(tokenized(open_data(options), "provisional"), "trim", "strip-tokens")
    assert session.overlay is not None
    kept = session.row(0)
    assert "U+D83D" in (kept.skipped or "") and not kept.repairs and kept.raw == half
    assert session.row(1).repairs and session.row(1).skipped is None
    assert [row.index for row in session.rows()] == [0, 1, 2, 3]
    counts = session.overlay.counts
    assert (counts.rows, counts.changed, counts.skipped) == (4, 2, 2) and counts.by_repair == {"strip-tokens": 2}
    assert [named[0] for named in counts.named] == [0, 2] and "line 1" in counts.named[0][1]


def proven(heard: Any) -> None:
    heard.wait(ev.TokenizerChanged, lambda event: event.state in ("proven", "provisional"))


@pytest.fixture
def data(dirty: Path) -> Path:
    return dirty


def test_repairs_are_previewed_put_in_force_and_taken_back(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace(row=1)
    proven(heard)
    workspace.ask(rq.CompareRequest, 1, workspace.recipe, ("map-roles",))
    event = heard.wait(ev.ComparisonReady)
    assert event.repairs == ("map-roles",) and '+   "role": "assistant",' in event.diff and event.other.row.repairs
    workspace.ask(rq.CountRequest, workspace.recipe, ("map-roles",))
    count = heard.wait(ev.CountReady, lambda event: event.done)
    assert count.repaired == ev.RepairCount(6, 1, 0, (("map-roles", 1),)) and count.count.rows == 6
    assert workspace.set_repairs(("map-roles",)) and not workspace.set_repairs(("map-roles",))
    workspace.ask(rq.RepairsRequest)
    assert heard.wait(ev.RowReady, lambda event: event.version == workspace.version).inspection.row.repairs
    assert heard.wait(ev.RepairsCounted, lambda event: event.done).counted.changed == 1
    assert workspace.undo() and workspace.repairs == ()
    assert not heard.wait(ev.RowReady, lambda event: event.version == workspace.version).inspection.row.repairs
    assert heard.wait(ev.RepairsCounted, lambda event: event.done).counted == ev.RepairCount(), "the count follows"
    assert workspace.redo() and workspace.repairs == ("map-roles",)
    assert workspace.choose(RecipeChoice(workspace.recipe, ()))


def test_a_duplicate_on_screen_is_told_when_it_is_known(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace(row=2)
    proven(heard)
    workspace.set_repairs(("deduplicate",))
    workspace.ask(rq.RepairsRequest)
    assert heard.wait(ev.RepairsCounted, lambda event: event.done).doubles
    event = heard.wait(ev.RowReady, lambda event: event.inspection.row.left_out is not None)
    assert event.inspection.row.index == 2
    workspace.ask(rq.OrderRequest, "left out")
    assert list(heard.wait(ev.OrderReady).rows) == [2]


def test_the_repaired_data_and_its_log_are_written_beside(
    open_workspace: Callable[..., Any], dirty: Path, tmp_path: Path
) -> None:
    workspace, heard = open_workspace()
    proven(heard)
    before, out, log = dirty.read_bytes(), tmp_path / "new.jsonl", tmp_path / "new.log.jsonl"
    workspace.set_repairs(("map-roles", "drop unreadable"))
    workspace.request_write(str(out), str(log), (5,))
    event = heard.wait(ev.RepairsWritten)
    assert event.done and event.counted.changed == 1 and event.counted.dropped == 2 and event.lost == 0
    assert out.read_text().splitlines()[0] == ROWS[0] and len(out.read_text().splitlines()) == 4
    told = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(one["row"], one["dropped"]) for one in told] == [(1, None), (3, "unreadable"), (5, "marked")]
    assert dirty.read_bytes() == before
    assert workspace.written == (workspace.repairs, event)
    plan = workspace.plan_export("trl", str(tmp_path / "x"))
    assert str(out) in plan.files[0].content and not any("in no file" in note for note in plan.notes)
    workspace.set_repairs(("map-roles",))
    assert any("not saved yet" in note for note in workspace.plan_export("recipe", str(tmp_path / "x")).notes)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("dirty.jsonl", "is the data itself"),
        ("out.csv", "does not name a format"),
        ("absent/out.jsonl", "could not be written"),
    ],
)
def test_what_cannot_be_written_is_told(
    open_workspace: Callable[..., Any], dirty: Path, tmp_path: Path, name: str, told: str
) -> None:
    workspace, heard = open_workspace()
    proven(heard)
    before = dirty.read_bytes()
    workspace.set_repairs(("trim",))
    workspace.request_write(str(tmp_path / name), str(tmp_path / "log.jsonl"))
    event = heard.wait(ev.RepairsWritten)
    assert event.problem is not None and told in event.problem.sentence() and dirty.read_bytes() == before
    assert workspace.written is None and not list(tmp_path.glob(".*.part"))


@pytest.mark.processes
def test_a_write_that_is_stopped_leaves_nothing(
    open_workspace: Callable[..., Any], dirty: Path, tmp_path: Path
) -> None:
    dirty.write_text("".join(ROWS[1] + "\n" for _ in range(60_000)))
    workspace, heard = open_workspace()
    proven(heard)
    workspace.set_repairs(("trim",))
    ticket = workspace.request_write(str(tmp_path / "out.jsonl"), str(tmp_path / "log.jsonl"))
    heard.wait(ev.RepairsWritten)
    workspace.cancel(ticket)
    event = heard.wait(ev.RepairsWritten, lambda event: not event.target)
    assert not event.done and sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["dirty.jsonl"]
    workspace.request_write(str(tmp_path / "out.jsonl"), str(tmp_path / "log.jsonl"))
    heard.wait(ev.RepairsWritten)
    workspace.close()
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["dirty.jsonl"], (
        "quitting stops it too"
    )


@pytest.mark.processes
def test_repairs_are_still_in_force_after_the_worker_died(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace(row=1)
    proven(heard)
    workspace.set_repairs(("map-roles",))
    heard.wait(ev.RowReady, lambda event: event.version == workspace.version)
    os.kill(workspace._link.pid, signal.SIGKILL)
    heard.wait(ev.WorkerFailed)
    workspace.request_row(1)
    workspace.request_row(4)
    workspace.request_row(1)
    assert heard.wait(ev.RowReady, lambda event: event.inspection.row.index == 1).inspection.row.repairs


def test_an_answer_made_before_the_repairs_changed_never_arrives(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace(row=1)
    proven(heard)
    for names in (("map-roles",), (), ("trim",), ("map-roles", "trim"), ()):
        workspace.set_repairs(names)
        workspace.ask(rq.RepairsRequest)
    heard.wait(ev.RepairsCounted, lambda event: event.done and event.version == workspace.version)
    assert workspace.request_row(1)
    assert not heard.wait(ev.RowReady, lambda event: event.version == workspace.version).inspection.row.repairs
