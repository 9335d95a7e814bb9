"""The engine for whole datasets: fastokens, where it is installed and gives the very ids of `tokenizers`.

It encodes 10 to 20 times as fast, but knows no offsets and takes longer to load. So it is proven before it is used, on
the probe strings and on texts of the user's own rows, and a text of every chunk goes through both as long as it runs:
where they differ, the chunk and all that follows is encoded by `tokenizers`, and `Bulk.told` says so.
"""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from sftui.tokens.loaded import FastEngine, LoadedTokenizer, is_panic
from sftui.tokens.probes import probe_strings
from sftui.tokens.release import give_back

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
        if type(plain.engine) is not FastEngine or self.told is not None:
            return plain
        fast = _proven(plain.engine, probe_strings(plain.facts.special_tokens.values()), texts)
        if fast is None:
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


class _FastEngine(FastEngine):
    """`tokenizers` for all but the ids of many texts."""

    def __init__(self, plain: FastEngine, fast: Any, bulk: Bulk) -> None:
        super().__init__(plain.backend, split_special_tokens=plain.backend.encode_special_tokens)
        self._fast, self._bulk = fast, bulk
        self._asked = 0

    def ids_batch(self, texts: Sequence[str], add_special_tokens: bool) -> list[tuple[int, ...]]:
        if len(texts) < 2 or self._bulk.told is not None:
            return super().ids_batch(texts, add_special_tokens)
        found = _flat(self._fast, texts, add_special_tokens, self.backend.encode_special_tokens)
        self._asked += 1
        one = self._asked % len(texts)
        if super().ids_batch([texts[one]], add_special_tokens)[0] == found[one]:
            return found
        self._bulk.differs(texts[one])
        return super().ids_batch(texts, add_special_tokens)


def _proven(plain: FastEngine, probes: Sequence[str], texts: Sequence[tuple[str, bool]]) -> Any:
    """fastokens over the same tokenizer; None where it is not there, refuses it (Unigram, WordPiece, NFKD …), or gives
    other ids for the probe strings or the texts, as they are or with special tokens."""
    try:
        import fastokens

        written = compact(plain.backend.to_str())
        give_back()
        fast = fastokens.Tokenizer.from_json_str(written)
        del written
        give_back()
        fast.no_truncation()
        fast.no_padding()
        for special in (False, True):
            some = [*probes, *(text for text, added in texts if added is special)]
            if _flat(fast, some, special, plain.backend.encode_special_tokens) != plain.ids_batch(some, special):
                return None
    except BaseException as error:  # what it raises for what it does not know is its own
        if not isinstance(error, Exception) and not is_panic(error):
            raise
        return None
    return fast


def compact(written: str) -> str:
    """A serialised tokenizer with its merges as `a b`, where no token of them holds a space: fastokens then takes 85 MB
    less while it reads a vocabulary of 128k."""
    tokenizer = json.loads(written)
    merges = tokenizer["model"].get("merges") or ()
    if not merges or any(isinstance(pair, str) or " " in pair[0] or " " in pair[1] for pair in merges):
        return written
    tokenizer["model"]["merges"] = [f"{left} {right}" for left, right in merges]
    return json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":"))


def _flat(fast: Any, texts: Sequence[str], special: bool, split: bool) -> list[tuple[int, ...]]:
    ids, bounds = array("I"), array("Q")
    flat, offsets = fast.encode_batch_flat(list(texts), add_special_tokens=special, split_special_tokens=split)
    ids.frombytes(flat)
    bounds.frombytes(offsets)
    if sys.byteorder == "big":
        ids.byteswap()
        bounds.byteswap()
    return [tuple(ids[start:end]) for start, end in pairwise(bounds)]
