"""The engine for whole datasets: fastokens, where it is installed and gives the very ids of `tokenizers`.

It encodes 10 to 20 times as fast, but knows no offsets and takes longer to load. So it is proven before it is used, on
the probe strings and on texts of the user's own rows, and a text of every chunk goes through both as long as it runs:
where they differ, the chunk and all that follows is encoded by `tokenizers`, and `Bulk.told` says so.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from sftui.tokens.loaded import Encoded, FastEngine, LoadedTokenizer, is_panic
from sftui.tokens.probes import probe_strings

PLAIN = "tokenizers"


class Bulk:
    """Which engine encodes a dataset, and what is to be known of it; one for each pass over the rows.

    `engine` is its name. `told` is a sentence where fastokens differed after it was proven.
    """

    FAST = "fastokens"

    def __init__(self) -> None:
        self.engine = PLAIN
        self.told: str | None = None

    def tokenizer(self, plain: LoadedTokenizer, texts: Sequence[tuple[str, bool]]) -> LoadedTokenizer:
        """The same tokenizer with fastokens, where that is installed, takes the tokenizer and equals it on `texts`."""
        if type(plain.engine) is not FastEngine:
            return plain
        fast = _load(plain.engine)
        if fast is None or not _equal(plain, fast, texts):
            return plain
        self.engine = self.FAST
        return LoadedTokenizer(replace(plain.facts, engine=self.FAST), _FastEngine(plain.engine, fast, self))

    def differs(self, text: str) -> None:
        """Another id was given for a text."""
        self.engine = PLAIN
        self.told = (
            f"fastokens gives other ids than tokenizers for a text that begins with {text[:40]!r}: tokenizers encoded"
            " its rows and all later ones; please report the text to fastokens"
        )


class _FastEngine:
    """`tokenizers` for all but the ids of many texts."""

    def __init__(self, plain: FastEngine, fast: Any, bulk: Bulk) -> None:
        self.decoding = plain.decoding
        self._plain, self._fast, self._bulk = plain, fast, bulk
        self._asked = 0

    def ids_batch(self, texts: Sequence[str], add_special_tokens: bool) -> list[tuple[int, ...]]:
        if len(texts) < 2 or self._bulk.told is not None:
            return self._plain.ids_batch(texts, add_special_tokens)
        found = _flat(self._fast, texts, add_special_tokens, self._plain.backend.encode_special_tokens)
        self._asked += 1
        one = self._asked % len(texts)
        if self._plain.ids_batch([texts[one]], add_special_tokens)[0] == found[one]:
            return found
        self._bulk.differs(texts[one])
        return self._plain.ids_batch(texts, add_special_tokens)

    def encode_batch(self, texts: Sequence[str], add_special_tokens: bool) -> list[Encoded]:
        return self._plain.encode_batch(texts, add_special_tokens)

    def piece(self, token: int) -> str | None:
        return self._plain.piece(token)

    def token_id(self, piece: str) -> int | None:
        return self._plain.token_id(piece)

    def added(self) -> Mapping[int, tuple[str, bool]]:
        return self._plain.added()


def _load(plain: FastEngine) -> Any:
    """fastokens over the same tokenizer; None where it is not there or refuses it (Unigram, WordPiece, NFKD …)."""
    try:
        import fastokens

        fast = fastokens.Tokenizer.from_json_str(plain.backend.to_str())
        fast.no_truncation()
        fast.no_padding()
    except BaseException as error:  # what it raises for what it does not know is its own
        if not isinstance(error, Exception) and not is_panic(error):
            raise
        return None
    return fast


def _equal(plain: LoadedTokenizer, fast: Any, texts: Sequence[tuple[str, bool]]) -> bool:
    """Whether both give the same ids for the probe strings and the texts, as they are and with special tokens."""
    engine = plain.engine
    assert isinstance(engine, FastEngine)
    probes = probe_strings(plain.facts.special_tokens.values())
    for special in (False, True):
        some = [*probes, *(text for text, added in texts if added is special)]
        try:
            if _flat(fast, some, special, engine.backend.encode_special_tokens) != engine.ids_batch(some, special):
                return False
        except BaseException as error:
            if not isinstance(error, Exception) and not is_panic(error):
                raise
            return False
    return True


def _flat(fast: Any, texts: Sequence[str], special: bool, split: bool) -> list[tuple[int, ...]]:
    ids, bounds = array("I"), array("Q")
    flat, offsets = fast.encode_batch_flat(list(texts), add_special_tokens=special, split_special_tokens=split)
    ids.frombytes(flat)
    bounds.frombytes(offsets)
    if sys.byteorder == "big":
        ids.byteswap()
        bounds.byteswap()
    return [tuple(ids[start:end]) for start, end in pairwise(bounds)]
