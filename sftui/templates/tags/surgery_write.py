"""The source of a template with `{% generation %}` tags where a plan puts them, and everything else as it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sftui.templates.tags.surgery_plan import AnswerPiece, LeafPlan
from sftui.templates.tags.surgery_tree import Compound, Leaf, Node, Statement, Tree, walk

_BARRIERS = {"break", "continue"}


@dataclass(slots=True)
class _Chunk:
    """A stretch of the new source. `answer` is None for what writes nothing; `guard` what an answer needs to be one.

    `wall` may not stand inside a tag; `data` is text of the template itself, as an expression; `block` is what was an
    expression or text and begins and ends with a block tag now.
    """

    text: str
    answer: bool | None = None
    opening: str = ""
    closing: str = ""
    guard: str = ""
    wall: bool = False
    data: str = ""
    block: bool = False


def written(tree: Tree, plans: Mapping[int, LeafPlan], sets: Mapping[int, int]) -> str:
    """The new source; it holds no tag where no plan has an answer."""
    writer = _SourceWriter(
        tree,
        plans,
        {tree.leaves[base].start: (tree.leaves[base], plans[leaf]) for leaf, base in sets.items() if leaf in plans},
    )
    return writer.body(tree.body, 0, len(tree.source))


@dataclass(eq=False)
class _SourceWriter:
    tree: Tree
    plans: Mapping[int, LeafPlan]
    sets: Mapping[int, tuple[Leaf, LeafPlan]]

    def body(self, nodes: list[Node], start: int, end: int) -> str:
        chunks: list[_Chunk] = []
        at = start
        for node in nodes:
            chunks.append(_Chunk(self.tree.source[at : node.start]))
            chunks += self._node(node)
            at = node.end
        chunks.append(_Chunk(self.tree.source[at:end]))
        return _tagged([chunk for chunk in chunks if chunk.text])

    def _node(self, node: Node) -> list[_Chunk]:
        source = self.tree.source[node.start : node.end]
        if isinstance(node, Statement):
            if node.start in self.sets:
                return [_Chunk(_split(*self.sets[node.start]), wall=True)]
            return [_Chunk(source, wall=node.plain_set or node.name in _BARRIERS)]
        if isinstance(node, Compound):
            return [self._compound(node, source)]
        plan = self.plans.get(node.number)
        data = "{{ " + node.operands[0].source + " }}" if node.kind == "data" else ""
        if plan is None:
            return [_Chunk(source, None, node.opening, node.closing, data=data)]
        if plan.branches:
            text = ""
            for word, (condition, some) in zip(["if", *["elif"] * len(plan.branches)], plan.branches):
                edge = _edge(node.opening, f"if {condition}") if word == "if" else f"{{% elif {condition} %}}"
                text += edge + _tagged(_pieces(some, "", "", plan.guard))
            text += "{% else %}" + _tagged(_pieces(plan.pieces, "", "", plan.guard)) + _edge_end(node.closing, "endif")
            return [_Chunk(text, False, node.opening, node.closing, wall=True, block=True)]
        if len(plan.pieces) == 1:
            answer = plan.pieces[0].answer
            text = data if answer and data else source
            return [_Chunk(text, answer, node.opening, node.closing, plan.guard, data="" if answer else data)]
        return _pieces(plan.pieces, node.opening, node.closing, plan.guard)

    def _compound(self, node: Compound, source: str) -> _Chunk:
        states: set[bool | None] = set()
        guards: set[tuple[str, int | None]] = set()
        walled = False
        for leaf in self._inside(node):
            plan = self.plans.get(leaf.number)
            if plan is None:
                continue
            states |= {piece.answer for piece in plan.every_piece}
            walled = walled or bool(plan.branches)
            if any(piece.answer for piece in plan.every_piece):
                guards.add((plan.guard, plan.guard_loop))
        walled = walled or self._leaves_early(node)
        known = states - {None}
        if known <= {False}:
            return _Chunk(source, False if known else None, node.opening, node.closing)
        # What only assistants get to needs no guard, but may share that of its neighbours; a guard that reads the
        # variable of a loop in here is of no use outside.
        needed = {guard for guard in guards if guard[0]}
        if (
            known == {True}
            and not walled
            and len(needed) <= 1
            and not any(loop in self._loops(node) for _, loop in needed)
        ):
            return _Chunk(source, True, node.opening, node.closing, next(iter(needed))[0] if needed else "")
        text, at = "", node.start
        for (start, end), nodes in zip(node.regions, node.bodies):
            text += self.tree.source[at:start] + self.body(nodes, start, end)
            at = end
        return _Chunk(text + self.tree.source[at : node.end], False, node.opening, node.closing)

    def _inside(self, node: Compound) -> list[Leaf]:
        return [
            leaf
            for leaf in self.tree.leaves
            if leaf.kind != "set" and node.start <= leaf.start and leaf.end <= node.end
        ]

    def _loops(self, node: Compound) -> set[int]:
        return {number for one, (number, _) in self.tree.loops if node.start <= one.start and one.end <= node.end}

    def _leaves_early(self, node: Compound) -> bool:
        return any(isinstance(one, Statement) and one.name in _BARRIERS for body in node.bodies for one in walk(body))


def _pieces(pieces: list[AnswerPiece], opening: str, closing: str, guard: str) -> list[_Chunk]:
    out = []
    for number, piece in enumerate(pieces):
        first, last = number == 0, number == len(pieces) - 1
        head = opening if first and opening else "{{"
        tail = closing if last and closing else "}}"
        out.append(
            _Chunk(
                f"{head} {piece.source} {tail}",
                piece.answer,
                head if first else "",
                tail if last else "",
                guard if piece.answer else "",
            )
        )
    return out


def _split(base: Leaf, plan: LeafPlan) -> str:
    names = [base.target, f"{base.target}_answer", f"{base.target}_tail"]
    parts = [f"set {name} = {source}" for name, source in zip(names, plan.set_pieces)]
    return " %}{% ".join([f"{base.opening} {parts[0]}", *parts[1:]]) + f" {base.closing}"


def _tagged(chunks: list[_Chunk]) -> str:
    """The chunks with tags around every longest run of answers; what writes nothing may stand inside a run."""
    runs: list[tuple[int, int]] = []
    first = last = None
    for number, chunk in enumerate(chunks):
        fits = chunk.answer and not chunk.wall
        if fits and first is not None and chunks[first].guard == chunk.guard:
            last = number
        elif chunk.answer is not None or chunk.wall:
            if first is not None and last is not None:
                runs.append((first, last))
            first = last = number if fits else None
    if first is not None and last is not None:
        runs.append((first, last))
    for start, end in [*runs, *((number, number) for number, chunk in enumerate(chunks) if chunk.block)]:
        _keep_white_space(chunks, start, end)
    out, at = [], 0
    for start, end in runs:
        out += [chunk.text for chunk in chunks[at:start]]
        out.append(_wrapped(chunks, start, end))
        at = end + 1
    return "".join([*out, *(chunk.text for chunk in chunks[at:])])


def _wrapped(chunks: list[_Chunk], start: int, end: int) -> str:
    inner = "".join(chunk.text for chunk in chunks[start : end + 1])
    opening, closing, guard = chunks[start].opening, chunks[end].closing, chunks[start].guard
    if not guard:
        return _edge(opening, "generation") + inner + _edge_end(closing, "endgeneration")
    head, tail = _edge(opening, "if " + guard), _edge_end(closing, "endif")
    return f"{head}{{% generation %}}{inner}{{% endgeneration %}}{{% else %}}{inner}{tail}"


def _edge(opening: str, words: str) -> str:
    return "{%- " + words + " %}" if opening.endswith("-") else "{% " + words + " %}"


def _edge_end(closing: str, words: str) -> str:
    return "{% " + words + " -%}" if closing.startswith("-") else "{% " + words + " %}"


def _keep_white_space(chunks: list[_Chunk], start: int, end: int) -> None:
    """Write text of the template as an expression where a block tag next to it would eat its blanks or line break."""
    before = chunks[start - 1] if start else None
    if before is not None and before.data and chunks[start].opening in ("{{", "") and before.text[-1:] in " \t\n":
        before.text = before.data
    after = chunks[end + 1] if end + 1 < len(chunks) else None
    if after is not None and after.data and chunks[end].closing in ("}}", "") and after.text[:1] == "\n":
        after.text = after.data
