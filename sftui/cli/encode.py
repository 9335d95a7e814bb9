"""`sftui encode`: what the trainer would train on, one record a row, as JSON lines or parquet."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any

import click

from sftui.cli.loading import loaded_session
from sftui.cli.opening import open_options
from sftui.cli.records import as_json, records
from sftui.cli.telling import DataNotes, refuse_half
from sftui.cli.writing import STDOUT, Progress, targets
from sftui.errors import ExportError
from sftui.exports.parquet import parquet_writer
from sftui.workspace.inputs import inputs_of

Sink = Callable[[dict[str, Any]], None]


def encode_rows(given: Mapping[str, Any], out: str, explain: bool, force: bool) -> int:
    """Write every row; 2 where some row could not be prepared, after all others are written."""
    sink = _sink(out)
    options = open_options(given)
    (target,) = targets(inputs_of(options), force, out)
    assert target is not None
    session = loaded_session(options)
    notes = DataNotes(session)
    written = dropped = failed = 0
    try:
        refuse_half(session)
        notes.tell()
        total = session.count_now()
        progress = Progress(total)
        with target.open(folders=False) as file, sink(file, explain) as put:
            for inspection in session.all_rows(spans=explain):
                for made in records(inspection, explain):
                    put(made)
                written += 1
                dropped += inspection.problem is None and inspection.dropped is not None
                failed += inspection.problem is not None
                progress.at(written)
        progress.end()
        notes.tell()
    finally:
        session.close()
    click.echo(_told(written, dropped, failed, out), err=True)
    return 2 if failed else 0


def _told(written: int, dropped: int, failed: int, out: str) -> str:
    parts = [f"sftui: {written:,} rows"]
    if dropped:
        parts.append(f"{dropped:,} dropped by the trainer")
    if failed:
        parts.append(f"{failed:,} could not be prepared (see their `error`)")
    where = "" if out == STDOUT else f" written to {out}"
    return ", ".join(parts) + where


def _sink(out: str) -> Callable[[IO[bytes], bool], contextlib.AbstractContextManager[Sink]]:
    name = out.lower()
    if out == STDOUT or name.endswith((".jsonl", ".ndjson")):
        return _lines
    if name.endswith(".parquet"):
        return parquet_writer
    raise ExportError(
        f"{out} says no format that can be written", fix="name it OUT.jsonl or OUT.parquet, or - for stdout"
    )


@contextlib.contextmanager
def _lines(file: IO[bytes], explain: bool) -> Iterator[Sink]:
    def put(made: dict[str, Any]) -> None:
        file.write(as_json(made).encode("ascii") + b"\n")

    yield put
