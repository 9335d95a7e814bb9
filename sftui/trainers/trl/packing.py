"""TRL's packing (best fit decreasing, with or without splitting, and wrapped), and its collator over packs and
flattened batches: Unsloth trains with both, too.

Source: trl 1.16.0, trl/data_utils.py `_pack_bfd`, `_pack_wrapped`, `pack_dataset`, and
trl/trainer/sft_trainer.py DataCollatorForLanguageModeling; 0.24 and 1.8 to 1.15 were read, too,
and tests/parity/test_parity_trl_packing.py holds the TRL that each trainer brings against them.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from sftui import labels as label_rules
from sftui.model import IGNORE_INDEX, Batch, Example, Pack
from sftui.recipe import Recipe
from sftui.trainers.base import Toolbox, Trainer, pad_token_id


@dataclass(slots=True)
class _Bin:
    documents: list[tuple[int, int, int]] = field(default_factory=list)


def pack_bfd(examples: Sequence[Example], size: int, *, split: bool) -> Iterator[Pack]:
    """Each example cut to `size` (or split into chunks of it), longest first into the fullest bin that fits.

    Ties keep their order; bins with equal space are filled oldest first; empty examples go.
    """
    documents: list[tuple[int, int, int]] = []
    for index, example in enumerate(examples):
        n = len(example.input_ids)
        if split:
            documents.extend((index, start, min(start + size, n)) for start in range(0, n, size))
        elif n:
            documents.append((index, 0, min(n, size)))
    bins: list[_Bin] = []
    by_space: defaultdict[int, deque[_Bin]] = defaultdict(deque)
    spaces: list[int] = [size]  # sorted; a fresh bin is always on offer
    for document in sorted(documents, key=lambda d: d[1] - d[2]):
        length = document[2] - document[1]
        space = spaces[bisect_left(spaces, length)]
        if space < size:
            chosen = by_space[space].popleft()
            if not by_space[space]:
                spaces.remove(space)
        else:
            chosen = _Bin()
            bins.append(chosen)
        chosen.documents.append(document)
        left = space - length
        if left:
            if not by_space[left]:
                insort(spaces, left)
            by_space[left].append(chosen)
    for one in bins:
        yield _flatten(examples, one.documents, restart=True)


def pack_wrapped(examples: Sequence[Example], size: int) -> Iterator[Pack]:
    """All examples end to end, sliced every `size` tokens, borders ignored."""
    documents: list[tuple[int, int, int]] = []
    room = size
    for index, example in enumerate(examples):
        start, n = 0, len(example.input_ids)
        while start < n:
            taken = min(room, n - start)
            documents.append((index, start, start + taken))
            start, room = start + taken, room - taken
            if not room:
                yield _flatten(examples, documents, restart=False)
                documents, room = [], size
    if documents:
        yield _flatten(examples, documents, restart=False)


def _flatten(examples: Sequence[Example], documents: Sequence[tuple[int, int, int]], *, restart: bool) -> Pack:
    ids: list[int] = []
    labels: list[int] = []
    positions: list[int] = []
    for index, start, end in documents:
        example = examples[index]
        ids.extend(example.input_ids[start:end])
        labels.extend(example.labels[start:end])
        positions.extend(range(end - start))
    return Pack(
        documents=tuple(documents),
        input_ids=tuple(ids),
        labels=tuple(labels),
        position_ids=tuple(positions) if restart else None,
        attention_mask=None if restart else (1,) * len(ids),
    )


class CollatorTrainer(Trainer):
    """A trainer whose batches TRL's collator makes."""

    def collate(self, examples: Sequence[Example], rows: Sequence[int], recipe: Recipe, tools: Toolbox) -> Batch:
        if not recipe.batch.flatten:
            return super().collate(examples, rows, recipe, tools)
        positions = [range(len(example.input_ids)) for example in examples]
        return flat_batch(examples, rows, positions, recipe, pad_token_id(recipe, tools)[0])

    def fed(self, pack: Pack, recipe: Recipe) -> Pack:
        return first_masked(pack, recipe)

    def packing_order(self, recipe: Recipe) -> str:
        return f"{super().packing_order(recipe)} (one process)"

    def collate_packs(self, packs: Sequence[Pack], recipe: Recipe, tools: Toolbox) -> Batch:
        if recipe.pack.strategy == "wrapped" and not recipe.batch.flatten:
            return super().collate_packs(packs, recipe, tools)
        return flat_packs(packs, recipe, pad_token_id(recipe, tools)[0])


def flat_batch(
    examples: Sequence[Example],
    rows: Sequence[int],
    positions: Sequence[Sequence[int]],
    recipe: Recipe,
    pad_id: int | None,
) -> Batch:
    """Padding-free: one row, position ids that start anew, no attention mask, first of each document masked."""
    ids = [i for example in examples for i in example.input_ids]
    labels = [label for example in examples for label in example.labels]
    places = [place for one in positions for place in one]
    multiple = recipe.batch.multiple or 1
    gap = -len(ids) % multiple
    label_rules.refuse_too_large(1, len(ids) + gap)
    ids += [pad_id or 0] * gap
    labels += [IGNORE_INDEX] * gap
    places += [0] * gap
    labels = [IGNORE_INDEX if place == 0 else label for place, label in zip(places, labels)]
    return Batch(
        rows=tuple(rows),
        lengths=tuple(len(example.input_ids) for example in examples),
        input_ids=(tuple(ids),),
        labels=(tuple(labels),),
        attention_mask=None,
        position_ids=(tuple(places),),
        notes=("padding-free: one row, no attention mask, the first token of each document carries no loss",),
    )


def flat_packs(packs: Sequence[Pack], recipe: Recipe, pad_id: int | None) -> Batch:
    """Packed sequences joined into one row, position ids anew at each document."""
    examples = [Example(pack.input_ids, pack.labels, (1,) * len(pack.input_ids)) for pack in packs]
    positions = [pack.position_ids or range(len(pack.input_ids)) for pack in packs]
    return flat_batch(examples, range(len(packs)), positions, recipe, pad_id)


def first_masked(pack: Pack, recipe: Recipe) -> Pack:
    """A pack with the labels of the padding-free collator: where a position is 0 there is no loss. `wrapped` is
    collated so only where batch.flatten says it."""
    if recipe.pack.strategy == "wrapped" and not recipe.batch.flatten:
        return pack
    places = pack.position_ids or range(len(pack.input_ids))
    labels = tuple(IGNORE_INDEX if place == 0 else label for place, label in zip(places, pack.labels))
    return replace(pack, labels=labels, attention_mask=None, position_ids=tuple(places))
