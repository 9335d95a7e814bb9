"""The quick form of a backend: the very same one, or none; and a proof that holds it is read by it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from sftui.tokens import builtin, load_tokenizer
from sftui.tokens.loaded import FastEngine
from sftui.tokens.loading import cache
from sftui.tokens.loading.locate import sha256
from sftui.tokens.loading.probes import probe_strings
from sftui.tokens.shortcuts import quick

TEXTS = ["Hello wörld\n\n 12", "<|im_start|>user\nab  ab<|im_end|>", "a\0b \x1e", "", " <s>ab</s>"]


@pytest.fixture(autouse=True)
def worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, "WORTH", 0)


def read_again(backend: Tokenizer, folder: Path) -> Tokenizer | None:
    data = quick.packed(backend.to_str())
    if data is None:
        return None
    (folder / "quick.bin").write_bytes(data)
    return quick.read_quick(folder / "quick.bin")


def same(one: Tokenizer, other: Tokenizer) -> bool:
    texts = [*TEXTS, *probe_strings([token.content for token in one.get_added_tokens_decoder().values()])]
    ids = [[tokenizer.encode(text, add_special_tokens=True).ids for text in texts] for tokenizer in (one, other)]
    return one.to_str() == other.to_str() and ids[0] == ids[1]


@pytest.mark.parametrize("name", ["chatml", "llama3"])
def test_it_is_the_same_backend(name: str, tmp_path: Path) -> None:
    backend = Tokenizer.from_file(str(builtin.folder(name) / "tokenizer.json"))
    again = read_again(backend, tmp_path)
    assert again is not None and same(backend, again)


@pytest.mark.shared
def test_it_is_the_same_for_a_real_one_with_byte_fallback(shared: Path, tmp_path: Path) -> None:
    backend = Tokenizer.from_file(str(shared / "testdata" / "tokenizers" / "phi-3-mini" / "tokenizer.json"))
    again = read_again(backend, tmp_path)
    assert again is not None and same(backend, again)


PARTS = st.lists(st.text("ab \n\0\x1e▁Ġ<", min_size=1, max_size=4), max_size=12, unique=True)


@settings(max_examples=150, deadline=None)
@given(
    PARTS,
    st.lists(st.tuples(st.text("ab<|>s\n", min_size=1, max_size=4), *[st.booleans()] * 5), max_size=5),
    st.booleans(),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_whatever_it_holds_it_is_the_same_or_none(
    parts: list[str], added: list[Any], fallback: bool, ignore: bool, random: Any
) -> None:
    tokens = ["<unk>", *"ab \n", *(part for part in parts if part not in {"<unk>", *"ab \n"})]
    pairs = [(a, b) for a in tokens for b in tokens if a + b in tokens]
    random.shuffle(pairs)
    ids = random.sample(range(len(tokens) + 5), len(tokens))  # with gaps, in no order
    model = models.BPE(
        vocab=dict(zip(tokens, ids)), merges=pairs, unk_token="<unk>", byte_fallback=fallback, ignore_merges=ignore
    )
    backend = Tokenizer(model)
    if random.random() < 0.5:
        backend.normalizer = normalizers.Prepend("▁")
        backend.decoder = decoders.ByteFallback()
    if random.random() < 0.5:
        backend.pre_tokenizer = pre_tokenizers.ByteLevel()
        backend.post_processor = processors.ByteLevel()
    for text, single, left, right, normalized, special in added:
        backend.add_tokens(
            [AddedToken(text, single_word=single, lstrip=left, rstrip=right, normalized=normalized, special=special)]
        )
    if random.random() < 0.3:
        backend.enable_truncation(8)
        backend.enable_padding()
    data = quick.packed(backend.to_str())
    if data is not None:
        again: Any = quick._taken_apart(data).whole()
        assert again.to_str() == backend.to_str()
        assert all(again.encode(text).ids == backend.encode(text).ids for text in [*TEXTS, *parts])
    assert data is not None or "\n" in "".join(tokens)


def test_other_models_have_none() -> None:
    assert quick.packed(Tokenizer(models.WordLevel({"a": 0}, unk_token="a")).to_str()) is None
    assert quick.packed(Tokenizer(models.Unigram([("a", 0.0)])).to_str()) is None
    assert quick.packed("{}") is None and quick.packed("[]") is None and quick.packed("nonsense") is None


def test_small_ones_are_not_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    text = Tokenizer.from_file(str(builtin.folder("chatml") / "tokenizer.json")).to_str()
    assert quick.packed(text) is not None
    monkeypatch.undo()
    assert quick.packed(text) is None


def test_what_would_not_be_the_same_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    text = Tokenizer(models.BPE({"a": 0}, [], unk_token="a")).to_str()
    assert quick.packed(text) is not None
    monkeypatch.setattr(quick, "OPTIONS", ())  # a release of tokenizers that takes another one
    assert quick.packed(text) is None


def test_a_proof_is_read_by_it(make_folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []
    whole = quick.read_quick

    def counted(path: Path) -> Any:
        read.append(path)
        return whole(path)

    monkeypatch.setattr("sftui.tokens.loading.load.read_quick", counted)
    folder = str(make_folder("llama3"))
    first = load_tokenizer(folder)
    again = load_tokenizer(folder)
    assert [path.name for path in read][-1:] == [cache.QUICK]
    assert [first.encode(text, True).ids for text in TEXTS] == [again.encode(text, True).ids for text in TEXTS]
    plain = Tokenizer.from_file(str(read[-1].with_name("tokenizer.json")))
    assert isinstance(again.engine, FastEngine) and same(plain, again.engine.backend)


@pytest.mark.parametrize("damage", [b"", b"{}\n", b"nonsense"])
def test_a_damaged_quick_form_is_made_again(damage: bytes, make_folder: Any) -> None:
    folder = str(make_folder("llama3"))
    ids = load_tokenizer(folder).encode("Hello", True).ids
    [made] = list(cache.cache_root().iterdir())
    (made / cache.QUICK).write_bytes(damage)
    assert load_tokenizer(folder).encode("Hello", True).ids == ids
    assert json.loads((made / "proof.json").read_text())["quick"] == sha256(made / cache.QUICK)
    (made / cache.QUICK).write_bytes(damage)
    assert quick.read_quick(made / cache.QUICK) is None
