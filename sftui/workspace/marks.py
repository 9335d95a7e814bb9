"""The file that keeps the review marks of a dataset: in the user's state folder, one a dataset, never half-written.

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
from collections.abc import Callable, Iterator
from pathlib import Path

from sftui.errors import ExportError
from sftui.session.marks import Mark, RowMarks, data_names, marks_path, read_saved, state_of
from sftui.session.options import OpenOptions

FORMAT = 1


class MarksFile:
    """The marks of one dataset; `save` returns at once, a thread writes, `close` waits for it; `keep` writes at once.

    `stale`: the data is no longer what it was when the marks were written. `failed` is called with a sentence, on the
    thread, where marks could not be written.
    """

    def __init__(
        self, options: OpenOptions, failed: Callable[[str], None] = lambda sentence: None, folder: Path | None = None
    ) -> None:
        self.path, self.stale = marks_path(options, folder), False
        self._data = data_names(options)
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
        marks, stale = read_saved(self.path, self._data)
        self.stale, self._read = self.stale if self._read else stale, True
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
            head = json.dumps({"sftui_marks": FORMAT, "data": self._data, "as": state_of(self._data)})
            write_atomically(path, f"{head}\n{marks.to_text()}".encode())


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
