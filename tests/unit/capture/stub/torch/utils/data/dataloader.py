from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class _BaseDataLoaderIter:
    def __init__(self, loader: DataLoader) -> None:
        self._collate_fn = loader.collate_fn
        self._rows = iter(loader.batches)

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def __next__(self) -> Any:
        return self._collate_fn(next(self._rows))


class DataLoader:
    def __init__(
        self, rows: Sequence[Any], batch_size: int = 1, collate_fn: Callable[[Any], Any] = lambda rows: rows
    ) -> None:
        self.batches = [rows[i : i + batch_size] for i in range(0, len(rows), batch_size)]
        self.collate_fn = collate_fn

    def __iter__(self) -> _BaseDataLoaderIter:
        return _BaseDataLoaderIter(self)
