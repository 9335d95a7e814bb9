"""Review marks: what the user thinks of rows, and the file that keeps it: in the user's state folder, one a dataset,
never half-written.

A mark is keep, drop or flag, and a row may have a note next to it, and an edit (`repairs.edits`). As text, a line of
JSON a row:

    {"row": 17, "mark": "drop", "note": "the answer is cut off"}

    <state folder>/sftui/marks/NAME.jsonl     {"sftui_marks": 1, "data": ["/data/train.jsonl"], "as":
    ["1234:1699999999"]}
                                              {"row": 17, "mark": "drop", "note": "cut off"}

The name stands for where the data is, so marks survive a change of the data; its size and time of change stand in
the first line, so that a change is noticed. What another sftui wrote meanwhile is kept.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from hashlib import sha256
from pathlib import Path

from sftui.errors import ExportError, RecipeError, without_secrets
from sftui.session.options import OpenOptions
from sftui.side_files import parse_json, read_side_file
from sftui.values import lazy, value_class

FORMAT = 1
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


class MarksFile:
    """The marks of one dataset; `save` returns at once, a thread writes, `close` waits for it; `keep` writes at once.

    `stale`: the data is no longer what it was when the marks were written. `failed` is called with a sentence, on the
    thread, where marks could not be written.
    """

    def __init__(
        self, options: OpenOptions, failed: Callable[[str], None] = lambda sentence: None, folder: Path | None = None
    ) -> None:
        self.path = None if "-" in options.paths else _path(options, folder)
        self.stale = False
        self._data = [os.path.abspath(one) if os.path.exists(one) else without_secrets(one) for one in options.paths]
        self._failed = failed
        self._pending: dict[int, Mark] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closing = False
        self._read = False

    def load(self) -> RowMarks:
        """What was marked before; ExportError where the file cannot be read. No marks where the data has no name.

        Whether it is `stale` is found out the first time: from then on the file says what was seen here.
        """
        if self.path is None or not os.path.lexists(self.path):
            return RowMarks()
        text = read_side_file(self.path, "the file of review marks", ExportError, most=MOST_MARKS)
        marks = read_marks(text, str(self.path))
        if marks and not self._read:
            with contextlib.suppress(ValueError, AttributeError):
                self.stale = parse_json(text.split("\n", 1)[0]).get("as") != self._state()
        self._read = True
        return marks

    def save(self, row: int, mark: Mark) -> None:
        """Keep what is said of a row; an empty mark takes it away."""
        if self.path is None:
            return
        with self._changed:
            self._pending[row] = mark
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, args=(self.path,), name="sftui-marks", daemon=True)
                self._thread.start()
            self._changed.notify()

    def keep(self, row: int, mark: Mark) -> None:
        """Keep what is said of a row before anything else happens; where that fails, as `save` does."""
        try:
            if self.path is not None:
                self._write(self.path, {row: mark})
        except (ExportError, OSError):
            self.save(row, mark)

    def close(self, patience: float = 5.0) -> bool:
        """Wait until all is written; False where it is not (the disk is full, or too slow)."""
        with self._changed:
            self._closing = True
            self._changed.notify()
            thread = self._thread
        if thread is not None:
            thread.join(patience)
        return not self._pending and (thread is None or not thread.is_alive())

    def _run(self, path: Path) -> None:
        while True:
            with self._changed:
                while not self._pending and not self._closing:
                    self._changed.wait()
                if not self._pending:
                    return
                taken, self._pending = self._pending, {}
            try:
                self._write(path, taken)
            except (ExportError, OSError) as error:
                with self._changed:
                    self._pending = {**taken, **self._pending}
                    closing = self._closing
                    if not closing:
                        self._changed.wait_for(lambda: self._closing, 2.0)  # the disk may have room again
                self._failed(f"the review marks could not be saved: {error}")
                if closing:
                    return

    def _write(self, path: Path, taken: dict[int, Mark]) -> None:
        from sftui.exports.files import write_atomically

        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(path.parent):
            try:
                marks = self.load()
            except ExportError:
                os.replace(path, path.with_suffix(".damaged"))
                marks = RowMarks()
            for row, mark in taken.items():
                marks = marks.put(row, mark)
            head = json.dumps({"sftui_marks": FORMAT, "data": self._data, "as": self._state()})
            write_atomically(path, f"{head}\n{marks.to_text()}".encode())

    def _state(self) -> list[str]:
        """Size and time of change of the files; of a folder those that stand in it."""
        found = []
        for path in self._data:
            with contextlib.suppress(OSError):
                folder = os.scandir(path) if os.path.isdir(path) else ()
                names = sorted(entry.path for entry in folder if entry.is_file()) if folder else [path]
                found += [f"{status.st_size}:{status.st_mtime_ns}" for status in map(os.stat, names)]
        return found


def _path(options: OpenOptions, folder: Path | None) -> Path:
    if folder is None:
        from platformdirs import user_state_dir

        folder = Path(user_state_dir("sftui")) / "marks"
    paths = [os.path.realpath(path) if os.path.exists(path) else path for path in options.paths]
    stated = json.dumps([paths, options.split, options.subset, options.data_revision, options.rows_in])
    return folder / f"{sha256(stated.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.jsonl"


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Alone among the sftui processes of this machine, where the system can."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(ImportError, OSError):
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
