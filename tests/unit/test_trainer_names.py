"""Nobody knows a trainer by its name but the trainers: everybody else asks what it is (`sftui.trainers.Traits`)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import sftui
from sftui.trainers import TRAINERS, traits_of

PACKAGE = Path(sftui.__file__).parent
NAMES = (*TRAINERS, *(traits_of(name).title for name in TRAINERS))
NAMED = re.compile(rf"({'|'.join(map(re.escape, NAMES))})([@/:].*)?")
WITHIN = re.compile(rf"(^|_)({'|'.join(name.replace('-', '_') for name in TRAINERS)})(_|$)", re.IGNORECASE)
TABLES = ("rule", "case", "Case")
"""Calls that only present: what a rule says to each trainer, and the examples it brings, which begin with a preset."""
EXAMPLES = PACKAGE / "findings" / "examples.py"


def known(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Each place of code that knows a trainer: its line, and by what. Docstrings and sentences are none."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in TABLES:
                continue
            case ast.Expr(value=ast.Constant()):
                continue
            case ast.Constant(value=str(text)) if NAMED.fullmatch(text):
                yield node.lineno, text
            case ast.ImportFrom(module=str(text)) if re.match(r"sftui\.trainers\.(\w+)", text) and any(
                text.split(".")[2] == name.replace("-", "_") for name in TRAINERS
            ):
                yield node.lineno, text
            case ast.FunctionDef(name=text) | ast.ClassDef(name=text) if WITHIN.search(text):
                yield node.lineno, text
            case ast.Name(id=text, ctx=ast.Store()) | ast.arg(arg=text) if WITHIN.search(text):
                yield node.lineno, text
            case ast.keyword(arg=str(text)) if WITHIN.search(text):
                yield node.value.lineno, text
        yield from known(node)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("if recipe.trainer == 'trl': pass", ["trl"]),
        ("x = name.startswith('torchtune@')", ["torchtune@"]),
        ("from sftui.trainers.axolotl.turns import turns_of", ["sftui.trainers.axolotl.turns"]),
        ("KEYS = {'TRL': 1, ('hf-trainer', 'unsloth'): 2}", ["TRL", "hf-trainer", "unsloth"]),
        ("def axolotl_edges(look): pass", ["axolotl_edges"]),
        ("f(llamafactory='x')", ["llamafactory"]),
        ("def f():\n    'trl'\n    return 'as TRL does, trl 1.16'", []),
        ("LAB = rule('LAB', trl='x', bad=case(GOOD, preset='trl@1.16'))", []),
    ],
)
def test_what_counts_as_knowing_a_trainer(text: str, found: list[str]) -> None:
    assert [what for _, what in known(ast.parse(text))] == found


def test_no_trainer_is_known_outside_the_trainers() -> None:
    told = [
        f"{file.relative_to(PACKAGE)}:{line} knows {what}"
        for file in sorted(PACKAGE.rglob("*.py"))
        if PACKAGE / "trainers" not in file.parents and file != EXAMPLES
        for line, what in known(ast.parse(file.read_text(encoding="utf-8")))
    ]
    assert not told, "\n".join(told)
