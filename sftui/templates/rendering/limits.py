"""What a chat template may cost, counted in work, so that two runs agree.

A template comes with a tokenizer from anywhere, so it is hostile until shown otherwise. What holds it is the bound of
the process (`sftui.bound`): memory and processor time, which no operation of Jinja escapes. What stands here is only
what can be said at once, in a better sentence and the same on every machine: how many steps a render takes, how much
it writes, and single operations that ask for something huge by a number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

VALUE_LIMIT = 64 * 1024 * 1024
"""Characters or elements that one operation may ask for by a number."""
OUTPUT_LIMIT = 64 * 1024 * 1024
"""Characters that one render may give."""
SOURCE_LIMIT = 256 * 1024
"""Characters of a template's own source."""
TAGS_LIMIT = 64 * 1024
"""Characters of a source to which generation tags are added: it is compiled and rendered some hundreds of times."""
STEPS = 1_000_000
"""Rounds of loops and calls that one render may make, were there no messages."""
STEPS_PER_MESSAGE = 2_000
"""More of them for each message."""
SPAN_WORK = 5_000_000
"""Steps, and characters by the hundred, that all renders for the spans of one row may take together."""
TOO_LONG = "it runs for too long"
DIGIT_BITS = 16_384
"""Bits of the longest integer a template may compute."""

_NUMBER = re.compile(r"\d+")


class LimitExceeded(Exception):
    """A template asked for more than it may have; the message is a clause for the user."""


class Lost(Exception):
    """A template does something with a text that is not followed (see `tracing`)."""


def too_big(size: int) -> None:
    """Refuse a value of `size` characters or elements; LimitExceeded above the limit."""
    if size > VALUE_LIMIT:
        raise LimitExceeded(f"it builds a value of more than {VALUE_LIMIT >> 20} Mi characters")


def multiply(left: Any, right: Any) -> Any:
    """`left * right`, bounded, also for repetition of text and lists."""
    for sequence, times in ((left, right), (right, left)):
        if isinstance(sequence, (str, bytes, list, tuple)) and isinstance(times, int):
            too_big(max(len(sequence), 1) * max(times, 0))
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
    if isinstance(left, (str, bytes)):
        percent_format(left if isinstance(left, str) else left.decode("latin-1"), right)
    return left % right


def percent_format(pattern: str, values: Any) -> None:
    """Refuse `pattern % values` with a width or a precision that is too big."""
    format_spec(pattern)
    if "*" in pattern:
        for value in values if isinstance(values, tuple) else (values,):
            too_big(abs(value) if isinstance(value, int) else 0)


def format_spec(spec: str) -> None:
    """Refuse a width or precision in a format specification that is too big."""
    for number in _NUMBER.findall(spec):
        too_big(VALUE_LIMIT + 1 if len(number) >= 20 else int(number))


def widths(values: tuple[Any, ...]) -> None:
    """Refuse numbers among the arguments of what pads, indents or fills."""
    for value in values:
        if isinstance(value, int):
            too_big(abs(value))


def digits(value: Any) -> None:
    """Refuse to read an integer of more digits than a template may compute."""
    if isinstance(value, str) and len(value) > DIGIT_BITS:
        raise LimitExceeded("it reads an integer of thousands of digits")


def _bits(bits: int) -> None:
    if bits > DIGIT_BITS:
        raise LimitExceeded("it computes an integer of thousands of digits")


METHODS: Mapping[str, Callable[[Any, tuple[Any, ...]], None]] = dict.fromkeys(
    ("center", "ljust", "rjust", "zfill", "expandtabs", "to_bytes"), lambda owner, args: widths(args)
)
"""Built-in methods that make as much as a number says."""
