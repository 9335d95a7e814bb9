"""Tokens of rows that Axolotl encodes in parts: prompt and response, or one text cut into chunks.

Source: axolotl 0.19.0, prompt_tokenizers.py (PromptTokenizingStrategy._tokenize), prompt_strategies/
metharme.py and completion.py. Each part is encoded with the tokenizer's own special tokens and cut
to a limit; EOS follows where there is room; a BOS before the response goes.

Rows of a `pretraining_dataset` are texts of one window, all of it trained: utils/data/streaming.py
(wrap_streaming_dataset, encode_streaming), utils/data/sft.py (_extract_pretraining_config) and
prompt_strategies/pretrain.py. With sample_packing a text goes through the strategy of its type; that of `pretrain`
gives windows of sequence_len - 1 tokens, each with EOS behind it. Without, the type is not asked: the text is cut at
sequence_len - 2, and no EOS is put behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeVar

from sftui.errors import RecipeError, TokenizerError
from sftui.model import NOWHERE, Part, RenderedText, Span, Tokens
from sftui.recipe import Recipe, Tokenize
from sftui.runs import Ranges, Runs, as_runs, covered, flat, joined, merged
from sftui.tokens import LoadedTokenizer, tokenize
from sftui.trainers.pieces import cut_by_tokenizer

T = TypeVar("T")
LEAST_WINDOW = 2
"""A window of fewer tokens is left out (utils/trainer.py filter_sequences_by_length)."""
COMPLETION_LIMIT = 64
"""A text of type completion is cut at so many sequence lengths; what lies behind is lost."""
_PLAIN = Tokenize(mode="whole", add_special_tokens=True, append_eos="never", bos="keep")


@dataclass(frozen=True, slots=True)
class EncodedPart:
    """Tokens of one part and which of them Axolotl keeps when the part is over its limit."""

    tokens: Tokens
    kept: Ranges


def prompt_and_response(
    rendered: RenderedText, prompt: int, tokenizer: LoadedTokenizer, limit: int | None, eos: int
) -> EncodedPart:
    """The two parts of a row, the first `prompt` characters being the prompt; messages are 0 and 1."""
    first = _part(rendered, 0, prompt, tokenizer, limit, eos=0, skip_empty=eos == 1)
    second = _part(rendered, prompt, len(rendered.text), tokenizer, limit, eos=eos, strip_bos=True, skip_empty=eos == 1)
    size, behind = len(first.tokens), len(second.tokens)
    owners = joined([(size, 0), (behind, 1)])  # of those that stand for no text, too
    kept = [*first.kept, *((start + size, end + size) for start, end in second.kept)]
    return EncodedPart(replace(_joined([first.tokens, second.tokens]), messages=owners), merged(kept))


def completion(rendered: RenderedText, tokenizer: LoadedTokenizer, sequence_len: int | None) -> EncodedPart:
    """One text with EOS behind it, before it is cut into chunks."""
    limit = None if sequence_len is None else sequence_len * COMPLETION_LIMIT
    return _part(rendered, 0, len(rendered.text), tokenizer, limit, eos=1)


def whole(rendered: RenderedText, tokenizer: LoadedTokenizer, *, eos: bool) -> Tokens:
    """One text, with EOS behind it whatever it ends with."""
    tokens = _part(rendered, 0, len(rendered.text), tokenizer, None, eos=0, skip_empty=False).tokens
    return _joined([tokens, _ending(tokenizer)]) if eos else tokens


def chunks(kept: Ranges, size: int | None, least: int) -> tuple[Ranges, ...]:
    """The kept positions in runs of `size`, each as ranges; runs shorter than `least` are left out."""
    places = [place for start, end in kept for place in range(start, end)]
    step = size or max(len(places), 1)
    runs = [places[at : at + step] for at in range(0, len(places), step)]
    return tuple(merged([(place, place + 1) for place in run]) for run in runs if len(run) >= least)


def window(count: int, tokenizer: LoadedTokenizer, recipe: Recipe) -> Ranges:
    """What is trained of a text of `count` tokens, EOS included where it has one; () where it is left out.

    RecipeError for a text that is longer than one window with sample_packing: tokenizers 0.23.1 gives the first window
    alone, 0.22.2 and 0.23.3 give all, and transformers admits each of them.
    """
    size, facts, eos = recipe.length.max, tokenizer.facts, int(has_eos(recipe))
    if size is None:
        raise RecipeError("Axolotl cannot cut text without sequence_len", fix="set length.max")
    kept = cut_by_tokenizer(count - eos, tokenizer, size - 2 + eos)
    if eos and covered(kept) < count - eos:
        text = count - eos - len(facts.front) - len(facts.back)
        raise RecipeError(
            "sftui does not show text that spans several windows",
            why=f"its {text} tokens do not fit into sequence_len {size}; tokenizers 0.23.1 keeps only the first"
            " window, 0.22.2 and 0.23.3 keep all",
            fix="shorten the text, or raise sequence_len",
        )
    run = merged([*kept, (count - eos, count)])
    return run if covered(run) >= (LEAST_WINDOW if eos else 1) else ()


def has_eos(recipe: Recipe) -> bool:
    """Whether windows have EOS behind them."""
    return recipe.pack.strategy != "none"


def _part(
    rendered: RenderedText,
    start: int,
    end: int,
    tokenizer: LoadedTokenizer,
    limit: int | None,
    *,
    eos: int,
    strip_bos: bool = False,
    skip_empty: bool = True,
) -> EncodedPart:
    text = rendered.text[start:end]
    if not text and skip_empty:
        return EncodedPart(_joined([]), ())
    spans = tuple(
        Span(max(span.start, start) - start, min(span.end, end) - start, span.message, span.part)
        for span in rendered.spans
        if span.start < end and span.end > start
    )
    tokens = _moved(tokenize(RenderedText(text, spans), tokenizer, _PLAIN), start)
    if not len(tokens):
        return EncodedPart(tokens, ())
    kept = cut_by_tokenizer(len(tokens), tokenizer, limit)
    count = covered(kept)
    facts = tokenizer.facts
    last = tokens.input_ids[kept[-1][1] - 1] if kept else None
    missing = max(eos - (last == facts.eos_id), 0)
    room = missing if limit is None else min(missing, max(limit - count, 0))
    if room:
        size = len(tokens)
        tokens = _joined([tokens, *[_ending(tokenizer)] * room])
        kept = merged([*kept, (size, size + room)])
    if strip_bos and facts.bos_id is not None and tokens.input_ids[0] == facts.bos_id:
        columns = ("ids", "starts", "ends", "messages", "parts")
        tokens = replace(tokens, **{name: getattr(tokens, name)[1:] for name in columns})
        kept = merged([(max(a - 1, 0), b - 1) for a, b in kept])
    return EncodedPart(tokens, kept)


def _ending(tokenizer: LoadedTokenizer) -> Tokens:
    """The EOS token; TokenizerError where there is none."""
    facts = tokenizer.facts
    if facts.eos_id is None:
        why, fix = "the tokenizer has no EOS token", "set special_tokens.eos_token"
        raise TokenizerError("Axolotl cannot append EOS", where=facts.name, why=why, fix=fix)
    return Tokens(flat((facts.eos_id,)), (NOWHERE,), (NOWHERE,), joined([(1, NOWHERE)]), joined([(1, Part.INJECTED)]))


def _moved(tokens: Tokens, by: int) -> Tokens:
    def move(places: Sequence[int]) -> tuple[int, ...]:
        return tuple(place if place == NOWHERE else place + by for place in places)

    return replace(tokens, starts=move(tokens.starts), ends=move(tokens.ends)) if by else tokens


def _joined(parts: Sequence[Tokens]) -> Tokens:
    def runs(columns: Iterable[Sequence[T]]) -> Runs[T]:
        return joined((end - start, value) for column in columns for start, end, value in as_runs(column).runs())

    return Tokens(
        flat([*chain.from_iterable(part.ids for part in parts)]),
        tuple(chain.from_iterable(part.starts for part in parts)),
        tuple(chain.from_iterable(part.ends for part in parts)),
        runs(part.messages for part in parts),
        runs(part.parts for part in parts),
    )
