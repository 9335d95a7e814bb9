"""The user's own command, run with the recorder in each of its Pythons, and ended when there are enough batches."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sftui.errors import SftuiError

RECORDER = Path(__file__).parent / "recorder"
"""The folder that is put on PYTHONPATH."""
VARIABLE = "SFTUI_CAPTURE"
STDERR = 2
POLL = 0.05
GRACE = 3.0
"""Seconds for which what is no Python is let end after it was asked to."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended. `code` is the command's own, None where the recorder ended it; `why` what the recorder says:
    `enough`, `step`, `loader`, `updated`, `failed`, or empty where it never came so far. `error` is what the recorder
    failed at. `marks` is how far each Python came."""

    code: int | None
    why: str
    error: str
    marks: tuple[tuple[str, ...], ...]

    def nothing(self) -> str:
        """Why no batch was captured, in a clause."""
        ended = f"the command ended with code {self.code}"
        seen = {mark.partition(" ")[0] for marks in self.marks for mark in marks}
        if self.why == "failed":
            return f"the recorder failed ({self.error}), which is a bug of sftui; the run was ended there"
        if self.why == "step":
            return "the first optimizer step was reached, and no module had been called in train mode on integer ids"
        if not self.marks:
            return f"no Python with the recorder was started (python -I, -E or -S leave it out), and {ended}"
        if "torch" not in seen:
            return f"torch was not imported, and {ended}"
        return f"no training step was reached, and {ended}"


def run(
    command: Sequence[str],
    folder: Path,
    *,
    batches: int,
    no_model: bool,
    clip: int | None,
    packages: Sequence[str] = (),
) -> Outcome:
    """Run a command until its recorder is done or it ends; SftuiError where it cannot be started.

    `folder` is private and empty, and receives what the recorder writes; what the command prints goes to stderr. Each
    process of the run is ended as soon as the recorder is done, and in any case before this returns: those of Python
    at once, so that no handler of theirs goes on.
    """
    (folder / "pids").mkdir(mode=0o700)
    wanted = {"batches": batches, "no_model": no_model, "clip": clip, "packages": [*packages]}
    (folder / "wanted.json").write_text(json.dumps(wanted), encoding="utf-8")
    path = os.pathsep.join(filter(None, (str(RECORDER), os.environ.get("PYTHONPATH"))))
    # Its folders stay as they are: Python would write what it compiles next to the files of the environment.
    environment = {**os.environ, "PYTHONPATH": path, VARIABLE: str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        process = subprocess.Popen(command, env=environment, stdout=STDERR, start_new_session=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise SftuiError(f"{command[0]} could not be started", why=reason, fix="name a command after --") from error
    try:
        while process.poll() is None and not (folder / "done").exists():
            time.sleep(POLL)
    finally:
        with _uninterrupted():
            _end(process, folder)
    done = folder / "done"
    said = json.loads(done.read_text(encoding="utf-8")) if done.exists() else {"why": "", "error": ""}
    code = None if said["why"] else process.returncode
    return Outcome(code, said["why"], said["error"], tuple(_marks(folder)))


def _marks(folder: Path) -> Iterator[tuple[str, ...]]:
    for file in sorted((folder / "pids").iterdir()):
        yield tuple(file.read_text(encoding="utf-8", errors="replace").split("\n")[:-1])


def _end(process: subprocess.Popen[bytes], folder: Path) -> None:
    """End whatever is left of the run: its Pythons by kill, so that none of them saves, goes on or starts others; then
    what else is in its group."""
    for _ in range(2):  # what was started while the first were ended
        for pid in _alive(folder):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        _signal_group(process, signal.SIGTERM)
    until = time.monotonic() + GRACE
    while (process.poll() is None or [*_alive(folder)]) and time.monotonic() < until:
        time.sleep(POLL)
    for pid in _alive(folder):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    _signal_group(process, signal.SIGKILL)
    process.wait()


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(OSError):
        os.killpg(process.pid, number)  # it leads its group, whose number stands as long as one of it is there


def _alive(folder: Path) -> Iterator[int]:
    """The Pythons of the run that still are those that began, launchers before what they launched."""
    from sftui.capture.recorder.sftui_recorder import started

    found = []
    for file in (folder / "pids").iterdir():
        began = file.read_text(encoding="utf-8", errors="replace").partition("\n")[0].removeprefix("python ")
        if began.isdigit() and began == started(int(file.name)):
            found.append((int(began), int(file.name)))
    return (pid for _, pid in sorted(found))


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let no second Ctrl-C keep processes from being ended."""
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
