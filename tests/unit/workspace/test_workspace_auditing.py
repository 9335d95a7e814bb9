"""What an audit may cost the one who presses keys meanwhile, in counts and bytes, never in time."""

from __future__ import annotations

import itertools
import json
import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from sftui import trainers
from sftui.audit.figures import Figures, GroupFigure, SourceFigure
from sftui.recipe import changed
from sftui.session.options import OpenOptions
from sftui.session.ready import Ready, open_data, tokenized
from sftui.workspace import auditing
from sftui.workspace.auditing import FIRST_ROWS, MOST_SENT, OTHERS, AuditRun, brief
from sftui.workspace.events import AuditReady
from sftui.workspace.requests import AuditRequest, OrderRequest, answering

ROLES = ("system", "user", "assistant", "tool")
ROWS = 400
MOST_BYTES = 64 * 1024


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Ready:
    """As many signatures as rows."""
    path = tmp_path_factory.mktemp("audit") / "rows.jsonl"
    turns = itertools.islice(itertools.product(ROLES, repeat=5), ROWS)
    path.write_text(
        "".join(
            json.dumps({"messages": [{"role": role, "content": f"Word {i}."} for role in roles]}) + "\n"
            for i, roles in enumerate(turns)
        )
    )
    recipe = changed(trainers.preset("hf-trainer"), "tokenizer.name", "builtin:chatml")
    return tokenized(open_data(OpenOptions((str(path),), recipe=recipe)), "provisional").ready()


def test_one_row_at_most_between_two_looks_at_the_keys(session: Ready) -> None:
    """The worker asks after each step whether something more urgent waits."""
    job, before = AuditRun(), 0
    for _ in job.run(session, answering(AuditRequest(1), 1)):
        rows = job._gathered.rows if job._gathered is not None else 0
        assert rows - before <= 1
        before = rows
    assert before == ROWS


def test_events_come_by_the_clock_not_by_the_row(session: Ready, monkeypatch: pytest.MonkeyPatch) -> None:
    told = [event for event in AuditRun().run(session, answering(AuditRequest(1), 1)) if event is not None]
    seconds = told[-2].rows / told[-2].rate if len(told) > 1 else 0.0
    assert told[-1].done and len(told) <= 2 + seconds / auditing.REPORT_EVERY
    monkeypatch.setattr(auditing, "REPORT_EVERY", 1e9)
    assert len([event for event in AuditRun().run(session, answering(AuditRequest(1), 1)) if event is not None]) == 1


def test_an_event_stays_small_however_many_groups_there_are(session: Ready, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "REPORT_EVERY", 0.0)
    told = [event for event in AuditRun().run(session, answering(AuditRequest(1), 1)) if event is not None]
    assert len(told) == ROWS + 1 and all(len(pickle.dumps(event)) <= MOST_BYTES for event in told[:-1])
    last, done = told[-2].figures, told[-1].figures
    assert last is not None and done is not None
    assert len(last.signatures) == MOST_SENT + 1 and len(done.signatures) == ROWS
    assert sum(one.count for one in last.signatures) == sum(one.count for one in done.signatures) == ROWS


def test_what_is_left_out_is_counted(session: Ready) -> None:
    *_, done = AuditRun().run(session, answering(AuditRequest(1), 1))
    assert isinstance(done, AuditReady) and done.figures is not None
    many = tuple(GroupFigure(f"g{i}", 1000 - i, tuple(range(50))) for i in range(1000))
    figures: Figures = replace(
        done.figures,
        signatures=many,
        by_role={f"r{i}": 1 for i in range(5000)},
        sources=tuple(SourceFigure(f"s{i}", 1, 2, 3, 4) for i in range(5000)),
    )
    small = brief(figures)
    assert small.signatures[:MOST_SENT] == tuple(replace(one, rows=one.rows[:FIRST_ROWS]) for one in many[:MOST_SENT])
    assert small.signatures[-1].name == OTHERS and sum(one.count for one in small.signatures) == sum(
        one.count for one in many
    )
    assert len(small.by_role) == MOST_SENT + 1 and sum(small.by_role.values()) == 5000
    assert len(small.sources) == MOST_SENT + 1 and small.sources[-1] == SourceFigure(
        "4,800 more", 4800, 9600, 14400, 19200
    )
    assert len(pickle.dumps(small)) <= MOST_BYTES


@pytest.mark.one_of(2)
@pytest.mark.parametrize("stops", [(0,), (3,), (1, 200), (399,)])
def test_a_stopped_audit_goes_on_where_it_stopped(session: Ready, stops: tuple[int, ...]) -> None:
    """Stopped after so many rows, in the midst of the set-up too (0), it ends with what one that was not stopped
    finds."""
    plain, job = AuditRun(), AuditRun()
    *_, whole = plain.run(session, answering(AuditRequest(1), 1))
    for ticket, rows in enumerate(stops, 1):
        going = job.run(session, answering(AuditRequest(ticket), 1))
        for _ in going:
            if job._gathered is not None and job._gathered.rows >= rows:
                break
        going.close()  # type: ignore[attr-defined]
        assert job._gathered is not None and job._gathered.rows == rows
    *_, last = job.run(session, answering(AuditRequest(9), 1))
    assert last is not None and whole is not None
    assert (last.rows, last.figures, last.codes) == (ROWS, whole.figures, whole.codes)
    for by in ("longest", "most trained", "dropped", "error"):
        asked = OrderRequest(10, by)
        ordered = [list(audit.order(session, asked, answering(asked, 1))) for audit in (job, plain)]
        assert ordered[0] == ordered[1]


def test_a_finished_or_forgotten_audit_begins_anew(session: Ready) -> None:
    job = AuditRun()
    list(job.run(session, answering(AuditRequest(1), 1)))
    first = job._gathered
    next(iter(job.run(session, answering(AuditRequest(2), 1))))
    assert job._gathered is not first
    job.forget()
    *_, last = job.run(session, answering(AuditRequest(3), 2))
    assert last is not None and last.rows == ROWS


def test_rows_that_come_later_are_counted_as_if_they_had_been_there(tmp_path: Path) -> None:
    """Also what only the whole dataset tells, which is told once."""
    recipe = changed(trainers.preset("trl"), "tokenizer.name", "builtin:chatml")
    path = tmp_path / "rows.jsonl"
    texts = ["Yes.", "", "No.", "Perhaps it is so."]
    lines = [
        json.dumps({"messages": [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": text}]}) + "\n"
        for text in itertools.islice(itertools.cycle(texts), 100)
    ]

    def last(job: AuditRun, session: Ready) -> AuditReady:
        *_, done = filter(None, job.run(session, answering(AuditRequest(1), 1)))
        return replace(done, rate=0.0, left=0.0)

    path.write_text("".join(lines[:20]))
    gathered: list[object] = []
    session, job = tokenized(open_data(OpenOptions((str(path),), recipe=recipe)), "provisional").ready(), AuditRun()
    for begin, end in itertools.pairwise((20, 40, 41, 70, 100)):
        with path.open("a") as file:
            file.writelines(lines[begin:end])
        session.source.refresh()
        session.source.index_more(60)
        now = last(job, session)
        fresh = tokenized(open_data(OpenOptions((str(path),), recipe=recipe)), "provisional").ready()
        assert now == last(AuditRun(), fresh) and (now.rows, now.known) == (end, end)
        fresh.close()
        gathered.append(job._gathered)
    assert gathered[1] is gathered[2] is gathered[3], "no row is taken twice"
    assert {"DUP001", "CON003"} <= {code.code for code in now.codes}
    session.close()
