"""The texts of a row: what is said in its messages, next to their content too, and where a text is only spoken of."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sftui.model import Conversation, Message
from sftui.text import readable

REASONING = ("reasoning_content", "thinking", "reasoning")
"""Where messages keep their reasoning next to the content."""
_OTHER_TEXTS = (*REASONING, "tool_calls")
"""The same, and what they call."""
_ANY_OTHER_TEXT = frozenset(_OTHER_TEXTS)

WANTED = (
    "think",
    "tool",
    "function",
    "python",
    "code",
    "fim",
    "reason",
    "thought",
    "ref",
    "box",
    "quad",
    "object",
    "repo",
    "file",
    "channel",
)
"""Parts of the names of marks that data is meant to hold: reasoning, tools, code, and fill-in-the-middle."""

_DEEP = 40
"""How deep data are distinguished from calls."""
_PLAIN = frozenset({int, float, bool, type(None)})
_QUOTES = "\"'‘’“”«»*"
OPENING, CLOSING = "<think>", "</think>"
THOUGHT_TAGS = (
    *((f"<{name}>", f"</{name}>") for name in ("think", "thinking", "thought", "reasoning", "seed:think")),
    ("[THINK]", "[/THINK]"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
)
"""What begins and ends a thought, as families of models write it."""
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def text_of(message: Message) -> str:
    """The content of a message where it is text, else nothing."""
    content = message.content
    return content if isinstance(content, str) else ""


def texts(conversation: Conversation) -> list[tuple[int | None, str, bool]]:
    """Every text of a conversation with its message, and whether it is the content; None for a row that is one
    text."""
    found: list[tuple[int | None, str, bool]] = []
    for number, message in enumerate(conversation.messages):
        found += [(number, text, True) for text in content_texts(message)]
        found += [(number, text, False) for text in texts_beside(message)]
    rest = ((0, conversation.prompt), (1, conversation.completion), (None, conversation.text))
    return [*found, *[(number, text, True) for number, text in rest if text is not None]]


def content_texts(message: Message) -> Sequence[str]:
    """The texts that a message has as its content."""
    content = message.data.get("content")
    if type(content) is str:
        return (content,)
    return [text for part in content for text in part_texts(part)] if isinstance(content, (list, tuple)) else ()


def texts_beside(message: Message) -> Sequence[str]:
    """Those that it keeps beside it."""
    data = message.data
    if _ANY_OTHER_TEXT.isdisjoint(data):
        return ()
    return [text for key in _OTHER_TEXTS if (value := data.get(key)) for text in words(value)]


def part_texts(part: Any) -> Iterator[str]:
    """The text of a content part, under the key that OpenAI or ShareGPT give it."""
    if isinstance(part, str):
        yield part
    for key in ("text", "value"):
        if isinstance(part, Mapping) and isinstance(part.get(key), str):
            yield part[key]


def said(message: Message) -> Iterator[str]:
    """Every text of a message that a template may print: content, reasoning, and what its calls are given."""
    for key in ("content", *_OTHER_TEXTS):
        yield from words(message.data.get(key) if key != "content" else message.content)


def words(value: Any) -> list[str]:
    """Every string in nested data, keys of mappings too, in the order of `walk`."""
    if type(value) is str:
        return [value]
    found: list[str] = []
    return found if _put_strings(value, found, _DEEP) else [one for one in walk(value) if isinstance(one, str)]


def _put_strings(value: Any, found: list[str], deep: int) -> bool:
    """Put every string inside plain data into `found`; False where they are of other types, or nest deeper."""
    kind = type(value)
    if kind is dict:
        inner: Iterable[Any] = [one for pair in value.items() for one in pair]
    elif kind is list:
        inner = value
    else:
        return kind in _PLAIN
    for one in inner:
        if type(one) is str:
            found.append(one)
        elif deep == 0 or not _put_strings(one, found, deep - 1):
            return False
    return True


def all_texts(value: Any) -> bool:
    """Whether a value is a text, or a mapping whose values are texts and nothing else."""
    kind = type(value)
    return kind is str or (kind is dict and all([type(one) is str for one in value.values()]))


def walk(value: Any) -> list[Any]:
    """Every value inside nested data in order, itself first; keys come before their values. Data may nest deeper than
    calls can."""
    found: list[Any] = []
    waiting = [value]
    while waiting:
        one = waiting.pop()
        found.append(one)
        if type(one) is str:  # most are: to ask whether one is a Mapping takes longer than all the rest
            continue
        if type(one) is dict or isinstance(one, Mapping):
            waiting += [item for key, inner in reversed(list(one.items())) for item in (inner, key)]
        elif isinstance(one, (list, tuple)):
            waiting += reversed(one)
    return found


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """Every mapping inside nested data."""
    return [one for one in walk(value) if type(one) is dict or isinstance(one, Mapping)]


def without_code(text: str) -> str:
    """The text with its code, between backticks, blotted out: what stands there is shown and not said."""
    return _CODE.sub(lambda match: "`" * len(match.group()), text) if "`" in text else text


_LISTED = re.compile(r"\s*(?:[-*•#|>+]|\d+[.)])")
LEAST_JUDGED, _WORDS, _SIGNED = 100, 6, 30
"""Characters of a text, and words of its last line, from which on it is judged; who said a quotation takes so many."""


def ends_whole(text: str) -> bool | None:
    """Whether a text of several sentences ends with one; False where its last line is prose that stops in the middle,
    None where that is not known, as of lists, code, links, numbers and quotations."""
    said = text.rstrip()
    if len(said) < LEAST_JUDGED:
        return None
    if not (said[-1].isalnum() or said[-1] in ",;("):
        return True
    line = said[said.rfind("\n") + 1 :]
    odd = any(map(line.__contains__, "`=#/")) or any(map(said[-_SIGNED:].__contains__, '"”'))
    prose = not odd and len(line.split(None, _WORDS)) >= _WORDS and not _LISTED.match(line)
    return False if prose and not said[-1].isdigit() and ". " in said else None


def spoken_of(text: str, start: int, end: int) -> bool:
    """Whether a mark at this place is quoted, or a word among the words of a sentence, and so only a mention."""
    before, after = text[:start].rpartition("\n")[2], text[end:].partition("\n")[0]
    if not before.strip() or not after.strip():
        return False
    if before[-1] in _QUOTES and after[0] in _QUOTES:
        return True
    among = before[-1] in " \t(" and (after.lstrip()[0].islower() or after[0] in ",.;:!?)")
    return among and before.rstrip()[-1] not in ".!?:"


def thoughts_in(text: str) -> Iterator[tuple[int, int]]:
    """Where the closed `<think>` blocks of a text stand, tags included.

    A pattern would look for the end of the text again from every tag that is never closed.
    """
    start, end = text.find(OPENING), 0
    while start >= 0:
        end = text.find(CLOSING, start + len(OPENING))
        if end < 0:
            return
        end += len(CLOSING)
        yield start, end
        start = text.find(OPENING, end)


def thought_in(text: str) -> str | None:
    """What the first closed `<think>` block of a text says; None where there is none."""
    place = next(thoughts_in(text), None)
    return None if place is None else text[place[0] + len(OPENING) : place[1] - len(CLOSING)]


def without_thoughts(text: str) -> str:
    """The text without its closed `<think>` blocks."""
    kept, at = [], 0
    for start, end in thoughts_in(text):
        kept.append(text[at:start])
        at = end
    return "".join([*kept, text[at:]])


def cover(texts: Iterable[str]) -> tuple[str, ...]:
    """A few pairs of characters of which each of these texts holds one: where none of them stands, none of those does.

    Looking for them takes a fraction of the time that looking for all texts takes, in turn or by a pattern. Those with
    a sign are taken first, since letters stand in every text.
    """
    left, found = set(texts), []
    while left:
        parts = Counter(part for text in left for part in {text[i : i + 2] for i in range(len(text) - 1)} or {text})
        best = max(parts, key=lambda part: (not part.isalnum(), parts[part], part))
        found.append(best)
        left = {text for text in left if best not in text}
    return tuple(found)


class TextMarks:
    """Whether any of some texts stands in another: where the characters with which they begin are rare, it takes a
    fraction of the time of looking for one after the other."""

    def __init__(self, texts: Iterable[str]) -> None:
        begun: dict[str, list[str]] = {}
        for text in texts:
            begun.setdefault(text[0], []).append(text)
        self._begun = [
            (first, re.compile("|".join(map(re.escape, sorted(some)))).search) for first, some in sorted(begun.items())
        ]

    def in_(self, text: str) -> bool:
        return any([first in text and search(text) is not None for first, search in self._begun])


def sign_of(mark: str) -> str:
    """A character of a mark that is seldom in texts, as signs but the brackets of tags are."""
    return min(mark, key=lambda char: (char.isalnum(), char in "<>/"))


def marks_of(texts: Iterable[str]) -> list[tuple[str, str]]:
    """What `cover` gives for them, each behind its `sign_of`: a mark need only be looked for where that stands."""
    return [(sign_of(mark), mark) for mark in cover(texts)]


class TextIndex:
    """Whether texts stand in a long one, `said in standing`; ask for them in the order in which they were written.

    Each search goes on from the last hit, and all of them together read no more than `readable`: the work of a
    row is then linear in it. What is looked for behind that counts as standing, so that no finding rests on it.
    """

    def __init__(self, text: str) -> None:
        self._text, self._at, self._left = text, 0, readable(text)

    def __contains__(self, said: object) -> bool:
        if self._left <= 0 or not isinstance(said, str):
            return isinstance(said, str)
        at = self._text.find(said, self._at)
        self._left -= (at if at >= 0 else len(self._text)) - self._at
        if at < 0:
            at = self._text.find(said, 0, self._at + len(said))
            self._left -= at if at >= 0 else self._at
        if at >= 0:
            self._at = at
        return at >= 0

    def any_line(self, said: str) -> bool:
        """Whether some line of a text stands in it, as it is or as JSON writes it; True for a text without any."""
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        return not lines or any(line in self or json.dumps(line, ensure_ascii=False)[1:-1] in self for line in lines)
