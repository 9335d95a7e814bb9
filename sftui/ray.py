"""Checking and encoding in Ray Data: `pip install 'sftui[ray]'` and what Ray Data needs.

    setup = sftui.ray.setup(ds.take(32), tokenizer="Qwen/Qwen3-0.6B", trainer="trl")
    encoded = ds.map_batches(Encode, fn_constructor_args=(setup,), batch_format="pyarrow", concurrency=8)
    checked = ds.map_batches(Check, fn_constructor_args=(setup, "id"), batch_format="pyarrow", concurrency=8)
    print(sftui.ray.report(checked, setup))

Rows of a Ray dataset have no numbers of their own: `ray.data.range(n).zip(ds)` gives them the column `id`. With it,
what comes out is what the local engine says of the same rows. `sftui help clusters` has the rest.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sftui.api.opening import prepared
from sftui.api.report import Report
from sftui.audit.audit import Audit
from sftui.audit.found import Filter
from sftui.crew import Crew, CrewTask
from sftui.engines.checking import JoinedChecking, repeated_in
from sftui.engines.shards import CheckPieces, EncodePieces, PieceResult, Rows
from sftui.errors import SftuiError
from sftui.model import Row
from sftui.session.declared import Opening
from sftui.session.facets import refuse_where
from sftui.session.opened import held_out_by, source_spec
from sftui.session.sent import SessionParcel
from sftui.sources.arrow_rows import ArrowDecoder
from sftui.sources.source import CountedSource, Loading

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True, slots=True)
class Setup:
    """How rows are read and prepared, found out once with the first rows; pickles. `head` is the audit that those of
    batches join."""

    sent: SessionParcel
    sample: tuple[Row, ...]
    head: Audit


def setup(sample: Sequence[Mapping[str, Any]], **opening: Unpack[Opening]) -> Setup:
    """Open the first rows of a dataset (32 will do) as `sftui.open` does, and check the set-up by them; SftuiError."""
    refuse_where(opening, "Ray Data passes rows to sftui batch by batch")
    session, _, given = prepared(list(sample), opening)
    try:
        if given is not None:
            raise SftuiError("a loaded tokenizer cannot be sent to workers", fix="give its name or its folder")
        if (held := held_out_by(session.recipe)) is not None and held.unmarked:
            raise SftuiError(
                f"the recipe holds out or samples rows ({held.key})",
                why="that depends on all rows, and a batch has only some",
                fix="omit that key, or use `sftui check --engine ray`",
            )
        checking = JoinedChecking(session, Filter())
        return Setup(checking.task().session, session.sample, checking.audit)
    finally:
        session.close()


class _BatchWork:
    """What a process makes of batches: `task` is done on the rows of each."""

    def __init__(self, setup: Setup, row: str | None, task: CrewTask[Rows, PieceResult]) -> None:
        self._row, self._limit = row, source_spec(setup.sent.options).row_limit
        self._crew: Crew[Rows, PieceResult] = Crew(task, 1)

    def part(self, batch: Any) -> tuple[tuple[Row, ...], PieceResult]:
        """The rows of a batch, and what is made of them."""
        if self._row is None:
            numbers: Sequence[int] = range(batch.num_rows)
        elif self._row in batch.column_names:
            numbers = batch[self._row].to_pylist()
            batch = batch.drop_columns([self._row])
        else:
            raise SftuiError(f"there is no column {self._row}", fix=f"there are {', '.join(batch.column_names)}")
        decoder = ArrowDecoder(batch.schema, self._limit)
        rows = tuple([decoder.row(batch, at, number, f"row {number}") for at, number in enumerate(numbers)])
        (part,) = self._crew.done(iter((rows,)))
        return rows, part


class Check(_BatchWork):
    """Each batch as one row: `first` and `rows` (its numbers), `findings` (a text each, the first of every code) and
    `part`, which `report` joins.

    `row` names the column of numbers; without it rows are numbered in each batch from 0, and `report` refuses.
    """

    def __init__(self, setup: Setup, row: str | None = None) -> None:
        super().__init__(setup, row, CheckPieces(setup.sent, setup.head.found.wanted, None, apart=True))

    def __call__(self, batch: Any) -> Any:
        import pyarrow as pa

        rows, part = self.part(batch)
        audit: Audit = pickle.loads(part.made)
        kept = [finding for code in audit.found.ordered() for finding in code.kept]
        named = {found_finding.finding.row for found_finding in kept}
        held = tuple(row for row in rows if row.index in named)
        return pa.table(
            {
                "first": pa.array([min((row.index for row in rows), default=0)], pa.int64()),
                "rows": pa.array([len(rows)], pa.int64()),
                "findings": pa.array(
                    [[f"{one.where}: {one.finding.code} {one.finding.sentence}" for one in kept]], pa.list_(pa.string())
                ),
                "part": pa.array([pickle.dumps((part, held, self._row is not None))], pa.binary()),
            }
        )


class Encode(_BatchWork):
    """Each batch as what the trainer receives of its rows: the columns that `sftui encode` writes to Parquet.

    `row` names the column of their numbers; without it they are numbered in each batch from 0.
    """

    def __init__(self, setup: Setup, row: str | None = None, explain: bool = False) -> None:
        super().__init__(setup, row, EncodePieces(setup.sent, "parquet", explain))

    def __call__(self, batch: Any) -> Any:
        import pyarrow as pa

        _, _, made = pickle.loads(self.part(batch)[1].made)
        with pa.ipc.open_stream(made) as stream:
            return stream.read_all()


def report(checked: Any, setup: Setup) -> Report:
    """What a dataset of `Check`, or its rows, comes to: findings and figures of all rows, those of a batch once however
    often it is there. SftuiError where rows have no numbers."""
    parts: dict[int, tuple[int, PieceResult]] = {}
    held: dict[int, Row] = {}
    found: Iterable[Mapping[str, Any]] = checked.iter_rows() if hasattr(checked, "iter_rows") else checked
    for one in found:
        part, rows, numbered = pickle.loads(one["part"])
        if not numbered:
            raise SftuiError(
                "the rows have no numbers", fix='number them with ray.data.range(n).zip(ds), and use Check(setup, "id")'
            )
        if one["rows"]:
            parts[one["first"]] = (one["rows"], part)
            held.update((row.index, row) for row in rows)
    source = _RowSet(held, sum(rows for rows, _ in parts.values()))
    checking = JoinedChecking(setup.sent.open(source, setup.sample), Filter())
    checking.audit = pickle.loads(pickle.dumps(setup.head))
    ordered = [parts[first][1] for first in sorted(parts)]

    joined = [((), False, part.made) for part in ordered]
    for _ in checking.joined(joined, lambda shares: repeated_in(lambda: ordered, shares, None)):
        pass
    return Report(checking.checked())


class _RowSet(CountedSource):
    """The rows that findings name, of so many."""

    title, loading = "Ray dataset", Loading("ray")

    def __init__(self, rows: Mapping[int, Row], count: int) -> None:
        self._rows, self._count = rows, count

    def _read(self, index: int, where: str) -> Row:
        if index not in self._rows:
            raise IndexError(index)
        return self._rows[index]
