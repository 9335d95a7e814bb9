"""Folders written by `Dataset.save_to_disk`: their Arrow files mapped, nothing copied."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from sftui.errors import SourceError
from sftui.model import Row
from sftui.side_files import parse_json, read_side_bytes
from sftui.sources.arrow_rows import BatchSource
from sftui.sources.byte_file import stat_changed
from sftui.sources.formats import Format
from sftui.sources.source import COPY_AGAIN, Damage, DataChange, Loading, SourceSpec, worst_change

STATE = "state.json"
SPLITS = "dataset_dict.json"
ARROW_FILE = b"ARROW1"
SPLITS_APART, SHARDS_APART = "saved splits", "saved splits of several files"
"""Layouts of rows in a folder of saved datasets that no dataset_dict.json names: one of them is a single Arrow file, or
none is."""
END = b"\xff\xff\xff\xff\0\0\0\0"


class SavedSource(BatchSource):
    """Rows of one saved Dataset.

    The folder never holds an indices mapping: `save_to_disk` flattens it. Raises SourceError
    where a file of the folder is missing or damaged. `names` are the Arrow files where no state of the folder says
    them, `split` is the one that the folder is of, `layout` that of each row.
    """

    loading = Loading("arrow", None, "datasets.load_from_disk(paths[0])")

    def __init__(
        self,
        folder: Path,
        title: str,
        *,
        row_limit: int,
        names: tuple[str, ...] = (),
        split: str = "",
        layout: str = "",
    ) -> None:
        import pyarrow as pa

        if names:
            self.loading = Loading.by_datasets("arrow")
        elif split:
            self.loading = Loading("arrow", None, f'datasets.load_from_disk(paths[0] + "/" + {json.dumps(split)})')
        self._layout = layout
        apart = f"{title.partition('/')[0]} contains several saved datasets but no {SPLITS}; sftui reads {title}"
        self._notes = (apart,) if layout else ()
        batches: list[Any] = []
        self._files: list[tuple[Path, os.stat_result]] = []  # of each batch: its file and how it was
        self._damage = damage = list[Damage]()
        schema, path = None, folder
        try:
            state = {} if names else parse_json(read_side_bytes(folder / STATE))
            for name in names or [entry["filename"] for entry in state["_data_files"]]:
                path = folder / name
                mapped = pa.memory_map(str(path))
                whole = mapped.read(len(ARROW_FILE)) == ARROW_FILE  # its end is looked at by whoever opens it
                mapped.seek(0)
                reader = pa.ipc.open_file(mapped) if whole else pa.ipc.open_stream(mapped)
                schema = schema or reader.schema
                found = [reader.get_batch(n) for n in range(reader.num_record_batches)] if whole else list(reader)
                batches += found
                self._files += [(path, os.stat(path))] * len(found)
                if not whole and not _ends(path):
                    rows = sum(batch.num_rows for batch in found)
                    damage.append(Damage(f"{title}/{path.name}", rows, "it ends before the Arrow end-of-stream marker"))
        except (OSError, ValueError, KeyError, TypeError) as error:
            why = str(error) if path.name in str(error) else f"{path.name}: {error}"
            what = "is not a readable Arrow file" if names else "is not a readable save_to_disk folder"
            raise SourceError(what, where=title, why=why, fix=COPY_AGAIN) from error
        if schema is None:
            raise SourceError("has no rows", where=title)
        super().__init__(title, batches, schema, row_limit)

    def change(self) -> DataChange | None:
        return _changed(*dict(self._files).items())

    def _change_at(self, index: int) -> DataChange | None:
        # reading a mapped file beyond its end would kill the process
        return _changed(self._files[self._batch_of(index)])

    def _read(self, index: int, where: str) -> Row:
        row = super()._read(index, where)
        return replace(row, layout=self._layout) if self._layout else row


def _changed(*files: tuple[Path, os.stat_result]) -> DataChange | None:
    """What has become of some files, each as it was seen."""
    return worst_change((path.name, stat_changed(str(path), seen, readable=False)) for path, seen in files)


def _ends(path: Path) -> bool:
    """Whether a file of an Arrow stream is there to its end: readers take one that stops between two batches for whole.

    The mark: https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format.
    """
    with open(path, "rb") as file:
        file.seek(-min(len(END), path.stat().st_size), os.SEEK_END)
        return file.read() == END


def saved_splits(folder: Path) -> tuple[str, ...] | None:
    """The splits of a saved DatasetDict, or saved Datasets side by side; `()` for one saved Dataset, None for any other
    folder."""
    if (folder / SPLITS).is_file():
        try:
            splits = parse_json(read_side_bytes(folder / SPLITS))["splits"]
            return tuple(map(str, splits))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SourceError("cannot be read", where=str(folder / SPLITS), why=str(error)) from error
    if (folder / STATE).is_file():
        return ()
    apart = sorted(one.parent.name for one in folder.glob(f"*/{STATE}") if (one.parent / "dataset_info.json").is_file())
    return tuple(apart) or None


def _open_path(path: str, label: str, spec: SourceSpec) -> SavedSource | None:
    """A file of such a folder by itself."""
    folder, name = os.path.split(path)
    lone = path.lower().endswith(".arrow")
    return SavedSource(Path(folder), label, row_limit=spec.row_limit, names=(name,)) if lone else None


FORMATS = (Format("arrow", open_path=_open_path),)
