"""Which place of a template wrote which characters: the template with marks at every node, rendered and read back."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sftui.templates.surgery_tree import Tree, quoted

_OPEN, _CLOSE = "\x02", "\x03"
_MARK = re.compile(f"{_OPEN}([^{_CLOSE}]*){_CLOSE}", re.DOTALL)

Range = tuple[int, int]


@dataclass(slots=True)
class NodeWrite:
    """One time that a node wrote: the characters of each operand, the role of the message at hand, and its conditions.

    `role` is None outside loops over messages, `loop` the one it came from; `values` are the truth values tested, as
    a string of 0 and 1.
    """

    leaf: int
    operands: list[Range]
    role: str | None
    values: str = ""
    loop: int | None = None


def with_marks(tree: Tree, sets: Collection[int] = (), conditions: Mapping[int, Sequence[str]] | None = None) -> str:
    """The template with a mark before every operand it writes, and before each loop body the role in its variable.

    `sets` are the `set` tags to mark too; `conditions` are evaluated where their node writes.
    """
    edits: list[tuple[int, int, str]] = [(start, end, "") for start, end in tree.blanks]
    for compound, (number, name) in tree.loops:
        place = compound.regions[0][0]
        edits.append((place, place, "{{ " + _mark(f"R{number}:", f"{name}['role'] ~ ") + " }}"))
    for leaf in tree.leaves:
        if leaf.kind == "set" and leaf.number not in sets:
            continue
        parts = []
        for number, operand in enumerate(leaf.operands):
            parts.append(f"{quoted(f'{_OPEN}{leaf.number}.{number}{_CLOSE}')} ~ ({operand.source})")
        text = " ~ ".join(parts) or "''"
        if leaf.kind == "set":
            edits.append((leaf.start, leaf.end, "{% set " + f"{leaf.target} = {text}" + " %}"))
            continue
        values = "".join(f"(1 if ({condition}) else 0) ~ " for condition in (conditions or {}).get(leaf.number, ()))
        tests = "{{ " + _mark(f"C{leaf.number}:", values) + " }}" if values else ""
        edits.append((leaf.start, leaf.end, tests + "{{ " + text + " }}"))
    return applied(tree.source, edits)


def _mark(head: str, value: str) -> str:
    return f"{quoted(_OPEN + head)} ~ {value}{quoted(_CLOSE)}"


def applied(source: str, edits: list[tuple[int, int, str]]) -> str:
    """The source with every stretch replaced; stretches do not overlap."""
    out, at = [], 0
    for start, end, text in sorted(edits, key=lambda edit: (edit[0], edit[1])):
        out += [source[at:start], text]
        at = end
    return "".join([*out, source[at:]])


def read_back(tree: Tree, marked: str, text: str) -> list[NodeWrite] | None:
    """Who wrote what in `text`; None where the marks changed it, or the text holds control characters of its own."""
    if _OPEN in text or _CLOSE in text:
        return None
    pieces = _MARK.split(marked)
    if "".join(pieces[::2]) != text:
        return None
    found: list[NodeWrite] = []
    roles: dict[int, str] = {}
    values: dict[int, str] = {}
    at = len(pieces[0])
    for name, piece in zip(pieces[1::2], pieces[2::2]):
        end = at + len(piece)
        if name.startswith("R"):
            loop, _, role = name[1:].partition(":")
            roles[int(loop)] = role
        elif name.startswith("C"):
            leaf_number, _, bits = name[1:].partition(":")
            values[int(leaf_number)] = bits
        else:
            leaf, _, operand = name.partition(".")
            number = int(leaf)
            if operand == "0":
                loop = next((one for one, _ in reversed(tree.leaves[number].loops) if roles.get(one)), None)
                found.append(NodeWrite(number, [], None if loop is None else roles[loop], values.get(number, ""), loop))
            mine = next(one for one in reversed(found) if one.leaf == number)
            mine.operands.append((at, end))
        at = end
    return found
