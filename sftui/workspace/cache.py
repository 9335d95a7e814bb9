"""Recently inspected rows, bounded in bytes, so that going back to a row is instant."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from datetime import date

from sftui.model import Inspection

BYTES_PER_TOKEN = 320
"""A token costs its share of nine tuples, a string and a bytes object; measured on CPython 3.11."""


def weight(inspection: Inspection) -> int:
    """About how many bytes an inspection holds."""
    tokens = len(inspection.tokens) if inspection.tokens is not None else 0
    text = len(inspection.rendered.text) if inspection.rendered is not None else 0
    return 2_000 + 2 * len(inspection.row.raw) + 2 * text + BYTES_PER_TOKEN * tokens


class InspectionCache:
    """Least recently used inspections by (row, version), at most `limit` bytes in all.

    They are of one day: templates may write it.
    """

    def __init__(self, limit: int = 16 << 20, today: Callable[[], date] = date.today) -> None:
        self._limit = limit
        self._today = today
        self._day = today()
        self._held: OrderedDict[tuple[int, int], tuple[Inspection, int]] = OrderedDict()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._held)

    def get(self, row: int, version: int) -> Inspection | None:
        self._keep_day()
        found = self._held.get((row, version))
        if found is None:
            return None
        self._held.move_to_end((row, version))
        return found[0]

    def put(self, inspection: Inspection, version: int) -> None:
        """Keep it, and let the oldest go; one that is larger than the whole cache is not kept."""
        self._keep_day()
        key, size = (inspection.row.index, version), weight(inspection)
        old = self._held.pop(key, None)
        if old is not None:
            self.bytes -= old[1]
        if size > self._limit:
            return
        self._held[key] = (inspection, size)
        self.bytes += size
        while self.bytes > self._limit:
            _, (_, freed) = self._held.popitem(last=False)
            self.bytes -= freed

    def _keep_day(self) -> None:
        if (day := self._today()) != self._day:
            self.clear()
            self._day = day

    def clear(self) -> None:
        self._held.clear()
        self.bytes = 0
