"""Change one operator, constant or condition of the code at a time, and run the tests that should notice.

    python tests/mutation/run.py sftui/labels.py --limit 100
    python tests/mutation/run.py sftui/trainers/trl --tests "tests/unit/trainers -k trl" --seed 7
    python tests/mutation/run.py sftui/labels.py:120 --apart

The tests are collected and run once, to see which of them execute which line; a mutant is then a fork of that process,
with the changed code in its functions and the tests of its line, those first that noticed others, until one fails: all
cases of a test of which one executes it, since they may share what that one made. What sftui's and the tests' cached
functions keep is emptied; another value kept from before may hide a change: with --apart, what none of them noticed is
tried once more in a process of its own. Prints each mutant that survives, as `file:line before → after`, those whose
line no test executes apart, and how many there were of each file; exit 1 with survivors, 2 where the tests cannot be
run. Who reads them judges each: equivalent, harmless, or a test that is missing. What stands outside of functions is
not tried. Not part of CI.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import functools
import gc
import itertools
import os
import random
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

REPO = Path(__file__).resolve().parents[2]
NEAREST = {
    "sftui/findings": "tests/unit/findings tests/unit/repairs",
    "sftui": "tests/unit/labels tests/unit/test_pipeline_packs.py tests/unit/trainers tests/unit/exports",
}
"""The tests of a path: those of the longest beginning that it has."""
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult},
}
SECONDS = 40
"""Of tests a mutant may take in a fork; the slowest of those that execute its line are left out beyond it."""
CLOCK, MEMORY = 60, 6 << 30
"""Seconds of a processor (ten times as many in all) and bytes with which a mutant counts as noticed: it does not
end."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: the file, its bytes, the node's place in them, what stands there and what comes in its stead."""

    file: Path
    whole: bytes
    line: int
    start: int
    stop: int
    before: str
    after: str

    def sentence(self) -> str:
        return f"{self.file}:{self.line} {' '.join(self.before.split())} → {' '.join(self.after.split())}"

    def source(self) -> bytes:
        """The file with the change in it."""
        return self.whole[: self.start] + self.after.encode() + self.whole[self.stop :]


def mutants(file: Path) -> Iterator[Mutant]:
    """Every change inside the functions of a file, in order."""
    source = (REPO / file).read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, (ast.FunctionDef, ast.Lambda))]
    seen: set[int] = set()
    for function in functions:
        body = function.body if isinstance(function, ast.FunctionDef) else [function.body]
        for node in (node for part in body for node in ast.walk(part) if id(node) not in seen):
            seen.add(id(node))
            for changed in _changed(node):
                start = starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
                stop = starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
                before, after = source[start:stop].decode(), f"({ast.unparse(changed)})"
                yield Mutant(file, source, node.lineno, start, stop, before, after)  # type: ignore[attr-defined]


def _changed(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            others = [*node.ops[:place], SWAPPED[type(operator)](), *node.ops[place + 1 :]]
            yield ast.Compare(node.left, others, node.comparators)  # type: ignore[arg-type]
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(SWAPPED[type(node.op)](), node.values)  # type: ignore[arg-type]
    elif isinstance(node, ast.BinOp) and type(node.op) in SWAPPED and not _text(node):
        yield ast.BinOp(node.left, SWAPPED[type(node.op)](), node.right)  # type: ignore[arg-type]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield ast.Constant(not node.value if isinstance(node.value, bool) else node.value + 1)
    elif isinstance(node, ast.IfExp):
        yield ast.IfExp(node.test, node.orelse, node.body)


def _text(node: ast.BinOp) -> bool:
    return any(
        isinstance(part, (ast.JoinedStr, ast.Constant)) and not _number(part) for part in (node.left, node.right)
    )


def _number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float))


class Lines:
    """Which lines of some files are executed while it traces."""

    def __init__(self, files: frozenset[str]) -> None:
        self._files = files
        self.seen: set[tuple[str, int]] = set()

    def __call__(self, frame: FrameType, event: str, value: Any) -> Any:
        return self._line if frame.f_code.co_filename in self._files else None

    def _line(self, frame: FrameType, event: str, value: Any) -> Any:
        self.seen.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line


def run(items: Sequence[pytest.Item]) -> Iterator[bool]:
    """Whether each test passes, as far as the tests are asked for."""
    for item, following in zip(items, [*items[1:], None]):
        yield not any(report.failed for report in runtestprotocol(item, log=False, nextitem=following))


class MutationRun:
    """The plugin of pytest that runs the tests once, and then those of each mutant in a fork."""

    def __init__(self, mutants: Sequence[Mutant], *, apart: bool) -> None:
        self.mutants = mutants
        self.survivors: list[Mutant] = []
        self.bare: list[Mutant] = []
        self._apart = apart
        self._tests: dict[tuple[str, int], set[pytest.Item]] = defaultdict(set)
        self._cases: dict[str, list[pytest.Item]] = defaultdict(list)
        self._seconds: dict[pytest.Item, float] = {}
        self._noticed: Counter[pytest.Item] = Counter()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._trace(session.items)
        self._places = places(frozenset(str(REPO / mutant.file) for mutant in self.mutants))
        for number, mutant in enumerate(self.mutants):
            tests = self._tests.get((str(REPO / mutant.file), mutant.line), set())
            if not tests:
                self.bare.append(mutant)
                print("no test executes", mutant.sentence(), flush=True)
            elif self._lives(mutant, tests):
                self.survivors.append(mutant)
                print(f"[{number}/{len(self.mutants)}]", mutant.sentence(), f"· {len(tests)} tests", flush=True)
        return True

    def _trace(self, items: Sequence[pytest.Item]) -> None:
        """Notes the tests of each line; one that fails as it is counts for none."""
        lines = Lines(frozenset(str(REPO / mutant.file) for mutant in self.mutants))
        gc.unfreeze()  # what stood when the tests were collected, too
        passes, caches = run(items), caches_of(gc.get_objects(), "tests")
        for item in items:
            lines.seen.clear()
            if not self._cases[_function(item)]:
                for cache in caches:
                    cache.cache_clear()
            self._cases[_function(item)].append(item)
            began = sum(os.times()[:4])
            sys.settrace(lines)
            passed = next(passes)
            sys.settrace(None)
            self._seconds[item] = sum(os.times()[:4]) - began
            for line in lines.seen if passed else ():
                self._tests[line].add(item)
            if not passed:
                print("fails as it is:", item.nodeid, flush=True)

    def _lives(self, mutant: Mutant, tests: Set[pytest.Item]) -> bool:
        """Whether every test of the mutant's line passes."""
        cases = (case for function in {*map(_function, tests)} for case in self._cases[function])
        quickest = sorted(cases, key=lambda item: (item not in tests, self._seconds[item]))
        together = itertools.accumulate(map(self._seconds.__getitem__, quickest[1:]), initial=0.0)
        chosen = [item for item, seconds in zip(quickest, together) if seconds <= SECONDS]
        chosen.sort(key=self._noticed.__getitem__, reverse=True)
        reads, writes = os.pipe()
        child = os.fork()
        if not child:
            self._places.put_in(mutant)
            with contextlib.suppress(BaseException):
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(10 * CLOCK)
                resource.setrlimit(resource.RLIMIT_CPU, (CLOCK, CLOCK))
                resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
                for stream in (1, 2):
                    os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
                passed = sum(itertools.takewhile(bool, run(chosen)))
                os.write(writes, str(passed).encode())
            os._exit(0)
        os.close(writes)
        with open(reads) as answer:
            passed = int(answer.read() or 0)
        if not os.waitpid(child, 0)[1] and passed < len(chosen):
            self._noticed[chosen[passed]] += 1
        return passed == len(chosen) and (not self._apart or _passes(mutant, chosen))


def _function(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


@dataclass(frozen=True)
class Places:
    """The functions of some files, and what sftui's and the tests' functions keep."""

    functions: Sequence[FunctionType]
    kept: Sequence[functools._lru_cache_wrapper[Any]]

    def put_in(self, mutant: Mutant) -> None:
        """Puts the changed code into the functions of this process, and empties what functions keep."""
        name = str(REPO / mutant.file)
        before, after = (compile(source, name, "exec") for source in (mutant.whole, mutant.source()))
        changed = {_place(old): new for old, new in zip(_codes(before), _codes(after), strict=True)}
        for function in self.functions:
            if function.__code__.co_filename == name:
                function.__code__ = changed[_place(function.__code__)]
        for kept in self.kept:
            kept.cache_clear()


def places(files: frozenset[str]) -> Places:
    """Finds them among all objects of this process, which its forks then share untouched."""
    gc.unfreeze()
    there = gc.get_objects()
    found = Places(
        [kept for kept in there if isinstance(kept, FunctionType) and kept.__code__.co_filename in files],
        caches_of(there, "sftui", "tests"),
    )
    gc.freeze()
    return found


def caches_of(there: Sequence[object], *folders: str) -> list[functools._lru_cache_wrapper[Any]]:
    """The cached functions among some objects whose modules lie in folders of the repository."""
    below = tuple(str(REPO / folder) for folder in folders)
    cached = [one for one in there if isinstance(one, functools._lru_cache_wrapper)]
    return [one for one in cached if (getattr(sys.modules.get(one.__module__), "__file__", "") or "").startswith(below)]


def _place(code: CodeType) -> tuple[object, ...]:
    positions = getattr(code, "co_positions", code.co_lines)()  # columns, too, from Python 3.11 on
    return code.co_name, code.co_firstlineno, *itertools.islice(positions, 4)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)


def _passes(mutant: Mutant, items: Sequence[pytest.Item]) -> bool:
    """Whether the tests pass in a copy of the package that holds the mutant."""
    with tempfile.TemporaryDirectory(prefix="sftui-mutation-") as folder:
        for entry in REPO.iterdir():
            if entry.name not in ("sftui", ".git"):
                (Path(folder) / entry.name).symlink_to(entry)
        subprocess.run(["cp", "-r", REPO / "sftui", folder], check=True)
        (Path(folder) / mutant.file).write_bytes(mutant.source())
        files = sorted({*map(_function, items)})
        words = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-n", "0", *files]
        environment = {**os.environ, "PYTHONPATH": folder}
        try:
            done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, timeout=600, check=False)
        except subprocess.TimeoutExpired:
            return False
        return not done.returncode


def _counts(tried: MutationRun, file: Path | None = None) -> str:
    found = (tried.mutants, tried.survivors, tried.bare)
    many, live, bare = (sum(file in (mutant.file, None) for mutant in mutants) for mutants in found)
    return f"{many:,} mutants, {live:,} survive, {bare:,} are executed by no test"


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("paths", nargs="+", help="files and folders below sftui/, or `file:line`")
    reader.add_argument("--tests", help="what pytest is given, instead of the tests nearest to the first path")
    reader.add_argument("--limit", type=int, help="so many mutants of each file, drawn")
    reader.add_argument("--seed", type=int, default=1)
    reader.add_argument("--apart", action="store_true", help="each survivor once more, in a process of its own")
    asked = reader.parse_args()
    drawn = list[Mutant]()
    for words in asked.paths:
        path, _, line = words.partition(":")
        for file in [Path(path)] if Path(path).is_file() else sorted(Path(path).rglob("*.py")):
            of_it = [it for it in mutants(file.resolve().relative_to(REPO)) if not line or it.line == int(line)]
            whole = asked.limit is None or asked.limit >= len(of_it)
            drawn += of_it if whole else random.Random(asked.seed).sample(of_it, asked.limit)
    nearest = NEAREST[max((path for path in NEAREST if asked.paths[0].startswith(path)), key=len)]
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    tried = MutationRun(drawn, apart=asked.apart)
    words = ["-q", "-p", "no:cacheprovider", "-n", "0", "-s", *shlex.split(asked.tests or nearest)]
    if ended := pytest.main(words, plugins=[tried]):
        print(f"pytest ended with {int(ended)}, so not every mutant was tried")
        return 2
    for file in dict.fromkeys(mutant.file for mutant in drawn):
        print(f"{file}: {_counts(tried, file)}")
    print(f"all: {_counts(tried)}")
    return 1 if tried.survivors else 0


if __name__ == "__main__":
    raise SystemExit(main())
