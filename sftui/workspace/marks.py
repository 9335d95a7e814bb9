"""Review marks: what the user thinks of rows. Pure data; `marks_file` keeps it.

A mark is keep, drop or flag, and a row may have a note next to it. As text, a line of JSON a row:

    {"row": 17, "mark": "drop", "note": "the answer is cut off"}
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from sftui.errors import ExportError
from sftui.side_files import parse_json

KINDS = ("keep", "drop", "flag")
NOTED = "noted"
GLYPHS = {"keep": "K", "drop": "D", "flag": "F"}
NOTE_GLYPH = "N"
LONGEST_NOTE = 2_000
MOST_MARKS = 256 << 20
"""Bytes of a file of marks that is read: a hundred a row."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What is said of one row: a kind of `KINDS` or "" for none, and a note or ""."""

    kind: str = ""
    note: str = ""

    def __bool__(self) -> bool:
        return bool(self.kind or self.note)

    @property
    def glyph(self) -> str:
        """One letter that tells it apart without colour: K D F, N for a note alone."""
        return GLYPHS.get(self.kind, NOTE_GLYPH if self.note else "")


@dataclass(frozen=True, slots=True)
class RowMarks:
    """The marks of a dataset by row number; rows without one are not in it."""

    of: Mapping[int, Mark] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.of)

    def get(self, row: int) -> Mark:
        """The mark of a row, an empty one where it has none."""
        return self.of.get(row, Mark())

    def put(self, row: int, mark: Mark) -> RowMarks:
        """The marks with another one for a row; an empty one takes the row out."""
        others = {number: held for number, held in self.of.items() if number != row}
        return RowMarks({**others, row: mark} if mark else others)

    def toggled(self, row: int, kind: str) -> RowMarks:
        """The row marked `kind`, or no longer where it was so; its note stays."""
        now = self.get(row)
        return self.put(row, Mark("" if now.kind == kind else kind, now.note))

    def noted(self, row: int, note: str) -> RowMarks:
        """The row with another note; "" takes the note away."""
        return self.put(row, Mark(self.get(row).kind, note.strip()[:LONGEST_NOTE]))

    def rows_with(self, what: str = "") -> tuple[int, ...]:
        """The rows of one kind, those `noted`, or all that are marked, in their order."""
        return tuple(
            sorted(
                row for row, mark in self.of.items() if not what or mark.kind == what or (what == NOTED and mark.note)
            )
        )

    def beyond(self, row: int, forward: bool, count: int | None = None) -> int | None:
        """The next marked row after `row` (before it), beginning again at the other end; None where none is marked.

        `count` is how many rows there are: the data may have shrunk since others were marked.
        """
        rows = [one for one in self.rows_with() if count is None or one < count]
        if not rows:
            return None
        if forward:
            return next((one for one in rows if one > row), rows[0])
        return next((one for one in reversed(rows) if one < row), rows[-1])

    def counts(self) -> dict[str, int]:
        """How many rows of each kind, and with notes; only what there is."""
        found = Counter(mark.kind for mark in self.of.values() if mark.kind)
        found[NOTED] = sum(bool(mark.note) for mark in self.of.values())
        return {what: found[what] for what in (*KINDS, NOTED) if found[what]}

    def words(self) -> str:
        """`3 keep, 1 drop, 2 noted`."""
        return ", ".join(f"{count:,} {what}" for what, count in self.counts().items())

    def to_text(self) -> str:
        """A line of JSON a row, in their order."""
        lines = ({"row": row, "mark": self.of[row].kind or None, "note": self.of[row].note} for row in self.rows_with())
        return "".join(json.dumps(line) + "\n" for line in lines)


def read_marks(text: str, where: str) -> RowMarks:
    """Marks from text as `to_text` makes it; ExportError names the first line that is none.

    A line that is a mapping without `row` is skipped: it is the head of a file that sftui keeps.
    """
    found: dict[int, Mark] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            entry = parse_json(line)
        except ValueError:
            entry = None
        if isinstance(entry, Mapping) and "row" not in entry:
            continue
        row, kind, note = (
            (entry.get(key) for key in ("row", "mark", "note")) if isinstance(entry, Mapping) else (None, None, None)
        )
        if type(row) is not int or row < 0 or (kind or "") not in ("", *KINDS) or not isinstance(note or "", str):
            fix = 'a line reads {"row": 17, "mark": "keep, drop or flag", "note": ""}'
            raise ExportError("this is not a review mark", where=f"{where}, line {number}", fix=fix)
        mark = Mark(kind or "", (note or "")[:LONGEST_NOTE])
        if mark:
            found[row] = mark
    return RowMarks(found)
