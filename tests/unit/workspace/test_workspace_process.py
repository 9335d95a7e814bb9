"""The worker as a process: it dies with us, we do not die with it, and nothing is waited for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sftui import bound
from sftui.starting import COMMAND
from sftui.workspace import events as ev
from sftui.workspace import requests as rq
from sftui.workspace import workspace as workspace_of

pytestmark = pytest.mark.processes


def worker_pid(workspace: workspace_of.Workspace) -> int | None:
    return workspace._link.pid if workspace._link is not None else None


def test_t4_close_does_not_wait_for_a_busy_worker(open_workspace: Callable[..., Any]) -> None:
    """Trap T4: quitting waits for threads; here the worker hangs in a request."""
    workspace, heard = open_workspace("busy")
    heard.wait(ev.RowReady)
    pid = worker_pid(workspace)
    assert pid is not None
    workspace.request_row(1)
    started = time.monotonic()
    workspace.close()
    assert time.monotonic() - started < 0.3
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert heard.rest(0.2) == []


def test_a_crash_is_told_and_the_next_row_works(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace("crash")
    heard.wait(ev.RowReady)
    pid = worker_pid(workspace)
    workspace.request_row(13)
    failed = heard.wait(ev.WorkerFailed)
    assert "row 13" in failed.problem.what and "segmentation fault" in failed.problem.why
    workspace.request_row(14)
    assert heard.wait(ev.RowReady).inspection.row.index == 14
    assert worker_pid(workspace) not in (None, pid)


def test_after_a_crash_the_row_list_is_answered_again(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace("crash")
    heard.wait(ev.RowReady)
    workspace.ask(rq.SummariesRequest, 0, 20)
    heard.wait(ev.SummariesReady)
    workspace.request_row(13)
    heard.wait(ev.WorkerFailed)
    workspace.request_row(14)
    assert heard.wait(ev.RowReady).inspection.row.index == 14
    assert [row.index for row in heard.wait(ev.SummariesReady).rows] == [14]


def test_a_row_that_was_answered_is_asked_for_again_after_a_crash_elsewhere(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace("list-crash")
    assert heard.wait(ev.RowReady).inspection.row.index == 0
    workspace.request_row(7)
    assert heard.wait(ev.RowReady).inspection.row.index == 7
    workspace.ask(rq.SummariesRequest, 0, 20)
    assert "restarted" in heard.wait(ev.WorkerFailed).problem.fix
    assert heard.wait(ev.RowReady).inspection.row.index == 7
    # The list, asked for again behind the row, ends the worker again: it is not asked for a third time.
    assert "restarted" in heard.wait(ev.WorkerFailed).problem.fix
    assert heard.rest(1.0) == []
    workspace.request_row(8)
    assert heard.wait(ev.RowReady).inspection.row.index == 8


def test_a_worker_that_only_crashes_is_not_started_for_ever(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace("crash")
    heard.wait(ev.RowReady)
    for _ in range(2):
        workspace.request_row(13)
        failed = heard.wait(ev.WorkerFailed)
    assert "restart sftui" in failed.problem.fix
    assert worker_pid(workspace) is None
    workspace.request_row(1)  # is no error either


def test_no_answer_for_too_long_ends_the_worker(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace("busy", patience=0.3)
    heard.wait(ev.RowReady)
    workspace.request_row(1)
    assert "no answer for too long" in heard.wait(ev.WorkerFailed).problem.why


def test_a_worker_that_still_downloads_the_data_is_not_given_up(open_workspace: Callable[..., Any]) -> None:
    """Its patience begins anew with every sign that it is at it."""
    workspace, heard = open_workspace("download")
    heard.wait(ev.RowReady)
    with workspace._lock:
        workspace.request_row(1)
        begun = workspace._watch
    heard.wait(ev.DataLoading)
    assert begun is not None and begun.finished.is_set() and workspace._watch not in (None, begun)


def test_the_worker_has_its_own_session_and_ends_with_our_end_of_the_pipe() -> None:
    command = list(COMMAND)
    worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    assert worker.stdin is not None
    assert os.getsid(worker.pid) != os.getsid(0)
    worker.stdin.close()
    assert worker.wait(10) in (0, -signal.SIGKILL)


def test_nonsense_on_the_pipe_ends_the_worker() -> None:
    command = list(COMMAND)
    worker = subprocess.run(command, input=b"\x00nonsense", capture_output=True, timeout=30, start_new_session=True)
    assert worker.stdout == b""


def test_the_workspace_side_imports_nothing_heavy(open_workspace: Callable[..., Any]) -> None:
    script = (
        "import sys, sftui.workspace, sftui.settings, sftui.cli\nheavy = {'textual', 'rich', 'transformers',"
        " 'datasets', 'pyarrow', 'tokenizers', 'jinja2', 'numpy', 'ruamel', 'click'}\nprint(sorted(heavy &"
        " set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


PLAIN = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"


def test_a_row_that_costs_too_much_is_left_and_what_is_asked_goes_on(
    costly: None, open_workspace: Callable[..., Any], tmp_path: Path
) -> None:
    template = tmp_path / "t.jinja"
    template.write_text("{% if 'Question 3?' in messages[0].content %}{{ spin() }}{% endif %}" + PLAIN)
    workspace, heard = open_workspace(template=f"file:{template}")
    heard.wait(ev.RowReady, lambda event: event.inspection.tokens is not None)
    pid = worker_pid(workspace)
    workspace.ask(rq.SummariesRequest, 0, 10)
    ticket = workspace.request_row(3)
    left = heard.wait(ev.WorkLeft)
    assert "needs more than 0.4 seconds of CPU time" in left.problem.what
    answer = heard.wait(ev.RowReady, lambda event: event.ticket == ticket and event.inspection.problem is not None)
    assert answer.inspection.problem.what == left.problem.what and answer.inspection.problem.ours
    assert answer.inspection.conversation is not None
    workspace.request_row(4)
    heard.wait(ev.RowReady, lambda event: event.inspection.row.index == 4 and event.inspection.tokens is not None)
    told: dict[int, object] = {}
    for event in heard.seen:
        if isinstance(event, ev.SummariesReady):
            told.update((one.index, one) for one in event.rows)
    while len(told) < 10:
        told.update((one.index, one) for one in heard.wait(ev.SummariesReady).rows)
    assert worker_pid(workspace) not in (None, pid)


@pytest.mark.long
def test_a_template_that_overruns_on_every_row_is_given_up_after_a_few(
    costly: None, open_workspace: Callable[..., Any], tmp_path: Path
) -> None:
    template = tmp_path / "t.jinja"
    template.write_text("{{ spin() }}")
    workspace, heard = open_workspace(template=f"file:{template}")
    for row in range(bound.MOST):
        workspace.request_row(row)
        heard.wait(ev.WorkLeft)
    workspace.request_row(20)
    answer = heard.wait(ev.RowReady, lambda event: event.inspection.row.index == 20 and event.inspection.problem)
    assert "needs more than 0.4 seconds" in answer.inspection.problem.what
    assert not [event for event in heard.rest() if isinstance(event, ev.WorkLeft)]


def test_a_worker_that_rows_end_too_often_counts_as_one_that_crashes(
    costly: None, open_workspace: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace_of, "MOST_OVERRUN", workspace_of.MOST_OVERRUN // 40)
    template = tmp_path / "t.jinja"
    rows = "['Question 5?', 'Question 9?']"
    template.write_text("{% if messages[0].content in " + rows + " %}{{ spin() }}{% endif %}" + PLAIN)
    workspace, heard = open_workspace(template=f"file:{template}")
    heard.wait(ev.RowReady, lambda event: event.inspection.tokens is not None)
    workspace.request_row(5)
    heard.wait(ev.WorkLeft)
    heard.wait(ev.RowReady, lambda event: event.inspection.row.index == 5 and event.inspection.problem is not None)
    workspace.request_row(9)
    failed = heard.wait(ev.WorkerFailed)
    assert "the worker process ended while row 9 was open" in failed.problem.what
