"""Values of Hydra's overrides: `key=value` as its grammar reads it, and as it has to be written.

Source: hydra-core 1.3, grammar/OverrideParser.g4 and core/override_parser. A text without quotes is a number, true,
false or null where it looks so; lists and mappings stand in brackets; in quotes everything is text.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from sftui.errors import RecipeError

_INT = re.compile(r"[+-]?(0|[1-9]\d*(_\d+)*)$")
_FLOAT = re.compile(
    r"[+-]?((\d+(_\d+)*)\.\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|\d+(_\d+)*[eE][+-]?\d+|inf|nan)$", re.IGNORECASE
)
_WORDS = {"null": None, "true": True, "false": False}
_QUOTED = {
    quote: re.compile(rf"{quote}((?:[^\\{quote}]|(?:\\\\)*\\{quote}|\\+(?=[^\\{quote}]))*(?:\\\\)*){quote}", re.DOTALL)
    for quote in "'\""
}
_BARE = re.compile(r"[A-Za-z_/.~][\w/.\-+@%~]*$")
"""What Hydra and a shell both take for a text as it stands."""


class _OverrideReader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def peek(self) -> str:
        """The next letter behind white space, which is passed over."""
        left = self.text[self.at :]
        rest = left.lstrip(" \t")
        self.at += len(left) - len(rest)
        return rest[:1]

    def take(self, letter: str) -> None:
        if self.peek() != letter:
            raise ValueError(f"no `{letter}` at character {self.at}")
        self.at += 1

    def value(self, ends: str) -> Any:
        first = self.peek()
        if first == "[":
            return self._inside("[]", lambda: self.value(",]"))
        if first == "{":
            return dict(self._inside("{}", self._pair))
        if first in _QUOTED:
            return self._quoted(first)
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in ends:
            self.at += 2 if self.text[self.at] == "\\" else 1
        return primitive(self.text[start : self.at].strip())

    def _pair(self) -> tuple[Any, Any]:
        key = self.value(":")
        self.take(":")
        return key, self.value(",}")

    def _inside(self, brackets: str, item: Callable[[], Any]) -> list[Any]:
        self.take(brackets[0])
        found: list[Any] = []
        while self.peek() != brackets[1]:
            found.append(item())
            if self.peek() != brackets[1]:
                self.take(",")
        self.take(brackets[1])
        return found

    def _quoted(self, quote: str) -> str:
        found = _QUOTED[quote].match(self.text, self.at)
        if found is None:
            raise ValueError("a quote that is not closed")
        self.at = found.end()
        # backslashes before a quote stand for half as many, and one over quotes it
        return re.sub(rf"(\\+)({quote}|\Z)", lambda run: "\\" * (len(run[1]) // 2) + run[2], found[1])


def primitive(text: str) -> Any:
    """A text without quotes as the number, word or text that it is."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _INT.match(text):
        return int(text)
    if _FLOAT.match(text):
        return float(text)
    return re.sub(r"\\([\\()\[\]{}:=, \t'\"])", r"\1", text)


def parsed(text: str, where: str) -> Any:
    """What an override's text behind `=` says; RecipeError where Hydra refuses it."""
    reader = _OverrideReader(text)
    if not text.strip():
        return ""
    try:
        value = reader.value("")
        if reader.peek():
            raise ValueError(f"something stands behind it at character {reader.at}")
    except ValueError as error:
        raise RecipeError(f"Hydra cannot read `{text}`", where=where, why=str(error)) from error
    return value


def written(value: Any) -> str:
    """A value as Hydra reads it back."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{written(one)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(written, value)) + "]"
    if isinstance(value, str):
        return value if _BARE.match(value) and primitive(value) == value else _in_quotes(value)
    return json.dumps(value)


def _in_quotes(text: str) -> str:
    doubled = re.sub(r"(\\*)('|$)", lambda found: found[1] * 2 + ("\\'" if found[2] else ""), text)
    return f"'{doubled}'"


def word(key: str, value: Any) -> str:
    """An override as one word of a shell."""
    return shlex.quote(f"{key}={written(value)}")
