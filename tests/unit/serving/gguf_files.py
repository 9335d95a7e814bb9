"""GGUF files as tests need them, written from nothing: metadata alone, or what lies about it."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sftui.tokens import LoadedTokenizer

UINT32, FLOAT32, BOOL, STRING, ARRAY = 4, 6, 7, 8, 9


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def head(keys: int, version: int = 3, tensors: int = 0) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, keys)


def field(key: str, value: Any) -> bytes:
    """One key of the metadata with its value; bytes stand for type and value as they are."""
    name = text(key)
    if isinstance(value, bytes):
        return name + value
    if isinstance(value, bool):
        return name + struct.pack("<I?", BOOL, value)
    if isinstance(value, str):
        return name + struct.pack("<I", STRING) + text(value)
    if isinstance(value, float):
        return name + struct.pack("<If", FLOAT32, value)
    if isinstance(value, int):
        return name + struct.pack("<II", UINT32, value)
    strings = bool(value) and isinstance(value[0], str)
    made = b"".join(text(one) if strings else struct.pack("<I", one) for one in value)
    return name + struct.pack("<IIQ", ARRAY, STRING if strings else UINT32, len(value)) + made


def write(path: Path, metadata: Mapping[str, Any], behind: bytes = b"") -> Path:
    """A file with this metadata and whatever comes behind it."""
    path.write_bytes(head(len(metadata)) + b"".join(field(*one) for one in metadata.items()) + behind)
    return path


def vocabulary(tokenizer: LoadedTokenizer) -> Sequence[str]:
    """The pieces of a tokenizer by id, as a converter stores them."""
    return [tokenizer.piece(one) or f"[PAD{one}]" for one in range(tokenizer.facts.vocab_size)]


def served_as(path: Path, tokenizer: LoadedTokenizer, **more: Any) -> Path:
    """What llama.cpp's converter makes of a tokenizer: vocabulary, special tokens, templates. `more` are keys of
    `tokenizer.ggml.`; None leaves one out."""
    facts = tokenizer.facts
    own: dict[str, Any] = {
        "model": "gpt2",
        "pre": "default",
        "tokens": vocabulary(tokenizer),
        "bos_token_id": facts.bos_id,
        "eos_token_id": facts.eos_id,
        "add_bos_token": facts.bos_token is not None and "bos_token" in facts.chat_templates.get("default", ""),
        **more,
    }
    metadata: dict[str, Any] = {"general.architecture": "tiny"}
    metadata |= {f"tokenizer.ggml.{name}": value for name, value in own.items() if value is not None}
    for name, source in facts.chat_templates.items():
        metadata["tokenizer.chat_template" + ("" if name == "default" else f".{name}")] = source
    return write(path, metadata)
