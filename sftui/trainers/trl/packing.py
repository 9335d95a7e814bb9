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
from dataclasses import replace
from itertools import chain

from sftui import labels as label_rules
from sftui.errors import RecipeError
from sftui.model import IGNORE_INDEX, Batch, Example, Pack
from sftui.recipe import Recipe
from sftui.trainers import traits_of
from sftui.trainers.base import Toolbox, Trainer, pad_token_id
from sftui.trainers.own_config import require
from sftui.trainers.packing import Documents, pack_wrapped, wrapped


def places(examples: Sequence[Example], recipe: Recipe) -> Iterator[Documents]:
    """The packs of a group (see `Packing.places`)."""
    require(recipe, "pack.strategy")
    size = recipe.length.max
    if size is None:
        title = traits_of(recipe.preset).title
        raise RecipeError(f"{title} cannot pack without max_length", fix="set length.max")
    if recipe.pack.strategy == "wrapped":
        return wrapped(examples, size)
    return iter(best_fit(examples, size, split=recipe.pack.strategy == "bfd_split"))


def best_fit(examples: Sequence[Example], size: int, *, split: bool) -> list[Documents]:
    """Each example cut to `size` (or split into chunks of it), longest first into the fullest bin that fits.

    Ties keep their order; bins with equal space are filled oldest first; empty examples go.
    """
    documents: Documents = []
    for index, example in enumerate(examples):
        n = len(example.input_ids)
        if n > size and split:
            documents += [(index, start, min(start + size, n)) for start in range(0, n, size)]
        elif n:
            documents.append((index, 0, min(n, size)))
    bins: list[Documents] = []
    by_space: defaultdict[int, deque[Documents]] = defaultdict(deque)
    spaces: list[int] = [size]  # sorted; a fresh bin is always on offer
    for document in sorted(documents, key=lambda d: d[1] - d[2]):
        length = document[2] - document[1]
        at = bisect_left(spaces, length)
        space = spaces[at]
        if space < size:
            same = by_space[space]
            chosen = same.popleft()
            if not same:
                del spaces[at]
        else:
            chosen = []
            bins.append(chosen)
        chosen.append(document)
        left = space - length
        if left:
            same = by_space[left]
            if not same:
                insort(spaces, left)
            same.append(chosen)
    return bins


def _flatten(examples: Sequence[Example], documents: Documents) -> Pack:
    columns = label_rules.columns_of([(examples[index], start, end) for index, start, end in documents])
    return Pack(tuple(documents), *columns)


class CollatorTrainer(Trainer):
    """A trainer whose packs and batches TRL's code makes."""

    def collate(self, examples: Sequence[Example], rows: Sequence[int], recipe: Recipe, tools: Toolbox) -> Batch:
        if not recipe.batch.flatten:
            return super().collate(examples, rows, recipe, tools)
        return flat_batch(examples, rows, recipe, pad_token_id(recipe, tools)[0])

    def pack(self, examples: Sequence[Example], recipe: Recipe, tools: Toolbox) -> Iterator[Pack]:
        if recipe.pack.strategy == "wrapped" and recipe.length.max is not None:
            return pack_wrapped(examples, recipe.length.max)
        return (_flatten(examples, documents) for documents in places(examples, recipe))

    def fed(self, pack: Pack, recipe: Recipe) -> Pack:
        """A pack with the labels of the padding-free collator: where a position is 0 there is no loss. `wrapped` is
        collated so only where batch.flatten says it."""
        if recipe.pack.strategy == "wrapped" and not recipe.batch.flatten:
            return pack
        places = pack.position_ids or range(len(pack.input_ids))
        labels = tuple(IGNORE_INDEX if place == 0 else label for place, label in zip(places, pack.labels))
        return replace(pack, labels=labels, attention_mask=None, position_ids=tuple(places))

    def packing_order(self, recipe: Recipe) -> str:
        return f"{super().packing_order(recipe)} (one process)"

    def collate_packs(self, packs: Sequence[Pack], recipe: Recipe, tools: Toolbox) -> Batch:
        if recipe.pack.strategy == "wrapped" and not recipe.batch.flatten:
            return super().collate_packs(packs, recipe, tools)
        return flat_batch(packs, range(len(packs)), recipe, pad_token_id(recipe, tools)[0])


def flat_batch(documents: Sequence[Example | Pack], rows: Sequence[int], recipe: Recipe, pad_id: int | None) -> Batch:
    """Padding-free: one row, position ids that start anew, no attention mask, first of each document masked."""
    ids = [token for document in documents for token in document.input_ids]
    places: list[int] = []
    for document in documents:
        stored = document.position_ids if isinstance(document, Pack) else None
        places += stored or range(len(document.input_ids))
    gap = -len(ids) % (recipe.batch.multiple or 1)
    label_rules.refuse_too_large(1, len(ids) + gap)
    labels = chain.from_iterable(document.labels for document in documents)
    masked = [IGNORE_INDEX if place == 0 else label for place, label in zip(places, labels)]
    return Batch(
        rows=tuple(rows),
        lengths=tuple(len(document.input_ids) for document in documents),
        input_ids=((*ids, *[pad_id or 0] * gap),),
        labels=((*masked, *[IGNORE_INDEX] * gap),),
        attention_mask=None,
        position_ids=((*places, *[0] * gap),),
        notes=("padding-free: one row, no attention mask; the first token of each document has no loss",),
    )
