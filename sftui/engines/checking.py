"""The audit of open data on a Ray cluster, equal to the local one, row for row and finding for finding; its encoding
there, equal to the local one byte for byte."""

from __future__ import annotations

import contextlib
import pickle
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields
from itertools import islice
from typing import IO, Any

from sftui.audit.found import Filter
from sftui.audit.processes import AuditProgress, check_head, progress
from sftui.audit.repeats import RepeatedRows, add_repeated
from sftui.audit.repeats import repeated as repeated_rows
from sftui.engines.cluster import connected
from sftui.engines.pool import Pool
from sftui.engines.shards import CheckPieces, EncodePieces, InspectRows, PieceResult, Rows, head_of, rows_of
from sftui.exports.parquet import joined
from sftui.findings.hashes import Hashes
from sftui.model import Inspection, Row
from sftui.session.checking import AuditSession
from sftui.session.comparing import chosen_rows
from sftui.session.encoding import EncodeProgress, columns_of, refuse_none
from sftui.session.inputs import data_files, size_of
from sftui.session.ready import Ready
from sftui.session.sent import sent
from sftui.sources.source import SourcePiece, in_pieces
from sftui.tokens.shortcuts.bulk import Bulk

LARGEST, SMALLEST = 16 << 20, 1 << 17
"""Bytes of a piece."""
UNKNOWN = 4 << 20
"""Bytes of a piece of data whose size is not known."""
INDEXING = 0.1
"""Seconds for which rows are counted ahead while nothing else is there to do."""
EACH = 16
"""Pieces for each worker, where the data is large enough."""
SHARE = 4_000_000
"""Rows of which one worker finds those that are repeated, at a time; some 300 MB of memory."""


class JoinedChecking(AuditSession):
    """One audit whose parts are made elsewhere. It is not resumed: what is lost costs the piece that it was at."""

    @property
    def resumable(self) -> bool:
        return False

    @property
    def apart(self) -> bool:
        """Whether repeated rows are found apart from the audits of the pieces: a baseline knows them one by one, which
        only whoever has them all can tell."""
        return not (self.wanted.remember or self.wanted.known)

    def task(self) -> CheckPieces:
        """What whoever makes the parts needs; the set-up must be checked here."""
        session = self.session
        check_head(self.audit, session.rows(), session.inspect_many, self.context)
        return CheckPieces(sent(session), self.wanted, self.prompts, self.apart)

    def joined(
        self,
        parts: Iterable[tuple[Rows, bool, bytes] | None],
        repeated: Callable[[int], Iterable[RepeatedRows | None]],
        note: Callable[[], str | None] = lambda: None,
    ) -> Iterator[AuditProgress]:
        """Take in the parts in order, each with its piece and whether some of that is damaged, and then what is
        `repeated` in each of so many shares of the rows. None of both: nothing new yet."""
        audit, begun = self.audit, time.monotonic()
        for made in parts:
            if made is not None:
                piece, damaged, part = made
                audit.merge(pickle.loads(part))
                if damaged and isinstance(piece, SourcePiece):  # its damage is reported as by the local engine
                    deque(islice(self.session.rows(piece.first), piece.rows), maxlen=0)
            elif self.whole:
                self.session.source.index_more(INDEXING)  # how long it takes is then known
            yield progress(audit.rows, 0, time.monotonic() - begun, self.known())
        if self.apart:
            for found in repeated(-(-audit.rows // SHARE)):
                if found is not None:
                    add_repeated(audit.checks, found)
                yield AuditProgress(audit.rows, audit.rows, 0.0, None)
        audit.finish()
        yield AuditProgress(audit.rows, audit.rows, 0.0, 0.0, True, note())


class RayChecking(JoinedChecking):
    """One audit on Ray (see `cluster.connected` for `address`); `jobs` are the workers, None for all that there are,
    `rows` are `max_rows` and `sample`."""

    def __init__(
        self,
        session: Ready,
        wanted: Filter,
        prompts: Hashes | None = None,
        *,
        address: str | None = None,
        jobs: int | None = None,
        notify: Callable[[str], None] = lambda sentence: None,
        **rows: Any,
    ) -> None:
        super().__init__(session, wanted, prompts, **rows)
        self._address, self._workers, self._notify = address, jobs, notify

    def audited(self) -> Iterator[AuditProgress]:
        task = self.task()
        with connected(self._address, self._workers) as cluster, Pool(cluster, task, self._notify) as pool:
            made = pool.done(self._pieces(cluster.workers))
            parts = (None if one is None else (one[0], one[1].damaged, one[2]) for one in made)
            yield from self.joined(parts, pool.repeated, lambda: pool.note)

    def _pieces(self, workers: int) -> Iterator[Rows]:
        source, size = self.session.source, piece_size(self.session, workers)
        if self.sample is not None:
            return in_pieces(chosen_rows(source, self.max_rows, self.sample), size)
        pieces = source.pieces(size)
        return pieces if self.max_rows is None else first_rows(pieces, self.max_rows)


def repeated_in(
    parts: Callable[[], Iterable[PieceResult]], shares: int, prompts: Hashes | None
) -> Iterator[RepeatedRows]:
    """What the parts, read anew each time, tell of repeated rows, share by share."""
    for number in range(shares):
        yield repeated_rows([pickle.loads(part.repeats).share(number, shares) for part in parts()], prompts)


def piece_size(session: Ready, workers: int) -> int:
    """Bytes of a piece: enough pieces that no worker waits long for the last one, few enough that they are worth it."""
    whole = size_of(data_files(session.options.paths, session.options.split))
    return min(LARGEST, max(SMALLEST, whole // (workers * EACH))) if whole else UNKNOWN


def first_rows(pieces: Iterable[Rows], rows: int) -> Iterator[Rows]:
    """The pieces of the first rows alone."""
    left = rows
    for piece in pieces:
        yield head_of(piece, left)
        left -= rows_of(piece)
        if left <= 0:
            return


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
