"""Which rows stand behind each number of the figures, where somebody may ask for them."""

from __future__ import annotations

from array import array
from collections import Counter

from sftui.audit.tallies import MOST_NAMES, OTHERS

KINDS = (
    "verdict",
    "findings",
    "length",
    "trained share",
    "over",
    "no label under",
    "role",
    "part",
    "message",
    "special",
    "weight",
    "repeats",
    "dropped for",
    "stopped at",
    "roles",
    "template",
    "source",
    "evaluation",
)
"""What rows are listed by: a number of the figures each, or a list of them."""


def listed_by(kind: str, name: str) -> str:
    """How the rows behind a number are requested; `kind` is one of `KINDS`, `name` as the figures have it."""
    return f"{kind}: {name}"


class Listing:
    """Every row of each name, in order, four bytes a row and name; for an audit that reads alone, row after row.

    Later names of a kind beyond `MOST_NAMES` are listed together, as they are counted.
    """

    def __init__(self) -> None:
        self._rows: dict[str, array[int]] = {}
        self._names: Counter[str] = Counter()

    def add(self, kind: str, name: str, row: int) -> None:
        """One more row, which may be added several times in turn."""
        by = listed_by(kind, name)
        held = self._rows.get(by)
        if held is None:
            if self._names[kind] >= MOST_NAMES:
                by = listed_by(kind, OTHERS)
            self._names[kind] += 1
            held = self._rows.setdefault(by, array("I"))
        if not held or held[-1] != row:
            held.append(row)

    def rows(self, by: str) -> array[int] | None:
        """The rows that are requested as `listed_by` says it; None where there is no such number."""
        kind = by.partition(": ")[0]
        return self._rows.get(by, array("I")) if kind in KINDS else None
