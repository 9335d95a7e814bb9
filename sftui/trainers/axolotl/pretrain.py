"""Rows of a `pretraining_dataset`: texts of one window, all of it trained.

Source: axolotl 0.19.0, utils/data/streaming.py (wrap_streaming_dataset, encode_streaming), utils/data/sft.py
(_extract_pretraining_config) and prompt_strategies/pretrain.py. With sample_packing a text goes through the strategy of
its type; that of `pretrain` gives windows of sequence_len - 1 tokens, each with EOS behind it. Without, the type is not
asked: the text is cut at sequence_len - 2, and no EOS is put behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sftui.errors import RecipeError
from sftui.flat import Ranges, covered, merged
from sftui.recipe import Recipe
from sftui.tokens import LoadedTokenizer
from sftui.trainers.axolotl import parts

STREAMED = "pretraining_dataset"
TYPE = "pretrain"
LEAST = 2
"""A window of fewer tokens is left out (utils/trainer.py filter_sequences_by_length)."""


def entry_of(config: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The first entry of `pretraining_dataset` as one of `datasets`; Axolotl streams no other."""
    value = config[STREAMED]
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, str) and first is value:
        first = {"path": first}
    if not isinstance(first, Mapping) or not first.get("path"):
        raise RecipeError(
            f"{STREAMED} is `{value}`", where=where, why="Axolotl's schema refuses it", fix="give it a path"
        )
    packs = bool(config.get("sample_packing"))
    if not packs and config.get("pretraining_sample_concatenation"):
        raise RecipeError(
            "sftui does not show pretraining_sample_concatenation",
            where=where,
            why="Axolotl joins the texts of a buffer into sequences before anything else sees them",
            fix="set it to false, or sample_packing to true",
        )
    entry = {key: first[key] for key in ("path", "name", "split", "data_files") if first.get(key) is not None}
    kind = (first.get("type") or TYPE) if packs else TYPE
    return {"split": "train", **entry, "type": kind, "field": first.get("text_column") or "text"}


def window(count: int, tokenizer: LoadedTokenizer, recipe: Recipe) -> Ranges:
    """What is trained of a text of `count` tokens, EOS included where it has one; () where it is left out.

    RecipeError for a text that is longer than one window with sample_packing: tokenizers 0.23.1 gives the first window
    alone, 0.22.2 and 0.23.3 give all, and transformers admits each of them.
    """
    size, facts, eos = recipe.length.max, tokenizer.facts, int(has_eos(recipe))
    if size is None:
        raise RecipeError("Axolotl cannot cut a text without sequence_len", fix="set length.max")
    kept = parts.within(count - eos, tokenizer, size - 2 + eos)
    if eos and covered(kept) < count - eos:
        text = count - eos - len(facts.front) - len(facts.back)
        raise RecipeError(
            "sftui does not show a text of several windows",
            why=f"its {text} tokens are more than sequence_len {size} has room for, and tokenizers 0.23.1 keeps the"
            " first window alone, where 0.22.2 and 0.23.3 keep all",
            fix="cut the text, or set sequence_len higher",
        )
    run = merged([*kept, (count - eos, count)])
    return run if covered(run) >= (LEAST if eos else 1) else ()


def has_eos(recipe: Recipe) -> bool:
    """Whether windows have EOS behind them."""
    return recipe.pack.strategy != "none"
