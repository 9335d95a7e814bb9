"""`sftui encode`: what the trainer would train on, one record a row or a pack, as JSON lines or parquet."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import IO, Any

from sftui.cli.engines import on_ray
from sftui.cli.loading import DataNotes, loaded_session, print_matches
from sftui.cli.opening import open_options
from sftui.cli.terminal import narrate
from sftui.cli.writing import STDOUT, Progress, outputs, print_over_progress
from sftui.errors import ExportError
from sftui.exports.parquet import write_parquet
from sftui.exports.records import Columns, as_line
from sftui.session.encoding import EncodeProgress, columns_of, encoded, packs, refuse_half
from sftui.session.inputs import inputs_of
from sftui.session.opened import settle_split
from sftui.session.ready import Ready
from sftui.text import many
from sftui.trainers import trainer_of


def encode(
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
    form, write = _form(out)
    cluster = on_ray(engine, address, jobs, given)
    where: dict[str, Any] = {"address": address, "jobs": jobs, "notify": print_over_progress}
    options = open_options(given)
    target, _ = outputs(inputs_of(options), force, out)
    with contextlib.closing(loaded_session(options)) as session:
        notes = DataNotes(session)
        written = EncodeProgress()
        by: tuple[Any, ...] = ()
        packed = packs(session, unpacked)
        refuse_half(session)
        notes.print()
        if packed:
            narrate(_how_packed(session))
        split = settle_split(session)
        if split.note:
            narrate(split.note + "; packs are made from all rows" * packed)
        progress = Progress(session.count_now())

        def passed() -> None:
            progress.at(written.rows)

        with target.open(folders=False) as file:
            if cluster and not packed:
                from sftui.engines.checking import write_rows

                by = write_rows(session, file, form, written, explain=explain, passed=passed, **where)
            else:
                working: contextlib.AbstractContextManager[Ready] = contextlib.nullcontext(session)
                if cluster:
                    from sftui.engines.checking import elsewhere

                    working = elsewhere(session, whole=explain and not split.packs, **where)
                records = partial(encoded, explain=explain, unpacked=unpacked, passed=passed)
                with working as ready:
                    write(file, records(ready, written), columns_of(session, explain, unpacked))
        progress.end()
        notes.print()
        stop = written.stop_of(session.recipe, session.stops())
    print_matches(session)
    narrate(*_summary(written, packed, out, session, by))
    if stop is not None:
        narrate(stop)
    return 2 if stop is not None else 0


def _how_packed(session: Ready) -> str:
    """What the composition of the packs assumes, in one line."""
    recipe = session.recipe
    trainer = trainer_of(recipe)
    return (
        f"packs as {trainer.title or trainer.name} makes them ({recipe.pack.strategy}),"
        f" {trainer.packing_order(recipe)}; --unpacked writes rows"
    )


def _summary(count: EncodeProgress, packed: bool, out: str, session: Ready, by: tuple[Any, ...]) -> Iterator[str]:
    """How much was written, and which engine gave the ids, where it is not the usual one; then why it is again, or why
    rows are rendered again. `by`: what workers said of it; empty where this session gave them."""
    rows, bulk = many(count.rows, "row"), session.bulk
    names, note = by or ((bulk.engine,), session.engine_note)
    parts = [f"{many(count.packs, 'pack')} of {rows}" if packed else rows]
    if count.dropped:
        parts.append(f"{count.dropped:,} dropped by the trainer")
    if count.aside:
        parts.append(f"{count.aside:,} of them held out for evaluation (marked `split`: evaluation)")
    if count.failed:
        parts.append(f"{count.failed:,} could not be prepared (see `error` in each)")
    if packed and count.tokens:
        parts.append(f"{count.tokens:,} tokens left out of every pack, as the trainer does")
    where = "" if out == STDOUT else f" written to {out}"
    yield ", ".join(parts) + where + f", ids by {bulk.FAST}" * (bulk.FAST in names)
    if note is not None:
        yield note


def _form(out: str) -> tuple[str, Callable[[IO[bytes], Iterable[dict[str, Any]], Columns], None]]:
    """The name of the format that an output's name says, and what writes it."""
    name = out.lower()
    if out == STDOUT or name.endswith((".jsonl", ".ndjson")):
        return "jsonl", _lines
    if name.endswith(".parquet"):
        return "parquet", write_parquet
    raise ExportError(
        f"{out} does not name a format that sftui can write", fix="name it OUT.jsonl or OUT.parquet, or - for stdout"
    )


def _lines(file: IO[bytes], records: Iterable[dict[str, Any]], columns: Columns) -> None:
    file.writelines(map(as_line, records))
