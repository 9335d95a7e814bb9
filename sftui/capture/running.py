"""The user's own command, run with the recorder in each of its Pythons, and ended when there are enough batches."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sftui.errors import SftuiError
from sftui.signals import handled_by

if TYPE_CHECKING:
    from sftui.capture.recorder.sftui_recorder import CaptureOptions

RECORDER = Path(__file__).parent / "recorder"
"""The folder that is put on PYTHONPATH."""
VARIABLE = "SFTUI_CAPTURE"
STDERR = 2
POLL = 0.05
LOOK = 0.5
"""Seconds after which it is looked again for Pythons without the recorder."""
DONE = "done"
GRACE = 3.0
"""Seconds for which what is no Python is let end after it was asked to."""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How a run ended. `code` is the command's own, None where it was ended; `why` what the recorder says: `enough`,
    `step`, `loader`, `updated`, `failed`, or empty where it never came so far; `unwatched` where a Python without it
    has torch. `error` is what the recorder failed at. `marks` is how far each Python came, `left` how many of those
    with torch still ran when the command had ended."""

    code: int | None
    why: str
    error: str
    marks: tuple[tuple[str, ...], ...]
    left: int = 0

    def nothing(self, *, no_model: bool = False) -> str:
        """Why no batch was captured, in a clause."""
        ended = f"the command ended with code {self.code}"
        if self.left:
            ended += " while the run was still going in the background"
        seen = {mark.partition(" ")[0] for marks in self.marks for mark in marks}
        if self.why == "failed":
            return f"the recorder failed ({self.error}), which is a bug in sftui; the run was stopped there"
        if self.why == "unwatched":
            return "a Python without the recorder imported torch; sftui stopped the run there, before it could train"
        if self.why == "step":
            missed = (
                "no torch data loader had yet returned integer ids"
                if no_model
                else "no module had yet been called in train mode with integer ids"
            )
            return f"the first optimizer step was reached, and {missed}"
        if not self.marks:
            return f"no Python with the recorder was started (python -I, -E or -S disable it), and {ended}"
        if "torch" not in seen:
            return f"torch was not imported, and {ended}"
        if no_model:
            return f"no torch data loader returned integer ids, and {ended}"
        return f"no training step was reached, and {ended}"

    def remedy(self, *, no_model: bool = False) -> str:
        """What to do where nothing was captured; empty where that is not known."""
        if self.why == "unwatched" or (not self.marks and not self.why):
            return (
                "start Python without -I, -E and -S, prepend folders to $PYTHONPATH instead of overwriting it,"
                " and keep the environment variables"
            )
        if self.why == "step" and not no_model:
            return "use --no-model to take what the data loader returns"
        return "run it in the foreground" if self.left else ""

    def missing(self) -> str:
        """Why there were fewer batches than were asked for, in a clause."""
        for mark in (mark for marks in self.marks for mark in marks):
            if mark.startswith("loader "):
                return f"the data {mark}"
        return "no more were available"


def run(command: Sequence[str], folder: Path, options: CaptureOptions, unfinished: Sequence[str] = ()) -> RunOutcome:
    """Run a command until its recorder is done or it ends; SftuiError where it cannot be started.

    `folder` is private and empty, and receives what the recorder writes; what the command prints goes to stderr. Each
    process of the run is ended as soon as the recorder is done, and in any case before this returns: those of Python
    at once, so that no handler of theirs goes on. Where this process is killed, they are ended as well, and `folder`
    and the `unfinished` files removed.
    """
    (folder / "pids").mkdir(mode=0o700)
    (folder / "wanted.json").write_text(json.dumps(options._asdict()), encoding="utf-8")
    path = os.pathsep.join(filter(None, (str(RECORDER), os.environ.get("PYTHONPATH"))))
    # Its folders stay as they are: Python would write what it compiles next to the files of the environment.
    environment = {**os.environ, "PYTHONPATH": path, VARIABLE: str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    unwatched, left = False, 0
    with _ended_with_us(folder, unfinished) as note:
        try:
            process = subprocess.Popen(command, env=environment, stdout=STDERR, start_new_session=True)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise SftuiError(f"{command[0]} could not be started", why=reason, fix="give a command after --") from error
        try:
            note(process.pid)
            unwatched = _wait(process, folder)
            left = _left(folder) if process.poll() is not None else 0
        finally:
            # No second Ctrl-C, nor what else would end this process, keeps those of the run from being ended.
            with handled_by(signal.SIG_IGN, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                _end(process, folder)
    done = folder / "done"
    said = json.loads(done.read_text(encoding="utf-8")) if done.exists() else {"why": "", "error": ""}
    why = said["why"] or ("unwatched" if unwatched else "")
    return RunOutcome(None if why else process.returncode, why, said["error"], tuple(_marks(folder).values()), left)


@contextlib.contextmanager
def _ended_with_us(folder: Path, unfinished: Sequence[str]) -> Iterator[Callable[[object], None]]:
    """Have a process of its own end the run and remove what it left, should this one be killed; it is told the session
    of the command."""
    life, ours = os.pipe()
    keeper = os.fork()
    if not keeper:
        with contextlib.suppress(BaseException):
            os.close(ours)
            os.setsid()
            with contextlib.suppress(OSError):  # so that `killall sftui` does not end it, too
                Path("/proc/self/comm").write_text("sftui-keeper", encoding="ascii")
            with open(life, encoding="ascii") as told:
                said = told.read().split()
            if said[-1:] != [DONE]:
                if said:
                    _kill(int(said[0]), folder)
                shutil.rmtree(folder, ignore_errors=True)
                for name in unfinished:
                    with contextlib.suppress(OSError):
                        os.unlink(name)
        os._exit(0)
    os.close(life)

    def note(word: object) -> None:
        with contextlib.suppress(BrokenPipeError):  # who ends the keeper gives up what it keeps, not the run
            os.write(ours, f"{word} ".encode())

    try:
        yield note
    finally:
        note(DONE)
        os.close(ours)
        os.waitpid(keeper, 0)


def _wait(process: subprocess.Popen[bytes], folder: Path) -> bool:
    """Until the recorder is done or the command ends; whether a Python without the recorder has torch, of which nobody
    would hold back the first step. It must be seen twice: a copy of a process that is about to become another has what
    that had."""
    suspects: set[int] = set()
    look = time.monotonic() + LOOK
    while process.poll() is None and not (folder / "done").exists():
        time.sleep(POLL)
        if time.monotonic() >= look:
            found = {*_unwatched(process.pid, folder)}
            if found & suspects:
                return not (folder / "done").exists()
            suspects, look = found, time.monotonic() + LOOK
    return False


def _left(folder: Path) -> int:
    """How many Pythons of the run that have torch still run."""
    alive = [*_alive(folder)]
    marks = _marks(folder)  # read last, since Pythons may still start
    return sum("torch" in marks[pid] for pid in alive)


def _unwatched(session: int, folder: Path) -> Iterator[int]:
    """The Pythons of the run, as Linux lists them, that have torch and are not known to the recorder."""
    for pid in _belonging(session, folder):
        with contextlib.suppress(OSError):
            if (
                not (folder / "pids" / str(pid)).exists()
                and b"libtorch_python" in Path(f"/proc/{pid}/maps").read_bytes()
            ):
                yield pid


def _belonging(session: int, folder: Path) -> Iterator[int]:
    """Whatever runs in the session of the command or has its environment, also what was detached from it; nothing where
    the system does not list its processes as Linux does."""
    named = f"{VARIABLE}={folder}\0".encode()
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            fields = (place / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            own = int(fields[3]) == session or named in (place / "environ").read_bytes() + b"\0"
            if own and fields[0] not in ("Z", "X") and int(place.name) != os.getpid():
                yield int(place.name)


def _marks(folder: Path) -> dict[int, tuple[str, ...]]:
    """How far each Python of the run came, by its process: first when it began."""
    files = sorted((folder / "pids").iterdir())
    texts = {int(file.name): file.read_text(encoding="utf-8", errors="replace") for file in files}
    return {pid: tuple(text.split("\n")[:-1]) for pid, text in texts.items()}


def _end(process: subprocess.Popen[bytes], folder: Path) -> None:
    """End whatever is left of the run: its Pythons by kill, so that none of them saves, goes on or starts others; then
    what else is in its group, and what was detached from it. A kill takes a moment: it is waited for."""
    for _ in range(2):  # what was started while the first were ended
        for pid in _alive(folder):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        _signal_group(process.pid, signal.SIGTERM)
    until = time.monotonic() + GRACE
    while (process.poll() is None or [*_alive(folder)]) and time.monotonic() < until:
        time.sleep(POLL)
    _kill(process.pid, folder)
    process.wait()


def _kill(session: int, folder: Path) -> None:
    """Kill what is left of the run, and wait until it is gone."""
    _signal_group(session, signal.SIGKILL)
    until = time.monotonic() + GRACE
    while (left := {*_alive(folder), *_belonging(session, folder)}) and time.monotonic() < until:
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(POLL)


def _signal_group(leader: int, number: signal.Signals) -> None:
    with contextlib.suppress(OSError):
        os.killpg(leader, number)  # it leads its group, whose number stands as long as one of it is there


def _alive(folder: Path) -> Iterator[int]:
    """The Pythons of the run that still are those that began, launchers before what they launched."""
    from sftui.capture.recorder.sftui_recorder import started

    began = {pid: marks[0].removeprefix("python ") for pid, marks in _marks(folder).items() if marks}
    alive = sorted((int(when), pid) for pid, when in began.items() if when.isdigit() and when == started(pid))
    return (pid for _, pid in alive)
