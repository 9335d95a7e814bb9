"""A SentencePiece model as an engine: ids and offsets, what it refuses, and what becomes of its process."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from sftui.errors import TokenizerError
from sftui.model import Part, Piece, RenderedText
from sftui.recipe import Tokenize
from sftui.runs import flat
from sftui.tokens import LoadedTokenizer, TokenizerFacts, tokenize
from sftui.tokens.loading import sentencepieces
from sftui.tokens.loading.process import ANSWERING
from sftui.tokens.loading.sentencepieces import SentencePieceEngine

KEPT = Path(__file__).parents[2] / "golden" / "trainers" / "pieces"
TEXTS = ("Hello  world", "\n\nüç 🙂\n", "", " ", "a\x00b", "İstanbul\t好 12", "▁x ▁", "<s>[INST]</s><unk>", "x" * 3000)


@pytest.fixture(scope="module", params=["bpe", "turns", "unigram"])
def made(request: pytest.FixtureRequest) -> tuple[SentencePieceEngine, Any]:
    """An engine, and the processor that it stands for."""
    package = pytest.importorskip("sentencepiece")
    path = KEPT / f"{request.param}.model"
    return SentencePieceEngine(path), package.SentencePieceProcessor(model_file=str(path))


def test_ids_are_the_packages_own(made: tuple[SentencePieceEngine, Any]) -> None:
    engine, processor = made
    assert engine.ids_batch(TEXTS, False) == [flat(processor.encode(text)) for text in TEXTS]
    assert [one.ids for one in engine.encode_batch(TEXTS, True)] == engine.ids_batch(TEXTS, False)
    assert (engine.bos_id, engine.eos_id, engine.unk_id) == (
        processor.bos_id(),
        processor.eos_id(),
        processor.unk_id(),
    )
    assert [engine.piece(i) for i in (0, 70, 10**6)] == [processor.id_to_piece(0), processor.id_to_piece(70), None]
    assert engine.token_id(processor.id_to_piece(70)) == 70 and engine.token_id("no such piece") is None
    specials = {i for i in range(len(processor)) if processor.is_control(i) or processor.is_unknown(i)}
    assert set(engine.added()) == specials


def test_offsets_are_characters_of_the_text(made: tuple[SentencePieceEngine, Any]) -> None:
    engine, processor = made
    for text, one in zip(TEXTS, engine.encode_batch(TEXTS, False)):
        assert list(one.starts) == sorted(one.starts) and all(a <= b <= len(text) for a, b in zip(one.starts, one.ends))
        for token, start, end in zip(*(one.ids, one.starts, one.ends)):
            if processor.is_byte(token):  # every byte of a character has its span
                assert end - start == 1
                assert int(processor.id_to_piece(token)[1:-1], 16) in text[start:end].encode()


def test_a_text_behind_another_has_the_ids_that_are_left() -> None:
    pytest.importorskip("sentencepiece")
    engine = SentencePieceEngine(KEPT / "bpe.model")
    tokenizer = LoadedTokenizer(TokenizerFacts("bpe", vocab_size=engine.vocab_size), engine)
    cut, text = len(tokenizer.ids("\n")), "time for ü"
    whole = tokenizer.encode("\n" + text)
    piece = Piece(text, 1, Part.CONTENT, before="\n", cut=cut)
    rendered = RenderedText("So: " + text, pieces=(Piece("So: ", 0, Part.CONTENT, ids=(5,)), piece))
    tokens = tokenize(rendered, tokenizer, Tokenize(mode="per_part"))
    assert tokens.input_ids == (5, *whole.ids[cut:]) and tokens.starts[1:] == tuple(3 + at for at in whole.starts[cut:])
    bare = tokenize(rendered, tokenizer, Tokenize(mode="per_part"), places=False)
    assert bare.input_ids == tokens.input_ids and list(bare.messages) == list(tokens.messages)


def test_what_a_text_behind_another_loses_is_nobodys() -> None:
    """A token of the text that stands before it, too, is left out with it: its characters have no token."""
    pytest.importorskip("sentencepiece")
    engine = SentencePieceEngine(KEPT / "turns.model")  # two line breaks are one token
    tokenizer = LoadedTokenizer(TokenizerFacts("turns", vocab_size=engine.vocab_size), engine)
    cut = len(tokenizer.ids("\n"))
    rendered = RenderedText("\nx", pieces=(Piece("\nx", 0, Part.CONTENT, before="\n", cut=cut),))
    tokens = tokenize(rendered, tokenizer, Tokenize(mode="per_part"))
    assert tokens.input_ids == tokenizer.ids("\n\nx")[cut:] == tokenizer.ids("x") and tokens.starts == (1,)


def test_half_a_character_is_refused() -> None:
    pytest.importorskip("sentencepiece")
    engine = SentencePieceEngine(KEPT / "bpe.model")
    tokenizer = LoadedTokenizer(TokenizerFacts("bpe", vocab_size=engine.vocab_size), engine)
    for encode in (tokenizer.encode, tokenizer.ids):
        with pytest.raises(TokenizerError, match=r"lone surrogate U\+D83D"):
            encode("a\ud83d")


def test_a_process_that_ends_is_told_and_started_again() -> None:
    pytest.importorskip("sentencepiece")
    engine = SentencePieceEngine(KEPT / "bpe.model")
    before = engine.ids_batch(["time"], False)
    process = engine._model._process
    assert process is not None
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert engine.ids_batch(["time"], False) == before


def test_what_never_ends_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that takes longer than a row may, whatever the file does with it."""
    pytest.importorskip("sentencepiece")
    engine = SentencePieceEngine(KEPT / "bpe.model")
    monkeypatch.setattr("sftui.tokens.loading.process.ANSWERING", ANSWERING / 2400)
    with pytest.raises(TokenizerError, match=r"was stopped.*check the file"):
        engine.ids_batch(["x y" * 300_000], False)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "this is not a SentencePiece model"),
        (b"\x00\xff" * 400, "this is not a SentencePiece model"),
        (b'{"model": {}}', "this is not a SentencePiece model"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS pointer"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, content: bytes, told: str) -> None:
    pytest.importorskip("sentencepiece")
    path = tmp_path / "tokenizer.model"
    path.write_bytes(content)
    with pytest.raises(TokenizerError, match=told):
        SentencePieceEngine(path)


def test_a_file_that_ends_early_is_refused_or_encodes(tmp_path: Path) -> None:
    """It is refused, or what it gives is taken."""
    pytest.importorskip("sentencepiece")
    whole = (KEPT / "unigram.model").read_bytes()
    path = tmp_path / "tokenizer.model"
    for part in (1, 2, 3):
        path.write_bytes(whole[: len(whole) * part // 4])
        try:
            engine = SentencePieceEngine(path)
            assert len(engine.encode_batch(TEXTS, False)) == len(TEXTS)
        except TokenizerError as error:
            assert "\n" not in str(error)


def test_what_is_too_large_or_missing_is_not_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tokenizer.model"
    with pytest.raises(TokenizerError, match="No such file"):
        SentencePieceEngine(path)
    with monkeypatch.context() as patch:
        patch.setattr(sentencepieces, "LARGEST", sentencepieces.LARGEST >> 6)
        path.write_bytes(bytes(1_100_000))
        with pytest.raises(TokenizerError, match="larger than 1 MB"):
            SentencePieceEngine(path)
    path.write_bytes(b"x")
    monkeypatch.setattr(sentencepieces, "find_spec", lambda name: None)
    with pytest.raises(TokenizerError, match=r"not installed: sentencepiece.*pip install sentencepiece"):
        SentencePieceEngine(path)
