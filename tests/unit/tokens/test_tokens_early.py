"""First texts encoded by a part of a vocabulary: as the whole encodes them, or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from sftui.runs import flat
from sftui.tokens import builtin, load_tokenizer
from sftui.tokens.loaded import FastEngine, is_panic
from sftui.tokens.loading import cache
from sftui.tokens.loading.probes import probe_strings
from sftui.tokens.shortcuts import early, quick
from sftui.tokens.shortcuts.early import EarlyEngine, early_engine, whole_of
from sftui.tokens.surface import BYTE_OF


@pytest.fixture(autouse=True)
def worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, "WORTH", 0)


def never() -> Any:
    raise AssertionError("the whole was loaded")


def engine_of(backend: Tokenizer, split: bool = False, otherwise: Callable[[], Any] = never) -> EarlyEngine | None:
    data = quick.packed(backend.to_str())
    return early_engine(quick._taken_apart(data), otherwise, split) if data is not None else None


def alike(backend: Tokenizer, texts: list[str], split: bool = False) -> int:
    """How many texts a part encoded, each in an engine of its own, or left to a whole that gives up, too;
    AssertionError where one is not as the whole's."""
    whole, parts = (
        FastEngine(quick._taken_apart(quick.packed(backend.to_str()) or b"").whole(), split_special_tokens=split),
        0,
    )
    for text in texts:
        engine = engine_of(backend, split)
        assert engine is not None
        assert engine.added() == whole.added() and engine.decoding == whole.decoding
        for special in (False, True):
            if (part := engine._part) is None or (found := part.encode([text], special)) is None:
                parts += gives_up(whole, text, special)
                continue
            parts += 1
            assert found == whole.encode_batch([text], special)
            assert engine.ids_batch([text], special) == whole.ids_batch([text], special)
            for token in {*found[0].ids, *whole.added()}:
                assert engine.piece(token) == whole.piece(token)
            for piece in (text, *(content for content, _ in whole.added().values())):
                assert engine.token_id(piece) == whole.token_id(piece)
    return parts


def gives_up(whole: FastEngine, text: str, special: bool) -> bool:
    """Whether the whole has no tokens for a text."""
    try:
        whole.encode_batch([text], special)
    except BaseException as error:
        assert isinstance(error, Exception) or is_panic(error)
        return True
    return False


WORDS = st.lists(st.text("ab \nĠé<|>", min_size=2, max_size=5), max_size=14, unique=True)


@settings(max_examples=40, deadline=None)
@given(
    WORDS,
    st.lists(st.tuples(st.text("ab<|>é \n", min_size=1, max_size=4), *[st.booleans()] * 5), max_size=5),
    st.lists(st.text("ab \né<|>c", max_size=20), min_size=1, max_size=6),
    st.booleans(),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_whatever_the_tokenizer_is_a_part_encodes_as_the_whole(
    joined: list[str], added: list[Any], texts: list[str], ignore: bool, split: bool, random: Any
) -> None:
    single = {byte: n for n, byte in enumerate(BYTE_OF)}
    spelled = {"".join(c if c in single else "Ġ" for c in word) for word in joined}
    tokens = [*single, *sorted(spelled - set(single))]
    pairs = [(a, b) for a in tokens for b in tokens if a + b in spelled]
    random.shuffle(pairs)
    ids = random.sample(range(len(tokens) + 7), len(tokens))  # with gaps, in no order
    backend = Tokenizer(models.BPE(vocab=dict(zip(tokens, ids)), merges=pairs, ignore_merges=ignore))
    backend.decoder = decoders.ByteLevel()
    backend.normalizer = random.choice([normalizers.NFC(), normalizers.NFKD(), normalizers.Lowercase()])
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=random.random() < 0.5, use_regex=random.random() < 0.5)
    backend.pre_tokenizer = random.choice(
        [byte_level, pre_tokenizers.Sequence([pre_tokenizers.Split("a", "merged_with_next"), byte_level])]
    )
    for text, word, left, right, normalized, special in added:
        token = AddedToken(text, single_word=word, lstrip=left, rstrip=right, normalized=normalized, special=special)
        backend.add_tokens([token])
    known = backend.get_added_tokens_decoder()
    if known:
        front, first = next(iter(known.items()))
        backend.post_processor = processors.TemplateProcessing(
            single=[first.content, "$A"], special_tokens=[(first.content, front)]
        )
    if random.random() < 0.3:
        backend.enable_truncation(4)
        backend.enable_padding()
    if quick.packed(backend.to_str()) is not None:
        assert alike(backend, [*texts, *joined], split) == 2 * len([*texts, *joined])


@pytest.mark.one_of(2)
@pytest.mark.shared
@pytest.mark.parametrize("name", ["llama-3-8b-instruct", "qwen2.5"])
def test_a_part_of_a_real_one_encodes_as_the_whole(name: str, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(early, "CHARACTERS", 10**9)
    monkeypatch.setattr(early, "STRETCHES", 10**9)
    backend = Tokenizer.from_file(str(shared / "testdata" / "tokenizers" / name / "tokenizer.json"))
    found = json.loads(backend.to_str())
    data = quick._pack(found, found["model"])
    assert data is not None
    engine, whole = early_engine(quick._taken_apart(data), never, False), FastEngine(backend)
    assert engine is not None
    rows = (shared / "testdata" / "datasets" / "turkish_daily_test.jsonl").read_text().splitlines()[:40]
    added = [token.content for token in backend.get_added_tokens_decoder().values()][:8]
    for texts in (rows[:3], [*probe_strings(added)], rows[3:]):
        assert engine.encode_batch(texts, True) == whole.encode_batch(texts, True)
    assert [engine.token_id(piece) for piece in ("Ġthe", "no such", *added)] == [
        whole.token_id(piece) for piece in ("Ġthe", "no such", *added)
    ]
    assert engine._part is not None


def test_asked_for_more_it_is_the_whole() -> None:
    backend = Tokenizer.from_file(str(builtin.folder("llama3") / "tokenizer.json"))
    plain = FastEngine(Tokenizer.from_str(backend.to_str()))

    def asked(texts: list[str]) -> bool:
        """Whether it is the whole after these."""
        engine = engine_of(backend)
        assert engine is not None
        for text in texts:
            assert engine.encode_batch([text], True) == plain.encode_batch([text], True)
            assert engine.ids_batch([text], False) == plain.ids_batch([text], False)
        return engine._part is None

    assert not asked(["one", "two", "three", "two", "three"])
    assert asked(["one", "two", "three", "four", "one"])
    assert asked(["x " * early.CHARACTERS])
    assert asked(["x" * 19_000])


def test_what_asks_for_the_backend_gets_the_whole() -> None:
    text = Tokenizer.from_file(str(builtin.folder("llama3") / "tokenizer.json")).to_str()
    engine = engine_of(Tokenizer.from_str(text))
    assert engine is not None and engine.backend.to_str() == text and engine._part is None
    with pytest.raises(AttributeError):
        engine.nothing  # noqa: B018


def test_a_form_that_cannot_be_made_is_read_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Tokenizer.from_file(str(builtin.folder("llama3") / "tokenizer.json"))
    engine = engine_of(backend, otherwise=lambda: backend)
    monkeypatch.setattr(quick.Form, "whole", lambda form: None)
    assert engine is not None and engine.backend is backend


@pytest.mark.parametrize(
    "changed",
    [
        {"pre_tokenizer": None},
        {"pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}},
        {"model": {"byte_fallback": True}},
        {"model": {"end_of_word_suffix": "</w>"}},
        {"model": {"continuing_subword_prefix": "##"}},
        {"model": {"dropout": 0.1}},
    ],
)
def test_others_have_no_part(changed: dict[str, Any]) -> None:
    found = json.loads(Tokenizer.from_file(str(builtin.folder("llama3") / "tokenizer.json")).to_str())
    form = quick._taken_apart(quick._pack(found, found["model"]) or b"")
    rest = {**form.rest, **changed, "model": {**form.rest["model"], **changed.get("model", {})}}
    assert early_engine(form, never, False) is not None
    assert early_engine(quick.Form(form.tokens, form.ids, form.merges, form.added, rest), never, False) is None


def test_a_vocabulary_without_some_bytes_has_no_part() -> None:
    backend = Tokenizer(models.BPE(vocab={"a": 0, "b": 1, "ab": 2}, merges=[("a", "b")]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    engine = engine_of(backend)
    assert engine is not None
    assert engine.ids_batch(["abc"], False) == [flat((2,))] and engine._part is None


def test_a_proof_is_read_so_where_it_need_not_be_whole(make_folder: Any) -> None:
    folder = str(make_folder("llama3"))
    whole = load_tokenizer(folder)
    assert type(whole.engine) is FastEngine and whole_of(whole) is None
    soon = load_tokenizer(folder, mode="provisional")
    assert soon.facts == whole.facts and isinstance(soon.engine, EarlyEngine)
    text = "<|start_header_id|>user<|end_header_id|>\n\nHello wörld<|eot_id|>"
    assert soon.encode(text, True) == whole.encode(text, True) and soon.engine._part is not None
    load = whole_of(soon)
    assert load is not None
    again = load()
    assert type(again.engine) is FastEngine and again.facts == soon.facts
    assert soon.engine._part is None and again.encode(text, True) == whole.encode(text, True)


def test_a_damaged_quick_form_is_no_part(make_folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(make_folder("llama3"))
    ids = load_tokenizer(folder).encode("Hello", True).ids
    monkeypatch.setattr("sftui.tokens.loading.load.read_form", lambda path: None)
    soon = load_tokenizer(folder, mode="provisional")
    assert type(soon.engine) is FastEngine and soon.encode("Hello", True).ids == ids
    assert quick.read_form(cache.cache_root() / "none") is None


@pytest.mark.parametrize("base", [Exception, BaseException])
def test_a_part_on_which_the_library_gives_up_leaves_the_text_to_the_whole(base: type) -> None:
    """tokenizers raises Exception, and where Rust panics what is no Exception."""
    raised = type("PanicException", (base,), {"__module__": "pyo3_runtime"})

    def give_up(*_: Any) -> Any:
        raise raised("as the test asked it to")

    whole = load_tokenizer("builtin:chatml").engine
    assert isinstance(whole, FastEngine)
    engine = engine_of(whole.backend)
    part = engine._part if engine is not None else None
    assert part is not None and part.encode(["Hello"], False)
    part._made = (SimpleNamespace(encode_batch=give_up), {})  # type: ignore[assignment]
    assert part.encode(["Hello"], False) is None
