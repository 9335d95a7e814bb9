"""Arrow record batches in an unnamed temporary file, mapped back when they are requested."""

from __future__ import annotations

import shutil
import tempfile
from typing import Any

from sftui.sources.byte_file import KEEP_FREE


class ArrowSpool:
    """Batches by number. Not thread-safe: its owner holds a lock.

    Mapped, not read back: only the pages of the rows that are shown come into memory. The file
    has no name, so nothing is left behind even after kill -9. OSError where the disk is full.
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="sftui-")  # noqa: SIM115
        self._positions: list[int] = []
        self._cached: tuple[int, Any] = (-1, None)

    def __len__(self) -> int:
        return len(self._positions)

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._file.tell()

    def append(self, batch: Any) -> None:
        """Keep a batch; batches may differ in schema."""
        import pyarrow as pa

        position = self._file.tell()
        with pa.ipc.new_stream(self._file, batch.schema) as writer:
            writer.write_batch(batch)
        self._file.flush()
        self._positions.append(position)

    def batch(self, number: int) -> Any:
        import pyarrow as pa

        if self._cached[0] != number:
            mapped = pa.memory_map(f"/dev/fd/{self._file.fileno()}")
            mapped.seek(self._positions[number])
            self._cached = (number, pa.ipc.open_stream(mapped).read_next_batch())
        return self._cached[1]

    def has_room(self) -> bool:
        """Whether the disk of the temporary folder has more than its reserve left."""
        return shutil.disk_usage(tempfile.gettempdir()).free > KEEP_FREE

    def close(self) -> None:
        self._cached = (-1, None)
        self._file.close()
