"""Edits: the record of one row as someone wrote it, kept as a repair of that row by name.

`edit 17 9f86d081884c {"messages": …}`: the row, what tells the record that was edited from another one, and the record
in its place.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from sftui.errors import RecipeError, SftuiError
from sftui.model import Row
from sftui.repairs.model import Data, RowChange, quote
from sftui.repairs.splice import lossless

EDIT = "edit"
"""What edits are called in counts and logs, and how the name of one begins."""
CHANGED = "the row is no longer the one that was edited"
_FEW = 3
_MOST = 20
"""Places that the log of an edit names."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Another record for a row; `of` tells the one that was edited (see `mark_of`)."""

    row: int
    of: str
    record: Data

    def over(self, row: Row) -> tuple[Data, tuple[RowChange, ...]]:
        """The record and how it differs from that of the stored row; SftuiError where that is another one by now."""
        if mark_of(row) != self.of:
            raise SftuiError(CHANGED, where=row.where, fix="edit it again, or undo the edit")
        places = differences(row.data, self.record) if row.data is not None else iter((("", "written anew"),))
        changes = tuple(RowChange(EDIT, place, what) for place, what in places)
        return self.record, changes[:_MOST]


def mark_of(row: Row) -> str:
    """What tells a stored row from another one: twelve digits of a hash of its text."""
    return sha256(f"{row.size} {row.raw}".encode("utf-8", "surrogatepass")).hexdigest()[:12]


def edit_name(row: Row, record: Data) -> str:
    """The repair that puts `record` in the place of a stored row."""
    return f"{EDIT} {row.index} {mark_of(row)} {json.dumps(record, ensure_ascii=False)}"


def read_edit(name: str) -> Edit:
    """The edit that a repair is; RecipeError where it is none, or not a whole one."""
    try:
        edit, row, of, text = name.split(" ", 3)
        record = json.loads(text)
        if edit != EDIT or not row.isdecimal() or not isinstance(record, Mapping):
            raise ValueError
    except (ValueError, RecursionError):
        raise RecipeError("this is not an edit to a row", where=quote(name), fix="make edits with ee") from None
    return Edit(int(row), of, record)


def is_edit(name: str) -> bool:
    """Whether a repair is an edit."""
    return name.startswith(f"{EDIT} ")


def edits_of(names: Iterable[str]) -> Mapping[int, str]:
    """The edits among repairs, by their rows."""
    return {int(name.split(" ", 2)[1]): name for name in names if is_edit(name)}


def repair_title(name: str) -> str:
    """A repair as it is shown: an edit without its record."""
    return " ".join(name.split(" ", 2)[:2]) if is_edit(name) else name


def repair_titles(names: Iterable[str]) -> list[str]:
    """Repairs as they are listed: many edits by their number."""
    names = list(names)
    edits = len(edits_of(names))
    several = edits > _FEW
    titles = [repair_title(name) for name in names if not (several and is_edit(name))]
    return [*titles, f"{edits:,} edits"] if several else titles


def read_record(text: str) -> Data:
    """The record that someone wrote as JSON; SftuiError says where it is none."""
    try:
        record = lossless(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise SftuiError("the edited row is not JSON", where=where, why=error.msg.lower()) from None
    except (ValueError, RecursionError) as error:
        raise SftuiError("the edited row is not JSON", why=str(error)[:200]) from None
    if not isinstance(record, Mapping):
        raise SftuiError("the edited row is not a JSON object", why=f"it is {quote(record)}")
    return record


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON: `true` is not 1, as it is in Python."""
    return one is other or (one == other and json.dumps(one, default=str) == json.dumps(other, default=str))


def differences(before: Any, after: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Where two values differ, outermost first, each place with what became of it."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys((*before, *after)):
            inner = f"{place}.{key}" if place else str(key)
            if key not in after:
                yield inner, f"{quote(before[key])} removed"
            elif key not in before:
                yield inner, f"{quote(after[key])} added"
            else:
                yield from differences(before[key], after[key], inner)
    elif isinstance(before, (list, tuple)) and isinstance(after, (list, tuple)) and len(before) == len(after):
        for at, (one, other) in enumerate(zip(before, after)):
            yield from differences(one, other, f"{place}[{at}]")
    elif not same(before, after):
        yield place, f"{quote(before)} → {quote(after)}"
