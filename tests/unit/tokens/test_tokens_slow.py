"""Tokenizers without a `tokenizers` backend: AutoTokenizer itself encodes, offsets where they can be proven."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sftui.errors import TokenizerError
from sftui.model import NOWHERE, Part, RenderedText, Span
from sftui.recipe import Tokenize
from sftui.tokens import load_tokenizer, token_text, tokenize
from sftui.tokens.surface import spell


@pytest.fixture
def byt5(tmp_path: Path) -> Any:
    (tmp_path / "byt5").mkdir()
    (tmp_path / "byt5" / "tokenizer_config.json").write_text('{"tokenizer_class": "ByT5Tokenizer"}')
    return load_tokenizer(str(tmp_path / "byt5"))


def test_byt5_gets_offsets_from_its_bytes(byt5: Any) -> None:
    assert (byt5.facts.is_fast, byt5.facts.engine, byt5.facts.probes) == (False, "transformers", 0)
    assert any("slow tokenizer: it returns no offsets" in note for note in byt5.facts.notes)
    encoded = byt5.encode("é✂\nx", True)
    assert encoded.starts == (0, 0, 1, 1, 1, 2, 3, NOWHERE)
    assert encoded.ends == (1, 1, 2, 2, 2, 3, 4, NOWHERE)
    assert encoded.ids[-1] == byt5.facts.eos_id
    assert b"".join(map(byt5.surface, encoded.ids[:-1])).decode() == "é✂\nx"
    assert byt5.facts.adds_eos and not byt5.facts.adds_bos


def test_byt5_through_tokenize(byt5: Any) -> None:
    row = RenderedText("hé</s>", (Span(0, 2, 0, Part.CONTENT), Span(2, 6, 0, Part.TERMINATOR)))
    tokens = tokenize(row, byt5, Tokenize(mode="whole"))
    assert tokens.parts == (Part.CONTENT,) * 3 + (Part.TERMINATOR,)
    assert token_text(tokens, row, byt5).special == (False, False, False, True)


def test_a_slow_tokenizer_refuses_surrogates_too(byt5: Any) -> None:
    with pytest.raises(TokenizerError, match=r"U\+D800"):
        byt5.encode("\ud800")


def test_slow_sentencepiece(sentencepiece_model: bytes, tmp_path: Path) -> None:
    folder = tmp_path / "spm"
    folder.mkdir()
    (folder / "spiece.model").write_bytes(sentencepiece_model)
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "SiglipTokenizer", "do_lower_case": False})
    )
    loaded = load_tokenizer(str(folder))
    assert not loaded.facts.is_fast
    encoded = loaded.encode("hello world")
    assert encoded.starts[0] == 0 and encoded.ends[-1] == len("hello world")
    lossy = loaded.encode("hello, world")
    assert set(lossy.starts) == {NOWHERE}, "the class drops punctuation: the pieces do not spell the text"
    assert loaded.piece(10**6) == ""


@pytest.mark.parametrize(
    ("text", "surfaces", "spans"),
    [
        ("ab", [b"a", b"b"], [(0, 1), (1, 2)]),
        ("ab", [b" a", b"b"], [(0, 1), (1, 2)]),
        (" ab", [b" ", b" a", b"b"], [(0, 0), (0, 2), (2, 3)]),
        ("é", [b"\xc3", b"\xa9"], [(0, 1), (0, 1)]),
        ("aé", [b"a\xc3", b"\xa9"], [(0, 2), (1, 2)]),
        ("ab", [b"a", b"c"], [(NOWHERE, NOWHERE), (NOWHERE, NOWHERE)]),
        ("", [], []),
        ("a", [b"a", b""], [(0, 1), (1, 1)]),
    ],
)
def test_spelling(text: str, surfaces: list[bytes], spans: list[tuple[int, int]]) -> None:
    starts, ends = spell(text, surfaces)
    assert list(zip(starts, ends)) == spans
