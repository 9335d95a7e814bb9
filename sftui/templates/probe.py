"""What a chat template does with shapes of conversation that no data has shown yet, and what of it is wrong.

Everything is found in renderings: nothing is read out of the source but what it never mentions. What a template does
with every conversation, the plainest too, is its family's way and no problem of a shape.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from typing import Any

from sftui import bound
from sftui.errors import TemplateError
from sftui.model import common_prefix
from sftui.templates.probe_shapes import Message, ProbeShape, birds, shapes
from sftui.templates.rendering.behaviour import BEHAVIOURS, REASONING_KEYS
from sftui.templates.rendering.marks import slots_of, stands_in
from sftui.templates.rendering.template import ChatTemplate, compile_template, variables_of

ERROR, WARNING, FACT = "error", "warning", "fact"
GRADES = (ERROR, WARNING, FACT)
_NOON = datetime(2026, 1, 2, 12)
_AROUND = 24
_ROLES = ("system", "user", "assistant", "tool")
_PYTHON = re.compile(
    r"(?<![\w'\"])(?:None|True|False|Undefined)(?![\w'\"])|\{'|\['|(?<!\w)\[\{'|<[\w.]+ object at|<class '|\{\}(?=[\w])"
)
_PAIR = re.compile(r"<(/?)([a-z][\w:]{1,30})(?:[= ][^<>]{0,200})?>|\[(/?)([A-Z][A-Z_]{1,30})\]")
_CONTROL = re.compile(r"<\|[^|<>\s]{1,60}\|>|<｜[^｜<>\s]{1,60}｜>|<(?:start|end)_of_turn>|</?s>|\[/?INST\]")
_REASONING = re.compile(rf"[.'\"](?:{'|'.join(REASONING_KEYS)})\b")
_IN_CALL = re.compile(r"\w\([^()]*=\s*\Z")
"""Right behind it stands an argument of a call that the template writes in the manner of Python, as LFM2's does."""
_STANDS_FOR = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}


@dataclass(frozen=True, slots=True)
class ShapeProblem:
    """Something that a template does with one shape.

    `code` is the kind; `said` one clause that is the same for every shape with the same problem. `message` is the one
    concerned, None for the whole conversation; `excerpt` the rendered text around it, raw.
    """

    code: str
    grade: str
    shape: str
    said: str
    message: int | None = None
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class ShapeOutcome:
    """A shape with its text, or why there is none."""

    shape: ProbeShape
    text: str | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """Every shape and every problem, in the order of the shapes. `stopped`: why no more shapes were tried."""

    outcomes: tuple[ShapeOutcome, ...]
    problems: tuple[ShapeProblem, ...]
    stopped: str = ""

    @property
    def failed(self) -> bool:
        return bool(self.stopped) or any(problem.grade == ERROR for problem in self.problems)


def probe(
    template: ChatTemplate,
    special_tokens: Mapping[str, Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    ids: Callable[[str], Sequence[int]] | None = None,
    special_ids: Mapping[int, str] | None = None,
) -> ProbeReport:
    """Render every shape and judge it. `special_tokens` of the tokenizer (None: usual ones stand for them), `kwargs`
    the recipe's; `ids` and `special_ids` encode where a tokenizer is given. No error of the template is raised."""
    variables = {**(_STANDS_FOR if special_tokens is None else special_tokens), **(kwargs or {})}
    outcomes: list[ShapeOutcome] = []
    found: list[ShapeProblem] = []
    shape, stopped = shapes()[0], ""
    try:
        bench = _Bench(template, variables)
        for shape in shapes():
            outcomes.append(bench.outcome(shape))
            found += bench.judge(outcomes[-1])
    except bound.OverBound as error:
        stopped = _told(error)
        found.append(ShapeProblem("limits", ERROR, shape.name, stopped))
    else:
        try:
            found += bench.whole(ids, special_ids or {})
        except bound.OverBound as error:
            stopped = error.what
    return ProbeReport(tuple(outcomes), tuple(dict.fromkeys(found)), stopped)


def _told(error: TemplateError) -> str:
    return f"{error.what}: {error.why}" if error.why else error.what


def grouped(problems: Iterable[ShapeProblem]) -> list[list[ShapeProblem]]:
    """Problems that say the same, of one grade, together, the worst and the most frequent first."""
    same: dict[tuple[str, str, str], list[ShapeProblem]] = {}
    for problem in problems:
        same.setdefault((problem.grade, problem.code, problem.said), []).append(problem)
    return sorted(same.values(), key=lambda group: (GRADES.index(group[0].grade), -len(group)))


class _Bench:
    """A template, what it was tried with, and what it does with the plainest conversations."""

    def __init__(self, template: ChatTemplate, variables: Mapping[str, Any]) -> None:
        self.template = template
        self.variables = variables
        names = variables_of(template)
        self.tools, self.date = "tools" in names, "strftime_now" in names
        self.source = template.source
        self.by_name = {shape.name: shape for shape in shapes()}
        self.oldest = compile_template(template.source, template.name, rendering=BEHAVIOURS[0])
        self.draw = cache(self._draw)
        self.in_parts = False
        if not self._writes_answers():
            self.in_parts = True
            self.in_parts = self._writes_answers()
        self.plain = self.attempt("plain") or ""
        self.pairs = self._learnt()
        self.by_design = set(self._unbalanced(self.plain))
        self.calls = "tool_calls" in self.source
        self.reasons = "</think>" in self.source or _REASONING.search(self.source) is not None

    def _writes_answers(self) -> bool:
        return set(birds(self.by_name["plain"].messages)) <= set(birds(self.attempt("plain") or ""))

    def _given(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The messages, or where the template takes nothing else with their texts as parts of a list."""
        return [in_parts(message) for message in messages] if self.in_parts else messages

    def attempt(self, name: str) -> str | None:
        return self.outcome(self.by_name[name]).text

    def text(
        self, shape: ProbeShape, messages: Sequence[Message], prompt: bool = False, template: ChatTemplate | None = None
    ) -> str | TemplateError:
        """The text, or why the template refuses; OverBound where it goes over its limits."""
        try:
            return (template or self.template).text(
                self._given(messages),
                tools=shape.tools,
                add_generation_prompt=prompt,
                variables={**self.variables, **shape.kwargs},
                now=_NOON,
            )[0]
        except bound.OverBound:
            raise
        except TemplateError as error:
            return error

    def _draw(self, name: str, count: int, prompt: bool) -> str | None:
        text = self.text(self.by_name[name], self.by_name[name].messages[:count], prompt)
        return text if isinstance(text, str) else None

    def outcome(self, shape: ProbeShape) -> ShapeOutcome:
        text = self.text(shape, shape.messages)
        return ShapeOutcome(shape, text) if isinstance(text, str) else ShapeOutcome(shape, None, _told(text))

    # --- one shape --------------------------------------------------------------------------------

    def judge(self, outcome: ShapeOutcome) -> Iterator[ShapeProblem]:
        shape, text = outcome.shape, outcome.text
        if text is None:
            yield self._stopped(shape)
            if self._older(shape) is not None:
                yield self._of(
                    shape, "versions", f"under transformers {BEHAVIOURS[0].version} it does not fail", grade=FACT
                )
            return
        yield from self._versions(shape, text)
        yield from self._printed(shape, text)
        yield from self._said(shape, text)
        if not shape.marked:
            for name in self._unbalanced(text):
                if name not in self.by_design:
                    yield self._of(shape, "markers", f"{name} tags are not balanced")
        yield from self._prefixes(shape)
        yield from self._tags(shape)

    def _of(
        self, shape: ProbeShape, code: str, said: str, message: int | None = None, excerpt: str = "", grade: str = ""
    ) -> ShapeProblem:
        unknown = not self.calls and any(one.get("tool_calls") for one in shape.messages)
        grade = grade or (ERROR if shape.usual and not unknown else WARNING)
        return ShapeProblem(code, grade, shape.name, said, message, excerpt)

    def _stopped(self, shape: ProbeShape) -> ShapeProblem:
        from sftui.templates.rendering import sandbox

        error = self.text(shape, shape.messages)
        if isinstance(error, str):
            raise AssertionError("the template did not fail this time")
        if isinstance(error.__cause__, sandbox.RaisedByTemplate):
            return self._of(shape, "refuses", f"refuses: {error.what.partition(': ')[2]}", grade=FACT)
        return self._of(shape, "crash", f"fails by accident: {error.why or error.what}")

    def _older(self, shape: ProbeShape) -> str | None:
        """The text under the oldest transformers whose rules are known; None where that stops."""
        text = self.text(shape, shape.messages, template=self.oldest)
        return text if isinstance(text, str) else None

    def _versions(self, shape: ProbeShape, text: str) -> Iterator[ShapeProblem]:
        older, version = self._older(shape), BEHAVIOURS[0].version
        if older is None:
            yield self._of(shape, "versions", f"under transformers {version} it fails", grade=FACT)
        elif older != text:
            at = common_prefix(text, older)
            said = f"under transformers {version} the text differs"
            yield self._of(shape, "versions", said, excerpt=f"{_around(text, at)} ≠ {_around(older, at)}", grade=FACT)

    def _printed(self, shape: ProbeShape, text: str) -> Iterator[ShapeProblem]:
        """What Python prints and no content holds."""
        if shape.pythonic:
            return
        for found in _PYTHON.finditer(text):
            near = text[max(0, found.start() - 6) : found.end() + 6]
            if near in self.source or found.group() in self.plain:
                continue
            if _IN_CALL.search(text, max(0, found.start() - 200), found.start()):
                continue
            argument = shape.name.startswith("arguments-")
            yield self._of(
                shape,
                "python",
                f"writes {'an argument as Python prints it' if argument else 'what Python prints'}: {found.group()}",
                _nearest(shape, text, found.start()),
                _around(text, found.start()),
                WARNING if argument else "",
            )
            return

    def _said(self, shape: ProbeShape, text: str) -> Iterator[ShapeProblem]:
        """What is lost, written twice or changed."""
        last = max((i for i, one in enumerate(shape.messages) if one["role"] == "assistant"), default=-1)
        for number, message in enumerate(shape.messages):
            role, thoughts, of = str(message["role"]), _thoughts(message), partial(self._of, shape, message=number)
            words = tuple(word for word in birds(message.get("content")) if word not in thoughts)
            if any(word not in text for word in words):
                if role in _ROLES:
                    grade = WARNING if role == "tool" and not (self.calls or self.tools) else ""
                    yield of("lost", f"the {role} message is missing from the text", grade=grade)
                else:
                    yield of("lost", "leaves out roles it does not know", excerpt=role)
            yield from self._twice(shape, text, number, words)
            if any(word not in text for word in thoughts):
                if number < last:
                    yield of("history", "drops the reasoning of earlier answers", grade=FACT)
                elif self.reasons:
                    yield of("lost", "the reasoning is missing from the text")
                else:
                    yield of("lost", "does not support reasoning and drops it", grade=FACT)
            yield from self._twice(shape, text, number, thoughts)
            yield from self._called(shape, text, number, message)
            content = message.get("content")
            if isinstance(content, str) and content.strip():
                if shape.exact and not stands_in(content, text) and birds(content)[0] in text:
                    yield of(
                        "changed", f"the {role} text is changed", excerpt=_around(text, text.find(birds(content)[0]))
                    )
                if shape.name == "edges" and content not in text and content.strip() in text:
                    yield of("trims", f"trims whitespace around {role} messages", grade=FACT)
        names = [word for tool in shape.tools or () for word in birds(tool)]
        if any(word not in text for word in names) or (
            names and shape.name.startswith("tools") and "osprey" not in text
        ):
            if self.tools:
                yield self._of(shape, "lost", "the tools are missing from the text")
            else:
                yield self._of(shape, "tools", "does not support tools and leaves them out", grade=WARNING)
        if shape.kwargs.get("documents") and "whimbrel" not in text:
            yield self._of(shape, "documents", "leaves out documents", grade=FACT)

    def _twice(self, shape: ProbeShape, text: str, number: int, words: Iterable[str]) -> Iterator[ShapeProblem]:
        word = next((word for word in words if text.count(word) > _count(shape, word)), None)
        if word is not None:
            said = f"the {shape.messages[number]['role']} message is written twice"
            yield self._of(shape, "twice", said, number, _around(text, text.rfind(word)))

    def _called(self, shape: ProbeShape, text: str, number: int, message: Message) -> Iterator[ShapeProblem]:
        calls = message.get("tool_calls") or ()
        for call in calls:
            inner = call.get("function", call)
            arguments = birds(inner.get("arguments"))
            rest = text
            if shape.tools:  # the name stands in the list of tools already
                rest = text[text.find("heron") :]
            if any(word not in rest for word in (*birds(inner.get("name")), *arguments)):
                if self.calls:
                    yield self._of(shape, "lost", "a tool call is missing from the text", number)
                else:
                    yield self._of(
                        shape, "tools", "does not support tool calls and leaves them out", number, grade=WARNING
                    )
                return
            if any(text.count(word) > _count(shape, word) for word in arguments):
                yield self._of(shape, "twice", "a tool call is written twice", number)

    # --- answers ----------------------------------------------------------------------------------

    def _prefixes(self, shape: ProbeShape) -> Iterator[ShapeProblem]:
        """Whether what asks for each answer begins the text that holds it."""
        if len(shape.messages) > 12:
            return
        for number, message in enumerate(shape.messages):
            if message["role"] != "assistant" or not number or shape.messages[number - 1]["role"] == "assistant":
                continue
            prompt, whole = self.draw(shape.name, number, True), self.draw(shape.name, number + 1, False)
            if prompt is None or whole is None:
                continue
            if not whole.startswith(prompt):
                at = common_prefix(prompt, whole)
                if shape.messages[number - 1]["role"] == "system" or shape.messages[0]["role"] == "assistant":
                    continue
                said = "the text with the answer does not begin with the prompt"
                yield self._of(shape, "prefix", said, number, f"{_around(prompt, at)} ≠ {_around(whole, at)}")
                return
            if shape.name == "plain" and prompt == self.draw(shape.name, number, False):
                header = whole[len(prompt) :].partition("By the")[0].strip()
                if header:
                    said = "add_generation_prompt adds nothing, but answers have a header"
                    yield self._of(shape, "prompt", said, number, header)
                else:
                    yield self._of(shape, "prompt", "has no generation prompt and needs none", number, grade=FACT)

    def _tags(self, shape: ProbeShape) -> Iterator[ShapeProblem]:
        """Whether generation tags are around the answers, and around nothing else."""
        if not self.template.has_generation_tag or not shape.usual:
            return
        text, spans = self.template.text(
            self._given(shape.messages), tools=shape.tools, variables={**self.variables, **shape.kwargs}, now=_NOON
        )
        for number, message in enumerate(shape.messages):
            for word in birds(message.get("content")):
                if text.count(word) != 1:
                    continue
                at = text.find(word)
                inside = any(start <= at < end for start, end in spans)
                if inside != (message["role"] == "assistant"):
                    what = "miss an answer" if not inside else f"cover a {message['role']} message"
                    yield self._of(shape, "tags", f"generation tags {what}", number, _around(text, at))

    # --- markers ----------------------------------------------------------------------------------

    def _learnt(self) -> tuple[tuple[str, str], ...]:
        """Control words of which the one opens and the other closes each turn, in all of the plain shapes."""
        texts = [(self.by_name[name], self.attempt(name)) for name in ("plain", "two-turns", "many-turns")]
        if any(text is None for _, text in texts):
            return ()
        counts: dict[str, list[int]] = {}
        for n, (_, text) in enumerate(texts):
            for word in _CONTROL.findall(text or ""):
                counts.setdefault(word, [0, 0, 0])[n] += 1
        turns = [len(shape.messages) for shape, _ in texts]
        often = [word for word, some in counts.items() if some[2] - some[1] == turns[2] - turns[1]]
        if len(often) < 2:
            return ()
        order = [word for word in _CONTROL.findall(self.plain) if word in often]
        return ((order[0], order[-1]),) if order and order[0] != order[-1] else ()

    def _unbalanced(self, text: str) -> Iterator[str]:
        for opens, closes in self.pairs:
            if text.count(opens) != text.count(closes):
                yield f"{opens} … {closes}"
        counts: dict[str, list[int]] = {}
        for one in _PAIR.finditer(text):
            name = one.group(2) or one.group(4)
            form = "<{}>" if one.group(2) else "[{}]"
            counts.setdefault(form.format(name), [0, 0])[bool(one.group(1) or one.group(3))] += 1
        for form, (opened, closed) in counts.items():
            if opened and closed and opened != closed:
                yield f"{form} … {form[0]}/{form[1:]}"

    # --- the template as a whole ------------------------------------------------------------------

    def whole(self, ids: Callable[[str], Sequence[int]] | None, special: Mapping[int, str]) -> Iterator[ShapeProblem]:
        shape = self.by_name["plain"]
        if self.in_parts:
            yield self._of(
                shape, "parts", "accepts content only as a list of parts: strings are passed as one", grade=FACT
            )
        prompt = self.draw("plain", 1, False)
        if prompt is not None and "Where" in prompt:
            before = re.sub(_CONTROL, " ", prompt[: prompt.find("Where")])
            if len(re.findall(r"[^\W\d_]{3,}", before)) >= 4:
                said = "writes a system prompt of its own"
                yield self._of(shape, "system", said, excerpt=" ".join(before.split())[:80], grade=FACT)
        if self.date:
            yield self._of(shape, "date", "may write today's date", grade=FACT)
        if not self.template.has_generation_tag:
            yield self._of(shape, "tags", "has no generation tags", grade=FACT)
        turns = self.by_name["two-turns"]
        early, all_of_it = self.draw("two-turns", 2, False), self.draw("two-turns", 4, False)
        if early is not None and all_of_it is not None and not all_of_it.startswith(early.rstrip()):
            at = common_prefix(early, all_of_it)
            said = "an answer is written differently once another turn follows"
            yield self._of(turns, "rewrites", said, 1, f"{_around(early, at)} ≠ {_around(all_of_it, at)}", FACT)
        if ids is not None:
            yield from self._injected(ids, special)

    def _injected(self, ids: Callable[[str], Sequence[int]], special: Mapping[int, str]) -> Iterator[ShapeProblem]:
        """Control words in what somebody else wrote that become control tokens."""
        for name, number, role in (("plain", 0, "user"), ("system", 0, "system"), ("call", 2, "tool")):
            shape, text = self.by_name[name], self.attempt(name)
            if text is None:
                continue
            own = list(ids(text))
            for token in dict.fromkeys(one for one in own if one in special):
                word = special[token]
                if not word.strip() or word not in text:
                    continue
                content = f"{shape.messages[number]['content']} {word} so"
                messages = [*shape.messages]
                messages[number] = {**messages[number], "content": content}
                bent = self.text(shape, messages)
                if isinstance(bent, str) and content in bent and list(ids(bent)).count(token) > own.count(token):
                    said = f"control tokens typed in a {role} message become real control tokens"
                    yield self._of(shape, "injection", said, number, f"{word} → {token}", WARNING)
                    break


def with_problems(probed: ProbeReport, name: str) -> tuple[ShapeOutcome, tuple[ShapeProblem, ...]]:
    """One shape with what is reported of it; TemplateError for a name that is none."""
    for outcome in probed.outcomes:
        if outcome.shape.name == name:
            return outcome, tuple(problem for problem in probed.problems if problem.shape == name)
    raise TemplateError(
        f"there is no conversation shape {name!r}", fix="`--probe` lists those with problems, `--format json` all"
    )


def in_parts(message: Message) -> Message:
    """As TRL 1.16 hands messages to the processors of vision models (`prepare_multimodal_messages`)."""
    content = message.get("content")
    return {**message, "content": [{"type": "text", "text": content}]} if isinstance(content, str) else message


def _thoughts(message: Message) -> tuple[str, ...]:
    """The words of a message's reasoning, in a key of its own or inline before the answer."""
    inline = [slot.text for slot in slots_of(message).slots if slot.before.rstrip().endswith("<think>")]
    return birds([*inline, *(message.get(key) for key in REASONING_KEYS)])


def _count(shape: ProbeShape, word: str) -> int:
    """How often the messages and tools of a shape hold a word."""
    return sum(str(one).count(word) for one in (*shape.messages, *(shape.tools or ())))


def _nearest(shape: ProbeShape, text: str, at: int) -> int | None:
    """The message whose words stand next to a place: right behind it, where what is printed begins there."""
    words = [(word, n) for n, one in enumerate(shape.messages) for word in birds(one)]
    behind = [(place, n) for word, n in words if (place := text.find(word, at)) >= 0]
    before = [(place, n) for word, n in words if (place := text.rfind(word, 0, at)) >= 0]
    return min(behind)[1] if behind else max(before)[1] if before else None


def _around(text: str, at: int) -> str:
    start, end = max(0, at - _AROUND), at + _AROUND
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
