"""What every Python runs at its start that has this folder on its PYTHONPATH (`costly` in tests/conftest.py).

The bounds of a piece of work are lowered, and rows can cost more than those at will, by code of our own: a template
that says `{{ spin() }}` takes processor time, `{{ hold() }}` reserves memory, `{# hold #}` does so while the template
is compiled, and a text with `GIVE UP` in it makes the tokenizer panic as Rust does. No other program knows of that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from sftui import bound
from sftui.templates.rendering import limits, sandbox
from sftui.tokens.loaded import LoadedTokenizer

bound.SECONDS /= 5
bound.MEMORY //= 4
limits.VALUE_LIMIT //= 64
SPUN, HELD = 1.6, 164 << 20
"""Seconds and bytes, four times and half as much again as a row may take."""


def spin() -> str:
    """Take more processor time than a row may."""
    until = time.process_time() + SPUN
    while time.process_time() < until:
        sum(range(10_000))
    return ""


def hold() -> str:
    """Reserve more memory than a row may; none of it is written to."""
    return str(len(bytearray(HELD)))[:0]


PanicException = type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})
environment, parse, guarded = sandbox.ChatEnvironment.__init__, sandbox.ChatEnvironment._parse, LoadedTokenizer._guarded


def with_costs(self: sandbox.ChatEnvironment, *given: Any, **named: Any) -> None:
    environment(self, *given, **named)
    self.globals.update(spin=spin, hold=hold)


def parsed(self: sandbox.ChatEnvironment, source: str, *more: Any) -> Any:
    if "{# hold #}" in source:
        hold()
    return parse(self, source, *more)


def giving_up(
    self: LoadedTokenizer, encode: Callable[[Sequence[str], bool], list[Any]], texts: Sequence[str], special: bool
) -> list[Any]:
    def encoded(texts: Sequence[str], special: bool) -> list[Any]:
        if any("GIVE UP" in text for text in texts):
            raise PanicException("it gave up, as the test asked it to")
        return encode(texts, special)

    return guarded(self, encoded, texts, special)


sandbox.ChatEnvironment.__init__ = with_costs  # type: ignore[method-assign]
sandbox.ChatEnvironment._parse = parsed  # type: ignore[method-assign, assignment]
LoadedTokenizer._guarded = giving_up  # type: ignore[method-assign]
