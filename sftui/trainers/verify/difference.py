"""Where what sftui says of rows differs from what the real trainer made of them.

Both sides are plain data. A row is a list of pieces, because some trainers split rows: none means dropped. Records are
those of `exchange`: `kind` row or pack, `row`, `input_ids`, `labels`, and `loss_weights` where the trainer has some.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from sftui.model import common_prefix

Piece = tuple[list[int], list[int], list[float]]
"""(input_ids, labels, loss_weights) of one example, un-shifted; no weights where the trainer has none."""


class DifferenceKind(str, Enum):
    """How a row (or pack) differs."""

    IDS = "ids"
    LABELS = "labels"
    WEIGHTS = "loss weights"
    DROPPED_BY_TRAINER = "dropped by the trainer, kept by sftui"
    DROPPED_BY_SFTUI = "kept by the trainer, dropped by sftui"
    PIECES = "number of pieces"
    STOPPED = "sftui stops"


@dataclass(frozen=True, slots=True)
class RowDifference:
    """One row (or pack, `unit`) that differs, and where first: `position` counts tokens of `piece`.

    `theirs` and `ours` are a few ids, labels or weights from there on, or the numbers of pieces.
    """

    row: int
    what: DifferenceKind
    piece: int = 0
    position: int | None = None
    theirs: tuple[float, ...] = ()
    ours: tuple[float, ...] = ()
    detail: str = ""
    unit: str = "row"

    def sentence(self) -> str:
        """The difference in one line."""
        where = f"{self.unit} {self.row}"
        if self.what in (DifferenceKind.IDS, DifferenceKind.LABELS, DifferenceKind.WEIGHTS):
            piece = f" of piece {self.piece}" if self.piece else ""
            return (
                f"{where}: {self.what.value} differ from token {self.position}{piece} on: "
                f"the trainer has {list(self.theirs)}, sftui {list(self.ours)}"
            )
        if self.what is DifferenceKind.PIECES:
            return f"{where}: the trainer produces {self.theirs[0]} pieces, sftui {self.ours[0]}"
        if self.unit == "pack":
            alone = "the trainer" if self.what is DifferenceKind.DROPPED_BY_SFTUI else "sftui"
            return f"{where}: only {alone} produces it"
        return f"{where}: {self.what.value}{f': {self.detail}' if self.detail else ''}"


def row_differences(
    count: int, records: Sequence[Mapping[str, Any]], ours: Mapping[int, Sequence[Piece]], problems: Mapping[int, str]
) -> list[RowDifference]:
    """The rows 0…count-1 that differ, in order; `problems` are rows at which sftui stops, and why."""
    theirs: dict[int, list[Piece]] = {}
    for record in records:
        if record["kind"] == "row" and record["row"] is not None:
            theirs.setdefault(record["row"], []).append(piece_of(record))
    found = []
    for row in range(count):
        if row in problems:
            found.append(RowDifference(row, DifferenceKind.STOPPED, detail=problems[row]))
            continue
        difference = first_difference(row, theirs.get(row, []), list(ours.get(row, ())))
        if difference is not None:
            found.append(difference)
    return found


def pack_differences(records: Sequence[Mapping[str, Any]], ours: Sequence[Piece]) -> list[RowDifference]:
    """The packs that differ, in order; a missing or extra pack counts as dropped."""
    theirs = [piece_of(record) for record in records if record["kind"] == "pack"]
    found = []
    for number in range(max(len(theirs), len(ours))):
        difference = first_difference(number, theirs[number : number + 1], list(ours[number : number + 1]), "pack")
        if difference is not None:
            found.append(difference)
    return found


def piece_of(record: Mapping[str, Any]) -> Piece:
    """A record of a row or a pack as one piece."""
    return record["input_ids"], record["labels"], record.get("loss_weights") or []


def first_difference(row: int, theirs: list[Piece], ours: list[Piece], unit: str = "row") -> RowDifference | None:
    """Where one row differs first. Pieces of one row have no order: trainers shuffle after they split."""
    if not theirs and not ours:
        return None
    if not theirs or not ours:
        what = DifferenceKind.DROPPED_BY_SFTUI if theirs else DifferenceKind.DROPPED_BY_TRAINER
        return RowDifference(row, what, unit=unit)
    if len(theirs) != len(ours):
        return RowDifference(row, DifferenceKind.PIECES, theirs=(len(theirs),), ours=(len(ours),), unit=unit)
    for piece, (one, other) in enumerate(zip(sorted(theirs), sorted(ours))):
        for what, a, b in (
            (DifferenceKind.IDS, one[0], other[0]),
            (DifferenceKind.LABELS, one[1], other[1]),
            (DifferenceKind.WEIGHTS, one[2], other[2]),
        ):
            at = parting(a, b, weights=what is DifferenceKind.WEIGHTS)
            if at is not None:
                return RowDifference(row, what, piece, at, tuple(a[at : at + 6]), tuple(b[at : at + 6]), unit=unit)
    return None


def parting(one: Sequence[float], other: Sequence[float], *, weights: bool) -> int | None:
    """Where two lists differ first; None where they are the same: weights as in a trainer's loss, which has four bytes
    for each, and NaN is NaN."""
    sides: list[Sequence[object]] = [one, other]
    if weights:
        sides = [["NaN" if x != x else x for x in array("f", values)] for values in (one, other)]
    at = common_prefix(*sides)
    return None if at == len(one) == len(other) else at
