"""Small tokenizer folders to load, made from the built-in ones, and a cache of their own."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sftui.tokens import LoadedTokenizer, builtin, load_tokenizer
from sftui.tokens.loading import cache

MakeFolder = Callable[..., Path]
KEPT = cache.cache_root().parent
"""The user's cache, read before a test has one of its own."""


@pytest.fixture(autouse=True)
def tokenizer_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of proofs for every test."""
    monkeypatch.setenv("SFTUI_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def kept_proofs() -> Path:
    """The user's cache."""
    return KEPT


@pytest.fixture(scope="session")
def load_kept() -> Callable[[str], LoadedTokenizer]:
    """`load_tokenizer` with the user's cache, for real tokenizers, of which a proof takes long and is not what is
    tested."""

    def load(name: str) -> LoadedTokenizer:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SFTUI_CACHE", str(KEPT))
            return load_tokenizer(name)

    return load


@pytest.fixture
def make_folder(tmp_path: Path) -> MakeFolder:
    """Make a tokenizer folder from a built-in one; `config` updates its config, None leaves a file out."""

    def make(base: str = "chatml", name: str = "tokenizer", config: dict[str, Any] | None = None, **files: Any) -> Path:
        folder = tmp_path / name
        folder.mkdir(parents=True)
        for source in builtin.folder(base).glob("tokenizer*.json"):
            shutil.copyfile(source, folder / source.name)
        path = folder / "tokenizer_config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **(config or {})}))
        for key, content in files.items():
            file = folder / key.replace("__", "/").replace("_dot_", ".")
            file.parent.mkdir(exist_ok=True)
            if content is None:
                file.unlink()
            elif isinstance(content, bytes):
                file.write_bytes(content)
            else:
                file.write_text(content if isinstance(content, str) else json.dumps(content))
        return folder

    return make


@pytest.fixture(scope="session")
def chatml() -> LoadedTokenizer:
    return load_tokenizer("builtin:chatml")


@pytest.fixture(scope="session")
def gemma() -> LoadedTokenizer:
    return load_tokenizer("builtin:gemma")


@pytest.fixture(scope="session")
def llama3() -> LoadedTokenizer:
    return load_tokenizer("builtin:llama3")


@pytest.fixture(scope="session")
def sentencepiece_model() -> bytes:
    """A tiny sentencepiece BPE model; skips where the library is not installed."""
    spm = pytest.importorskip("sentencepiece")
    model = io.BytesIO()
    text = ["hello world this is a test", "the quick brown fox 123", "a b c d e f g"] * 50
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(text),
        model_writer=model,
        vocab_size=60,
        model_type="bpe",
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return model.getvalue()
