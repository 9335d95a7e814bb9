"""sample_packing: Axolotl's multipack, its V2 collator, and what is random about it.

Source: axolotl 0.19.0, utils/samplers/multipack.py, core/trainers/base.py (_create_multipack_sampler,
_get_train_sampler) and utils/collators/batching.py. Rows are put, in the order of the sampler, each
into the first bin with room; the sampler is random unless curriculum_sampling is set, so what is
shown here is what a sequential one gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sftui.errors import RecipeError
from sftui.labels import columns_of
from sftui.model import Example, Pack
from sftui.recipe import Recipe
from sftui.trainers import packing
from sftui.trainers.axolotl import AxolotlOptions
from sftui.trainers.axolotl.settings import RECORD

BIN_SIZE = 200
"""sample_packing_bin_size: no more rows than this in one bin."""
VARLEN: tuple[str, ...] = tuple(RECORD["variable length attention"].split())
RANDOM = (
    "Axolotl packs rows in a new random order each epoch (RandomSampler); sftui packs them in dataset"
    " order, as curriculum_sampling does; both drop an incomplete last batch"
)
NUMBERED = (
    "the attention mask numbers the documents in a pack from 1, as Axolotl does for the model types it lists (llama,"
    " qwen, mistral, phi, gemma …); for others it is all ones, and with flash, flex, sdpa or eager attention there is"
    " none"
)


def first_fit(lengths: Sequence[int], capacity: int, most: int, group: int) -> list[list[int]]:
    """Row positions in bins, `group` rows at a time: the first bin with room."""
    bins: list[list[int]] = []
    step = max(group, 1)
    for start in range(0, len(lengths), step):
        rows = range(start, min(start + step, len(lengths)))
        leaves = 1 << (len(rows) - 1).bit_length()
        room = [capacity] * (2 * leaves)  # the most below each node of a tree; what holds no row yet has all of it
        made: list[list[int]] = [[] for _ in rows]
        for index in rows:
            size, node = lengths[index], 1
            if room[1] < size:  # longer than a bin: it gets one
                node = leaves + sum(map(bool, made))
            while node < leaves:
                node = 2 * node + (room[2 * node] < size)
            held = made[node - leaves]
            held.append(index)
            room[node] = room[node] - size if len(held) < most else -1
            while node > 1:
                node //= 2
                room[node] = max(room[2 * node], room[2 * node + 1])
        bins += filter(None, made)
    return bins


def places(examples: Sequence[Example], recipe: Recipe) -> Iterator[packing.Documents]:
    """The packs of a group, or of all rows where they are packed in their order (see `Packing.places`)."""
    if AxolotlOptions.of(recipe).sample_packing_sequentially:
        return map(packing.documents_of, packing.next_fit(enumerate(examples), bin_size(recipe)))
    bins = bins_of(examples, bin_size(recipe), recipe)
    return ([(index, 0, len(examples[index].input_ids)) for index in members] for members in bins)


def bins_of(examples: Sequence[Example], capacity: int, recipe: Recipe) -> list[list[int]]:
    """Row positions in bins of so many tokens."""
    lengths = [len(example.input_ids) for example in examples]
    most = AxolotlOptions.of(recipe).sample_packing_bin_size or BIN_SIZE
    return first_fit(lengths, capacity, most, recipe.pack.group)


def next_fit(examples: Iterable[Example], capacity: int, attention: str) -> Iterator[Pack]:
    """sample_packing_sequentially: a row that does not fit opens the next bin; no groups, no most rows in a bin."""
    return (_pack(rows, attention) for rows in packing.next_fit(enumerate(examples), capacity))


def bin_size(recipe: Recipe) -> int:
    """Tokens in a bin: with real batches a bin is one sequence_len. RecipeError without."""
    if recipe.length.max is None:
        raise RecipeError("Axolotl cannot pack without sequence_len", fix="set length.max")
    return recipe.length.max * (1 if real_batches(recipe) else recipe.batch.size)


def real_batches(recipe: Recipe) -> bool:
    """multipack_real_batches; unset, it is off for attention that keeps packed documents apart by position ids."""
    own = AxolotlOptions.of(recipe)
    attention = own.attn_implementation
    unset = recipe.batch.attention != "none" if attention is None else not varlen(attention)
    return unset if own.multipack_real_batches is None else own.multipack_real_batches


def varlen(attention: str) -> bool:
    """Whether an attention implementation, any revision of it, packs by position ids alone."""
    return attention.split(":", 1)[0].split("@", 1)[0].strip() in VARLEN


def packs_of(examples: Sequence[Example], bins: Sequence[Sequence[int]], attention: str) -> Iterator[Pack]:
    """Bins as packs: position ids start anew in each document, the mask counts documents or is all ones."""
    return (_pack([(index, examples[index]) for index in members], attention) for members in bins)


def _pack(held: Sequence[tuple[int, Example]], attention: str) -> Pack:
    mask: list[int] = []
    for number, (_, example) in enumerate(held, 1):
        mask += [value * (number if attention == "doc_ids" else 1) for value in example.attention_mask]
    documents = tuple((index, 0, len(example.input_ids)) for index, example in held)
    columns = columns_of([(example, 0, len(example.input_ids)) for _, example in held])
    return Pack(documents, *columns, None if attention == "none" else tuple(mask))
