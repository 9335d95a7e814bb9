"""What runs in a Ray actor: it watches over a process of its own, which does the work under a bound (`sftui.crew`).

A row that takes too much ends that process alone, and the actor starts another one that leaves the row out, as the
local engine does: what ends an actor is never a row, but its machine.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import platform
from dataclasses import dataclass
from typing import Any

from sftui import __version__, bound
from sftui.crew import Crew, CrewTask
from sftui.engines.shards import PieceResult
from sftui.errors import SftuiError


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """What a worker says besides the part that it made: `overran` are all the pieces of work that ended its process."""

    note: str | None
    overran: tuple[bound.Overrun, ...]
    damaged: bool


class ActorWorker:
    """One actor. `task` pickles; `folder` is the one that names of files are relative to."""

    def __init__(self, task: bytes, folder: str) -> None:
        with contextlib.suppress(OSError):
            os.chdir(folder)
        self._task: CrewTask[Any, PieceResult] = pickle.loads(task)
        self._crew: Crew[Any, PieceResult] | None = None

    def ready(self, version: str) -> int:
        """The process that stands for this worker; SftuiError where another sftui is installed here."""
        if version != __version__:
            raise SftuiError(
                f"{platform.node()} has sftui {__version__}, and {version} asks it to work",
                fix="install the same version on every machine",
            )
        return os.getpid()

    def do(self, piece: Any, overran: tuple[bound.Overrun, ...]) -> tuple[WorkerReport, bytes, bytes]:
        """A piece as what the task makes of it; SftuiError as `Crew`, and what the task itself raises."""
        try:
            crew = self._crew = self._crew or Crew(self._task, 1)
            crew.refuse(overran)
            (part,) = crew.done(iter((piece,)))
        except BaseException:
            self.close()  # the process may have ended, or may still be at it
            raise
        return WorkerReport(crew.note, crew.overran, part.damaged), part.made, part.repeats

    def repeated(self, number: int, of: int, refs: list[Any]) -> tuple[list[int], Any]:
        """Which of the references are lost, by place, and where none is, what they tell of one share of all rows."""
        import ray

        from sftui.audit.repeats import Share, repeated

        lost: list[int] = []
        shares: list[Share] = []
        for place, ref in enumerate(refs):
            try:
                shares.append(pickle.loads(ray.get(ref)).share(number, of))
            except ray.exceptions.ObjectLostError:
                lost.append(place)
        evaluation = getattr(self._task, "evaluation", None)
        return lost, None if lost else repeated(shares, evaluation)

    def close(self) -> None:
        """Let the process go."""
        crew, self._crew = self._crew, None
        if crew is not None:
            crew.end()
