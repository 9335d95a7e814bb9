"""The text of a chat by minijinja, Jinja in Rust: at a fifth of the time, and now and then another one.

So it is never a result: what `skeletons` put together is taken where this says the same. It is given plain data that
cannot be changed, so that a template reaches no method of Python's that could; what makes as much as a number says is
not there. What it refuses, and all that takes more than `FUEL`, is for Jinja to decide.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sftui.templates.rendering import limits

FUEL = 8_000
"""Instructions of one render, of which 40 turns take 2,000 to 3,000; they bound how deep its values stand, too."""
MOST_SOURCE = 32 << 10
"""Characters of a template that is tried; they bound how deep its expressions stand."""
_GENERATION = re.compile(r"(\{%[-+]?\s*)(end)?generation(\s*[-+]?%\})")
_LEFT_OUT = ("attr", "batch", "format", "indent", "pprint", "slice")


class RustEngine:
    """One template; whatever minijinja raises where it cannot be compiled, LimitExceeded where it is not tried."""

    def __init__(self, source: str) -> None:
        import minijinja

        from sftui.templates.rendering import sandbox

        if len(source) > MOST_SOURCE or sandbox.repeats(source):
            raise limits.LimitExceeded("it is long, or makes as much as a number says")
        self._environment = minijinja.Environment(
            trim_blocks=True, lstrip_blocks=True, fuel=FUEL, auto_escape_callback=lambda name: False
        )
        for name in _LEFT_OUT:
            self._environment.remove_filter(name)
        self._environment.add_filter("tojson", sandbox.tojson)
        self._environment.add_test("iterable", lambda value: hasattr(value, "__iter__"))  # there None is, too
        self._environment.add_global("raise_exception", _refuse)
        self._environment.add_template("chat", _GENERATION.sub(_always, source))

    def text(self, values: Mapping[str, Any], now: datetime) -> str:
        """What it gives for variables as `frozen` makes them; whatever it raises."""

        def strftime_now(format: str) -> str:  # noqa: A002 (templates may name the argument)
            limits.too_big(len(format) * 1024)
            return now.strftime(format)

        return self._environment.render_template("chat", **values, strftime_now=strftime_now)


class _FrozenDict(dict[str, Any]):
    """A mapping that nothing of what a template can name changes."""

    __slots__ = ()
    clear = copy = fromkeys = pop = popitem = setdefault = update = None  # type: ignore[assignment]


class _FrozenList(list[Any]):
    """The same of a list."""

    __slots__ = ()
    append = clear = copy = extend = insert = pop = remove = reverse = sort = None  # type: ignore[assignment]


def frozen(value: Any) -> Any:
    """A copy that cannot be changed, of JSON's types alone; TypeError for any other."""
    kind = type(value)
    if value is None or kind in (str, int, float, bool):
        return value
    if kind is dict and all(type(name) is str for name in value):
        return _FrozenDict({name: frozen(item) for name, item in value.items()})
    if kind is list:
        return _FrozenList([frozen(item) for item in value])
    raise TypeError(f"a {kind.__name__}")


def frozen_flat(messages: Any) -> Any:
    """The same of mappings that hold nothing but texts."""
    return _FrozenList(map(_FrozenDict, messages))


def _always(tag: re.Match[str]) -> str:
    """A generation tag as one that changes nothing and takes the same white space with it."""
    return f"{tag[1]}{'endif' if tag[2] else 'if true'}{tag[3]}"


def _refuse(message: Any) -> None:
    raise ValueError(message)
