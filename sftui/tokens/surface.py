"""The bytes a token stands for, and where they are in a text: read from its decoder, never by decoding it alone.

Decoding one id alone loses half characters and leading spaces; the rules here are those of the
decoders of `tokenizers` 0.23 (ByteLevel, ByteFallback, Metaspace, WordPiece, BPEDecoder).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from sftui.model import NOWHERE
from sftui.values import value_class

METASPACE = "▁"
BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>\Z")


@value_class
class Decoding:
    """How a tokenizer turns pieces back into text.

    `space` is the character that stands for a space (Metaspace or Replace), `continuing` the prefix of pieces that go
    on a word (WordPiece), `word_end` the suffix that ends one (BPE). `dummy_prefix`: a text gets a leading space that
    it did not have, so a first piece may show one. `one_byte`: a piece of one character stands for the byte of that
    code point (ByT5). `normalizes`: a text may be rewritten before it is cut.
    """

    byte_level: bool = False
    byte_fallback: bool = False
    space: str = ""
    continuing: str = ""
    word_end: str = ""
    dummy_prefix: bool = False
    one_byte: bool = False
    normalizes: bool = False


def _byte_level_alphabet() -> dict[str, int]:
    """GPT-2's printable stand-in of each byte → the byte (openai/gpt-2, encoder.py, bytes_to_unicode)."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    table = {chr(byte): byte for byte in printable}
    others = [byte for byte in range(256) if byte not in set(printable)]
    table.update({chr(256 + n): byte for n, byte in enumerate(others)})
    return table


BYTE_OF = _byte_level_alphabet()


def read_decoding(backend: Any) -> Decoding:
    """The decoding of a `tokenizers.Tokenizer` (see `decoding_of`)."""
    return decoding_of(state_of(backend.decoder), state_of(backend.pre_tokenizer), backend.normalizer is not None)


def decoding_of(decoder: dict[str, Any], pre_tokenizer: dict[str, Any], normalizes: bool) -> Decoding:
    """The decoding that these parts of a tokenizer.json make.

    Without a decoder, a ByteLevel pre-tokenizer tells it (mBART-like exports leave it out).
    """
    steps = steps_of(decoder)
    before = [step for step in steps_of(pre_tokenizer) if step.get("type") in ("ByteLevel", "Metaspace")]
    steps = steps or before
    # The decoder's own add_prefix_space says nothing: only the pre-tokenizer acts on it.
    prefix = any(step.get("add_prefix_space") for step in before)
    found: dict[str, Any] = {"dummy_prefix": prefix, "normalizes": normalizes}
    for step in steps:
        kind = step.get("type")
        if kind == "ByteLevel":
            found["byte_level"] = True
        elif kind == "ByteFallback":
            found["byte_fallback"] = True
        elif kind == "Metaspace":
            found["space"] = step.get("replacement", METASPACE)
            found["dummy_prefix"] = step.get("prepend_scheme", "always") != "never"
        elif kind == "Replace" and step.get("content") == " ":
            found["space"] = (step.get("pattern") or {}).get("String", "")
        elif kind == "Strip" and step.get("content") == " " and step.get("start"):
            found["dummy_prefix"] = True
        elif kind == "WordPiece":
            found["continuing"] = step.get("prefix", "##")
        elif kind == "BPEDecoder":
            found["word_end"] = step.get("suffix", "</w>")
    return Decoding(**found)


def surface_of(piece: str, decoding: Decoding) -> bytes:
    """The bytes of a vocabulary piece; a piece outside the byte alphabet stands for itself."""
    if decoding.byte_level:
        try:
            return bytes([BYTE_OF[char] for char in piece])
        except KeyError:
            return _utf8(piece)
    if decoding.one_byte and len(piece) == 1 and ord(piece) < 256:
        return bytes([ord(piece)])
    if decoding.byte_fallback and (match := BYTE_PIECE.match(piece)):
        return bytes([int(match[1], 16)])
    if decoding.space:
        piece = piece.replace(decoding.space, " ")
    if decoding.continuing:
        piece = piece.removeprefix(decoding.continuing)
    if decoding.word_end and piece.endswith(decoding.word_end):
        piece = piece.removesuffix(decoding.word_end) + " "
    return _utf8(piece)


def surfacer(
    decoding: Decoding, piece: Callable[[int], str | None], literal: Callable[[int], str | None]
) -> Callable[[int], bytes]:
    """A function id → bytes; `literal` gives the content of an added token, which stands for itself."""

    def surface(token: int) -> bytes:
        added = literal(token)
        if added is not None:
            return _utf8(added)
        found = piece(token)
        return b"" if found is None else surface_of(found, decoding)

    return surface


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


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


_INNER = ("decoders", "pretokenizers", "normalizers", "processors")


def state_of(component: Any) -> dict[str, Any]:
    """A part of a `tokenizers.Tokenizer` as tokenizer.json has it; empty where there is none, or it is not known."""
    if component is None:
        return {}
    try:
        state = json.loads(component.__getstate__())
    except (AttributeError, TypeError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def steps_of(state: dict[str, Any]) -> list[dict[str, Any]]:
    """The steps of a part that may be a sequence of others, in order."""
    if state.get("type") == "Sequence":
        inner: list[dict[str, Any]] = next((state[key] for key in _INNER if key in state), [])
        return [step for part in inner for step in steps_of(part)]
    return [state] if state else []


def steps_around(backend: Any) -> list[list[dict[str, Any]]] | None:
    """The steps of what a `tokenizers.Tokenizer` has around its model: normalizer, pre-tokenizer and post-processor;
    None where one of them is not known."""
    parts = (backend.normalizer, backend.pre_tokenizer, backend.post_processor)
    states = list(map(state_of, parts))
    known = all(state or part is None for part, state in zip(parts, states))
    return list(map(steps_of, states)) if known else None
