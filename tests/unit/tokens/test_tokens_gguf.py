"""A .gguf file: the vocabulary, the special tokens and the template out of its metadata."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from builtin_train import CHATML_TEMPLATE
from references import load_reference

from sftui.errors import TokenizerError
from sftui.tokens import builtin, load_tokenizer
from sftui.tokens.loading.gguf import read_gguf_metadata, unknown_split
from sftui.tokens.loading.locate import locate
from sftui.tokens.loading.raw import load_raw

UINT32, FLOAT32, STRING, ARRAY = 4, 6, 8, 9


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def field(key: str, value: Any) -> bytes:
    head = text(key)
    if isinstance(value, str):
        return head + struct.pack("<I", STRING) + text(value)
    if isinstance(value, float):
        return head + struct.pack("<If", FLOAT32, value)
    if isinstance(value, int):
        return head + struct.pack("<II", UINT32, value)
    kind, form = (STRING, text) if isinstance(value[0], str) else (UINT32, lambda n: struct.pack("<I", n))
    return head + struct.pack("<IIQ", ARRAY, kind, len(value)) + b"".join(form(one) for one in value)


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    return stored_as(tmp_path, "qwen2")


def stored_as(folder: Path, split: str) -> Path:
    """The built-in chatml tokenizer as llama.cpp stores one of Qwen2, with the name of a pre-tokenizer; no tensors."""
    stored = json.loads((builtin.folder("chatml") / "tokenizer.json").read_text())
    vocab = {**stored["model"]["vocab"], **{token["content"]: token["id"] for token in stored["added_tokens"]}}
    tokens = sorted(vocab, key=lambda piece: vocab[piece])
    metadata = {
        "general.architecture": "qwen2",
        "qwen2.block_count": 1,
        "qwen2.embedding_length": 8,
        "qwen2.context_length": 64,
        "qwen2.feed_forward_length": 8,
        "qwen2.attention.head_count": 1,
        "qwen2.attention.head_count_kv": 1,
        "qwen2.rope.freq_base": 10000.0,
        "qwen2.attention.layer_norm_rms_epsilon": 1e-6,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": split,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3 if piece.startswith("<|") else 1 for piece in tokens],
        "tokenizer.ggml.merges": [" ".join(pair) for pair in stored["model"]["merges"]],
        "tokenizer.ggml.eos_token_id": vocab["<|im_end|>"],
        "tokenizer.ggml.padding_token_id": vocab["<|endoftext|>"],
        "tokenizer.chat_template": CHATML_TEMPLATE,
    }
    path = folder / "tiny.gguf"
    path.write_bytes(
        b"GGUF" + struct.pack("<IQQ", 3, 0, len(metadata)) + b"".join(field(*item) for item in metadata.items())
    )
    return path


def test_a_gguf_is_proven_like_any_other(gguf: Path) -> None:
    loaded = load_tokenizer(str(gguf))
    known = load_tokenizer("builtin:chatml")
    assert (loaded.facts.eos_token, loaded.facts.pad_token) == ("<|im_end|>", "<|endoftext|>")
    assert loaded.facts.chat_templates == {"default": CHATML_TEMPLATE}
    auto = load_reference(locate(str(gguf)))
    for one in ("Hello there 123", "✂️\n\n x", "<|im_start|>user\nHi<|im_end|>"):
        assert list(loaded.encode(one).ids) == auto(one, add_special_tokens=False)["input_ids"]
        assert loaded.encode(one).ids == known.encode(one).ids


@pytest.mark.parametrize(
    ("split", "told"),
    [
        ("qwen2", None),
        ("gpt-2", None),
        ("command-r", "names the pre-tokenizer 'command-r', which transformers does not know"),
        ("", "names no pre-tokenizer"),
    ],
)
def test_a_split_that_transformers_does_not_know_is_told(split: str, told: str | None, tmp_path: Path) -> None:
    path = stored_as(tmp_path, split)
    assert unknown_split(str(path)) == told
    assert any("splits text as GPT-2 does" in note for note in load_tokenizer(str(path)).facts.notes) is (
        told is not None
    )


def test_no_gguf_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_bytes(b"GGML" + bytes(100))
    with pytest.raises(TokenizerError, match="not a GGUF file"):
        load_reference(locate(str(tmp_path / "x.gguf")))


def test_no_provisional_gguf(gguf: Path) -> None:
    with pytest.raises(TokenizerError, match=r"no tokenizer\.json"):
        load_raw(locate(str(gguf)))


@pytest.mark.parametrize("keep", [30, 200, 5000, -3])
def test_a_damaged_gguf_is_told(keep: int, gguf: Path) -> None:
    gguf.write_bytes(gguf.read_bytes()[:keep])
    with pytest.raises(ValueError, match="damaged GGUF"):
        read_gguf_metadata(str(gguf))


@pytest.mark.parametrize("inner", [UINT32, STRING])
def test_a_lying_count_takes_no_memory(inner: int, tmp_path: Path) -> None:
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a")
    (tmp_path / "x.gguf").write_bytes(head + struct.pack("<IIQ", ARRAY, inner, 500) + bytes(64))
    told = "array runs past the end" if inner == UINT32 else "requires a buffer"
    with pytest.raises(ValueError, match=f"damaged GGUF file .*{told}"):
        read_gguf_metadata(str(tmp_path / "x.gguf"), ("a",))


def test_metadata_of_every_kind(gguf: Path) -> None:
    metadata, tensors = read_gguf_metadata(str(gguf), ("tokenizer.ggml.merges",))
    assert metadata["tokenizer.ggml.model"] == "gpt2"
    assert metadata["qwen2.rope.freq_base"] == 10000.0
    assert metadata["tokenizer.ggml.tokens"] == 3003, "arrays not asked for come as their length"
    assert metadata["tokenizer.ggml.merges"][0].count(" ") == 1
    assert tensors == ()
