"""The tokens of a first row before a large vocabulary is loaded: by the part of it that the row's words can need.

Byte-pair encoding (tokenizers 0.23, models/bpe/model.rs) begins with the characters of a word, as normalizer and
pre-tokenizer leave it, and joins two neighbours at a time; whatever it looks up is a stretch of that word. Tokens that
stand in no word of a text, and merges that make them, change nothing in how it is encoded. The words are given by the
tokenizer itself, with a model of single bytes; a part of a vocabulary numbers its tokens anew, and its ids are taken
back by what they stand for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import compress, groupby
from typing import Any

from sftui.model import NOWHERE
from sftui.runs import Flat, flat
from sftui.tokens.loaded import FastEngine, LoadedTokenizer, TextEncoding, is_panic
from sftui.tokens.release import give_back
from sftui.tokens.shortcuts.quick import Form
from sftui.tokens.surface import BYTE_OF, steps_of

MOST = 3
"""How often a part is made anew for other words; whoever asks for more waits for the whole."""
MOST_ASKED = 1_000
"""Pieces whose ids are remembered."""
CHARACTERS = 20_000
"""Of the texts of one call, up to which a part is worth it."""
STRETCHES = 200_000
"""Of the words of a part, that may be looked up in the vocabulary."""


class EarlyEngine(FastEngine):
    """A FastEngine that encodes a few first texts by a part of its vocabulary; requested more, or for its `backend`, it
    is the one that was packed, or else the one that `otherwise` reads. One thread may encode while another loads."""

    def __init__(self, form: Form, otherwise: Callable[[], Any], *, split_special_tokens: bool = False) -> None:
        self._part: _EarlyPart | None = _EarlyPart(form, split_special_tokens)
        self._otherwise = otherwise
        self.split = split_special_tokens
        self._loading = threading.Lock()
        self.decoding = self._part.bytewise.decoding

    def __getattr__(self, name: str) -> Any:
        if name != "backend":
            raise AttributeError(name)
        self.load()
        return self.backend

    def load(self) -> None:
        """Load the whole, unless it is."""
        with self._loading:
            if self._part is not None:
                super().__init__(self._part.form.whole() or self._otherwise(), split_special_tokens=self.split)
                self._part = None
                give_back()

    def encode_batch(self, texts: Sequence[str], add_special_tokens: bool) -> list[TextEncoding]:
        part = self._part
        found = part.encode(texts, add_special_tokens) if part is not None else None
        return super().encode_batch(texts, add_special_tokens) if found is None else found

    def ids_batch(self, texts: Sequence[str], add_special_tokens: bool) -> list[Flat]:
        part = self._part
        found = part.encode(texts, add_special_tokens) if part is not None else None
        return super().ids_batch(texts, add_special_tokens) if found is None else [encoding.ids for encoding in found]

    def piece(self, token: int) -> str | None:
        part = self._part
        return super().piece(token) if part is None else part.piece(token)

    def token_id(self, piece: str) -> int | None:
        part = self._part
        return super().token_id(piece) if part is None else part.token_id(piece)

    def added(self) -> Mapping[int, tuple[str, bool]]:
        part = self._part
        return super().added() if part is None else part.added


def early_engine(form: Form, otherwise: Callable[[], Any], split_special_tokens: bool) -> EarlyEngine | None:
    """The engine of a quick form; None where the words of a text are not all that its encoding hangs on."""
    model, last = form.rest["model"], steps_of(form.rest["pre_tokenizer"] or {})[-1:]
    odd = ("dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback")
    if [step.get("type") for step in last] != ["ByteLevel"] or any(model.get(name) for name in odd):
        return None
    return EarlyEngine(form, otherwise, split_special_tokens=split_special_tokens)


def whole_of(tokenizer: LoadedTokenizer) -> Callable[[], LoadedTokenizer] | None:
    """What loads the whole of a tokenizer that encodes by a part of it so far; None where nothing is to be loaded."""
    engine = tokenizer.engine
    if not isinstance(engine, EarlyEngine):
        return None
    return lambda: LoadedTokenizer(tokenizer.facts, FastEngine(engine.backend, split_special_tokens=engine.split))


class _EarlyPart:
    """What is known of a tokenizer before it is loaded; `bytewise` is it with a model that joins nothing."""

    def __init__(self, form: Form, split: bool) -> None:
        self.form, self._split = form, split
        self.bytewise = FastEngine(
            form.backend({byte: n for n, byte in enumerate(BYTE_OF)}, ()), split_special_tokens=split
        )
        self.added: dict[int, tuple[str, bool]] = {one["id"]: (one["content"], one["special"]) for one in form.added}
        named = {content: token for token, (content, _) in self.added.items()}
        self._named = named
        self._standing = {named[content]: n for n, (content, _) in self.bytewise.added().items()}
        self._words: frozenset[str] = frozenset()
        self._asked: dict[str, int | None] = {}
        self._made: tuple[FastEngine, Mapping[int, int]] | None = None
        self._left = MOST

    @cached_property
    def _pieces(self) -> Mapping[int, str]:
        return dict(zip(self.form.ids, self.form.tokens))

    def piece(self, token: int) -> str | None:
        tokens, ids = self.form.tokens, self.form.ids
        if token in self._standing:  # its content, or what the normalizer made of it
            return self.bytewise.piece(self._standing[token])
        if 0 <= token < len(ids) and ids[token] == token:  # as all are where no number is left out
            return tokens[token]
        return self._pieces.get(token)

    def token_id(self, piece: str) -> int | None:
        known = self.bytewise.token_id(piece)
        added = self.bytewise.added().get(known) if known is not None else None
        if added is not None:
            return self._named[added[0]]
        if piece not in self._asked:
            if len(self._asked) >= MOST_ASKED:
                self._asked.clear()
            tokens = self.form.tokens  # a search takes a millisecond, a dict of all forty
            self._asked[piece] = self.form.ids[tokens.index(piece)] if piece in tokens else None
        return self._asked[piece]

    def encode(self, texts: Sequence[str], special: bool) -> list[TextEncoding] | None:
        """Texts as the whole encodes them; None where only that can tell."""
        if sum(map(len, texts)) > CHARACTERS:
            return None
        try:
            words = self._words_of(texts)
            if self._made is None or not words <= self._words:
                self._made = self._of(self._words | words) if self._left > 0 else None
                self._words, self._left = self._words | words, self._left - 1
            if self._made is None:
                return None
            engine, real = self._made
            return [
                TextEncoding(
                    flat([n if start == NOWHERE else real[n] for n, start in zip(encoding.ids, encoding.starts)]),
                    encoding.starts,
                    encoding.ends,
                )
                for encoding in engine.encode_batch(texts, special)
            ]
        except BaseException as error:  # tokenizers raises bare Exception, or panics: what the whole says counts
            if isinstance(error, Exception) or is_panic(error):
                return None
            raise

    def _words_of(self, texts: Sequence[str]) -> set[str]:
        """The words of texts, each as the characters that stand for its bytes."""
        found = set()
        for one in self.bytewise.backend.encode_batch(list(texts), add_special_tokens=False):
            for _, some in groupby(zip(one.word_ids, one.ids, one.tokens), lambda token: token[0]):
                found.add("".join([token for _, n, token in some if n < len(BYTE_OF)]))
        return found

    def _of(self, words: Iterable[str]) -> tuple[FastEngine, Mapping[int, int]] | None:
        """The tokenizer with the tokens that stand in these words, and the real ids of its own."""
        tokens, merges = self.form.tokens, self.form.merges
        longest = max(map(len, tokens))
        if sum(len(word) * min(len(word), longest) for word in words) > STRETCHES:
            return None
        stretches = set(BYTE_OF)
        for word in words:
            for begin in range(len(word)):
                stretches.update([word[begin:end] for end in range(begin + 1, min(begin + longest, len(word)) + 1)])
        places = [place for place, token in enumerate(tokens) if token in stretches]
        vocab = {tokens[place]: n for n, place in enumerate(places)}
        if not vocab.keys() >= BYTE_OF.keys():
            return None
        there = bytearray(len(tokens))
        for place in places:
            there[place] = 1
        lefts, rights = merges[0::2], merges[1::2]
        begun = compress(range(len(lefts)), map(there.__getitem__, lefts))
        joined = [(tokens[lefts[n]], tokens[rights[n]]) for n in begun if there[rights[n]]]
        engine = FastEngine(
            self.form.backend(vocab, [pair for pair in joined if "".join(pair) in vocab]),
            split_special_tokens=self._split,
        )
        real = {n: self.form.ids[place] for n, place in enumerate(places)}
        real.update({n: self._named[content] for n, (content, _) in engine.added().items()})
        return engine, real
