"""What every source of rows offers, whatever it reads from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from sftui.model import Row

MIB = 1 << 20
LOOK_AHEAD = 32
"""Rows that are looked at for the column names of a format that has no header."""


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """What to open: files, folders, globs, one Hub name, or `-` for stdin.

    `split`, `subset` and `revision` are as in `datasets.load_dataset`. `row_limit` is the largest
    row in bytes that is parsed; a larger one is shown clipped with a problem. `field` is the key
    whose list holds the rows, where a JSON file is one object around them.
    """

    paths: tuple[str, ...]
    split: str | None = None
    revision: str | None = None
    subset: str | None = None
    row_limit: int = 16 * MIB
    field: str | None = None


@dataclass(frozen=True, slots=True)
class Count:
    """How many rows are known. Not `exact`: there are at least this many; `fraction` is read."""

    rows: int
    exact: bool
    fraction: float


class Source(ABC):
    """Rows by number, found while they are asked for.

    `row` and `index_more` may be called from two threads at once. `kind` is the format
    (`jsonl`, `json`, `csv`, `parquet`, `arrow`, `hub`); `title` is what to call the data.
    """

    title: str
    kind: str

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about how the data was read; may grow while indexing."""
        return ()

    @property
    def cut(self) -> bool:
        """Whether rows are missing at the end because the file is damaged or too large to unpack."""
        return False

    @abstractmethod
    def row(self, index: int) -> Row:
        """The row as in `dataset[index]`. IndexError past the end; never raises for bad data."""

    @abstractmethod
    def count(self) -> Count:
        """How many rows are known so far; never waits."""

    @abstractmethod
    def close(self) -> None:
        """Give back files and temporary space."""

    def index_more(self, seconds: float) -> bool:
        """Work on the index for about this long; True once every row is known."""
        return True

    def refresh(self) -> bool:
        """Look whether the file has grown; True if there is more for `index_more` to read."""
        return False

    def columns(self) -> tuple[str, ...]:
        """Column names in order of appearance; from the first rows where nothing declares them."""
        names: dict[str, None] = {}
        for row in self.rows():
            if row.index >= LOOK_AHEAD:
                break
            if row.data is not None:
                names.update(dict.fromkeys(map(str, row.data)))
        return tuple(names)

    def rows(self, start: int = 0) -> Iterator[Row]:
        """Every row from `start` on, in order."""
        index = start
        while True:
            try:
                row = self.row(index)
            except IndexError:
                return
            yield row
            index += 1
