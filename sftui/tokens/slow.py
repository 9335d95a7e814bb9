"""The engine of last resort: AutoTokenizer itself, for tokenizers without a provable backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sftui.model import NOWHERE
from sftui.tokens.loaded import Encoded
from sftui.tokens.surface import Decoding, read_decoding, surfacer


class ReferenceEngine:
    """Encodes with a transformers tokenizer; a slow one gets its offsets from the pieces' spelling."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.decoding = read_decoding(tokenizer.backend_tokenizer) if tokenizer.is_fast else _slow_decoding(tokenizer)
        self._size = len(tokenizer)
        # Slow classes do not mark their named special tokens as special in the added tokens.
        special = set(tokenizer.all_special_ids)
        self._added = {
            i: (token.content, token.special or i in special) for i, token in tokenizer.added_tokens_decoder.items()
        }
        self._surface = surfacer(self.decoding, self.piece, lambda token: self._added.get(token, (None,))[0])

    def encode_batch(self, texts: Sequence[str], add_special_tokens: bool) -> list[Encoded]:
        return [self._encode(text, add_special_tokens) for text in texts]

    def piece(self, token: int) -> str | None:
        if not 0 <= token < self._size:
            return None
        found = self.tokenizer.convert_ids_to_tokens(token)
        return None if found is None else str(found)

    def token_id(self, piece: str) -> int | None:
        found = self.tokenizer.convert_tokens_to_ids(piece)
        if found is None or (found == self.tokenizer.unk_token_id and piece != self.tokenizer.unk_token):
            return None
        return int(found)

    def added(self) -> Mapping[int, tuple[str, bool]]:
        return self._added

    def _encode(self, text: str, add_special_tokens: bool) -> Encoded:
        # str.encode refuses lone surrogates, which a slow tokenizer would pass on or choke on later.
        text.encode("utf-8")
        if self.tokenizer.is_fast:
            found = self.tokenizer(
                text,
                add_special_tokens=add_special_tokens,
                return_offsets_mapping=True,
                return_special_tokens_mask=True,
            )
            put = found["special_tokens_mask"]
            pairs = [(NOWHERE, NOWHERE) if p else tuple(o) for o, p in zip(found["offset_mapping"], put)]
            return Encoded(tuple(found["input_ids"]), tuple(s for s, _ in pairs), tuple(e for _, e in pairs))
        ids = tuple(self.tokenizer(text, add_special_tokens=add_special_tokens)["input_ids"])
        inner = ids
        before = 0
        if add_special_tokens:
            inner = tuple(self.tokenizer(text, add_special_tokens=False)["input_ids"])
            before = next((i for i in range(len(ids) - len(inner) + 1) if ids[i : i + len(inner)] == inner), 0)
        starts, ends = spell(text, [self._surface(token) for token in inner])
        after = len(ids) - len(inner) - before
        around = (NOWHERE,)
        return Encoded(ids, around * before + starts + around * after, around * before + ends + around * after)


def spell(text: str, surfaces: Sequence[bytes]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Character offsets of pieces that spell the text byte for byte; all NOWHERE where they do not.

    One leading space that the text does not have (a dummy prefix) is allowed for. Pieces of one
    character share its span.
    """
    data = text.encode("utf-8")
    joined = b"".join(surfaces)
    shift = 1 if joined == b" " + data else 0
    if joined[shift:] != data:
        return (NOWHERE,) * len(surfaces), (NOWHERE,) * len(surfaces)
    character = [0] * (len(data) + 1)
    at = -1
    for i, byte in enumerate(data):
        at += byte & 0xC0 != 0x80
        character[i] = at
    character[len(data)] = len(text)
    starts, ends = [], []
    place = -shift
    for surface in surfaces:
        begin, end = max(0, place), max(0, place + len(surface))
        starts.append(character[begin])
        ends.append(character[end - 1] + 1 if end > begin else character[begin])
        place += len(surface)
    return tuple(starts), tuple(ends)


def _slow_decoding(tokenizer: Any) -> Decoding:
    """Slow sentencepiece classes spell spaces `▁` and bytes `<0xE2>`, ByT5 one byte a piece."""
    if "byt5" in type(tokenizer).__name__.lower():
        return Decoding(one_byte=True)
    sentencepiece = hasattr(tokenizer, "sp_model")
    return Decoding(space="▁", byte_fallback=True, dummy_prefix=True) if sentencepiece else Decoding()
