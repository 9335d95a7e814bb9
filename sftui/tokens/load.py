"""`load_tokenizer`: a name → a LoadedTokenizer, proven where that is possible."""

from __future__ import annotations

from pathlib import Path

from sftui.tokens.loaded import FastEngine, LoadedTokenizer
from sftui.tokens.locate import locate


def load_tokenizer(
    name: str, *, revision: str | None = None, cache_dir: Path | str | None = None, mode: str = "proven"
) -> LoadedTokenizer:
    """Load a tokenizer by Hub name, folder, tokenizer.json, .gguf or builtin:NAME; TokenizerError."""
    from sftui.tokens.reference import load_reference, read_facts

    place = locate(name, revision)
    tokenizer = load_reference(place)
    facts = read_facts(tokenizer, place)
    return LoadedTokenizer(facts, FastEngine(tokenizer.backend_tokenizer, split_special_tokens=facts.split_special_tokens))
