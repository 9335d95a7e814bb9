"""Rows that differ in their texts alone: how a template writes such rows is found once, the rest is arithmetic.

What two rows share is their shape: roles, keys, tools, the template's variables, which texts are blank and the white
space at the ends of the others. `tracing` follows one row of a shape and tells where its texts stand and on what
conditions; `_planned` puts words in place of the texts and has `spans.attribute` say who wrote what, taking only what
would be said of any other texts too. A row of a known shape that meets the conditions is then put together, and every
`CHECK_EVERY`th of them is rendered as well, every `CHECK_LATER`th once `SURE_AFTER` agreed: where the two differ,
shapes are not used any more and `mismatch` says so.
"""

from __future__ import annotations

import hashlib
import marshal
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from sftui.model import Part, RenderedText, Span, common_prefix
from sftui.recipe import Render
from sftui.templates.rendering import limits
from sftui.templates.rendering.gaps import GapComparison, opener_of, special_pattern, writes_thoughts
from sftui.templates.rendering.limits import Lost
from sftui.templates.rendering.marks import slots_of, stands_in
from sftui.templates.rendering.spans import ABSENT, LEAVES_OUT, attribute
from sftui.values import with_fields

if TYPE_CHECKING:
    from sftui.templates.shortcuts.tracing import Recording, TracedText


class TemplateFacts(Protocol):
    """What a chat template tells of itself here (see `template.ChatTemplate`)."""

    name: str
    compiled_in: float

    @property
    def traced_steps(self) -> int: ...

    def follow(
        self, request: RenderRequest, messages: Sequence[Mapping[str, Any]], recording: Recording, prompt: bool = False
    ) -> TracedText: ...


LEARN_AFTER = 12
"""Rows of a shape that are rendered before it is worth following one, which takes as long as 3 to 10 of them (the first
time 100: the template is compiled again); where that was in vain, four times as many, and so on."""
CHECK_EVERY, CHECK_LATER, SURE_AFTER = 64, 256, 512
"""Every so many rows of a shape that are put together, one is rendered as well, and every so many behind that row; to
render one takes as long as to put 30 to 60 together."""
MOST_SHAPES, MOST_WAYS, MOST_TRIES = 512, 4, 3
"""Shapes that are kept, ways through the template (answers to its conditions) of each, and rows followed in vain."""
MOST_CHARACTERS, MOST_TEXTS = 200_000, 500
"""Characters of the texts of a row, and how many there are; rows of more are rendered."""
MOST_IN_SHAPE, MOST_IN_NAME = 20_000, 200
"""What a shape may hold, and characters of what is in it to the letter."""
MOST_WRITTEN = 1_000
"""Bytes of tools or variables that are kept as they are, which takes half the time of hashing them."""
MOST_LITERAL, MOST_HELD = 200_000, 4_000_000
"""Characters that a template writes by itself in a row, and that are kept of all shapes together."""
SLOW = 0.03
"""Processor seconds: what takes longer to render is not followed, so that a row costs no more than twice that."""

_PLAIN = ("role", "content")
_FIXED = frozenset(("role", "name"))
_THINKING = frozenset(("content", "reasoning_content", "thinking", "reasoning"))
_BLANK, _TEXT, _THOUGHT = object(), object(), object()
_MARKED = "0Zq"
"""In every mark that `spans` makes for a text that holds no such thing."""

Edge = tuple[int, str, str]
"""The number of a text, and the white space before and after what it says."""
Unlike = tuple[int, int, str]
"""The number of a text, 0 or -1, and the character that it must not have there."""
Place = tuple[int, int]
"""A place in a text: the piece that it stands before, and characters on from there (back, where negative)."""
_Settings = tuple[Mapping[str, Any], Render]
"""The special tokens and how chats are rendered: the same for all rows."""
Step = tuple[Callable[..., Any], tuple[Any, ...]]
"""A step of a `Recording`: a function, and its arguments or the registers that hold them."""


class RenderRequest(NamedTuple):
    """A chat that is to be rendered: `prompt` leading messages as the prompt (None: no prompt), and how."""

    messages: Sequence[Mapping[str, Any]]
    tools: Any
    kwargs: Mapping[str, Any]
    special_tokens: Mapping[str, str | list[str]]
    options: Render
    prompt: int | None
    spans: bool
    injected: bool
    now: datetime

    @property
    def variables(self) -> Mapping[str, Any]:
        """The template's: a row's own keyword arguments win over the recipe's, as in TRL's `apply_chat_template`."""
        return {**self.special_tokens, **self.options.kwargs, **self.kwargs}

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
        return tuple(dict.fromkeys(filter(None, found)))


@dataclass(slots=True, eq=False)
class _Shape:
    """What is known of the rows of one shape; `thinks`: one of their texts opens with a thought."""

    thinks: bool
    seen: int = 0
    tries: int = 0
    used: int = 0
    ways: list[_Skeleton] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Sighting:
    """A row that may be put together: `rendered` is that, None where it is not known how.

    `complete`: with its spans, where they are requested. `due`: it is to be rendered as well. `steps` are those that
    the template takes for it, where they are known.
    """

    request: RenderRequest
    shape: _Shape
    texts: list[str]
    edges: tuple[Edge, ...]
    rendered: RenderedText | None = None
    complete: bool = False
    due: bool = False
    steps: int | None = None


class Skeletons:
    """The shapes that one template has met, under one recipe at a time.

    `mismatch` is a sentence where a row was put together otherwise than it is rendered. `put_together` counts rows.
    """

    def __init__(self) -> None:
        self.mismatch: str | None = None
        self.put_together = 0
        self._shapes: dict[Any, _Shape] = {}
        self._about: _Settings | None = None

    def see(self, request: RenderRequest) -> Sighting | None:
        """Take note of a row; None where it has no shape, or shapes are not used any more."""
        if self.mismatch is not None:
            return None
        about = (request.special_tokens, request.options)
        if self._about is None or not _same(self._about, about):
            self._shapes.clear()
        self._about = about
        read = _read(request.messages)
        if read is None:
            return None
        key, texts, edges = read
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
            shape = self._shapes[kept] = _Shape(_THOUGHT in key)
        shape.seen += 1
        sighting = Sighting(request, shape, texts, tuple(edges))
        for way in shape.ways:
            sighting.rendered = way.rendered(texts, sighting.edges, request.now)
            if sighting.rendered is not None:
                shape.used += 1
                self.put_together += 1
                sighting.complete = way.plan is not None or not request.spans
                sighting.steps = way.steps
                sighting.due = shape.used % (CHECK_EVERY if shape.used <= SURE_AFTER else CHECK_LATER) == 0
                break
        return sighting

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

        `steps` are those of its one render, the same for every row that takes this way through the template.
        """
        known = sighting.rendered
        if known is not None and sighting.due:
            alike = sighting.steps in (None, steps)
            if rendered is not None and alike:
                alike = known == (rendered if sighting.complete else _without_spans(rendered))
            if rendered is not None and alike:
                return None
            self._shapes.clear()
            self.mismatch = (
                f"{template.name}: a row was assembled differently from what the chat template renders (it"
                f" begins with {known.text[:40]!r}); sftui renders that row and all later ones; please report it"
                " to sftui"
            )
            return self.mismatch
        shape = sighting.shape
        wanted = shape.seen > LEARN_AFTER * 4**shape.tries and shape.tries < MOST_TRIES and len(shape.ways) < MOST_WAYS
        if rendered is None or not wanted or seconds > SLOW or template.compiled_in > 5 * SLOW:
            return None
        way = _followed(sighting, template, rendered)
        complete = way is not None and (way.plan is not None or not sighting.request.spans)
        shape.tries += not complete
        if way is not None and (complete or known is None):
            if way.held + sum(skeleton.held for kept in self._shapes.values() for skeleton in kept.ways) > MOST_HELD:
                self._shapes.clear()
            way.steps = steps
            shape.ways.insert(0 if complete else len(shape.ways), way)
        return None


def _digest(value: Any) -> bytes:
    """What stands for a value of JSON's types; ValueError for any other. 1 and True are two values."""
    written = marshal.dumps(value, 0)
    return written if len(written) <= MOST_WRITTEN else hashlib.blake2b(written, digest_size=16).digest()


def _same(one: _Settings, other: _Settings) -> bool:
    # By the letter: 1 and True are equal, and templates write them differently.
    return (one[0] is other[0] or one[0] == other[0]) and (one[1] is other[1] or repr(one[1]) == repr(other[1]))


def _without_spans(rendered: RenderedText) -> RenderedText:
    return with_fields(rendered, spans=(), exact=True, notes=())


def _read(messages: Sequence[Mapping[str, Any]]) -> tuple[list[Any], list[str], list[Edge]] | None:
    """The shape of messages, their texts in order, and those that begin or end in white space; None where they hold
    what is not of JSON's types, or too much.

    Everything that is not one of the texts is in the shape to the letter.
    """
    key: list[Any] = []
    texts: list[str] = []
    edges: list[Edge] = []
    for message in messages:
        if type(message) is not dict:
            return None
        if tuple(message) == _PLAIN:  # as nearly all are: what follows below, in one step
            role, content = message.values()
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
                if not _read_in(value, key, texts, edges, 0):
                    return None
            elif name in _FIXED:
                if len(value) > MOST_IN_NAME:
                    return None
                key.append(value)
            else:
                core = value.strip()
                if len(core) == len(value) != 0:
                    texts.append(value)
                    key.append(_TEXT)
                elif not _read_edged(value, key, texts, edges):
                    return None
                if name in _THINKING and core.startswith("<think>") and "</think>" in core:
                    key.append(_THOUGHT)
    if len(texts) > MOST_TEXTS or len(key) > MOST_IN_SHAPE or sum(map(len, texts)) > MOST_CHARACTERS:
        return None
    return key, texts, edges


def _read_edged(value: str, key: list[Any], texts: list[str], edges: list[Edge]) -> bool:
    """The same of a text that may begin or end in white space, or be nothing else."""
    before, after = len(value) - len(value.lstrip()), len(value.rstrip())
    if not after:
        key += (_BLANK, value)
        return len(value) <= MOST_IN_NAME
    if before or after < len(value):
        edges.append((len(texts), value[:before], value[after:]))
    texts.append(value)
    key.append(_TEXT)
    return before + len(value) - after <= MOST_IN_NAME


def _read_in(value: Any, key: list[Any], texts: list[str], edges: list[Edge], depth: int) -> bool:
    """The same of what is inside of a message; False where it has no shape."""
    kind = type(value)
    if kind is str:
        return _read_edged(value, key, texts, edges)
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
            elif not _read_in(item, key, texts, edges, depth + 1):
                return False
    elif kind is list and depth < 12 and len(value) <= MOST_TEXTS:
        key += (list, len(value))
        return all(_read_in(item, key, texts, edges, depth + 1) for item in value)
    elif kind is float:
        key += (float, repr(value))
    elif kind is int or kind is bool or value is None:
        key += (kind, value)
    else:
        return False
    return True


def _filled(messages: Sequence[Mapping[str, Any]], texts: Sequence[Any]) -> list[dict[str, Any]]:
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

    return [
        {name: value if name in _FIXED and isinstance(value, str) else inside(value) for name, value in message.items()}
        for message in messages
    ]


def _replaced(value: Any, texts: Mapping[str, Any]) -> Any:
    """The value with each string that is a key of `texts` replaced."""
    if isinstance(value, str):
        return texts.get(value, value)
    if isinstance(value, Mapping):
        return {name: _replaced(item, texts) for name, item in value.items()}
    return [_replaced(item, texts) for item in value] if isinstance(value, (list, tuple)) else value


class _Rope:
    """A text as pieces, strings and registers in turn."""

    __slots__ = ("_pieces", "registers")

    def __init__(self, parts: Sequence[Any]) -> None:
        self._pieces = [part if isinstance(part, str) else "" for part in parts]
        self.registers = [(at, part.register) for at, part in enumerate(parts) if not isinstance(part, str)]

    def moved(self, places: Sequence[int]) -> _Rope:
        """The same where registers have other numbers."""
        made = _Rope(self._pieces)
        made.registers = [(at, places[register]) for at, register in self.registers]
        return made

    def filled(self, registers: Sequence[Any]) -> list[str]:
        pieces = self._pieces.copy()
        for at, register in self.registers:
            pieces[at] = registers[register]
        return pieces

    def literals(self) -> str:
        """All that is no register, apart."""
        return "\0".join(self._pieces)


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
    edges: tuple[Edge, ...] | None
    """White space at the ends of texts; None where none changes anything."""
    unlike: tuple[Unlike, ...]
    partly: tuple[_PartialMessage, ...]

    def of(
        self, text: str, pieces: Sequence[str], texts: Sequence[str], edges: tuple[Edge, ...]
    ) -> tuple[Span, ...] | None:
        """The spans; None where they is not known for these texts."""
        if edges and edges != self.edges and (self.edges is not None or any(edge[0] in self.quoted for edge in edges)):
            return None
        if self.edges and not edges:
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


class _Fill:
    """What is done to the texts of a row, and where they go then: `text`, and `prompt` where one is rendered."""

    __slots__ = ("_steps", "prompt", "text")

    def __init__(self, steps: Sequence[Step], text: _Rope, prompt: _Rope | None) -> None:
        self._steps = [_compiled(*step) for step in steps]
        self.text, self.prompt = text, prompt

    def registers(self, texts: Sequence[str]) -> Sequence[Any] | None:
        """The texts and what the steps make of them; None where a condition is not met."""
        if not self._steps:
            return texts
        registers: list[Any] = list(texts)
        try:
            for step in self._steps:
                if not step(registers):
                    return None
        except (TypeError, ValueError, IndexError):
            return None
        return registers


class _Skeleton:
    """One way through a template for the rows of one shape."""

    __slots__ = ("_any", "_bare", "_generation", "_overlapping", "_tagged", "_times", "held", "plan", "steps")

    def __init__(
        self,
        recording: Recording,
        text: _Rope,
        prompt: _Rope | None,
        generation: tuple[tuple[Place, Place], ...],
        rendered: RenderedText,
        plan: _Plan | None,
    ) -> None:
        steps, places = _without_strips(recording.steps, len(recording.texts))
        self._any = _Fill(recording.steps, text, prompt)
        self._bare = _Fill(steps, text.moved(places), None if prompt is None else prompt.moved(places))
        self._times = tuple(dict.fromkeys(recording.times))
        written = len(text.literals()) + len("" if prompt is None else prompt.literals())
        self.held = written + len(recording.steps) + len(steps)
        self._generation, self.plan = generation, plan
        self._tagged, self._overlapping = rendered.has_generation_tag, rendered.overlapping
        self.steps: int | None = None

    def rendered(self, texts: Sequence[str], edges: tuple[Edge, ...], now: datetime) -> RenderedText | None:
        """What the template gives for these texts; None where it may be anything else."""
        filling = self._any if edges else self._bare
        registers = filling.registers(texts)
        if registers is None or (self._times and any(now.strftime(form) != said for form, said in self._times)):
            return None
        pieces = filling.text.filled(registers)
        text = "".join(pieces)
        spans = () if self.plan is None else self.plan.of(text, pieces, texts, edges)
        if spans is None:
            return None
        generation: tuple[tuple[int, int], ...] = ()
        if self._generation:
            at = [0, *accumulate(map(len, pieces))]
            generation = tuple([(at[a] + da, at[b] + db) for (a, da), (b, db) in self._generation])
        return RenderedText(
            text,
            spans,
            None if filling.prompt is None else "".join(filling.prompt.filled(registers)),
            generation,
            self._tagged,
            None,
            True,
            self.plan.notes if self.plan is not None else (),
            self._overlapping,
        )


def _without_strips(steps: Sequence[Step], texts: int) -> tuple[list[Step], list[int]]:
    """The steps of texts without white space at their ends, from which stripping takes nothing, and the new place of
    each register."""
    from sftui.templates.shortcuts.tracing import ASK, Register

    kept: list[Step] = []
    places, count = list(range(texts)), texts
    for function, refs in steps:
        if _strips(function, refs) and places[refs[0]] < texts:
            places.append(places[refs[0]])
            continue
        kept.append((function, tuple(Register(places[ref]) if type(ref) is Register else ref for ref in refs)))
        if function is not ASK:
            places.append(count)
            count += 1
    return kept, places


def _strips(function: Callable[..., Any], refs: tuple[Any, ...]) -> bool:
    """Whether a step takes white space, and nothing else, from the ends of a register."""
    from sftui.templates.shortcuts.tracing import Register

    if function not in (str.strip, str.lstrip, str.rstrip) or len(refs) > 2 or type(refs[0]) is not Register:
        return False
    chars = refs[1] if len(refs) > 1 else None
    return chars is None or (isinstance(chars, str) and not chars.strip())


def _compiled(function: Callable[..., Any], refs: tuple[Any, ...]) -> Callable[[list[Any]], bool]:
    """A step as a function of the registers; False where it is a condition that they do not meet."""
    from sftui.templates.shortcuts.tracing import ASK, Register

    if function is ASK:
        request, expected = int(refs[0]), refs[1]
        return lambda registers: ASK(registers[request], expected)
    if all(type(ref) is not Register for ref in refs[1:]) and type(refs[0]) is Register:
        first, rest = int(refs[0]), refs[1:]

        def one(registers: list[Any]) -> bool:
            registers.append(function(registers[first], *rest))
            return True

        return one

    def many(registers: list[Any]) -> bool:
        registers.append(function(*(registers[ref] if type(ref) is Register else ref for ref in refs)))
        return True

    return many


def _followed(sighting: Sighting, template: TemplateFacts, rendered: RenderedText) -> _Skeleton | None:
    """The way of this row through the template; None where it is not known, or tells another text."""
    for spans in (True, False) if sighting.request.spans else (False,):
        try:
            found = _skeleton(sighting, template, rendered, spans)
        except Exception:  # Lost, or whatever else a template raises that is given no strings
            continue
        known = found.rendered(sighting.texts, sighting.edges, sighting.request.now)
        if known == (rendered if spans else _without_spans(rendered)):
            return found
    return None


def _skeleton(sighting: Sighting, template: TemplateFacts, rendered: RenderedText, spans: bool) -> _Skeleton:
    from sftui.templates.shortcuts.tracing import Recording

    request = sighting.request
    recording = Recording(sighting.texts, request.now)
    messages = _filled(request.messages, recording.texts)
    parts, generated = template.follow(request, messages, recording)
    generation = tuple((_place(before, parts), _place(until, parts)) for before, until in generated)
    prompt = None
    if request.prompt is not None:
        prompt, _ = template.follow(request, messages[: request.prompt], recording, prompt=True)
    for some in (parts, prompt or ()):
        if _most(some) > limits.OUTPUT_LIMIT or len(_Rope(some).literals()) > MOST_LITERAL:
            raise Lost("it may write too much")
    plan = None
    if spans:
        try:
            plan = _planned(sighting, template, recording, parts, ())
        except Lost:
            if not sighting.edges:
                raise
            plan = _planned(sighting, template, recording, parts, sighting.edges)
    return _Skeleton(recording, _Rope(parts), None if prompt is None else _Rope(prompt), generation, rendered, plan)


def _place(before: Sequence[Any], parts: Sequence[Any]) -> Place:
    """Where in a text the parts that it begins with end."""
    for at, part in enumerate(before):
        other = parts[at] if at < len(parts) else None
        if isinstance(part, str):
            if isinstance(other, str) and at == len(before) - 1 and other.startswith(part):
                return (at, len(part)) if len(part) < len(other) else (at + 1, 0)
            if other != part:
                raise Lost("a block's output is used elsewhere")
        elif isinstance(other, str) or other is None or other.register != part.register:
            raise Lost("a block's output is used elsewhere")
    return len(before), 0


def _most(parts: Sequence[Any]) -> int:
    """Characters that these may come to at the most: JSON writes six for one of two bytes, twelve for one of four."""
    literal = sum(len(part) for part in parts if isinstance(part, str))
    times = Counter(part.register for part in parts if not isinstance(part, str))
    return literal + 12 * MOST_CHARACTERS * max(times.values(), default=0)


class _Words:
    """A word for each text of a row, which stands in its stead: what is found of it holds for any other text that is
    not blank, has the same white space at its ends, and for which `tracing`'s conditions are met.

    It reads differently in JSON, so that one form is not taken for another.
    """

    def __init__(self, count: int, edges: Sequence[Edge], avoid: str) -> None:
        number = 0
        while f"Zw{number}w" in avoid:
            number += 1
        self.seed = f"Zw{number}w"
        self.texts = [f"{self.seed}{at}b\"\té'eZw" for at in range(count)]
        for at, before, after in edges:
            self.texts[at] = f"{before}{self.texts[at]}{after}"
        self._word = re.compile(f"{self.seed}(\\d+)b.{{1,24}}?eZw", re.DOTALL)

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
            raise Lost("text that is not content")

    def behind(self, tail: str) -> None:
        if self._words.seed in tail:
            raise Lost("text after the same beginning")

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
    sighting: Sighting, template: TemplateFacts, recording: Recording, parts: Sequence[Any], edges: tuple[Edge, ...]
) -> _Plan:
    """Who wrote what in the rows of a shape whose texts have this white space at their ends, or any at all where there
    is none; Lost where that depends on more than the conditions of the recording."""
    from sftui.templates.shortcuts.tracing import TemplateRefusal

    request = sighting.request
    if sighting.shape.thinks:
        raise Lost("a thought inside a text")
    literals = _Rope(parts).literals()
    words = _Words(len(sighting.texts), edges, literals)
    sure = _SureComparisons(words)
    registers = _Registers(recording, words.texts)
    messages = _filled(request.messages, words.texts)
    if _read(messages) is None or any(slots_of(message).other for message in messages):
        raise Lost("content that is not text")
    texts = dict(zip(words.texts, recording.texts))
    steps = written = 0

    def draw(some: Sequence[Mapping[str, Any]]) -> str | None:
        nonlocal steps, written
        given = [_replaced(message, texts) for message in some]
        try:
            drawn, _ = template.follow(request, given, recording)
        except TemplateRefusal:
            return None
        finally:
            steps += template.traced_steps + len(some)
        if _most(drawn) > limits.OUTPUT_LIMIT or words.seed in _Rope(drawn).literals():
            raise Lost("it may write too much")
        written += _most(drawn)
        return "".join(registers.shown(drawn))

    shown = registers.shown(parts)
    text = "".join(shown)
    if _MARKED in literals:
        raise Lost("marks")
    found = attribute(
        text, messages, draw, literals=request.literals, bos=request.bos, injected=request.injected, comparing=sure
    )
    if steps + written // 100 + len(request.messages) > limits.SPAN_WORK:
        raise Lost("too much work")
    if not found.exact or not all(note.endswith((ABSENT, LEAVES_OUT)) for note in found.notes):
        raise Lost("not proven")
    at = [0, *accumulate(map(len, shown))]

    def place(position: int) -> Place:
        piece = min(bisect_right(at, position) - 1, len(parts))
        inside = position - at[piece]
        if inside == 0 or isinstance(parts[piece], str):
            return piece, inside
        word = shown[piece]
        if registers.kind(parts[piece].register) != "json":
            if inside <= len(word) - len(word.lstrip()):
                return piece, inside
            if inside >= len(word.rstrip()):
                return piece + 1, inside - len(word)
        raise Lost("a border inside a text")

    anything = not edges and not sure.trims and registers.alike and _apart(parts, registers)
    if not edges and sighting.edges and not anything:
        raise Lost("leading and trailing whitespace")
    special = special_pattern(request.literals)
    return _Plan(
        tuple((*place(span.start), *place(span.end), span.message, span.part) for span in found.spans),
        found.notes,
        special,
        opener_of(text, special, request.bos),
        request.bos,
        writes_thoughts(literals),
        registers.in_json,
        None if anything else edges,
        tuple(sure.unlike),
        tuple(
            _PartialMessage(
                words.left_out(messages[number], "".join([text[start:end] for start, end in ranges])),
                tuple((place(start), place(end)) for start, end in ranges),
            )
            for number, ranges in found.partly
            if any(text[start:end].strip() for start, end in ranges)
        ),
    )


def _apart(parts: Sequence[Any], registers: _Registers) -> bool:
    """Whether behind each text that the template trims there is more than white space before the next one: then no
    mark is taken for a text that is not trimmed."""
    for at, part in enumerate(parts[:-1]):
        if not isinstance(part, str) and registers.kind(part.register) != "raw":
            after = parts[at + 1]
            if not isinstance(after, str) or (not after.strip() and at + 2 < len(parts)):
                return False
    return True


class _Registers:
    """What the registers of a recording hold for the words, where that is the text itself, trimmed or in JSON."""

    def __init__(self, recording: Recording, words: Sequence[str]) -> None:
        self._recording = recording
        self._values: list[str | None] = list(words)
        self._texts = list(range(len(words)))
        self._kinds = ["raw"] * len(words)
        self._done = 0
        self._used: dict[int, set[str]] = {}

    @property
    def in_json(self) -> tuple[int, ...]:
        """The texts that stand in JSON somewhere."""
        return tuple(sorted(text for text, kinds in self._used.items() if "json" in kinds))

    @property
    def alike(self) -> bool:
        """Whether each text is written in one way wherever it stands, and trimmed on both sides if it is."""
        return all(len(kinds) == 1 and "part" not in kinds for kinds in self._used.values())

    def kind(self, register: int) -> str:
        return self._kinds[register]

    def shown(self, parts: Sequence[Any]) -> list[str]:
        """Parts of a text with the words in it; Lost where something else is made of a text."""
        self._catch_up()
        out: list[str] = []
        for part in parts:
            value = part if isinstance(part, str) else self._values[part.register]
            if value is None:
                raise Lost("text is transformed")
            if not isinstance(part, str):
                self._used.setdefault(self._texts[part.register], set()).add(self._kinds[part.register])
            out.append(value)
        return out

    def _catch_up(self) -> None:
        from sftui.templates.shortcuts.tracing import ASK, Register, json_ascii, json_body

        steps = self._recording.steps
        for function, refs in steps[self._done :]:
            if function is ASK:
                continue
            value, text, kind = None, -1, ""
            source = int(refs[0]) if type(refs[0]) is Register else -1
            known = self._values[source] if source >= 0 else None
            if known is not None and self._kinds[source] != "json":
                text = self._texts[source]
                if _strips(function, refs):
                    value = function(known, *refs[1:])
                    whole = function is str.strip and refs[1:] in ((), (None,))
                    kind = "trimmed" if whole or self._kinds[source] == "trimmed" else "part"
                elif function in (json_body, json_ascii):
                    value, kind = function(known), "json"
            self._values.append(value)
            self._texts.append(text)
            self._kinds.append(kind)
        self._done = len(steps)
