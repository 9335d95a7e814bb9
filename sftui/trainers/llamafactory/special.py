"""What a template does to the tokenizer: EOS and pad tokens, and stop words that become special.

Source: llamafactory 0.9.5, data/template.py `fix_special_tokens`; transformers 5, tokenization_utils_base.py
`add_special_tokens`: also a known token is added anew, as special and without the stripping it may have had.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sftui.errors import TokenizerError
from sftui.tokens import LoadedTokenizer
from sftui.tokens.loaded import FastEngine
from sftui.trainers.llamafactory.registry import SlotTemplate

FALLBACK_EOS = "<|endoftext|>"


def fix_special_tokens(tokenizer: LoadedTokenizer, template: SlotTemplate) -> LoadedTokenizer:
    """The tokenizer as the template leaves it; new tokens get new ids and a note."""
    facts, words = tokenizer.facts, template.stop_words
    eos = eos_under(template, facts.eos_token)
    added = list(words[1:] if template.replace_eos else words)
    if eos != facts.eos_token:
        added.insert(0, eos)
    tokenizer = with_tokens(tokenizer, added)
    pad = eos if facts.pad_id is None else None
    return tokenizer.overriding(eos=eos if eos != facts.eos_token else None, pad=pad)


def eos_under(template: SlotTemplate, own: str | None) -> str:
    """The EOS of a tokenizer that has this one of its own, or none, under a template."""
    if template.replace_eos:
        return template.stop_words[0]
    return FALLBACK_EOS if own is None else own


def with_tokens(tokenizer: LoadedTokenizer, words: Sequence[str], *, special: bool = True) -> LoadedTokenizer:
    """The tokenizer with tokens added, special or not; the same one where nothing would change."""
    engine = tokenizer.engine
    missing = [word for word in words if tokenizer.token_id(word) is None]
    if not isinstance(engine, FastEngine):
        if missing:
            raise TokenizerError(
                f"`{missing[0]}` cannot be added to this tokenizer",
                where=tokenizer.facts.name,
                why="it has no fast version",
                fix="choose a template whose stop words it knows",
            )
        return tokenizer
    known = {token.content: token for token in engine.backend.get_added_tokens_decoder().values()}
    if special and all(word in known and _plain(known[word]) for word in words):
        return tokenizer
    from tokenizers import AddedToken, Tokenizer

    backend = Tokenizer.from_str(engine.backend.to_str())
    if special:
        backend.add_special_tokens(
            [AddedToken(word, lstrip=False, rstrip=False, normalized=False, special=True) for word in words]
        )
    else:
        backend.add_tokens(list(words))
    facts = replace(tokenizer.facts, vocab_size=backend.get_vocab_size())
    if missing:
        facts = facts.noting(
            f"LLaMA-Factory adds {', '.join(missing)} to the tokenizer: the model needs resize_vocab: true"
        )
    return LoadedTokenizer(facts, FastEngine(backend, split_special_tokens=facts.split_special_tokens))


def _plain(token: Any) -> bool:
    return bool(token.special) and not (token.lstrip or token.rstrip or token.normalized or token.single_word)
