"""What `detect` found out about a set of rows, and how its columns are named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from typing import Any

from sftui.conversations.reading import FileReading, ValueKind
from sftui.errors import ConversationError
from sftui.model import Problem
from sftui.text import visible
from sftui.values import value_class

LONGEST = 400
"""Characters of one sentence about data; names and roles come from the data and may be huge."""


@value_class
class Detection:
    """How every row of a set is read.

    `fields` maps our names to the set's columns, `message_keys` ours to the keys of a message, `role_map` the roles
    of the data to those that the template sees. `reason` is the sentence shown to the user. `refused` is set where
    the set cannot be read as SFT data; `format` is then "auto". `given_labels` tells how stored labels are aligned:
    unshifted, shifted, late (a mask that begins one token behind what it means), unknown, or "" where the set has
    none. `reading` is how the trainer is given the rows, where not as they stand. `verbatim` where it hands
    messages to the template as they are, whatever role or content they lack. `places` are the kinds of values in
    the rows looked at, where the trainer's own `datasets` gives every place of the file one.
    """

    format: str
    fields: Mapping[str, str] = field(default_factory=dict)
    message_keys: Mapping[str, str] = field(default_factory=dict)
    role_map: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""
    notes: tuple[str, ...] = ()
    refused: Problem | None = None
    given_labels: str = ""
    reading: FileReading | None = None
    verbatim: bool = False
    places: ValueKind | None = None


def refusal(what: str, why: str = "", fix: str = "change the dataset") -> Detection:
    """A set that cannot be read as SFT data."""
    return Detection("auto", refused=Problem(what, why, fix))


MESSAGE_KEYS = {"role": "role", "content": "content"}
FROM_VALUE = {"role": "from", "content": "value"}
"""What OpenAI's and ShareGPT's messages call them."""

NO_ROW = refusal("no row could be read", fix="correct the file")


def find_column(columns: Iterable[str], names: Iterable[str]) -> str | None:
    """The first of `names` that is a column, letter case aside; the column's own spelling."""
    exact, folded = _spellings(tuple(columns))
    for name in names:
        found = name if name in exact else folded.get(name)
        if found is not None:
            return found
    return None


@lru_cache(maxsize=8)
def _spellings(columns: tuple[str, ...]) -> tuple[frozenset[str], Mapping[str, str]]:
    """Columns as they are, and by their small letters; a set may have 100,000, and dozens of names are looked for."""
    return frozenset(columns), {column.lower(): column for column in columns}


def sentence(text: str) -> str:
    """A sentence that quotes names from the data, safe to draw and of bearable length."""
    return visible(text if len(text) <= LONGEST else text[:LONGEST] + "…")


def type_word(value: Any) -> str:
    """What a value is, in the words of an error message."""
    return next((word for kind, word in _WORDS if isinstance(value, kind)), f"a {type(value).__name__}")


def mistyped(column: str, value: Any, kind: str, where: str, fix: str = "") -> ConversationError:
    """The refusal of a column that does not hold what it should."""
    return ConversationError(f"`{column}` is {type_word(value)}, not {kind}", where=where, fix=fix)


def other_length(column: str, values: Sequence[Any], length: int, where: str) -> ConversationError:
    """The refusal of values along ids that are not as many."""
    what = f"`{column}` has {len(values)} entries, the ids have {length}"
    return ConversationError(what, where=where, fix="store one entry per id")


_WORDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    *((type(None), "null"), (bool, "true/false"), (str, "text")),
    *(((int, float), "a number"), (Mapping, "a mapping"), ((list, tuple), "a list")),
)
