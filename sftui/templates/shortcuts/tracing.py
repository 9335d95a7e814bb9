"""One render followed step by step: which texts of the conversation it writes where, and what it asks of them.

The texts that a row fills in stand as `Text`, an object that is no string: whatever a template does with one either
becomes a step of a `Recording`, which other texts can go through as well, or is `Lost`, which no row then uses. What
decides a branch becomes a condition. So a recording that holds for other texts (same steps, same answers to every
condition) gives the very text that the template would, without rendering it; nothing about templates is assumed.
With `sandbox` the only module that imports jinja2.
"""

from __future__ import annotations

import json
import operator
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Any

import jinja2
import jinja2.nodes
from jinja2.compiler import CodeGenerator
from jinja2.runtime import Macro, Undefined
from jinja2.utils import Namespace

from sftui.templates.rendering import limits, sandbox
from sftui.templates.rendering.behaviour import Rendering
from sftui.templates.rendering.limits import LimitExceeded, Lost
from sftui.templates.rendering.marks import make_mark

MOST_STEPS, MOST_CHARACTERS = 20_000, 4_000_000
"""Steps and conditions of one recording, and characters of what a step gives; what needs more is rendered."""
MOST_WORK = 300_000
"""Parts of texts, and characters by the hundred, that joining them in one recording may take."""

_METHODS = frozenset(
    {"startswith", "endswith", "strip", "lstrip", "rstrip", "split", "rsplit", "splitlines", "partition", "rpartition"}
    | {"find", "rfind", "count", "replace", "removeprefix", "removesuffix", "lower", "upper", "title", "capitalize"}
    | {"isdigit", "isspace", "isalpha", "isupper", "islower"}
)
_STRIPS = {"strip": (True, True), "lstrip": (True, False), "rstrip": (False, True)}
_BY_TYPE = frozenset(
    {"defined", "undefined", "none", "string", "mapping", "iterable", "sequence", "callable"}
    | {"number", "integer", "float", "boolean"}
)
"""Tests whose answer the type gives, and the type of what a step gives never changes."""
_COMPARING = frozenset(
    ("eq", "equalto", "==", "ne", "!=", "lt", "lessthan", "<", "le", "<=", "gt", "greaterthan", ">", "ge", ">=", "in")
)
"""Tests that are operators of Python, which a `Text` answers itself."""
_PASSING = frozenset(
    ("default", "d", "list", "first", "last", "select", "reject", "selectattr", "rejectattr", "map", "items")
)
"""Filters that only hand on what they are given, or ask it by operators, tests and filters."""
_READING: dict[type, frozenset[str]] = {
    list: frozenset(("index", "count", "copy")),
    dict: frozenset(("get", "items", "keys", "values", "copy")),
}
"""Methods of containers that compare what they hold by operators, or do not look at it."""


class TemplateRefusal(Exception):
    """The template calls `raise_exception`, whatever the texts are as long as the conditions hold."""


class Recording:
    """Steps over registers, of which the first are the texts; conditions stand where they were tested.

    `values` are the registers for the texts it was made with. `times` are the formats in which a template writes the
    time of day, and what it wrote.
    """

    def __init__(self, texts: Sequence[str], now: datetime) -> None:
        self.values: list[Any] = list(texts)
        self.now = now
        self.steps: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []
        self.times: list[tuple[str, str]] = []
        self.texts = tuple(Text(self, value, register, solid=True) for register, value in enumerate(texts))
        self._known: dict[Any, int] = {}
        self._requested: set[int] = set()
        self._work = 0

    def worked(self, amount: int) -> None:
        """Count what following takes next to its steps: a text in a thousand parts is one for Jinja."""
        self._work += amount
        if self._work > MOST_WORK:
            raise Lost("too much work")

    def step(self, function: Callable[..., Any], *args: Any, solid: bool = False) -> Text:
        """What a function without side effects gives for these; the same step is made once."""
        refs = tuple(_register(arg) for arg in args)
        key = (function, refs, tuple(type(arg) for arg in args))
        register = self._known.get(key)
        if register is None:
            value = function(*(arg.value if type(arg) is Text else arg for arg in args))
            if isinstance(value, (str, list, tuple)) and len(value) > MOST_CHARACTERS:
                raise Lost("too long")
            self._add(function, refs)
            register = self._known[key] = len(self.values)
            self.values.append(value)
        return Text(self, self.values[register], register, solid=solid)

    def ask(self, text: Text) -> Any:
        """The value of a register, which must be the same wherever the recording is to hold."""
        if text.register not in self._requested:
            self._requested.add(text.register)
            self._add(ASK, (Register(text.register), text.value))
        return text.value

    def _add(self, function: Callable[..., Any], refs: tuple[Any, ...]) -> None:
        if len(self.steps) >= MOST_STEPS:
            raise Lost("too many steps")
        self.steps.append((function, refs))


class Register(int):
    """The number of a register among the arguments of a step."""


def ASK(value: Any, expected: Any) -> bool:
    """The condition of a recording: the same value of the same type."""
    return type(value) is type(expected) and bool(value == expected)


def _register(arg: Any) -> Any:
    if type(arg) is Text:
        return Register(arg.solved().register)
    if arg is not None and type(arg) not in (str, int, bool, float):
        raise Lost(f"a {type(arg).__name__} beside a text")
    return arg


def _operator(function: Callable[[Any, Any], Any]) -> Any:
    """A method of `Text` that makes this a step."""
    return lambda text, other: text.recording.step(function, text, other)


@dataclass(slots=True, eq=False, repr=False)
class Text:
    """A text of the conversation, or what a step made of one: any value at all, and no string to Python.

    With `parts` it is those one after the other, each a string or a `Text` without parts. `solid` ones are never blank.
    """

    recording: Recording
    value: Any
    register: int
    parts: tuple[Any, ...] = ()
    solid: bool = False

    def solved(self) -> Text:
        """The same in a register of its own."""
        if not self.parts or self.register >= 0:
            return self
        self.register = self.recording.step(_joined, *self.parts).register
        return self

    def _step(self, function: Callable[..., Any], *args: Any) -> Text:
        return self.recording.step(function, self, *args)

    def __bool__(self) -> bool:
        if self.solid or any(part.solid if type(part) is Text else part for part in self.parts):
            return True
        return bool(self.recording.ask(self._step(bool)))

    def __len__(self) -> int:
        return int(self.recording.ask(self._step(len)))

    def __iter__(self) -> Iterator[Text]:
        if type(self.value) not in (list, tuple):
            raise Lost("letter by letter")
        return iter([self._step(operator.getitem, number) for number in range(len(self))])

    def __getitem__(self, key: Any) -> Text:
        if type(key) is slice:
            return self._step(_sliced, key.start, key.stop, key.step)
        if type(key) is not int:
            raise Lost("a key of a text")
        return self._step(operator.getitem, key)

    def __contains__(self, one: Any) -> bool:
        return bool(self.recording.ask(self._step(operator.contains, one)))

    __eq__, __ne__ = _operator(operator.eq), _operator(operator.ne)
    __lt__, __le__ = _operator(operator.lt), _operator(operator.le)
    __gt__, __ge__ = _operator(operator.gt), _operator(operator.ge)
    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Any) -> Any:
        return self._added(self, other)

    def __radd__(self, other: Any) -> Any:
        return self._added(other, self)

    def _added(self, left: Any, right: Any) -> Any:
        kinds = {type(one.value if type(one) is Text else one) for one in (left, right)}
        if kinds == {str}:
            return joined((left, right))
        if kinds == {int}:
            return self.recording.step(operator.add, left, right)
        raise Lost("a sum of other things")

    def __index__(self) -> int:
        if type(self.value) is not int:
            raise Lost("a number that is none")
        return int(self.recording.ask(self.solved()))

    def __str__(self) -> str:
        raise Lost("written by Python")

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        raise Lost("written by Python")

    def shown(self) -> Text:
        """What a template writes for it."""
        return self if type(self.value) is str else self._step(str)

    def method(self, name: str, args: Sequence[Any]) -> Any:
        """What a method of `str` gives for it."""
        if type(self.value) is not str:
            raise Lost(f"a method of a {type(self.value).__name__}")
        if name in _STRIPS and len(args) <= 1 and not any(type(arg) is Text for arg in args):
            return self.stripped(name, args[0] if args else None)
        return self._step(getattr(str, name), *args)

    def stripped(self, name: str, chars: str | None = None) -> Any:
        """Without the white space at its ends: of many parts, without what goes of the first and the last."""
        whites = chars is None or not chars.strip()
        given = () if chars is None else (chars,)
        if not whites or not self.parts:
            return self.recording.step(getattr(str, name), self, *given, solid=whites and self.solid)
        left, right = _STRIPS[name]
        parts = list(self.parts)
        for end, way, wanted in ((0, "lstrip", left), (-1, "rstrip", right)):
            while wanted and parts:
                one = parts[end]
                if type(one) is Text:
                    if not one.solid:
                        return self._step(getattr(str, name), *given)
                    parts[end] = one.stripped(way, chars)
                    break
                parts[end] = getattr(one, way)(*given)
                if parts[end]:
                    break
                del parts[end]
        return joined(parts)


@dataclass(frozen=True, slots=True)
class _Method:
    """A method of a text that a template has got hold of."""

    text: Text
    name: str


def joined(parts: Iterable[Any]) -> Any:
    """Strings and texts one after the other: a string where there is no text among them."""
    flat: list[Any] = []
    run: list[str] = []
    recording: Recording | None = None
    for part in parts:
        for one in part.parts if type(part) is Text and part.parts else (part,):
            if type(one) is not Text:
                if type(one) is not str:
                    raise Lost(f"a {type(one).__name__} in a text")
                run.append(one)
                continue
            if type(one.value) is not str:
                raise Lost("no text")
            recording = one.recording
            if run:
                flat.append("".join(run))
                run = []
            flat.append(one)
    if run:
        flat.append("".join(run))
    flat = [one for one in flat if type(one) is Text or one]
    if recording is None:
        return "".join(flat)
    recording.worked(len(flat))
    if len(flat) == 1:
        return flat[0]
    value = "".join(one.value if type(one) is Text else one for one in flat)
    recording.worked(len(value) // 100)
    return Text(recording, value, -1, tuple(flat))


def _joined(*parts: str) -> str:
    return "".join(parts)


def _sliced(value: Any, start: Any, stop: Any, step: Any) -> Any:
    return value[start:stop:step]


def json_body(text: str) -> str:
    """A text as it stands between the quotes of JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def json_ascii(text: str) -> str:
    """The same with every letter beyond ASCII escaped."""
    return json.dumps(text)[1:-1]


def _json(value: Any, ensure_ascii: Any = False, **options: Any) -> Any:
    """`tojson` of what holds texts: each stands in it as its own body."""
    found: list[Text] = []
    word = make_mark(json.dumps(_with_words(value, lambda _: ""), default=_unknown), "j")

    def marked(one: Text) -> str:
        if type(one.value) is not str:
            raise Lost("no text in JSON")
        found.append(one)
        return f"{word}{len(found) - 1}Z"

    written = sandbox.tojson(_with_words(value, marked), ensure_ascii=ensure_ascii, **options)
    pieces = re.split(f"{word}(\\d+)Z", written)
    if len(pieces) != 2 * len(found) + 1:
        raise Lost("texts in JSON")
    body = json_ascii if ensure_ascii else json_body
    return joined(
        found[0].recording.step(body, found[int(piece)], solid=found[int(piece)].solid) if at % 2 else piece
        for at, piece in enumerate(pieces)
    )


def _unknown(value: Any) -> Any:
    raise Lost(f"a {type(value).__name__} in JSON")


def _with_words(value: Any, word: Callable[[Text], str]) -> Any:
    if type(value) is Text:
        return word(value)
    if type(value) is dict:
        return {key: _with_words(item, word) for key, item in value.items()}
    if type(value) in (list, tuple):
        return [_with_words(item, word) for item in value]
    return value


def _holds(value: Any, depth: int = 0) -> bool:
    """Whether a text stands anywhere in it."""
    if type(value) is Text or type(value) is _Method or depth > 20:
        return True
    if isinstance(value, Mapping):
        return any(_holds(item, depth + 1) for item in value.values())
    if isinstance(value, (list, tuple)):
        return any(_holds(item, depth + 1) for item in value)
    # Whatever else has items may have any.
    return value is not None and not isinstance(value, (str, int, float, Undefined)) and hasattr(value, "__iter__")


class _PythonWriter(CodeGenerator):
    """Python for a template that writes texts as they are, where Jinja makes strings of them."""

    def _output_child_pre(self, node: Any, frame: Any, finalize: Any) -> None:
        if frame.eval_ctx.volatile or frame.eval_ctx.autoescape:
            raise Lost("escaping")
        self.write("environment.shown(")

    def _output_child_post(self, node: Any, frame: Any, finalize: Any) -> None:
        self.write(")")

    def visit_Concat(self, node: jinja2.nodes.Concat, frame: Any) -> None:
        if frame.eval_ctx.volatile or frame.eval_ctx.autoescape:
            raise Lost("escaping")
        self.write("environment.written_on((")
        for arg in node.nodes:
            self.visit(arg, frame)
            self.write(", ")
        self.write("))")


TracedText = tuple[tuple[Any, ...], tuple[tuple[Any, Any], ...]]
"""The parts of the text that a template writes, strings and texts, and for each `{% generation %}` block the parts
before it and those up to its end."""


class Tracer(sandbox.ChatEnvironment):
    """The environment of chat templates, with the same limits, for conversations that hold texts."""

    code_generator_class = _PythonWriter

    def __init__(self, source: str, rendering: Rendering) -> None:
        super().__init__(datetime.now, rendering)
        self._recording = Recording((), datetime.now())
        self._blocks: list[Any] = []
        self._generated: list[tuple[Any, Any]] = []
        for name, function in self.filters.items():
            self.filters[name] = _filter(name, function)
        tests: dict[str, Any] = {**self.tests}
        self.tests.update({name: _test(name, test) for name, test in tests.items()})
        self.globals["lipsum"] = _by_chance
        self.globals["raise_exception"] = _refuse
        self.allowed = limits.STEPS
        self._template = self.from_string(source)

    def follow(self, variables: Mapping[str, Any], recording: Recording) -> TracedText:
        """What a template writes.

        Lost, Refused, LimitExceeded, or whatever Jinja raises where the texts are not handed on as texts.
        """
        self._recording, self._blocks, self._generated = recording, [], []
        self.clock = lambda: recording.now
        self.steps = 0
        self.allowed = limits.STEPS + limits.STEPS_PER_MESSAGE * len(variables["messages"])
        length = 0
        block: Any
        for block in self._template.generate(**variables):
            self._blocks.append(block)
            length += len(block.value if type(block) is Text else block)
            if length > limits.OUTPUT_LIMIT:
                raise LimitExceeded("it writes too much")
        return parts_in(joined(self._blocks)), tuple(
            (parts_in(before), parts_in(joined((before, inside)))) for before, inside in self._generated
        )

    def concat(self, blocks: Iterable[Any]) -> Any:
        return joined(blocks)

    def shown(self, value: Any) -> Any:
        return value.shown() if type(value) is Text else str(value)

    def written_on(self, values: Iterable[Any]) -> Any:
        return joined(self.shown(value) for value in values)

    def generated(self, text: Any) -> None:
        if self.rendering.tracks_first or self._blocks or self._generated:
            self._generated.append((joined(self._blocks), text))

    def getattr(self, obj: Any, attribute: str) -> Any:
        return self._attribute(obj, attribute) if type(obj) in (Text, _Method) else super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        if isinstance(obj, Text) and isinstance(argument, int):
            return obj[argument]
        if isinstance(obj, (Text, _Method)):
            return self._attribute(obj, argument)
        if type(argument) is Text:
            raise Lost("a text as a key")
        return super().getitem(obj, argument)

    def _attribute(self, obj: Any, name: Any) -> Any:
        if isinstance(obj, Text) and isinstance(obj.value, str) and isinstance(name, str):
            if name in _METHODS:
                return _Method(obj, name)
            if not hasattr(str, name):
                return self.undefined(obj="", name=name)
        raise Lost(f"{name} of a text")

    def call(__self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        if type(__obj) is _Method:
            __self.steps += 1
            if any(name not in sandbox.OWN_VARIABLES for name in kwargs):
                raise Lost("a named argument")
            return __obj.text.method(__obj.name, args)
        given = [*args, *(value for name, value in kwargs.items() if name not in sandbox.OWN_VARIABLES)]
        if not (
            isinstance(__obj, (Macro, sandbox.TemplateDict))
            or __obj is _refuse
            or (isinstance(__obj, type) and issubclass(__obj, Namespace))
            or not any(map(_holds, given))
        ):
            if not isinstance(__obj, types.BuiltinMethodType):
                raise Lost("a text for a function")
            owner: Any = __obj.__self__
            if type(owner) is str and __obj.__name__ == "join" and len(given) == 1:
                return _join(given[0], owner)
            if __obj.__name__ not in _READING.get(type(owner), ()):
                raise Lost(f"a text for {__obj.__name__}")
        return super().call(__context, __obj, *args, **kwargs)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if _holds(left) or _holds(right):
            raise Lost(f"{operator} of a text")
        return super().call_binop(context, operator, left, right)

    def _strftime_now(self, format: str) -> str:  # noqa: A002
        if type(format) is not str:
            raise Lost("a text as a format")
        written = super()._strftime_now(format)
        self._recording.times.append((format, written))
        return written


def _filter(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter that follows texts, or is lost where it would look at one."""
    lead = 1 if hasattr(function, "jinja_pass_arg") else 0

    @wraps(function)
    def followed(*args: Any, **kwargs: Any) -> Any:
        if name == "random":
            raise Lost("chance")
        own = args[lead:]
        if name in _PASSING or not any(map(_holds, (*own, *kwargs.values()))):
            return function(*args, **kwargs)
        return _filtered(name, own, kwargs)

    return followed


def _test(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A test whose answer does not depend on what a text says, or that is lost where it would look at one."""
    lead = 1 if hasattr(function, "jinja_pass_arg") else 0

    @wraps(function)
    def followed(*args: Any, **kwargs: Any) -> Any:
        own = args[lead:]
        if name in _BY_TYPE:
            return function(*args[:lead], *(one.value if type(one) is Text else one for one in own), **kwargs)
        if name not in _COMPARING and any(map(_holds, (*own, *kwargs.values()))):
            raise Lost(f"the test {name}")
        return function(*args, **kwargs)

    return followed


def _filtered(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What a filter gives for a text, or for what holds texts."""
    value, rest = args[0], args[1:]
    if name == "tojson" and not any(map(_holds, (*rest, *kwargs.values()))):
        names = ("ensure_ascii", "indent", "separators", "sort_keys")
        return _json(value, **{**dict(zip(names, rest)), **kwargs})
    if name == "join" and not kwargs and len(rest) <= 1:
        return _join(value, *rest)
    if name in ("length", "count") and not rest and not kwargs:
        return value.recording.step(len, value) if type(value) is Text else len(value)
    if type(value) is not Text or type(value.value) is not str or kwargs:
        raise Lost(f"the filter {name}")
    if name == "string" and not rest:
        return value
    if name == "trim" and len(rest) <= 1:
        return value.method("strip", rest)
    if name in ("upper", "lower", "capitalize") and not rest:
        return value.method(name, ())
    if name == "replace" and len(rest) == 2 and all(type(one) is str for one in rest):
        return value.method(name, rest)
    raise Lost(f"the filter {name}")


def _join(values: Any, between: Any = "") -> Any:
    if type(between) is not str or type(values) is Text:
        raise Lost("joined by a text")
    out: list[Any] = []
    for value in values:
        out += [between, value] if out else [value]
    return joined(out)


def parts_in(text: Any) -> tuple[Any, ...]:
    """Strings and texts one after the other, no two strings side by side."""
    if type(text) is Text:
        return text.parts or (text,)
    return (text,) if text else ()


def _by_chance(*args: Any, **kwargs: Any) -> Any:
    raise Lost("chance")


def _refuse(message: Any) -> None:
    raise TemplateRefusal
