"""Runs inputs through their targets and keeps what should not have happened, by signature."""

from __future__ import annotations

import json
import resource
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import fuzz_targets

from sftui.errors import SftuiError

CORPUS = Path(__file__).parent / "corpus"
PATIENCE = 10.0
"""Seconds of processor time that one input may take."""


class Hang(BaseException):
    """An input took all its time."""


@dataclass(frozen=True)
class Failure:
    """An input that broke something: `signature` is the exception and the innermost place in sftui."""

    signature: str
    target: str
    given: Any
    trace: str

    def to_json(self) -> str:
        return json.dumps({"signature": self.signature, "target": self.target, "given": self.given}, indent=1) + "\n"


def tried(target: str, given: Any, folder: Path) -> Failure | None:
    """One input through its target; None where all went as it should."""
    try:
        with _limited():
            fuzz_targets.TARGETS[target].run(given, folder)
    except SftuiError as error:
        return None if str(error).strip() else Failure("an empty sentence", target, given, traceback.format_exc())
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a panic of Rust is no Exception
        return Failure(_signature(error), target, given, traceback.format_exc()[-4000:])
    return None


def _signature(error: BaseException) -> str:
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if "/sftui/" in frame.filename.replace("\\", "/")
    ]
    last = frames[-1] if frames else None
    where = f"{last.filename.rpartition('/sftui/')[2]}:{last.name}" if last is not None else "outside sftui"
    return f"{type(error).__name__} at {where}"


@contextmanager
def _limited() -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def peak() -> int:
    """Bytes of resident memory that this process had at most."""
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024


def work(seed: int, start: int, stop: int) -> Iterator[tuple[int, Failure | None]]:
    """Inputs `start` to `stop` of a seed, each with what came of it; in a folder that goes afterwards."""
    with tempfile.TemporaryDirectory(prefix="sftui-fuzz-") as name:
        folder = Path(name)
        fuzz_targets.in_folder(folder)
        for number in range(start, stop):
            target, given = fuzz_targets.made(seed, number)
            yield number, tried(target, given, folder)


def corpus() -> list[tuple[str, str, Any]]:
    """The inputs that once failed: name, target, input."""
    found = []
    for path in sorted(CORPUS.glob("*.json")):
        kept = json.loads(path.read_text(encoding="utf-8"))
        found.append((path.stem, kept["target"], kept["given"]))
    return found
