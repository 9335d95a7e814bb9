"""The engine for whole datasets: the same ids as `tokenizers`, or not used."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sftui.model import Cut, Part, RenderedText, Span
from sftui.recipe import Tokenize
from sftui.tokens import LoadedTokenizer, ToEncode, load_tokenizer, tokenize
from sftui.tokens.shortcuts.bulk import Bulk, compact
from sftui.tokens.shortcuts.offsets import ByteOffsets

fastokens = pytest.importorskip("fastokens", reason="fastokens is in the extra `fast`")

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
    assert bulk.engine == fast.facts.engine == "fastokens"
    fast.ahead([ToEncode(text, special) for text in TEXTS])
    assert [fast.flat(text, special) for text in TEXTS] == [plain.encode(text, special).ids for text in TEXTS]
    assert bulk.mismatch is None


@cache
def proven_once() -> tuple[LoadedTokenizer, LoadedTokenizer, Bulk]:
    """A tokenizer, plain and in bulk: proving fastokens takes longer than all that is asked of it here."""
    plain = load_tokenizer("builtin:chatml")
    return plain, *in_bulk(plain)


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=40), min_size=2, max_size=8))
def test_wild_texts_give_the_same_ids(texts: list[str]) -> None:
    plain, fast, bulk = proven_once()
    fast.ahead([ToEncode(text) for text in texts])
    assert [fast.flat(text) for text in texts] == [plain.encode(text).ids for text in texts] and bulk.mismatch is None


def test_fastokens_reads_merges_in_their_short_form(plain: LoadedTokenizer) -> None:
    """A pair as two strings takes it twice the memory while it reads; both say the same."""
    from tokenizers import Tokenizer

    written = plain.engine.backend.to_str()  # type: ignore[attr-defined]
    short = compact(written)
    assert all(type(merge) is str for merge in json.loads(short)["model"]["merges"]) and len(short) < len(written)
    assert Tokenizer.from_str(short).to_str() == written


@pytest.mark.parametrize(
    "model", [{"type": "BPE", "merges": [["a", "b"], ["a ", "b"]]}, {"type": "BPE", "merges": ["a b"]}, {"vocab": []}]
)
def test_merges_that_have_no_other_short_form_stay(model: dict[str, Any]) -> None:
    assert json.loads(compact(json.dumps({"model": model}))) == {"model": model}


class Wrong:
    """fastokens that adds a token to every text that holds a word."""

    def __init__(self, fast: Any, word: str) -> None:
        self._fast, self._word = fast, word

    def no_truncation(self) -> None: ...
    def no_padding(self) -> None: ...

    def encode_batch_flat(self, texts: list[str], **options: bool) -> tuple[bytes, bytes]:
        found: tuple[bytes, bytes] = self._fast.encode_batch_flat(
            [text + "!" * (self._word in text) for text in texts], **options
        )
        return found


@pytest.fixture
def wrong(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The word of which fastokens makes another text."""
    word: list[str] = []
    real = fastokens.Tokenizer

    class Module:
        class Tokenizer:
            @staticmethod
            def from_json_str(text: str) -> Wrong:
                return Wrong(real.from_json_str(text), word[0])

    monkeypatch.setitem(sys.modules, "fastokens", Module)
    yield word


def test_an_engine_that_differs_on_the_rows_is_not_used(plain: LoadedTokenizer, wrong: list[str]) -> None:
    wrong.append("Hello")
    fast, bulk = in_bulk(plain)
    assert fast.facts.engine == bulk.engine == "tokenizers" and bulk.mismatch is None


def test_an_engine_that_differs_later_is_left_and_told(plain: LoadedTokenizer, wrong: list[str]) -> None:
    wrong.append("rare")
    fast, bulk = in_bulk(plain)
    assert bulk.engine == "fastokens"
    texts = [f"{number} a rare word" for number in range(8)]
    fast.ahead([ToEncode(text) for text in texts])
    assert [fast.flat(text) for text in texts] == [plain.encode(text).ids for text in texts]
    assert bulk.mismatch is not None and "a rare word" in bulk.mismatch and bulk.engine == "tokenizers"


def test_without_fastokens_all_is_as_before(plain: LoadedTokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastokens", None)
    fast, bulk = in_bulk(plain)
    assert fast.facts.engine == bulk.engine == "tokenizers"
    fast.ahead([ToEncode(text, placed=True) for text in TEXTS])
    assert [fast.encode(text) for text in TEXTS] == [plain.encode(text) for text in TEXTS] and bulk.mismatch is None


@pytest.mark.long
@pytest.mark.shared
def test_what_fastokens_does_not_know_stays_with_tokenizers(
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
    print(engines)
    assert engines["qwen2.5"] == engines["llama-3-8b-instruct"] == "fastokens"
    assert engines["t5-small"] == engines["bert-base-cased"] == "tokenizers"


def test_offsets_that_differ_are_left_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = load_tokenizer("builtin:chatml")
    bulk = Bulk(after=None)
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
