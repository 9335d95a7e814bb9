"""`sftui encode`: what the trainer would train on, one record a row or a pack, as JSON lines or parquet."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Any

import click

from sftui.cli.data_notes import DataNotes
from sftui.cli.engines import on_ray
from sftui.cli.loading import loaded_session
from sftui.cli.opening import open_options
from sftui.cli.writing import STDOUT, Progress, outputs, print_over_progress
from sftui.errors import ExportError
from sftui.exports.parquet import parquet_writer
from sftui.exports.records import Columns, as_line
from sftui.session.encoding import EncodeProgress, columns_of, encoded, packs, refuse_half
from sftui.session.inputs import inputs_of
from sftui.session.ready import Ready
from sftui.text import visible

if TYPE_CHECKING:
    from sftui.engines.encoding import Engines

Sink = Callable[[dict[str, Any]], None]


def encode_rows(
    out: str,
    explain: bool,
    unpacked: bool,
    force: bool,
    engine: str,
    address: str | None,
    jobs: int | None,
    **given: Any,
) -> int:
    """Write every row, or every pack; 2 where some row could not be prepared or the whole trains nothing, after all is
    written."""
    form, sink = _form(out)
    cluster = on_ray(engine, address, jobs)
    options = open_options(given)
    target, _ = outputs(inputs_of(options), force, out)
    with contextlib.closing(loaded_session(options)) as session:
        notes = DataNotes(session)
        written = EncodeProgress()
        by: Engines | None = None
        packed = packs(session, unpacked)
        refuse_half(session)
        notes.print()
        if packed:
            click.echo(_how_packed(session), err=True)
        split = session.settle_split()
        if split.note:
            click.echo(f"sftui: {visible(split.note)}" + "; packs are made of all rows" * packed, err=True)
        progress = Progress(session.count_now())
        with target.open(folders=False) as file:
            if cluster and not packed:
                from sftui.engines.encoding import write_rows

                by = write_rows(
                    session,
                    file,
                    form,
                    written,
                    explain=explain,
                    address=address,
                    jobs=jobs,
                    notify=print_over_progress,
                    passed=lambda: progress.at(written.rows),
                )
            else:
                apart = _elsewhere(session, explain and not split.packs, address, jobs) if cluster else None
                with (
                    apart or contextlib.nullcontext(session) as working,
                    sink(file, columns_of(session, explain, unpacked)) as put,
                ):
                    for one in encoded(
                        working,
                        written,
                        explain=explain,
                        unpacked=unpacked,
                        as_arrays=form == "parquet",
                        passed=lambda: progress.at(written.rows),
                    ):
                        put(one)
        progress.end()
        notes.print()
        stop = written.stop_of(session.recipe, session.stops())
    click.echo(_summary(written, packed, out) + _ids(session, by), err=True)
    if stop is not None:
        click.echo(f"sftui: {visible(stop)}", err=True)
    return 2 if stop is not None else 0


def _how_packed(session: Ready) -> str:
    """What the composition of the packs assumes, in one line."""
    from sftui.trainers import trainer_named

    recipe = session.recipe
    trainer = trainer_named(recipe.preset)
    return (
        f"sftui: packs as {trainer.title or trainer.name} makes them ({recipe.pack.strategy}),"
        f" {trainer.packing_order(recipe)}; --unpacked writes rows"
    )


def _elsewhere(
    session: Ready, whole: bool, address: str | None, jobs: int | None
) -> contextlib.AbstractContextManager[Ready]:
    from sftui.engines.encoding import elsewhere

    return elsewhere(session, whole=whole, address=address, jobs=jobs, notify=print_over_progress)


def _ids(session: Ready, by: Engines | None) -> str:
    """Which engine gave the ids, where it is not the usual one, or why it is again; why rows are rendered again. `by`:
    workers gave them, and not this session."""
    bulk = session.bulk
    names, note = ((bulk.engine,), session.engine_note) if by is None else (by.names, by.note)
    named = f", ids by {bulk.FAST}" if bulk.FAST in names else ""
    return named if note is None else f"{named}\nsftui: {visible(note)}"


def _summary(count: EncodeProgress, packed: bool, out: str) -> str:
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


def _form(out: str) -> tuple[str, Callable[[IO[bytes], Columns], contextlib.AbstractContextManager[Sink]]]:
    """The name of the format that an output's name says, and what writes it."""
    name = out.lower()
    if out == STDOUT or name.endswith((".jsonl", ".ndjson")):
        return "jsonl", _lines
    if name.endswith(".parquet"):
        return "parquet", parquet_writer
    raise ExportError(
        f"{out} says no format that can be written", fix="name it OUT.jsonl or OUT.parquet, or - for stdout"
    )


@contextlib.contextmanager
def _lines(file: IO[bytes], columns: Columns) -> Iterator[Sink]:
    def put(made: dict[str, Any]) -> None:
        file.write(as_line(made))

    yield put
