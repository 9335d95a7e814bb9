"""Which versions of transformers are known to load a tokenizer alike, told from its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sftui.tokens.loading.locate import locate
from sftui.tokens.loading.releases import loaded_otherwise, may_differ

BYTES = {"pre_tokenizer": {"type": "ByteLevel"}, "normalizer": None}
SPACES = {"pre_tokenizer": {"type": "Metaspace"}, "normalizer": None}


def folder(path: Path, backend: Any, kind: str | None, model: str | None = None, **more: Any) -> str:
    path.mkdir()
    if backend is not None:
        (path / "tokenizer.json").write_text(json.dumps(backend))
    (path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": kind, **more} if kind else more))
    if model is not None:
        (path / "config.json").write_text(json.dumps({"model_type": model}))
    return str(path)


@pytest.mark.parametrize(
    ("backend", "kind", "model", "a", "b", "differ"),
    [
        (BYTES, "LlamaTokenizerFast", None, "5.6.0", "5.23.0", True),  # DeepSeek-V3
        (BYTES, "LlamaTokenizerFast", None, "5.20.1", "5.23.0", True),
        (BYTES, "LlamaTokenizerFast", "deepseek_v3", "5.6.0", "5.23.0", True),
        (BYTES, "LlamaTokenizerFast", "deepseek_v3", "5.16.1", "5.23.0", False),
        (BYTES, "LlamaTokenizerFast", None, "5.16.1", "5.17.0", False),
        (BYTES, "LlamaTokenizerFast", "deepseek_v3", "5.5.0", "5.6.0", True),  # 5.5.0 takes the registered class alone
        (SPACES, "LlamaTokenizer", "mistral", "5.5.0", "5.23.0", False),
        (SPACES, "LlamaTokenizer", "mistral", "5.5.0", "5.6.0", True),
        (SPACES, "LlamaTokenizerFast", "llama", "5.6.0", "5.23.0", False),
        (BYTES, "GPT2Tokenizer", "phi3", "5.6.0", "5.23.0", True),  # phi-4
        (BYTES, "GPT2Tokenizer", "phi3", "5.16.1", "5.23.0", False),
        (BYTES, "GPT2Tokenizer", "gpt2", "5.6.0", "5.23.0", False),
        (BYTES, "PreTrainedTokenizerFast", "llama", "4.57.6", "5.23.0", False),
        (BYTES, "Qwen2Tokenizer", "qwen2", "5.6.0", "5.23.0", False),
        (BYTES, "Qwen2Tokenizer", "qwen2", "4.57.6", "5.23.0", True),  # 4 loads by classes of its own
        (None, "XLNetTokenizer", "xlnet", "5.6.0", "5.23.0", True),
        (SPACES, "XLNetTokenizer", "xlnet", "5.6.0", "5.23.0", False),
        (BYTES, "GPTNeoXTokenizer", "gpt_neox", "5.6.0", "5.23.0", False),
        (BYTES, "Qwen2Tokenizer", "qwen2", "5.18.0", "5.23.0", False),  # between two that were read
        (BYTES, "LlamaTokenizerFast", None, "5.22.0", "5.23.0", True),  # and the two differ
        (BYTES, "Qwen2Tokenizer", "qwen2", "5.99.0", "5.23.0", True),  # nobody read it
    ],
)
def test_known_cases(tmp_path: Path, backend: Any, kind: str, model: str | None, a: str, b: str, differ: bool) -> None:
    place = locate(folder(tmp_path / "t", backend, kind, model))
    assert (may_differ(place, a, b) is not None) is differ
    assert may_differ(place, a, a) is None


@pytest.mark.parametrize(("kind", "model"), [("LlamaTokenizer", "mistral"), ("GPT2Tokenizer", "phi3")])
def test_a_class_that_config_json_alone_names_is_taken_before_5_6(kind: str, model: str, tmp_path: Path) -> None:
    place = locate(folder(tmp_path / "t", BYTES, None))
    (tmp_path / "t" / "config.json").write_text(json.dumps({"model_type": model, "tokenizer_class": kind}))
    assert may_differ(place, "5.5.0", "5.6.0") is None
    assert may_differ(place, "5.5.0", "5.16.1") == f"they load it with {kind} and tokenizer.json"


def test_what_puts_a_change_in_force_counts(tmp_path: Path) -> None:
    around = {"type": "TemplateProcessing", "special_tokens": {"<s>": {}}, "single": []}
    neox = locate(folder(tmp_path / "n", {**BYTES, "post_processor": around}, "GPTNeoXTokenizer", "gpt_neox"))
    assert may_differ(neox, "5.6.0", "5.23.0") == "GPTNeoXTokenizer changed between them"
    flagged = locate(folder(tmp_path / "f", BYTES, "GPTNeoXTokenizer", "gpt_neox", add_bos_token=True))
    assert may_differ(flagged, "5.6.0", "5.23.0") is None  # both pass over the flag where there is a tokenizer.json
    mapped = {**SPACES, "normalizer": {"type": "Sequence", "normalizers": [{"type": "Precompiled"}]}}
    xlnet = locate(folder(tmp_path / "x", mapped, "XLNetTokenizer", "xlnet"))
    assert may_differ(xlnet, "5.6.0", "5.23.0") is not None


def test_what_a_proof_measured_decides(tmp_path: Path) -> None:
    place = locate(folder(tmp_path / "t", SPACES, "LlamaTokenizer", "mistral"))
    assert may_differ(place, "5.6.0", "5.23.0") == "they load it with LlamaTokenizer and tokenizer.json"
    assert may_differ(place, "5.6.0", "5.23.0", {"5.6.0": 0}) is None
    assert may_differ(place, "5.6.0", "5.23.0", {"5.6.0": 7}) == "5.6.0 gives different ids for 7 probe strings"
    assert may_differ(place, "5.10.0", "5.23.0", {"5.6.0": 0}) is None  # between 5.6.0 and 5.16.1
    assert loaded_otherwise(place, "5.23.0") == {"5.6.0": "LlamaTokenizer"}  # 5.5.0 takes the file, too
    assert loaded_otherwise(place, "5.99.0") == {}


def test_code_of_the_repository_is_not_known(tmp_path: Path) -> None:
    place = locate(folder(tmp_path / "t", BYTES, "X", auto_map={"AutoTokenizer": ["a.B", None]}))
    assert may_differ(place, "5.6.0", "5.23.0") == "how they load it is not known"


def test_built_in_tokenizers_are_the_same_everywhere() -> None:
    assert may_differ(locate("builtin:llama3"), "4.57.6", "5.23.0") is None


@pytest.mark.parametrize(
    ("kind", "vocabulary", "differ"),
    [
        ("UnknownTokenizer", "tokenizer.model", True),  # built by the model's own settings since 5.24
        ("UnknownTokenizer", "vocab.txt", False),
        ("FNetTokenizer", "spiece.model", True),  # has no __init__ of its own
        ("XLNetTokenizer", "spiece.model", False),
    ],
)
def test_a_sentencepiece_model_that_no_class_builds(tmp_path: Path, kind: str, vocabulary: str, differ: bool) -> None:
    place = locate(folder(tmp_path / "t", None, kind, "none"))
    (tmp_path / "t" / vocabulary).write_text("")
    assert (may_differ(place, "5.23.0", "5.24.0") is not None) is differ
    assert may_differ(place, "5.20.1", "5.23.0") is None
