"""Template surgery: `{% generation %}` tags tight around what the assistant says, proven to change nothing else.

Nothing is guessed from the source. The template is rendered with marks on conversations whose answers are known
(see `surgery_target`), so that every character names the place that wrote it; tags go around the places that
wrote answers, and an expression that writes header, answer and more is split. Then the result is held against
the original: the same text, the same refusals and a mask equal to the spans, on the probes and on every row.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, islice
from typing import Any

from sftui import bound
from sftui.errors import SftuiError, TemplateError
from sftui.model import Conversation, Kind
from sftui.recipe import Render
from sftui.templates.rendering import limits
from sftui.templates.rendering.behaviour import NEWEST, Rendering
from sftui.templates.rendering.render import render
from sftui.templates.rendering.template import ChatTemplate, compile_template
from sftui.templates.tags import surgery_plan, surgery_write
from sftui.templates.tags.surgery_target import Range, joined, probes, targets
from sftui.templates.tags.surgery_tree import Tree, read_back, read_tree, with_marks, without_tags

_NOON = datetime(2026, 1, 2, 12)
_ROUNDS = 6
_FIRST = 2000
_KEPT = 1000
"""Conversations whose text and answers are remembered: those learnt from, which come first."""
_LEARN = 24
"""Rows of the data to learn from at first, one for each order of roles; others are learnt from where a proof fails."""

Known = tuple[str, "tuple[Range, ...] | None"] | str
"""Text and answers of a conversation (None: not known for sure), or why the template refuses it."""


@dataclass(frozen=True, slots=True)
class Surgery:
    """A template with generation tags, or why there is none.

    `source` is the original's where `refused` says why. `proven` conversations render byte for byte the same with a
    mask equal to the independent spans; `unproven` render the same but their spans are not known for sure; `raised` are
    refused by both templates. `diff` is a unified diff.
    """

    source: str
    proven: int
    refused: str | None
    diff: str
    unproven: int = 0
    raised: int = 0


def add_generation_tags(
    source: str,
    name: str,
    special_tokens: Mapping[str, str | list[str]],
    rows: Iterable[Conversation],
    *,
    options: Render | None = None,
    rendering: Rendering = NEWEST,
) -> Surgery:
    """A template → the same with generation tags around the assistant's answers and what ends them, and nowhere else.

    Tags that it has are taken out first; where the new ones draw the same masks, it is refused. `rows` are gone through
    once for every attempt, all of them, so an iterator is kept as a list; rows that are no chat are left out. `options`
    are the recipe's, for its template arguments; `rendering` the version of transformers that renders. TemplateError
    where the source itself cannot be parsed.
    """
    original = compile_template(source, name, rendering=rendering)
    if len(source) > limits.TAGS_LIMIT:
        return _refused(source, f"it is longer than {limits.TAGS_LIMIT >> 10} Ki characters")
    bench = _SurgeryBench(original, special_tokens, options or Render())
    if iter(rows) is rows:
        rows = list(rows)
    text = source.replace("\r\n", "\n").replace("\r", "\n")
    end = "\n" if text.endswith("\n") else ""
    try:
        text = without_tags(text) if original.has_generation_tag else text
        tree = read_tree(text.removesuffix("\n"))
    except (ValueError, IndexError) as error:
        return _refused(source, f"its source could not be parsed: {error}")
    try:
        return _attempts(bench, tree, end, rows)
    except surgery_plan.UndecidedAnswer as error:
        return _refused(source, str(error))


def _attempts(bench: _SurgeryBench, tree: Tree, end: str, rows: Iterable[Conversation]) -> Surgery:
    """Operate and prove, and where a row breaks the proof learn from it too; Undecided."""
    own = probes()
    learn = [*own, *_one_of_each(rows)]
    source, name = bench.original.source, bench.original.name
    reason = "no answer was found in any conversation"
    for _ in range(_ROUNDS):
        made = bench.operate(tree, learn) + end
        try:
            tagged = bench.original.remade(made)
        except TemplateError as error:
            return _refused(source, f"with tags, it is not a valid template: {error.why or error.what}")
        if not tagged.has_generation_tag:
            return _refused(source, reason)
        # What is learnt from is proven first, because that is quick; then every row, the learnt ones once more.
        proof = bench.prove(tagged, learn)
        if proof.failed is None:
            proof = bench.prove(tagged, chain(own, _chats(rows)))
        if proof.failed is None:
            if not proof.proven:
                return _refused(source, "the positions of the answers are not certain in any conversation")
            if bench.original.has_generation_tag and not proof.moved:
                return _refused(
                    source, "the template already has generation tags around the answers and their end tokens"
                )
            return Surgery(made, proof.proven, None, _diff(source, made, name), proof.unproven, proof.raised)
        reason = proof.reason
        if any(conversation is proof.failed for conversation in learn):
            break
        learn.append(proof.failed)
    return _refused(source, reason)


def _refused(source: str, why: str) -> Surgery:
    return Surgery(source, 0, why, "")


def _chats(rows: Iterable[Conversation]) -> Iterator[Conversation]:
    return (row for row in rows if row.kind is Kind.CHAT and row.messages)


def _one_of_each(rows: Iterable[Conversation]) -> list[Conversation]:
    """Some of the first rows, each with another order of roles."""
    seen: dict[tuple[Any, ...], Conversation] = {}
    for chat in islice(_chats(rows), _FIRST):
        seen.setdefault(tuple((message.role, bool(message.data.get("tool_calls"))) for message in chat.messages), chat)
        if len(seen) >= _LEARN:
            break
    return list(seen.values())


@dataclass(slots=True)
class _Proof:
    proven: int = 0
    unproven: int = 0
    raised: int = 0
    moved: bool = False
    failed: Conversation | None = None
    reason: str = ""


@dataclass(slots=True)
class _SurgeryBench:
    """The original, and what is known about texts it rendered."""

    original: ChatTemplate
    special: Mapping[str, str | list[str]]
    options: Render
    known: dict[int, tuple[Conversation, Known]] = field(default_factory=dict)

    def operate(self, tree: Tree, learn: Sequence[Conversation]) -> str:
        """The source with tags, as far as `learn` teaches where; Undecided."""
        sets: dict[int, int] = {}
        conditions: dict[int, list[str]] = {}
        while True:  # splits what is set, then asks for conditions, each once
            evidence = self._evidence(with_marks(tree, set(sets.values()), conditions), tree, learn)
            if not sets:
                sets = surgery_plan.split_sets(tree, evidence)
                if sets:
                    continue
            plans, conflicts = surgery_plan.plan(tree, evidence, sets, conditions)
            if not conflicts:
                return surgery_write.written(tree, plans, sets)
            if conditions:
                leaf = tree.leaves[min(conflicts)]
                line = tree.source.count("\n", 0, leaf.start) + 1
                raise surgery_plan.UndecidedAnswer(
                    f"line {line} sometimes writes an answer and sometimes something else, and no condition decides"
                    " which"
                )
            conditions = self._harmless(tree, learn, set(sets.values()), conflicts, len(evidence))

    def _harmless(
        self, tree: Tree, learn: Sequence[Conversation], sets: set[int], every: dict[int, list[str]], wanted: int
    ) -> dict[int, list[str]]:
        """For each place the conditions that can be tested there: some raise for some conversations."""
        if self._all_resolved(with_marks(tree, sets, every), tree, learn, wanted):
            return every

        def among(number: int, some: list[str]) -> list[str]:
            # Few raise, and compiling is what takes the time: halves are tested first.
            if not some or self._all_resolved(with_marks(tree, sets, {number: some}), tree, learn, wanted):
                return some
            half = len(some) // 2
            return [*among(number, some[:half]), *among(number, some[half:])] if half else []

        return {number: among(number, some) for number, some in every.items()}

    def _all_resolved(self, source: str, tree: Tree, learn: Sequence[Conversation], wanted: int) -> bool:
        return len(self._evidence(source, tree, learn)) == wanted

    def _evidence(self, source: str, tree: Tree, learn: Sequence[Conversation]) -> list[surgery_plan.Evidence]:
        with _within_its_limits():
            marked = self.original.remade(source)
        out = []
        for chat in learn:
            known = self.look(chat)
            if isinstance(known, str) or known[1] is None:
                continue
            try:
                text = self.text(marked, chat)[0]
            except TemplateError:
                continue
            written = read_back(tree, text, known[0])
            if written is not None:
                out.append(surgery_plan.Evidence(known[0], written, known[1], chat.messages[-1].role == "assistant"))
        return out

    def text(
        self,
        template: ChatTemplate,
        chat: Conversation,
        messages: Sequence[Mapping[str, Any]] | None = None,
        prompt: bool = False,
    ) -> tuple[str, tuple[Range, ...]]:
        """A conversation, or other messages with its tools and arguments."""
        some = [message.data for message in chat.messages] if messages is None else messages
        variables = {**self.special, **self.options.kwargs, **chat.template_kwargs}
        with _within_its_limits():
            return template.text(some, tools=chat.tools, add_generation_prompt=prompt, variables=variables, now=_NOON)

    def look(self, chat: Conversation) -> Known:
        """Text and answers of a conversation by the original, or its refusal in words."""
        if id(chat) in self.known:
            return self.known[id(chat)][1]
        found = self._look(chat)
        if len(self.known) < _KEPT:
            self.known[id(chat)] = chat, found
        return found

    def _look(self, chat: Conversation) -> Known:
        messages = [message.data for message in chat.messages]
        try:
            with _within_its_limits():
                rendered = render(
                    chat,
                    self.original,
                    special_tokens=self.special,
                    options=Render(kwargs=self.options.kwargs),
                    prompt_messages=None,
                    now=_NOON,
                )
        except SftuiError as error:
            return str(error)

        def draw(some: Sequence[Mapping[str, Any]], prompt: bool = False) -> str | None:
            try:
                return self.text(self.original, chat, some, prompt)[0]
            except TemplateError:
                return None

        return rendered.text, targets(rendered, messages, draw)

    def prove(self, tagged: ChatTemplate, chats: Iterable[Conversation]) -> _Proof:
        """Hold the tagged template against the original, until the first conversation where they differ."""
        proof = _Proof()
        for chat in chats:
            known = self.look(chat)
            try:
                text, generation = self.text(tagged, chat)
            except SftuiError as error:
                if isinstance(known, str):
                    proof.raised += 1
                    continue
                proof.failed, proof.reason = chat, f"with tags, a conversation that rendered before fails: {error}"
                return proof
            if isinstance(known, str) or known[0] != text:
                proof.failed, proof.reason = chat, "with tags, a conversation renders differently"
            elif known[1] is None:
                proof.unproven += 1
            elif joined(generation) != known[1]:
                proof.failed, proof.reason = (
                    chat,
                    f"its mask would differ from the answers: {_apart(text, joined(generation), known[1])}",
                )
            elif not self._same_prompt(tagged, chat):
                proof.failed, proof.reason = chat, "with tags, the generation prompt renders differently"
            else:
                proof.proven += 1
                proof.moved = proof.moved or joined(self.text(self.original, chat)[1]) != known[1]
            if proof.failed is not None:
                return proof
        return proof

    def _same_prompt(self, tagged: ChatTemplate, chat: Conversation) -> bool:
        said = []
        for template in (self.original, tagged):
            try:
                said.append(self.text(template, chat, prompt=True)[0])
            except TemplateError as error:
                said.append(str(error))
        return said[0] == said[1]


@contextmanager
def _within_its_limits() -> Iterator[None]:
    """Undecided where a template goes over its limits: nothing more is tried, every further render would take as
    long."""
    try:
        yield
    except bound.OverBound as error:
        raise surgery_plan.UndecidedAnswer(f"{error.what}, because {error.why}" if error.why else error.what) from error


def _apart(text: str, mine: Sequence[Range], wanted: Sequence[Range]) -> str:
    """The first stretch that only one of two masks covers, quoted."""
    first = {k for start, end in mine for k in range(start, end)}
    second = {k for start, end in wanted for k in range(start, end)}
    odd = sorted(first ^ second)
    end = next((k for k, at in enumerate(odd) if at != odd[0] + k), len(odd))
    where = "too much" if odd[0] in first else "left out"
    return f"{text[odd[0] : odd[0] + min(end, 40)]!r} would be {where}"


def _diff(before: str, after: str, name: str) -> str:
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), f"{name} (before)", f"{name} (with generation tags)", lineterm=""
    )
    return "\n".join(lines) + "\n"
