"""Bytes at an offset, of a plain file or of one that is unpacked while it is read."""

from __future__ import annotations

import errno
import io
import os
import re
import select
import shutil
import tempfile
import threading
import zlib
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

from sftui.errors import SourceError
from sftui.side_files import reason
from sftui.sources.source import DataChange, DataFile

HEAD = 4096
STEP = 4 << 20
SMALL_STEP = 1 << 16
RATIO_FROM = 1 << 30
RATIO_LIMIT = 250
"""A file that unpacks to over 1 GiB and over 250 times its size is taken for a bomb."""
KEEP_FREE = 1 << 30
"""Unpacking stops when less than this is left on the disk of the temporary folder."""


READ_BUFFER = 1 << 16
LARGER = "set TMPDIR to a folder on a larger disk"
_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*(?:://|::)")


def is_url(path: str) -> bool:
    """Whether a path is the URL of something that fsspec reads (see `remote`)."""
    return _URL.match(path) is not None


class Stop(NamedTuple):
    """Why a file is not unpacked to its end (follows "because"), and what to do."""

    why: str
    fix: str


class ByteFile:
    """A plain file, read by offset from any thread (`os.pread`), that notices when it changes.

    Raises SourceError where it cannot be opened. `label` is the name shown to the user. What lies behind `end`, where
    that is given, is left out.
    """

    apart = True
    """Whether any part of it can be read by itself, by whoever has the path."""
    complete = True
    """Whether all bytes are there; False while some are still to be unpacked."""
    stopped: Stop | None = None
    """Why unpacking stopped before the end, or None."""
    _fd = -1

    def __init__(self, path: str, label: str | None = None, end: int | None = None) -> None:
        self.path = path
        self._end = end
        self.label = label or os.path.basename(path)
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            full = error.errno in (errno.EMFILE, errno.ENFILE)
            fix = "close other programs, or raise the limit with ulimit -n" if full else ""
            raise SourceError("cannot be read", where=path, why=reason(error), fix=fix) from error
        self._seen = os.fstat(self._fd)
        self._head = self.pread(0, HEAD)
        self._tail = self._last(self._seen.st_size if end is None else min(end, self._seen.st_size))

    @property
    def place(self) -> str:
        """The path, wherever one stands."""
        return self.path if is_url(self.path) else os.path.abspath(self.path)

    def fill(self, timeout: float | None = None) -> None:
        """Unpack some more; returns at once where there is nothing to unpack."""

    def size(self) -> int:
        size = os.fstat(self._fd).st_size
        return size if self._end is None else min(size, self._end)

    def progress(self, position: int) -> float:
        """How much of the file lies before `position`, from 0 to 1."""
        size = self.size()
        return min(1.0, position / size) if size else 1.0

    def pread(self, offset: int, size: int) -> bytes:
        """`size` bytes at `offset`, fewer only at the end."""
        if self._end is not None:
            size = max(0, min(size, self._end - offset))
        data = os.pread(self._fd, size, offset)
        if len(data) == size or not data:
            return data
        pieces = [data]
        have = len(data)
        while have < size and (data := os.pread(self._fd, size - have, offset + have)):
            pieces.append(data)
            have += len(data)
        return b"".join(pieces)

    def changed(self, upto: int, *, grows: bool = False) -> DataChange | None:
        """Whether the first `upto` bytes are still those that were indexed, and whether there are more of them.

        What was indexed stays readable where another file has the name now. `grows`: more bytes at the end are no
        change.
        """
        now = _stat_now(self.path, self._seen, upto, readable=False)  # the open file still holds what was indexed
        if isinstance(now, DataChange):
            return now
        if now.st_mtime_ns == self._seen.st_mtime_ns and now.st_size == self._seen.st_size:
            return None
        at, tail = self._tail
        if self.pread(0, len(self._head)) != self._head or self.pread(at, len(tail)) != tail:
            return DataChange("it was rewritten", False)
        if now.st_size == self._seen.st_size and self.size() == now.st_size:  # a writer may be about to append
            return DataChange("it was written to again, or touched", False)
        if not grows:
            return DataChange("it has grown", True)
        self._seen = now
        self._head = self._head if len(self._head) == HEAD else self.pread(0, HEAD)
        self._tail = self._last(now.st_size)
        return None

    def _last(self, size: int) -> tuple[int, bytes]:
        """Where the last bytes of a file of `size` begin, and what they are."""
        at = max(0, size - HEAD)
        return at, self.pread(at, size - at)

    def open(self, *, owning: bool = False) -> io.BufferedReader:
        """The whole as a file object; an `owning` one closes this file when it is closed."""
        return io.BufferedReader(_FileStream(self, owning), READ_BUFFER)

    def as_data(self, kind: str, separator: str = ",") -> Iterator[DataFile]:
        """The file as one of the data; nothing where its bytes are far away."""
        if not is_url(self.path):
            yield DataFile(self.label, kind, self.open, self.size(), separator)

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:  # a number keeps its file open where nobody closes it
        if self._fd >= 0:
            self.close()


class SpooledFile(ByteFile):
    """Bytes that come as a stream (unpacked gz or zst, a pipe), kept in an unnamed temporary file.

    The temporary file has no name, so nothing is left behind even after kill -9. `test` is the command
    that tells whether the packed file is whole, `origin` its path, where it has one.
    """

    apart = complete = False

    def __init__(
        self,
        stream: IO[bytes],
        label: str,
        *,
        packed_size: int = 0,
        selectable: bool = False,
        test: str = "",
        origin: str | None = None,
    ) -> None:
        self.path = label
        self._end = None
        self._origin = (origin, os.stat(origin)) if origin is not None else None
        self._test = f" ({test} finds such damage)" if test else ""
        self.label = label
        self._stream: IO[bytes] | None = stream
        self._spool = tempfile.TemporaryFile(prefix="sftui-")  # noqa: SIM115
        self._fd = self._spool.fileno()
        self._written = 0
        self._packed_size = packed_size
        self._selectable = selectable
        self._broken: Exception | None = None
        self._lock = threading.Lock()

    def progress(self, position: int) -> float:
        if self.complete:
            return min(1.0, position / self._written) if self._written else 1.0
        # the unpacked size is not known before the end, so guess a ratio of four and never reach 1
        return min(0.99, position / (4 * self._packed_size)) if self._packed_size else 0.0

    def fill(self, timeout: float | None = None) -> None:
        with self._lock:
            if self._stream is None:
                return
            try:
                if not self._selectable:
                    data = self._unpack(self._stream)
                elif select.select([self._stream], [], [], timeout)[0]:
                    data = os.read(self._stream.fileno(), STEP)
                else:
                    return
            except (OSError, EOFError, zlib.error) as error:
                self._stop(self._damage(error), f"copy it again{self._test}")
                return
            if not data:
                self._finish()
                return
            self._stop_if_too_large(len(data))
            if self._stream is None:
                return
            try:
                self._spool.write(data)
                self._spool.flush()
            except OSError as error:
                self._stop(f"the temporary folder {tempfile.gettempdir()} is full ({error.strerror})", LARGER)
                return
            self._written += len(data)

    def _unpack(self, stream: Any) -> bytes:
        """Up to a step of bytes; those before a damaged place come first, the error next time."""
        if self._broken is not None:
            raise self._broken  # a stream that is read again may tell another error
        pieces: list[bytes] = []
        size = 0
        try:
            while size < STEP and (piece := stream.read1(min(SMALL_STEP, STEP))):
                pieces.append(piece)
                size += len(piece)
        except (OSError, EOFError, zlib.error) as error:
            if not pieces:
                raise
            self._broken = error
        return b"".join(pieces)

    def _stop_if_too_large(self, more: int) -> None:
        total = self._written + more
        if self._packed_size and total > RATIO_FROM and total > RATIO_LIMIT * self._packed_size:
            self._stop(
                f"{self._packed_size:,} compressed bytes unpack to more than {self._written:,}, which looks like a"
                " decompression bomb",
                "if it is not, unpack it yourself",
            )
        elif shutil.disk_usage(tempfile.gettempdir()).free < KEEP_FREE + more:
            self._stop(f"the temporary folder {tempfile.gettempdir()} has less than 1 GiB left", LARGER)

    def _stop(self, why: str, fix: str) -> None:
        self.stopped = Stop(why, fix)
        self._finish()

    def _damage(self, error: Exception) -> str:
        """What unpacking raised, in words: cut off at the end, a checksum that is wrong, or broken in between."""
        reason = " ".join(str(error).split())
        if isinstance(error, EOFError) or "truncated" in reason.lower():
            return f"its compressed data is damaged: it ends too early, after {self._written:,} unpacked bytes"
        if "CRC" in reason or "checksum" in reason.lower() or "Incorrect length" in reason:
            return (
                f"its compressed data is damaged: the checksum does not match, so any row may be wrong too ({reason})"
            )
        return f"its compressed data is damaged after {self._written:,} unpacked bytes ({reason})"

    def _finish(self) -> None:
        if self._stream is not None and not self._selectable:
            self._stream.close()
        self._stream, self.complete = None, True

    def changed(self, upto: int, *, grows: bool = False) -> DataChange | None:
        if self._origin is None:
            return None
        path, seen = self._origin
        return stat_changed(path, seen, readable=True)

    def close(self) -> None:
        with self._lock:
            self._finish()
            self._fd = -1
            self._spool.close()


def stat_changed(path: str, seen: os.stat_result, *, readable: bool) -> DataChange | None:
    """What tells a file from the one that was `seen`; `readable`: its rows are kept elsewhere."""
    now = _stat_now(path, seen, seen.st_size, readable)
    if isinstance(now, DataChange):
        return now
    return DataChange("it was written to again, or touched", readable) if now.st_mtime_ns != seen.st_mtime_ns else None


def _stat_now(path: str, seen: os.stat_result, size: int, readable: bool) -> os.stat_result | DataChange:
    """A file as it is now; what has become of it where it is gone, another one, or shorter than `size`."""
    try:
        now = os.stat(path)
    except OSError:
        return DataChange("it no longer exists", True)
    if (now.st_dev, now.st_ino) != (seen.st_dev, seen.st_ino):
        return DataChange("another file has replaced it", True)
    return DataChange(f"it has shrunk to {now.st_size:,} bytes", readable) if now.st_size < size else now


class _FileStream(io.RawIOBase):
    """A ByteFile as a stream with a position of its own."""

    def __init__(self, file: ByteFile, owning: bool) -> None:
        self._file = file
        self._owning = owning
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not (data := self._file.pread(self._position, len(buffer))) and not self._file.complete:
            self._file.fill()
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_END:
            while not self._file.complete:
                self._file.fill()
            offset += self._file.size()
        elif whence == os.SEEK_CUR:
            offset += self._position
        self._position = offset
        return offset

    def close(self) -> None:
        if not self.closed and self._owning:
            self._file.close()
        super().close()
