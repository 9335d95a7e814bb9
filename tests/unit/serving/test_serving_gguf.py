"""What of a .gguf file decides how it is served, and files that lie: neither memory nor time goes into them."""

from __future__ import annotations

import struct
import time
import tracemalloc
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from gguf_files import ARRAY, STRING, UINT32, field, head, served_as, text, write

from sftui.tokens import load_tokenizer
from sftui.tokens.gguf_chat import MOST_KEYS, MOST_TEMPLATES, MOST_TEXT, read_gguf_chat

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


HOSTILE: Mapping[str, tuple[bytes, str]] = {
    "no gguf": (b"GGML" + bytes(100), "not a GGUF file"),
    "too short": (b"GGUF", "too short"),
    "an old version": (head(0, version=1), "version 1"),
    "the other byte order": (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "version 50331648"),
    "no metadata though it says so": (head(3), "damaged"),
    "keys without end": (head(2**63) + bytes(1000), f"more than {MOST_KEYS:,}"),
    "a key as long as the world": (head(1) + struct.pack("<Q", 2**63), "damaged"),
    "a long key": (head(1) + text("k" * 70_000) + bytes(64), "a key in its metadata"),
    "a text past the end": (head(1) + field(TEMPLATE, string(2**40)), "damaged"),
    "a text whose length wraps": (head(1) + field(TEMPLATE, string(2**64 - 1)), "damaged"),
    "a huge template": (head(1) + field(TEMPLATE, "x" * (MOST_TEXT + 1)), "more than 1,048,576 bytes"),
    "templates without end": (
        head(MOST_TEMPLATES + 1) + b"".join(field(f"{TEMPLATE}.{n}", "x") for n in range(MOST_TEMPLATES + 1)),
        f"more than {MOST_TEMPLATES}",
    ),
    "numbers without end": (head(1) + field("a", array(UINT32, 2**62)), "damaged"),
    "texts without end": (head(1) + field("a", array(STRING, 2**62)), "claims"),
    "tokens without end": (head(1) + field("tokenizer.ggml.tokens", array(STRING, 2**62)), "claims"),
    "an array of arrays": (head(1) + field("a", array(ARRAY, 1, array(ARRAY, 1) * 1000)), "unknown type 9"),
    "a type that there is not": (head(1) + field("a", struct.pack("<I", 77) + bytes(64)), "unknown type 77"),
    "a template of no text": (head(1) + field(TEMPLATE, b"\x08\0\0\0" + struct.pack("<Q", 2) + b"\xff\xfe"), "damaged"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_told(name: str, tmp_path: Path) -> None:
    content, told = HOSTILE[name]
    (tmp_path / "x.gguf").write_bytes(content)
    tracemalloc.start()
    with pytest.raises(ValueError, match=told):
        read_gguf_chat(tmp_path / "x.gguf", range(100))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 4 << 20


@pytest.mark.parametrize("key", ["a", "tokenizer.ggml.tokens"])
def test_empty_texts_by_the_million_take_no_time(key: str, tmp_path: Path) -> None:
    """A sparse file of zeros is an array of empty texts, as many as its size allows."""
    path = tmp_path / "x.gguf"
    path.write_bytes(head(1) + field(key, array(STRING, 10**9, b"")))
    with path.open("r+b") as file:
        file.truncate(9 << 30)
    begun = time.process_time()
    with pytest.raises(ValueError, match="claims"):
        read_gguf_chat(path)
    assert time.process_time() - begun < 1


def test_every_beginning_of_a_file_is_told_or_read(tmp_path: Path) -> None:
    whole = write(tmp_path / "x.gguf", {TEMPLATE: "{{ x }}", "tokenizer.ggml.tokens": WORDS, "n": [1, 2]}).read_bytes()
    for end in range(0, len(whole), 5):
        (tmp_path / "y.gguf").write_bytes(whole[:end])
        with pytest.raises(ValueError, match="GGUF"):
            read_gguf_chat(tmp_path / "y.gguf")
