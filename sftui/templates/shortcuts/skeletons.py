"""Rows that differ in their texts alone: how a template writes such rows is found once, the rest is arithmetic.

What two rows share is their shape: roles, keys, tools, the template's variables, which texts are blank or open with a
thought. For a shape `_learned` puts words in place of the texts, has Jinja render them, and reads where each word
stands and whether it is trimmed or in JSON; `_planned` has `spans.attribute` say who wrote what, taking only what would
be said of any other texts too. A row of a known shape is then put together, and is that where `rust_engine` gives the
same text for it. Every `CHECK_EVERY`th of them is rendered by Jinja as well, every `CHECK_LATER`th once `SURE_AFTER`
agreed: where the two differ, shapes are not used any more and `mismatch` says so.
"""

from __future__ import annotations

import hashlib
import json
import marshal
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import accumulate
from typing import Any, NamedTuple, Protocol

from sftui.errors import TemplateError
from sftui.model import Part, RenderedText, Span, common_prefix
from sftui.recipe import Render
from sftui.templates.rendering import limits
from sftui.templates.rendering.gaps import GapComparison, opener_of, special_pattern, writes_thoughts
from sftui.templates.rendering.marks import slots_of, stands_in, thought_in
from sftui.templates.rendering.spans import ABSENT, LEAVES_OUT, Draw, attribute
from sftui.templates.shortcuts.rust_engine import frozen_flat


class TemplateFacts(Protocol):
    """What a chat template tells of itself here (see `template.ChatTemplate`)."""

    @property
    def name(self) -> str: ...

    @property
    def steps(self) -> int: ...

    def text(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Any,
        add_generation_prompt: bool,
        variables: Mapping[str, Any],
        now: datetime | None,
    ) -> tuple[str, tuple[tuple[int, int], ...]]: ...

    def frozen_values(
        self, messages: Sequence[Mapping[str, Any]], tools: Any, variables: Mapping[str, Any]
    ) -> dict[str, Any]: ...

    def frozen_messages(self, messages: Sequence[Mapping[str, Any]]) -> Any: ...

    def rust_text(self, values: Mapping[str, Any], now: datetime) -> str: ...


LEARN_AFTER = 12
"""Rows of a shape that are rendered before it is worth learning from one, which takes as long as 3 to 10 of them; where
that was in vain, four times as many, and so on."""
CHECK_EVERY, CHECK_LATER, SURE_AFTER = 64, 256, 512
"""Every so many rows of a shape that are put together, one is rendered as well, and every so many behind that row; to
render one takes as long as to put 5 together."""
MOST_SHAPES, MOST_WAYS, MOST_TRIES = 512, 4, 3
"""Shapes that are kept, ways through the template of each, and rows learned from in vain."""
MOST_CHARACTERS, MOST_TEXTS = 200_000, 500
"""Characters of the texts of a row, and how many there are; rows of more are rendered."""
MOST_IN_SHAPE, MOST_IN_NAME = 20_000, 200
"""What a shape may hold, and characters of what is in it to the letter."""
MOST_WRITTEN = 1_000
"""Bytes of tools or variables that are kept as they are, which takes half the time of hashing them."""
MOST_LITERAL, MOST_HELD = 200_000, 4_000_000
"""Characters that a template writes by itself in a row, and that are kept of all shapes together."""
SLOW = 0.03
"""Processor seconds: what takes longer to render is not learned from, so that a row costs no more than twice that."""

_PLAIN = ("role", "content")
_FIXED = frozenset(("role", "name"))
_THINKING = frozenset(("content", "reasoning_content", "thinking", "reasoning"))
_BLANK, _TEXT, _THOUGHT = object(), object(), object()
_WHITE_IN_PYTHON = re.compile("[\x1c-\x1f]")
"""White space to Python, not to minijinja."""
_MARKED = "0Zq"
"""In every mark that `spans` makes for a text that holds no such thing."""

Unlike = tuple[int, int, str]
"""The number of a text, 0 or -1, and the character that it must not have there."""
Place = tuple[int, int]
"""A place in a text: the piece that it stands before, and characters on from there (back, where negative)."""


class Lost(Exception):
    """What a template writes of a row depends on more than where its texts stand."""


class RenderRequest(NamedTuple):
    """A chat that is to be rendered: `prompt` leading messages as the prompt (None: no prompt), and how."""

    messages: Sequence[Mapping[str, Any]]
    tools: Any
    variables: Mapping[str, Any]
    kwargs: Mapping[str, Any]
    special_tokens: Mapping[str, str | list[str]]
    options: Render
    prompt: int | None
    spans: bool
    injected: bool
    special_literals: tuple[str, ...]
    now: datetime

    @property
    def bos(self) -> str:
        """What a text may begin with; nothing where the template is given none."""
        bos = self.variables.get("bos_token")
        return bos if isinstance(bos, str) else ""

    @property
    def literals(self) -> tuple[str, ...]:
        """The special tokens, which may end a turn."""
        found: list[str] = []
        for value in self.special_tokens.values():
            found.extend([value] if isinstance(value, str) else [token for token in value if isinstance(token, str)])
        return tuple(dict.fromkeys([*(token for token in found if token), *self.special_literals]))

    def text(
        self, some: Sequence[Mapping[str, Any]], template: TemplateFacts, prompt: bool = False
    ) -> tuple[str, tuple[tuple[int, int], ...]]:
        """What the template gives for other messages, all else as it is; TemplateError."""
        return template.text(
            some, tools=self.tools, add_generation_prompt=prompt, variables=self.variables, now=self.now
        )

    def draw(self, template: TemplateFacts) -> Draw:
        """The same for `spans.attribute`: None for what is refused, and for all that is too much work."""
        worked = 0

        def drawn(some: Sequence[Mapping[str, Any]]) -> str | None:
            # Counted in work, not in seconds, so that two runs agree: a template that takes too much gets no proof.
            nonlocal worked
            if worked > limits.SPAN_WORK:
                return None
            try:
                text: str | None = self.text(some, template)[0]
            except TemplateError:
                text = None
            worked += template.steps + len(some) + len(text or "") // 100
            return text

        return drawn


@dataclass(slots=True, eq=False)
class _Shape:
    """What is known of the rows of one shape."""

    seen: int = 0
    tries: int = 0
    used: int = 0
    ways: list[_Skeleton] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Sighting:
    """A row that may be put together: `rendered` is that, None where it is not known how.

    `complete`: with its spans, where they are requested. `due`: it is to be rendered as well. `thinks`: one of its
    texts opens with a thought.
    """

    request: RenderRequest
    shape: _Shape
    texts: list[str]
    edged: list[int]
    thinks: bool
    way: _Skeleton | None = None
    rendered: RenderedText | None = None
    complete: bool = False
    due: bool = False

    @property
    def steps(self) -> int | None:
        """Those that the template takes for it, where they are known."""
        return None if self.way is None else self.way.steps


class Skeletons:
    """The shapes that one template has met, under one recipe at a time.

    `mismatch` is a sentence where a row was put together otherwise than it is rendered. `put_together` counts rows.
    """

    def __init__(self) -> None:
        self.mismatch: str | None = None
        self.put_together = 0
        self._shapes: dict[Any, _Shape] = {}
        self._about: tuple[Mapping[str, Any], Render, tuple[str, ...]] | None = None

    def see(self, request: RenderRequest, template: TemplateFacts | None) -> Sighting | None:
        """Take note of a row; None where it has no shape, or shapes are not used any more.

        Without a template no other engine is asked: the texts are known to be nothing that it looks for.
        """
        if self.mismatch is not None:
            return None
        about = (request.special_tokens, request.options, request.special_literals)
        if self._about is None or not _same(self._about, about):
            self._shapes.clear()
        self._about = about
        read = _read(request.messages)
        if read is None:
            return None
        key, texts, edged = read
        key.append((request.prompt, request.spans, request.injected))
        try:
            if request.tools is not None:
                key.append(_digest(request.tools))
            if request.kwargs:
                key.append(_digest(dict(request.kwargs)))
        except ValueError:
            return None
        kept = tuple(key)
        shape = self._shapes.get(kept)
        if shape is None:
            if len(self._shapes) >= MOST_SHAPES:
                del self._shapes[next(iter(self._shapes))]
            shape = self._shapes[kept] = _Shape()
        shape.seen += 1
        sighting = Sighting(request, shape, texts, edged, _THOUGHT in key)
        for way in shape.ways:
            if way.fill(sighting, template):
                shape.used += 1
                self.put_together += 1
                sighting.due = shape.used % (CHECK_EVERY if shape.used <= SURE_AFTER else CHECK_LATER) == 0
                break
        return sighting

    def writes(self, request: RenderRequest, text: str) -> bool:
        """Whether a row that the template renders to this text is put together so, whatever another engine gives."""
        sighting = self.see(request, None)
        return sighting is not None and sighting.rendered is not None and sighting.rendered.text == text

    def settle(
        self,
        sighting: Sighting,
        template: TemplateFacts,
        rendered: RenderedText | None,
        seconds: float,
        steps: int | None = None,
    ) -> str | None:
        """Learn from a row that was rendered in full, or is refused (None); a sentence where it is not as it was put
        together.

        `steps` are those of its one render, taken for those of every row that takes this way through the template.
        """
        known, way = sighting.rendered, sighting.way
        if known is not None and way is not None and sighting.due:
            if way.steps != steps:
                way.steps = None
            if rendered is not None and known == (rendered if sighting.complete else _without_spans(rendered)):
                return None
            self._shapes.clear()
            self.mismatch = (
                f"{template.name}: a row was put together otherwise than the chat template renders it (it begins with"
                f" {known.text[:40]!r}); that row and all later ones are rendered; please report it to sftui"
            )
            return self.mismatch
        shape = sighting.shape
        wanted = shape.seen > LEARN_AFTER * 4**shape.tries and shape.tries < MOST_TRIES and len(shape.ways) < MOST_WAYS
        if rendered is None or not wanted or seconds > SLOW:
            return None
        learned = _learned(sighting, template, rendered)
        complete = learned is not None and sighting.complete
        shape.tries += not complete
        if learned is not None and (complete or known is None):
            if (
                learned.held + sum(skeleton.held for kept in self._shapes.values() for skeleton in kept.ways)
                > MOST_HELD
            ):
                self._shapes.clear()
            learned.steps = steps
            shape.ways.insert(0 if complete else len(shape.ways), learned)
        return None


def _digest(value: Any) -> bytes:
    """What stands for a value of JSON's types; ValueError for any other. 1 and True are two values."""
    written = marshal.dumps(value, 0)
    return written if len(written) <= MOST_WRITTEN else hashlib.blake2b(written, digest_size=16).digest()


def _same(
    one: tuple[Mapping[str, Any], Render, tuple[str, ...]], other: tuple[Mapping[str, Any], Render, tuple[str, ...]]
) -> bool:
    # By the letter: 1 and True are equal, and templates write them differently.
    return (
        (one[0] is other[0] or one[0] == other[0])
        and one[2] == other[2]
        and (one[1] is other[1] or repr(one[1]) == repr(other[1]))
    )


def _without_spans(rendered: RenderedText) -> RenderedText:
    return RenderedText(
        text=rendered.text,
        prompt=rendered.prompt,
        generation=rendered.generation,
        has_generation_tag=rendered.has_generation_tag,
        overlapping=rendered.overlapping,
    )


def _read(messages: Sequence[Mapping[str, Any]]) -> tuple[list[Any], list[str], list[int]] | None:
    """The shape of messages, their texts in order, and the numbers of those that begin or end in white space; None
    where they hold what is not of JSON's types, or too much.

    Everything that is not one of the texts is in the shape to the letter.
    """
    key: list[Any] = []
    texts: list[str] = []
    edged: list[int] = []
    for message in messages:
        if type(message) is not dict:
            return None
        if tuple(message) == _PLAIN:  # as nearly all are: what follows below, in one step
            role, content = message["role"], message["content"]
            if type(role) is str and type(content) is str and len(role) <= MOST_IN_NAME:
                core = content.strip()
                if len(core) == len(content) != 0 and not core.startswith("<think>"):
                    texts.append(content)
                    key += (2, "role", role, "content", _TEXT)
                    continue
        key.append(len(message))
        for name, value in message.items():
            if type(name) is not str or len(name) > MOST_IN_NAME:
                return None
            key.append(name)
            if type(value) is not str:
                if not _read_in(value, key, texts, edged, 0):
                    return None
            elif name in _FIXED:
                if len(value) > MOST_IN_NAME:
                    return None
                key.append(value)
            else:
                thought = thought_in(value) if name in _THINKING else None
                for before, said in thought or (("", value),):
                    key += (_THOUGHT, before) if thought else ()
                    if len(before) > MOST_IN_NAME or not _read_text(said, key, texts, edged):
                        return None
    if len(texts) > MOST_TEXTS or len(key) > MOST_IN_SHAPE or sum(map(len, texts)) > MOST_CHARACTERS:
        return None
    return key, texts, edged


def _read_text(value: str, key: list[Any], texts: list[str], edged: list[int]) -> bool:
    """The same of a text, which may be nothing but white space; False where its ends are white to Python alone."""
    core = value.strip()
    if not core:
        key += (_BLANK, value)
        return len(value) <= MOST_IN_NAME
    if len(core) < len(value):
        edged.append(len(texts))
    texts.append(value)
    key.append(_TEXT)
    return len(core) == len(value) or not _WHITE_IN_PYTHON.search(value)


def _read_in(value: Any, key: list[Any], texts: list[str], edged: list[int], depth: int) -> bool:
    """The same of what is inside of a message; False where it has no shape."""
    kind = type(value)
    if kind is str:
        return _read_text(value, key, texts, edged)
    if kind is dict and depth < 12:
        key += (dict, len(value))
        for name, item in value.items():
            if type(name) is not str or len(name) > MOST_IN_NAME:
                return False
            key.append(name)
            if name == "type" and type(item) is str:
                if len(item) > MOST_IN_NAME:
                    return False
                key.append(item)
            elif not _read_in(item, key, texts, edged, depth + 1):
                return False
    elif kind is list and depth < 12 and len(value) <= MOST_TEXTS:
        key += (list, len(value))
        return all(_read_in(item, key, texts, edged, depth + 1) for item in value)
    elif kind is float:
        key += (float, repr(value))
    elif kind is int or kind is bool or value is None:
        key += (kind, value)
    else:
        return False
    return True


def _filled(messages: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> list[dict[str, Any]]:
    """The messages with others in place of their texts, in the order of `_read`."""
    rest = iter(texts)

    def inside(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                name: item if name == "type" and isinstance(item, str) else inside(item) for name, item in value.items()
            }
        if isinstance(value, list):
            return [inside(item) for item in value]
        return next(rest) if isinstance(value, str) and value.strip() else value

    def said(name: str, value: Any) -> Any:
        if name in _FIXED and isinstance(value, str):
            return value
        thought = thought_in(value) if name in _THINKING and isinstance(value, str) else None
        return inside(value) if thought is None else "".join([before + inside(part) for before, part in thought])

    return [{name: said(name, value) for name, value in message.items()} for message in messages]


class _Spot(NamedTuple):
    """Where a text stands among pieces: its number, how it is written if not as it is, and whether it is trimmed."""

    at: int
    number: int
    written: Callable[[str], str] | None
    trims: bool


class _Rope:
    """A text as pieces: what the template writes by itself, and the texts of a row in turn."""

    __slots__ = ("_pieces", "spots")

    def __init__(self, gaps: Sequence[str], spots: Sequence[_Spot]) -> None:
        self._pieces = [piece for gap in gaps for piece in (gap, "")][:-1]
        self.spots = spots

    def filled(self, texts: Sequence[str], edged: Sequence[int]) -> list[str]:
        pieces = self._pieces.copy()
        for at, number, written, trims in self.spots:
            text = texts[number].strip() if edged and trims else texts[number]
            pieces[at] = text if written is None else written(text)
        return pieces

    def literals(self) -> str:
        """All that is no text of the row, apart."""
        return "\0".join(self._pieces)

    def place(self, position: int, shown: Sequence[str]) -> Place:
        """Where a character stands when the rope is filled so; Lost inside a text."""
        at = [0, *accumulate(map(len, shown))]
        piece = min(bisect_right(at, position) - 1, len(shown))
        if piece % 2 and position > at[piece]:
            raise Lost("a border inside a text")
        return piece, position - at[piece]


class _PartialMessage(NamedTuple):
    """A message that the text has in part: the numbers of the texts that it leaves out, and where all stands that it
    has of the message. Another row leaves the same out, but one of its texts may stand in what is there by chance."""

    numbers: tuple[int, ...]
    places: tuple[tuple[Place, Place], ...]

    def holds(self, text: str, at: Sequence[int], texts: Sequence[str]) -> bool:
        """Whether something is left out for these texts, too."""
        said = "".join([text[at[a] + da : at[b] + db] for (a, da), (b, db) in self.places])
        return any(not stands_in(texts[number], said) for number in self.numbers)


@dataclass(frozen=True, slots=True)
class _Plan:
    """Who wrote what: spans between places, and what else a row must meet for them to be so."""

    spans: tuple[tuple[int, int, int, int, int, Part], ...]
    notes: tuple[str, ...]
    special: re.Pattern[str]
    opener: str
    bos: str
    thoughts: bool
    quoted: tuple[int, ...]
    """Texts that stand in JSON."""
    edges: bool
    """Whether white space at the ends of texts changes nothing."""
    unlike: tuple[Unlike, ...]
    partly: tuple[_PartialMessage, ...]

    def of(
        self, text: str, pieces: Sequence[str], texts: Sequence[str], edged: Sequence[int]
    ) -> tuple[Span, ...] | None:
        """The spans; None where they are not known for these texts."""
        if edged and (not self.edges or any(number in self.quoted for number in edged)):
            return None
        for one in texts:
            if _MARKED in one or (self.thoughts and "</think>" in one):
                return None
        # A mark of a text with a backslash may be taken for what stands in JSON.
        if any("\\" in texts[number] for number in self.quoted):
            return None
        for number, end, letter in self.unlike:
            if letter in (texts[number][end], texts[number].strip()[end]):
                return None
        if opener_of(text, self.special, self.bos) != self.opener:
            return None
        at = [0, *accumulate(map(len, pieces))]
        if not all(partial_message.holds(text, at, texts) for partial_message in self.partly):
            return None
        made = tuple.__new__  # a third of the time of calling it
        return tuple(
            [made(Span, (at[a] + da, at[b] + db, message, part)) for a, da, b, db, message, part in self.spans]
        )


class _Skeleton:
    """How a template writes the rows of one shape, whose messages are `flat` where all that they hold is text."""

    __slots__ = (
        "_flat",
        "_generation",
        "_overlapping",
        "_prompt",
        "_tagged",
        "_text",
        "_values",
        "edges",
        "plan",
        "steps",
    )

    def __init__(
        self,
        text: _Rope,
        prompt: _Rope | None,
        generation: tuple[tuple[Place, Place], ...],
        rendered: RenderedText,
        plan: _Plan | None,
        values: Mapping[str, Any],
        flat: bool,
    ) -> None:
        self._text, self._prompt, self._generation, self.plan = text, prompt, generation, plan
        self._tagged, self._overlapping = rendered.has_generation_tag, rendered.overlapping
        self._values, self._flat = values, flat
        self.steps: int | None = None

    @property
    def held(self) -> int:
        """Characters that it keeps."""
        return len(self._text.literals()) + (0 if self._prompt is None else len(self._prompt.literals()))

    def fill(self, sighting: Sighting, template: TemplateFacts | None) -> bool:
        """Put a row together, and whether that is what the template gives; without one no other engine is asked."""
        texts, edged, request = sighting.texts, sighting.edged, sighting.request
        pieces = self._text.filled(texts, edged)
        text = "".join(pieces)
        prompt = None if self._prompt is None else "".join(self._prompt.filled(texts, edged))
        if template is not None and not self._agreed(template, request, text, prompt):
            return False
        spans = None if self.plan is None else self.plan.of(text, pieces, texts, edged)
        generation: tuple[tuple[int, int], ...] = ()
        if self._generation:
            at = [0, *accumulate(map(len, pieces))]
            generation = tuple([(at[a] + da, at[b] + db) for (a, da), (b, db) in self._generation])
        sighting.way, sighting.complete = self, spans is not None or not request.spans
        sighting.rendered = RenderedText(
            text,
            spans or (),
            prompt,
            generation,
            self._tagged,
            None,
            True,
            self.plan.notes if self.plan is not None and spans is not None else (),
            self._overlapping,
        )
        return True

    def _agreed(self, template: TemplateFacts, request: RenderRequest, text: str, prompt: str | None) -> bool:
        try:
            messages = frozen_flat(request.messages) if self._flat else template.frozen_messages(request.messages)
            given = {**self._values, "messages": messages, "add_generation_prompt": False}
            if template.rust_text(given, request.now) != text:
                return False
            given |= {"messages": messages[: request.prompt], "add_generation_prompt": True}
            return prompt is None or template.rust_text(given, request.now) == prompt
        except Exception:  # whatever a template raises there
            return False


def _learned(sighting: Sighting, template: TemplateFacts, rendered: RenderedText) -> _Skeleton | None:
    """How the rows of a shape are written, by one of them, which is put together; None where that is not known, or
    would be another text."""
    try:
        found = _skeleton(sighting, template, rendered)
    except Exception:  # Lost, or whatever else a template raises that is given other texts
        return None
    sighting.rendered, sighting.complete = None, False
    if not found.fill(sighting, template):
        return None
    return found if sighting.rendered == (rendered if sighting.complete else _without_spans(rendered)) else None


def _skeleton(sighting: Sighting, template: TemplateFacts, rendered: RenderedText) -> _Skeleton:
    request = sighting.request
    words = _Words(len(sighting.texts), rendered.text + (rendered.prompt or ""))
    messages, edged = _filled(request.messages, words.texts), _filled(request.messages, words.edged)

    def rope(count: int | None, prompt: bool) -> tuple[_Rope, str, tuple[tuple[int, int], ...]]:
        text, generated = request.text(messages[:count], template, prompt)
        found = words.rope(text, request.text(edged[:count], template, prompt)[0])
        most = max(Counter(spot.number for spot in found.spots).values(), default=0)
        if len(found.literals()) > MOST_LITERAL or 12 * MOST_CHARACTERS * most > limits.OUTPUT_LIMIT // 2:
            raise Lost("it may write too much")
        return found, text, generated

    text_rope, text, generated = rope(None, False)
    prompt_rope = rope(request.prompt, True)[0] if request.prompt is not None else None
    shown = text_rope.filled(words.texts, ())
    generation = tuple((text_rope.place(start, shown), text_rope.place(end, shown)) for start, end in generated)
    plan = None
    if request.spans and not sighting.thinks:
        try:
            plan = _planned(request, template, text_rope, words, messages, text)
        except Lost:
            plan = None
    values = template.frozen_values(messages, request.tools, request.variables)
    flat = values.pop("messages") == messages and all(type(said) is str for one in messages for said in one.values())
    return _Skeleton(text_rope, prompt_rope, generation, rendered, plan, values, flat)


def _json_body(text: str) -> str:
    """A text as it stands between the quotes of JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _json_ascii(text: str) -> str:
    """The same with every letter beyond ASCII escaped."""
    return json.dumps(text)[1:-1]


class _Words:
    """A word for each text of a row, which stands in its stead, without white space at its ends and with (`edged`).

    It reads differently in JSON, so that one form is not taken for another.
    """

    def __init__(self, count: int, avoid: str) -> None:
        number = 0
        while f"Zw{number}w" in avoid:
            number += 1
        self.seed, end = f"Zw{number}w", "b\"\té'eZw"
        self.texts = [f"{self.seed}{at}{end}" for at in range(count)]
        self.edged = [f" {text} " for text in self.texts]
        self._ends = {end: None, _json_body(end): _json_body, _json_ascii(end): _json_ascii}
        self._word = re.compile(f"{self.seed}(\\d+)({'|'.join(map(re.escape, self._ends))})")

    def rope(self, text: str, edged: str) -> _Rope:
        """What a template writes around the words, by what it gives for them and for the same with white space; Lost
        where it makes something else of a word."""
        (gaps, numbers, ends), (wide, *others) = self._split(text), self._split(edged)
        if [numbers, ends] != others:
            raise Lost("white space at the ends of texts")
        spots = []
        kept = ""
        for at, (number, end) in enumerate(zip(numbers, ends)):
            trims = wide[at] == kept + gaps[at]
            if not trims and wide[at] != kept + gaps[at] + " ":
                raise Lost("white space at the ends of texts")
            kept = "" if trims else " "
            spots.append(_Spot(2 * at + 1, int(number), self._ends[end], trims))
        if wide[-1] != kept + gaps[-1]:
            raise Lost("white space at the ends of texts")
        return _Rope(gaps, spots)

    def _split(self, text: str) -> tuple[list[str], list[str], list[str]]:
        found = self._word.split(text)
        if self.seed in "\0".join(found[::3]):
            raise Lost("something else is made of a text")
        return found[::3], found[1::3], found[2::3]

    def left_out(self, message: Mapping[str, Any], said: str) -> tuple[int, ...]:
        """The numbers of the texts of a message that are not in what is said."""
        texts = [slot.text for slot in slots_of(message).slots if slot.text.strip()]
        return tuple(self.texts.index(text) for text in texts if not stands_in(text, said))

    def inside(self, text: str, at: int) -> tuple[int, int, int] | None:
        """The word around a character of a text: where it begins and ends, and its number; None where none is."""
        for found in self._word.finditer(text):
            if found.start() <= at < found.end():
                return *found.span(), int(found.group(1))
            if found.start() > at:
                break
        return None


class _SureComparisons(GapComparison):
    """Comparisons that come out alike whatever stands in place of the words; Lost where that is not so.

    `unlike` are texts that must not begin (0) or end (-1) with a character for that.
    """

    def __init__(self, words: _Words) -> None:
        self._words = words
        self.trims = False
        self.unlike: set[Unlike] = set()

    def trimmed(self, text: str) -> str:
        # White space at the end of the text that stands there would be gone, too.
        self.trims = self.trims or text.endswith("eZw")
        return text.rstrip()

    def starts(self, text: str, with_: str) -> bool:
        if text.startswith(with_):
            return True
        at = common_prefix(text, with_)
        self._certain(text, at, with_, at, 0)
        return False

    def ends(self, text: str, with_: str) -> bool:
        if text.endswith(with_):
            return True
        back = common_prefix(text[::-1], with_[::-1])
        self._certain(text, len(text) - 1 - back, with_, len(with_) - 1 - back, -1)
        return False

    def between(self, gap: str) -> None:
        if self._words.seed in gap:
            raise Lost("a text that is no content")

    def behind(self, tail: str) -> None:
        if self._words.seed in tail:
            raise Lost("a text behind the same beginning")

    def _certain(self, one: str, at: int, other: str, where: int, end: int) -> None:
        """Two characters that are not the same, the first or the last that are not: where one of them begins or ends a
        text, no text may have the other there."""
        if not 0 <= at < len(one) or not 0 <= where < len(other):
            return
        found, against = self._words.inside(one, at), self._words.inside(other, where)
        if found is None and against is None:
            return
        word, place, letter = (found, at, other[where]) if found is not None else (against, where, one[at])
        if word is None or (found is not None and against is not None) or letter == "\\":
            raise Lost("a comparison with a text")
        if place != (word[0] if end == 0 else word[1] - 1):
            raise Lost("a comparison inside a text")
        self.unlike.add((word[2], end, letter))


def _planned(
    request: RenderRequest,
    template: TemplateFacts,
    rope: _Rope,
    words: _Words,
    messages: Sequence[Mapping[str, Any]],
    text: str,
) -> _Plan:
    """Who wrote what in the rows of a shape, by these messages of words and their text; Lost where that depends on more
    than where the texts stand."""
    sure = _SureComparisons(words)
    if any(slots_of(message).other for message in messages):
        raise Lost("content that is no text")
    if _MARKED in rope.literals():
        raise Lost("marks")
    found = attribute(
        text,
        messages,
        request.draw(template),
        literals=request.literals,
        bos=request.bos,
        injected=request.injected,
        comparing=sure,
    )
    if not found.exact or not all(note.endswith((ABSENT, LEAVES_OUT)) for note in found.notes):
        raise Lost("not proven")
    shown = rope.filled(words.texts, ())
    forms: dict[int, set[tuple[Any, bool]]] = {}
    for spot in rope.spots:
        forms.setdefault(spot.number, set()).add((spot.written, spot.trims))
    special = special_pattern(request.literals)
    return _Plan(
        tuple((*rope.place(span.start, shown), *rope.place(span.end, shown), *span[2:]) for span in found.spans),
        found.notes,
        special,
        opener_of(text, special, request.bos),
        request.bos,
        writes_thoughts(rope.literals()),
        tuple({spot.number for spot in rope.spots if spot.written is not None}),
        not sure.trims and all(len(some) == 1 for some in forms.values()) and _apart(rope, shown),
        tuple(sure.unlike),
        tuple(
            _PartialMessage(
                words.left_out(messages[number], "".join([text[start:end] for start, end in ranges])),
                tuple((rope.place(start, shown), rope.place(end, shown)) for start, end in ranges),
            )
            for number, ranges in found.partly
            if any(text[start:end].strip() for start, end in ranges)
        ),
    )


def _apart(rope: _Rope, shown: Sequence[str]) -> bool:
    """Whether behind each text that the template trims there is more than white space before the next one: then no
    mark is taken for a text that is not trimmed."""
    return all(
        shown[spot.at + 1].strip() or spot is rope.spots[-1]
        for spot in rope.spots
        if spot.trims or spot.written is not None
    )
