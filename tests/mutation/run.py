"""Change one operator, constant or condition of the code at a time, and run the tests that should notice.

    python tests/mutation/run.py sftui/labels.py --limit 100 --jobs 2
    python tests/mutation/run.py sftui/trainers/trl --tests "tests/unit/trainers -k trl" --seed 7

Works in a copy of the checkout. Prints each mutant that no test killed, as `file:line before → after`, and how many
there were; exit 1 with survivors. Who reads them judges each: equivalent, harmless, or a test that is missing. Not part
of CI: a mutant costs its tests, some seconds each.
"""

from __future__ import annotations

import argparse
import ast
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

REPO = Path(__file__).resolve().parents[2]
NEAREST = {
    "sftui/labels.py": "tests/unit/labels tests/unit/test_pipeline_packs.py tests/unit/trainers",
    "sftui/findings/rules": "tests/unit/findings",
    "sftui/trainers": "tests/unit/trainers",
    "sftui": "tests/unit",
}
"""The tests of a path: those of the longest beginning that it has."""
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult},
}
SECONDS = 600
"""How long the tests of a mutant may take; one that takes longer is killed by it."""


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


def mutants(file: Path) -> Iterator[Mutant]:
    """Every change of a file, in order."""
    source = (REPO / file).read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in ast.walk(ast.parse(source)):
        for changed in _changed(node):
            start = starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
            stop = starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
            before = source[start:stop].decode()
            yield Mutant(file, node.lineno, start, stop, before, f"({ast.unparse(changed)})")  # type: ignore[attr-defined]


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


def tests_of(file: Path) -> str:
    """The tests nearest to a file."""
    return NEAREST[max((one for one in NEAREST if str(file).startswith(one)), key=len)]


def passes(tree: Path, tests: str) -> bool:
    """Whether the tests pass in a tree."""
    words = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-n", "0", *tests.split()]
    try:
        return not subprocess.run(words, cwd=tree, capture_output=True, timeout=SECONDS, check=False).returncode
    except subprocess.TimeoutExpired:
        return False


def survives(mutant: Mutant, tree: Path, tests: str) -> bool:
    """Whether the tests pass with the mutant in a tree, which is put back."""
    target = tree / mutant.file
    source = target.read_bytes()
    target.write_bytes(source[: mutant.start] + mutant.after.encode() + source[mutant.stop :])
    try:
        return passes(tree, tests)
    finally:
        target.write_bytes(source)


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("paths", nargs="+", type=Path, help="files and folders below sftui/")
    reader.add_argument("--tests", help="what pytest is given, instead of the tests nearest to each file")
    reader.add_argument("--limit", type=int, help="so many mutants, drawn from all")
    reader.add_argument("--seed", type=int, default=1)
    reader.add_argument("--jobs", type=int, default=1)
    asked = reader.parse_args()
    files = [file for path in asked.paths for file in ([path] if path.is_file() else sorted(path.rglob("*.py")))]
    drawn = [one for file in files for one in mutants(file.resolve().relative_to(REPO))]
    if asked.limit is not None and asked.limit < len(drawn):
        drawn = random.Random(asked.seed).sample(drawn, asked.limit)
    trees: Queue[Path] = Queue()
    with tempfile.TemporaryDirectory(prefix="sftui-mutation-") as folder, ThreadPoolExecutor(asked.jobs) as pool:
        for number in range(asked.jobs):
            tree = Path(folder) / str(number)
            shutil.copytree(REPO, tree, ignore=shutil.ignore_patterns(".git", ".venv", "build", "*cache*"))
            trees.put(tree)

        for tests in sorted({asked.tests or tests_of(mutant.file) for mutant in drawn}):
            if not passes(Path(folder) / "0", tests):
                sys.exit(f"{tests} fail as they are")

        def tried(mutant: Mutant) -> bool:
            tree = trees.get()
            try:
                return survives(mutant, tree, asked.tests or tests_of(mutant.file))
            finally:
                trees.put(tree)

        survivors = 0
        for mutant, lives in zip(drawn, pool.map(tried, drawn)):
            survivors += lives
            if lives:
                print(mutant.sentence(), flush=True)
    print(f"{len(drawn):,} mutants, {survivors:,} survive")
    return 1 if survivors else 0


if __name__ == "__main__":
    raise SystemExit(main())
