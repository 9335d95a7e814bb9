"""Open data: rows by number and in order, batches, the check, and the encoded table: what the trainer would receive, as
Arrow, made while it is read."""

from __future__ import annotations

import os
import threading
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from operator import index as as_index
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload
from weakref import finalize

from sftui.api.report import Report, limits_of
from sftui.api.row import PreparedRow
from sftui.errors import RecipeError, SftuiError
from sftui.exports.parquet import arrow_batches, arrow_schema, write_parquet
from sftui.findings import Finding
from sftui.model import Batch, Inspection
from sftui.recipe import Recipe
from sftui.session.encoding import EncodeProgress, columns_of, encoded, refuse_half
from sftui.session.opened import AT_ONCE, settle_split
from sftui.session.ready import Ready
from sftui.session.versions import version_notes
from sftui.tokens import TokenizerFacts

if TYPE_CHECKING:
    from sftui.audit.found import Filter
    from sftui.audit.waste import WasteTable
    from sftui.exports.report_model import AuditReport
    from sftui.tokens.loading.given import LocalTokenizer


Turns = Callable[[Callable[[], Iterator[Any]]], Iterator[Any]]

TRAINED = ("input_ids", "labels", "attention_mask", "loss_weights")
PACKED = (*TRAINED, "position_ids", "seq_lens")


class EncodedTable:
    """The rows or packs of open data, with the columns that `sftui encode` writes; made by `encode`.

    Nothing is held: each way of reading it encodes the data again, and memory does not grow with it but for `to_arrow`
    and `to_dataset`. It takes part in Arrow's C stream interface, so that `pyarrow.table(table)` and polars take it.
    """

    def __init__(self, ready: Ready, turns: Turns, explain: bool, unpacked: bool) -> None:
        self._ready, self._turns = ready, turns
        self._explain, self._unpacked = explain, unpacked
        self._columns = columns_of(ready, explain, unpacked)
        self.written: EncodeProgress | None = None
        """How many rows and packs there are, dropped, failed …: from the last complete pass; None before that."""

    @property
    def schema(self) -> Any:
        """A `pyarrow.Schema`."""
        return arrow_schema(self._columns)

    def records(self) -> Iterator[dict[str, Any]]:
        """Each row or pack as a dict, its numbers along the tokens as tuples."""
        return self._records(as_arrays=False)

    def _records(self, as_arrays: bool) -> Iterator[dict[str, Any]]:
        written, explain, unpacked = EncodeProgress(), self._explain, self._unpacked
        yield from self._turns(
            lambda: encoded(self._ready, written, explain=explain, unpacked=unpacked, as_arrays=as_arrays)
        )
        self.written = written

    def batches(self) -> Iterator[Any]:
        """Each a `pyarrow.RecordBatch` of some thousand rows at most."""
        return arrow_batches(self._records(as_arrays=True), self._columns)

    def reader(self) -> Any:
        """A `pyarrow.RecordBatchReader` over `batches`."""
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self.schema, self.batches())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.reader().__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> Any:
        """All of it as a `pyarrow.Table`."""
        return self.reader().read_all()

    def to_parquet(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> EncodeProgress:
        """Write the file that `sftui encode -o` writes, whole or not at all, and count; ExportError."""
        from sftui.exports.files import atomic_file, refuse_existing
        from sftui.session.inputs import inputs_of

        file = Path(path)
        inputs_of(self._ready.options).refuse(file)
        refuse_existing(file, overwrite)
        with atomic_file(file, folders=False) as out:
            write_parquet(out, self._records(as_arrays=True), self._columns)
        return self._counted()

    def to_dataset(self, split: str = "train") -> Any:
        """What reaches the trainer as a `datasets.Dataset`, without the columns that only explain: its `train` rows, or
        those it sets aside (`evaluation`).

        SftuiError where the trainer would stop, or there is nothing to train.
        """
        if split not in ("train", "evaluation"):
            raise SftuiError(f"there is no split {split}", fix="use train or evaluation")
        import datasets
        import pyarrow as pa
        import pyarrow.compute as pc

        names = [name for name in (PACKED if self._columns.packs else TRAINED) if name in self.schema.names]
        kept = []
        for batch in self.batches():
            reach = pc.is_valid(batch["input_ids"])
            aside = pc.is_valid(batch["split"])
            mask = pc.and_(reach, aside if split == "evaluation" else pc.invert(aside))
            kept.append(batch.filter(mask).select(names))
        stop = self._counted().stop_of(self._ready.recipe, self._ready.stops())
        if stop is not None:
            raise SftuiError(stop)
        table = pa.Table.from_batches(kept, pa.schema([self.schema.field(name) for name in names]))
        empty = [name for name in names if table[name].null_count == len(table) and len(table)]
        return datasets.Dataset(table.drop_columns(empty))

    def _counted(self) -> EncodeProgress:
        if self.written is None:
            raise RuntimeError("counted before it was read")
        return self.written

    def __repr__(self) -> str:
        what = "packs" if self._columns.packs else "rows"
        return f"<encoded {what} of {self._ready.source.title}: {self._ready.recipe.preset}>"


T = TypeVar("T")
STEP = 0.1
"""Seconds of indexing between two looks whether another thread waits."""


class OpenDataset:
    """Data with its tokenizer under a recipe; made by `sftui.open`.

    Every method may be called from any thread: they take turns, also between two rows of an iteration. After `close`
    each of them raises SftuiError. Another tokenizer, trainer or recipe is another `sftui.open`.
    """

    def __init__(self, ready: Ready, notes: tuple[str, ...] = (), given: LocalTokenizer | None = None) -> None:
        self._ready, self._notes, self._given = ready, notes, given
        self._turn = threading.RLock()
        self._chosen: array[int] | None = None
        self._end = finalize(self, ready.close)  # what nobody closes is closed with the last table and row of it

    # --- what it is -------------------------------------------------------------------------

    @property
    def recipe(self) -> Recipe:
        """The recipe that rows are prepared by."""
        return self._ready.recipe

    @property
    def tokenizer(self) -> TokenizerFacts:
        """What is known of the tokenizer: its special tokens, its templates, the transformers that loads it."""
        return self._ready.tools.tokenizer.facts

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be known of how the data, the config and the tokenizer are read: what commands say on stderr."""
        ready = self._ready
        stop = ready.load_stop(AT_ONCE)
        found = (
            *self._notes,
            *ready.options.notes,
            *version_notes(ready.tokenizer.facts),
            *(ready.tools.notes or ()),
            *ready.source.notes,
            *ready.detected.notes,
            *ready.notes,
            *(damage.sentence() for damage in ready.source.damage),
            *((stop.sentence(),) if stop is not None else ()),
            *(ready.only.sentences() if ready.only is not None else ()),
        )
        return tuple(dict.fromkeys(found))

    @property
    def closed(self) -> bool:
        return not self._end.alive

    # --- rows -------------------------------------------------------------------------------

    def __len__(self) -> int:
        """The number of rows, where some are chosen that of those; reads the data to its end the first time."""
        if (numbers := self._numbers()) is not None:
            return len(numbers)
        with self._using() as ready:
            while not ready.source.index_more(STEP):
                pass
            return ready.source.count().rows

    @overload
    def __getitem__(self, index: int) -> PreparedRow: ...
    @overload
    def __getitem__(self, index: slice) -> list[PreparedRow]: ...
    def __getitem__(self, index: int | slice) -> PreparedRow | list[PreparedRow]:
        """The row of a number, from the end where it is negative, or those of a slice; IndexError past the end. Where
        rows are chosen (`where`), they are counted without the others; `index` is the number that each has."""
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        number = as_index(index)
        if number < 0:
            number += len(self)
        if (numbers := self._numbers()) is not None:
            if not 0 <= number < len(numbers):
                raise IndexError(f"there is no row {as_index(index)}")
            number = numbers[number]
        with self._using() as ready:
            try:
                row = ready.source.row(number)
            except IndexError:
                raise IndexError(f"there is no row {as_index(index)}") from None
            settle_split(ready)
            return self._row(ready.inspect_row(ready.over(row)))

    def _numbers(self) -> array[int] | None:
        """The numbers of the rows that are chosen and that no repair drops, found once; None where all are there."""
        with self._using() as ready:
            if (ready.only is not None or ready.overlay is not None) and self._chosen is None:
                self._chosen = array("Q", (row.index for row in ready.rows()))
            return self._chosen

    def __iter__(self) -> Iterator[PreparedRow]:
        """All rows in order, many prepared at once."""

        def rows() -> Iterator[PreparedRow]:
            settle_split(self._ready)
            return map(self._row, self._ready.all_rows(spans=True))

        return self._turns(rows)

    def batches(self, size: int) -> Iterator[Batch]:
        """What trains, `size` rows (or packs, where the recipe packs) at a time, padded as the trainer's collator does.

        In the order of the dataset, which stands for the trainer's sampler; the last batch may be smaller. SftuiError
        where rows cannot be padded, or the size is below 1.
        """
        if as_index(size) < 1:
            raise SftuiError(f"a batch cannot have {size} rows", fix="give a size of 1 or more")
        return self._turns(lambda: self._ready.batches(size))

    # --- the whole --------------------------------------------------------------------------

    def encode(self, *, explain: bool = False, unpacked: bool = False) -> EncodedTable:
        """What the trainer would receive of every row, or every pack where the recipe packs, as `sftui encode` writes
        it: made when the table is read.

        `explain` adds tokens, reasons and spans; `unpacked` gives rows where the recipe packs. SftuiError where the
        data cannot be read to its end, or its trainer does not read it.
        """
        with self._using() as ready:
            ready.accepted()
            refuse_half(ready)
            return EncodedTable(ready, self._turns, explain, unpacked)

    def waste(self, *, lengths: Sequence[int] = (), strategies: Sequence[str] = ()) -> WasteTable:
        """What length limits and packing strategies cost over one epoch, as `sftui waste` shows it: tokens, padding,
        steps, answers cut, rows lost.

        `lengths` are limits in tokens, `strategies` values of pack.strategy or `by length`; without any, those
        that fit the rows and the trainer. SftuiError.
        """
        from sftui.session.waste import sizes_of, waste_lines, waste_table

        *_, sizes = self._turns(lambda: sizes_of(self._ready))
        with self._using() as ready:
            table = waste_table(ready, sizes, lengths, strategies)
        steps = self._turns(lambda: waste_lines(self._ready, sizes, table))
        return replace(table, lines=tuple(step() for step in steps))

    def check(
        self,
        *,
        select: Sequence[str] = (),
        ignore: Sequence[str] = (),
        max_rows: int | None = None,
        sample: int | None = None,
        evaluation: str | os.PathLike[str] | None = None,
        jobs: int = 1,
        near_duplicates: float | None = None,
        max_rate: Mapping[str, float | str] | None = None,
        progress: Callable[[int, int | None], None] | None = None,
    ) -> Report:
        """What is wrong in the set-up, the dataset and its rows, and the figures, as `sftui check` reports them.

        `select` and `ignore` are codes or their beginnings. `max_rows` takes the first rows, `sample` some of all.
        `evaluation` is the evaluation set, whose prompts must not be among the rows. `jobs` processes work (where there
        are more than one, the program's main module must be importable, as with multiprocessing). `near_duplicates`:
        rows that share such a part of their three-word sequences are looked for (0.8; needs sftui[near]). `max_rate`
        says which share of the rows may have a code (`{"TRU": 0.005}` or "0.5%"), for `Report.raise_on`. `progress` is
        called with the rows that are done and all of them (None: not known yet). SftuiError.
        """
        from sftui.audit.found import Filter
        from sftui.session.arguments import codes_of

        wanted, limits = Filter(codes_of(select, "select"), codes_of(ignore, "ignore")), limits_of(max_rate)
        return Report(self._checked(wanted, max_rows, sample, evaluation, jobs, near_duplicates, progress), limits)

    def _checked(
        self,
        wanted: Filter,
        max_rows: int | None,
        sample: int | None,
        evaluation: str | os.PathLike[str] | None,
        jobs: int,
        near: float | None,
        progress: Callable[[int, int | None], None] | None = None,
    ) -> AuditReport:
        from sftui.session.checking import AuditSession, held_out

        if near is not None and not 0.5 <= near <= 1:
            raise RecipeError(f"near_duplicates={near} is not a share from 0.5 to 1", fix="say 0.8")
        with ExitStack() as opened:
            with self._using() as ready:
                prompts, search = held_out(ready, evaluation, near, opened)
                settle_split(ready)
                checking = AuditSession(
                    ready, wanted, prompts, max_rows=max_rows, sample=sample, jobs=jobs, near=search
                )
            for now in self._turns(checking.steps):
                if progress is not None:
                    progress(now.rows, now.total)
            with self._using():
                return checking.checked()

    # --- its end ----------------------------------------------------------------------------

    def close(self) -> None:
        """Give back files; rows, tables that were read and reports stay as they are."""
        with self._turn:
            self._end()

    def __enter__(self) -> OpenDataset:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = ", closed" if self.closed else ""
        return f"<sftui data {self._ready.source.title}: {self.recipe.preset}, {self.tokenizer.name}{state}>"

    # --- in turns ---------------------------------------------------------------------------

    @contextmanager
    def _using(self) -> Iterator[Ready]:
        """The data, used by one thread at a time; SftuiError where it is closed or its tokenizer was changed."""
        with self._turn:
            if self.closed:
                raise SftuiError("the data is closed", fix="open it again")
            changed = self._given.changed() if self._given is not None else ""
            if changed:
                raise SftuiError(
                    "the tokenizer was changed after the data was opened",
                    why=f"its {changed} is different now",
                    fix="open it again",
                )
            yield self._ready

    def _turns(self, begin: Callable[[], Iterator[T]]) -> Iterator[T]:
        """What an iterator gives, each step in a turn of its own."""
        made: Iterator[T] | None = None
        while True:
            with self._using():
                made = begin() if made is None else made
                try:
                    found = next(made)
                except StopIteration:
                    return
            yield found

    def _row(self, found: Inspection) -> PreparedRow:
        recipe = self._ready.recipe
        return PreparedRow(found, recipe.preset, recipe.mask.ignore_index, self._look)

    def _look(self, found: Inspection) -> tuple[Finding, ...]:
        with self._turn:
            return self._ready.found(found)
