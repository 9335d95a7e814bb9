"""Folders written by `Dataset.save_to_disk`: their Arrow files mapped, nothing copied."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sftui.errors import SourceError
from sftui.model import Row
from sftui.side_files import parse_json, read_side_bytes
from sftui.sources.arrow_rows import BatchRows
from sftui.sources.byte_file import stat_changed
from sftui.sources.records import changed_under_us
from sftui.sources.source import COPY_AGAIN, Change, Count, Damage, Source

STATE = "state.json"
SPLITS = "dataset_dict.json"
END = b"\xff\xff\xff\xff\0\0\0\0"


class SavedSource(Source):
    """Rows of one saved Dataset.

    The folder never holds an indices mapping: `save_to_disk` flattens it. Raises SourceError
    where a file of the folder is missing or damaged.
    """

    kind = "arrow"

    def __init__(self, folder: Path, title: str, *, row_limit: int) -> None:
        import pyarrow as pa

        self.title = title
        held: list[Any] = []
        self._files: list[tuple[Path, os.stat_result]] = []  # of each batch: its file and how it was
        self._damage: list[Damage] = []
        schema, path = None, folder
        try:
            state = parse_json(read_side_bytes(folder / STATE))
            for entry in state["_data_files"]:
                path = folder / entry["filename"]
                reader = pa.ipc.open_stream(pa.memory_map(str(path)))
                schema = schema or reader.schema
                batches = list(reader)
                held += batches
                self._files += [(path, os.stat(path))] * len(batches)
                if not _ends(path):
                    rows = sum(batch.num_rows for batch in batches)
                    self._damage.append(
                        Damage(f"{title}/{path.name}", rows, "it ends before the mark that ends an Arrow stream")
                    )
        except (OSError, ValueError, KeyError, TypeError) as error:
            why = str(error) if path.name in str(error) else f"{path.name}: {error}"
            raise SourceError("is not a readable save_to_disk folder", where=title, why=why, fix=COPY_AGAIN) from error
        if schema is None:
            raise SourceError("has no rows", where=title)
        self._rows = BatchRows(held, schema, row_limit)

    @property
    def damage(self) -> tuple[Damage, ...]:
        return tuple(self._damage)

    def change(self) -> Change | None:
        found = [
            Change(f"of {path.name}: {change.why}", change.readable)
            for path, seen in dict(self._files).items()
            if (change := stat_changed(str(path), seen, readable=False)) is not None
        ]
        return min(found, key=lambda one: one.readable, default=None)

    def count(self) -> Count:
        return Count(len(self._rows), True, 1.0)

    def columns(self) -> tuple[str, ...]:
        return self._rows.columns

    def row(self, index: int) -> Row:
        path, seen = self._files[self._rows.batch_of(index)]
        where = f"{self.title} row {index}"
        # reading a mapped file beyond its end would kill the process
        change = stat_changed(str(path), seen, readable=False)
        if change is not None and not change.readable:
            return changed_under_us(index, where, f"of {path.name}: {change.why}")
        return self._rows.row(index, where)

    def close(self) -> None:
        self._rows.close()


def _ends(path: Path) -> bool:
    """Whether a file of an Arrow stream is there to its end: readers take one that stops between two batches for whole.

    The mark: https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format.
    """
    with open(path, "rb") as file:
        file.seek(-min(len(END), path.stat().st_size), os.SEEK_END)
        return file.read() == END


def saved_splits(folder: Path) -> tuple[str, ...] | None:
    """The splits of a saved DatasetDict, `()` for a saved Dataset, None for any other folder."""
    if (folder / SPLITS).is_file():
        try:
            splits = parse_json(read_side_bytes(folder / SPLITS))["splits"]
            return tuple(map(str, splits))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SourceError("cannot be read", where=str(folder / SPLITS), why=str(error)) from error
    return () if (folder / STATE).is_file() else None
