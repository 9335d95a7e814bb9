"""What each place of a template writes of an answer, learnt from texts of which the answers are known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

from sftui.templates.surgery_trace import Written
from sftui.templates.surgery_tree import Leaf, Operand, Tree, quoted

Range = tuple[int, int]
Label = tuple[tuple[int, bool], ...]
"""Where what an operand writes changes between answer and not: (character, is answer), the first at 0."""

LAST = "messages and messages[-1]['role'] == 'assistant'"


class CannotTell(Exception):
    """A place writes answers in a way that tags cannot follow; the message is a clause for the user."""


@dataclass(frozen=True, slots=True)
class Piece:
    """What one place writes in one go: its expression, and whether that is answer (None: it never wrote anything)."""

    answer: bool | None
    source: str


@dataclass(slots=True)
class LeafPlan:
    """The pieces of a place; where `condition` is set and does not hold, `otherwise` instead.

    `guard` is the test without which another role's text would count, "" where only assistants get here; it reads the
    variable of the loop `guard_loop`.
    `set_pieces` are the sources of head, answer and tail of a variable that is split where it is set.
    """

    pieces: list[Piece]
    condition: str = ""
    otherwise: list[Piece] = field(default_factory=list)
    guard: str = ""
    guard_loop: int | None = None
    set_pieces: tuple[str, ...] = ()


@dataclass(slots=True)
class Evidence:
    """One text: what wrote it, which characters are answer, and whether an assistant speaks last."""

    written: list[Written]
    answer: Sequence[Range]
    ends: bool


def label(answer: Sequence[Range], start: int, end: int) -> Label | None:
    """How a stretch is covered; None where it is empty."""
    if start >= end:
        return None
    cuts: list[tuple[int, bool]] = []
    at = start
    for a, b in answer:
        if b <= start or a >= end:
            continue
        if a > at:
            cuts.append((at - start, False))
        cuts.append((max(a, start) - start, True))
        at = b
    if at < end:
        cuts.append((at - start, False))
    return tuple(cuts)


def split_sets(tree: Tree, evidence: Sequence[Evidence]) -> dict[int, int]:
    """Places that write a variable holding more than an answer → the `set` that made it, which can be marked instead."""
    out: dict[int, int] = {}
    for number in {one.leaf for some in evidence for one in some.written}:
        leaf = tree.leaves[number]
        if leaf.kind != "output" or len(leaf.operands) != 1 or leaf.operands[0].literal is not None:
            continue
        mixed = any(
            len(label(some.answer, *place) or ()) > 1
            for some in evidence for one in some.written if one.leaf == number for place in one.operands
        )
        name = leaf.operands[0].source
        made = [one for one in tree.leaves if one.kind == "set" and one.target == name and one.end <= leaf.start and one.loops == leaf.loops
                and len(one.operands) > 1 and all(operand.source != name for operand in one.operands)]
        if mixed and len(made) == 1:
            out[number] = made[0].number
    return out


def wanted_conditions(tree: Tree, leaf: Leaf) -> list[str]:
    """Tests that may tell two ways of writing at one place apart, plain ones first."""
    own = [f"({operand.source}) | trim" for operand in leaf.operands if operand.literal is None]
    loop = ["loop.first", "loop.last"] if leaf.loops else []
    return [*own[:3], *loop, *leaf.tests[-8:], LAST]


def plan(tree: Tree, evidence: Sequence[Evidence], sets: Mapping[int, int], conditions: Mapping[int, Sequence[str]]) -> tuple[dict[int, LeafPlan], set[int]]:
    """A plan for every place that wrote something, and the places whose ways of writing could not yet be told apart."""
    seen: dict[int, list[tuple[bool, list[Label | None], str]]] = defaultdict(list)
    foreign: set[int] = set()
    loops: dict[int, int] = {}
    for some in evidence:
        for one in some.written:
            if one.loop is not None:
                loops[one.leaf] = one.loop
            labels = [label(some.answer, *place) for place in one.operands]
            assistant = one.role == "assistant" or (one.role is None and some.ends)
            if assistant:
                seen[one.leaf].append((True, labels, one.values))
            elif any(part is not None for part in labels):
                if any(answer for part in labels if part is not None for _, answer in part):
                    raise CannotTell("an answer is written where no message of the assistant is at hand")
                foreign.add(one.leaf)
    plans: dict[int, LeafPlan] = {}
    conflicts: set[int] = set()
    for number, some_written in seen.items():
        leaf = tree.leaves[number]
        if leaf.kind == "set":
            continue
        vectors = [(labels, bits) for _, labels, bits in some_written]
        if number in sets:
            base = tree.leaves[sets[number]]
            inner = _merged([labels for _, labels, _ in seen.get(base.number, [])])
            if inner is None:
                raise CannotTell(f"`{base.target}` is made up of answer and header in more than one way")
            plans[number] = _split_set(base, inner)
        else:
            made = _leaf_plan(leaf, vectors, conditions.get(number, ()))
            if made is None:
                conflicts.add(number)
                continue
            plans[number] = made
        if number in foreign and any(piece.answer for piece in (*plans[number].pieces, *plans[number].otherwise)):
            loop = plans[number].guard_loop = loops.get(number)
            plans[number].guard = LAST if loop is None else f"{dict(leaf.loops)[loop]}['role'] == 'assistant'"
    for number in foreign - set(plans) - conflicts:
        leaf = tree.leaves[number]
        if leaf.kind != "set":
            plans[number] = LeafPlan([Piece(False, _source(leaf.operands))])
    return plans, conflicts


def _leaf_plan(leaf: Leaf, vectors: list[tuple[list[Label | None], str]], conditions: Sequence[str]) -> LeafPlan | None:
    whole = _merged([labels for labels, _ in vectors])
    if whole is not None:
        return LeafPlan(_pieces(leaf, whole))
    known = list({(tuple(labels), values): (labels, values) for labels, values in vectors if len(values) == len(conditions)}.values())
    if len({tuple(labels) for labels, _ in known}) < len({tuple(labels) for labels, _ in vectors}):
        return None
    for size in (1, 2, 3):
        for chosen in combinations(range(len(conditions)), size):
            for bits in product("10", repeat=size):
                holds = [any(values[k] == bit for k, bit in zip(chosen, bits)) for _, values in known]
                if all(holds) or not any(holds):
                    continue
                yes = _merged([labels for (labels, _), one in zip(known, holds) if one])
                no = _merged([labels for (labels, _), one in zip(known, holds) if not one]) if yes is not None else None
                if yes is not None and no is not None:
                    text = " or ".join(_test(conditions[k], bit) for k, bit in zip(chosen, bits))
                    return LeafPlan(_pieces(leaf, yes), text, _pieces(leaf, no))
    return None


def _test(condition: str, bit: str) -> str:
    return f"({condition})" if bit == "1" else f"not ({condition})"


def _merged(vectors: Sequence[Sequence[Label | None]]) -> list[Label | None] | None:
    """What all agree on, operand by operand; None where two differ."""
    out: list[Label | None] = []
    for labels in vectors:
        for k, one in enumerate(labels):
            if k == len(out):
                out.append(None)
            if one is None:
                continue
            if out[k] is not None and out[k] != one:
                return None
            out[k] = one
    return out


def _pieces(leaf: Leaf, labels: Sequence[Label | None]) -> list[Piece]:
    """The operands regrouped into stretches that are answer and stretches that are not."""
    parts: list[tuple[bool | None, Operand]] = []
    for operand, one in zip(leaf.operands, [*labels, *[None] * len(leaf.operands)]):
        if one is None:
            parts.append((None, operand))
        elif len(one) == 1:
            parts.append((one[0][1], operand))
        elif operand.literal is None:
            raise CannotTell(f"`{operand.source[:60]}` writes an answer together with what is none")
        else:
            ends = [*(at for at, _ in one[1:]), len(operand.literal)]
            for k, ((at, said), end) in enumerate(zip(one, ends)):
                text = operand.literal[at:end]
                parts.append((said, Operand(quoted(text), text, operand.joiner if k == 0 else "+")))
    filled = _filled(parts)
    out: list[tuple[bool | None, list[Operand]]] = []
    for answer, operand in filled:
        if out and out[-1][0] == answer:
            out[-1][1].append(operand)
        else:
            out.append((answer, [operand]))
    alone = len(out) > 1
    return [Piece(answer, _source(operands, alone)) for answer, operands in out]


def _filled(parts: list[tuple[bool | None, Operand]]) -> list[tuple[bool | None, Operand]]:
    """Operands that never wrote anything go with what stands before them, an expression before an answer with the answer."""
    if all(answer is None for answer, _ in parts):
        return parts
    out: list[tuple[bool | None, Operand]] = []
    for k, (state, operand) in enumerate(parts):
        if state is None:
            before = out[-1][0] if out else None
            after = next((later for later, _ in parts[k + 1:] if later is not None), None)
            state = after if before is None or (after and operand.literal is None) else before
        out.append((state, operand))
    return out


def _source(operands: Sequence[Operand], alone: bool = False) -> str:
    if not operands:
        return "''"
    text = operands[0].source
    for operand in operands[1:]:
        text += f" {operand.joiner or '+'} {operand.source}"
    if alone and len(operands) == 1 and operands[0].literal is None:
        # On its own `+` no longer refuses what is no text: keep it that way.
        return f"'' + {text}"
    return text


def _split_set(base: Leaf, labels: Sequence[Label | None]) -> LeafPlan:
    pieces = _pieces(base, labels)
    states = [piece.answer for piece in pieces]
    if states not in ([False, True], [False, True, False]):
        raise CannotTell(f"`{base.target}` holds an answer in more than one stretch")
    names = [base.target, f"{base.target}_answer", f"{base.target}_tail"]
    return LeafPlan([Piece(piece.answer, name) for piece, name in zip(pieces, names)], set_pieces=tuple(piece.source for piece in pieces))
