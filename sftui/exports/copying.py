"""A module's source with values filled in: a stand-alone script of what they leave of it.

The text is copied, comments and layout with it. A branch whose test is known from the values is taken or left out, a
known operand of `and` and `or` too, `CONFIG.name` becomes its value, and annotations go. Of functions, constants (names
in capitals) and imports those stay that what runs needs. Tests of constants, `CONFIG` and literals alone are known.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

CONFIG = "CONFIG"
WIDTH = 120
_IN_KNOWN = (ast.Constant, ast.Name, ast.Attribute, ast.Compare, ast.UnaryOp, ast.BoolOp, ast.List, ast.Tuple)
_SYNTAX = (ast.expr_context, ast.cmpop, ast.boolop, ast.unaryop)


def copied(source: str, config: object, constants: Mapping[str, Any]) -> str:
    """The script that `source`, plain ASCII, is where its `CONFIG` is `config` and its constants are these.

    Constants that are not named keep their values; imports of sftui are left out. KeyError for a constant that the
    module does not have.
    """
    tree = ast.parse(source)
    assigned = dict(_constants(tree))
    values = {name: ast.literal_eval(node.value) for name, node in assigned.items() if node.value is not None}
    for name, value in constants.items():
        assigned[name], values[name] = assigned[name], value
    filling = _ScriptFill(source, {**values, CONFIG: config})
    units = [_Unit.of(getattr(node, "name", None), filling.text_of(node)) for node in tree.body if _is_code(node)]
    kept = _needed(units)
    used = {name for unit in kept for name in unit.needs}
    tops = [
        _assignment(name, values[name], filling.rest_of_line(node)) for name, node in assigned.items() if name in used
    ]
    return "\n\n\n".join(["\n".join([*_imports(tree, used), *tops]), *(unit.text for unit in kept)]) + "\n"


@dataclass(frozen=True, slots=True)
class _Unit:
    """A function or class of the module, or a statement that runs at once (name None); filled in, it may be nothing."""

    name: str | None
    text: str
    needs: frozenset[str]

    @classmethod
    def of(cls, name: str | None, text: str) -> _Unit:
        return cls(name, text, frozenset(node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)))


def _needed(units: Sequence[_Unit]) -> list[_Unit]:
    """The statements that run at once, and every function and class that they come to, in the order of the module."""
    named = {unit.name: unit for unit in units if unit.name is not None}
    found = [unit for unit in units if unit.name is None and unit.text]
    for unit in found:
        found += [named[name] for name in unit.needs if name in named and named[name] not in found]
    return [unit for unit in units if unit in found]


def _is_code(node: ast.stmt) -> bool:
    """Neither an import, nor an assignment, nor the module's own docstring."""
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    return not isinstance(node, (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign))


def _constants(tree: ast.Module) -> Iterator[tuple[str, ast.Assign | ast.AnnAssign]]:
    """The names in capitals that the module gives plain values."""
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            if isinstance(target, ast.Name) and target.id.isupper() and target.id != CONFIG:
                yield target.id, node


def _assignment(name: str, value: Any, comment: str) -> str:
    """A constant with its value, a long one line by line."""
    whole = assign(name, value)
    if isinstance(value, str) and "\n" in value:
        return "\n".join([f"{name} = ({comment}", *(f"    {literal(line)}" for line in value.splitlines(True)), ")"])
    if isinstance(value, dict) and len(whole + comment) > WIDTH:
        items = [f"    {literal(key)}: {literal(item)}," for key, item in value.items()]
        return "\n".join([f"{name} = {{{comment}", *items, "}"])
    if isinstance(value, (list, tuple)) and len(whole + comment) > WIDTH:
        return "\n".join([f"{name} = [{comment}", *(f"    {literal(item)}," for item in value), "]"])
    return whole + comment


def _imports(tree: ast.Module, used: set[str]) -> Iterator[str]:
    """The imports that bind a name in use, the standard library's before the others."""
    found: list[tuple[int, str]] = []
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            module = (node.module or "") if isinstance(node, ast.ImportFrom) else node.names[0].name
            home = module.partition(".")[0]
            node.names = [name for name in node.names if name.name in used]
            if node.names and home != "sftui":
                found.append((home not in sys.stdlib_module_names, ast.unparse(node)))
    for _, lines in groupby(found, key=lambda one: one[0]):
        yield from (*(line for _, line in lines), "")


Edit = tuple[int, int, str]
"""From where to where the source is written otherwise, and how."""


class _ScriptFill:
    """The values, and the text that they are worked into."""

    def __init__(self, source: str, values: Mapping[str, Any]) -> None:
        assert source.isascii(), "places are counted in bytes"
        self._source = source
        self._values = values
        self._lines = [0, *(found.end() for found in re.finditer("\n", source))]

    def text_of(self, node: ast.stmt) -> str:
        """A statement of the module with the values worked in; empty where they leave nothing of it."""
        return re.sub(r"\n{3,}", "\n\n", self._text(self._line(node), self._after([node]), [node])).strip("\n")

    def rest_of_line(self, node: ast.stmt) -> str:
        """What stands behind a statement on its last line: its comment."""
        return self._source[self._end(node) : self._after([node])].rstrip("\n")

    def _text(self, start: int, end: int, nodes: Sequence[ast.AST]) -> str:
        """The source between two places, with the values worked into the nodes that stand there."""
        text = ""
        for begin, stop, new in sorted(self._each(nodes)):
            text += self._source[start:begin] + new
            start = stop
        return text + self._source[start:end]

    def _each(self, nodes: Iterable[ast.AST]) -> Iterator[Edit]:
        for node in nodes:
            yield from self._edits(node)

    def _edits(self, node: ast.AST) -> Iterator[Edit]:
        """What is written otherwise of a node."""
        if isinstance(node, ast.If):
            yield from self._branch(node)
        elif isinstance(node, ast.IfExp) and (known := self._known(node.test)) is not None:
            yield self._start(node), self._end(node), self._alone(node.body if known else node.orelse)
        elif isinstance(node, ast.BoolOp) and any(self._known(value) is not None for value in node.values):
            yield self._start(node), self._end(node), self._operands(node.values)
        elif isinstance(node, ast.Attribute) and CONFIG in {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}:
            yield self._start(node), self._end(node), literal(self._value(node))
        elif isinstance(node, ast.FunctionDef):
            yield from self._signature(node)
            yield from self._each(node.body)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            yield self._end(node.target), self._end(node.annotation), ""
            yield from self._edits(node.value)
        else:
            yield from self._each(ast.iter_child_nodes(node))

    def _signature(self, node: ast.FunctionDef) -> Iterator[Edit]:
        """The names and defaults of a function's arguments alone."""
        arguments, defaults = node.args.args, node.args.defaults
        for one, default in zip(arguments, [*[None] * (len(arguments) - len(defaults)), *defaults]):
            name, end = self._start(one) + len(one.arg), self._end(one)
            yield name, end if default is None else self._start(default), "" if default is None else "="
        if node.returns is not None:
            yield self._source.rindex(")", 0, self._start(node.returns)) + 1, self._end(node.returns), ""

    def _branch(self, node: ast.If, first: bool = True) -> Iterator[Edit]:
        """An `if` or `elif`; `first`: no branch of it stands before this one."""
        known, start, after = self._known(node.test), self._line(node), self._after([node])
        other, is_elif = self._otherwise(node)
        if known:
            block = self._block(self._end(node.test), node.body)
            yield (start, after, _further_left(block)) if first else (self._start(node), after, f"else:\n{block}")
            return
        if known is False and first and node.orelse and not is_elif:
            yield start, after, _further_left(self._block(other, node.orelse))
            return
        if known is False:
            yield start, other, ""
        else:
            if first and self._source.startswith("elif", self._start(node)):
                yield self._start(node), self._start(node) + len("elif"), "if"
            yield from self._each([node.test, *node.body])
        if is_elif:
            yield from self._branch(node.orelse[0], first and known is False)  # type: ignore[arg-type]
        else:
            yield from self._each(node.orelse)

    def _block(self, head: int, body: Sequence[ast.stmt]) -> str:
        """The lines of a block behind its head, which ends in a colon."""
        return self._text(self._source.index("\n", self._source.index(":", head)) + 1, self._after(body), body)

    def _otherwise(self, node: ast.If) -> tuple[int, bool]:
        """Where the line of the `elif` or `else` begins, or what follows the statement; whether it is an `elif`."""
        if not node.orelse:
            return self._after([node]), False
        if isinstance(node.orelse[0], ast.If) and self._source.startswith("elif", self._start(node.orelse[0])):
            return self._line(node.orelse[0]), True
        after = self._after(node.body)
        return after + self._source[after:].index(" " * node.col_offset + "else:"), False

    def _alone(self, node: ast.expr) -> str:
        return self._text(self._start(node), self._end(node), [node])

    def _operands(self, operands: Sequence[ast.expr]) -> str:
        """Those that are not known; of the operators between them the one before each stays."""
        text = ""
        for before, operand in zip([None, *operands], operands):
            if self._known(operand) is None:
                if text and before is not None:
                    text += self._source[self._end(before) : self._start(operand)]
                text += self._alone(operand)
        return text

    def _known(self, node: ast.expr) -> bool | None:
        """What a test is; None where that shows when the script runs."""
        if isinstance(node, ast.BoolOp):
            known = [self._known(value) for value in node.values]
            settles = isinstance(node.op, ast.Or)
            return settles if settles in known else None if None in known else not settles
        inside = list(ast.walk(node))
        if not all(isinstance(part, (*_IN_KNOWN, *_SYNTAX)) for part in inside):
            return None
        names = [part.id for part in inside if isinstance(part, ast.Name)]
        if not names or not all(name in self._values for name in names):
            return None  # a literal alone is the value of something, as in `x or []`
        return bool(self._value(node))

    def _value(self, node: ast.expr) -> Any:
        return eval(compile(ast.Expression(node), "known", "eval"), {"__builtins__": {}}, dict(self._values))

    def _start(self, node: ast.expr | ast.stmt | ast.arg) -> int:
        return self._lines[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt | ast.arg) -> int:
        return self._lines[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)

    def _line(self, node: ast.stmt) -> int:
        return self._lines[node.lineno - 1]

    def _after(self, block: Sequence[ast.stmt]) -> int:
        """Where the line after a block begins."""
        return self._lines[block[-1].end_lineno or 0]


def _further_left(block: str) -> str:
    return re.sub(r"(?m)^ {4}", "", block)


class Code(str):
    """An expression that stands as it is."""


def literal(value: Any) -> str:
    """A Python literal in plain ASCII, strings in double quotes; only plain data is taken."""
    if isinstance(value, Code):
        return value
    if isinstance(value, str):
        return '"' + "".join(_escaped(char) for char in value) + '"'
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(key)}: {literal(item)}" for key, item in value.items()) + "}"
    raise TypeError(f"{type(value).__name__} has no literal here")


def assign(name: str, value: Any) -> str:
    """`NAME = literal`."""
    return f"{name} = {literal(value)}"


def _escaped(char: str) -> str:
    if char == '"':
        return '\\"'
    return char if " " <= char <= "~" and char != "\\" else ascii(char)[1:-1].replace("\\'", "'")
