"""`sftui encode`: what the trainer would train on, one record a row or a pack, as JSON lines or parquet."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import IO, Any

import click

from sftui.cli.loading import loaded_session
from sftui.cli.opening import open_options
from sftui.cli.records import Told, as_json, pack_explained, pack_record, record, records, told_of
from sftui.cli.telling import DataNotes, refuse_half
from sftui.cli.writing import STDOUT, Progress, outputs
from sftui.errors import ExportError
from sftui.exports.parquet import parquet_writer
from sftui.model import Inspection
from sftui.recipe import Recipe
from sftui.session.inputs import inputs_of
from sftui.session.ready import Ready
from sftui.text import visible

Sink = Callable[[dict[str, Any]], None]
KEPT_ROWS = 4
"""Rows of which what explains them is kept: the parts of a row that was split stand in packs one after the other."""


@dataclass(slots=True)
class _Count:
    """What was written, of how many rows; `tokens` are those of the rows that no pack holds yet, `first` why the first
    one failed, `ours` how many of the failed ones sftui itself left and `unknown` why the first of these."""

    rows: int = 0
    dropped: int = 0
    failed: int = 0
    ours: int = 0
    packs: int = 0
    tokens: int = 0
    aside: int = 0
    kept: int = 0
    trained: int = 0
    first: str = ""
    unknown: str = ""

    def row(self, inspection: Inspection) -> None:
        self.rows += 1
        self.aside += inspection.evaluates
        self.dropped += inspection.problem is None and inspection.dropped is not None
        self.failed += inspection.problem is not None
        self.ours += inspection.problem is not None and inspection.problem.ours
        if not inspection.evaluates:
            self.kept += inspection.example is not None
            self.trained += sum(made.trained for made in inspection.examples)
        if inspection.problem is None:
            return
        told = f"row {inspection.row.index}: {inspection.problem.what}"
        if inspection.problem.ours:
            self.unknown = self.unknown or told
        else:
            self.first = self.first or told


def encode_rows(given: Mapping[str, Any], out: str, explain: bool, unpacked: bool, force: bool) -> int:
    """Write every row, or every pack; 2 where some row could not be prepared or the whole trains nothing, after all is
    written."""
    sink = _sink(out)
    options = open_options(given)
    target, _ = outputs(inputs_of(options), force, out)
    session = loaded_session(options)
    notes = DataNotes(session)
    count = _Count()
    try:
        packed = session.recipe.pack.strategy != "none" and not unpacked
        refuse_half(session)
        notes.tell()
        if packed:
            click.echo(_how_packed(session), err=True)
        split = session.settle_split()
        if split.note:
            click.echo(f"sftui: {visible(split.note)}" + "; packs are made of all rows" * packed, err=True)
        progress = Progress(session.count_now())
        with target.open(folders=False) as file, sink(file, explain, packed) as put:
            if packed:
                rows = _counted(session.rows_that(evaluate=False, spans=explain), count, progress)
                _write_packs(session, rows, put, count, explain, evaluate=False)
                rows = _counted(session.rows_that(evaluate=True, spans=explain), count, progress)
                if split.packs:
                    _write_packs(session, rows, put, count, explain, evaluate=True)
                else:
                    _write_rows(rows, put, explain)
            else:
                _write_rows(_counted(session.all_rows(spans=explain), count, progress), put, explain)
            if count.ours and count.ours == count.rows:
                raise ExportError("none of the rows could be prepared", why=f"sftui stopped at {count.unknown}")
        progress.end()
        notes.tell()
    finally:
        session.close()
    click.echo(_told(count, packed, out) + _engine(session), err=True)
    stop = _stop_of(count, session.recipe)
    if stop is not None:
        click.echo(f"sftui: {visible(stop)}", err=True)
    return 2 if stop is not None else 0


def _stop_of(count: _Count, recipe: Recipe) -> str | None:
    """Why the run as a whole trains nothing; None where it trains something."""
    from sftui.trainers import trainer_named

    trainer = trainer_named(recipe.preset)
    if count.first:
        return f"{trainer.title} stops the whole run at {count.first}; nothing is trained while it stands"
    if count.unknown:
        return f"what {trainer.title} makes of {count.unknown} is not known: sftui went no further"
    return trainer.stop_of(count.rows - count.aside, count.kept, count.trained, recipe.mask.rule)


def _counted(rows: Iterator[Inspection], count: _Count, progress: Progress) -> Iterator[Inspection]:
    for inspection in rows:
        yield inspection
        count.row(inspection)
        progress.at(count.rows)


def _write_rows(rows: Iterator[Inspection], put: Sink, explain: bool) -> None:
    for inspection in rows:
        for made in records(inspection, explain):
            put(made)


def _write_packs(
    session: Ready, rows: Iterator[Inspection], put: Sink, count: _Count, explain: bool, evaluate: bool
) -> None:
    """Packs as they are filled; a row that is in none of them is told where it is read.

    What explains a pack is worked out again from its rows, of which a group may hold very many.
    """
    ignore, tokenizer = session.recipe.mask.ignore_index, session.tools.tokenizer
    apart = {"split": "evaluation"} if evaluate else {}

    def passing() -> Iterator[Inspection]:
        for inspection in rows:
            if inspection.example is None:
                put({**record(inspection), **apart})
            else:
                count.tokens += sum(len(one.input_ids) for one in inspection.examples)
            yield inspection

    @lru_cache(maxsize=KEPT_ROWS)
    def row(number: int) -> Told:
        return told_of(session.inspect(number))

    for pack in session.feed_packs(passing()):
        made = {**pack_record(pack, count.packs), **apart}
        if explain:
            made.update(pack_explained(pack, row, tokenizer.piece, ignore))
        put(made)
        count.packs += 1
        count.tokens -= sum(end - start for _, start, end in pack.documents)


def _how_packed(session: Ready) -> str:
    """What the composition of the packs assumes, in one line."""
    from sftui.trainers import trainer_named

    recipe = session.recipe
    trainer = trainer_named(recipe.preset)
    return (
        f"sftui: packs as {trainer.title or trainer.name} makes them ({recipe.pack.strategy}),"
        f" {trainer.packing_order(recipe)}; --unpacked writes rows"
    )


def _engine(session: Ready) -> str:
    """Which engine gave the ids, where it is not the usual one, or why it is again; why rows are rendered again."""
    bulk = session.bulk
    named = f", ids by {bulk.engine}" if bulk.engine == bulk.FAST else ""
    return named if session.told is None else f"{named}\nsftui: {visible(session.told)}"


def _told(count: _Count, packed: bool, out: str) -> str:
    rows = f"{count.rows:,} row{'s' if count.rows != 1 else ''}"
    parts = [f"sftui: {count.packs:,} pack{'s' if count.packs != 1 else ''} of {rows}" if packed else f"sftui: {rows}"]
    if count.dropped:
        parts.append(f"{count.dropped:,} dropped by the trainer")
    if count.aside:
        parts.append(f"{count.aside:,} of them set aside for evaluation (marked `split`: evaluation)")
    if count.failed:
        parts.append(f"{count.failed:,} could not be prepared (see their `error`)")
    if packed and count.tokens:
        parts.append(f"{count.tokens:,} tokens in no pack, as the trainer leaves them out")
    where = "" if out == STDOUT else f" written to {visible(out)}"
    return ", ".join(parts) + where


def _sink(out: str) -> Callable[[IO[bytes], bool, bool], contextlib.AbstractContextManager[Sink]]:
    name = out.lower()
    if out == STDOUT or name.endswith((".jsonl", ".ndjson")):
        return _lines
    if name.endswith(".parquet"):
        return parquet_writer
    raise ExportError(
        f"{out} says no format that can be written", fix="name it OUT.jsonl or OUT.parquet, or - for stdout"
    )


@contextlib.contextmanager
def _lines(file: IO[bytes], explain: bool, packs: bool) -> Iterator[Sink]:
    def put(made: dict[str, Any]) -> None:
        file.write(as_json(made).encode("ascii") + b"\n")

    yield put
