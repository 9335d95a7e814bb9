"""Review marks: what someone thinks of rows.

A mark is keep, drop or flag, and a row may have a note next to it, and an edit (`repairs.edits`). As text, a line of
JSON a row:

    {"row": 17, "mark": "drop", "note": "the answer is cut off"}
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from hashlib import sha256
from pathlib import Path

from sftui.errors import ExportError, RecipeError, without_secrets
from sftui.session.options import OpenOptions, is_spooled, state_folder
from sftui.side_files import parse_json, read_side_file
from sftui.values import lazy, value_class

KINDS = ("keep", "drop", "flag")
NOTED = "noted"
EDITED = "edited"
GLYPHS = {"keep": "K", "drop": "D", "flag": "F"}
NOTE_GLYPH = "N"
LONGEST_NOTE = 2_000
MOST_MARKS = 256 << 20
"""Bytes of a file of marks that is read: a hundred a row."""


@value_class
class Mark:
    """What is said of one row: a kind of `KINDS` or "" for none, a note or "", and an edit by its name or ""."""

    kind: str = ""
    note: str = ""
    edit: str = ""

    def __bool__(self) -> bool:
        return bool(self.kind or self.note or self.edit)

    @property
    def glyph(self) -> str:
        """One letter that tells it apart without colour: K D F, N for a note alone."""
        return GLYPHS.get(self.kind, NOTE_GLYPH if self.note else "")


@value_class
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
        return self.put(row, replace(now, kind="" if now.kind == kind else kind))

    def noted(self, row: int, note: str) -> RowMarks:
        """The row with another note; "" takes the note away."""
        return self.put(row, replace(self.get(row), note=note.strip()[:LONGEST_NOTE]))

    def edited(self, row: int, name: str) -> RowMarks:
        """The row with another edit; "" takes the edit away."""
        return self.put(row, replace(self.get(row), edit=name))

    def rows_with(self, what: str = "") -> tuple[int, ...]:
        """The rows of one kind, those `noted` or edited, or all that are marked, in their order."""
        return tuple(sorted(row for row, mark in self.of.items() if not what or what in _is(mark)))

    def edits(self) -> tuple[str, ...]:
        """The edits of rows by their names, in the order of the rows."""
        return tuple(self.of[row].edit for row in self.rows_with(EDITED))

    def beyond(self, row: int, forward: bool, count: int | None = None) -> int | None:
        """The next marked row after `row` (before it), beginning again at the other end; None where none is marked.

        `count` is how many rows there are: the data may have shrunk since others were marked.
        """
        rows = [marked for marked in self.rows_with() if count is None or marked < count]
        beyond = [marked for marked in rows if (marked > row if forward else marked < row)] or rows
        return beyond[0 if forward else -1] if beyond else None

    def kinds(self) -> dict[int, str]:
        """The kind of each row that has one."""
        return {row: mark.kind for row, mark in self.of.items() if mark.kind}

    @lazy
    def counts(self) -> Mapping[str, int]:
        """How many rows of each kind, with notes and edited; only what there is."""
        found = Counter(what for mark in self.of.values() for what in _is(mark))
        return {what: found[what] for what in (*KINDS, NOTED, EDITED) if found[what]}

    def words(self) -> str:
        """`3 keep, 1 drop, 2 noted`."""
        return ", ".join(f"{count:,} {what}" for what, count in self.counts.items())

    def to_text(self) -> str:
        """A line of JSON a row, in their order."""
        marks = ((row, self.of[row]) for row in self.rows_with())
        lines = (
            {"row": row, "mark": mark.kind or None, "note": mark.note, **({"edit": mark.edit} if mark.edit else {})}
            for row, mark in marks
        )
        return "".join(json.dumps(line) + "\n" for line in lines)


def _is(mark: Mark) -> tuple[str, ...]:
    """What a row is counted as: its kind, noted, edited."""
    return tuple(filter(None, (mark.kind, NOTED if mark.note else "", EDITED if mark.edit else "")))


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
        entry = entry if isinstance(entry, Mapping) else {"row": None}
        if "row" not in entry:
            continue
        row = entry["row"]
        kind, note, edit = (entry.get(key) or "" for key in ("mark", "note", "edit"))
        known = kind in ("", *KINDS) and isinstance(note, str)
        if type(row) is not int or row < 0 or not known or not (edit == "" or _edits(edit, row)):
            fix = 'a line looks like {"row": 17, "mark": "keep, drop or flag", "note": ""}'
            raise ExportError("this is not a review mark", where=f"{where}, line {number}", fix=fix)
        mark = Mark(kind, note[:LONGEST_NOTE], edit)
        if mark:
            found[row] = mark
    return RowMarks(found)


def _edits(name: object, row: int) -> bool:
    """Whether it is an edit of that row."""
    from sftui.repairs.edits import read_edit

    try:
        return isinstance(name, str) and read_edit(name).row == row
    except RecipeError:
        return False


def load_marks(file: str, what: str = "the marks file") -> RowMarks:
    """The marks in a file, called `what` where it cannot be read; ExportError."""
    return read_marks(read_side_file(file, what, ExportError, most=MOST_MARKS), file)


# — those that the inspector saves —


def marks_path(options: OpenOptions, folder: Path | None = None) -> Path | None:
    """The file in which the inspector saves the marks of the data; None where the data has no name."""
    if "-" in options.paths or any(map(is_spooled, options.paths)):
        return None
    if folder is None:
        folder = state_folder() / "marks"
    paths = [os.path.realpath(path) if os.path.exists(path) else path for path in options.paths]
    stated = json.dumps([paths, options.split, options.subset, options.data_revision, options.rows_in])
    return folder / f"{sha256(stated.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.jsonl"


def data_names(options: OpenOptions) -> list[str]:
    """What such a file calls the data."""
    return [os.path.abspath(one) if os.path.exists(one) else without_secrets(one) for one in options.paths]


def state_of(data: Sequence[str]) -> list[str]:
    """Size and time of change of the files; of a folder those that stand in it."""
    found = []
    for path in data:
        with contextlib.suppress(OSError):
            folder = os.scandir(path) if os.path.isdir(path) else ()
            names = sorted(entry.path for entry in folder if entry.is_file()) if folder else [path]
            found += [f"{status.st_size}:{status.st_mtime_ns}" for status in map(os.stat, names)]
    return found


def read_saved(path: Path, data: Sequence[str]) -> tuple[RowMarks, bool]:
    """The marks of such a file, and whether the data changed after its rows were marked; ExportError."""
    text = read_side_file(path, "the file of review marks", ExportError, most=MOST_MARKS)
    marks, stale = read_marks(text, str(path)), False
    with contextlib.suppress(ValueError, AttributeError):
        stale = bool(marks) and parse_json(text.split("\n", 1)[0]).get("as") != state_of(data)
    return marks, stale


def known_marks(options: OpenOptions) -> tuple[RowMarks, bool]:
    """The marks of the file that --edits names, else those that the inspector saved of the data, and whether the data
    changed since; ExportError where they cannot be known."""
    if options.edits is not None:
        return load_marks(options.edits), False
    path = marks_path(options) if options.paths else None
    if path is None:
        raise ExportError("marks are not kept for data without a name", fix="name a file of marks with --edits")
    return read_saved(path, data_names(options)) if os.path.lexists(path) else (RowMarks(), False)
