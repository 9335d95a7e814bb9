"""Pieces of a source (`Source.pieces`) as rows, in another process or on another machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from sftui.errors import SourceError
from sftui.model import Row
from sftui.sources.byte_file import is_url
from sftui.sources.remote import file_at
from sftui.sources.source import Damage, Source, SourcePiece


class PieceReader:
    """Reads one piece after another; a Parquet file stays open for the next one of the same file.

    `damage` is what could not be read of the file of the last piece. SourceError where it is not there, or is another
    file than the one that was divided.
    """

    def __init__(self) -> None:
        self._path = ""
        self._open: Source | None = None

    @property
    def damage(self) -> tuple[Damage, ...]:
        return () if self._open is None else self._open.damage

    def rows(self, piece: SourcePiece | Sequence[Row]) -> Iterator[Row]:
        """The rows of a piece, with the numbers that they have in the data."""
        if not isinstance(piece, SourcePiece):
            yield from piece
            return
        source = self._source(piece)
        given = 0
        for row in islice(source.rows(piece.before), piece.rows):
            given += 1
            yield row if piece.first == piece.before else replace(row, index=piece.first + row.index - piece.before)
        if given < piece.rows:
            raise _changed(piece)

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
        self._path, self._open = "", None

    def _source(self, piece: SourcePiece) -> Source:
        if self._open is not None and self._path == piece.path and piece.kind == "parquet":
            return self._open
        self.close()
        self._path, self._open = piece.path, _opened(piece)
        return self._open


def _opened(piece: SourcePiece) -> Source:
    if not is_url(piece.path) and not os.path.exists(piece.path):
        raise SourceError(
            "does not exist",
            where=piece.path,
            why=f"the worker on {os.uname().nodename} cannot see it",
            fix="put the data where every machine can read it under the same path, or in an object store",
        )
    if piece.kind == "parquet":
        from sftui.sources.formats.parquet import ParquetSource

        return ParquetSource(file_at(piece.path, piece.title), row_limit=piece.row_limit)
    from sftui.sources.jsonl import JsonlSource

    file = file_at(piece.path, piece.title, piece.end)
    if file.size() < piece.end:
        file.close()
        raise _changed(piece)
    return JsonlSource(
        file,
        row_limit=piece.row_limit,
        begin=piece.begin,
        before=piece.before,
        blanks=piece.blanks,
        layout=piece.layout,
    )


def _changed(piece: SourcePiece) -> SourceError:
    return SourceError("changed while it was being read", where=piece.title, fix="run it again")
