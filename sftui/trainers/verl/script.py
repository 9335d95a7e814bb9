"""The run scripts of verl's users: a shell command whose words behind `verl.trainer.sft_trainer` are Hydra's overrides.

Only what decides the words is read: quotes, line ends behind a backslash, comments, and variables and arrays that the
script sets itself before, those of an `if` where it is plain which way it goes. No shell is run.

Source of the overrides, `key=value`: hydra-core 1.3, grammar/OverrideParser.g4 and core/override_parser. A text without
quotes is a number, true, false or null where it looks so; lists and mappings stand in brackets; in quotes everything is
text.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
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
            raise ValueError(f"unexpected text follows it at character {reader.at}")
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


def override(key: str, value: Any) -> str:
    """An override as one word of a shell."""
    return shlex.quote(f"{key}={written(value)}")


_CALLED = re.compile(r"verl[./]trainer[./]((?:fsdp_)?sft_trainer(?:_ray)?)(?:\.py)?$")
_SET = re.compile(r"^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)=(\S*|'[^'\n]*'|\"[^\"\n]*\")[ \t]*(?:#.*)?$", re.MULTILINE)
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)(?::-([^}]*))?\}|([A-Za-z_]\w*))")
_ARRAY = re.compile(r"^([ \t]*)([A-Za-z_]\w*)(\+?)=\(", re.MULTILINE)
_SPREAD = re.compile(r"\$\{([A-Za-z_]\w*)\[[@*]\]\}")
_IF = re.compile(
    r"^if \[+ \"?([^\"\n]*?)\"? ==? \"?([^\"\n]*?)\"? \]+; *then\n((?:(?!else|elif).*\n)*?)fi\b", re.MULTILINE
)
_BLANKS = re.compile(r"(?:\\\n|[ \t\r]|#[^\n]*)*")
"""What stands between the words of a command, and in an array."""
_BLANKS_IN_ARRAY = re.compile(r"(?:[ \t\r\n\\;&|(]|#[^\n]*)*")
_PIECE = re.compile(
    r"""\\(?!\n)(.?)|'([^']*)(?:'|\Z)|"((?:\\["\\$`]|[^"])*)(?:"|\Z)|(\$(?:\{[^}]*(?:\}|\Z))?|[^ \t\r\n;&|()\\'"$]+)""",
    re.DOTALL,
)
"""What a word is put together from: a letter behind a backslash, texts in quotes, a variable, or plain letters."""
_OVERRIDE = re.compile(r"(\+\+|\+|~|)([A-Za-z_][\w.@/-]*)=(.*)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a command: where it stands in the text, and what it says."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Override:
    """One `key=value`: its sign (`+`, `++` or none), key, value, and word; `open` says that a variable in it is not
    known."""

    sign: str
    key: str
    value: Any
    word: Word
    open: bool


@dataclass(frozen=True, slots=True)
class Script:
    """The command of a script that runs verl: its module, its overrides, and where it ends."""

    module: str
    overrides: tuple[Override, ...]
    others: tuple[str, ...]
    end: int


def is_script(text: str) -> bool:
    """Whether a text runs verl's SFT in a shell."""
    return _called(text) is not None


def read(text: str, where: str) -> Script:
    """The command; RecipeError where the text has none."""
    found = _called(text)
    if found is None:
        raise RecipeError("the script does not run verl.trainer.sft_trainer", where=where)
    module, words = found
    known: dict[str, str] = {}
    for name, value in _SET.findall(text[: words[0].start]):
        known[name] = _filled(_unquoted(value), known)
    overrides: list[Override] = []
    others: list[str] = []
    arrays = _arrays(text[: words[0].start], known)
    spread = ((one, _SPREAD.fullmatch(_filled(one.text, known))) for one in words[1:])
    for word in (one for whole, named in spread for one in (arrays.get(named[1], [whole]) if named else [whole])):
        said = _filled(word.text, known)
        match = _OVERRIDE.match(said)
        if match is None or (word.text.startswith("$") and " " in said):  # a shell makes several words of that one
            others.append(word.text)
            continue
        unknown = "$" in match[3]
        value = match[3] if unknown else parsed(match[3], where)
        overrides.append(Override(match[1], match[2], value, word, unknown))
    return Script(module, tuple(overrides), tuple(others), words[-1].end)


def _arrays(text: str, known: Mapping[str, str]) -> dict[str, list[Word]]:
    """The words of the arrays that a script fills; of those that fill up under a condition, one that stays open."""
    found: dict[str, list[Word]] = {}
    for match in _ARRAY.finditer(text):
        at, words = match.end(), list[Word]()
        while (at := _behind(_BLANKS_IN_ARRAY, text, at)) < len(text) and text[at] != ")":
            words.append(_word(text, at))
            at = words[-1].end
        around = [one for one in _IF.finditer(text) if one.start() < match.start() < one.end()]
        sides = [_filled(group, known) for group in around[-1].groups()[:2]] if around else [""] if match[1] else []
        if unknown := any(not side or "$" in side for side in sides):
            words = [Word(match.start(), match.end(), f"${match[2]}")]
        if unknown or len(set(sides)) < 2:
            found[match[2]] = [*found.get(match[2], ()), *words] if match[3] else words
    return found


def _called(text: str) -> tuple[str, tuple[Word, ...]] | None:
    """The module, and the words of its command from it on."""
    for words in _commands(text):
        for number, word in enumerate(words):
            match = _CALLED.search(word.text)
            if match is not None:
                return match[1], words[number:]
    return None


def edited(text: str, changes: Mapping[str, Any], removed: frozenset[str], where: str) -> str:
    """The script with overrides set (behind the last one, where it has none of a key) or taken out."""
    script = read(text, where)
    last = {override.key: override for override in script.overrides}
    places: list[tuple[int, int, str]] = []
    for key in removed:
        places += [(*_with_space(text, one.word), "") for one in script.overrides if one.key == key]
    for key, value in changes.items():
        if key in last:
            one = last[key]
            sign = one.sign or ("++" if isinstance(value, Mapping) else "")  # a bare one takes no new keys
            places.append((one.word.start, one.word.end, override(f"{sign}{key}", value)))
    new = [key for key in changes if key not in last]
    added = "".join(f" \\\n    {override(key, changes[key])}" for key in new)
    places.append((script.end, script.end, added))
    for start, end, put in sorted(places, reverse=True):
        text = text[:start] + put + text[end:]
    return text


def _with_space(text: str, word: Word) -> tuple[int, int]:
    """A word with what parts it from the one before."""
    return len(text[: word.start].rstrip(" \t\\\n")), word.end


def _filled(text: str, known: Mapping[str, str]) -> str:
    """A word with the variables that the script sets, or gives a default, put in."""

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[3]
        return known.get(name, match[2] if match[2] is not None else match[0])

    for _ in range(8):  # one variable may name another
        filled = _VARIABLE.sub(value, text)
        if filled == text:
            break
        text = filled
    return text


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def _commands(text: str) -> Iterator[tuple[Word, ...]]:
    """The words of each command of a script."""
    words: list[Word] = []
    at = _behind(_BLANKS, text, 0)
    while at < len(text):
        if text[at] not in "\n;&|()":
            words.append(_word(text, at))
        elif words:
            yield tuple(words)
            words = []
        at = _behind(_BLANKS, text, words[-1].end if words else at + 1)
    if words:
        yield tuple(words)


def _behind(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Where what fits a pattern ends."""
    found = pattern.match(text, at)
    return found.end() if found is not None else at


def _word(text: str, start: int) -> Word:
    out, at = list[str](), start
    while (found := _PIECE.match(text, at)) is not None:
        escaped, single, double, bare = found.groups()
        out.append(re.sub(r'\\(["\\$`])', r"\1", double) if double is not None else escaped or single or bare or "")
        at = found.end()
    return Word(start, at, "".join(out))
