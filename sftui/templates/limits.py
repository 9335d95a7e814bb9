"""What a chat template may cost, and the arithmetic that says so before the cost is paid.

A template comes with a tokenizer from anywhere, so it is hostile until shown otherwise. Nothing here
interrupts running C code: every operation of Jinja that can make much out of little is measured first
and refused if its result would pass `VALUE_LIMIT`. With each single step bounded, a deadline that is
looked at in every loop iteration and every call bounds the whole, in any thread, without signals.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, ItemsView, KeysView, Mapping, ValuesView
from contextvars import ContextVar
from itertools import islice
from typing import Any

VALUE_LIMIT = 64 * 1024 * 1024
"""Characters plus elements that one value of a template may come to, written out."""
OUTPUT_LIMIT = 64 * 1024 * 1024
"""Characters that one render may give."""
SOURCE_LIMIT = 256 * 1024
"""Characters of a template's own source."""
ITEM_LIMIT = 2_000_000
"""Elements of one list that a template may build."""
SLOW_LIMIT = 200_000
"""Characters for what takes time beyond proportion, and is of no use in a chat template."""
SECONDS = 5.0
"""Wall-clock seconds that one render may take."""
TOO_LONG = "it runs for too long"
DEADLINE: ContextVar[float] = ContextVar("DEADLINE", default=float("inf"))
"""When the render at hand must be done, as `time.monotonic` counts; measuring is work too and looks at it."""
DIGIT_BITS = 16_384
"""Bits of the longest integer a template may compute."""

_NUMBER = re.compile(r"\d+")
_WHITE = re.compile(r"\s+")
_LINE_ENDS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"


class Holder:
    """A value that holds others and is neither a list nor a mapping: a namespace of Jinja."""

    def __held__(self) -> list[Any]:
        raise NotImplementedError


class LimitExceeded(Exception):
    """A template asked for more than it may have; the message is a clause for the user."""


def too_late() -> None:
    """LimitExceeded once the deadline of this render has passed."""
    if time.monotonic() > DEADLINE.get():
        raise LimitExceeded(TOO_LONG)


def too_big(size: int) -> None:
    """Refuse a value of `size` characters or elements; LimitExceeded above the limit."""
    if size > VALUE_LIMIT:
        raise LimitExceeded(f"it builds a value of more than {VALUE_LIMIT >> 20} Mi characters")


def too_many(count: int) -> None:
    """Refuse a list of `count` elements; LimitExceeded above the limit."""
    if count > ITEM_LIMIT:
        raise LimitExceeded(f"it builds a list of more than {ITEM_LIMIT:,} elements")


def weight(value: Any) -> int:
    """Characters plus elements of a value as if written out, shared parts counted each time.

    `[x, x]` nested n times weighs 2**n though it takes little memory: printing it is the bomb.
    LimitExceeded as soon as the limit is passed.
    """
    total = nodes = 0
    stack = [value]
    while stack:
        item = stack.pop()
        nodes += 1
        if isinstance(item, (str, bytes)):
            total += len(item)
        elif isinstance(item, (list, tuple, set, frozenset, ItemsView, KeysView, ValuesView)):
            stack.extend(item)
        elif isinstance(item, Mapping):
            stack.extend(item.keys())
            stack.extend(item.values())
        elif isinstance(item, Holder):
            stack.extend(type(item).__held__(item))
        too_big(total + nodes)
        if not nodes % 1024:
            too_late()
            too_many(max(nodes, len(stack)))
    return total + nodes


def checked(value: Any) -> Any:
    """The same value once its weight is known to be bearable."""
    if not isinstance(value, (int, float, bool, type(None))):
        weight(value)
    return value


def add(left: Any, right: Any) -> Any:
    """`left + right`, bounded."""
    if isinstance(left, (str, bytes)) and isinstance(right, (str, bytes)):
        too_big(len(left) + len(right))
    elif isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        too_big(weight(left) + weight(right))
    return left + right


def multiply(left: Any, right: Any) -> Any:
    """`left * right`, bounded, also for repetition of text and lists."""
    for sequence, times in ((left, right), (right, left)):
        if isinstance(sequence, (str, bytes, list, tuple)) and isinstance(times, int):
            too_big(max(weight(sequence), 1) * max(times, 0))
            too_many(0 if isinstance(sequence, (str, bytes)) else len(sequence) * max(times, 0))
    if isinstance(left, int) and isinstance(right, int):
        _bits(left.bit_length() + right.bit_length())
    return left * right


def power(left: Any, right: Any) -> Any:
    """`left ** right`, bounded to integers that a template can have a use for."""
    if isinstance(left, int) and isinstance(right, int):
        _bits(left.bit_length() * max(right, 1))
    return left**right


def remainder(left: Any, right: Any) -> Any:
    """`left % right`, bounded where it is text formatting."""
    if isinstance(left, str):
        percent_format(left, right)
    elif isinstance(left, bytes):
        raise LimitExceeded("it formats bytes")
    return left % right


def percent_format(pattern: str, values: Any) -> None:
    """Refuse `pattern % values` where widths or repeated values would make it too big."""
    numbers = [int(n) for n in _NUMBER.findall(pattern[:VALUE_LIMIT])[:ITEM_LIMIT] if len(n) < 20]
    if any(len(n) >= 20 for n in _NUMBER.findall(pattern)):
        too_big(VALUE_LIMIT + 1)
    if "*" in pattern:
        items = values if isinstance(values, tuple) else (values,)
        numbers += [abs(v) for v in items if isinstance(v, int)] * pattern.count("*")
    too_big(len(pattern) + sum(numbers) + pattern.count("%") * _heaviest(values))


def format_spec(spec: str) -> None:
    """Refuse a width or precision in a `str.format` specification that is too big."""
    for number in _NUMBER.findall(spec):
        too_big(VALUE_LIMIT + 1 if len(number) >= 20 else int(number))


def join(parts: list[Any] | tuple[Any, ...], separator: str = "") -> None:
    """Refuse a join whose text would be too big."""
    too_big(weight(parts) + len(separator) * len(parts))


def _heaviest(values: Any) -> int:
    if isinstance(values, Mapping):
        return max((weight(v) for v in values.values()), default=0)
    if isinstance(values, tuple):
        return max((weight(v) for v in values), default=0)
    return weight(values)


def _bits(bits: int) -> None:
    if bits > DIGIT_BITS:
        raise LimitExceeded("it computes an integer of thousands of digits")


def _pad(text: str, args: tuple[Any, ...]) -> None:
    if args and isinstance(args[0], int):
        too_big(args[0])


def _expandtabs(text: str, args: tuple[Any, ...]) -> None:
    if args and isinstance(args[0], int):
        too_big(len(text) + text.count("\t") * max(args[0], 0))


def replaced(text: str, args: tuple[Any, ...]) -> None:
    """Refuse `text.replace(old, new)` where many small matches become something large."""
    if len(args) >= 2 and isinstance(args[0], str) and isinstance(args[1], str):
        too_big(len(text) + text.count(args[0]) * max(len(args[1]) - len(args[0]), 0))


def _joined(text: str, args: tuple[Any, ...]) -> None:
    if args and isinstance(args[0], (list, tuple, Mapping)):
        join(list(args[0]), text)
    elif args and isinstance(args[0], str):
        too_big(len(args[0]) * (1 + len(text)))


def _split(text: str, args: tuple[Any, ...]) -> None:
    if len(text) > ITEM_LIMIT:
        if args and isinstance(args[0], str) and args[0]:
            too_many(text.count(args[0]))
        else:
            too_many(sum(1 for _ in islice(_WHITE.finditer(text), ITEM_LIMIT + 1)))


def _splitlines(text: str, args: tuple[Any, ...]) -> None:
    too_many(sum(map(text.count, _LINE_ENDS)))


def slow(text: Any, args: tuple[Any, ...] = ()) -> None:
    """Refuse more than `SLOW_LIMIT` characters of text."""
    if isinstance(text, (str, bytes)) and len(text) > SLOW_LIMIT:
        raise LimitExceeded(f"it works through more than {SLOW_LIMIT:,} characters one by one")


def _encoded(text: str, args: tuple[Any, ...]) -> None:
    if args and str(args[0]).lower().replace("_", "-") not in ("utf-8", "utf8", "ascii", "latin-1"):
        raise LimitExceeded("it asks for an encoding that is not UTF-8, ASCII or Latin-1")


def _translated(text: str, args: tuple[Any, ...]) -> None:
    if args:
        longest = (
            max((len(v) for v in args[0].values() if isinstance(v, str)), default=1)
            if isinstance(args[0], Mapping)
            else 1
        )
        too_big(len(text) * longest)


STRING_METHODS: Mapping[str, Callable[[str, tuple[Any, ...]], None]] = {
    "center": _pad,
    "ljust": _pad,
    "rjust": _pad,
    "zfill": _pad,
    "expandtabs": _expandtabs,
    "replace": replaced,
    "join": _joined,
    "split": _split,
    "rsplit": _split,
    "splitlines": _splitlines,
    "translate": _translated,
    "encode": _encoded,
    "striptags": slow,
    "unescape": slow,
    "title": slow,
}
"""Methods of text that can make much out of little, and the check to make before each."""

_BYTES_METHODS = frozenset(("hex", "startswith", "endswith", "find", "count"))


def method(owner: Any, name: str, args: tuple[Any, ...]) -> None:
    """Check a call of a built-in method before it is made; LimitExceeded where it would cost too much."""
    if isinstance(owner, str):
        check = STRING_METHODS.get(name)
        if check is not None:
            check(owner, args)
    elif isinstance(owner, (bytes, bytearray)):
        if name == "decode":
            _encoded("", args)
        elif name not in _BYTES_METHODS:
            raise LimitExceeded(f"it calls bytes.{name}")
    elif isinstance(owner, int) and name in ("to_bytes", "from_bytes"):
        raise LimitExceeded(f"it calls int.{name}")
