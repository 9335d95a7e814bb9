"""Encoding open data on a Ray cluster: the same records in the same order as here."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import IO, Any

from sftui.engines.checking import piece_size
from sftui.engines.cluster import connected
from sftui.engines.pool import Pool
from sftui.engines.shards import EncodePieces, InspectRows
from sftui.exports.parquet import joined
from sftui.model import Inspection, Row
from sftui.session.encoding import EncodeProgress, columns_of, refuse_none
from sftui.session.ready import Ready
from sftui.session.sent import sent
from sftui.sources.source import in_pieces
from sftui.tokens.shortcuts.bulk import Bulk

Notify = Callable[[str], None]


Engines = tuple[tuple[str, ...], str | None]
"""By which engines the workers encoded rows, and what there is to know of that."""


def write_rows(
    session: Ready,
    file: IO[bytes],
    form: str,
    written: EncodeProgress,
    *,
    explain: bool = False,
    address: str | None = None,
    jobs: int | None = None,
    notify: Notify = lambda sentence: None,
    passed: Callable[[], None] = lambda: None,
) -> Engines:
    """Write the records of all rows into a file as `form` (`jsonl` or `parquet`), made by workers and joined in order;
    `passed` is called now and then. ExportError where none of the rows could be prepared; SftuiError as `Pool`."""
    task = EncodePieces(sent(session), form, explain)
    names: dict[str, None] = {}
    with (
        connected(address, jobs) as cluster,
        Pool(cluster, task, notify) as pool,
        joined(form, file, columns_of(session, explain, unpacked=True)) as add,
    ):
        for made in pool.done(session.source.pieces(piece_size(session, cluster.workers))):
            if made is not None:
                other, name, data = pickle.loads(made[2])
                names[name] = None
                written.merge(other)
                add(data)
            passed()
    refuse_none(written)
    return tuple(names), pool.note


@contextlib.contextmanager
def elsewhere(
    session: Ready,
    *,
    whole: bool = False,
    address: str | None = None,
    jobs: int | None = None,
    notify: Notify = lambda sentence: None,
) -> Iterator[PoolReady]:
    """The same session, whose rows are inspected by workers where many are requested: of each comes back what packing
    takes, or (`whole`) all of it. SftuiError as `Pool`."""
    same: dict[str, Any] = {one.name: getattr(session, one.name) for one in fields(Ready)}
    with connected(address, jobs) as cluster, Pool(cluster, InspectRows(sent(session), whole), notify) as pool:
        yield PoolReady(**same, pool=pool, size=piece_size(session, cluster.workers))


@dataclass(frozen=True, eq=False)
class PoolReady(Ready):
    """A session whose rows are inspected by the workers of a pool."""

    pool: Pool = field(kw_only=True)
    size: int = field(kw_only=True)

    def inspect_many(
        self, rows: Iterable[Row], spans: bool = True, text: bool = False, *, engine: Bulk | None = None
    ) -> Iterator[Inspection]:
        for made in self.pool.done(in_pieces(rows, self.size)):
            if made is not None:
                yield from pickle.loads(made[2])
