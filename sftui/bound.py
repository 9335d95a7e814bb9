"""What preparing one row may cost, held from outside: the process that prepares rows is the bounded one.

Inside (`Guard`): before a piece of work the process writes down what it begins, and asks the operating system to
refuse it memory beyond an allowance (`RLIMIT_DATA`, where Linux has it) and to end it when its processor time is up
(`ITIMER_PROF`). Nothing of that needs the interpreter's help, so neither a loop in C nor a regex in Rust escapes.
Outside (`Watch`): whoever started the process looks at the same page, ends it where memory or the wall clock runs
out all the same, and knows from the page which piece of work it was (`Watch.overrun`). The next process is given it,
and refuses that piece at once (`OverBound`) instead of trying again. Standing work, such as reading a file, is not
bounded.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import os
import signal
import struct
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from types import TracebackType
from typing import Any, NamedTuple

from sftui.errors import TemplateError
from sftui.values import value_class

if sys.platform == "win32":  # pragma: no cover - not supported, but importable
    resource = None
else:
    import resource

SECONDS = 2.0
"""Processor seconds for one piece of work, were it empty, as long as none went beyond that."""
LEAST_SECONDS = 0.5
"""What each overrun before halves that to, at the least: ten times and more what an honest row takes."""
UNCOUNTED = 0.01
"""Processor seconds that renders outside of rows may take on average, ten times what honest ones take, and one more for
each megabyte of theirs; what they take beyond that adds up to `SECONDS` for each template."""
UNCOUNTED_ROW = 0.1
"""The same of rows, with `SECONDS_PER_MB`; what they take beyond that adds up to `SECONDS` for each recipe."""
SECONDS_PER_MB = 20.0
"""More of them for each megabyte of the row, which is far more than any honest row takes."""
MEMORY = 400 << 20
"""Bytes beyond what the process holds, for one piece of work."""
MEMORY_PER_BYTE = 200
"""More of them for each byte of the row: a token is kept in eight columns."""
LEFT_BEHIND = 32 << 20
"""Bytes that the process may grow by before the next piece of work waits for the garbage collector."""
SELDOM = 100_000
"""Objects that come to stay before cycles are looked for: several times what the rows of a chunk hold."""
SERIES_SECONDS = 0.05
"""Of the wall clock: how long rows one after the other share a timer and a limit (see `series`)."""
SERIES_SIZE = 1 << 14
"""Bytes of the largest row that does: they are set for one of that size, and the page says what each may take."""
WALL = 20.0
"""Seconds of the wall clock for each processor second: only for what waits instead of working."""
MOST = 3
"""Rows running that may overrun at one stage before none after them is tried."""
MOST_STARTS = 12
"""How many pieces of work may overrun in all before no row after the last of them is tried."""
MOST_DEATHS = 2 * MOST_STARTS
"""How often a process is started again at most, whatever overran."""

PAGE = 4096
SUBJECTS = {
    "conversation": "reading its conversation",
    "rendered": "the chat template",
    "tokens": "the tokenizer",
    "labels": "making its labels",
    "template": "the chat template",
    "row": "reading the row",
    "findings": "checking it for findings",
}
"""What each piece of work that may overrun is called in a sentence: the stages of a row, a template by itself, reading
the row, and looking for what is wrong."""
STAGES = tuple(SUBJECTS)
_NUMBERS = {stage: number for number, stage in enumerate(STAGES)}
_TEMPLATE, _FINDINGS = _NUMBERS["template"], _NUMBERS["findings"]
_RUST_REFUSED = "memory allocation of "
"""What Rust's standard library writes before it aborts (`alloc::handle_alloc_error`)."""
_HEAD = struct.Struct("<BB16sdddq")
_LINUX = sys.platform == "linux"
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


@value_class
class Overrun:
    """A piece of work that ended its process: `key` as in `row_key`, `stage` one of `STAGES`, `why` a clause."""

    key: bytes
    stage: str
    why: str

    @property
    def group(self) -> bytes:
        """What all rows of one recipe share, or all renders of one template outside of rows."""
        return self.key[:8]

    @property
    def number(self) -> int:
        """Which row it was; nothing where it was no row."""
        return int.from_bytes(self.key[8:], "little")


@value_class
class GivenUp:
    """What is not tried any more: of a group at a stage all rows after `last`, or all where that is None."""

    overrun: Overrun
    last: int | None
    times: int

    @property
    def why(self) -> str:
        times = f", {self.times} times over" if self.times > 1 else ""
        return f"{self.overrun.why}{times}, so sftui is giving up"

    def holds(self, key: bytes) -> bool:
        """Whether the piece of work is among them."""
        return key[:8] == self.overrun.group and (self.last is None or int.from_bytes(key[8:], "little") > self.last)


class OverBound(TemplateError):
    """A piece of work that went beyond what sftui lets it cost; the trainer may well do it."""


class _PageState(NamedTuple):
    """What a page says: the piece of work that is under way, and what it may cost."""

    key: bytes
    stage: int
    begun: float
    seconds: float
    held: float
    memory: int


class Page:
    """A page of memory that both processes see; the one that works writes, the other reads."""

    def __init__(self, memory: Any) -> None:
        self.memory = memory

    def write(self, key: bytes, stage: int, begun: float, held: float, seconds: float, memory: int) -> None:
        _HEAD.pack_into(self.memory, 0, 0, stage, key, begun, seconds, held, memory)
        self.memory[0] = 1

    def stage(self, stage: int) -> None:
        self.memory[1] = stage

    def clear(self) -> None:
        self.memory[0] = 0

    def read(self) -> _PageState | None:
        """What is under way; None: nothing."""
        active, stage, key, begun, seconds, held, memory = _HEAD.unpack_from(self.memory, 0)
        return _PageState(key, min(stage, len(STAGES) - 1), begun, seconds, held, memory) if active else None


def anonymous_page() -> Page:
    """A page that children made by `fork` share."""
    import mmap

    return Page(memoryview(mmap.mmap(-1, PAGE)))


def page_of(descriptor: int) -> Page:
    """The page kept in an open file, which is made as long as one."""
    import mmap

    os.ftruncate(descriptor, PAGE)
    return Page(memoryview(mmap.mmap(descriptor, PAGE)))


class Guard:
    """The bound of this process; `overran` are the pieces of work that are not tried again.

    `active`: a piece of work is under way.
    """

    def __init__(self, page: Page, overran: tuple[Overrun, ...] = (), begun: int = -1) -> None:
        self.page = page
        self._begun = begun
        self._overran: Mapping[bytes, Overrun] = {}
        self._given_up: tuple[GivenUp, ...] = ()
        self.active = False
        self._in_series = False
        self._shared: tuple[float, float] | None = None
        self._seconds = 0.0
        self._hard = resource.getrlimit(resource.RLIMIT_DATA)[1] if _LINUX else 0
        self._spent: dict[bytes, float] = {}
        self._marks: list[tuple[object, bytes]] = []
        self._statm = os.open("/proc/self/statm", os.O_RDONLY) if _LINUX else -1
        self._clean = self._now_held()[1]
        self.refuse(overran)

    def refuse(self, overran: tuple[Overrun, ...]) -> None:
        """Do not try these pieces again, nor what is given up because of them; all else begins anew."""
        self._spent.clear()
        self._leave(overran)

    def remember(self, overrun: Overrun) -> None:
        """Do not try this piece again either, which ran out of memory and left the process standing."""
        self._leave((*self._overran.values(), overrun))

    def _leave(self, overran: tuple[Overrun, ...]) -> None:
        self._overran = {overrun.key: overrun for overrun in overran}
        self._given_up = given_up(overran)
        self._allowed = max(SECONDS / float(1 << min(len(self._overran), 8)), min(SECONDS, LEAST_SECONDS))

    def unfinished(self, path: str) -> None:
        """Have whoever watches take this file or folder away if the process is ended before it can."""
        if self._begun >= 0:
            os.write(self._begun, os.fsencode(os.path.abspath(path)) + b"\0")

    def mark(self, recipe: object) -> bytes:
        """Eight bytes that stand for a recipe, the same in every process."""
        for known, mark in self._marks:
            if known is recipe:
                return mark
        mark = _mark(repr(recipe).encode("utf-8", "surrogatepass"))
        self._marks = [(recipe, mark), *self._marks[:7]]
        return mark

    def begin(self, key: bytes, stage: int, size: int) -> Overrun | None:
        """Bound what follows until `end`; the overrun of before where there was one, which is then for `stage`."""
        if self._shared is not None:
            (begun, held), now = self._shared, time.monotonic()
            if size <= SERIES_SIZE and stage != _TEMPLATE and now - begun < SERIES_SECONDS:
                self.active = True
                self.page.write(key, stage, now, held, *_allowance(self._allowed, size))
                return None
            self._rest()
        shares = self._in_series and size <= SERIES_SIZE and not (self._overran or self._spent)
        allowed = self._allowed
        reserved, held = self._now_held()
        if held > self._clean + LEFT_BEHIND:
            # What work before left behind in cycles, as a failed render does, would be allowed again on top.
            gc.collect()
            reserved, held = self._now_held()
            self._clean = held
        self.active = True
        self.page.write(key, stage, time.monotonic(), held, *_allowance(allowed, size))
        seconds, memory = _allowance(allowed, SERIES_SIZE if shares else size)
        self._seconds = seconds
        if _LINUX:
            self._limit_memory(reserved + memory)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        if shares:
            self._shared = time.monotonic(), held
        before = self._overran.get(key)
        if before is None and self._given_up:
            found = next((one for one in self._given_up if one.holds(key)), None)
            before = replace(found.overrun, key=key, why=found.why) if found is not None else None
        if before is None and self._spent:
            before = self._used_up(key, stage, allowed)
        return before

    def _used_up(self, key: bytes, stage: int, allowed: float) -> Overrun | None:
        """The end of what slow pieces of the same template, or of the same recipe, may take together."""
        spent = self._spent.get(key[:8], 0.0)
        if stage == _TEMPLATE:
            why = f"{SUBJECTS['template']} {_too_long(allowed)} in all"
            return Overrun(key, "template", why) if spent > allowed else None
        why = f"earlier rows needed {_seconds(allowed)} of CPU time, so sftui is giving up"
        return Overrun(key, "findings" if stage == _FINDINGS else "rendered", why) if spent > allowed else None

    def end(self, key: bytes, stage: int, size: int, adds_up: bool) -> None:
        """Nothing is bounded any more; where it `adds_up`, the seconds beyond what work of that size may take on
        average count for its group, and those below make up for some."""
        self.page.clear()
        self.active = False
        if self._shared is not None and time.monotonic() - self._shared[0] < SERIES_SECONDS:
            return  # too little to add up
        taken = self._rest()
        if not adds_up:
            return
        least, more = (UNCOUNTED, 1.0) if stage == _TEMPLATE else (UNCOUNTED_ROW, SECONDS_PER_MB)
        group, uncounted = key[:8], least + more * size / 1e6
        spent = self._spent.get(group, 0.0) + taken - uncounted
        if spent > 0.0:
            self._spent[group] = spent
        else:
            self._spent.pop(group, None)

    @contextlib.contextmanager
    def series(self) -> Iterator[None]:
        """See `series`."""
        self._in_series = True
        try:
            yield
        finally:
            self._in_series = False
            if self._shared is not None:
                self._rest()

    def _rest(self) -> float:
        """Lift the bounds; the processor seconds since they were set."""
        left = signal.setitimer(signal.ITIMER_PROF, 0.0)[0]
        if _LINUX:
            self._limit_memory(None)
        self._shared = None
        return self._seconds - left

    def _limit_memory(self, most: int | None) -> None:
        hard, unlimited = self._hard, resource.RLIM_INFINITY
        wanted = hard if most is None else most if hard == unlimited else min(most, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))

    def _now_held(self) -> tuple[int, int]:
        """Bytes that the process has reserved, which the limit counts, and bytes that it uses, which the watch counts.

        Asked anew each time: Arrow reserves a gigabyte between one row and the next. Where Linux does not tell, both
        are the most that was ever used.
        """
        if _LINUX:
            figures = os.pread(self._statm, 200, 0).split()
            return int(figures[5]) * _PAGE_BYTES, _used(figures)
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        most = most if sys.platform == "darwin" else most * 1024
        return most, most


def _allowance(seconds: float, size: int) -> tuple[float, int]:
    """Processor seconds and bytes of memory for a piece of work of a size, where an empty one may take `seconds`."""
    return seconds + SECONDS_PER_MB * size / 1e6, MEMORY + MEMORY_PER_BYTE * size


_GUARD: ContextVar[Guard | None] = ContextVar("GUARD", default=None)


def guard() -> Guard | None:
    """The guard of this thread; None where nothing watches over it (other threads, and sftui used as a library)."""
    return _GUARD.get()


def enter(page: Page, overran: tuple[Overrun, ...] = (), begun: int = -1) -> Guard:
    """Bound the work of this thread from now on, told on `page`; `begun` is where `unfinished` names are written."""
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    collect_seldom()
    made = Guard(page, overran, begun)
    _GUARD.set(made)
    return made


def collect_seldom() -> None:
    """Have this process, which works on rows, look for cycles only once as many objects have come to stay.

    Rows make none, but some hundred objects each that stay while their chunk is worked on: by Python's own count each
    chunk is looked through dozens of times, and now and then all that a tokenizer holds with it (7 % of a check). What
    goes in circles all the same, as a failed render does, is collected where too much was left behind (`Guard.begin`).
    """
    gc.set_threshold(SELDOM, *gc.get_threshold()[1:])


def unfinished(path: str) -> None:
    """Name a file or folder that is only there until the work on it ends (see `Guard.unfinished`)."""
    found = _GUARD.get()
    if found is not None:
        found.unfinished(path)


class Work:
    """`with Work(key, size):` around a piece of work; inside another one, or without a guard, it does nothing.

    MemoryError and RecursionError pass through it. `at` says which stage begins, and raises OverBound where that is
    the one that overran.
    """

    __slots__ = ("_adds_up", "_before", "_guard", "_key", "_size", "_stage")

    def __init__(self, key: bytes, size: int = 0, stage: str = STAGES[0], adds_up: bool = True) -> None:
        found = _GUARD.get()
        self._guard = None if found is None or found.active else found
        self._key, self._size, self._stage, self._adds_up = key, size, _NUMBERS[stage], adds_up
        self._before: Overrun | None = None

    def __enter__(self) -> Work:
        if self._guard is not None:
            self._before = self._guard.begin(self._key, self._stage, self._size)
            if self._before is not None and self._before.stage == STAGES[self._stage]:
                self._guard.end(self._key, self._stage, self._size, adds_up=False)
                raise OverBound(self._before.why)
        return self

    def at(self, stage: str) -> None:
        if self._guard is not None:
            self._guard.page.stage(_NUMBERS[stage])
            if self._before is not None and self._before.stage == stage:
                raise OverBound(self._before.why)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._guard is not None:
            adds_up = self._adds_up and self._before is None  # what is refused makes up for nothing
            self._guard.end(self._key, self._stage, self._size, adds_up)
            if kind is not None and issubclass(kind, MemoryError) and self._stage == _TEMPLATE:
                self._guard.remember(Overrun(self._key, "template", f"{SUBJECTS['template']} {out_of_memory()}"))


_UNBOUND = Work(b"")
"""Outside of any guard, and so for any number of rows."""


def series() -> contextlib.AbstractContextManager[None]:
    """`with series():` around rows that are worked on one after the other, with nothing else between them.

    Setting a timer and a limit takes as long as rendering a small row, so small rows share both for a moment
    (`SERIES_SECONDS`): one that takes longer is noted on the page, and ended in time, all the same. Where a row overran
    or was slow before, each has its own again.
    """
    found = _GUARD.get()
    return contextlib.nullcontext() if found is None or found.active else found.series()


def row_key(recipe: object, index: int) -> bytes:
    """What stands for one row under one recipe, where a guard is in force."""
    found = _GUARD.get()
    return found.mark(recipe) + index.to_bytes(8, "little") if found is not None and not found.active else b""


def row_work(recipe: object, index: int, size: int, stage: str = STAGES[0]) -> Work:
    """The work on one row under one recipe, for a `with`."""
    key = row_key(recipe, index)
    return Work(key, size, stage) if key else _UNBOUND


def unbound() -> bool:
    """Whether a piece of work that begins here is not bounded by itself: no guard is in force, or inside of another."""
    found = _GUARD.get()
    return found is None or found.active


def item_key(name: str, index: int) -> bytes:
    """What stands for one row of what has this name, before any recipe; empty where no guard asks for it."""
    return b"" if unbound() else _mark(name.encode("utf-8", "surrogatepass")) + index.to_bytes(8, "little")


def template_work(template: str, work: object, adds_up: bool = False) -> Work:
    """The work on a template, and on what is done with it outside of rows (its size: as it is written). Renders add up;
    it is compiled with every change of the recipe, so that does not."""
    if unbound():
        return Work(b"", stage="template")
    written = repr(work).encode("utf-8", "surrogatepass")
    key = _mark(repr(template).encode("utf-8", "surrogatepass")) + _mark(written)
    return Work(key, len(written), "template", adds_up)


def _mark(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=8).digest()


def given_up(overran: tuple[Overrun, ...]) -> tuple[GivenUp, ...]:
    """What is not worth trying after these: rows after `MOST` running that overran at one stage (rows between which
    others were prepared are each left alone), a template that overran by itself, and what comes after the last where
    `MOST_STARTS` overran in all."""
    found: dict[tuple[bytes, str], list[Overrun]] = {}
    for overrun in overran:
        found.setdefault((overrun.group, overrun.stage), []).append(overrun)
    many = len(overran) >= MOST_STARTS
    return tuple(given for some in found.values() if (given := _given_up(some, many)) is not None)


def _given_up(some: list[Overrun], many: bool) -> GivenUp | None:
    if some[0].stage == "template":
        return GivenUp(some[0], None, len(some))
    numbers = sorted({overrun.number for overrun in some})
    for at in range(MOST - 1, len(numbers)):
        if numbers[at] - numbers[at - MOST + 1] == MOST - 1:
            return GivenUp(some[0], numbers[at], MOST)
    return GivenUp(some[0], numbers[-1], len(some)) if many else None


def out_of_memory(size: int = 0) -> str:
    """What a piece of work on a row of `size` bytes does that got no more memory, as the end of a sentence."""
    if _GUARD.get() is None:
        return "needs too much memory"
    return f"needs more than {_megabytes(MEMORY + MEMORY_PER_BYTE * size)} of memory"


def _seconds(count: float) -> str:
    return f"{round(count, 2):,g} seconds"


def _too_long(seconds: float) -> str:
    return f"needs more than {_seconds(seconds)} of CPU time"


def _megabytes(count: int) -> str:
    return f"{count >> 20:,} MB"


class Watch:
    """The parent's eye on one process that works under a guard."""

    def __init__(self, page: Page, pid: int) -> None:
        self._page = page
        self._pid = pid
        self._ended = ""

    def look(self) -> bool:
        """Whether the process must be ended now, because its memory or the wall clock has run out."""
        now = self._page.read()
        if now is None:
            return False
        passed = time.monotonic() - now.begun
        if passed > now.seconds * WALL:
            self._ended = f"needs more than {now.seconds * WALL:,.0f} seconds"
        elif passed > 0.05 and (resident(self._pid) or 0) > now.held + now.memory * 1.25:
            self._ended = f"needs more than {_megabytes(now.memory)} of memory"
        return bool(self._ended)

    def overrun(self, signal_number: int, log: str = "") -> Overrun | None:
        """What the process was at when that signal ended it; None where it was no piece of work that did.

        `log` is the end of what its libraries wrote: Rust aborts where it is refused memory, and says so there.
        """
        now = self._page.read()
        if now is None or signal_number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, 0):
            return None
        reason = self._ended
        if signal_number == signal.SIGPROF:
            reason = _too_long(now.seconds)
        elif not reason and signal_number == signal.SIGABRT and _RUST_REFUSED in log:
            reason = f"needs more than {_megabytes(now.memory)} of memory"
        elif not reason:
            reason = f"ended the process that prepares rows ({signal_name(signal_number)})"
        stage = STAGES[now.stage]
        return Overrun(now.key, stage, f"{SUBJECTS[stage]} {reason}")


def signal_name(number: int) -> str:
    """The name of a signal."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _used(statm: Sequence[bytes]) -> int:
    """Bytes of memory that a process holds for itself, of the figures in its `statm`."""
    return (int(statm[1]) - int(statm[2])) * _PAGE_BYTES


def resident(pid: int) -> int | None:
    """Bytes of memory that a process holds for itself, mapped files aside; None where that cannot be known."""
    if _LINUX:
        try:
            with open(f"/proc/{pid}/statm", "rb") as file:
                return _used(file.read().split())
        except (OSError, IndexError, ValueError):
            return None
    import subprocess

    with contextlib.suppress(OSError, ValueError, subprocess.SubprocessError):
        out = subprocess.run(("ps", "-o", "rss=", "-p", str(pid)), capture_output=True, timeout=5, check=False).stdout
        return int(out) * 1024
    return None
