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
from itertools import accumulate, chain, pairwise
from typing import Any, NamedTuple

from sftui.errors import RecipeError
from sftui.labels import proportional
from sftui.model import Batch, Example, Inspection
from sftui.recipe import Recipe
from sftui.runs import Ranges, covered, merged, moved, overlap
from sftui.trainers import Toolbox, Trainer
from sftui.trainers.held_out import permuted
from sftui.trainers.packing import Documents, blank

MOST_ROWS = 4_000_000
"""Rows whose lengths are held: 40 bytes each and 8 for each answer."""
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


# — how a limit cuts a row —


Parts = tuple[Ranges, ...]
"""What is left of a row: the ranges of tokens of each example that the trainer makes of it."""


def _right(count: int, trained: Ranges, limit: int) -> Parts:
    return (((0, min(count, limit)),),)


def _left(count: int, trained: Ranges, limit: int) -> Parts:
    return (((max(count - limit, 0), count),),)


def _drop(count: int, trained: Ranges, limit: int) -> Parts:
    return () if count > limit else (((0, count),),)


def _whole(count: int, trained: Ranges, limit: int) -> Parts:
    return (((0, count),),)


def _split(count: int, trained: Ranges, limit: int) -> Parts:
    return tuple(((start, min(start + limit, count)),) for start in range(0, count, limit))


def _proportional(count: int, trained: Ranges, limit: int) -> Parts:
    """LLaMA-Factory's cut of each pair of turns, whose answers are the trained tokens."""
    ends = [0, *(end for _, end in trained)]
    pairs = [(start - before, end - start) for before, (start, end) in zip(ends, trained)]
    kept = chain.from_iterable(proportional(pairs, limit, reserved=0, last_first=False))
    firsts = chain.from_iterable(zip(ends, (start for start, _ in trained)))
    return (merged((first, first + length) for first, length in zip(firsts, kept)),)


_CUTS: dict[str, Callable[[int, Ranges, int], Parts]] = {
    "cut_right": _right,
    "cut_left": _left,
    "drop": _drop,
    "split": _split,
    "proportional": _proportional,
}


class CutRule(NamedTuple):
    """What a limit leaves of rows: `less` tokens of it stay free, `drops` takes out what has no trained token left."""

    cut: Callable[[int, Ranges, int], Parts]
    less: int
    drops: bool

    def parts(self, count: int, trained: Ranges, limit: int) -> Parts:
        """What is left of a row of so many tokens, of which some are trained; nothing of one that is dropped."""
        found = self.cut(count, trained, max(limit - self.less, 1))
        return tuple(part for part in found if moved(trained, part)) if self.drops else found


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
    owners, lengths, parts = _examples(sizes, rule, limit)
    packs, size = _packed(sizes, recipe, trainer, tools, owners, lengths)
    if packs is None:
        order = by_length(lengths, recipe.batch.size) if grouped else range(len(lengths))
        each, reached = [lengths[at] for at in order], None
    else:
        each = [sum([end - start for _, start, end in pack]) for pack in packs]
        reached = [document for pack in packs for document in pack if document[2] > document[1]]
    collator = Collator(trainer, recipe, tools, packs is not None) if each else None
    batches = [each[at : at + size] for at in range(0, len(each), size)]
    positions = sum(map(collator.positions, batches)) if collator is not None else 0
    tokens = sum(each)
    fed = _reached(len(sizes.tokens), owners, lengths, parts, reached)
    cut, lost, split = _answers(sizes, fed)
    there = {sizes.owners[owner] for owner, ranges in enumerate(fed) if ranges is None or ranges}
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
        len(sizes.rows) - len(there),
    )


def _examples(sizes: RowSizes, rule: CutRule, limit: int) -> tuple[list[int], list[int], dict[int, Parts]]:
    """The sequence that each example is of and how many tokens it has, and what is left of those sequences of which
    some may go."""
    lengths = [count - fewer for count, fewer in zip(sizes.tokens, sizes.fewer)]
    near, before, parts = limit - 2, 0, dict[int, Parts]()
    for number, (count, until) in enumerate(zip(sizes.tokens, sizes.until)):
        if count > near or until == before:
            parts[number] = rule.parts(count, sizes.trained(number), limit)
        before = until
    if all(len(part) == 1 for part in parts.values()):
        for number, part in parts.items():
            lengths[number] = covered(part[0]) - sizes.fewer[number]
        return list(range(len(lengths))), lengths, parts
    owners, made = [], []
    for number, length in enumerate(lengths):
        found = [length] if number not in parts else [covered(part) - sizes.fewer[number] for part in parts[number]]
        owners += [number] * len(found)
        made += found
    return owners, made, parts


def _packed(
    sizes: RowSizes, recipe: Recipe, trainer: Trainer, tools: Toolbox, owners: Sequence[int], lengths: Sequence[int]
) -> tuple[list[Documents] | None, int]:
    """The packs that are trained, and how many are a batch; no packs where rows are not packed."""
    if recipe.pack.strategy == "none":
        return None, recipe.batch.size
    home = trainer.traits.packing.places
    if not home:
        raise RecipeError(f"sftui does not know how {trainer.title} packs", fix="set pack.strategy to none")
    module, _, name = home.partition(":")
    place: Callable[[Sequence[Example], Recipe], Iterable[Documents]] = getattr(import_module(module), name)
    examples, packs = list(map(blank, lengths)), list[Documents]()
    for first, end in _groups(sizes, recipe, trainer, tools, owners):
        for pack in place(examples[first:end], recipe):
            packs.append([(at + first, start, stop) for at, start, stop in pack] if first else pack)
    held, full = trainer.held_out(recipe), trainer.packs_in_a_batch(recipe)
    if held is not None and held.packs_again and not held.doubt:
        packs = [packs[at] for at in permuted(held.seed, len(packs))]
    each = full if recipe.pack.strategy == "multipack" else recipe.batch.size  # Axolotl draws a batch as one pack
    return packs[: len(packs) - len(packs) % full], each


def _groups(
    sizes: RowSizes, recipe: Recipe, trainer: Trainer, tools: Toolbox, owners: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Which examples are packed together, as `pipeline.pack_rows` groups them."""
    group = max(recipe.pack.group, 1)
    if trainer.pack_in_order(iter(()), recipe, tools) is not None:
        yield 0, len(owners)
    elif not trainer.traits.packing.groups_hold_dropped:
        yield from ((at, min(at + group, len(owners))) for at in range(0, len(owners), group))
    else:
        numbers = [sizes.owners[owner] // group for owner in owners]
        borders = [at for at in range(1, len(numbers)) if numbers[at] != numbers[at - 1]]
        yield from pairwise([0, *borders, len(owners)])


def _reached(
    count: int, owners: Sequence[int], lengths: Sequence[int], parts: dict[int, Parts], documents: Documents | None
) -> list[list[Ranges] | None]:
    """What of each sequence reaches the model, a list of ranges for each pack or part it is in; None: all of it."""
    found: list[list[Ranges] | None] = [None] * count
    for number, left in parts.items():
        found[number] = [part for part in left if covered(part)]
    if documents is None:
        return found
    seen = bytearray(len(owners))
    pieces: dict[int, list[tuple[int, int]]] = {}
    for at, start, end in documents:
        seen[at] = 1
        if start or end < lengths[at]:
            pieces.setdefault(at, []).append((start, end))
    first = 0
    for at, owner in enumerate(owners):
        first = at if not at or owners[at - 1] != owner else first
        if seen[at] and at not in pieces:
            continue
        whole: Ranges = parts[owner][at - first] if owner in parts else ((0, lengths[at]),)
        taken = [_within(whole, start, end) for start, end in pieces.get(at, ())]
        others = found[owner] or []
        found[owner] = [*(part for part in others if part is not whole and part != whole), *taken]
    return found


def _within(kept: Ranges, start: int, end: int) -> Ranges:
    """The tokens of a row that a range of what is left of it has."""
    if len(kept) == 1:
        return ((kept[0][0] + start, min(kept[0][0] + end, kept[0][1])),) if start < end else ()
    behind = list(accumulate((stop - first for first, stop in kept), initial=0))
    return tuple(
        (first + max(start - at, 0), min(stop, first + end - at))
        for (first, stop), at in zip(kept, behind)
        if max(start - at, 0) < min(stop - first, end - at)
    )


def _answers(sizes: RowSizes, fed: Sequence[list[Ranges] | None]) -> tuple[int, int, int]:
    """How many answers lose some of their tokens, lose all, and go on elsewhere."""
    cut = lost = split = 0
    for number, ranges in enumerate(fed):
        for answer in sizes.trained(number) if ranges is not None else ():
            there = [covered(overlap((answer,), one)) for one in ranges or ()]
            left = sum(there)
            lost += not left
            cut += 0 < left < answer[1] - answer[0]
            split += sum(map(bool, there)) > 1
    return cut, lost, split


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
