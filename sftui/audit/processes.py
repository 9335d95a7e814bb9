"""The rows of an audit shared among worker processes, their parts joined in order."""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from sftui.audit.audit import Audit
from sftui.audit.context import audit_context
from sftui.audit.found import Filter
from sftui.audit.run import AuditProgress
from sftui.errors import SftuiError

if TYPE_CHECKING:
    from sftui.conversations import Detected
    from sftui.findings import Context
    from sftui.model import Row
    from sftui.recipe import Recipe
    from sftui.trainers import Toolbox

CHUNK_ROWS = 128
CHUNK_BYTES = 1 << 20
AHEAD = 3
"""Chunks waiting for each process: enough that none is idle, few enough that memory stays small."""
NICE = 10
HOME = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Task:
    """What every process loads for itself; `first` is the row from which the trainer decides for the whole set."""

    recipe: Recipe
    detected: Detected
    first: Row | None
    cache_dir: str | None
    wanted: Filter
    evaluation: frozenset[int]


class _Process:
    """What a worker process holds between chunks: set once, by the pool's initializer."""

    task: Task
    tools: Toolbox
    context: Context


def audit_in_processes(
    audit: Audit,
    rows: Iterable[Row],
    task: Task,
    jobs: int,
    *,
    total: Callable[[], int | None] = lambda: None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[AuditProgress]:
    """Like `run_audit`, in `jobs` processes; the set-up must be checked already. SftuiError where a process dies.

    Chunks join in the order of the rows, so after each progress the audit holds the first `audit.rows` rows.
    """
    begun, before = clock(), audit.rows
    folder = os.getcwd()
    with _at_home():  # the locks of a pool start a process too
        pool = ProcessPoolExecutor(jobs, get_context("spawn"), _begin, (task, folder))
    waiting: deque[Future[Audit]] = deque()
    chunks = _chunks(rows)
    try:
        while True:
            for chunk in islice(chunks, max(0, jobs * AHEAD - len(waiting))):
                with _at_home():
                    waiting.append(pool.submit(_audit_chunk, chunk))
            if not waiting:
                break
            audit.merge(waiting.popleft().result())
            seconds = clock() - begun
            rate = (audit.rows - before) / seconds if seconds else 0.0
            whole = total()
            yield AuditProgress(
                audit.rows, whole, rate, max(0, whole - audit.rows) / rate if whole is not None and rate else None
            )
    except BrokenProcessPool as error:
        raise SftuiError(
            "a process of the audit ended", why="it was killed or had not enough memory", fix="try --jobs 1"
        ) from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    audit.finish()
    yield AuditProgress(audit.rows, audit.rows, 0.0, 0.0, True)


def _chunks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    chunk: list[Row] = []
    size = 0
    for row in rows:
        chunk.append(row)
        size += row.size
        if len(chunk) >= CHUNK_ROWS or size >= CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


@contextmanager
def _at_home() -> Iterator[None]:
    """The package's folder as the current one while processes start: `spawn` runs `python -c`, which imports from the
    current folder first, and a data folder may hold a file called json.py."""
    here = os.getcwd()
    os.chdir(HOME)
    try:
        yield
    finally:
        os.chdir(here)


def _begin(task: Task, folder: str) -> None:
    """Load the tokenizer and the templates; the process gives way to others, and leaves Ctrl-C to its parent."""
    from sftui.pipeline import make_toolbox, survey
    from sftui.tokens import load_tokenizer

    os.chdir(folder)  # names of files are relative to it
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError, AttributeError):
        os.nice(NICE)
    named = task.recipe.tokenizer
    tokenizer = load_tokenizer(named.name or "", revision=named.revision, cache_dir=task.cache_dir)
    _Process.task = task
    _Process.tools = survey(task.first, task.detected, task.recipe, make_toolbox(task.recipe, tokenizer))
    _Process.context = audit_context(task.recipe, task.detected, _Process.tools)


def _audit_chunk(rows: list[Row]) -> Audit:
    from sftui.pipeline import inspect

    task, context = _Process.task, _Process.context
    audit = Audit(context, task.wanted, task.evaluation)
    for row in rows:
        audit.check(inspect(row, task.detected, task.recipe, _Process.tools), context)
    audit.lighten()
    return audit
