"""The engine for whole datasets: the very ids and offsets of `tokenizers`, sooner.

gigatoken, where it is installed, encodes 10 to 50 times as fast, but knows no offsets and takes longer to load: it is
proven before it is used, on the probe strings and on texts of the user's own rows. Offsets are reckoned from the bytes
of the tokens where the tokenizer allows it (`offsets`), and a prompt's ids are read off those of the whole row
(`beginnings`). As long as it runs, a text of every chunk goes the plain way too: where they differ, the chunk and all
that follows is encoded by `tokenizers`, and `Bulk.mismatch` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from sftui.model import Cut
from sftui.runs import Flat
from sftui.tokens.loaded import (
    FastEngine,
    LayeredEngine,
    LoadedTokenizer,
    PrefixedText,
    TextEncoding,
    ToEncode,
    is_panic,
)
from sftui.tokens.loading.autotokenizer import randomness
from sftui.tokens.loading.probes import probe_strings
from sftui.tokens.shortcuts.beginnings import Beginnings, beginnings
from sftui.tokens.shortcuts.gigatokens import Gigatoken, gigatoken_of
from sftui.tokens.shortcuts.offsets import ByteOffsets, byte_offsets

PLAIN = "tokenizers"
CHUNK_ROWS = 256
"""Rows that are encoded in one call at most."""
LOADING, PER_TOKEN = 900_000, 16
"""Characters, also for each token of the vocabulary, that `tokenizers` takes as long to encode as gigatoken to load:
0.25 s and 4 µs a token, beside 0.27 µs a character."""


class Bulk:
    """Which engine encodes a dataset, and what is to be known of it; one for each pass over the rows.

    `engine` is its name. `mismatch` is a sentence where it differed after it was proven. gigatoken is loaded where what
    is left to encode takes longer without it (`worth`), behind the first rows (`soon`), or `never`, since nothing else
    is done meanwhile. `at_once` are the rows that are read before the first of them is given.
    """

    FAST = "gigatoken"

    def __init__(self, loads: Literal["worth", "soon", "never"] = "worth", at_once: int = CHUNK_ROWS) -> None:
        self._loads = loads
        self.at_once = at_once
        self.expected: Callable[[], int | None] = lambda: None
        """How many rows there will be, including those already encoded; twice those if unknown."""
        self.engine = PLAIN
        self.mismatch: str | None = None
        self.fast: Gigatoken | None = None
        self._rows, self._characters, self._tried = 0, 0, False
        self._plain: LoadedTokenizer | None = None
        self._many: LoadedTokenizer | None = None
        self._offsets: ByteOffsets | None = None
        self._beginnings: Beginnings | None = None

    def of(self, plain: LoadedTokenizer) -> LoadedTokenizer:
        """The tokenizer for many rows, with what it has loaded and learnt so far."""
        encoding = fast_engine(plain)
        if encoding is None or self.mismatch is not None:
            return plain
        if self._many is None or self._plain is not plain:
            self._plain, self._offsets = plain, byte_offsets(encoding.backend)
            self._beginnings = beginnings(encoding.backend)
            self.fast = None
            self._many = _with(plain, self._engine(encoding))
            self.engine, self._rows, self._characters, self._tried = PLAIN, 0, 0, False
        return self._many

    def due(self, rows: int, texts: Sequence[ToEncode]) -> bool:
        """Whether, with so many rows more, of these texts, it is time to ask for `faster`, or to ask for it again."""
        if self.fast is not None:
            return self.fast.grown()
        self._rows += rows
        self._characters += sum([len(encode.text) for encode in texts if encode.other is None])
        if self._tried or self._plain is None or not texts or self._loads == "never":
            return False
        if self._loads == "soon":
            return True
        expected = self.expected()
        left = self._rows if expected is None else expected - self._rows
        return left * self._characters > self._rows * (LOADING + PER_TOKEN * self._plain.facts.vocab_size)

    def faster(self, plain: LoadedTokenizer, texts: Sequence[ToEncode]) -> LoadedTokenizer:
        """The same with gigatoken, where that is installed, takes the tokenizer and equals it on `texts`."""
        made, again, self._tried = self.of(plain), self._tried, True
        encoding = fast_engine(plain)
        if encoding is None or self.mismatch is not None:
            return made
        if self._offsets is not None and not again:
            self._offsets.prove()
        self.fast = None  # one that has grown makes room first
        self.fast = _proven(encoding, probe_strings(plain.facts.special_tokens.values()), () if again else texts)
        self.engine = PLAIN if self.fast is None else self.FAST
        self._many = _with(plain, self._engine(encoding), self.FAST) if self.fast is not None else made
        return self._many

    def _engine(self, plain: FastEngine) -> _BulkEngine:
        return _BulkEngine(plain, self._offsets, self._beginnings, self)

    def differs(self, text: str, who: str, what: str = "ids", where: str = "sftui") -> None:
        """`who` gave other ids, or offsets, for a text; to be reported to `where`."""
        self.engine, self.fast = PLAIN, None
        self.mismatch = (
            f"{who} gives different {what} from tokenizers for text that begins with {text[:40]!r}: sftui encoded its"
            " row"
            f" and all later ones with tokenizers; please report that text to {where}"
        )


def fast_engine(plain: LoadedTokenizer) -> FastEngine | None:
    """What encodes in the end, below rules that lie over it; None where that is not `tokenizers` with the whole of its
    vocabulary, or where it cuts a text otherwise each time: nothing can be held against it."""
    engine = plain.engine.inner if isinstance(plain.engine, LayeredEngine) else plain.engine
    return engine if type(engine) is FastEngine and not randomness(engine.backend.model) else None


def _with(plain: LoadedTokenizer, engine: FastEngine, named: str | None = None) -> LoadedTokenizer:
    """The tokenizer, and the rules that lie over its engine, with another engine of the same backend."""
    facts = plain.facts if named is None else replace(plain.facts, engine=named)
    return LoadedTokenizer(facts, plain.engine.over(engine) if isinstance(plain.engine, LayeredEngine) else engine)


class _BulkEngine(FastEngine):
    """`tokenizers` for one text; for many, what is quicker."""

    def __init__(self, plain: FastEngine, offsets: ByteOffsets | None, begun: Beginnings | None, bulk: Bulk) -> None:
        super().__init__(plain.backend, split_special_tokens=plain.backend.encode_special_tokens)
        self._offsets, self._bulk = offsets, bulk
        self._counter = 0
        if bulk.fast is None and begun is not None:  # gigatoken encodes a prompt sooner than it is looked up
            self.begun = partial(self._by_beginning, begun)

    def ids_batch(self, texts: Sequence[str], add_special_tokens: bool) -> list[Flat]:
        fast = self._bulk.fast
        if len(texts) > 1 and fast is not None:
            found = fast.ids(texts, add_special_tokens)
            one = self._next(len(texts)) if len(found) == len(texts) else len(found)
            if super().ids_batch([texts[one]], add_special_tokens) == found[one : one + 1]:
                return found
            self._bulk.differs(texts[one], Bulk.FAST, where=Bulk.FAST)
        return super().ids_batch(texts, add_special_tokens)

    def _by_beginning(self, known: Beginnings, begun: Sequence[PrefixedText], add_special_tokens: bool) -> list[Flat]:
        texts = [prefixed_text.text for prefixed_text in begun]
        if len(texts) < 2 or self._bulk.mismatch is not None:
            return self.ids_batch(texts, add_special_tokens)
        found_ids = known.of(begun, add_special_tokens, lambda tails: self.ids_batch(tails, False))
        unknown = [text for text, ids in zip(texts, found_ids) if ids is None]
        rest = iter(self.ids_batch(unknown, add_special_tokens) if unknown else ())
        found = [next(rest) if ids is None else ids for ids in found_ids]
        one = self._next(len(texts))
        if self.ids_batch([texts[one]], add_special_tokens)[0] == found[one]:
            return found
        self._bulk.differs(texts[one], "the beginning of the whole row")
        return self.ids_batch(texts, add_special_tokens)

    def encode_many(self, texts: Sequence[str], add_special_tokens: bool) -> list[TextEncoding]:
        offsets = self._offsets
        if len(texts) < 2 or self._bulk.mismatch is not None or offsets is None:
            return self.encode_batch(texts, add_special_tokens)
        found = []
        many = self.ids_batch(texts, add_special_tokens)
        for ids, text in zip(many, texts):
            placed = offsets.of(tuple(ids), text, add_special_tokens)
            found.append(
                TextEncoding(ids, *placed) if placed is not None else self.encode_batch([text], add_special_tokens)[0]
            )
        one = self._next(len(texts))
        (right,) = self.encode_batch([texts[one]], add_special_tokens)
        cut = type(found[one].ends) is Cut
        if right == found[one] and (not cut or offsets.spells(right.ids, texts[one], add_special_tokens)):
            return found
        if right.ids != found[one].ids:
            self._bulk.differs(texts[one], Bulk.FAST, where=Bulk.FAST)
        else:
            self._bulk.differs(texts[one], "the sum of the tokens' bytes", "offsets")
        return self.encode_batch(texts, add_special_tokens)

    def _next(self, count: int) -> int:
        """The place of the text that goes the plain way, too."""
        self._counter += 1
        return self._counter % count


def _proven(plain: FastEngine, probes: Sequence[str], texts: Sequence[ToEncode]) -> Gigatoken | None:
    """gigatoken over the same tokenizer; None where it is not there, refuses it (Unigram, WordPiece, NFKD …), or gives
    other ids for the probe strings or the texts, as they are or with special tokens."""
    try:
        fast = gigatoken_of(plain)
        for special in (False, True):
            some = [*probes, *(text.text for text in texts if text.special is special)]
            if fast is None or fast.ids(some, special) != plain.ids_batch(some, special):
                return None
    except BaseException as error:  # what it raises for what it does not know is its own
        if not isinstance(error, Exception) and not is_panic(error):
            raise
        return None
    return fast
