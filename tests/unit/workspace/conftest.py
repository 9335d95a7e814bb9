"""A workspace over a real or a misbehaving worker, and a way to wait for its events."""

from __future__ import annotations

import json
import queue
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sftui.starting import COMMAND
from sftui.workspace import OpenOptions, Workspace

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
def open_workspace(data: Path) -> Iterator[Callable[..., Opened]]:
    """Start a workspace: `open_workspace()` over the real worker, `open_workspace("late")` over a fake one."""
    opened: list[Workspace] = []

    def start(behaviour: str | None = None, **options: Any) -> Opened:
        patience = options.pop("patience", 120.0)
        given = OpenOptions((str(data),), **{"tokenizer": "builtin:chatml", **options})
        command = COMMAND if behaviour is None else (sys.executable, str(FAKE), behaviour)
        workspace = Workspace(given, command, patience)
        heard = Heard()
        workspace.listen(heard)
        workspace.start()
        opened.append(workspace)
        return workspace, heard

    yield start
    for workspace in opened:
        workspace.close()
