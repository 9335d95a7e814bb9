"""Pieces of work shared among the actors of a Ray cluster: what is made of them comes in order, whoever is lost.

An actor watches over a process of its own, which does the work under a bound (`sftui.crew`). A row that takes too much
ends that process alone, and the actor starts another one that leaves the row out, as the local engine does: what ends
an actor is never a row, but its machine.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import platform
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sftui import __version__, bound
from sftui.crew import Crew, CrewTask
from sftui.engines.cluster import Cluster
from sftui.engines.shards import PieceResult, Rows, name_of
from sftui.errors import SftuiError
from sftui.sources.source import SourcePiece

if TYPE_CHECKING:
    from sftui.audit.repeats import RepeatedRows

AHEAD = 2
"""Pieces that an actor has at a time: the next one is there when it has done one."""
HELD = 8
"""Pieces for each actor that may be under way or wait for one before them, at most."""
MOST_TRIES = 4
"""How often a piece is tried whose actor is lost, or an actor started that does not come up."""
LOOK = 0.2
"""Seconds after which whoever waits for parts hears that there is none yet."""
PATIENCE = 20.0
"""Seconds without an actor after which it is said that the cluster has no room."""


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
                f"{platform.node()} has sftui {__version__}, but {version} assigned it work",
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


@dataclass(slots=True)
class _Job:
    """Something for an actor to do: `call` hands it over, as long as that is possible. Once `done`, `result` and `refs`
    are what it gave."""

    name: str
    call: Callable[[Any], list[Any]] | None
    tries: int = 0
    done: bool = False
    result: Any = None
    refs: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class _Actor:
    """An actor with its jobs in order, each with the references of what it will give; `starting` until it is up."""

    actor: Any
    starting: Any
    jobs: deque[_Job] = field(default_factory=deque)


class Pool:
    """The actors of one task. `with Pool(…) as pool:` lets them go at the end, whatever happens.

    `notify` hears what is to be known meanwhile. Lost actors are replaced, and what they had is done by others: a piece
    counts once, since its part is taken but once. SftuiError, from `done`, for a piece of which `MOST_TRIES` actors
    were lost, and where rows overrun too often; what the task raises is raised as it is where it is a SftuiError.
    """

    def __init__(self, cluster: Cluster, task: CrewTask[Any, PieceResult], notify: Callable[[str], None]) -> None:
        self._ray, self._notify = cluster.ray, notify
        self._task = self._ray.put(pickle.dumps(task, pickle.HIGHEST_PROTOCOL))
        self._kind = self._ray.remote(ActorWorker).options(num_cpus=1, max_restarts=0)
        self._again: deque[_Job] = deque()
        self._pieces: list[_Job] = []
        self._failed = 0
        self._overran: tuple[bound.Overrun, ...] = ()
        self.note: str | None = None
        self._begun: float | None = time.monotonic()
        self._hands = [self._hired() for _ in range(cluster.workers)]

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *error: object) -> None:
        for hand in self._hands:
            self._dismiss(hand)
        self._hands.clear()

    # --- what is sent -------------------------------------------------------------------------

    def done(self, pieces: Iterable[Rows]) -> Iterator[tuple[Rows, WorkerReport, bytes] | None]:
        """What is made of each piece, in order; None, every so often, while nothing new is there."""
        coming = iter(pieces)
        waiting: deque[tuple[Rows, _Job]] = deque()
        more = True
        while True:
            hands = len(self._hands)
            while more and len(waiting) < HELD * hands and len(self._again) < AHEAD * hands:
                piece = next(coming, None)
                more = piece is not None
                if piece is not None:
                    waiting.append((piece, self._piece(piece)))
            if not waiting:
                return
            if not self._step():
                yield None
            while waiting and waiting[0][1].done:
                piece, job = waiting[0]
                try:
                    got = self._ray.get(job.refs[1])
                except self._ray.exceptions.ObjectLostError:
                    self._retry(job)
                    break
                waiting.popleft()
                yield piece, job.result, got
                job.refs[1] = None
                if not isinstance(piece, SourcePiece):
                    job.call = None  # no rows are kept

    def repeated(self, shares: int) -> Iterator[RepeatedRows | None]:
        """What all pieces tell of repeated rows, share by share (see `ActorWorker.repeated`); None as in `done`."""
        for number in range(shares):
            while True:
                refs = [job.refs[2] for job in self._pieces]

                def call(actor: Any, number: int = number, refs: list[Any] = refs) -> list[Any]:
                    return [actor.repeated.remote(number, shares, refs)]

                job = _Job("the search for repeated rows", call)
                yield from self._finished([job])
                lost, found = job.result
                if not lost:
                    yield found
                    break
                self._notify(f"{len(lost):,} parts were lost with their machine and are being redone")
                yield from self._finished([self._pieces[place] for place in lost])

    # --- jobs -------------------------------------------------------------------------------

    def _piece(self, piece: Rows) -> _Job:
        job = _Job(name_of(piece), lambda actor: list(actor.do.options(num_returns=3).remote(piece, self._overran)))
        self._pieces.append(job)
        self._again.append(job)
        return job

    def _finished(self, jobs: list[_Job]) -> Iterator[None]:
        """Do these, in whatever order."""
        for job in jobs:
            job.done = False
            self._again.append(job)
        while not all(job.done for job in jobs):
            self._step()
            yield None

    def _retry(self, job: _Job, why: str = "its part was lost") -> None:
        job.tries, job.done = job.tries + 1, False
        if job.tries >= MOST_TRIES:
            raise SftuiError(
                f"{job.name} failed: sftui tried {job.tries} times",
                why=why,
                fix="give the workers more memory, or check Ray's logs",
            )
        self._again.appendleft(job)

    def _step(self) -> bool:
        """Hand jobs over, wait a moment, and say whether more are done now."""
        for hand in sorted(self._hands, key=lambda one: len(one.jobs)):
            while self._again and hand.starting is None and len(hand.jobs) < AHEAD:
                job = self._again.popleft()
                if job.call is None:
                    raise SftuiError(
                        f"{job.name} were lost with their machine",
                        why="they cannot be read separately",
                        fix="run it again",
                    )
                job.refs = job.call(hand.actor)
                hand.jobs.append(job)
        first = {self._first(hand): hand for hand in self._hands if hand.starting is not None or hand.jobs}
        ready, _ = self._ray.wait(list(first), timeout=LOOK, fetch_local=False)
        if ready:
            ready, _ = self._ray.wait(list(first), num_returns=len(first), timeout=0, fetch_local=False)
        heard = [self._heard(first[ref]) for ref in ready]
        if self._begun is not None and time.monotonic() - self._begun > PATIENCE:
            self._begun = None
            self._notify("waiting for Ray to start a worker: the cluster may have no free CPU")
        return any(heard)

    def _first(self, hand: _Actor) -> Any:
        return hand.starting if hand.starting is not None else hand.jobs[0].refs[0]

    def _heard(self, hand: _Actor) -> bool:
        """Whether an actor has done a job; else it has started, or is lost."""
        gone = self._ray.exceptions
        try:
            result = self._ray.get(self._first(hand))
        except SftuiError as error:  # Ray raises what is a RayTaskError, too
            raise getattr(error, "cause", error) from None
        except (gone.RayTaskError, gone.RayActorError, gone.RaySystemError, gone.ObjectLostError) as error:
            self._replace(hand, _reason(error))
            return False
        if hand.starting is not None:
            hand.starting, self._begun, self._failed = None, None, 0
            return False
        job = hand.jobs.popleft()
        job.result, job.done = result, True
        if isinstance(result, WorkerReport):
            self._take(result)
        return True

    def _take(self, report: WorkerReport) -> None:
        self.note = self.note or report.note
        self._overran = (*self._overran, *(overrun for overrun in report.overran if overrun not in self._overran))
        if len(self._overran) > bound.MOST_DEATHS:
            last = self._overran[-1]
            raise SftuiError(f"{last.why}, like {bound.MOST_DEATHS} tasks before it, so sftui is giving up")

    # --- actors -----------------------------------------------------------------------------

    def _hired(self) -> _Actor:
        actor = self._kind.remote(self._task, os.getcwd())
        return _Actor(actor, actor.ready.remote(__version__))

    def _dismiss(self, hand: _Actor) -> None:
        with contextlib.suppress(Exception):  # one that is gone already
            self._ray.kill(hand.actor)

    def _replace(self, gone: _Actor, why: str) -> None:
        """Another actor instead of one that is lost; what it had is done first, by whoever is free."""
        self._dismiss(gone)
        if gone.starting is not None:
            self._failed += 1
            if self._failed >= MOST_TRIES:
                raise SftuiError(
                    "the workers cannot be started", why=why, fix="install sftui[ray] on every machine of the cluster"
                )
        jobs = list(gone.jobs)
        self._again.extendleft(reversed(jobs[1:]))
        if jobs:
            self._notify(f"a worker was lost ({why}); another is redoing {jobs[0].name}")
            self._retry(jobs[0], why)
        self._hands[self._hands.index(gone)] = self._hired()


def _reason(error: BaseException) -> str:
    """The last thing that Ray says of what went wrong."""
    cause = getattr(error, "cause", None)
    if cause is not None:
        return f"{type(cause).__name__}: {cause}"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1].rstrip(".") if lines else type(error).__name__
