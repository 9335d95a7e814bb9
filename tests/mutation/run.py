"""Change one operator, constant or condition of the code at a time, and run the tests that should notice.

    python tests/mutation/run.py sftui/labels.py --limit 100
    python tests/mutation/run.py sftui/trainers/trl --tests tests/unit/trainers --seed 7

The tests are collected and run once, to see which of them execute which line; a mutant is then a fork of that process,
with the changed code in its functions and the tests of its line, the quickest first, until one fails. What none of them
noticed is tried once more in a process of its own, since a value kept from before may hide a change. Prints each mutant
that survives, as `file:line before → after`, those whose line no test executes apart, and how many there were; exit 1
with survivors, 2 where the tests cannot be run. Who reads them judges each: equivalent, harmless, or a test that is
missing. What stands outside of functions is not tried. Not part of CI.
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
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
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
SECONDS = 20
"""Of tests a mutant may take in a fork; the slowest of those that execute its line are left out beyond it."""
CLOCK = 60
"""Seconds after which a mutant counts as noticed: it does not end."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: the file, the node's place in its bytes, what stands there and what comes in its stead."""

    file: Path
    line: int
    start: int
    stop: int
    before: str
    after: str

    def sentence(self) -> str:
        return f"{self.file}:{self.line} {' '.join(self.before.split())} → {' '.join(self.after.split())}"

    def source(self) -> bytes:
        """The file with the change in it."""
        whole = (REPO / self.file).read_bytes()
        return whole[: self.start] + self.after.encode() + whole[self.stop :]


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
                yield Mutant(file, node.lineno, start, stop, source[start:stop].decode(), f"({ast.unparse(changed)})")  # type: ignore[attr-defined]


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

    def __init__(self, mutants: Sequence[Mutant]) -> None:
        self.mutants = mutants
        self.survivors: list[Mutant] = []
        self.bare: list[Mutant] = []
        self._tests: dict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
        self._seconds: dict[pytest.Item, float] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._trace(session.items)
        for number, mutant in enumerate(self.mutants):
            tests = self._tests.get((str(REPO / mutant.file), mutant.line), [])
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
        passes = run(items)
        for item in items:
            lines.seen.clear()
            began = time.perf_counter()
            sys.settrace(lines)
            passed = next(passes)
            sys.settrace(None)
            self._seconds[item] = time.perf_counter() - began
            for line in lines.seen if passed else ():
                self._tests[line].append(item)
            if not passed:
                print("fails as it is:", item.nodeid, flush=True)

    def _lives(self, mutant: Mutant, tests: Sequence[pytest.Item]) -> bool:
        """Whether every test of the mutant's line passes, in a fork and then in a process of its own."""
        left, chosen = float(SECONDS), list[pytest.Item]()
        for item in sorted(tests, key=self._seconds.__getitem__):
            left -= self._seconds[item]
            if left < 0 and chosen:
                break
            chosen.append(item)
        child = os.fork()
        if not child:
            status = 1
            with contextlib.suppress(BaseException):
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(CLOCK)
                put_in(mutant)
                status = int(not all(run(chosen)))
            os._exit(status)
        return not os.waitpid(child, 0)[1] and _passes(mutant, chosen)


def put_in(mutant: Mutant) -> None:
    """Puts the changed code into the functions of this process, and empties what sftui's functions keep."""
    name = str(REPO / mutant.file)
    before, after = (compile(source, name, "exec") for source in ((REPO / mutant.file).read_bytes(), mutant.source()))
    changed = {_place(old): new for old, new in zip(_codes(before), _codes(after), strict=True)}
    gc.unfreeze()
    for kept in gc.get_objects():
        if isinstance(kept, FunctionType) and kept.__code__.co_filename == name:
            kept.__code__ = changed[_place(kept.__code__)]
        elif isinstance(kept, functools._lru_cache_wrapper) and kept.__module__.startswith("sftui"):
            kept.cache_clear()


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
        files = sorted({item.nodeid.partition("[")[0] for item in items})
        words = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-n", "0", *files]
        environment = {**os.environ, "PYTHONPATH": folder}
        try:
            done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, timeout=600, check=False)
        except subprocess.TimeoutExpired:
            return False
        return not done.returncode


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("paths", nargs="+", type=Path, help="files and folders below sftui/")
    reader.add_argument("--tests", help="what pytest is given, instead of the tests nearest to the first path")
    reader.add_argument("--limit", type=int, help="so many mutants, drawn from all")
    reader.add_argument("--seed", type=int, default=1)
    asked = reader.parse_args()
    files = [file for path in asked.paths for file in ([path] if path.is_file() else sorted(path.rglob("*.py")))]
    drawn = [mutant for file in files for mutant in mutants(file.resolve().relative_to(REPO))]
    if asked.limit is not None and asked.limit < len(drawn):
        drawn = random.Random(asked.seed).sample(drawn, asked.limit)
    nearest = NEAREST[max((path for path in NEAREST if str(asked.paths[0]).startswith(path)), key=len)]
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    tried = MutationRun(drawn)
    words = ["-q", "-p", "no:cacheprovider", "-n", "0", "-s", *(asked.tests or nearest).split()]
    if ended := pytest.main(words, plugins=[tried]):
        print(f"pytest ended with {int(ended)}, so not every mutant was tried")
        return 2
    print(f"{len(drawn):,} mutants, {len(tried.survivors):,} survive, {len(tried.bare):,} are executed by no test")
    return 1 if tried.survivors else 0


if __name__ == "__main__":
    raise SystemExit(main())
