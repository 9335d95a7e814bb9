"""What of a .gguf file decides how it is served, and files that lie: neither memory nor time goes into them."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from gguf_files import ARRAY, STRING, UINT32, field, head, served_as, text, write

from sftui.tokens import load_tokenizer
from sftui.tokens.loading import gguf_chat
from sftui.tokens.loading.gguf_chat import read_gguf_chat

TEMPLATE = "tokenizer.chat_template"
WORDS = ["<s>", "</s>", "a", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>"]


@pytest.mark.parametrize(
    ("more", "bos", "stops"),
    [
        ({"model": "gpt2"}, False, {"<|im_end|>", "<|return|>", "<|call|>"}),
        ({"model": "gpt2", "eos_token_id": 2}, False, {"<|im_end|>", "<|return|>", "<|call|>", "a"}),
        ({"model": "gpt2", "eot_token_id": 2}, False, {"<|im_end|>", "<|return|>", "<|call|>", "a"}),
        ({"model": "gpt2", "eom_token_id": 1}, False, {"<|im_end|>", "<|return|>", "<|call|>", "</s>"}),
        ({"model": "gpt2", "pre": "llama-bpe"}, True, None),
        ({"model": "gpt2", "pre": "llama-bpe", "add_bos_token": False}, False, None),
        ({"model": "gpt2", "pre": "qwen2"}, False, None),
        ({"model": "llama"}, True, {"</s>", "a", "<|im_end|>", "<|return|>", "<|call|>"} - {"</s>"}),
        ({"model": "llama", "eos_token_id": 1}, True, {"</s>", "<|im_end|>", "<|return|>", "<|call|>"}),
        ({"model": "llama", "add_bos_token": False}, False, None),
        ({"model": "unheard-of"}, None, None),
        ({"model": "unheard-of", "add_bos_token": True}, True, None),
        ({"model": "gpt2", "eos_token_id": 4_000_000_000}, False, {"<|im_end|>", "<|return|>", "<|call|>"}),
        ({"model": "gpt2", "eos_token_id": "</s>"}, False, {"<|im_end|>", "<|return|>", "<|call|>"}),
    ],
)
def test_bos_and_stops(more: Mapping[str, Any], bos: bool | None, stops: set[str] | None, tmp_path: Path) -> None:
    told = {f"tokenizer.ggml.{name}": value for name, value in {"tokens": WORDS, **more}.items()}
    found = read_gguf_chat(write(tmp_path / "x.gguf", {TEMPLATE: "{{ x }}", **told}), (1, 3, 99))
    assert found.adds_bos is bos
    assert stops is None or found.stops == frozenset(stops)
    assert found.pieces == {1: "</s>", 3: "<|im_end|>"} and found.size == len(WORDS)


def test_templates_have_names(tmp_path: Path) -> None:
    metadata = {TEMPLATE: "{{ 1 }}", f"{TEMPLATE}.tool_use": "{{ 2 }}", f"{TEMPLATE}s": ["tool_use"], "general.x": "y"}
    found = read_gguf_chat(write(tmp_path / "x.gguf", metadata, behind=bytes(10_000)))
    assert found.templates == {"default": "{{ 1 }}", "tool_use": "{{ 2 }}"}
    assert (found.stops, found.special_tokens, found.size) == (None, {}, 0)


def test_a_file_made_of_a_tokenizer(tmp_path: Path) -> None:
    tokenizer = load_tokenizer("builtin:llama3")
    found = read_gguf_chat(served_as(tmp_path / "x.gguf", tokenizer), tokenizer.special_ids)
    assert found.templates == tokenizer.facts.chat_templates and found.adds_bos is True
    assert found.special_tokens == {"bos_token": "<|begin_of_text|>", "eos_token": tokenizer.facts.eos_token}
    assert found.pieces == tokenizer.special_pieces and found.stops is not None and "<|eot_id|>" in found.stops


def string(length: int, data: bytes = b"") -> bytes:
    return struct.pack("<IQ", STRING, length) + data


def array(inner: int, count: int, data: bytes = bytes(64)) -> bytes:
    return struct.pack("<IIQ", ARRAY, inner, count) + data


LOWERED = {
    "MOST_KEYS": 1_000,
    "MOST_KEY": 64,
    "MOST_TEXT": 1024,
    "MOST_TEMPLATES": 16,
    "MOST_TEXTS": 100_000,
    "MOST_TOKENS": 100_000,
}
"""By how much each bound is lower for these files, all of which are small."""
HOSTILE: Mapping[str, tuple[bytes, str]] = {
    "no gguf": (b"GGML" + bytes(100), "not a GGUF file"),
    "too short": (b"GGUF", "too short"),
    "an old version": (head(0, version=1), "version 1"),
    "the other byte order": (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "version 50331648"),
    "no metadata though it says so": (head(3), "damaged"),
    "30 keys": (
        head(30) + b"".join(field(f"k{n}", struct.pack("<II", UINT32, n)) for n in range(30)),
        "more than the limit of 20",
    ),
    "a key longer than the file": (head(1) + struct.pack("<Q", 500) + bytes(40), "damaged"),
    "a long key": (head(1) + text("k" * 2_000) + bytes(64), "a key in its metadata has more than 1,024 bytes"),
    "a text past the end": (head(1) + field(TEMPLATE, string(500)), "damaged"),
    "a template of 2 KB": (head(1) + field(TEMPLATE, "x" * 2_048), "more than 1,024 bytes"),
    "6 templates": (head(6) + b"".join(field(f"{TEMPLATE}.{n}", "x") for n in range(6)), "more than 4 chat templates"),
    "numbers past the end": (head(1) + field("a", array(UINT32, 500)), "damaged"),
    "100 texts": (head(1) + field("a", array(STRING, 100, bytes(800))), "claims 100 strings"),
    "100 texts in two arrays": (
        head(2) + b"".join(field(key, array(STRING, 50, bytes(400))) for key in "ab"),
        "claims 50 strings",
    ),
    "more texts than bytes": (head(1) + field("a", array(STRING, 60)), "claims 60 strings"),
    "30 tokens": (head(1) + field("tokenizer.ggml.tokens", array(STRING, 30, bytes(240))), "vocabulary of 30 tokens"),
    "an array of arrays": (head(1) + field("a", array(ARRAY, 1, array(ARRAY, 1))), "unknown type 9"),
    "a type that there is not": (head(1) + field("a", struct.pack("<I", 77) + bytes(64)), "unknown type 77"),
    "a template of no text": (head(1) + field(TEMPLATE, b"\x08\0\0\0" + struct.pack("<Q", 2) + b"\xff\xfe"), "damaged"),
}


@pytest.fixture
def lower(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, by in LOWERED.items():
        monkeypatch.setattr(gguf_chat, name, getattr(gguf_chat, name) // by)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_lies_or_holds_too_much_is_told(name: str, lower: None, tmp_path: Path) -> None:
    content, told = HOSTILE[name]
    (tmp_path / "x.gguf").write_bytes(content)
    tracemalloc.start()
    with pytest.raises(ValueError, match=told):
        read_gguf_chat(tmp_path / "x.gguf", range(100))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1 << 20


def test_what_keeps_to_the_bounds_is_read(lower: None, tmp_path: Path) -> None:
    told = {**{f"{TEMPLATE}.{n}": "x" * 1_000 for n in range(3)}, "k" * 1_000: 1, "tokenizer.ggml.tokens": WORDS * 2}
    found = read_gguf_chat(write(tmp_path / "x.gguf", told))
    assert (len(found.templates), found.size) == (3, 14)


def test_every_beginning_of_a_file_is_told_or_read(tmp_path: Path) -> None:
    whole = write(tmp_path / "x.gguf", {TEMPLATE: "{{ x }}", "tokenizer.ggml.tokens": WORDS, "n": [1, 2]}).read_bytes()
    for end in range(0, len(whole), 5):
        (tmp_path / "y.gguf").write_bytes(whole[:end])
        with pytest.raises(ValueError, match="GGUF"):
            read_gguf_chat(tmp_path / "y.gguf")
