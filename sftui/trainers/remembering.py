"""What follows from a recipe alone, or from a tokenizer under it, worked out once instead of with every row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from functools import wraps
from typing import ParamSpec, TypeVar

from sftui.recipe import Tokenize

P = ParamSpec("P")
R = TypeVar("R")


def last_asked(function: Callable[P, R]) -> Callable[P, R]:
    """The function, which remembers what it gave for what it was last asked, as long as it is asked the very same (an
    equal day, text or number is).

    For what is frozen and dear to hash or to compare, such as a recipe. What it raises is not remembered.
    """
    kept: list[tuple[tuple[object, ...], R]] = []

    @wraps(function)
    def asked(*given: P.args, **named: P.kwargs) -> R:
        key: tuple[object, ...] = (*given, *named, *named.values()) if named else given
        for before, value in kept:
            if len(before) == len(key):
                for one, other in zip(before, key):
                    if one is not other and not _equal(one, other):
                        break
                else:
                    return value
        value = function(*given, **named)
        kept[:] = [(key, value)]
        return value

    return asked


def _equal(one: object, other: object) -> bool:
    return type(one) is type(other) and isinstance(one, (date, str, int)) and one == other


@last_asked
def of_chat(options: Tokenize) -> Tokenize:
    """How a rendered chat is tokenized: the template writes every special token."""
    return replace(options, add_special_tokens=False, append_eos="never")


@last_asked
def endless(options: Tokenize) -> Tokenize:
    """The same options with no EOS appended."""
    return replace(options, append_eos="never")
