"""A workspace over a real or a misbehaving worker, and a way to wait for its events."""

from __future__ import annotations

import contextlib
import json
import pickle
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sftui.bound import Overrun
from sftui.recipe import changed
from sftui.starting import COMMAND, IdleWorker
from sftui.trainers import preset
from sftui.workspace import OpenOptions, Workspace
from sftui.workspace.inbox import Inbox
from sftui.workspace.link import Connect, Link
from sftui.workspace.requests import Request
from sftui.workspace.worker import Worker

FAKE = Path(__file__).with_name("fake_worker.py")


class Heard:
    """Every event a workspace delivered, in order, and waiting for one."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self._queue: queue.Queue[Any] = queue.Queue()

    def __call__(self, event: Any) -> None:
        self._queue.put(event)

    def wait(self, kind: type, check: Callable[[Any], bool] = lambda event: True, seconds: float = 30.0) -> Any:
        """The next event of a kind that passes `check`; fails the test after `seconds`."""
        end = time.monotonic() + seconds
        while True:
            try:
                event = self._queue.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                pytest.fail(f"no {kind.__name__} came; there were {[type(e).__name__ for e in self.seen]}")
            self.seen.append(event)
            if isinstance(event, kind) and check(event):
                return event

    def rest(self, seconds: float = 0.3) -> list[Any]:
        """Whatever else comes within `seconds`."""
        found = []
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                found.append(self._queue.get(timeout=left))
            except queue.Empty:
                break
        self.seen += found
        return found


class UntilKilled(Inbox):
    """What ends the worker that asks it, once it is `killed`."""

    killed = False

    def take(self, block: bool = True, timeout: float | None = None) -> Any | None:
        if self.killed:
            raise SystemExit
        return super().take(block, timeout)

    def kill(self) -> None:
        with self._condition:
            self.killed = True
            self._condition.notify_all()


class InThread(Link):
    """The real worker in a thread of this process: a second spares the start of a Python. As `Link` has it otherwise,
    requests and events pickled."""

    pid = 0

    def __init__(
        self,
        on_event: Callable[[Any], None],
        on_end: Callable[[Link], None],
        command: tuple[str, ...],
        started: IdleWorker | None,
    ) -> None:
        self._on_event, self._inbox = on_event, UntilKilled()
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        out: Any = self
        with contextlib.suppress(SystemExit):
            Worker(self._inbox, out).run()

    def write(self, payload: bytes) -> None:
        if not self._inbox.killed:
            self._on_event(pickle.loads(payload))

    def flush(self) -> None:
        pass

    def send(self, request: Request) -> bool:
        self._inbox.post(pickle.loads(pickle.dumps(request)))
        return True

    def kill(self) -> None:
        self._inbox.kill()

    def exit_code(self) -> int | None:
        return None

    def overrun(self) -> Overrun | None:
        return None

    def log_tail(self) -> str:
        return ""


Opened = tuple[Workspace, Heard]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Forty small chat rows."""
    path = tmp_path / "chat.jsonl"
    rows = [
        {"messages": [{"role": "user", "content": f"Question {i}?"}, {"role": "assistant", "content": f"Answer {i}."}]}
        for i in range(40)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def open_workspace(data: Path, request: pytest.FixtureRequest) -> Iterator[Callable[..., Opened]]:
    """Start a workspace: `open_workspace()` over the real worker, which has a process where a test is marked
    `processes`; `open_workspace("late")` over a fake one."""
    opened: list[Workspace] = []
    apart = request.node.get_closest_marker("processes") is not None

    def start(behaviour: str | None = None, **options: Any) -> Opened:
        patience = options.pop("patience", 120.0)
        recipe = changed(options.pop("recipe", preset()), "tokenizer.name", options.pop("tokenizer", "builtin:chatml"))
        if "template" in options:
            recipe = changed(recipe, "render.template", options.pop("template"))
        given = OpenOptions((str(data),), recipe=recipe, **options)
        command = COMMAND if behaviour is None else (sys.executable, str(FAKE), behaviour)
        connect: Connect = Link if apart or behaviour is not None else InThread
        workspace = Workspace(given, command, patience, connect=connect)
        heard = Heard()
        workspace.listen(heard)
        workspace.start()
        opened.append(workspace)
        return workspace, heard

    yield start
    for workspace in opened:
        workspace.close()
