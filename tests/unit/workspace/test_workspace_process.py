"""The worker as a process: it dies with us, we do not die with it, and nothing is waited for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from sftui.workspace import events as ev
from sftui.workspace.link import COMMAND


def test_t4_close_does_not_wait_for_a_busy_worker(open_workspace: Callable[..., Any]) -> None:
    """Trap T4: quitting waits for threads; here the worker hangs in a request."""
    workspace, heard = open_workspace("busy")
    heard.wait(ev.RowReady)
    pid = workspace.worker_pid()
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
    pid = workspace.worker_pid()
    workspace.request_row(13)
    failed = heard.wait(ev.WorkerFailed)
    assert "row 13" in failed.problem.what and "segmentation fault" in failed.problem.why
    assert "a library wrote this" in failed.trace
    workspace.request_row(14)
    assert heard.wait(ev.RowReady).inspection.row.index == 14
    assert workspace.worker_pid() not in (None, pid)


def test_a_worker_that_only_crashes_is_not_started_for_ever(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace("crash")
    heard.wait(ev.RowReady)
    for _ in range(2):
        workspace.request_row(13)
        failed = heard.wait(ev.WorkerFailed)
    assert "restart sftui" in failed.problem.fix
    assert workspace.worker_pid() is None
    workspace.request_row(1)  # is no error either


def test_no_answer_for_too_long_ends_the_worker(open_workspace: Callable[..., Any]) -> None:
    workspace, heard = open_workspace("busy", patience=0.3)
    heard.wait(ev.RowReady)
    workspace.request_row(1)
    assert "no answer for too long" in heard.wait(ev.WorkerFailed).problem.why


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
