"""The rows that an expression (`sftui.where`) means, under the numbers that they have, and how often each value of a
column, or of any expression, comes in them.

A list of codes counts for each of them, any other list as a whole, e.g. the roles of a conversation.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from sftui.errors import RecipeError
from sftui.model import Inspection, Row
from sftui.session.marks import known_marks
from sftui.session.opened import OpenData, RowSplit
from sftui.text import clip, many, visible
from sftui.where import NO_MARKS, UNKNOWN, Filter, FilterCount, Need, RowValues

if TYPE_CHECKING:
    from sftui.findings import Finding


Data = TypeVar("Data", bound=OpenData)


class MatchingRows(FilterCount):
    """The rows that match, and how many of those up to the last one that was read; rows that are read again are counted
    once. `marks` are the kinds of those that are marked, by default those that are known of the data."""

    def __init__(self, opened: OpenData, wanted: Filter, marks: Mapping[int, str] | None = None) -> None:
        from sftui.repairs.run import layout_of

        base = replace(opened, known=RowSplit())  # which rows evaluate is found out among those that match

        def inspect(row: Row) -> Inspection:
            return base.ready().inspect_row(row, spans=wanted.need is Need.CHECKED, text=False)

        def check(made: Inspection) -> tuple[Finding, ...]:
            return base.ready().found(made)

        self._stale = False
        if wanted.marks and marks is None:
            known, self._stale = known_marks(opened.options)
            marks = known.kinds()
        super().__init__(wanted, RowValues(layout_of(opened.detected), inspect, check, marks or NO_MARKS))
        self._upto = 0

    def add(self, row: Row) -> bool:
        if row.index < self._upto:
            return self.decides(row)
        self._upto = row.index + 1
        return super().add(row)

    def sentences(self) -> Iterator[str]:
        yield from super().sentences()
        if self._stale:
            yield "the data changed after its rows were marked: check that the marks still apply"


def filter_of(opened: OpenData, text: str) -> Filter:
    """The expression, for this data; RecipeError where it is none, or names what no row has, SftuiError where it needs
    tokens and there are none."""
    wanted = Filter(text)
    keys = dict.fromkeys(str(key) for row in opened.stored.sample if row.data is not None for key in row.data)
    if keys and opened.stored.whole:
        wanted.refuse_unknown(keys)
    if wanted.need is not Need.RECORD:
        opened.ready()
    return wanted


def matching(opened: Data) -> Data:
    """The same data with only the rows that its options ask for; the very same where they ask for all."""
    where = opened.options.where
    return opened if where is None else replace(opened, only=MatchingRows(opened, filter_of(opened, where)))


def needs_tokens(where: str | None) -> bool:
    """Whether an expression asks what the trainer makes of a row; RecipeError where it is none."""
    return where is not None and Filter(where).need is not Need.RECORD


def refuse_where(given: Mapping[str, Any], why: str) -> None:
    """RecipeError where options choose or repair rows and `why` says that this cannot be."""
    for option, done in (("where", "filtered"), ("apply", "repaired"), ("edits", "edited")):
        if given.get(option):
            fix = f"write the rows to a file first, with `sftui repair --{'marks' if option == 'edits' else option}`"
            raise RecipeError(f"rows cannot be {done} here", why=why, fix=fix)


def stored_rows(opened: OpenData) -> Iterator[tuple[Row, bytes | None]]:
    """Each row that is wanted as it is stored, without repairs, with its own line where it has one."""
    lines, only = opened.source.lines(), opened.only
    for row in opened.source.rows():
        line = next(lines, None)
        if only is None or only.add(row):
            yield row, line


MOST_VALUES = 100_000
"""Different values that are counted apart."""
LONGEST_SHOWN, LONGEST_LITERAL = 60, 300
"""Cells of a value as it is shown, and characters of one that a filter may name."""
CODES = "codes"
UNNAMED = "\0"
"""Begins the key of a value that no filter can name."""


class Facet(NamedTuple):
    """A value as it is shown, the rows that have it, and the expression that is true for these; "" where none is."""

    shown: str
    rows: int
    where: str


class Facets(MatchingRows):
    """The values of an expression in the rows that were added."""

    def __init__(self, opened: OpenData, text: str, marks: Mapping[int, str] | None = None) -> None:
        wanted = filter_of(opened, text)
        super().__init__(opened, wanted, marks)
        self._value, self._name, self.need = wanted.value_on(self._values), wanted.text, wanted.need
        self._counts: dict[str, list[Any]] = {}
        self.others = 0
        """Rows whose value came after so many that it is not counted apart."""

    def add(self, row: Row) -> bool:
        value = self._known(row, self._value)
        if value is UNKNOWN:
            return False
        for key, shown in self._keys(value):
            known = self._counts.get(key)
            if known is not None:
                known[0] += 1
            elif len(self._counts) < MOST_VALUES:
                self._counts[key] = [1, shown]
            else:
                self.others += 1
        return True

    def _keys(self, value: Any) -> list[tuple[str, str]]:
        """The literal of each value, and how it is shown."""
        if self._name == CODES:
            return list(map(_key, value)) or [("None", "no finding")]
        return [_key(value)]

    @property
    def different(self) -> int:
        """How many values there are."""
        return len(self._counts)

    def most(self, number: int) -> tuple[Facet, ...]:
        """The most frequent values, the first ones of those that are equally so."""
        ranked = sorted(self._counts.items(), key=lambda item: -item[1][0])[:number]
        return tuple(Facet(shown, count, self._where(key)) for key, (count, shown) in ranked)

    def _where(self, literal: str) -> str:
        if self._name == CODES:
            return "not finding()" if literal == "None" else f"finding({literal})"
        name = self._name if self._name.isidentifier() else f"({self._name})"
        if literal.startswith(UNNAMED):
            return ""
        if literal in ("None", "True", "False"):
            return f"{name} is {literal}"
        also = {"1": "True", "0": "False"}.get(literal, "")  # which is equal to it
        text = f"{name} == {literal}" + (f" and {name} is not {also}" if also in self._counts else "")
        return text if _is_filter(text) else ""

    def sentences(self) -> Iterator[str]:
        name = clip(visible(self._name), LONGEST_SHOWN)
        least = "at least " if self.others else ""
        yield f"{least}{many(self.different, 'value')} of {name} in {many(self.rows, 'row')}"
        yield from (f"no value in {many(count, 'row')}: {visible(why)}" for why, count in self.unknown.most_common())
        if self.others:
            yield f"{many(self.others, 'row')} with values that first appear after {MOST_VALUES:,} others"


def _key(value: Any) -> tuple[str, str]:
    """The literal of a value, and how it is shown; what no filter can name has a key that is none."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1 << 53:
        value = int(value)
    if isinstance(value, str):
        plain: str = value
        literal = repr(value) if len(value) <= LONGEST_LITERAL else ""
        shown = clip(visible(value[: LONGEST_SHOWN * 2]), LONGEST_SHOWN)
    else:
        try:
            held = isinstance(value, (list, tuple, Mapping))
            plain = json.dumps(value, ensure_ascii=False, default=repr) if held else repr(value)
        except (RecursionError, ValueError):  # deeper than Python goes, or a number of too many digits
            plain = f"{type(value).__name__} that is too large to show" + " " * LONGEST_LITERAL
        literal = repr(value) if len(plain) <= LONGEST_LITERAL and _is_literal(value) else ""
        arrows = isinstance(value, list) and value and all(isinstance(one, str) for one in value)
        shown = clip(visible((" → ".join(value) if arrows else plain)[: LONGEST_SHOWN * 2]), LONGEST_SHOWN)
    return literal or UNNAMED + blake2b(plain.encode("utf-8", "surrogatepass")).hexdigest(), shown or '""'


def _is_literal(value: Any) -> bool:
    """Whether an expression may hold it."""
    if isinstance(value, list):
        return all(map(_is_literal, value))
    return value is None or isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value))


def _is_filter(text: str) -> bool:
    try:
        Filter(text)
    except RecipeError:
        return False
    return True
