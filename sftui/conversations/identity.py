"""What makes two rows the same: everything that a trainer may read of them, whatever else the rows hold."""

from __future__ import annotations

import marshal
import re
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from hashlib import blake2b
from math import isfinite
from operator import itemgetter
from pathlib import Path
from typing import Any, Generic, TypeVar

from sftui.conversations.refusals import MEDIA_COLUMNS
from sftui.conversations.tokenized import MASK_COLUMNS
from sftui.fast_json import orjson
from sftui.side_files import object_of
from sftui.values import value_class

T = TypeVar("T")
KEPT, LONGEST = 64, 16_000
"""Data of which the outcome is kept, and bytes of one as `marshal` writes it."""


class FunctionMemo(Generic[T]):
    """A function of plain data whose last outcomes are kept; equal data share one, so nobody must change it."""

    def __init__(self, work: Callable[[Any], T]) -> None:
        self._of_written = lru_cache(maxsize=KEPT)(lambda written: work(marshal.loads(written)))

    def of(self, data: Any) -> T | None:
        """What comes of the data; None where they are too long to be kept, or hold what is not plain."""
        try:
            written = marshal.dumps(data, 2)  # a form in which equal bytes are the same data
        except ValueError:
            return None
        return self._of_written(written) if len(written) <= LONGEST else None

    def forget(self) -> None:
        """Keep nothing of what was seen."""
        self._of_written.cache_clear()


KEYS_BY = "digest" if orjson is None else "orjson"
"""What tells rows apart in one run (`key_of`): keys of one kind mean nothing to the other."""
_PLAINLY = (
    0
    if orjson is None
    else orjson.OPT_SORT_KEYS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)
"""Keys in order, and what is no plain data is refused."""
_TOLD = object_of(Path(__file__).with_name("names.json"))
_READ = frozenset((*MEDIA_COLUMNS, *MASK_COLUMNS, *_TOLD["read by name"].split()))
"""Columns that some trainer, template or collator reads by their name."""
_MEDIA = frozenset(
    {"image", "images", "img", "imgs", "picture", "pictures", "video", "videos", "audio", "audios", "frames", "pixel"}
)
_WORDS = re.compile(r"[a-z]+")
_MESSAGE_DEPTH = 2
_SAME_IN_MANY = frozenset({"tools", "functions"})
"""Columns that say the same in many rows: their encoding is remembered."""
_SHORT, _SHORT_NAMES = 40, 400
"""Characters of a name that is remembered, and of all the names of a mapping."""
_ENCODED = -1
"""The depth of what is encoded already."""
_PLAIN = frozenset({str, int, float, bool, type(None)})
_UNSEEN = re.compile(rb'\\(?:[trfbu]|n")')
"""Escapes of JSON for white space that may stand where nobody sees it."""
_ASCII = bytes(range(128))
_BLANKS = tuple(map(str.encode, "\x85\xa0\u1680\u205f\u3000"))
_BLANK = re.compile(rb"\xe2\x80[\x80-\x8a\xa8\xa9\xaf]")
"""The other white space, that is no ASCII: alone, and what begins alike, U+2000 to U+202F."""


def identity(data: Mapping[str, Any], columns: Collection[str]) -> bytes:
    """16 bytes, equal for two rows that differ in nothing a trainer reads.

    `columns` are those that the set is read from (`Detection.fields.values()`). What counts besides them are columns
    known to trainers by name and media, by their names or because they hold bytes. Other columns (ids, sources,
    scores) do not, unless the row has none of `columns`: then all do. Neither count white space that cannot be seen
    (at line ends, empty lines around a text, how lines end), the order of keys, and a null column or message key.
    Indentation does.
    """
    return _digest(_kept(data, columns))


def key_of(data: Mapping[str, Any], columns: Collection[str]) -> bytes:
    """Bytes that are equal for two rows exactly where their `identity` is, of any length.

    They hold for one run, on machines that all have orjson or all have none: it writes a row as JSON in a fraction of
    the time that an encoding takes in Python, and most rows show no white space that would have to be taken out first.
    """
    kept = _kept(data, columns)
    if orjson is None:
        return _digest(kept)
    try:
        written: bytes = orjson.dumps(kept, option=_PLAINLY)
        if _as_seen(written):
            return written
    except TypeError:
        pass
    try:
        seen: bytes = orjson.dumps(_seen(kept, 0), option=_PLAINLY)
    except (TypeError, _UnusualData, RecursionError):
        return _digest(kept)
    return seen


def _kept(data: Mapping[str, Any], columns: Collection[str]) -> dict[str, Any]:
    """The columns of a row that count."""
    whole = all([data.get(column) is None for column in columns])
    return {
        name: value
        for name, value in data.items()
        if value is not None and (whole or name in columns or _read(str(name)) or _binary(value))
    }


def _as_seen(written: bytes) -> bool:
    """Whether a row is written as JSON that it would be, too, if white space that nobody sees and null keys were taken
    out of it; False where only taking them out tells."""
    if b' "' in written or b"null" in written:  # a blank stands before a quote only where a text ends with it
        return False
    if b"\\" in written and (_UNSEEN.search(written) or b" \\n" in written or b'"\\n' in written):
        return False
    # What is no ASCII stands in the rest of the text as it does in the whole.
    wide = b"" if written.isascii() else written.translate(None, _ASCII)
    return not wide or not (any([blank in wide for blank in _BLANKS]) or _BLANK.search(wide))


def _seen(value: Any, depth: int) -> Any:
    """Data without what `identity` leaves out; _Unusual for what JSON does not tell apart."""
    kind = type(value)
    if isinstance(value, str):
        return seen_text(value)
    if isinstance(value, Mapping):
        items = [(str(key), item) for key, item in value.items() if item is not None or depth > _MESSAGE_DEPTH]
        shown = {key: _seen(item, depth + 1) for key, item in items}
        if len(shown) < len(items):  # keys that are no texts, written as others are
            raise _UnusualData
        return shown
    if isinstance(value, (list, tuple)):
        return [_seen(item, depth + 1) for item in value]
    if kind not in _PLAIN or (kind is float and not isfinite(value)):
        raise _UnusualData
    return value


def seen_text(text: str) -> str:
    """A text without the white space that nobody sees: at line ends, and as empty lines around it."""
    if "\n" not in text:
        return text.rstrip()
    return "\n".join([line.rstrip() for line in text.replace("\r\n", "\n").split("\n")]).strip("\n")


def squeezed(text: str) -> str:
    """A text with single spaces between its words and none around it."""
    # To look whether it has others is several times faster than to split it: what is printed has no other blank.
    if text.isprintable() and "  " not in text:
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
    inner = value[:1] if isinstance(value, (list, tuple)) else value.values() if isinstance(value, Mapping) else ()
    return isinstance(value, (bytes, bytearray)) or any(
        isinstance(one, (bytes, bytearray))
        or (
            (type(one) is dict or isinstance(one, Mapping))
            and any([isinstance(item, (bytes, bytearray)) for item in one.values()])
        )
        for one in inner
    )


@value_class
class _EncodedPiece:
    """A piece whose encoding was made before."""

    data: bytes


class _UnusualData(Exception):
    """Data that JSON does not tell apart."""


def _digest(kept: Mapping[str, Any]) -> bytes:
    ready = {name: _again(value) if name in _SAME_IN_MANY else value for name, value in kept.items()}
    return blake2b(_encoded(ready, 0), digest_size=16).digest()


def _encoded(value: Any, depth: int) -> bytes:
    """A value as bytes, the last key of a mapping first; every piece says its length or its end. By a stack: data may
    nest deeper than recursion can follow."""
    pieces: list[bytes] = []
    waiting: list[tuple[Any, int]] = [(value, depth)]
    while waiting:
        item, depth = waiting.pop()
        if depth < 0:
            pieces.append(item)
        elif isinstance(item, str):
            pieces.append(_written(_text(item)))
        elif isinstance(item, (list, tuple)) and set(map(type, item)) == {int}:
            numbers = repr(list(item))  # ids and masks at once: 8,000 of them in 0.7 ms, one by one in 7 ms
            pieces.append(_written(f"i{len(numbers)}:{numbers}"))
        elif isinstance(item, (list, tuple)):
            pieces.append(b"[%d:" % len(item))
            waiting += [(part, depth + 1) for part in reversed(item)]
        elif type(item) is dict or isinstance(item, Mapping):
            head, names = _names(tuple([key for key in item if depth > _MESSAGE_DEPTH or item[key] is not None]))
            if set(map(type, item.values())) == {str}:  # as a message, mostly: at once
                pieces.append(_written(head + "".join([name + _text(item[key]) for key, name in names])))
                continue
            pieces.append(_written(head))
            for key, name in reversed(names):
                waiting += ((item[key], depth + 1), (_written(name), _ENCODED))
        elif type(item) is _EncodedPiece:
            pieces.append(item.data)
        elif isinstance(item, (bytes, bytearray)):
            pieces.append(b"%s%d:%b" % (type(item).__name__.encode(), len(item), bytes(item)))
        else:
            scalar = repr(item)
            pieces.append(_written(f"{type(item).__name__}{_size(scalar)}:{scalar}"))
    return b"".join(pieces)


_Names = tuple[str, tuple[tuple[Any, str], ...]]


def _names(keys: tuple[Any, ...]) -> _Names:
    """How many keys a mapping has and its keys, encoded, from the last to the first."""
    try:
        return _few_names(keys) if len("".join(keys)) < _SHORT_NAMES else _all_names(keys)
    except TypeError:  # some key is no text, but may equal the key of another: 1 and True
        return _all_names(keys)


def _all_names(keys: tuple[Any, ...]) -> _Names:
    named = reversed(sorted([(str(key), key) for key in keys], key=itemgetter(0)))
    return f"{{{len(keys)}:", tuple([(key, f"bytes{_size(name)}:{name}") for name, key in named])


_few_names = lru_cache(maxsize=1000)(_all_names)


def _text(text: str) -> str:
    seen = seen_text(text) if "\n" in text else text.rstrip()
    return f"s{len(seen) if seen.isascii() else _size(seen)}:{seen}"


def _size(text: str) -> int:
    """The bytes of a text."""
    return len(text) if text.isascii() else len(_written(text))


def _written(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _again(value: Any) -> Any:
    """A value of a column that says the same in many rows as it was encoded before; itself where it is long, or no
    plain data."""
    found = _REPEATED.of(value)
    return value if found is None else found


_REPEATED = FunctionMemo(lambda value: _EncodedPiece(_encoded(value, 1)))
