"""The bytes of a piece, by decoder kind."""

from __future__ import annotations

from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from sftui.tokens.surface import BYTE_OF, Decoding, read_decoding, surface_of, surfacer

METASPACE = Decoding(space="▁", byte_fallback=True)


@pytest.mark.parametrize(
    ("piece", "decoding", "surface"),
    [
        ("Ġthe", Decoding(byte_level=True), b" the"),
        ("âľ", Decoding(byte_level=True), b"\xe2\x9c"),
        ("Ċ", Decoding(byte_level=True), b"\n"),
        ("日", Decoding(byte_level=True), "日".encode()),
        ("▁on", METASPACE, b" on"),
        ("<0xE2>", METASPACE, b"\xe2"),
        ("<0xE2>", Decoding(space="▁"), b"<0xE2>"),
        ("##ing", Decoding(continuing="##"), b"ing"),
        ("ing", Decoding(continuing="##"), b"ing"),
        ("ing</w>", Decoding(word_end="</w>"), b"ing "),
        ("x y", Decoding(), b"x y"),
    ],
)
def test_surface_by_decoder(piece: str, decoding: Decoding, surface: bytes) -> None:
    assert surface_of(piece, decoding) == surface


def test_alphabet_covers_every_byte_once() -> None:
    assert sorted(BYTE_OF.values()) == list(range(256))


def test_added_tokens_stand_for_themselves_and_unknown_ids_for_nothing() -> None:
    surface = surfacer(METASPACE, {1: "▁a"}.get, {7: "<|▁x|>"}.get)
    assert surface(7) == "<|▁x|>".encode()
    assert surface(1) == b" a"
    assert surface(99) == b""


@pytest.mark.parametrize(
    ("decoder", "expected"),
    [
        (decoders.ByteLevel(), Decoding(byte_level=True)),
        (decoders.WordPiece(), Decoding(continuing="##")),
        (decoders.Metaspace(prepend_scheme="never"), Decoding(space="▁")),
        (decoders.Metaspace(), Decoding(space="▁", dummy_prefix=True)),
        (decoders.BPEDecoder(), Decoding(word_end="</w>")),
        (
            decoders.Sequence(
                [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
            ),
            Decoding(space="▁", byte_fallback=True, dummy_prefix=True),
        ),
    ],
)
def test_decoding_is_read_from_the_decoder(decoder: Any, expected: Decoding) -> None:
    backend = Tokenizer(models.BPE())
    backend.decoder = decoder
    assert read_decoding(backend) == expected


def test_without_a_decoder_the_pre_tokenizer_tells() -> None:
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel()
    assert read_decoding(backend).byte_level
