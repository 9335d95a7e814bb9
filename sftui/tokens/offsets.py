"""Character offsets of the tokens of a text from the bytes that each id stands for, where a tokenizer allows it.

`tokenizers` keeps track of offsets through every step, which takes longer than the ids. Over a byte-level vocabulary
the tokens of a text are its bytes, cut: where a token lies follows from the lengths of those before it. The lengths
must come to the whole text, or it is encoded with real offsets (an added token that takes white space along, say).
"""

from __future__ import annotations

import unicodedata
from array import array
from collections.abc import Sequence
from itertools import accumulate
from operator import add, sub
from typing import Any

from sftui.model import NOWHERE
from sftui.tokens.surface import BYTE_OF, state_of, steps_of

_KEEPING = frozenset({"ByteLevel", "Split", "Digits", "Punctuation"})
"""Pre-tokenizers that cut a text and leave its characters as they are."""
_AROUND = frozenset({"ByteLevel", "TemplateProcessing"})
_LEADS = bytes(0 if 0x80 <= byte < 0xC0 else 1 for byte in range(256))
"""1 for the first byte of a character in UTF-8."""
_UNKNOWN, _NONE = 0, 0xFFFF
_SPACE = "Ġ"

Offsets = tuple[tuple[int, ...], tuple[int, ...]]


class ByteOffsets:
    """The offsets of texts under one byte-level tokenizer; make it with `byte_offsets`."""

    def __init__(self, backend: Any, *, trims: bool, prefix_space: bool) -> None:
        self._backend = backend
        self._added = {i: token.content for i, token in backend.get_added_tokens_decoder().items()}
        size = max(backend.get_vocab_size(with_added_tokens=True), max(self._added, default=0) + 1)
        self._bytes = array("H", bytes(2 * size))
        self._before, self._behind = (array("H", bytes(2 * size if trims else 0)) for _ in range(2))
        self._trims, self._prefix_space = trims, prefix_space
        mask = backend.encode("x", add_special_tokens=True).special_tokens_mask
        self._front = next((i for i, put in enumerate(mask) if not put), 0)
        self._back = next((i for i, put in enumerate(reversed(mask)) if not put), 0)

    def of(self, ids: Sequence[int], text: str, special: bool) -> Offsets | None:
        """Where each token starts and ends, NOWHERE for those that were put around the text; None where the bytes of
        the tokens are not the text's. `special`: it was encoded with special tokens."""
        if not text.isascii() and not unicodedata.is_normalized("NFC", text):
            return None
        front, back = (self._front, self._back) if special else (0, 0)
        own = ids[front : len(ids) - back]
        sizes = self._sizes(own)
        if sizes is None:
            return None
        ends = list(accumulate(sizes))
        total = ends[-1] if ends else 0
        starts = [0, *ends[:-1]] if ends else []
        if text.isascii():
            if total != len(text):
                return None
        else:
            data = text.encode("utf-8", "surrogatepass")
            if total != len(data):
                return None
            place = list(accumulate(data.translate(_LEADS)))
            starts = [place[start] - 1 for start in starts]
            ends = [place[end - 1] for end in ends]
        if self._trims:
            starts, ends = self._trimmed(own, starts, ends)
        around = (NOWHERE,) * front, (NOWHERE,) * back
        return (*around[0], *starts, *around[1]), (*around[0], *ends, *around[1])

    def _sizes(self, ids: Sequence[int]) -> list[int] | None:
        """How many bytes each id stands for; None where that is not known of one."""
        table = self._bytes
        try:
            sizes = list(map(table.__getitem__, ids))
        except IndexError:
            return None
        if _UNKNOWN in sizes:
            for token in set(ids):
                if table[token] == _UNKNOWN:
                    self._learn(token)
            sizes = list(map(table.__getitem__, ids))
        return None if _NONE in sizes else sizes

    def _learn(self, token: int) -> None:
        content = self._added.get(token)
        piece = self._backend.id_to_token(token) or "" if content is None else content
        if content is not None:
            size = len(content.encode("utf-8", "replace"))
        else:
            size = len(piece) if all(char in BYTE_OF for char in piece) else 0
        self._bytes[token] = size if 0 < size < _NONE else _NONE
        if self._trims and size:
            self._before[token] = min(_spaces(piece), _NONE)
            self._behind[token] = min(_spaces(piece[::-1]), _NONE)

    def _trimmed(self, ids: Sequence[int], starts: list[int], ends: list[int]) -> tuple[list[int], list[int]]:
        """Offsets without the white space at the ends of each token (tokenizers 0.23, pre_tokenizers/byte_level.rs,
        process_offsets)."""
        before = list(map(self._before.__getitem__, ids))
        if self._prefix_space:
            for i, start in enumerate(starts):
                if start > 0:
                    break
                before[i] = max(before[i] - 1, 0)
        behind = map(self._behind.__getitem__, ids)
        starts = list(map(min, map(add, starts, before), ends))
        return starts, [
            max(cut, start) if cut >= 0 else end for cut, start, end in zip(map(sub, ends, behind), starts, ends)
        ]


def byte_offsets(backend: Any) -> ByteOffsets | None:
    """The offsets of a `tokenizers.Tokenizer` by bytes; None where it changes texts before it cuts them, or its
    vocabulary is not one of bytes."""
    model = backend.model
    if type(model).__name__ != "BPE" or model.continuing_subword_prefix or model.end_of_word_suffix or model.dropout:
        return None
    states = [(part, state_of(part)) for part in (backend.normalizer, backend.pre_tokenizer, backend.post_processor)]
    if any(part is not None and not state for part, state in states):
        return None
    normal, before, after = (steps_of(state) for _, state in states)
    if any(step.get("type") != "NFC" for step in normal):
        return None
    levels = [step for step in before if step.get("type") == "ByteLevel"]
    if not levels or any(step.get("add_prefix_space") for step in levels):
        return None
    if any(step.get("type") not in _KEEPING or step.get("behavior") == "Removed" for step in before):
        return None
    if any(step.get("type") not in _AROUND for step in after):
        return None
    trimming = [step for step in after if step.get("type") == "ByteLevel" and step.get("trim_offsets")]
    if len(trimming) > 1:
        return None
    return ByteOffsets(
        backend, trims=bool(trimming), prefix_space=any(step.get("add_prefix_space") for step in trimming)
    )


def _spaces(piece: str) -> int:
    """How many characters of white space a token begins with."""
    return next((i for i, char in enumerate(piece) if char != _SPACE and not char.isspace()), len(piece))
