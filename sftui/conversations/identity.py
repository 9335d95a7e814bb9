"""What makes two rows the same: everything that a trainer may read of them, whatever else the rows hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from operator import itemgetter
from typing import Any

from sftui.conversations.refusals import MEDIA_COLUMNS
from sftui.conversations.repeated import Repeated
from sftui.conversations.tokenized import MASK_COLUMNS

_READ = frozenset(
    {
        *MEDIA_COLUMNS,
        *MASK_COLUMNS,
        "input_ids",
        "labels",
        "attention_mask",
        "system",
        "system_prompt",
        "history",
        "tools",
        "functions",
        "documents",
        "chat_template_kwargs",
        "reasoning",
        "reasoning_content",
        "thinking",
        "train",
        "weight",
        "weights",
        "loss_weight",
    }
)
"""Columns that some trainer, template or collator reads by their name."""
_MEDIA = frozenset(
    {"image", "images", "img", "imgs", "picture", "pictures", "video", "videos", "audio", "audios", "frames", "pixel"}
)
_WORDS = re.compile(r"[a-z]+")
_MESSAGE_DEPTH = 2
_SAME_IN_MANY = frozenset({"tools", "functions"})
"""Columns that say the same in many rows: how that is told is remembered."""
_ROLES = frozenset({"role", "from"})
"""Keys whose texts come again and again."""
_SHORT, _SHORT_NAMES = 40, 400
"""Characters of a name that is remembered, and of all the names of a mapping."""
_FEW = 8
"""Keys of a mapping that is told at once."""
_PLAIN = frozenset({str, int, float, bool, type(None)})


def identity(data: Mapping[str, Any], columns: Collection[str]) -> bytes:
    """16 bytes, equal for two rows that differ in nothing a trainer reads.

    `columns` are those that the set is read from (`Detected.fields.values()`). What counts beside them are columns
    known to trainers by name and media, by their names or because they hold bytes. Other columns (ids, sources,
    scores) do not, unless the row has none of `columns`: then all do. Neither count white space that cannot be seen
    (at line ends, empty lines around a text, how lines end), the order of keys, and a null column or message key.
    Indentation does.
    """
    whole = all([data.get(column) is None for column in columns])
    kept = {
        name: value
        for name, value in data.items()
        if value is not None and (whole or name in columns or _read(str(name)) or _binary(value))
    }
    return _digest(kept)


def seen_text(text: str) -> str:
    """A text without the white space that nobody sees: at line ends, and as empty lines around it."""
    if "\n" not in text:
        return text.rstrip()
    return "\n".join([line.rstrip() for line in text.replace("\r\n", "\n").split("\n")]).strip("\n")


def squeezed(text: str) -> str:
    """A text with single spaces between its words and none around it."""
    # To look whether it has others is several times faster than to split it: what is printed has no other blank.
    if text.isascii() and text.isprintable() and "  " not in text:
        return text.strip(" ")
    return " ".join(text.split())


def _read(column: str) -> bool:
    return _short_read(column) if len(column) < _SHORT else _any_read(column)


def _any_read(column: str) -> bool:
    name = column.casefold()
    return name in _READ or not _MEDIA.isdisjoint(_WORDS.findall(name))


_short_read = lru_cache(maxsize=1000)(_any_read)


def _binary(value: Any) -> bool:
    if type(value) in _PLAIN:
        return False
    inner = value.values() if isinstance(value, Mapping) else value[:1] if isinstance(value, (list, tuple)) else ()
    return isinstance(value, (bytes, bytearray)) or any(
        isinstance(one, (bytes, bytearray))
        or (isinstance(one, Mapping) and any(isinstance(item, (bytes, bytearray)) for item in one.values()))
        for one in inner
    )


@dataclass(frozen=True, slots=True)
class _Told:
    """A piece as it is told, made before."""

    data: bytes


def _digest(kept: Mapping[str, Any]) -> bytes:
    ready = {name: _again(value) if name in _SAME_IN_MANY else value for name, value in kept.items()}
    return blake2b(_told(ready, 0), digest_size=16).digest()


def _told(value: Any, depth: int) -> bytes:
    """A value as bytes, told from a stack: rows nest deeper than Python calls may. Every piece says its length or its
    end."""
    told: list[bytes] = []
    waiting: list[tuple[Any, int]] = [(value, depth)]
    while waiting:
        one, depth = waiting.pop()
        if type(one) is _Told:
            told.append(one.data)
        elif isinstance(one, str):
            told.append(_text(one))
        elif type(one) is dict or isinstance(one, Mapping):
            waiting += _mapping(one, depth, told)
        elif isinstance(one, (list, tuple)) and set(map(type, one)) == {int}:
            # Ids and masks at once: 8,000 of them in 0.7 ms, one by one in 7 ms.
            data = repr(list(one)).encode()
            told.append(b"i%d:" % len(data) + data)
        elif isinstance(one, (list, tuple)):
            told.append(b"[%d:" % len(one))
            begun = _plain(one)
            told += begun
            for at, item in enumerate(one[len(begun) :], len(begun)):
                left = _mapping(item, depth + 1, told) if type(item) is dict else [(item, depth + 1)]
                if left:
                    waiting += [(rest, depth + 1) for rest in reversed(one[at + 1 :])]
                    waiting += left
                    break
        else:
            data = bytes(one) if isinstance(one, (bytes, bytearray)) else repr(one).encode("utf-8", "surrogatepass")
            told.append(b"%s%d:" % (type(one).__name__.encode(), len(data)) + data)
    return b"".join(told)


def _plain(items: Sequence[Any]) -> list[bytes]:
    """The first of some items, each a mapping of nothing but ASCII texts, as messages are: told as `_mapping` does."""
    told: list[bytes] = []
    for item in items:
        if type(item) is not dict or len(item) > _FEW:
            break
        try:
            head, names = _written_names(tuple(item))
        except TypeError:  # some key is no text
            break
        parts = [head]
        for key, name, roles in names:
            value = item[key]
            if type(value) is not str or not value.isascii():
                return told
            if roles and len(value) < _SHORT:
                parts += (name, _short_written(value))
                continue
            seen = seen_text(value) if "\n" in value else value.rstrip()
            parts += (name, f"s{len(seen)}:{seen}")
        told.append("".join(parts).encode())
    return told


def _mapping(one: Mapping[Any, Any], depth: int, told: list[bytes]) -> Sequence[tuple[Any, int]]:
    """Tell a mapping, the last key first, up to the first value that is no text: from there on it is left for the
    stack. So a message, as a rule, is told at once."""
    keys = tuple(one)
    if None in one.values() and depth <= _MESSAGE_DEPTH:
        keys = tuple([key for key in keys if one[key] is not None])
    head, names = _names(keys)
    told.append(head)
    for at, (key, name, text) in enumerate(names):
        value = one[key]
        if type(value) is not str:
            return [piece for key, name, _ in reversed(names[at:]) for piece in ((one[key], depth + 1), (name, depth))]
        told.append(name.data)
        told.append(text(value))
    return ()


_Names = tuple[bytes, tuple[tuple[Any, _Told, Callable[[str], bytes]], ...]]


def _names(keys: tuple[Any, ...]) -> _Names:
    """How many keys a mapping has as it is told; its keys so, from the last to the first, and how a text that belongs
    to each is told."""
    try:
        return _few_names(keys) if len("".join(keys)) < _SHORT_NAMES else _all_names(keys)
    except TypeError:  # some key is no text, but may equal the key of another: 1 and True
        return _all_names(keys)


@lru_cache(maxsize=1000)
def _written_names(keys: tuple[str, ...]) -> tuple[str, tuple[tuple[str, str, bool], ...]]:
    """The same of keys that are few, as text, and whether the texts of each come again and again; TypeError for keys
    that are no short ASCII text."""
    if not all(type(key) is str and len(key) < _SHORT and key.isascii() for key in keys):
        raise TypeError
    head, names = _all_names(keys)
    return head.decode(), tuple([(key, name.data.decode(), key in _ROLES) for key, name, _ in names])


@lru_cache(maxsize=1000)
def _short_written(text: str) -> str:
    return _text(text).decode()


def _all_names(keys: tuple[Any, ...]) -> _Names:
    made = []
    for name, key in reversed(sorted([(str(key), key) for key in keys], key=itemgetter(0))):
        data = name.encode("utf-8", "surrogatepass")
        made.append((key, _Told(b"bytes%d:%b" % (len(data), data)), _role if name in _ROLES else _text))
    return b"{%d:" % len(keys), tuple(made)


_few_names = lru_cache(maxsize=1000)(_all_names)


def _text(text: str) -> bytes:
    data = (seen_text(text) if "\n" in text else text.rstrip()).encode("utf-8", "surrogatepass")
    return b"s%d:%b" % (len(data), data)


def _role(text: str) -> bytes:
    return _short_text(text) if len(text) < _SHORT else _text(text)


_short_text = lru_cache(maxsize=1000)(_text)


def _again(value: Any) -> Any:
    """A value of a column that says the same in many rows as it was told before; itself where it is long, or no plain
    data."""
    found = _REPEATED.of(value)
    return value if found is None else found


_REPEATED = Repeated(lambda value: _Told(_told(value, 1)))
