"""The rounds of tokenizers and datasets of our own making (`new_material*.py`), and a trainer's cases on them.

What a trainer has on a round is in `rounds.py` of its folder: a function of the round's name. Each case sends all of
its rows or packs, or as many batches as the round says, through the trainer's own collator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import new_material_five
import new_material_four
import new_material_two
import shared_cases
from case import Case
from trainers import having, module_of

ROUNDS = {
    "new": "on the tokenizers and datasets of our own making, every tokenizer with some and every setting with several",
    "two": "on those of the second round: other BOS, EOS and pad, tools, reasoning, parts, odd roles, long and empty",
    "three": "on those of the third round, 560 rows and more each, with real tokenizers",
    "four": "on those of the fourth round: settings that are unusual and published templates",
    "five": "on those of the fifth round: prompt types, templates by name, rows of no ids or no text",
    "shared": "packs over the whole datasets of ../shared",
}
Keys = Mapping[str, Any]
Setting = tuple[str, str, Keys, Keys]
"""A name, the dataset, the trainer's own keys, and its description of the dataset."""
QWEN, QWEN3, LLAMA, PHI, MINI = "qwen2.5", "made:qwen3", "llama-3-8b-instruct", "phi-3-mini", "minimind"
REAL = (QWEN, LLAMA, PHI, MINI, QWEN3)
ALL = {"size": 5, "count": 1_000_000}


@dataclass(frozen=True)
class Round:
    """How the cases of a round are called, whose tokenizers they take beside real ones, and what is batched."""

    name: str
    tokenizers: str
    batch: Mapping[str, int]

    def case(
        self, name: str, data: str, tokenizer: str, config: Keys, dataset: Keys, template: str | None = None
    ) -> Case:
        words = [self.name, name, data, tokenizer.replace(":", "_")]
        if self is FOUR and template:
            words.append(template)
        made = tokenizer if tokenizer in REAL or ":" in tokenizer else f"{self.tokenizers}:{tokenizer}"
        return Case("_".join(words), f"{self.name}:{data}", made, config, template, dataset=dataset, batch=self.batch)

    def each(self, settings: Iterable[Setting], tokenizers: tuple[str, ...], each: int) -> Iterator[Case]:
        """Every setting on `each` tokenizers, going on where the one before ended."""
        coming = cycle(tokenizers)
        for name, data, config, dataset in settings:
            for _ in range(each):
                yield self.case(name, data, next(coming), config, dataset)


NEW, TWO, THREE = Round("new", "new", ALL), Round("two", "two", ALL), Round("three", "", {"size": 4, "count": 20})
FOUR, FIVE = Round("four", "four", {"size": 3, "count": 12}), Round("five", "new", ALL)

RICH_ONLY = ("roles", "calls", "reasoning", "parts")
"""Datasets that only templates of `new_material_two.RICH_ONES` can write."""


def two_each(settings: Iterable[Setting], each: int) -> Iterator[Case]:
    """Every setting on `each` tokenizers that can write its rows, going on where the one before ended."""
    plain, rich = cycle(new_material_two.TOKENIZERS), cycle(new_material_two.RICH_ONES)
    for name, data, config, dataset in settings:
        for _ in range(each):
            yield TWO.case(name, data, next(rich if data in RICH_ONLY else plain), config, dataset)


CHATS = (
    *("blank", "middle", "nulls", "thoughts", "calls", "bare_calls", "images", "parts", "trained", "marks", "roles"),
    *("arguments", "lengthy"),
)
PUBLISHED = (
    *(("trl_cohere", LLAMA), ("trl_cohere2", QWEN), ("trl_lfm2_2_5", QWEN), ("trl_deepseekv3", QWEN3)),
    *(("trl_nemotron_3_nano", QWEN3), ("trl_qwen3_6", QWEN3), ("trl_tiny_aya", MINI), ("trl_phi3_5", PHI)),
    *(("trl_gemma3", MINI), ("trl_glm4moe", QWEN3), ("trl_diffusion_gemma", MINI), ("cfg_minimind", MINI)),
    *(("trl_qwen3_5_think", QWEN3), ("trl_llama3", LLAMA)),
)
"""Published templates that write no day, each with a real tokenizer."""


def four_each(
    settings: Iterable[Setting], each: int, tokenizers: tuple[str, ...] = new_material_four.TOKENIZERS
) -> Iterator[Case]:
    return FOUR.each(settings, tokenizers, each)


def published(name: str, settings: tuple[tuple[Keys, Keys], ...], left_out: tuple[str, ...] = ()) -> Iterator[Case]:
    """Each published template on the chats that follow, under one of the settings in turn."""
    coming, data = cycle(settings), cycle(chat for chat in CHATS if chat not in left_out)
    for template, tokenizer in PUBLISHED:
        for _ in range(2):
            config, dataset = next(coming)
            yield FOUR.case(name, next(data), tokenizer, config, dataset, template)


TOKENIZED = tuple(
    name for name in new_material_five.DATASETS if name.startswith(("ids_", "along_", "labels_", "first_", "mask"))
)


def five_each(
    settings: Iterable[Setting], each: int, tokenizers: tuple[str, ...] = ("split", "headers", "unigram")
) -> Iterator[Case]:
    """Every setting on so many tokenizers, going on where the one before ended; those of one tokenizer together."""
    yield from sorted(FIVE.each(settings, tokenizers, each), key=lambda case: case.tokenizer)


def trainers_of(name: str) -> tuple[str, ...]:
    """The trainers that have cases on a round."""
    return tuple(trainer for trainer in having("rounds") if hasattr(module_of(trainer, "rounds"), name))


def cases(trainer: str, name: str) -> tuple[Case, ...]:
    """A trainer's cases on a round."""
    if name == "shared":
        return tuple(shared_cases.cases(trainer))
    return tuple(getattr(module_of(trainer, "rounds"), name)())


IN_EACH_RUN = "four:opened"
"""The tokenizer of which each run of parity tries every second case: a proof takes the most of a case's time."""


def cases_of_each_run(trainer: str) -> tuple[Case, ...]:
    """Those of a trainer on the fourth round; none where it has none there."""
    found = cases(trainer, "four") if trainer in trainers_of("four") else ()
    return tuple(case for case in found if case.tokenizer == IN_EACH_RUN)[::2]
