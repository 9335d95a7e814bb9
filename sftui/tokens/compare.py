"""Compare a `tokenizers` backend with AutoTokenizer on texts: ids and offsets, both ways of adding specials."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sftui.tokens.facts import TokenizerFacts
from sftui.tokens.loaded import FastEngine


def serialise(reference: Any, facts: TokenizerFacts, probes: Sequence[str]) -> tuple[str, int]:
    """The backend as text, truncation and padding off, and on how many probes it is not the reference.

    Both are off because AutoTokenizer sets them anew in each call, by default to none: what was
    saved in tokenizer.json never acts there.
    """
    from tokenizers import Tokenizer

    backend = reference.backend_tokenizer
    backend.no_truncation()
    backend.no_padding()
    text = backend.to_str()
    again = FastEngine(Tokenizer.from_str(text), split_special_tokens=facts.split_special_tokens).backend
    return text, count_differences(reference, again, probes)


def count_differences(reference: Any, backend: Any, probes: Iterable[str]) -> int:
    """How many probes give other ids or offsets, with or without special tokens."""
    return sum(any(not _same(reference, backend, probe, special) for special in (False, True)) for probe in probes)


def _same(reference: Any, backend: Any, text: str, special: bool) -> bool:
    wanted = reference(text, add_special_tokens=special, return_offsets_mapping=True)
    got = backend.encode(text, add_special_tokens=special)
    same = list(wanted["input_ids"]) == got.ids and [tuple(o) for o in wanted["offset_mapping"]] == got.offsets
    return bool(same)
