"""The engine for whole datasets: the same ids as `tokenizers`, or not used."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer

from sftui.errors import TokenizerError
from sftui.model import Cut, Part, RenderedText, Span
from sftui.recipe import Tokenize
from sftui.tokens import LoadedTokenizer, ToEncode, load_tokenizer, tokenize
from sftui.tokens.loaded import FastEngine
from sftui.tokens.shortcuts import bulk as module
from sftui.tokens.shortcuts import gigatokens
from sftui.tokens.shortcuts.bulk import Bulk
from sftui.tokens.shortcuts.gigatokens import gigatoken_of
from sftui.tokens.shortcuts.offsets import ByteOffsets, SpaceOffsets

rust = pytest.importorskip("gigatoken.gigatoken_rs", reason="gigatoken is in the extra `fast`")

BUILTIN = ("builtin:chatml", "builtin:llama3", "builtin:gemma")
TEXTS = ("Hello there", "İstanbul'da  3 gün\n\n", "<|im_start|>user\n日本 ✂️<|im_end|>\n", " ", "", "a" * 5_000)


@pytest.fixture(scope="module", params=BUILTIN)
def plain(request: pytest.FixtureRequest) -> LoadedTokenizer:
    return load_tokenizer(request.param)


def in_bulk(plain: LoadedTokenizer) -> tuple[LoadedTokenizer, Bulk]:
    bulk = Bulk()
    return bulk.faster(plain, [ToEncode(text) for text in TEXTS]), bulk


@pytest.mark.parametrize("special", [False, True])
def test_ids_of_many_texts_are_those_of_each(plain: LoadedTokenizer, special: bool) -> None:
    fast, bulk = in_bulk(plain)
    assert bulk.engine == fast.facts.engine == "gigatoken"
    fast.ahead([ToEncode(text, special) for text in TEXTS])
    assert [fast.flat(text, special) for text in TEXTS] == [plain.encode(text, special).ids for text in TEXTS]
    assert bulk.mismatch is None


@cache
def proven_once() -> tuple[LoadedTokenizer, LoadedTokenizer, Bulk]:
    """A tokenizer, plain and in bulk: proving gigatoken takes longer than all that is asked of it here."""
    plain = load_tokenizer("builtin:chatml")
    return plain, *in_bulk(plain)


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=40), min_size=2, max_size=8))
def test_wild_texts_give_the_same_ids(texts: list[str]) -> None:
    plain, fast, bulk = proven_once()
    fast.ahead([ToEncode(text) for text in texts])
    assert [fast.flat(text) for text in texts] == [plain.encode(text).ids for text in texts] and bulk.mismatch is None


class Wrong:
    """gigatoken that adds a token to every text that holds a word, or gives up on it."""

    def __init__(self, fast: Any, word: str, gives_up: bool) -> None:
        self._fast, self._word, self._gives_up = fast, word.encode(), gives_up

    def encode(self, text: bytes) -> Any:
        if self._gives_up and self._word in text:
            raise RuntimeError("not this one")
        return self._fast.encode(text + b"!" * (self._word in text))


@pytest.fixture
def wrong(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The word of which gigatoken makes another text; with a second one, whatever it is, it gives up on the first."""
    words: list[str] = []
    real = rust.load_hf_json
    monkeypatch.setattr(rust, "load_hf_json", lambda text: Wrong(real(text), words[0], len(words) > 1))
    return words


def test_an_engine_that_differs_on_the_rows_is_not_used(plain: LoadedTokenizer, wrong: list[str]) -> None:
    wrong.append("Hello")
    fast, bulk = in_bulk(plain)
    assert fast.facts.engine == bulk.engine == "tokenizers" and bulk.mismatch is None


def test_an_engine_that_differs_later_is_left_and_told(plain: LoadedTokenizer, wrong: list[str]) -> None:
    wrong.append("rare")
    fast, bulk = in_bulk(plain)
    assert bulk.engine == "gigatoken"
    texts = [f"{number} a rare word" for number in range(8)]
    fast.ahead([ToEncode(text) for text in texts])
    assert [fast.flat(text) for text in texts] == [plain.encode(text).ids for text in texts]
    assert bulk.mismatch is not None and "a rare word" in bulk.mismatch and bulk.engine == "tokenizers"


def test_an_engine_that_gives_up_on_a_text_is_left_and_told(plain: LoadedTokenizer, wrong: list[str]) -> None:
    wrong += ["rare", "gives up"]
    fast, bulk = in_bulk(plain)
    assert bulk.engine == "gigatoken"
    texts = [f"{number} a {'rare' if number == 5 else 'usual'} word" for number in range(8)]
    fast.ahead([ToEncode(text) for text in texts])
    assert [fast.flat(text) for text in texts] == [plain.flat(text) for text in texts]
    assert bulk.mismatch is not None and "'5 a rare word'" in bulk.mismatch and bulk.engine == "tokenizers"


def test_half_a_character_is_no_difference(plain: LoadedTokenizer) -> None:
    fast, bulk = in_bulk(plain)
    with pytest.raises(TokenizerError):
        fast.ahead([ToEncode(text) for text in ("whole", "half \ud83d", "whole, too")])
    assert bulk.mismatch is None and bulk.engine == "gigatoken"


@pytest.mark.parametrize("text", ["a\u088fb", "x\U00010940y", "\U000323b0 \U000323b1", "e\u08d3\u0316", "\ua7cea"])
def test_letters_that_one_of_both_does_not_know_are_as_tokenizers_has_them(text: str) -> None:
    plain, fast, bulk = proven_once()
    fast.ahead([ToEncode(text + end) for end in (text, " 1")])
    assert [fast.flat(text + end) for end in (text, " 1")] == [plain.encode(text + end).ids for end in (text, " 1")]
    assert bulk.mismatch is None


def byte_level(added: Sequence[AddedToken] = (), **parts: Any) -> FastEngine:
    """A backend of bytes without merges, with other parts and added tokens."""
    made = json.loads(load_tokenizer("builtin:chatml").engine.backend.to_str())  # type: ignore[attr-defined]
    model = {**made["model"], **parts.pop("model", {})}
    backend = Tokenizer.from_str(json.dumps({**made, **parts, "model": model}))
    for token in added:
        (backend.add_special_tokens if token.special else backend.add_tokens)([token])
    return FastEngine(backend)


LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
BYTES = {**LEVEL, "use_regex": False}
DIGITS = {"type": "Digits", "individual_digits": True}
SPLIT = {"type": "Split", "pattern": {"Regex": r"\s+(?!\S)|\s+"}, "behavior": "Isolated", "invert": False}


def in_turn(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": [*steps]}


@pytest.mark.parametrize(
    "parts",
    [
        {"pre_tokenizer": None},
        {"pre_tokenizer": BYTES},
        {"pre_tokenizer": in_turn(DIGITS, LEVEL)},
        {"pre_tokenizer": in_turn(SPLIT, LEVEL)},
        {"pre_tokenizer": in_turn({**SPLIT, "behavior": "Removed"}, BYTES)},
        {"pre_tokenizer": in_turn({**SPLIT, "invert": True}, BYTES)},
        {"model": {"end_of_word_suffix": "</w>"}},
        {"added": [AddedToken("whole", single_word=True)]},
        {"added": [AddedToken("<late>", normalized=True)]},
        {"added": [AddedToken("<late>", normalized=True), AddedToken("te>x", normalized=False)], "normalizer": None},
    ],
)
def test_what_gigatoken_would_pass_over_is_left_to_tokenizers(parts: dict[str, Any]) -> None:
    assert gigatoken_of(byte_level(**parts)) is None


def test_what_gigatoken_reads_it_is_given() -> None:
    engine = byte_level(pre_tokenizer=LEVEL, normalizer=None, added=[AddedToken("<late>", normalized=True)])
    fast = gigatoken_of(engine)
    texts = ["a <late> word", "<|im_start|><late>"]
    assert fast is not None and fast.ids(texts, False) == engine.ids_batch(texts, False)


def test_special_tokens_that_are_text_stay_text() -> None:
    plain = load_tokenizer("builtin:chatml")
    backend = Tokenizer.from_str(plain.engine.backend.to_str())  # type: ignore[attr-defined]
    backend.add_tokens([AddedToken("<tool>", normalized=False)])
    engine = FastEngine(backend, split_special_tokens=True)
    fast = gigatoken_of(engine)
    texts = ["<|im_start|>user<|im_end|>", "<tool><|im_end|> x"]
    assert fast is not None and fast.ids(texts, True) == engine.ids_batch(texts, True)
    assert engine.token_id("<|im_end|>") not in fast.ids(texts, False)[0]


@pytest.mark.parametrize(
    ("expected", "due"),
    [(None, [False, False, False, True]), (8, [False] * 4), (23, [False] * 4), (25, [True]), (10_000, [True])],
)
def test_gigatoken_is_loaded_where_what_is_left_takes_longer_without(
    plain: LoadedTokenizer, monkeypatch: pytest.MonkeyPatch, expected: int | None, due: list[bool]
) -> None:
    """Four rows of 100 characters at a time, where loading takes as long as 1,600 characters, or 16 rows."""
    monkeypatch.setattr(module, "PER_TOKEN", 1_000 / plain.facts.vocab_size)
    monkeypatch.setattr(module, "LOADING", 599 if expected is None else 999)
    bulk = Bulk()
    bulk.of(plain)
    bulk.expected = lambda: expected
    rows = [ToEncode("x" * 100, placed=True), ToEncode("x" * 60, other="x" * 100)] * 4
    assert [bulk.due(4, rows) for _ in due] == due and not Bulk("never").due(1_000_000, rows)


def test_it_is_tried_once(plain: LoadedTokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gigatoken.gigatoken_rs", None)
    bulk, texts = Bulk("soon"), [ToEncode(text) for text in TEXTS]
    bulk.of(plain)
    assert bulk.due(6, texts)
    bulk.faster(plain, texts)
    assert not bulk.due(6, texts)


def test_one_that_has_grown_is_made_anew(plain: LoadedTokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    proofs: list[ByteOffsets] = []
    monkeypatch.setattr(gigatokens, "LOOK", 100)
    for kind in (ByteOffsets, SpaceOffsets):
        monkeypatch.setattr(kind, "prove", lambda self: proofs.append(self))
    fast, bulk = in_bulk(plain)
    first = bulk.fast
    monkeypatch.setattr(gigatokens, "resident", lambda pid: 1 << 40)
    fast.ahead([ToEncode(text) for text in TEXTS])
    assert first is not None and not bulk.due(8, []), "what came until the first look is not its own"
    monkeypatch.setattr(gigatokens, "resident", lambda pid: 1 << 41)
    fast.ahead([ToEncode(text) for text in TEXTS])
    assert bulk.due(8, [])
    again = bulk.faster(plain, [ToEncode(text) for text in TEXTS])
    assert bulk.fast is not None and bulk.fast is not first and not bulk.due(8, [])
    assert len(proofs) == 1, "of places, which stay as they are"
    again.ahead([ToEncode(text) for text in TEXTS])
    assert [again.flat(text) for text in TEXTS] == [plain.encode(text).ids for text in TEXTS]


def test_without_gigatoken_all_is_as_before(plain: LoadedTokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gigatoken.gigatoken_rs", None)
    fast, bulk = in_bulk(plain)
    assert fast.facts.engine == bulk.engine == "tokenizers"
    fast.ahead([ToEncode(text, placed=True) for text in TEXTS])
    assert [fast.encode(text) for text in TEXTS] == [plain.encode(text) for text in TEXTS] and bulk.mismatch is None


@pytest.mark.long
@pytest.mark.shared
def test_what_gigatoken_does_not_know_stays_with_tokenizers(
    shared: Path, load_kept: Callable[[str], LoadedTokenizer]
) -> None:
    folder = shared / "testdata" / "tokenizers"
    engines = {}
    for name in ("qwen2.5", "llama-3-8b-instruct", "minimind", "phi-3-mini", "t5-small", "bert-base-cased"):
        loaded = load_kept(str(folder / name))
        fast, bulk = in_bulk(loaded)
        engines[name] = bulk.engine
        fast.ahead([ToEncode(text) for text in TEXTS])
        assert [fast.flat(text) for text in TEXTS] == [loaded.encode(text).ids for text in TEXTS], name
    assert engines["t5-small"] == engines["bert-base-cased"] == "tokenizers"
    assert {engines[name] for name in ("qwen2.5", "llama-3-8b-instruct", "minimind", "phi-3-mini")} == {"gigatoken"}


def test_offsets_that_differ_are_left_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = load_tokenizer("builtin:chatml")
    bulk = Bulk("never")
    many = bulk.of(plain)
    monkeypatch.setattr(ByteOffsets, "of", lambda self, ids, text, special: ((0,) * len(ids), (1,) * len(ids)))
    texts = [f"{number} a long text" for number in range(8)]
    many.ahead([ToEncode(text, placed=True) for text in texts])
    assert [many.encode(text) for text in texts] == [plain.encode(text) for text in texts]
    assert bulk.mismatch is not None and "offsets" in bulk.mismatch and bulk.of(plain) is plain


PIECES = st.lists(
    st.tuples(st.sampled_from(["", "a", "Hello there", " x\n", "é", "日本", "<|im_end|>"]),
              st.integers(-1, 2), st.sampled_from([Part.CONTENT, Part.HEADER, Part.BOS])),
    min_size=1, max_size=8,
)  # fmt: skip


@cache
def both_llamas() -> tuple[LoadedTokenizer, LoadedTokenizer]:
    plain = load_tokenizer("builtin:llama3")
    return plain, in_bulk(plain)[0]


@given(PIECES, st.sampled_from(["never", "always", "if_missing_ids", "if_missing_text"]), st.booleans())
def test_tokens_in_bulk_are_of_whom_they_are_of_alone(
    pieces: list[tuple[str, int, Part]], append_eos: str, special: bool
) -> None:
    plain, fast = both_llamas()
    text, spans = "", []
    for piece, message, part in pieces:
        spans.append(Span(len(text), len(text) + len(piece), message, part))
        text += piece
    options = Tokenize(add_special_tokens=special, append_eos=append_eos)
    rendered = RenderedText(text, tuple(spans))
    fast.ahead([ToEncode(text + end, special, True) for end in ("", plain.facts.eos_token or "")] * 2)
    mine, theirs = tokenize(rendered, fast, options), tokenize(rendered, plain, options)
    assert (
        mine == theirs and tuple(mine.messages) == tuple(theirs.messages) and tuple(mine.parts) == tuple(theirs.parts)
    )
    if text and append_eos == "never":
        assert type(mine.ends) is Cut


def test_a_claim_that_tokens_are_the_text_is_held_against_some(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = load_tokenizer("builtin:chatml")
    many, bulk = in_bulk(plain)
    monkeypatch.setattr(ByteOffsets, "spells", lambda self, ids, text, special: False)
    many.ahead([ToEncode(f"{number} a text", placed=True) for number in range(8)])
    assert bulk.mismatch is not None and type(many.encode("1 a text").ends) is tuple
