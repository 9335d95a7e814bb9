"""Rows, many at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sftui.model import Row


def chunks(rows: Iterable[Row], most: int, size: int) -> Iterator[list[Row]]:
    """The rows in order, `most` at a time or fewer where they are long: a chunk ends with the row that makes it `size`
    bytes or more."""
    some: list[Row] = []
    held = 0
    for row in rows:
        some.append(row)
        held += row.size
        if len(some) >= most or held >= size:
            yield some
            some, held = [], 0
    if some:
        yield some
