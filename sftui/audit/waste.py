"""Waste and cuts of a whole dataset: what a length limit and a packing strategy make of the lengths of its rows.

One pass gathers `RowSizes`; every line of the table follows from these alone. How rows are cut is one of `cut_rules`,
to be held against the trainer's own cuts (`session.waste`); packs are placed by the trainer's code (`Packing.places`),
and how wide a batch is, its collator says.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from sftui.errors import RecipeError
from sftui.labels import proportional
from sftui.model import Batch, Example, Inspection
from sftui.recipe import Recipe
from sftui.runs import Ranges, covered, merged, moved
from sftui.trainers import Toolbox, Trainer
from sftui.trainers.held_out import permuted
from sftui.trainers.packing import Documents, blank

if TYPE_CHECKING:
    from numpy.typing import NDArray

Numbers: TypeAlias = "NDArray[Any]"
MOST_ROWS = 4_000_000
"""Rows whose lengths are held: 40 bytes each and 8 for each answer."""
MOST_KEPT = 1_000_000
"""Sequences of which the cuts of each limit are held, 24 bytes each, for the strategies that come next."""
GROUPED = "by length"
"""The strategy of a sampler (group_by_length), no value of pack.strategy: rows of about one length meet in a batch."""


@dataclass(frozen=True, slots=True)
class WasteLine:
    """One length limit under one strategy, over one epoch.

    `strategy` is a value of pack.strategy, or `GROUPED`; `limit` is length.max, `changes` all knobs that the line sets.
    `tokens` reach the model beside `padding` in `steps` batches of one device. Of the answers (stretches of trained
    tokens) `cut` lose some tokens, `lost` all of them, `split` go on in another pack or part; of the rows `rows_lost`
    are not trained at all. `unknown` says why none of this is known.
    """

    strategy: str
    limit: int
    changes: tuple[tuple[str, Any], ...] = ()
    tokens: int = 0
    padding: int = 0
    steps: int = 0
    cut: int = 0
    lost: int = 0
    split: int = 0
    rows_lost: int = 0
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class WasteTable:
    """Rows, answers and lengths under no limit, the strategies and limits that are looked at, the lines that are worked
    out so far, strategy after strategy, and what they assume."""

    rows: int
    answers: int
    tokens: int
    longest: int
    strategies: tuple[str, ...]
    limits: tuple[int, ...]
    lines: tuple[WasteLine, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def done(self) -> bool:
        """Whether every line is there."""
        return len(self.lines) == len(self.strategies) * len(self.limits)


@dataclass(slots=True)
class RowSizes:
    """What `add` took of rows, under no limit: of each row its number, whether the next one is trained once more in its
    place, and how many sequences there are up to it; of each sequence its row, counted from 0, how many tokens it has,
    from which one of the row on, and how many fewer the trainer gets (labels may be shifted); and where its answers
    are."""

    rows: array[int] = field(default_factory=lambda: array("q"))
    replaced: bytearray = field(default_factory=bytearray)
    behind: array[int] = field(default_factory=lambda: array("I"))
    owners: array[int] = field(default_factory=lambda: array("I"))
    tokens: array[int] = field(default_factory=lambda: array("q"))
    begins: array[int] = field(default_factory=lambda: array("q"))
    fewer: array[int] = field(default_factory=lambda: array("b"))
    until: array[int] = field(default_factory=lambda: array("Q"))
    starts: array[int] = field(default_factory=lambda: array("I"))
    ends: array[int] = field(default_factory=lambda: array("I"))
    cuts: dict[tuple[CutRule, int], Parts] = field(default_factory=dict)

    def cut_by(self, rule: CutRule, limit: int) -> Parts:
        """What a limit leaves of all sequences."""
        found = self.cuts.get((rule, limit))
        if found is None:
            found = rule.parts(self, limit)
            if len(self.tokens) < MOST_KEPT:
                self.cuts[rule, limit] = found
        return found

    def add(self, found: Inspection, replaced: bool) -> None:
        """One more row."""
        if found.labels is not None and found.example is not None:
            kept = found.labels.kept
            for part, example in zip([(one,) for one in kept] if found.more else [kept], found.examples):
                begin, count = part[0][0] if part else 0, covered(part)
                self._put(count, begin, count - example.size, moved(found.labels.carrying, part))
        self._end(found.row.index, replaced)

    def _put(self, count: int, begin: int, fewer: int, trained: Ranges) -> None:
        self.owners.append(len(self.rows))
        self.tokens.append(count)
        self.begins.append(begin)
        self.fewer.append(fewer)
        self.starts.extend([start for start, _ in trained])
        self.ends.extend([end for _, end in trained])
        self.until.append(len(self.starts))

    def _end(self, row: int, replaced: bool) -> None:
        self.rows.append(row)
        self.replaced.append(replaced)
        self.behind.append(len(self.tokens))

    def in_order(self, numbers: Iterable[int] | None) -> RowSizes:
        """Those of some rows (None: all) in another order, with what stands in for others (see `ready.stood_in`)."""
        if numbers is None and not any(self.replaced):
            return self
        where = {row: at for at, row in enumerate(self.rows)}
        made, waiting, first = RowSizes(), 0, None
        for at in range(len(self.rows)) if numbers is None else (where[row] for row in numbers if row in where):
            if self.sequences(at):
                first = at if first is None else first
                for _ in range(waiting):
                    made._take(self, at)
                waiting = 0
            waiting += self.replaced[at]
            made._take(self, at)
        for _ in range(waiting if first is not None else 0):
            made._take(self, first or 0)
        return made

    def _take(self, other: RowSizes, at: int) -> None:
        for number in other.sequences(at):
            self._put(other.tokens[number], other.begins[number], other.fewer[number], other.trained(number))
        self._end(other.rows[at], False)

    def sequences(self, at: int) -> range:
        """Those of a row, counted from 0."""
        return range(self.behind[at - 1] if at else 0, self.behind[at])

    def trained(self, number: int) -> Ranges:
        """The answers of a sequence."""
        here = slice(self.until[number - 1] if number else 0, self.until[number])
        return tuple(zip(self.starts[here], self.ends[here]))


# — how a limit cuts rows —


class Parts(NamedTuple):
    """What is left of rows: the sequence that each example is of, and ranges of its tokens, each with its example, in
    order."""

    owners: Numbers
    of: Numbers
    first: Numbers
    stop: Numbers

    def lengths(self) -> Numbers:
        """How many tokens each example has."""
        return _sums(self.of, self.stop - self.first, len(self.owners))

    def pieces(self, documents: Numbers, lengths: Numbers) -> Parts:
        """The tokens of documents (example, start and stop each), where examples have such lengths: each is a part; of
        an example in one document nothing is missing."""
        count = np.bincount(self.of, minlength=len(self.owners))
        behind = np.cumsum(count) - count
        at, start, stop = documents[documents[:, 2] > documents[:, 1]].T
        stop = np.where((start == 0) & (stop == lengths[at]), self.lengths()[at], stop)
        which, there = _each(behind[at], count[at])
        size = self.stop - self.first
        begins = np.cumsum(size) - size
        begins = begins[there] - begins[behind[at]][which]
        first = self.first[there] + np.maximum(start[which] - begins, 0)
        stop = np.minimum(self.stop[there], self.first[there] + stop[which] - begins)
        some = first < stop
        return Parts(self.owners[at], which[some], first[some], stop[some])


def _sums(of: Numbers, values: Numbers, count: int) -> Numbers:
    return np.bincount(of, values, count).astype(np.int64)


def _each(first: Numbers, count: Numbers) -> tuple[Numbers, Numbers]:
    """So many numbers from the first one on, for each, and for which they are."""
    which = np.repeat(np.arange(len(count)), count)
    return which, np.arange(len(which)) + (first - np.cumsum(count) + count)[which]


def _ranges(numbers: Numbers, first: Numbers, stop: Numbers) -> Parts:
    return Parts(numbers, np.arange(len(numbers)), first, stop)


def _right(sizes: RowSizes, numbers: Numbers, counts: Numbers, limit: int) -> Parts:
    return _ranges(numbers, 0 * counts, np.minimum(counts, limit))


def _left(sizes: RowSizes, numbers: Numbers, counts: Numbers, limit: int) -> Parts:
    return _ranges(numbers, np.maximum(counts - limit, 0), counts)


def _drop(sizes: RowSizes, numbers: Numbers, counts: Numbers, limit: int) -> Parts:
    there = counts <= limit
    return _ranges(numbers[there], 0 * counts[there], counts[there])


def _whole(sizes: RowSizes, numbers: Numbers, counts: Numbers, limit: int) -> Parts:
    return _ranges(numbers, 0 * counts, counts)


def _split(sizes: RowSizes, numbers: Numbers, counts: Numbers, limit: int) -> Parts:
    which, at = _each(0 * counts, -(-counts // limit))
    return _ranges(numbers[which], at * limit, np.minimum((at + 1) * limit, counts[which]))


def _proportional(sizes: RowSizes, numbers: Numbers, counts: Numbers, limit: int) -> Parts:
    """LLaMA-Factory's cut of each pair of turns, whose answers are the trained tokens."""
    left: list[Ranges] = []
    for number, count in zip(numbers.tolist(), counts.tolist()):
        trained = sizes.trained(number)
        if count < limit and trained:
            left.append(((0, count),))
            continue
        ends = [0, *(end for _, end in trained)]
        pairs = [(start - before, end - start) for before, (start, end) in zip(ends, trained)]
        kept = chain.from_iterable(proportional(pairs, limit, reserved=0, last_first=False))
        firsts = chain.from_iterable(zip(ends, (start for start, _ in trained)))
        left.append(merged((first, first + length) for first, length in zip(firsts, kept)))
    flat = np.array([one for part in left for one in part], np.int64).reshape(-1, 2)
    return Parts(numbers, np.repeat(np.arange(len(left)), [len(part) for part in left]), *flat.T)


_CUTS: dict[str, Callable[[RowSizes, Numbers, Numbers, int], Parts]] = {
    "cut_right": _right,
    "cut_left": _left,
    "drop": _drop,
    "split": _split,
    "proportional": _proportional,
}


class CutRule(NamedTuple):
    """What a limit leaves of rows: `less` tokens of it stay free, `drops` takes out what has no trained token left."""

    cut: Callable[[RowSizes, Numbers, Numbers, int], Parts]
    less: int
    drops: bool

    def parts(self, sizes: RowSizes, limit: int, some: range | None = None) -> Parts:
        """What is left of `some` sequences, or all."""
        numbers = np.arange(len(sizes.tokens)) if some is None else np.array(some, np.int64)
        counts = np.frombuffer(sizes.tokens, np.int64)[numbers]
        found = self.cut(sizes, numbers, counts, max(limit - self.less, 1))
        if not self.drops:
            return found
        which, _, trained = _trained_in(sizes, found)
        there = _sums(found.of[which], trained, len(found.owners)) > 0
        ranges = there[found.of]
        return Parts(
            found.owners[there], (np.cumsum(there) - 1)[found.of[ranges]], found.first[ranges], found.stop[ranges]
        )


def _trained_in(sizes: RowSizes, parts: Parts) -> tuple[Numbers, Numbers, Numbers]:
    """Each range with each answer of its sequence: the range, the answer, and how many tokens both have."""
    until = np.frombuffer(sizes.until, np.uint64).astype(np.int64)
    before = np.concatenate([[0], until])[:-1]
    owners = parts.owners[parts.of]
    which, answers = _each(before[owners], (until - before)[owners])
    starts, ends = (np.frombuffer(one, np.uint32).astype(np.int64)[answers] for one in (sizes.starts, sizes.ends))
    trained = np.minimum(ends, parts.stop[which]) - np.maximum(starts, parts.first[which])
    return which, answers, np.maximum(trained, 0)


def cut_rules(recipe: Recipe) -> Iterator[CutRule]:
    """How the recipe may cut rows, the likeliest first."""
    length = recipe.length
    own = _CUTS.get(length.over, _drop)
    for cut in dict.fromkeys((own, _right, _whole)):
        for less in (0, 1):
            for drops in (length.drop_unlabelled, not length.drop_unlabelled):
                yield CutRule(cut, less, drops)


# — one line —


class Collator:
    """How many positions the batches of one trainer have, by its own collator, which is asked once a width.

    `packed`: batches are of packs. RecipeError where it cannot pad.
    """

    def __init__(self, trainer: Trainer, recipe: Recipe, tools: Toolbox, packed: bool) -> None:
        self._trainer, self._recipe, self._tools, self._packed = trainer, recipe, tools, packed
        self._multiple, self._widths = recipe.batch.multiple or 1, dict[int, int]()
        size = recipe.length.max or 2
        two = self._batch([size, max(size // 2, 1)] if recipe.batch.size > 1 else [size])
        self._flat = len(two.input_ids) == 1 < len(two.lengths)

    def positions(self, sizes: Sequence[int]) -> int:
        """Of one batch of rows, or packs, of such lengths."""
        if not self._flat:
            return len(sizes) * self._width(max(sizes))
        total = sum(sizes)
        near = total % self._multiple + self._multiple
        return total + self._width(near) - near

    def _width(self, size: int) -> int:
        found = self._widths.get(size)
        if found is None:
            found = self._widths[size] = len(self._batch([size]).input_ids[0])
        return found

    def _batch(self, sizes: Sequence[int]) -> Batch:
        ids = [(0,) * size for size in sizes]
        examples = [Example(one, one, (1,) * len(one)) for one in ids]
        trainer, recipe, tools = self._trainer, self._recipe, self._tools
        if not self._packed:
            return trainer.collate(examples, range(len(examples)), recipe, tools)
        packs = []
        for example in examples:
            in_order = trainer.pack_in_order([example], recipe, tools)
            packs += list(trainer.pack([example], recipe, tools) if in_order is None else in_order)
        return trainer.collate_packs(packs, recipe, tools)


def waste_line(
    sizes: RowSizes, recipe: Recipe, trainer: Trainer, tools: Toolbox, rule: CutRule, *, grouped: bool = False
) -> WasteLine:
    """The figures of one epoch under a recipe, whose limit cuts rows by `rule`; `grouped`: rows of about one length
    meet in a batch. RecipeError where they cannot be packed or padded."""
    limit = recipe.length.max or max(sizes.tokens, default=1)
    parts = sizes.cut_by(rule, limit)
    fewer, owners = np.frombuffer(sizes.fewer, np.int8), np.frombuffer(sizes.owners, np.uint32)
    lengths = parts.lengths() - fewer[parts.owners]
    packed, size = _packed(owners[parts.owners], recipe, trainer, tools, lengths)
    if packed is None:
        each = lengths.tolist()
        each = [each[at] for at in by_length(each, recipe.batch.size)] if grouped else each
    else:
        each, parts = packed[0], parts.pieces(packed[1], lengths)
    collator = Collator(trainer, recipe, tools, packed is not None) if each else None
    batches = [each[at : at + size] for at in range(0, len(each), size)]
    positions = sum(map(collator.positions, batches)) if collator is not None else 0
    tokens = sum(each)
    cut, lost, split = _answers(sizes, parts)
    there = np.bincount(owners[parts.owners[parts.of[parts.first < parts.stop]]], minlength=len(sizes.rows)) > 0
    return WasteLine(
        GROUPED if grouped else recipe.pack.strategy,
        limit,
        (),
        tokens,
        positions - tokens,
        len(batches),
        cut,
        lost,
        split,
        len(sizes.rows) - int(there.sum()),
    )


def _packed(
    rows: Numbers, recipe: Recipe, trainer: Trainer, tools: Toolbox, lengths: Numbers
) -> tuple[tuple[list[int], Numbers] | None, int]:
    """How many tokens the packs that are trained have, their documents, and how many packs are a batch, for examples of
    such lengths of these rows; no packs where rows are not packed."""
    if recipe.pack.strategy == "none":
        return None, recipe.batch.size
    home = trainer.traits.packing.places
    if not home:
        raise RecipeError(f"sftui does not know how {trainer.title} packs", fix="set pack.strategy to none")
    module, _, name = home.partition(":")
    place: Callable[[Sequence[Example], Recipe], Iterable[Documents]] = getattr(import_module(module), name)
    examples, found, in_pack = list(map(blank, lengths.tolist())), array("q"), array("q")
    firsts, behind = array("q"), array("q")
    for first, end in _groups(rows, recipe, trainer, tools):
        packs = list(place(examples[first:end], recipe))
        in_pack.extend(map(len, packs))
        found.extend(chain.from_iterable(chain.from_iterable(packs)))
        firsts.append(first)
        behind.append(len(found) // 3)
    documents = np.array(found, np.int64).reshape(-1, 3)
    documents[:, 0] += np.repeat(np.array(firsts), np.diff(behind, prepend=0))
    held, full = trainer.held_out(recipe), trainer.packs_in_a_batch(recipe)
    place_of = np.arange(len(in_pack))
    if held is not None and held.packs_again and not held.doubt:
        place_of[permuted(held.seed, len(in_pack))] = np.arange(len(in_pack))
    of, kept = np.repeat(place_of, in_pack), len(in_pack) - len(in_pack) % full
    of, documents = of[of < kept], documents[of < kept]
    each = full if recipe.pack.strategy == "multipack" else recipe.batch.size  # Axolotl draws a batch as one pack
    return (_sums(of, documents[:, 2] - documents[:, 1], kept).tolist(), documents), each


def _groups(rows: Numbers, recipe: Recipe, trainer: Trainer, tools: Toolbox) -> Iterator[tuple[int, int]]:
    """Which examples are packed together, as `pipeline.pack_rows` groups them."""
    group = max(recipe.pack.group, 1)
    if trainer.pack_in_order(iter(()), recipe, tools) is not None:
        yield 0, len(rows)
    elif not trainer.traits.packing.groups_hold_dropped:
        yield from ((at, min(at + group, len(rows))) for at in range(0, len(rows), group))
    else:
        borders = np.flatnonzero(np.diff(rows.astype(np.int64) // group)) + 1
        yield from pairwise([0, *borders.tolist(), len(rows)])


def _answers(sizes: RowSizes, fed: Parts) -> tuple[int, int, int]:
    """How many answers lose some of their tokens, lose all, and go on elsewhere."""
    which, answers, trained = _trained_in(sizes, fed)
    count = len(sizes.starts)
    whole = np.array(sizes.ends, np.int64) - np.array(sizes.starts, np.int64)
    left, hit = _sums(answers, trained, count), trained > 0
    places = answers[hit]
    if not np.diff(fed.of).all():  # a part of several ranges is one place
        places = np.unique(fed.of[which[hit]] * count + places) % max(count, 1)
    split = np.bincount(places) > 1
    return int(((left > 0) & (left < whole)).sum()), int((left == 0).sum()), int(split.sum())


def by_length(lengths: Sequence[int], batch: int) -> list[int]:
    """An order in which rows of about one length meet: one draw of transformers' LengthGroupedSampler.

    Source: transformers 5.20.1, trainer_pt_utils.py, get_length_grouped_indices.
    """
    order = permuted(0, len(lengths))
    step = (min(len(lengths) // (batch * 4), 50) or 1) * batch
    groups = [sorted(order[at : at + step], key=lengths.__getitem__, reverse=True) for at in range(0, len(order), step)]
    if groups:
        longest = max(groups, key=lambda group: lengths[group[0]])
        groups[0][0], longest[0] = longest[0], groups[0][0]
    return list(chain.from_iterable(groups))
