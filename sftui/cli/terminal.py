"""The last thing before a terminal: whatever is reported on stderr, or printed while stdout is a terminal, is made
visible.

Commands make data visible where they print it; this is for what slips through: names of files in an error of a
library, a trace, a template printed as it is. What goes into a pipe or a file stays byte for byte.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import shutil
import sys
from collections.abc import Iterator
from typing import IO, Any, TextIO

from sftui.text import visible

DEFAULT_WIDTH = 80
"""Columns of what goes into a pipe or a file."""
LINE_WIDTH = 79
"""Columns that `redraw` is given at most: `clear_line` takes away as many."""
WIDEST_PAGE = 100


def terminal_width() -> int:
    """The columns of stdout where it is a terminal."""
    return shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns if sys.stdout.isatty() else DEFAULT_WIDTH


def page_width() -> int:
    """The columns of a page of help: those of the terminal, as far as text is read with ease."""
    return min(shutil.get_terminal_size().columns, WIDEST_PAGE)


def redraw(text: str) -> None:
    """Draw over the line that stderr stands on; `text` takes it all."""
    if sys.stderr is not None:
        _write_past_guard(sys.stderr, f"\r{visible(text)}")


def clear_line() -> None:
    """Take away what `redraw` drew, where stderr is a terminal."""
    if sys.stderr.isatty():
        redraw(" " * LINE_WIDTH)
        redraw("")


def narrate(*sentences: str) -> None:
    """Each sentence as a line on stderr."""
    for sentence in sentences:
        print(f"sftui: {visible(sentence)}", file=sys.stderr, flush=True)  # noqa: T201


def write_own(text: str) -> None:
    """Print a text of sftui's own making as it is, with its colours; never one that data came into."""
    _write_past_guard(sys.stdout, text)


def _write_past_guard(stream: Any, text: str) -> None:
    """Write a text as it is where `guarded` would show its control characters."""
    stream.flush()
    buffer = getattr(stream, "buffer", None)
    inner = buffer.inner if isinstance(buffer, _VisibleBytes) else stream
    inner.write(text)
    inner.flush()


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """stderr, and stdout where it is a terminal, through `text.visible` for as long as this lasts."""
    before = sys.stdout, sys.stderr
    if sys.stderr is not None:
        sys.stderr = _guard(sys.stderr)
    if sys.stdout is not None and sys.stdout.isatty():
        sys.stdout = _guard(sys.stdout)
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and stream not in before:
                with contextlib.suppress(OSError, ValueError):
                    stream.flush()
        sys.stdout, sys.stderr = before


def hold_standard_streams() -> None:
    """Keep 0, 1 and 2 from becoming files that are opened later, where the caller has closed them (`>&-`).

    What is written to a closed stdout then fails as it should, and narration goes nowhere.
    """
    for number, way in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, way)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)


def _guard(stream: TextIO) -> TextIO:
    shown: Any = _VisibleBytes(stream)
    return io.TextIOWrapper(shown, encoding="utf-8", errors="surrogateescape", write_through=True)


class _VisibleBytes(io.BufferedIOBase):
    """Bytes in UTF-8 for a text stream, every one of them made visible; lines stay lines."""

    def __init__(self, inner: IO[str]) -> None:
        super().__init__()
        self.inner = inner
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self.inner.isatty()

    def fileno(self) -> int:
        return self.inner.fileno()

    def write(self, data: Any) -> int:
        text = visible(self._decoder.decode(bytes(data)), newline="\n")
        try:
            self.inner.write(text)
        except UnicodeEncodeError:  # the terminal's own encoding has no such character
            self.inner.write(text.encode("ascii", "backslashreplace").decode())
        return len(data)

    def flush(self) -> None:
        if not self.closed:
            self.inner.flush()
