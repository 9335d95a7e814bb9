"""One row under two or more recipes: which tokens and labels differ, and how often in a dataset, whose parts
can be counted apart and merged."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from operator import add, ne
from typing import Any

from sftui.comparison.alignment import AlignedSide, Range, align
from sftui.model import IGNORE_INDEX, NO_TEXT, Inspection, Kind, Labels, Part, Tokens, TokenText
from sftui.runs import flat


@dataclass(frozen=True, slots=True)
class RowSide:
    """What one recipe makes of a row.

    `ids` and `labels` are those that the trainer receives, un-shifted, one a token of `tokens`; a label is IGNORE_INDEX
    where the token carries no loss (a weight of 0 too) and None where it is cut and never reaches the trainer.
    `weights` are those of what is trained, 1 elsewhere; empty where all are 1, as for a trainer that has none.
    `text` is how the tokens are written. `gone` says why no token does: the row is dropped, or a stage stopped.
    `evaluates`: the trainer sets the row aside for evaluation; None where it is not known which rows. `roles` are
    those of the row's messages, a prompt and its completion by these words.
    """

    ids: tuple[int, ...]
    labels: tuple[int | None, ...]
    tokens: Tokens | None
    pieces: int = 0
    text: TokenText = NO_TEXT
    gone: str | None = None
    stopped: bool = False
    evaluates: bool | None = False
    weights: tuple[float, ...] = ()
    roles: tuple[str, ...] = ()

    def weight(self, token: int) -> float:
        """The weight of a token's label in the loss."""
        return self.weights[token] if self.weights else 1.0

    @property
    def trained(self) -> int:
        """How many tokens are trained."""
        return 0 if self.evaluates else self.with_loss

    @property
    def with_loss(self) -> int:
        """How many tokens carry loss, that of training or of evaluation."""
        return 0 if self.gone is not None else sum(label is not None and label != IGNORE_INDEX for label in self.labels)

    @property
    def received(self) -> int:
        """How many tokens reach the trainer."""
        return 0 if self.gone is not None else sum(label is not None for label in self.labels)


@dataclass(frozen=True, slots=True)
class Column:
    """What stands side by side: of every side a range of its tokens, and what differs there."""

    cells: tuple[Range, ...]
    ids_differ: bool = False
    labels_differ: bool = False
    weights_differ: bool = False

    @property
    def differs(self) -> bool:
        return self.ids_differ or self.labels_differ or self.weights_differ

    @property
    def tokens(self) -> int:
        """How many tokens it counts for: those of the side that has most."""
        return max(b - a for a, b in self.cells)


@dataclass(frozen=True, slots=True)
class RowComparison:
    """The sides of one row, aligned. `columns` are empty where equal rows were not to be aligned. Of a preference those
    before `rejected` are of its chosen side."""

    row: int
    sides: tuple[RowSide, ...]
    columns: tuple[Column, ...] = ()
    rejected: int | None = None

    @property
    def one_sided(self) -> bool:
        """Some side gets the row and another does not."""
        return len({side.gone is None for side in self.sides}) > 1

    @property
    def nowhere(self) -> bool:
        """No side gets the row: nothing of it is compared."""
        return all(side.gone is not None for side in self.sides)

    @property
    def fails(self) -> bool:
        """No side gets the row, and not because each drops it."""
        return self.nowhere and any(side.stopped for side in self.sides)

    @property
    def differs(self) -> bool:
        apart = self.one_sided or self.evaluation_differs or self.split_differs
        return apart or any(column.differs for column in self.columns)

    @property
    def evaluation_differs(self) -> bool:
        """Some side trains the row and another sets it aside for evaluation."""
        return {side.evaluates for side in self.sides if side.gone is None} >= {True, False}

    @property
    def split_differs(self) -> bool:
        """The sides cut the row into different numbers of examples."""
        return len({side.pieces for side in self.sides}) > 1

    @property
    def ids_differing(self) -> int:
        """Tokens that differ themselves, or that not every side gets."""
        return sum(column.tokens for column in self.columns if column.ids_differ)

    @property
    def labels_differing(self) -> int:
        """Tokens that not every side trains alike."""
        return sum(column.tokens for column in self.columns if column.labels_differ)

    @property
    def weights_differing(self) -> int:
        """Tokens that all sides train alike but for their weight in the loss."""
        return sum(column.tokens for column in self.columns if column.weights_differ)

    @property
    def turned(self) -> int:
        """Tokens that are trained otherwise: by only some sides, as others, or with another weight; a side that does
        not get the row trains none of it."""
        return sum(column.tokens for column in self.columns if _turns(column, self.sides))

    @property
    def differing_tokens(self) -> int:
        return sum(column.tokens for column in self.columns if column.differs)


def compare_row(
    inspections: Sequence[Inspection], *, align_equal: bool = True, unsure: Collection[int] = ()
) -> RowComparison:
    """Two or more inspections of one row, aligned by the characters that their tokens stand for.

    A row that a side drops, or stops at, differs as a whole where another side keeps it; its tokens
    are then not counted. So does one that some sides train and others set aside for evaluation, but not by the sides
    numbered in `unsure`, of which it is not known which rows evaluate. `align_equal=False` leaves the columns of equal
    rows out, which saves most of the time over a dataset. Of preferences the rejected sides follow the chosen ones,
    unless some recipe makes something else of the row.
    """
    paired = {one.rejected is not None for one in inspections if one.tokens is not None}
    if paired == {True}:
        pairs = zip(*(one.alone if one.rejected is not None else (one, one) for one in inspections))
        chosen, rejected = (compare_row(pair, align_equal=align_equal, unsure=unsure) for pair in pairs)
        return _following(chosen, rejected)
    sides = tuple(side_of(one, None if k in unsure else one.evaluates) for k, one in enumerate(inspections))
    row = inspections[0].row.index
    if not align_equal and _equal(sides):
        return RowComparison(row, sides)
    shown = {k: side.tokens for k, side in enumerate(sides) if side.tokens is not None}
    if not shown:
        return RowComparison(row, sides)
    columns = []
    for cells in align([_placed(inspections[k], sides[k], tokens) for k, tokens in shown.items()]):
        cell_of = dict(zip(shown, cells))
        columns.append(_column(tuple(cell_of.get(k, (0, 0)) for k in range(len(sides))), sides))
    return RowComparison(row, sides, tuple(columns))


def _following(one: RowComparison, other: RowComparison) -> RowComparison:
    """Two sequences of a row as one: the columns of the second behind those of the first."""
    sides = tuple(map(_joined, one.sides, other.sides))
    apart = [len(side.ids) for side in one.sides]
    later = [tuple((n + a, n + b) for n, (a, b) in zip(apart, column.cells)) for column in other.columns]
    columns = *one.columns, *(replace(column, cells=cells) for column, cells in zip(other.columns, later))
    return RowComparison(one.row, sides, columns, len(one.columns))


def _joined(one: RowSide, other: RowSide) -> RowSide:
    a, b, tokens, weighted = one.tokens, other.tokens, None, one.weights or other.weights
    if a is not None and b is not None:
        messages, parts = (*a.messages, *b.messages), (*a.parts, *b.parts)
        tokens = Tokens(flat([*a.ids, *b.ids]), (), (), messages, parts)
    return replace(
        one,
        ids=one.ids + other.ids,
        labels=one.labels + other.labels,
        tokens=tokens,
        pieces=one.pieces + other.pieces,
        text=TokenText(one.text.pieces + other.text.pieces, one.text.surfaces + other.text.surfaces),
        gone=one.gone if one.gone is not None else other.gone,
        weights=tuple(side.weight(i) for side in (one, other) for i in range(len(side.ids))) if weighted else (),
    )


def compare_prepared(
    sides: Sequence[Callable[[bool], Inspection]], *, align_equal: bool = True, unsure: Collection[int] = ()
) -> RowComparison:
    """`compare_row` of what each side makes of a row, asked with spans (True) or without: they take time, and are
    queried for where equal rows are aligned too, or where they align these better."""
    made = [prepare(align_equal) for prepare in sides]
    if not align_equal and _needs_spans(made):
        made = [prepare(True) for prepare in sides]
    return compare_row(made, align_equal=align_equal, unsure=unsure)


def _needs_spans(inspections: Sequence[Inspection]) -> bool:
    """Whether knowing who wrote which token would align these better: ids and texts both differ."""
    first, *others = [
        (one.tokens.input_ids, one.rendered.text) if one.tokens is not None and one.rendered is not None else None
        for one in inspections
    ]
    return first is not None and any(one is not None and one[0] != first[0] and one[1] != first[1] for one in others)


def _equal(sides: Sequence[RowSide]) -> bool:
    kept = [side for side in sides if side.gone is None]
    if len(kept) < len(sides):
        return not kept
    first = kept[0]
    return all(
        (side.ids, side.labels, side.weights, side.pieces) == (first.ids, first.labels, first.weights, first.pieces)
        for side in kept[1:]
    )


def side_of(inspection: Inspection, evaluates: bool | None) -> RowSide:
    """What one recipe makes of a row, of which it may not be known whether it evaluates."""
    tokens = inspection.tokens
    stopped = inspection.problem is not None and inspection.row.left_out is None
    gone: str | None = None
    if inspection.row.left_out is not None:
        gone = f"left out of the repaired data, because {inspection.row.left_out}"
    elif inspection.problem is not None:
        gone = inspection.problem.sentence()
    elif inspection.example is None:
        gone = inspection.dropped or "it could not be prepared"
    if tokens is None or inspection.labels is None:
        ids = tokens.input_ids if tokens is not None else ()
        return RowSide(ids, (None,) * len(ids), tokens, 0, inspection.token_text, gone, stopped, evaluates)
    ids, labels, weights = _received(inspection, tokens, inspection.labels)
    pieces = 0 if gone is not None else 1 + len(inspection.more)
    conversation = inspection.conversation
    roles = tuple(message.role for message in conversation.messages) if conversation is not None else ()
    if conversation is not None and conversation.kind is Kind.STRINGS:
        roles = ("prompt", "completion")
    return RowSide(ids, labels, tokens, pieces, inspection.token_text, gone, stopped, evaluates, weights, roles)


def _received(
    inspection: Inspection, tokens: Tokens, made: Labels
) -> tuple[tuple[int, ...], tuple[int | None, ...], tuple[float, ...]]:
    """Ids, labels and weights of each token as the example has them, because that is what is trained on. Weights are 1
    for what carries no loss, and none where all are 1; NaN is one NaN, so that it equals itself."""
    ids, carried = list(tokens.input_ids), made.counted
    found: list[int | None] = [None] * len(tokens)
    weights = list(made.weights or ())
    where = [i for start, end in made.kept for i in range(start, end)]
    for i in where:
        found[i] = carried[i]
    example, conversation = inspection.example, inspection.conversation
    if example is not None and not inspection.more:
        skip = 1 if example.shifted else 0
        if len(example.input_ids) == len(where) - skip and len(example.labels) == len(where) - skip:
            for i, token_id in zip(where, example.input_ids):
                ids[i] = token_id
            for i, label in zip(where[skip:], example.counted):
                found[i] = IGNORE_INDEX if label == example.ignore_index else label
            if skip and where:
                found[where[0]] = IGNORE_INDEX  # its label is dropped with the shift
        if weights and example.weights is not None and len(example.weights) == len(where) - skip:
            for i, weight in zip(where[skip:], example.weights):
                weights[i] = weight
        if conversation is not None and conversation.extra.get("given_labels") == "shifted" and not example.shifted:
            for i, later in zip(where, [*(found[i] for i in where[1:]), IGNORE_INDEX]):
                found[i] = later  # stored shifted, and shifted again by the loss: each is learnt one token early
    counting = [
        1.0 if label in (None, IGNORE_INDEX) else math.nan if math.isnan(weight) else weight
        for label, weight in zip(found, weights)
    ]
    return tuple(ids), tuple(found), tuple(counting) if any(weight != 1 for weight in counting) else ()


def _placed(inspection: Inspection, side: RowSide, tokens: Tokens) -> AlignedSide:
    rendered = inspection.rendered
    text = rendered.text if rendered is not None else ""
    contents = tuple((s.start, s.end) for s in rendered.spans if s.part is Part.CONTENT) if rendered is not None else ()
    return AlignedSide(text, contents, side.ids, tokens.starts, tokens.ends)


def turned(one: RowSide, other: RowSide) -> int:
    """How many tokens two sides train otherwise that have the same ones (see `RowComparison.turned`)."""
    learnt = [
        [
            None if label is None or label == IGNORE_INDEX else (token, side.weight(i))
            for i, (token, label) in enumerate(zip(side.ids, side.labels))
        ]
        if side.gone is None and not side.evaluates
        else [None] * len(side.ids)
        for side in (one, other)
    ]
    return sum(map(ne, *learnt))


def _turns(column: Column, sides: Sequence[RowSide]) -> bool:
    trained = {
        tuple(
            (side.ids[i], side.weight(i))
            for i in (range(a, b) if side.gone is None and not side.evaluates else ())
            if side.labels[i] not in (None, IGNORE_INDEX)
        )
        for (a, b), side in zip(column.cells, sides)
    }
    return len(trained) > 1


def _column(cells: tuple[Range, ...], sides: Sequence[RowSide]) -> Column:
    here = [
        ([i for i in range(a, b) if side.labels[i] is not None], side)
        for (a, b), side in zip(cells, sides)
        if side.gone is None
    ]
    if len(here) < 2:
        return Column(cells)
    ids = {tuple(side.ids[i] for i in kept) for kept, side in here}
    if len(ids) > 1:
        trained = {any(side.labels[i] != IGNORE_INDEX for i in kept) for kept, side in here}
        return Column(cells, True, len(trained) > 1)
    if len({tuple(side.labels[i] for i in kept) for kept, side in here}) > 1:
        return Column(cells, False, True)
    if not any(side.weights for _, side in here):
        return Column(cells)
    weights = {tuple(side.weight(i) for i in kept) for kept, side in here}
    return Column(cells, weights_differ=len(weights) > 1)


def evenly(count: int, most: int) -> Iterator[int]:
    """At most so many of the numbers below `count`, at even distances, 0 among them."""
    some = min(count, most)
    return (number * count // some for number in range(some))


@dataclass(frozen=True, slots=True)
class ComparisonCount:
    """What was counted so far; `trained`, `received`, `dropped` and `stopped` hold one figure a side.

    `one_sided` are rows that only some sides keep, `evaluation_differing` those that some train and others set aside
    for evaluation: they differ, but add no differing tokens. `nowhere` are rows that no side gets, `failing` those of
    them that some side could not prepare, `gone` the first of these, else of those. Rows that evaluate stand apart from
    what is trained, in `evaluation_rows` and `evaluation_tokens`, a figure a side. `first` are the first rows that
    differ, at most `keep`. `turned` are tokens that are trained otherwise, in `turned_rows`.
    """

    rows: int = 0
    differing_rows: int = 0
    differing_tokens: int = 0
    ids_differing: int = 0
    labels_differing: int = 0
    weights_differing: int = 0
    one_sided: int = 0
    evaluation_differing: int = 0
    nowhere: int = 0
    failing: int = 0
    turned: int = 0
    turned_rows: int = 0
    gone: RowComparison | None = None
    trained: tuple[int, ...] = ()
    received: tuple[int, ...] = ()
    dropped: tuple[int, ...] = ()
    stopped: tuple[int, ...] = ()
    evaluation_rows: tuple[int, ...] = ()
    evaluation_tokens: tuple[int, ...] = ()
    first: tuple[RowComparison, ...] = ()
    keep: int = 10

    def plus(self, row: RowComparison) -> ComparisonCount:
        """The count with one more row."""
        sides = row.sides
        return self.merged(
            ComparisonCount(
                rows=1,
                differing_rows=int(row.differs),
                differing_tokens=row.differing_tokens,
                ids_differing=row.ids_differing,
                labels_differing=row.labels_differing,
                weights_differing=row.weights_differing,
                one_sided=int(row.one_sided),
                evaluation_differing=int(row.evaluation_differs),
                nowhere=int(row.nowhere),
                failing=int(row.fails),
                turned=row.turned,
                turned_rows=int(row.turned > 0),
                gone=row if row.nowhere else None,
                trained=tuple(side.trained for side in sides),
                received=tuple(0 if side.evaluates else side.received for side in sides),
                dropped=tuple(int(side.gone is not None and not side.stopped) for side in sides),
                stopped=tuple(int(side.stopped) for side in sides),
                evaluation_rows=tuple(int(bool(side.evaluates)) for side in sides),
                evaluation_tokens=tuple(side.received if side.evaluates else 0 for side in sides),
                first=(row,) if row.differs else (),
                keep=self.keep,
            )
        )

    def merged(self, later: ComparisonCount) -> ComparisonCount:
        """This count and that of a later part of the same dataset."""
        summed = (field.name for field in fields(self) if field.name not in ("gone", "first", "keep"))
        return ComparisonCount(
            **{name: _sum(getattr(self, name), getattr(later, name)) for name in summed},
            gone=self.gone if self.failing or (self.gone and not later.failing) else later.gone,
            first=(*self.first, *later.first)[: self.keep],
            keep=self.keep,
        )


def _sum(one: Any, other: Any) -> Any:
    if isinstance(one, int):
        return one + other
    return tuple(map(add, one, other)) if one and other else one or other
