"""`split: train[:500]`: a part of a split as `datasets.load_dataset` takes it, over any source.

Source: datasets 4.0.0, 4.8.4 and 5.2.0, arrow_reader.py (ReadInstruction.from_spec and _rel_to_abs_instr), which the
trainers hand their `split` to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice

from sftui.errors import SourceError
from sftui.model import Row
from sftui.sources.source import EVERY, STEP_SECONDS, Damage, DataChange, DataFile, RowCount, Source
from sftui.values import value_class

_PART = re.compile(
    r"(?P<name>\w+(?:\.\w+)*)"
    r"(?P<slice>\[(?:(?P<start>-?[\d_]+)(?P<start_pct>%)?)?:(?:(?P<stop>-?[\d_]+)(?P<stop_pct>%)?)?\])?"
    r"(?:\((?P<rounding>[^)]*)\))?"
)
CLOSEST, PCT1 = "closest", "pct1_dropremainder"


@value_class
class SplitSlice:
    """Some rows of the split `name`: from `start` to `stop`, as numbers of rows or per cent; None is that end."""

    name: str
    start: int | None = None
    stop: int | None = None
    percent: bool = False
    rounding: str | None = None

    @property
    def open_ended(self) -> bool:
        """Whether it is known which rows without counting them."""
        return not self.percent and (self.start or 0) >= 0 and (self.stop is None or self.stop >= 0)


def parts_of(split: str | None) -> tuple[SplitSlice, ...]:
    """What `split` asks for where that is not one whole split; empty where it is. SourceError for what `datasets`
    refuses."""
    if split is None or not any(sign in split for sign in "[]+()"):
        return ()
    parts = tuple(_part(text, split) for text in split.split("+"))
    first = next((part for part in parts if part.percent), None)
    if parts[0].percent and any(part.percent and part.rounding != first.rounding for part in parts if first):
        raise _refused(split, "parts with different rounding cannot be added")
    return parts


def _part(text: str, split: str) -> SplitSlice:
    found = _PART.fullmatch(text)
    if found is None:
        raise _refused(split, "it is not a split that datasets can read")
    percent = bool(found["start_pct"] or found["stop_pct"])
    try:
        start, stop = (int(found[end]) if found[end] else None for end in ("start", "stop"))
    except ValueError as error:  # 1__000
        raise _refused(split, str(error)) from error
    rounding = found["rounding"]
    if rounding is not None and rounding not in (CLOSEST, PCT1):
        raise _refused(split, f"rounding is {CLOSEST} or {PCT1}")
    if rounding is not None and not percent:
        raise _refused(split, "rounding applies only to percentages")
    if percent and any(end is not None and abs(end) > 100 for end in (start, stop)):
        raise _refused(split, "percentages go from -100 to 100")
    return SplitSlice(found["name"], start, stop, percent, rounding or (CLOSEST if percent else None))


def _refused(split: str, why: str) -> SourceError:
    return SourceError(f"the split {split} cannot be read", why=why, fix="write it as train[:500] or train[:90%]")


def bounds(part: SplitSlice, rows: int) -> tuple[int, int]:
    """The rows of a part, of so many in its split: first, and one after the last. SourceError as by datasets."""
    ends = [0 if part.start is None else part.start, rows if part.stop is None else part.stop]
    if part.percent and part.rounding == PCT1 and rows < 100:
        raise SourceError(
            f"{PCT1} of the split {part.name} would leave nothing", why=f"it has {rows} rows, fewer than 100"
        )
    for place, given in enumerate((part.start, part.stop)):
        if part.percent and given is not None:
            ends[place] = given * (rows // 100) if part.rounding == PCT1 else round(given * rows / 100.0)
        if ends[place] < 0:
            ends[place] = max(rows + ends[place], 0)
    start, stop = (min(end, rows) for end in ends)
    return start, max(start, stop)


class SlicedSource(Source):
    """The rows of some parts of sources, numbered from 0 as they follow one another.

    Where it hangs on how many rows there are, they are counted first. `ranges` are the parts in row numbers; the last
    one may have no end.
    """

    def __init__(self, parts: Sequence[tuple[Source, SplitSlice]], split: str) -> None:
        self._sources = tuple(dict.fromkeys(source for source, _ in parts))
        self.title = f"{self._sources[0].title} {split}"
        self.loading, self.loose = self._sources[0].loading, self._sources[0].loose
        found: list[tuple[Source, int, int | None]] = []
        for source, part in parts:
            if len(parts) == 1 and part.open_ended:
                start = part.start or 0
                found.append((source, start, part.stop if part.stop is None else max(start, part.stop)))
                continue
            while not source.index_more(STEP_SECONDS):
                pass
            found.append((source, *bounds(part, source.count().rows)))
        self._parts = tuple(found)
        self._alone = len(self._sources) == 1

    def files(self) -> Iterator[DataFile]:
        return chain.from_iterable(source.files() for source in self._sources)

    @property
    def ranges(self) -> tuple[tuple[int, int | None], ...] | None:
        """The rows taken, as numbers in the one source below; None where there are several."""
        return tuple((start, stop) for _, start, stop in self._parts) if self._alone else None

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(note for source in self._sources for note in source.notes))

    @property
    def damage(self) -> tuple[Damage, ...]:
        return tuple(damage for source in self._sources for damage in source.damage)

    @property
    def cached(self) -> tuple[str, ...]:
        return tuple(file for source in self._sources for file in source.cached)

    def count(self) -> RowCount:
        rows, exact, fraction = 0, True, 1.0
        for source, start, stop in self._parts:
            known = source.count()
            last = known.rows if stop is None else min(stop, known.rows)
            rows += max(0, last - start)
            if not known.exact and (stop is None or known.rows < stop):
                exact, fraction = False, min(fraction, known.fraction)
        return RowCount(rows, exact, fraction)

    def row(self, index: int) -> Row:
        source, inner = self._place(index)
        return replace(source.row(inner), index=index)

    def near(self, index: int) -> bool:
        with suppress(IndexError):
            source, inner = self._place(index)
            return source.near(inner)
        return False

    def _place(self, index: int) -> tuple[Source, int]:
        left = index
        for source, start, stop in self._parts if index >= 0 else ():
            if stop is None or left < stop - start:
                return source, start + left
            left -= stop - start
        raise IndexError(index)

    def rows(self, start: int = 0) -> Iterator[Row]:
        index = 0
        for source, first, stop in self._parts:
            skipped = max(0, min(start - index, (stop - first) if stop is not None else start))
            index += skipped
            for row in source.rows(first + skipped):
                if stop is not None and row.index >= stop:
                    break
                yield replace(row, index=index)
                index += 1

    def unlike(self, start: int, every: int = EVERY) -> Iterator[Row | None]:
        """Of whole splits, from which `datasets` takes columns and types before it slices; under no number."""
        for source in self._sources:
            yield from (row and replace(row, index=-1) for row in source.unlike(0, every))

    def lines(self) -> Iterator[bytes | None]:
        for source, start, stop in self._parts:
            yield from islice(source.lines(), start, stop)

    def index_more(self, seconds: float) -> bool:
        return all(source.index_more(seconds) or self.count().exact for source in self._sources)

    def look_through(self) -> Iterator[None]:
        for source in self._sources:
            yield from source.look_through()

    def change(self) -> DataChange | None:
        return next((found for source in self._sources if (found := source.change()) is not None), None)

    def refresh(self) -> bool:
        return self._parts[-1][2] is None and self._sources[-1].refresh()

    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for source in self._sources for name in source.columns()))

    def close(self) -> None:
        for source in self._sources:
            source.close()
