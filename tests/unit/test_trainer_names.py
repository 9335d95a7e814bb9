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
TABLES = ("Rule", "fatal", "loud", "major", "minor", "info", "case", "Case")
"""Calls that only present: what a rule says to each trainer, and the examples it brings, which begin with a preset.
What a file assigns for them alone presents, too."""
PRESENTING = PACKAGE / "trainer_names.py"


def presents(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in TABLES


def read(tree: ast.AST) -> Iterator[str]:
    """The names that code reads, tables left out."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        if not presents(node):
            yield from read(node)


def known(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Each place of code that knows a trainer: its line, and by what. Docstrings and sentences are none."""
    for_tables = set[str]()
    if isinstance(tree, ast.Module):
        within = {
            one.id for call in ast.walk(tree) if presents(call) for one in ast.walk(call) if isinstance(one, ast.Name)
        }
        for_tables = within and within - {*read(tree)}
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.Call() if presents(node):
                continue
            case ast.Assign(targets=[ast.Name(id=name)]) if name in for_tables:
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
        ("_SLOTS = {'render.template': 'llamafactory/qwen'}\nLAB = Rule('LAB', bad=case(changes=_SLOTS))", []),
        ("_MINE = ('trl',)\nLAB = Rule('LAB', more=_MINE)\ndef f(x): return x in _MINE", ["trl"]),
        ("LAB = Rule('LAB', trl='x', bad=case(GOOD, preset='trl@1.16'))", []),
    ],
)
def test_what_counts_as_knowing_a_trainer(text: str, found: list[str]) -> None:
    assert [what for _, what in known(ast.parse(text))] == found


def test_no_trainer_is_known_outside_the_trainers() -> None:
    told = [
        f"{file.relative_to(PACKAGE)}:{line} knows {what}"
        for file in sorted(PACKAGE.rglob("*.py"))
        if PACKAGE / "trainers" not in file.parents and file != PRESENTING
        for line, what in known(ast.parse(file.read_text(encoding="utf-8")))
    ]
    assert not told, "\n".join(told)
