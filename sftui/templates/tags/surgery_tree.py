"""A chat template as a tree of what it writes, each node with its place in the source.

Jinja's own lexer finds the places, so strings, comments, raw blocks and white space control are read as Jinja
reads them. Inside macros and `set` blocks nothing is listed: what they write reaches the text through an expression.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

_WRAPPED = {"macro", "call", "filter", "block", "generation", "autoescape"}
_LOOSE = {"if", "else", "and", "or", "not", "in", "is"}
_OTHER = {"==", "!=", "<", ">", "<=", ">=", "-", "*", "/", "//", "%", "**", ","}
_SHORT = 80

_OPEN, _CLOSE = "\x02", "\x03"
_MARK = re.compile(f"{_OPEN}([^{_CLOSE}]*){_CLOSE}", re.DOTALL)

Token = tuple[str, str, int]
Range = tuple[int, int]


@dataclass(slots=True)
class Operand:
    """One operand of a concatenation: its source, its text where it is one string literal, and the operator before it.

    `added` where a `+` stands on either side, which refuses what is no text; `~` takes anything.
    """

    source: str
    literal: str | None
    joiner: str = ""
    added: bool = False


@dataclass(slots=True)
class Leaf:
    """What writes: an expression (`kind` output), template text (data), or a `set` of a variable that is written later.

    `start`/`end` are the tag's place; `opening`/`closing` its delimiters, empty for data. `loops` are the enclosing
    `for` loops over one name, outermost first, as (number, name); `tests` are plain conditions met before it there.
    """

    kind: str
    number: int
    start: int
    end: int
    operands: list[Operand]
    opening: str = ""
    closing: str = ""
    target: str = ""
    loops: tuple[tuple[int, str], ...] = ()
    tests: tuple[str, ...] = ()


@dataclass(slots=True)
class Statement:
    """A tag that writes nothing and encloses nothing."""

    start: int
    end: int
    name: str
    plain_set: bool = False


@dataclass(slots=True)
class Compound:
    """A block with bodies: `if` has one a branch, `for` its own and the one of `else`; `regions` are their places."""

    name: str
    start: int
    end: int
    opening: str
    closing: str = ""
    bodies: list[list[Node]] = field(default_factory=list)
    regions: list[tuple[int, int]] = field(default_factory=list)
    loop: tuple[int, str] | None = None


Node = Leaf | Statement | Compound


@dataclass(slots=True)
class Tree:
    source: str
    body: list[Node]
    leaves: list[Leaf]
    loops: list[tuple[Compound, tuple[int, str]]]
    blanks: list[tuple[int, int]]


@dataclass(slots=True)
class _Tag:
    kind: str
    start: int
    end: int
    opening: str
    closing: str
    tokens: list[Token]


def read_tree(source: str) -> Tree:
    """The tree of a template's source, whose line ends are `\\n`; whatever Jinja's lexer raises, ValueError for odd
    nesting."""
    reader = _TreeReader(source)
    for item in _items(source):
        reader.add(item)
    if len(reader.stack) != 1:
        raise ValueError("a block is not closed")
    return Tree(source, reader.stack[0], reader.leaves, reader.loops, reader.blanks)


def without_tags(source: str) -> str:
    """The source without its generation tags; an empty comment, which treats white space alike, where there is some to
    treat."""
    out, at = "", 0
    for item in _items(source):
        if (
            isinstance(item, _Tag)
            and item.kind == "block"
            and any(value in ("generation", "endgeneration") for _, value, _ in item.tokens[:2])
        ):
            around = source[item.start - 1 : item.start] + source[item.end : item.end + 1]
            bare = item.opening + item.closing == "{%%}" and not any(letter.isspace() for letter in around)
            out += source[at : item.start] + (
                "" if bare else f"{item.opening.replace('%', '#')} {item.closing.replace('%', '#')}"
            )
            at = item.end
    return out + source[at:]


def walk(body: list[Node]) -> Iterator[Node]:
    """Every node below, in the order of the source."""
    for node in body:
        yield node
        if isinstance(node, Compound):
            for inner in node.bodies:
                yield from walk(inner)


def literal(token: str) -> str:
    """What a string token stands for, as Jinja reads it."""
    return token[1:-1].encode("ascii", "backslashreplace").decode("unicode-escape")


def quoted(text: str) -> str:
    """A Jinja string token that stands for `text`."""
    out = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return f"'{out}'"


def operands_of(source: str, tokens: list[Token]) -> list[Operand]:
    """The operands of a `+` and `~` concatenation; the whole expression as one where it is anything else."""
    solid = [token for token in tokens if token[0] != "whitespace"]
    if not solid:
        return []
    depth = 0
    group: list[Token] = []
    out: list[Operand] = []
    joiner = ""
    for token in solid:
        kind, value, _ = token
        if kind == "operator" and value in "([{":
            depth += 1
        elif kind == "operator" and value in ")]}":
            depth -= 1
        elif depth == 0 and ((kind == "name" and value in _LOOSE) or (kind == "operator" and value in _OTHER)):
            return [_operand(source, solid)]
        if depth == 0 and kind == "operator" and value in "+~" and group:
            out.append(_operand(source, group, joiner))
            group, joiner = [], value
        else:
            group.append(token)
    if not group:
        return [_operand(source, solid)]
    out.append(_operand(source, group, joiner))
    for one, after in zip(out, [*(later.joiner for later in out[1:]), ""]):
        one.added = "+" in (one.joiner, after)
    return out


def _operand(source: str, tokens: list[Token], joiner: str = "") -> Operand:
    start, end = tokens[0][2], tokens[-1][2] + len(tokens[-1][1])
    text = literal(tokens[0][1]) if len(tokens) == 1 and tokens[0][0] == "string" else None
    return Operand(source[start:end], text, joiner)


def _items(source: str) -> Iterator[_Tag | tuple[int, int, str]]:
    """Tags, and between them what the template itself writes, as (start, end, text)."""
    from sftui.templates.rendering.sandbox import ChatEnvironment

    at, data_start, raw, data = 0, 0, 0, ""
    tag: _Tag | None = None
    for _, kind, value in ChatEnvironment(datetime.now).lexer.tokeniter(source, None):
        if kind == "data":
            data += value
        elif kind in ("block_begin", "variable_begin", "comment_begin", "raw_begin", "raw_end"):
            begin = at + len(data)
            while not source.startswith(value, begin):
                begin += 1
                if begin > len(source):
                    raise ValueError("the source could not be parsed")
            at = begin + len(value)
            if kind == "raw_end":
                # A raw block is text, tags and all, with the line break that it swallows.
                begin = at
                yield raw, begin, data
            else:
                if begin > data_start:
                    yield data_start, begin, data
                if kind != "raw_begin":
                    tag = _Tag(kind.partition("_")[0], begin, 0, value, "", [])
            raw = data_start = begin
            data = ""
        elif kind in ("block_end", "variable_end", "comment_end"):
            if tag is None:
                raise ValueError("the source could not be parsed")
            tag.closing, tag.end = value.strip(), at + len(value.rstrip())
            at += len(value)
            data_start = tag.end
            yield tag
            tag = None
        else:
            if tag is not None:
                tag.tokens.append((kind, value, at))
            at += len(value)
    if data or data_start < len(source):
        yield data_start, len(source), data


class _TreeReader:
    """Puts tags and texts in their places."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.stack: list[list[Node]] = [[]]
        self.open: list[Compound] = []
        self.leaves: list[Leaf] = []
        self.loops: list[tuple[Compound, tuple[int, str]]] = []
        self.blanks: list[tuple[int, int]] = []
        self.tests: list[list[str]] = [[]]

    def add(self, item: _Tag | tuple[int, int, str]) -> None:
        if isinstance(item, tuple):
            start, end, text = item
            if text:
                self._write(Leaf("data", 0, start, end, [Operand(quoted(text), text)]))
            else:
                self.blanks.append((start, end))
        elif item.kind == "comment":
            self.stack[-1].append(Statement(item.start, item.end, "comment"))
        elif item.kind == "variable":
            operands = operands_of(self.source, item.tokens)
            self._write(Leaf("output", 0, item.start, item.end, operands, item.opening, item.closing))
        else:
            self._block(item)

    def _write(self, leaf: Leaf) -> None:
        if self._leaf(leaf):
            self.stack[-1].append(leaf)

    def _leaf(self, leaf: Leaf) -> bool:
        """List what writes; False inside of what writes nothing by itself."""
        if any(block.name in _WRAPPED or block.name == "set" for block in self.open):
            return False
        leaf.number = len(self.leaves)
        leaf.loops = tuple(block.loop for block in self.open if block.loop is not None)
        leaf.tests = () if leaf.kind == "set" else tuple(dict.fromkeys(test for some in self.tests for test in some))
        self.leaves.append(leaf)
        return True

    def _block(self, tag: _Tag) -> None:
        solid = [token for token in tag.tokens if token[0] != "whitespace"]
        name = solid[0][1] if solid else ""
        if name.startswith("end") and name != "end":
            if not self.open or self.open[-1].name != name[3:]:
                raise ValueError(f"`{name}` closes nothing")
            done = self.open.pop()
            done.end, done.closing = tag.end, tag.closing
            done.regions[-1] = (done.regions[-1][0], tag.start)
            self.stack.pop()
            self.tests.pop()
        elif name in ("elif", "else"):
            if not self.open:
                raise ValueError(f"`{name}` belongs to nothing")
            self._test(name, solid)
            block = self.open[-1]
            block.regions[-1] = (block.regions[-1][0], tag.start)
            block.regions.append((tag.end, tag.end))
            block.bodies.append([])
            self.stack[-1] = block.bodies[-1]
        elif name == "set" and any(value == "=" and kind == "operator" for kind, value, _ in solid):
            self._set(tag, solid)
        elif name in ("if", "for", "set", "with") or name in _WRAPPED:
            self._open(tag, name, solid)
        else:
            self.stack[-1].append(Statement(tag.start, tag.end, name))

    def _open(self, tag: _Tag, name: str, solid: list[Token]) -> None:
        self._test(name, solid)
        made = Compound(name, tag.start, tag.end, tag.opening, bodies=[[]], regions=[(tag.end, tag.end)])
        if name == "for" and len(solid) > 3 and solid[2][1] == "in":
            loop = made.loop = (len(self.loops), solid[1][1])
            if not any(compound.name in _WRAPPED or compound.name == "set" for compound in self.open):
                self.loops.append((made, loop))
        self.stack[-1].append(made)
        self.open.append(made)
        self.stack.append(made.bodies[0])
        self.tests.append([])

    def _test(self, name: str, solid: list[Token]) -> None:
        """Remember a short condition: it may tell two ways of writing apart."""
        rest = solid[1:]
        if name in ("if", "elif") and rest:
            text = self.source[rest[0][2] : rest[-1][2] + len(rest[-1][1])]
            if len(text) <= _SHORT and "(" not in text.replace("()", ""):
                self.tests[-1].append(text)

    def _set(self, tag: _Tag, solid: list[Token]) -> None:
        plain = len(solid) > 3 and solid[1][0] == "name" and solid[2][1] == "="
        self.stack[-1].append(Statement(tag.start, tag.end, "set", plain_set=plain))
        if plain:
            operands = operands_of(self.source, solid[3:])
            self._leaf(Leaf("set", 0, tag.start, tag.end, operands, tag.opening, tag.closing, solid[1][1]))


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
            mine = next(write for write in reversed(found) if write.leaf == number)
            mine.operands.append((at, end))
        at = end
    return found
