"""What each place of a template writes of an answer, learnt from texts of which the answers are known.

What an operand wrote is cut into stretches that are answer and stretches that are not. A string literal is cut where it
is cut. An expression writes a text of any length; where it holds more than an answer (`<think></think>` put before it,
a whole turn made by a macro), all but one of its stretches must be a constant text, so that they can be cut off by
their length.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

from sftui.templates.tags.surgery_tree import Leaf, NodeWrite, Operand, Range, Tree, quoted

Run = tuple["str | None", bool]
Shape = tuple[Run, ...]
"""Stretches in order: (its text, None where it may be any, whether it is answer)."""
_OPEN_ANSWER = 3
"""How much likelier it is that an answer varies than what stands before it: answers come again in a handful of
probes."""


def stretches(text: str, answer: Sequence[Range], start: int, end: int) -> Shape | None:
    """How `text[start:end]` is covered by answers; None where it is empty."""
    if start >= end:
        return None
    cuts: list[Run] = []
    at = start
    for a, b in answer:
        if b <= start or a >= end:
            continue
        if a > at:
            cuts.append((text[at:a], False))
        cuts.append((text[max(a, start) : min(b, end)], True))
        at = b
    if at < end:
        cuts.append((text[at:end], False))
    return tuple(cuts)


def opened(seen: Sequence[Shape | None]) -> list[Shape | None]:
    """The shapes of what one expression wrote at different times, each with one stretch that may be any text.

    Which one is recognised by the others: they come again, letter by letter. What is nothing but such constant texts
    has the shape of which they are left.
    """
    choices = Counter(choice for one in set(seen) if one is not None and len(one) > 1 for choice in _choices(one))
    found = {
        one: max(
            _choices(one), key=lambda choice: choices[choice] * (_OPEN_ANSWER if choice[_opening(choice)][1] else 1)
        )
        for one in seen
        if one is not None and len(one) > 1
    }
    out: list[Shape | None] = []
    for one in seen:
        if one is None or len(one) > 1:
            out.append(None if one is None else found[one])
        else:
            text, answer = one[0]
            bare = next(
                (
                    shape
                    for shape in found.values()
                    if head_of(shape) + tail_of(shape) == text and _constant_is(shape, answer)
                ),
                None,
            )
            out.append(bare or ((None, answer),))
    return out


def head_of(shape: Shape) -> str:
    """The constant text before the open stretch."""
    return "".join(text or "" for text, _ in shape[: _opening(shape)])


def tail_of(shape: Shape) -> str:
    """The constant text behind the open stretch."""
    return "".join(text or "" for text, _ in shape[_opening(shape) + 1 :])


def _opening(shape: Shape) -> int:
    return next((k for k, (text, _) in enumerate(shape) if text is None), len(shape))


def _choices(shape: Shape) -> list[Shape]:
    return [
        tuple((None if k == number else text, answer) for k, (text, answer) in enumerate(shape))
        for number in range(len(shape))
    ]


def _constant_is(shape: Shape, answer: bool) -> bool:
    return all(said == answer for text, said in shape if text is not None)


LAST = "messages and messages[-1]['role'] == 'assistant'"
_BRANCHES = 5
_SIMPLE = re.compile(r"[\w.]+|\([^()]*\)|\w+\([^()]*\)")
Vector = tuple[list["Shape | None"], str]
"""What the operands of a place wrote in one go, and the truth values tested there."""


class UndecidedAnswer(Exception):
    """A place writes answers in a way that tags cannot follow; the message is a clause for the user."""


@dataclass(frozen=True, slots=True)
class AnswerPiece:
    """What one place writes in one go: its expression, and whether that is answer (None: it never wrote anything)."""

    answer: bool | None
    source: str


@dataclass(slots=True)
class LeafPlan:
    """The pieces of a place; `branches` are others, each with its condition, and the first that holds comes before
    them.

    `guard` is the test without which another role's text would count, "" where only assistants get here; it reads the
    variable of the loop `guard_loop`.
    `set_pieces` are the sources of head, answer and tail of a variable that is split where it is set.
    """

    pieces: list[AnswerPiece]
    branches: list[tuple[str, list[AnswerPiece]]] = field(default_factory=list)
    guard: str = ""
    guard_loop: int | None = None
    set_pieces: tuple[str, ...] = ()

    @property
    def every_piece(self) -> list[AnswerPiece]:
        """Those of the branches too."""
        return [*self.pieces, *(piece for _, some in self.branches for piece in some)]


@dataclass(slots=True)
class Evidence:
    """One text: what wrote it, which characters are answer, and whether an assistant speaks last."""

    text: str
    written: list[NodeWrite]
    answer: Sequence[Range]
    ends: bool


def split_sets(tree: Tree, evidence: Sequence[Evidence]) -> dict[int, int]:
    """Places that write a variable holding more than an answer → the `set` that made it, which can be marked
    instead."""
    out: dict[int, int] = {}
    for number in {write.leaf for some in evidence for write in some.written}:
        leaf = tree.leaves[number]
        if leaf.kind != "output" or len(leaf.operands) != 1 or leaf.operands[0].literal is not None:
            continue
        mixed = any(
            len(stretches(some.text, some.answer, *place) or ()) > 1
            for some in evidence
            for write in some.written
            if write.leaf == number
            for place in write.operands
        )
        name = leaf.operands[0].source
        made = [
            leave
            for leave in tree.leaves
            if leave.kind == "set"
            and leave.target == name
            and leave.end <= leaf.start
            and leave.loops == leaf.loops
            and len(leave.operands) > 1
            and all(operand.source != name for operand in leave.operands)
        ]
        if mixed and len(made) == 1:
            out[number] = made[0].number
    return out


def _wanted_conditions(leaf: Leaf, vectors: Sequence[Vector], message: str) -> list[str]:
    """Tests that may tell two ways of writing at one place apart, plain ones first; `message` is the loop's variable,
    if any."""
    out: list[str] = []
    heads = {
        (k, head_of(shape)): None
        for shapes, _ in vectors
        for k, shape in enumerate(shapes)
        if shape is not None and leaf.operands[k].literal is None and len(shape) > 1
    }
    for k, head in [one for one in heads if one[1]][:4]:
        out.append(_starts(leaf.operands[k], head))
        if message and head.strip():
            out.append(f"({message}.content | string | trim).startswith({quoted(head.strip())})")
    out += [f"({operand.source}) | trim" for operand in leaf.operands if operand.literal is None][:3]
    out += [*(["loop.first", "loop.last"] if leaf.loops else []), *leaf.tests[-8:], LAST]
    if message:
        out += [f"{message}.{key}" for key in ("content", "tool_calls", "reasoning_content", "thinking")]
        # Whether it brings a thought, and whether that says anything.
        out.append(f"'</think>' in ({message}.content | string)")
        out.append(f"({message}.content | string).split('</think>')[0].replace('<think>', '') | trim")
    return list(dict.fromkeys(out))


def plan(
    tree: Tree, evidence: Sequence[Evidence], sets: Mapping[int, int], conditions: Mapping[int, Sequence[str]]
) -> tuple[dict[int, LeafPlan], dict[int, list[str]]]:
    """A plan for every place that wrote something; for those whose ways of writing could not yet be distinguished, what
    to ask."""
    seen: dict[int, list[Vector]] = defaultdict(list)
    foreign: set[int] = set()
    loops: dict[int, int] = {}
    for some in evidence:
        for write in some.written:
            if write.loop is not None:
                loops[write.leaf] = write.loop
            shapes = [stretches(some.text, some.answer, *place) for place in write.operands]
            assistant = write.role == "assistant" or (write.role is None and some.ends)
            if assistant:
                seen[write.leaf].append((shapes, write.values))
            elif any(part is not None for part in shapes):
                if any(answer for part in shapes if part is not None for _, answer in part):
                    raise UndecidedAnswer("an answer is written where no assistant message is in scope")
                foreign.add(write.leaf)
    plans: dict[int, LeafPlan] = {}
    conflicts: dict[int, list[str]] = {}
    for number, raw in seen.items():
        leaf = tree.leaves[number]
        if leaf.kind == "set":
            continue
        loop = loops.get(number)
        message = "" if loop is None else dict(leaf.loops)[loop]
        if number in sets:
            base = tree.leaves[sets[number]]
            inner = _merged([shapes for shapes, _ in _open(base, seen.get(base.number, []))])
            if inner is None:
                raise UndecidedAnswer(f"`{base.target}` is made up of answer and header in more than one way")
            plans[number] = _split_set(base, inner)
        else:
            vectors = _open(leaf, raw)
            made = _leaf_plan(leaf, vectors, conditions.get(number, ()))
            if made is None:
                conflicts[number] = _wanted_conditions(leaf, vectors, message)
                continue
            plans[number] = made
        if number in foreign and any(piece.answer for piece in plans[number].every_piece):
            plans[number].guard_loop = loop
            plans[number].guard = f"{message}['role'] == 'assistant'" if message else LAST
    for number in foreign - set(plans) - set(conflicts):
        leaf = tree.leaves[number]
        if leaf.kind != "set":
            plans[number] = LeafPlan([AnswerPiece(False, _source(leaf.operands))])
    return plans, conflicts


def _open(leaf: Leaf, raw: Sequence[Vector]) -> list[Vector]:
    """The same with one stretch left open in what each expression wrote."""
    columns = []
    for k, operand in enumerate(leaf.operands):
        column = [shapes[k] if k < len(shapes) else None for shapes, _ in raw]
        columns.append(opened(column) if operand.literal is None else column)
    return [([column[number] for column in columns], values) for number, (_, values) in enumerate(raw)]


def _leaf_plan(leaf: Leaf, vectors: list[Vector], conditions: Sequence[str]) -> LeafPlan | None:
    whole = _merged([shapes for shapes, _ in vectors])
    if whole is not None:
        return _made(leaf, [], whole)
    known = list(
        {
            (tuple(shapes), values): (shapes, values) for shapes, values in vectors if len(values) == len(conditions)
        }.values()
    )
    if len({tuple(shapes) for shapes, _ in known}) < len({tuple(shapes) for shapes, _ in vectors}):
        return None
    return _two_ways(leaf, known, conditions) or _many_ways(leaf, known, conditions)


def _two_ways(leaf: Leaf, known: Sequence[Vector], conditions: Sequence[str]) -> LeafPlan | None:
    """One way where any of up to three conditions holds, another where none does."""
    for size in (1, 2, 3):
        for chosen in combinations(range(len(conditions)), size):
            for bits in product("10", repeat=size):
                holds = [any(values[k] == bit for k, bit in zip(chosen, bits)) for _, values in known]
                if all(holds) or not any(holds):
                    continue
                yes = _merged([shapes for (shapes, _), one in zip(known, holds) if one])
                no = _merged([shapes for (shapes, _), one in zip(known, holds) if not one]) if yes is not None else None
                if yes is not None and no is not None:
                    return _made(
                        leaf, [(" or ".join(_test(conditions[k], bit) for k, bit in zip(chosen, bits)), yes)], no
                    )
    return None


def _many_ways(leaf: Leaf, known: Sequence[Vector], conditions: Sequence[str]) -> LeafPlan | None:
    """One condition after the other, each for as much as it settles."""
    branches: list[tuple[str, list[Shape | None]]] = []
    left = list(known)
    for _ in range(_BRANCHES):
        rest = _merged([shapes for shapes, _ in left])
        if rest is not None:
            return _made(leaf, branches, rest)
        best: tuple[int, int, str, list[Shape | None]] | None = None
        for k, bit in product(range(len(conditions)), "10"):
            mine = [shapes for shapes, values in left if values[k] == bit]
            if not mine or len(mine) == len(left) or (best is not None and len(mine) <= best[0]):
                continue
            way = _merged(mine)
            if way is not None:
                best = len(mine), k, bit, way
        if best is None:
            return None
        branches.append((_test(conditions[best[1]], best[2]), best[3]))
        left = [one for one in left if one[1][best[1]] != best[2]]
    return None


def _test(condition: str, bit: str) -> str:
    return f"({condition})" if bit == "1" else f"not ({condition})"


def _text_of(operand: Operand) -> str:
    """An expression for what it writes, which has the methods of a text."""
    return f"({operand.source} ~ '')" if _SIMPLE.fullmatch(operand.source) else f"(({operand.source}) ~ '')"


def _starts(operand: Operand, head: str) -> str:
    return f"{_text_of(operand)}.startswith({quoted(head)})"


def _merged(vectors: Sequence[Sequence[Shape | None]]) -> list[Shape | None] | None:
    """What all agree on, operand by operand; None where two differ."""
    out: list[Shape | None] = []
    for shapes in vectors:
        for k, one in enumerate(shapes):
            if k == len(out):
                out.append(None)
            if one is None:
                continue
            if out[k] is not None and out[k] != one:
                return None
            out[k] = one
    return out


def _made(leaf: Leaf, branches: Sequence[tuple[str, list[Shape | None]]], rest: Sequence[Shape | None]) -> LeafPlan:
    """The ways as pieces; where a constant text is cut off, only if it is there: else the place writes as ever, without
    a tag."""
    made = []
    for condition, shapes in branches:
        more = [test for test in _fits(leaf, shapes) if condition != f"({test})"]
        whole = f"({condition})" if more and " or " in condition else condition
        made.append((" and ".join([whole, *more]), _pieces(leaf, shapes)))
    fits = _fits(leaf, rest)
    if fits:
        return LeafPlan(
            [AnswerPiece(False, _source(leaf.operands))], [*made, (" and ".join(fits), _pieces(leaf, rest))]
        )
    return LeafPlan(_pieces(leaf, rest), made)


def _fits(leaf: Leaf, shapes: Sequence[Shape | None]) -> list[str]:
    """What must hold so that the constant texts can be cut off."""
    out = []
    for operand, shape in zip(leaf.operands, shapes):
        if shape is None or operand.literal is not None or len(shape) == 1:
            continue
        head, tail = head_of(shape), tail_of(shape)
        if head:
            out.append(_starts(operand, head))
        if tail:
            out.append(f"{_text_of(operand)}.endswith({quoted(tail)})")
        if head and tail:
            out.append(f"{_text_of(operand)} | length >= {len(head) + len(tail)}")
    return out


def _pieces(leaf: Leaf, shapes: Sequence[Shape | None]) -> list[AnswerPiece]:
    """The operands regrouped into stretches that are answer and stretches that are not."""
    parts: list[tuple[bool | None, Operand]] = []
    for operand, shape in zip(leaf.operands, [*shapes, *[None] * len(leaf.operands)]):
        if shape is None or len(shape) == 1:
            parts.append((None if shape is None else shape[0][1], operand))
        else:
            head, tail = len(head_of(shape)), len(tail_of(shape))
            for k, (text, said) in enumerate(shape):
                # An operand is text here: `_fits` has tested what it begins or ends with.
                source = f"{_text_of(operand)}[{head or ''}:{-tail if tail else ''}]" if text is None else quoted(text)
                parts.append((said, Operand(source, text or "", operand.joiner if k == 0 else "+")))
    filled = _filled(parts)
    out: list[tuple[bool | None, list[Operand]]] = []
    for answer, operand in filled:
        if out and out[-1][0] == answer:
            out[-1][1].append(operand)
        else:
            out.append((answer, [operand]))
    alone = len(out) > 1
    return [AnswerPiece(answer, _source(operands, alone)) for answer, operands in out]


def _filled(parts: list[tuple[bool | None, Operand]]) -> list[tuple[bool | None, Operand]]:
    """Operands that never wrote anything go with what stands before them, an expression before an answer with the
    answer."""
    if all(answer is None for answer, _ in parts):
        return parts
    out: list[tuple[bool | None, Operand]] = []
    for k, (state, operand) in enumerate(parts):
        if state is None:
            before = out[-1][0] if out else None
            after = next((later for later, _ in parts[k + 1 :] if later is not None), None)
            state = after if before is None or (after and operand.literal is None) else before
        out.append((state, operand))
    return out


def _source(operands: Sequence[Operand], alone: bool = False) -> str:
    if not operands:
        return "''"
    text = operands[0].source
    for operand in operands[1:]:
        text += f" {operand.joiner or '+'} {operand.source}"
    if alone and len(operands) == 1 and operands[0].added:
        # On its own `+` no longer refuses what is no text: keep it that way.
        return f"'' + {text}"
    return text


def _split_set(base: Leaf, shapes: Sequence[Shape | None]) -> LeafPlan:
    pieces = _pieces(base, shapes)
    states = [piece.answer for piece in pieces]
    if _fits(base, shapes) or states not in ([False, True], [False, True, False]):
        raise UndecidedAnswer(f"`{base.target}` holds an answer in more than one place")
    names = [base.target, f"{base.target}_answer", f"{base.target}_tail"]
    return LeafPlan(
        [AnswerPiece(piece.answer, name) for piece, name in zip(pieces, names)],
        set_pieces=tuple(piece.source for piece in pieces),
    )
