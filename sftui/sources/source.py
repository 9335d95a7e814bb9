"""What every source of rows offers, whatever it reads from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import repeat
from typing import IO, NamedTuple

from sftui.errors import SourceError
from sftui.model import Row
from sftui.sources.records import changed_under_us
from sftui.values import value_class

MIB = 1 << 20
STEP_SECONDS = 0.02
COPY_AGAIN = "copy or write it again"
MOST_ROWS = 4096
"""Rows of a piece that is handed on as rows."""
LOOK_AHEAD = 32
"""Rows that are looked at for the column names of a format that has no header."""
EVERY = 10 << 20
"""Bytes of a file that `datasets` takes the types from."""


@value_class
class SourceSpec:
    """What to open: files, folders, globs, one Hub name, or `-` for stdin.

    `split`, `subset` and `revision` are as in `datasets.load_dataset`. `row_limit` is the largest
    row in bytes that is parsed; a larger one is shown clipped with a problem. `field` is the key
    whose list holds the rows, where a JSON file is one object around them. `na_filter` is that of pandas: without it
    empty cells of a CSV file, and words such as NA, stay texts.
    """

    paths: tuple[str, ...]
    split: str | None = None
    revision: str | None = None
    subset: str | None = None
    row_limit: int = 16 * MIB
    field: str | None = None
    na_filter: bool = True


@value_class
class Loading:
    """How the same rows are loaded without sftui: what exports write, so that a format need not be known to them.

    `kind` is what the format is called. `loader` is that of `datasets` which reads the files, with these `arguments`;
    None where no file is named but a set of the Hub or a folder, empty where `datasets` has none. `script` is the
    expression by which a script has the rows of `paths`; `lines` and `list` are parsed by `exports.plain` itself; empty
    where no script reads them.
    """

    kind: str
    loader: str | None = ""
    script: str = ""
    arguments: Mapping[str, str | bool] = field(default_factory=dict)

    @classmethod
    def by_datasets(cls, loader: str, **arguments: str | bool) -> Loading:
        """Files that `datasets` loads as sftui does."""
        more = "".join(f", {name}={value!r}" for name, value in arguments.items())
        script = f'datasets.load_dataset("{loader}", data_files=paths, split="train"{more})'
        return cls(loader, loader, script, arguments)


UNKNOWN = Loading("")
LINES, PARQUET = Loading("jsonl", "json", "lines"), Loading.by_datasets("parquet")
"""The forms in which sftui writes rows, too."""


@value_class
class RowCount:
    """How many rows are known. Not `exact`: more of them are still to be found; `fraction` is read.

    Rows that no one can read (see `Source.damage`) are not counted.
    """

    rows: int
    exact: bool
    fraction: float


@value_class
class Damage:
    """A file whose bytes end or break before its rows do: what is missing is in no count.

    `rows` are read of it; `why` follows "because", `fix` says what to do.
    """

    title: str
    rows: int
    why: str
    fix: str = COPY_AGAIN

    def sentence(self) -> str:
        """What is missing, why, and what to do, in one sentence."""
        return f"{self.missing()}; {self.fix}"

    def missing(self) -> str:
        """The same without what to do."""
        read = (
            f"{self.rows:,} of its rows were"
            if self.rows > 1
            else "one of its rows was"
            if self.rows
            else "none of its rows were"
        )
        return f"{self.title} cannot be read completely, because {self.why}; {read} read"


class DataFile(NamedTuple):
    """A file of the data: what to call it, its format, its bytes, opened anew at each call, how many they are, and what
    separates the fields of a CSV."""

    title: str
    kind: str
    open: Callable[[], IO[bytes]]
    size: int
    separator: str = ","


class SourcePiece(NamedTuple):
    """Rows that can be read without those before them, by whoever has the file.

    `first` is the number of the first of the `rows` rows in the data, `before` its number in the file. With `jsonl`
    they are the bytes from `begin` to `end`, and `blanks` blank lines come before them.
    """

    path: str
    title: str
    kind: str
    first: int
    rows: int
    before: int
    begin: int
    end: int
    blanks: int
    row_limit: int
    layout: str = ""


class DataChange(NamedTuple):
    """Why the data is not what was opened (follows "because"); `readable`: the rows as they were can still be read."""

    why: str
    readable: bool


def worst_change(changes: Iterable[tuple[str, DataChange | None]]) -> DataChange | None:
    """Of what has become of some files, each with its name, that by which rows are lost, else any of it."""
    found = [change._replace(why=f"of {name}: {change.why}") for name, change in changes if change is not None]
    return min(found, key=lambda change: change.readable, default=None)


class NoRows(SourceError):
    """The file is whole and holds no rows, which among several files is no loss."""


class Source(ABC):
    """Rows by number, found while they are requested.

    `row` and `index_more` may be called from two threads at once. `title` is what to call the data, `loading` how
    others load it.
    """

    title: str
    loading: Loading
    loose = False
    """Whether rows bring their keys themselves, and no header or schema declares them."""
    _notes: Sequence[str] = ()
    _damage: Sequence[Damage] = ()

    @property
    def kind(self) -> str:
        """What the format is called."""
        return self.loading.kind

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about how the data was read; may grow while indexing."""
        return tuple(self._notes)

    @property
    def damage(self) -> tuple[Damage, ...]:
        """What of the data cannot be read, as far as it is known; certain after `read_through`."""
        return tuple(self._damage)

    def files(self) -> Iterator[DataFile]:
        """The files that the rows lie in, each as a whole; none where they lie elsewhere, or are far away."""
        return iter(())

    @abstractmethod
    def row(self, index: int) -> Row:
        """The row as in `dataset[index]`. IndexError past the end; never raises for bad data."""

    @abstractmethod
    def count(self) -> RowCount:
        """How many rows are known so far; never waits."""

    @abstractmethod
    def close(self) -> None:
        """Give back files and temporary space."""

    def near(self, index: int) -> bool:
        """Whether `row(index)` needs no more reading than one row may have bytes; reads that much to find out.

        False where what is there is longer than any row that is read, or where there is no such row.
        """
        return True

    def index_more(self, seconds: float) -> bool:
        """Work on the index for about this long; True once every row is known."""
        return True

    def change(self) -> DataChange | None:
        """What has become of the file since it was opened; None where all rows are as they were, and perhaps more."""
        return None

    def outgrown(self) -> DataChange | None:
        """A change where there are rows behind the last one, which stay out as others follow."""
        return None

    def look_through(self) -> Iterator[None]:
        """Look at every byte once, a slice at a time, so that `damage` says all there is; as slow as reading the
        data."""
        while not self.index_more(STEP_SECONDS):
            yield

    def read_through(self) -> None:
        """`look_through` to its end."""
        for _ in self.look_through():
            pass

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

    def unlike(self, start: int, every: int = EVERY) -> Iterator[Row | None]:
        """From row `start` on each row that may hold a key that none of these rows before it holds, and all of the
        first `every` bytes; None where a while has passed. Nothing where the format declares its columns."""
        return self.rows(start) if self.loose else iter(())

    def lines(self) -> Iterator[bytes | None]:
        """The bytes of each row in order, as a line; None for each row that is stored as something else than JSON.

        To be read in step with `rows`: those of row n are there once row n has been read. A line comes with the line
        end that it has, a record over several lines without its line breaks.
        """
        return repeat(None)

    @property
    def cached(self) -> tuple[str, ...]:
        """The files of a cache that the rows are read from, under names that their content decides."""
        return ()

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
            for row in self._near_by(index):
                yield row
                index += 1

    def pieces(self, size: int) -> Iterator[SourcePiece | tuple[Row, ...]]:
        """Every row in order, in pieces of about `size` bytes that can be worked on apart from each other: where they
        lie, or the rows themselves where they cannot be read without those before them."""
        yield from in_pieces(self.rows(), size)

    def _near_by(self, index: int) -> Iterable[Row]:
        """Rows from `index` on that are at hand, since the one before them was read."""
        return ()


def in_pieces(rows: Iterable[Row], size: int) -> Iterator[tuple[Row, ...]]:
    """Rows as pieces of about `size` bytes."""
    return map(tuple, chunks(rows, MOST_ROWS, size))


def chunks(rows: Iterable[Row], most: int, size: int) -> Iterator[list[Row]]:
    """The rows in order, `most` at a time or fewer where they are long: a chunk ends with the row that makes it `size`
    bytes or more."""
    some: list[Row] = []
    held = 0
    for row in rows:
        some.append(row)
        held += row.size
        if len(some) >= most or held >= size:
            yield some
            some, held = [], 0
    if some:
        yield some


class CountedSource(Source):
    """Rows that are all known from the start: `_count` of them, none once it is closed."""

    _count: int

    def count(self) -> RowCount:
        return RowCount(self._count, True, 1.0)

    def row(self, index: int) -> Row:
        if not 0 <= index < self._count:
            raise IndexError(index)
        where = f"{self.title} row {index}"
        change = self._change_at(index)
        if change is not None and not change.readable:
            return changed_under_us(index, where, change.why)
        return self._read(index, where)

    def close(self) -> None:
        self._count = 0

    def _change_at(self, index: int) -> DataChange | None:
        """What has become of the file that a row is in."""
        return self.change()

    @abstractmethod
    def _read(self, index: int, where: str) -> Row:
        """The row, which is there."""
