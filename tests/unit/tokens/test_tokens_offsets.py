"""Offsets from the bytes of the tokens: those of `tokenizers`, or none."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer

from sftui.model import Cut
from sftui.tokens import load_tokenizer
from sftui.tokens.loaded import FastEngine
from sftui.tokens.shortcuts.offsets import SpaceOffsets, byte_offsets

TEXTS = (
    "Hello there",
    "  two  spaces \n\n and \t more ",
    "İstanbul'da  3 gün\n\n",
    "日本 ✂️👩‍👩‍👧 e\u0301 \u3000x\u00a0 y",
    "<|im_start|>user\n<|im_end|> <s> </s>",
    " ",
    "  ",
    "   x",
    "",
    "a" * 300,
)


def backend(**parts: Any) -> Any:
    """A byte-level tokenizer with some parts put in place of its own."""
    engine = load_tokenizer("builtin:chatml").engine
    assert isinstance(engine, FastEngine)
    made = json.loads(engine.backend.to_str())
    return Tokenizer.from_str(json.dumps({**made, **parts}))


def differing(tokenizer: Any, texts: tuple[str, ...] | list[str]) -> tuple[int, int]:
    """Texts whose offsets are told, and those of them that are told otherwise than by `tokenizers`."""
    offsets, engine = byte_offsets(tokenizer), FastEngine(tokenizer)
    told = wrong = 0
    for special in (False, True) if offsets is not None else ():
        for text, real in zip(texts, engine.encode_batch(texts, special)):
            found = offsets.of(real.ids, text, special) if offsets is not None else None
            told += found is not None
            wrong += found is not None and found != (real.starts, real.ends)
    return told, wrong


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
AROUND = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<|im_start|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
    "special_tokens": {"<|im_start|>": {"id": "<|im_start|>", "ids": [0], "tokens": ["<|im_start|>"]}},
}
AFTER = [
    None,
    BYTE_LEVEL,
    {**BYTE_LEVEL, "add_prefix_space": False},
    {**BYTE_LEVEL, "trim_offsets": False},
    AROUND,
    {"type": "Sequence", "processors": [BYTE_LEVEL, AROUND]},
]


@cache
def made_once(number: int) -> Any:
    """The tokenizer with one of `AFTER`, for tests that ask it of many texts."""
    return backend(post_processor=AFTER[number])


@pytest.mark.parametrize("after", AFTER)
@pytest.mark.parametrize("normalizer", [None, {"type": "NFC"}])
def test_offsets_are_those_of_tokenizers(after: Any, normalizer: Any) -> None:
    told, wrong = differing(backend(post_processor=after, normalizer=normalizer), TEXTS)
    assert told >= 2 * (len(TEXTS) - 1) and not wrong


@given(st.lists(st.text(max_size=30).filter(lambda text: text.isascii() or text.isprintable()), max_size=6))
def test_offsets_of_wild_texts_are_those_of_tokenizers(texts: list[str]) -> None:
    for number in (1, 2):
        assert differing(made_once(number), texts)[1] == 0


@pytest.mark.parametrize(
    "parts",
    [
        {"normalizer": {"type": "Lowercase"}},
        {"normalizer": {"type": "NFKC"}},
        {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}},
        {"pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}},
        {"post_processor": {"type": "RobertaProcessing", "sep": ["x", 0], "cls": ["y", 1], "trim_offsets": True,
                            "add_prefix_space": False}},
    ],
)  # fmt: skip
def test_tokenizers_that_change_the_text_are_asked_themselves(parts: Any) -> None:
    assert byte_offsets(backend(**parts)) is None


def test_an_added_token_that_takes_white_space_along_is_noticed() -> None:
    made = json.loads(backend().to_str())
    added = [{**token, "lstrip": True, "rstrip": True} for token in made["added_tokens"]]
    told, wrong = differing(backend(added_tokens=added), ("a <|im_start|> b", "a<|im_start|>b"))
    assert (told, wrong) == (2, 0)


@pytest.mark.shared
def test_offsets_of_real_tokenizers_are_those_of_tokenizers(shared: Path) -> None:
    lines = (shared / "testdata" / "datasets" / "turkish_daily_test.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [*TEXTS, *lines[:20]]
    found = {}
    for path in sorted((shared / "testdata" / "tokenizers").glob("*/tokenizer.json")):
        found[path.parent.name] = differing(Tokenizer.from_file(str(path)), texts)
    print({name: told for name, (told, _) in found.items()})
    assert not any(wrong for _, wrong in found.values())
    assert found["qwen2.5"][0] and found["llama-3-8b-instruct"][0]


def cut(tokenizer: Any, text: str) -> bool:
    """Whether the tokens of a text are told to be the text, cut."""
    offsets = byte_offsets(tokenizer)
    assert offsets is not None
    offsets.prove()
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    found = offsets.of(ids, text, False)
    assert found is not None and (type(found[1]) is not Cut or offsets.spells(ids, text, False))
    return type(found[1]) is Cut


def model(**vocabulary: int) -> dict[str, Any]:
    """The byte-pair model with some pieces under other ids."""
    made: dict[str, Any] = json.loads(backend().to_str())["model"]
    return {**made, "vocab": {**made["vocab"], **vocabulary}}


def test_tokens_are_told_to_be_the_text_where_that_is_proven() -> None:
    assert all(cut(backend(post_processor=after), text) for after in (None, AROUND) for text in ("Hello there", "é日"))
    offsets = byte_offsets(backend())
    assert offsets is not None and type((offsets.of([5], "&", False) or ((), ()))[1]) is tuple  # nobody has proven it


@pytest.mark.parametrize(
    "parts",
    [
        {"post_processor": BYTE_LEVEL},  # white space is trimmed off
        {"decoder": {"type": "Fuse"}},  # the pieces stand for themselves
        {"model": model(a=json.loads(backend().to_str())["model"]["vocab"]["b"])},  # two pieces share an id
        {"model": {**model(), "vocab": {k: v for k, v in model()["vocab"].items() if k != "ÿ"}}},  # a byte has no piece
    ],
    ids=["trimmed", "fused", "doubled", "byteless"],
)  # fmt: skip
def test_tokens_are_not_told_to_be_the_text_where_they_may_spell_something_else(parts: Any) -> None:
    made = backend(**parts)
    assert byte_offsets(made) is None or not cut(made, "Hello there")


@given(st.lists(st.text(max_size=30), max_size=6))
def test_what_is_told_to_be_the_text_spells_it(texts: list[str]) -> None:
    made = made_once(0)
    offsets = byte_offsets(made)
    assert offsets is not None
    offsets.prove()
    for text in texts:
        ids = made.encode(text, add_special_tokens=False).ids if text.isprintable() else []
        found = offsets.of(ids, text, False)
        assert found is None or offsets.spells(ids, text, False)


@pytest.mark.shared
def test_the_real_tokenizers_of_bytes_are_proven_to_cut(shared: Path) -> None:
    told = {}
    for path in sorted((shared / "testdata" / "tokenizers").glob("*/tokenizer.json")):
        made = Tokenizer.from_file(str(path))
        told[path.parent.name] = byte_offsets(made) is not None and cut(made, "Grüße, 日本 <|im_end|>\n")
    print(told)
    assert told["qwen2.5"] and told["llama-3-8b-instruct"]


def metaspace(scheme: str, split: bool) -> dict[str, Any]:
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split}


TO_SPACES = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
PREPEND = {"type": "Prepend", "prepend": "▁"}
SPACES: list[dict[str, Any]] = [
    {},
    *(
        {"normalizer": None, "pre_tokenizer": metaspace(scheme, split)}
        for scheme in ("always", "first", "never")
        for split in (True, False)
    ),
    {"normalizer": {"type": "Sequence", "normalizers": [PREPEND, TO_SPACES]}, "pre_tokenizer": None},
]
"""As Gemma has it, as transformers 5 loads Llama-2's kind, and as their files say it."""
WHITE = AddedToken("<|end|>", rstrip=True, normalized=False), AddedToken("<|tab|>", lstrip=True, normalized=False)


@cache
def spaced(number: int) -> Any:
    """Gemma's tokenizer with the parts of `SPACES`, and added tokens that take white space along."""
    engine = load_tokenizer("builtin:gemma").engine
    assert isinstance(engine, FastEngine)
    made = Tokenizer.from_str(json.dumps({**json.loads(engine.backend.to_str()), **SPACES[number]}))
    made.add_special_tokens([*WHITE])
    return made


STRETCHES = [
    "Hello", " there", "  two", "▁", " ▁x", "\n", "\n\n ", "\t", "é", "日本", "✂️", "🙂", "\x00", "\u3000", "\x1c",
    "<0x41>", "<|end|>", "<|end|>\n", "<|end|> \x1c", " <|tab|>", "\n<|tab|>", "<bos>", "<end_of_turn>\n",
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(SPACES)))
def test_places_where_spaces_are_written_are_those_of_tokenizers(number: int) -> None:
    made, texts = spaced(number), [*TEXTS, *(a + b for a in STRETCHES for b in STRETCHES)]
    told, wrong = differing(made, texts)
    assert wrong == 0 and told > 1.8 * len(texts)


@given(st.integers(0, len(SPACES) - 1), st.lists(st.sampled_from(STRETCHES) | st.text(max_size=3), max_size=12))
def test_places_of_wild_texts_where_spaces_are_written(number: int, parts: list[str]) -> None:
    text = "".join(parts).encode("utf-8", "replace").decode()
    assert differing(spaced(number), [text])[1] == 0
    offsets, ids = byte_offsets(spaced(number)), spaced(number).encode(text, add_special_tokens=False).ids
    assert offsets is not None
    offsets._due = True
    found = offsets.of(ids, text, False)
    assert found is None or "▁" in text or offsets.spells(ids, text, False)


@pytest.mark.parametrize("number", range(len(SPACES)))
def test_tokens_are_told_to_be_the_text_where_spaces_are_written(number: int) -> None:
    assert cut(spaced(number), "Hello two<|end|>\n é日 x <|tab|>") and not cut(spaced(number), "a▁b")


@pytest.mark.parametrize("number", range(len(SPACES)))
def test_white_space_of_any_kind_goes_along_with_an_added_token(number: int) -> None:
    """And is one, where it is added itself."""
    made = Tokenizer.from_str(spaced(number).to_str())
    made.add_special_tokens([AddedToken("\n\n", normalized=False)])
    assert all(cut(made, text) for text in ("Hello\u3000 <|tab|>", "<|end|>\u3000\x85x", "Hello\n\nthere", "x\n\n"))


@pytest.mark.parametrize(
    "change",
    [
        {"byte_fallback": False},
        {"decoder": {"type": "Fuse"}},
        {"vocab": {"<0x41>": None}},
        {"vocab": {"<0x41>": "<0x42>"}},
    ],
    ids=["no bytes", "fused", "byteless", "doubled"],
)
def test_tokens_are_not_told_to_be_the_text_where_pieces_are_lost(change: dict[str, Any]) -> None:
    made = json.loads(spaced(0).to_str())
    for piece, other in change.pop("vocab", {}).items():
        known = made["model"]["vocab"]
        del known[piece]
        if other:
            known[piece] = known[other]
    made["model"] |= {key: value for key, value in change.items() if key != "decoder"}
    assert not cut(Tokenizer.from_str(json.dumps({**made, "decoder": change.get("decoder", made["decoder"])})), "ab c")


@pytest.mark.parametrize(
    "parts",
    [
        {"normalizer": {"type": "Lowercase"}, "pre_tokenizer": metaspace("always", True)},
        {"normalizer": {"type": "Sequence", "normalizers": [TO_SPACES, PREPEND]}, "pre_tokenizer": None},
        {"normalizer": None, "pre_tokenizer": {**metaspace("always", True), "replacement": "_"}},
        {"normalizer": None, "pre_tokenizer": None},
    ],
)
def test_where_spaces_are_written_otherwise_tokenizers_is_asked(parts: dict[str, Any]) -> None:
    engine = load_tokenizer("builtin:gemma").engine
    assert isinstance(engine, FastEngine)
    assert byte_offsets(Tokenizer.from_str(json.dumps({**json.loads(engine.backend.to_str()), **parts}))) is None


def test_an_added_token_that_is_looked_for_later_is_left_to_tokenizers() -> None:
    made = Tokenizer.from_str(spaced(0).to_str())
    made.add_tokens([AddedToken("<late>", normalized=True)])
    assert byte_offsets(spaced(0)) is not None and byte_offsets(made) is None


def test_places_that_are_wrong_for_a_probe_string_are_not_given() -> None:
    made = spaced(0)
    offsets, ids = byte_offsets(made), made.encode("Hello there", add_special_tokens=False).ids
    assert isinstance(offsets, SpaceOffsets)
    offsets.prove()
    assert offsets.of(ids, "Hello there", False) is not None
    offsets._put = "always"
    offsets.prove()
    assert offsets.of(ids, "Hello there", False) is None
