"""`sftui encode`: what the trainer would train on, one record a row, as JSON lines or parquet."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import click

from sftui.cli.loading import loaded_session
from sftui.cli.opening import open_options
from sftui.cli.records import as_json, records
from sftui.cli.writing import Progress, may_write
from sftui.errors import ExportError
from sftui.exports.files import atomic_file
from sftui.exports.parquet import parquet_writer

Sink = Callable[[dict[str, Any]], None]


def encode_rows(given: Mapping[str, Any], out: str, explain: bool, force: bool) -> int:
    """Write every row; 2 where some row could not be prepared, after all others are written."""
    sink = _sink(out, explain)
    if out != "-":
        may_write(tuple(path for path in (Path(out),) if path.exists()), force)
    session = loaded_session(open_options(given))
    written = dropped = failed = 0
    try:
        total = session.count_now()
        progress = Progress(total)
        with sink as put:
            for inspection in session.all_rows(spans=explain):
                for made in records(inspection, explain):
                    put(made)
                written += 1
                dropped += inspection.problem is None and inspection.dropped is not None
                failed += inspection.problem is not None
                progress.at(written)
        progress.end()
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
    where = "" if out == "-" else f" written to {out}"
    return ", ".join(parts) + where


def _sink(out: str, explain: bool) -> contextlib.AbstractContextManager[Sink]:
    if out == "-":
        return _stdout()
    name = out.lower()
    if name.endswith((".jsonl", ".ndjson")):
        return _lines(Path(out))
    if name.endswith(".parquet"):
        return _parquet(Path(out), explain)
    raise ExportError(f"{out} says no format that can be written", fix="name it OUT.jsonl or OUT.parquet, or - for stdout")


@contextlib.contextmanager
def _stdout() -> Iterator[Sink]:
    def put(made: dict[str, Any]) -> None:
        sys.stdout.write(as_json(made) + "\n")

    yield put
    sys.stdout.flush()


@contextlib.contextmanager
def _lines(path: Path) -> Iterator[Sink]:
    with atomic_file(path, folders=False) as file:
        yield _line_writer(file)


def _line_writer(file: IO[bytes]) -> Sink:
    def put(made: dict[str, Any]) -> None:
        file.write(as_json(made).encode("ascii") + b"\n")

    return put


@contextlib.contextmanager
def _parquet(path: Path, explain: bool) -> Iterator[Sink]:
    with atomic_file(path, folders=False) as file, parquet_writer(file, explain) as put:
        yield put
