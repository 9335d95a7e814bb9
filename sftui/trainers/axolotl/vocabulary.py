"""Tokens that a config adds to the tokenizer: special_tokens, tokens, added_tokens_overrides.

Source: axolotl 0.19.0, loaders/tokenizer.py (load_tokenizer, modify_tokenizer_files). Added tokens
are never normalized nor stripped around; those that the vocabulary has keep their id, new ones get
the next, for which the model has no trained embedding.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sftui.errors import RecipeError, TokenizerError
from sftui.recipe import Recipe
from sftui.tokens import LoadedTokenizer
from sftui.tokens.loaded import FastEngine
from sftui.trainers.axolotl import AxolotlOptions

LLAMA = ("LlamaTokenizer", "LlamaTokenizerFast", "CodeLlamaTokenizer", "CodeLlamaTokenizerFast")
NAMED = ("bos_token", "eos_token", "unk_token", "pad_token")


def prepared(tokenizer: LoadedTokenizer, recipe: Recipe) -> LoadedTokenizer:
    """The tokenizer as Axolotl makes it; RecipeError for what it refuses, TokenizerError for what sftui cannot add."""
    own, named = AxolotlOptions.of(recipe), recipe.tokenizer
    tokens = {"bos_token": named.bos_token, "eos_token": named.eos_token, "pad_token": named.pad_token}
    said = [*own.special_tokens.items(), *tokens.items()]
    special = {name: token for name, token in said if token is not None}
    more = special.pop("additional_special_tokens", [])
    if isinstance(more, str) or not isinstance(more, Sequence):
        raise RecipeError("additional_special_tokens must be a list of tokens", fix="write it as in an Axolotl config")
    unknown = sorted(set(special) - set(NAMED))
    if unknown:
        raise RecipeError(
            f"special_tokens has no token `{unknown[0]}`", fix=f"use {', '.join(NAMED)} or additional_special_tokens"
        )
    tokenizer = _overridden(tokenizer, own.added_tokens_overrides)
    if tokenizer.facts.class_name in LLAMA and not tokenizer.facts.pad_token and tokenizer.token_id("</s>") is not None:
        tokenizer = _named(tokenizer, {"pad_token": "</s>"})
    if tokenizer.facts.class_name == "GPTNeoXTokenizerFast":
        tokenizer = _named(_with_tokens(tokenizer, ["[PAD]"], special=True), {"pad_token": "[PAD]"})
    values = {name: str(token) for name, token in special.items()}
    tokenizer = _named(_with_tokens(tokenizer, list(values.values()), special=True), values)
    tokenizer = _with_tokens(tokenizer, own.tokens, special=False)
    tokenizer = _with_tokens(tokenizer, list(map(str, more)), special=True)
    facts = tokenizer.facts
    if facts.pad_token is None and facts.eos_token is not None:
        tokenizer = _named(tokenizer, {"pad_token": facts.eos_token})
    return tokenizer


def _with_tokens(tokenizer: LoadedTokenizer, tokens: Sequence[str], *, special: bool) -> LoadedTokenizer:
    """The tokenizer with these as added tokens, one that strips no space around it also where it did before."""
    if not tokens:
        return tokenizer
    from tokenizers import AddedToken

    wanted = [
        AddedToken(token, rstrip=False, lstrip=False, normalized=False, special=special)
        for token in dict.fromkeys(tokens)
    ]
    if isinstance(tokenizer.engine, FastEngine):
        have = {value.content: value for value in tokenizer.engine.backend.get_added_tokens_decoder().values()}
        wanted = [one for one in wanted if one.content not in have or _flags(have[one.content]) != _flags(one)]
    if not wanted:
        return tokenizer
    backend = _copy(tokenizer, f"the tokens {', '.join(one.content for one in wanted)}")
    new = [added_token.content for added_token in wanted if tokenizer.token_id(added_token.content) is None]
    (backend.add_special_tokens if special else backend.add_tokens)(wanted)
    made = _loaded(tokenizer, backend)
    names = ", ".join(f"{token} ({made.token_id(token)})" for token in new)
    note = f"the config adds {names}: the model has no trained embedding for new tokens"
    return LoadedTokenizer(made.facts.noting(note), made.engine) if new else made


def _flags(token: Any) -> tuple[bool, ...]:
    return token.rstrip, token.lstrip, token.normalized, token.single_word, token.special


def _named(tokenizer: LoadedTokenizer, names: Mapping[str, str]) -> LoadedTokenizer:
    """The tokenizer whose bos_token and so on are these; all of them are in the vocabulary by now."""
    if not names:
        return tokenizer
    own = {name.removesuffix("_token"): token for name, token in names.items() if name in NAMED}
    made = tokenizer.overriding(**own)
    facts = replace(made.facts, special_tokens={**tokenizer.facts.special_tokens, **names})
    return LoadedTokenizer(facts, tokenizer.engine)


def _overridden(tokenizer: LoadedTokenizer, wanted: Mapping[int, str]) -> LoadedTokenizer:
    """added_tokens_overrides: reserved added tokens, named by id, get another text."""
    if not wanted:
        return tokenizer
    added = tokenizer.engine.added()
    for token_id in wanted:
        if token_id not in added:
            raise RecipeError(
                f"Axolotl cannot override token {token_id}",
                why="it is not among the tokenizer's added tokens",
                fix="name the id of a reserved added token",
            )
    backend = json.loads(_copy(tokenizer, "added_tokens_overrides").to_str())
    for entry in backend["added_tokens"]:
        entry["content"] = wanted.get(entry["id"], entry["content"])
    vocabulary = backend["model"].get("vocab")
    if isinstance(vocabulary, dict):
        backend["model"]["vocab"] = {wanted.get(token_id, text): token_id for text, token_id in vocabulary.items()}
    from tokenizers import Tokenizer

    gone = {added[token_id][0] for token_id in wanted}
    made = _loaded(tokenizer, Tokenizer.from_str(json.dumps(backend)))
    # What is named so in tokenizer_config.json keeps its text, which is no token any more and becomes a new one.
    names = {
        name: text for name, text in tokenizer.facts.special_tokens.items() if isinstance(text, str) and text in gone
    }
    return _named(_with_tokens(made, list(names.values()), special=True), names)


def _copy(tokenizer: LoadedTokenizer, what: str) -> Any:
    """A copy of the backend, so that the tokenizer of other recipes stays as it is."""
    if not isinstance(tokenizer.engine, FastEngine):
        raise TokenizerError(
            f"sftui cannot add {what}",
            where=tokenizer.facts.name,
            why="it is a slow tokenizer",
            fix="save the tokenizer with them and open that",
        )
    from tokenizers import Tokenizer

    return Tokenizer.from_str(tokenizer.engine.backend.to_str())


def _loaded(tokenizer: LoadedTokenizer, backend: Any) -> LoadedTokenizer:
    facts = replace(tokenizer.facts, vocab_size=max(tokenizer.facts.vocab_size, backend.get_vocab_size()))
    return LoadedTokenizer(facts, FastEngine(backend, split_special_tokens=facts.split_special_tokens))
