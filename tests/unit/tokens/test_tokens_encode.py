"""Rendered → Tokens: ids, offsets, and where every token comes from."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors

from sftui.errors import TokenizerError
from sftui.model import NOWHERE, Part, Piece, RenderedText, Span, Tokens, TokenText
from sftui.recipe import Tokenize
from sftui.tokens import LoadedTokenizer, TokenizerFacts, prompt_text, surface, surfaces, token_text, tokenize
from sftui.tokens.loaded import FastEngine

HEADER, CONTENT, END = "<|im_start|>user\n", "Hello there ✂️ 日本", "<|im_end|>"
TEXT = HEADER + CONTENT + END + "\n"
SPANS = (
    Span(0, len(HEADER), 0, Part.HEADER),
    Span(len(HEADER), len(HEADER + CONTENT), 0, Part.CONTENT),
    Span(len(HEADER + CONTENT), len(HEADER + CONTENT + END), 0, Part.TERMINATOR),
    Span(len(TEXT) - 1, len(TEXT), 0, Part.SEPARATOR),
)
ROW = RenderedText(TEXT, SPANS)
WHOLE = Tokenize(mode="whole")


def part_text(tokens: Tokens, written: TokenText, part: Part) -> bytes:
    return b"".join(s for s, p in zip(written.surfaces, tokens.parts) if p is part)


def aligned(tokens: Tokens) -> bool:
    columns = (
        tokens.starts,
        tokens.ends,
        tokens.messages,
        tokens.parts,
    )
    return all(len(column) == len(tokens.input_ids) for column in columns)


def test_tokens_keep_message_part_and_surface(chatml: LoadedTokenizer) -> None:
    tokens = tokenize(ROW, chatml, WHOLE)
    written = token_text(tokens, ROW, chatml)
    assert aligned(tokens) and len(written.pieces) == len(written.surfaces) == len(written.special) == len(tokens)
    assert b"".join(written.surfaces).decode() == TEXT
    assert part_text(tokens, written, Part.HEADER).decode() == HEADER
    assert part_text(tokens, written, Part.CONTENT).decode() == CONTENT
    assert part_text(tokens, written, Part.TERMINATOR).decode() == END
    assert set(tokens.messages) == {0}
    assert [p for p, s in zip(written.pieces, written.special) if s] == ["<|im_start|>", "<|im_end|>"]
    assert tokens.prompt_ids is None


def test_tokens_of_one_character_share_its_span(chatml: LoadedTokenizer) -> None:
    row = RenderedText("✂", (Span(0, 1, 0, Part.CONTENT),))
    tokens = tokenize(row, chatml, WHOLE)
    assert len(tokens) == 3
    assert set(zip(tokens.starts, tokens.ends)) == {(0, 1)}
    assert b"".join(token_text(tokens, row, chatml).surfaces) == "✂".encode()


def test_a_straddling_token_belongs_to_where_it_begins(chatml: LoadedTokenizer) -> None:
    text = "a\n\nb"
    row = RenderedText(text, (Span(0, 2, 0, Part.HEADER), Span(2, 4, 1, Part.CONTENT)))
    tokens = tokenize(row, chatml, WHOLE)
    assert token_text(tokens, row, chatml).pieces == ("a", "ĊĊ", "b")
    assert tokens.messages == (0, 0, 1)
    assert tokens.parts == (Part.HEADER, Part.HEADER, Part.CONTENT)


def test_empty_spans_and_no_spans(chatml: LoadedTokenizer) -> None:
    spans = (Span(0, 0, 0, Part.HEADER), Span(0, 1, 1, Part.CONTENT), Span(1, 1, 2, Part.SEPARATOR))
    assert tokenize(RenderedText("a", spans), chatml, WHOLE).messages == (1,)
    assert tokenize(RenderedText("a"), chatml, WHOLE).messages == (NOWHERE,)
    assert len(tokenize(RenderedText(""), chatml, WHOLE)) == 0


def test_added_bos_stands_nowhere(llama3: LoadedTokenizer) -> None:
    row = RenderedText("Hello", (Span(0, 5, 0, Part.CONTENT),))
    tokens = tokenize(row, llama3, Tokenize(mode="whole", add_special_tokens=True))
    assert (tokens.parts[0], tokens.starts[0], tokens.ends[0], tokens.messages[0]) == (
        Part.BOS,
        NOWHERE,
        NOWHERE,
        NOWHERE,
    )
    assert token_text(tokens, row, llama3).special[0] and tokens.input_ids[0] == llama3.facts.bos_id
    assert tokens.parts[1] is Part.CONTENT


def test_drop_second_takes_one_of_two_bos(llama3: LoadedTokenizer) -> None:
    bos = "<|begin_of_text|>"
    row = RenderedText(
        bos + "Hi", (Span(0, len(bos), NOWHERE, Part.BOS), Span(len(bos), len(bos) + 2, 0, Part.CONTENT)), prompt=bos
    )
    doubled = tokenize(row, llama3, Tokenize(add_special_tokens=True))
    assert doubled.input_ids[:2] == (llama3.facts.bos_id,) * 2
    assert doubled.prompt_ids == (llama3.facts.bos_id,) * 2
    single = tokenize(row, llama3, Tokenize(add_special_tokens=True, bos="drop_second"))
    assert single.input_ids == doubled.input_ids[1:]
    assert single.starts[0] == 0, "the BOS that stays is the one in the text"
    assert single.prompt_ids == (llama3.facts.bos_id,)
    assert aligned(single) and single.notes
    assert tokenize(row, llama3, Tokenize(bos="drop_second")).input_ids == single.input_ids


def test_prompt_is_tokenized_alone(chatml: LoadedTokenizer) -> None:
    row = RenderedText(TEXT, SPANS, prompt=HEADER)
    tokens = tokenize(row, chatml, Tokenize())
    assert tokens.prompt_ids == chatml.ids(HEADER)
    written = prompt_text(tokens, row, chatml, Tokenize())
    assert b"".join(written.surfaces).decode() == HEADER
    assert len(written.pieces) == len(tokens.prompt_ids or ())
    assert tokenize(row, chatml, WHOLE).prompt_ids is None


@pytest.mark.parametrize(
    ("mode", "text", "added"),
    [
        ("never", "Hi", 0),
        ("always", "Hi", 1),
        ("always", "Hi<|im_end|>", 1),
        ("if_missing_text", "Hi", 1),
        ("if_missing_text", "Hi<|im_end|>", 0),
        ("if_missing_text", "Hi<|im_end|>\n", 1),
        ("if_missing_ids", "Hi", 1),
        ("if_missing_ids", "Hi<|im_end|>", 0),
        ("if_missing_ids", "", 1),
    ],
)
def test_appended_eos(chatml: LoadedTokenizer, mode: str, text: str, added: int) -> None:
    tokens = tokenize(
        RenderedText(text, (Span(0, len(text), 0, Part.CONTENT),)), chatml, Tokenize(mode="whole", append_eos=mode)
    )
    assert tokens.input_ids == chatml.ids(text) + (chatml.facts.eos_id,) * added
    if added:
        assert (tokens.starts[-1], tokens.messages[-1], tokens.parts[-1]) == (NOWHERE, NOWHERE, Part.INJECTED)
    assert aligned(tokens)


def test_no_eos_to_append_is_an_error(chatml: LoadedTokenizer) -> None:
    from dataclasses import replace

    without = LoadedTokenizer(replace(chatml.facts, eos_token=None, eos_id=None), chatml.engine)
    with pytest.raises(TokenizerError, match="no EOS token"):
        tokenize(RenderedText("x"), without, Tokenize(append_eos="always"))
    assert tokenize(RenderedText("x"), without, WHOLE).input_ids


def test_per_part_encodes_pieces_alone(chatml: LoadedTokenizer) -> None:
    pieces = (
        Piece("a\n", 0, Part.HEADER),
        Piece("", 0, Part.SEPARATOR),
        Piece("\nb", 1, Part.CONTENT, trained=True),
        Piece("<|im_end|>", 1, Part.TERMINATOR, ids=(chatml.facts.eos_id or 0,)),
        Piece("", NOWHERE, Part.INJECTED, ids=(5,)),
    )
    row = RenderedText("a\n\nb<|im_end|>", pieces=pieces)
    tokens = tokenize(row, chatml, Tokenize(mode="per_part"))
    assert token_text(tokens, row, chatml).pieces[:4] == ("a", "Ċ", "Ċ", "b"), "the two new lines do not merge"
    assert tokens.starts == (0, 1, 2, 3, 4, NOWHERE)
    assert tokens.ends == (1, 2, 3, 4, 14, NOWHERE)
    assert tokens.messages == (0, 0, 1, 1, 1, NOWHERE)
    assert tokens.parts[4] is Part.TERMINATOR
    assert token_text(tokenize(row, chatml, WHOLE), row, chatml).pieces[:3] == ("a", "ĊĊ", "b")
    eos = tokenize(row, chatml, Tokenize(mode="per_part", append_eos="if_missing_ids"))
    assert eos.input_ids == (*tokens.input_ids, chatml.facts.eos_id)
    assert tokenize(row, chatml, Tokenize(mode="per_part", append_eos="if_missing_text")).input_ids == tokens.input_ids


def test_per_part_with_special_tokens(llama3: LoadedTokenizer) -> None:
    row = RenderedText("ab", pieces=(Piece("a", 0, Part.HEADER, add_special_tokens=True), Piece("b", 0, Part.CONTENT)))
    tokens = tokenize(row, llama3, Tokenize(mode="per_part"))
    assert tokens.parts == (Part.BOS, Part.HEADER, Part.CONTENT)
    assert tokens.starts == (NOWHERE, 0, 1)


def test_per_part_without_parts_says_so(chatml: LoadedTokenizer) -> None:
    assert tokenize(RenderedText("x"), chatml, Tokenize(mode="per_part")).notes


def test_byte_fallback_surfaces(gemma: LoadedTokenizer) -> None:
    text = " two  spaces\n✂"
    row = RenderedText(text, (Span(0, len(text), 0, Part.CONTENT),))
    written = token_text(tokenize(row, gemma, WHOLE), row, gemma)
    assert b"".join(written.surfaces).decode() == text
    assert "<0xE2>" in written.pieces


def spelled(backend: Any, text: str, prompt: str | None = None) -> tuple[TokenText, TokenText]:
    """How the tokens of a text are written, and those of the prompt alone."""
    row, loaded = RenderedText(text, prompt=prompt), LoadedTokenizer(TokenizerFacts("t"), FastEngine(backend))
    tokens = tokenize(row, loaded, Tokenize())
    return token_text(tokens, row, loaded), prompt_text(tokens, row, loaded, Tokenize())


def test_dummy_prefix_of_metaspace_is_no_part_of_the_text() -> None:
    backend = Tokenizer(models.BPE({"▁": 0, "a": 1, "▁a": 2}, [("▁", "a")]))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    whole, prompt = spelled(backend, "a a", "a")
    assert whole.pieces == ("▁a", "▁a")
    assert whole.surfaces == (b"a", b" a")
    assert prompt.surfaces == (b"a",)


@pytest.mark.parametrize("trim", [False, True])
def test_dummy_prefix_of_byte_level(trim: bool) -> None:
    backend = Tokenizer(models.BPE({"Ġ": 0, "a": 1, "Ġa": 2}, [("Ġ", "a")]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    backend.post_processor = processors.ByteLevel(trim_offsets=trim)
    backend.decoder = decoders.ByteLevel()
    assert spelled(backend, "a a")[0].surfaces == (b"a", b" a")
    assert spelled(backend, " a")[0].surfaces == (b" a",)


@given(st.lists(st.sampled_from(["a", " ", "  ", "▁", "\n", "é", "<s>", "b"]), max_size=12).map("".join), st.booleans())
def test_surfaces_alone_are_those_of_the_tokens_as_written(text: str, always: bool) -> None:
    backend = Tokenizer(models.BPE({"▁": 0, "a": 1, "▁a": 2, "\n": 3, "é": 4, "?": 5}, [("▁", "a")], unk_token="?"))
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always" if always else "first")
    backend.decoder = decoders.Metaspace()
    backend.add_special_tokens([AddedToken("<s>", rstrip=True)])
    row, loaded = RenderedText(text), LoadedTokenizer(TokenizerFacts("t"), FastEngine(backend))
    tokens = tokenize(row, loaded, WHOLE)
    written = token_text(tokens, row, loaded).surfaces
    assert surfaces(tokens, text, loaded) == surfaces(tokens, text, loaded) == written, "asked twice"
    assert tuple(surface(tokens, i, text, loaded) for i in range(len(tokens))) == written


def test_lone_surrogates_are_told(chatml: LoadedTokenizer) -> None:
    with pytest.raises(TokenizerError, match=r"character 2 is the lone surrogate U\+D800"):
        chatml.encode("ab\ud800")


def test_ids_outside_the_vocabulary(chatml: LoadedTokenizer) -> None:
    for token in (10**6, -1, 2**40):
        assert (chatml.piece(token), chatml.surface(token), chatml.is_special(token)) == ("", b"", False)
        assert chatml.surfaces((token, token)) == (b"", b"")
    assert chatml.token_id("no such token") is None
    assert chatml.token_id("<|im_end|>") == chatml.facts.eos_id


def test_overriding_tokens(chatml: LoadedTokenizer) -> None:
    other = chatml.overriding(eos="<|endoftext|>", bos="<|im_start|>")
    assert other.facts.eos_id == other.facts.pad_id == chatml.token_id("<|endoftext|>")
    assert other.facts.special_tokens["bos_token"] == "<|im_start|>"
    assert chatml.facts.eos_token == "<|im_end|>"
    assert chatml.overriding() is chatml
    with pytest.raises(TokenizerError, match="not in the vocabulary"):
        chatml.overriding(pad="<nope>")


def test_pieces_are_forgotten_when_there_are_too_many(chatml: LoadedTokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sftui.tokens.loaded.KEPT", 10)
    ids = [*range(300, 330), 300, 10**6]
    for _ in range(2):
        pieces, surfaces, special = chatml.describe(ids)
        assert pieces == tuple(map(chatml.piece, ids))
        assert surfaces == tuple(map(chatml.surface, ids))
        assert special == tuple(map(chatml.is_special, ids))
    assert chatml.describe(()) == ((), (), ())


def test_long_rows_take_linear_time(chatml: LoadedTokenizer) -> None:
    message = "Hello there, how are you?\n"
    text = message * 15_000
    spans = tuple(Span(i * len(message), (i + 1) * len(message), i, Part.CONTENT) for i in range(15_000))
    before = time.process_time()
    tokens = tokenize(RenderedText(text, spans), chatml, WHOLE)
    assert len(tokens) > 100_000
    assert tokens.messages[-1] == 14_999
    assert time.process_time() - before < 5
