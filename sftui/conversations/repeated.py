"""Work on data that stand in many rows alike, as lists of tools do: remembered by what they hold."""

from __future__ import annotations

import marshal
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Generic, TypeVar

T = TypeVar("T")
KEPT, LONGEST = 64, 16_000
"""Data of which the outcome is kept, and bytes of one as `marshal` writes it."""


class FunctionMemo(Generic[T]):
    """A function of plain data whose last outcomes are kept; equal data share one, so nobody must change it."""

    def __init__(self, work: Callable[[Any], T]) -> None:
        self._of_written = lru_cache(maxsize=KEPT)(lambda written: work(marshal.loads(written)))

    def of(self, data: Any) -> T | None:
        """What comes of the data; None where they are too long to be kept, or hold what is not plain."""
        try:
            written = marshal.dumps(data, 2)  # a form in which equal bytes are the same data
        except ValueError:
            return None
        return self._of_written(written) if len(written) <= LONGEST else None

    def forget(self) -> None:
        """Keep nothing of what was seen."""
        self._of_written.cache_clear()
