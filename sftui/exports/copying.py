"""A module's source with values filled in: a stand-alone script of what they leave of it.

The text is copied, comments and layout with it. A branch whose test is known from the values is taken or left out, a
known operand of `and` and `or` too, `CONFIG.name` becomes its value, and annotations go. Of functions, constants (names
in capitals) and imports those stay that what runs needs. Tests of constants, `CONFIG` and literals alone are known.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby, pairwise
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
    assert source.isascii(), "places are counted in bytes"
    module = _read(source)
    values = {name: ast.literal_eval(node.value) for name, node in _constants(module.tree) if node.value}
    if unknown := constants.keys() - values.keys():
        raise KeyError(*unknown)
    values = {**values, **constants}
    filling = _ScriptFill("".join(_filled(part, {**values, CONFIG: config}) for part in module.parts()), {})
    body = filling.tree.body
    kept = [node for node in body if _is_code(node) and not hasattr(node, "name")]
    named = {node.name: node for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    for node in kept:
        kept += [named[name] for name in _names(node) if name in named and named[name] not in kept]
    used = {name for node in kept for name in _names(node)}
    constant = [(name, filling.rest_of_line(node)) for name, node in _constants(filling.tree) if name in used]
    tops = [_assignment(name, values[name], comment) for name, comment in constant]
    texts = [filling.text_of(node) for node in body if node in kept]
    return "\n\n\n".join(["\n".join([*_imports(filling.tree, used), *tops]), *texts]) + "\n"


@lru_cache(1)
def _read(source: str) -> _ScriptFill:
    return _ScriptFill(source, {})


def _filled(source: str, values: Mapping[str, Any]) -> str:
    """What the values leave of a part: what is written otherwise is looked through again."""
    filling = _ScriptFill(source, values)
    edits = sorted(filling.edits(filling.tree), reverse=True)
    for start, end, new in edits:
        source = source[:start] + new + source[end:]
    return _filled(source, values) if edits else source


def _names(node: ast.stmt) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _is_code(node: ast.stmt) -> bool:
    """Neither an import, nor a name that is given a value, nor the module's own docstring."""
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    named = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    return not named and not isinstance(node, (ast.Import, ast.ImportFrom, ast.AnnAssign))


def _constants(tree: ast.Module) -> Iterator[tuple[str, ast.Assign | ast.AnnAssign]]:
    """The names in capitals that the module gives plain values."""
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            if isinstance(target, ast.Name) and target.id.isupper() and target.id != CONFIG:
                yield target.id, node


def _assignment(name: str, value: Any, comment: str) -> str:
    """A constant with its value, a long one line by line."""
    whole = f"{name} = {literal(value)}"
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
    """A module's source, and what the values leave to write otherwise in it: the outermost of it first."""

    def __init__(self, source: str, values: Mapping[str, Any]) -> None:
        self.tree = ast.parse(source)
        self._source, self._values = source, values
        self._lines = [0, *(found.end() for found in re.finditer("\n", source))]

    def parts(self) -> Iterator[str]:
        """The source, cut before each statement but the first."""
        for start, end in pairwise([0, *map(self._line, self.tree.body[1:]), len(self._source)]):
            yield self._source[start:end]

    def text_of(self, node: ast.stmt) -> str:
        """A statement of the module."""
        return re.sub(r"\n{3,}", "\n\n", self._source[self._line(node) : self._after([node])]).strip("\n")

    def rest_of_line(self, node: ast.stmt) -> str:
        """What stands behind a statement on its last line: its comment."""
        return self._source[self._end(node) : self._after([node])].rstrip("\n")

    def edits(self, node: ast.AST) -> Iterator[Edit]:
        """What is written otherwise of a node, none within another: what is known of a test must be seen whole."""
        if isinstance(node, ast.If) and (known := self._known(node.test)) is not None:
            yield self._branch(node, known)
            return
        if isinstance(node, ast.IfExp) and (known := self._known(node.test)) is not None:
            yield self._start(node), self._end(node), self._alone(node.body if known else node.orelse)
            return
        if isinstance(node, ast.BoolOp) and any(self._known(value) is not None for value in node.values):
            yield self._start(node), self._end(node), self._operands(node.values)
            return
        if isinstance(node, ast.Attribute) and CONFIG in {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}:
            yield self._start(node), self._end(node), literal(self._value(node))
            return
        if isinstance(node, ast.FunctionDef):
            yield from self._signature(node)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            yield self._end(node.target), self._end(node.annotation), ""
        for inner in ast.iter_child_nodes(node):
            if not isinstance(inner, (ast.arguments, ast.Import, ast.ImportFrom)):
                yield from self.edits(inner)

    def _signature(self, node: ast.FunctionDef) -> Iterator[Edit]:
        """The names and defaults of a function's arguments alone."""
        arguments, defaults = node.args.args, node.args.defaults
        for one, default in zip(arguments, [*[None] * (len(arguments) - len(defaults)), *defaults]):
            if one.annotation is not None:
                name, end = self._start(one) + len(one.arg), self._end(one)
                yield name, end if default is None else self._start(default), "" if default is None else "="
        if node.returns is not None:
            yield self._source.rindex(")", 0, self._start(node.returns)) + 1, self._end(node.returns), ""

    def _branch(self, node: ast.If, known: bool) -> Edit:
        """An `if` or `elif` whose test is known."""
        start, line, after, later = self._start(node), self._line(node), self._after([node]), self._is_elif(node)
        if known:
            block = self._block(self._end(node.test), node.body)
            return (start, after, f"else:\n{block}") if later else (line, after, _further_left(block))
        if not node.orelse:
            return line, after, ""
        if self._is_elif(node.orelse[0]):
            return start, self._start(node.orelse[0]) + (0 if later else len("el")), ""
        other = self._source.index(" " * node.col_offset + "else:", self._after(node.body))
        return (line, other, "") if later else (line, after, _further_left(self._block(other, node.orelse)))

    def _is_elif(self, node: ast.stmt) -> bool:
        return isinstance(node, ast.If) and self._source.startswith("elif", self._start(node))

    def _block(self, head: int, body: Sequence[ast.stmt]) -> str:
        """The lines of a block behind its head, which ends in a colon."""
        return self._source[self._source.index("\n", self._source.index(":", head)) + 1 : self._after(body)]

    def _alone(self, node: ast.expr) -> str:
        return self._source[self._start(node) : self._end(node)]

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


def _escaped(char: str) -> str:
    if char == '"':
        return '\\"'
    return char if " " <= char <= "~" and char != "\\" else ascii(char)[1:-1].replace("\\'", "'")
