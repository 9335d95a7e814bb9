"""Open data as the records that a trainer is fed: rows, or packs where the recipe packs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any

from sftui.errors import ExportError, SourceError
from sftui.exports.records import (
    Columns,
    ExplainedExamples,
    explained,
    pack_explained,
    pack_record,
    padded,
    record,
    records,
)
from sftui.model import Inspection
from sftui.recipe import Recipe
from sftui.session.opened import OpenData, settle_split
from sftui.session.ready import Ready, stood_in
from sftui.trainers import trainer_of
from sftui.trainers.base import Totals

KEPT_ROWS = 4
"""Rows of which what explains them is kept: the parts of a row that was split stand in packs one after the other."""


@dataclass(slots=True)
class EncodeProgress:
    """What was written, of how many rows; `tokens` are those of the rows that no pack holds yet, `first` why the first
    one failed, `ours` how many of the failed ones sftui itself left and `unknown` why the first of these."""

    rows: int = 0
    dropped: int = 0
    failed: int = 0
    ours: int = 0
    packs: int = 0
    tokens: int = 0
    aside: int = 0
    totals: Totals = field(default_factory=Totals)
    first: str = ""
    unknown: str = ""

    def row(self, inspection: Inspection) -> None:
        self.rows += 1
        if inspection.evaluates:
            self.aside += 1
        else:
            self.totals.add(inspection)
        if inspection.problem is None:
            self.dropped += inspection.dropped is not None
            return
        self.failed += 1
        self.ours += inspection.problem.ours
        failure = f"row {inspection.row.index}: {inspection.problem.what}"
        if inspection.problem.ours:
            self.unknown = self.unknown or failure
        else:
            self.first = self.first or failure

    def merge(self, later: EncodeProgress) -> None:
        """Count what was written of later rows, too."""
        for one in fields(self):
            mine, theirs = getattr(self, one.name), getattr(later, one.name)
            setattr(self, one.name, mine or theirs if isinstance(mine, str) else mine + theirs)

    def stop_of(self, recipe: Recipe, stops: Sequence[str] = ()) -> str | None:
        """Why the run as a whole trains nothing; None where it trains something. `stops`: see `Toolbox`."""
        trainer = trainer_of(recipe)
        if stops:
            return f"{'; '.join(stops)}; nothing can be trained until that is fixed"
        if self.first:
            return f"{trainer.title} stops the whole run at {self.first}; nothing can be trained until that is fixed"
        if self.unknown:
            return f"sftui does not know what {trainer.title} makes of {self.unknown}, and stopped there"
        return trainer.stop_of(recipe, self.totals)


def packs(session: Ready, unpacked: bool = False) -> bool:
    """Whether what is written are packs."""
    return session.recipe.pack.strategy != "none" and not unpacked


def columns_of(session: Ready, explain: bool = False, unpacked: bool = False) -> Columns:
    """The columns that a file of the session's records has."""
    return Columns(explain, packs(session, unpacked), session.recipe.loss.weights == "float", session.recipe.paired)


def refuse_half(session: OpenData) -> None:
    """SourceError where what would be written is not all of the data: half a dataset looks like a smaller one."""
    session.source.read_through()
    for damage in session.source.damage:
        raise SourceError(
            "nothing was written: the data cannot be read to the end",
            where=damage.title,
            why=damage.why,
            fix=damage.fix,
        )


def encoded(
    session: Ready,
    written: EncodeProgress,
    *,
    explain: bool = False,
    unpacked: bool = False,
    as_arrays: bool = True,
    passed: Callable[[], None] = lambda: None,
) -> Iterator[dict[str, Any]]:
    """The records of all rows or packs (see `exports.records`), counted in `written`; `passed` is called behind each
    row. ExportError at the end where none of the rows could be prepared."""

    def counted(rows: Iterator[Inspection]) -> Iterator[Inspection]:
        for inspection in rows:
            yield inspection
            written.row(inspection)
            passed()

    session.bulk.expected = session.count_expected
    if packs(session, unpacked):
        split = settle_split(session)
        rows = counted(session.rows_that(evaluate=False, spans=explain))
        yield from _packed(session, rows, written, explain, evaluate=False)
        rows = counted(session.rows_that(evaluate=True, spans=explain))
        if split.packs:
            yield from _packed(session, rows, written, explain, evaluate=True)
        else:
            yield from _unpacked(session, rows, explain, as_arrays)
    else:
        yield from _unpacked(session, counted(session.all_rows(spans=explain)), explain, as_arrays)
    refuse_none(written)


def refuse_none(written: EncodeProgress) -> None:
    """ExportError where none of the rows could be prepared."""
    if written.ours and written.ours == written.rows:
        raise ExportError("none of the rows could be prepared", why=f"sftui stopped at {written.unknown}")


def encoded_rows(rows: Iterable[Inspection], written: EncodeProgress, explain: bool) -> Iterator[dict[str, Any]]:
    """The records of some rows, counted."""
    for inspection in rows:
        yield from records(inspection, explain, as_arrays=True)
        written.row(inspection)


def _unpacked(session: Ready, rows: Iterator[Inspection], explain: bool, as_arrays: bool) -> Iterator[dict[str, Any]]:
    recipe, tools = session.recipe, session.tools
    trainer = trainer_of(recipe)
    for inspection in stood_in(rows, recipe):
        example = inspection.example
        stored = example and trainer.padded(example, recipe, tools)
        for made in records(inspection, explain, as_arrays):
            yield made if stored is None or stored is example else padded(made, stored, tools.tokenizer.piece)


def _packed(
    session: Ready, rows: Iterator[Inspection], written: EncodeProgress, explain: bool, evaluate: bool
) -> Iterator[dict[str, Any]]:
    """Packs as they are filled, and before each the rows read for it that are in none.

    What explains a pack is worked out again from its rows, of which a group may hold very many.
    """
    ignore, tokenizer = session.recipe.mask.ignore_index, session.tools.tokenizer
    apart = {"split": "evaluation"} if evaluate else {}
    outside: list[dict[str, Any]] = []

    def passing() -> Iterator[Inspection]:
        for inspection in rows:
            if inspection.example is None:
                outside.append({**record(inspection), **apart})
            else:
                written.tokens += inspection.received or 0
            yield inspection

    @lru_cache(maxsize=KEPT_ROWS)
    def row(number: int) -> ExplainedExamples:
        inspection = session.inspect(number)
        return tuple(zip(inspection.examples, explained(inspection)))

    for pack in session.feed_packs(stood_in(passing(), session.recipe)):
        yield from outside
        outside.clear()
        made = {**pack_record(pack, written.packs), **apart}
        if explain:
            made.update(pack_explained(pack, row, tokenizer.piece, ignore))
        written.packs += 1
        written.tokens -= sum(end - start for _, start, end in pack.documents)
        yield made
    yield from outside
