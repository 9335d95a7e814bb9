"""Compare a `tokenizers` backend with AutoTokenizer on texts: ids and offsets, both ways of adding specials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from sftui.tokens.loaded import FastEngine, RefusedText


class Encoder(Protocol):
    """What encodes texts as `autotokenizer.encode` does: a process that was requested, or a tokenizer of our own."""

    def encode(self, texts: Sequence[str], special: bool) -> list[list[Any]]: ...


DRAWN = ": the same text gets different ids each time, so nothing can be verified, and"
"""What follows from a cause by which ids are drawn."""
Wanted = tuple[list[list[Any]], list[list[Any]]]
"""The rows of `wanted` for the probes, without and with special tokens."""


def wanted(reference: Encoder, probes: Sequence[str]) -> Wanted:
    """What AutoTokenizer makes of the probes, both ways; three times None for one that it refuses.

    CodeLlama's refuses two places to fill in one text. RefusedText where it refuses them all.
    """
    return _rows(reference, probes, False), _rows(reference, probes, True)


def _rows(reference: Encoder, probes: Sequence[str], special: bool) -> list[list[Any]]:
    try:
        return reference.encode(probes, special)
    except RefusedText:
        rows: list[list[Any]] = []
        for probe in probes:
            try:
                rows += reference.encode([probe], special)
            except RefusedText:
                rows.append([None, None, None])
        if not any(row[0] for row in rows):
            raise
        return rows


def read_json_backend(text: str, split_special_tokens: bool) -> FastEngine:
    """The backend in a serialised text, read by our own tokenizers; Exception where it cannot be."""
    from tokenizers import Tokenizer

    return FastEngine(Tokenizer.from_str(text), split_special_tokens=split_special_tokens)


def count_differences(answers: Wanted, backend: Any, probes: Sequence[str], *, places: bool = True) -> int:
    """How many probes give other ids, or offsets, in the backend than in the answers, without or with special tokens;
    without `places` ids alone count."""
    return sum(
        any(not same(rows[i], backend, probe, special, places) for special, rows in zip((False, True), answers))
        for i, probe in enumerate(probes)
    )


def backend_differences(reported: Mapping[str, Any], answers: Wanted, probes: Sequence[str]) -> int:
    """The same for the backend of which `autotokenizer.facts` told, read by our tokenizers; all where we cannot read
    it."""
    try:
        again = read_json_backend(reported["backend"], reported["split_special_tokens"])
    except Exception:  # tokenizers raises bare Exception for everything it cannot read
        return len(probes)
    return count_differences(answers, again.backend, probes)


def count_other_ids(a: Wanted, b: Wanted) -> int:
    """How many probes have other ids in two answers."""
    return sum(any(one[i][0] != other[i][0] for one, other in zip(a, b)) for i in range(min(len(a[0]), len(b[0]))))


def same(row: Sequence[Any], backend: Any, text: str, special: bool, places: bool = True) -> bool:
    """Whether a backend makes of a text what AutoTokenizer made of it: ids and offsets, or a refusal."""
    try:
        got = backend.encode(text, add_special_tokens=special)
    except Exception:  # tokenizers raises nothing narrower, for a missing unknown token for instance
        return row[0] is None
    if row[0] is None or list(row[0]) != got.ids:
        return False
    return not places or [tuple(pair) for pair in row[1]] == got.offsets


def added_contents(reported: Mapping[str, Any]) -> list[str]:
    """The added tokens of what `autotokenizer.facts` told, in the order of their ids."""
    return [one[1] for one in reported["added"]]
