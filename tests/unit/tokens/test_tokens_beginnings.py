"""A text's ids from those of another one that begins as it does: those of `tokenizers`, or none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from sftui.runs import Flat
from sftui.tokens import ToEncode, load_tokenizer
from sftui.tokens.loaded import FastEngine, PrefixedText
from sftui.tokens.shortcuts.beginnings import Beginnings, beginnings
from sftui.tokens.shortcuts.bulk import Bulk

PROMPT = "<|im_start|>user\nWho are you?<|im_end|>\n<|im_start|>assistant\n"
WHOLE = PROMPT + "I am <|im_start|> nobody.<|im_end|>\n"
BEGUN, WRONG = True, False


def begun(backend: Any, text: str, other: str, *, special: bool = False) -> bool | None:
    """Whether the ids of `text` are told from those of `other`, and are right; None: they are not told."""
    engine, known = FastEngine(backend), beginnings(backend)
    if known is None:
        return None
    (ids,) = engine.ids_batch([other], special)
    (found,) = known.of([PrefixedText(text, other, ids)], special, lambda tails: engine.ids_batch(tails, False))
    return None if found is None else found == engine.ids_batch([text], special)[0]


def chatml(**parts: Any) -> Any:
    """The built-in tokenizer with some parts in place of its own; `added` changes each of its added tokens."""
    engine = load_tokenizer("builtin:chatml").engine
    assert isinstance(engine, FastEngine)
    made, flags = json.loads(engine.backend.to_str()), parts.pop("added", {})
    made["added_tokens"] = [{**token, **flags} for token in made["added_tokens"]]
    return Tokenizer.from_str(json.dumps({**made, **parts}))


def around(*names: str) -> dict[str, Any]:
    """A post-processor that puts the first of two added tokens before a text and the other one behind it."""
    ids = {token["content"]: token["id"] for token in json.loads(chatml().to_str())["added_tokens"]}
    before, behind = ({"SpecialToken": {"id": name, "type_id": 0}} for name in names)
    return {
        "type": "TemplateProcessing",
        "single": [before, {"Sequence": {"id": "A", "type_id": 0}}, behind],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {name: {"id": name, "ids": [ids[name]], "tokens": [name]} for name in names},
    }


def test_a_prompt_is_told_from_the_whole_row() -> None:
    assert begun(chatml(), PROMPT, WHOLE) is BEGUN
    assert begun(chatml(), PROMPT, PROMPT) is BEGUN
    assert begun(chatml(), PROMPT + "<think>", WHOLE) is BEGUN, "they need not share all of it"
    assert begun(chatml(), PROMPT, WHOLE, special=True) is BEGUN


def test_texts_that_share_no_added_token_are_not_told() -> None:
    assert begun(chatml(), "Who are", "Who are you?") is None
    assert begun(chatml(), "<|im_st", "<|im_start|>user") is None
    assert begun(chatml(), "Who<|im_start|>", "Whom<|im_start|>") is None


def test_what_stands_around_every_text_is_no_added_token_of_it() -> None:
    made = chatml(post_processor=around("<|im_start|>", "<|endoftext|>"))
    assert begun(made, PROMPT, WHOLE) is BEGUN
    assert begun(made, PROMPT, WHOLE, special=True) is BEGUN, "it goes by <|im_end|>"
    assert begun(made, "<|im_start|>Who", "<|im_start|>Whom") is BEGUN
    assert begun(made, "<|im_start|>Who", "<|im_start|>Whom", special=True) is None


@pytest.mark.parametrize("flags", [{"normalized": True}, {"single_word": True}])
def test_an_added_token_that_hangs_on_what_is_beside_it_tells_nothing(flags: dict[str, bool]) -> None:
    assert begun(chatml(added=flags), PROMPT, WHOLE) is None


@pytest.mark.parametrize("flags", [{"lstrip": True}, {"rstrip": True}, {"lstrip": True, "rstrip": True}])
def test_an_added_token_may_take_white_space_along(flags: dict[str, bool]) -> None:
    for text in (PROMPT, PROMPT + "  ", PROMPT.replace("<", "  <")):
        assert begun(chatml(added=flags), text, text + "\n x") is BEGUN


def added(content: str, number: int, **flags: bool) -> dict[str, Any]:
    usual = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": number, "content": content, **usual, **flags}


def letters(*tokens: dict[str, Any], **parts: Any) -> Any:
    """A tokenizer whose vocabulary is a few characters and words, with added tokens."""
    vocabulary = {
        piece: n for n, piece in enumerate(("<unk>", "a", "b", "▁", "ab", "<s>", "<s>a", " ", "\n", "<", ">"))
    }
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": "<unk>",
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": True,
        "byte_fallback": False,
        "ignore_merges": True,
        "vocab": vocabulary,
        "merges": ["a b"],
    }
    made = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": sorted(
            ({**token, "id": vocabulary.get(token["content"], token["id"])} for token in tokens),
            key=lambda one: one["id"],
        ),
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": None,
        "model": model,
    }
    return Tokenizer.from_str(json.dumps({**made, **parts}))


def test_an_added_token_within_another_one_tells_nothing() -> None:
    """Else `<s>` would be one in a prompt that ends with it, and `<s>>` in the row."""
    assert begun(letters(added("<s>", 11)), "a<s>", "a<s>>") is BEGUN
    assert begun(letters(added("<s>", 11), added("<s>>", 12)), "a<s>", "a<s>>") is None
    assert begun(letters(added("<s>", 11), added("a<s", 12)), "b<s>", "b<s>b") is None
    assert begun(letters(added("<s>", 11), added("a<s", 12)), "a<s>", "a<s>b") is BEGUN, "by `a<s`, which begins first"
    assert begun(letters(added("aba", 11)), "ababa", "ababab") is None


def test_ids_that_the_vocabulary_gives_are_no_added_tokens() -> None:
    """`<unk>` is written in the text once, and given for an unknown letter as well."""
    both = letters(added("<unk>", 0))
    assert begun(both, "<unk>a", "<unk>ab") is BEGUN
    assert begun(both, "<unk>a", "<unk>aZ") is None


def test_tokenizers_that_are_not_known_to_work_by_stretches_tell_nothing() -> None:
    token = added("<s>", 11)
    assert beginnings(letters(token)) is not None and beginnings(letters()) is None
    by_chance = json.loads(letters(token).to_str())["model"]
    assert beginnings(letters(token, model={**by_chance, "dropout": 0.1})) is None
    splitting = letters(token)
    splitting.encode_special_tokens = True
    assert beginnings(splitting) is None


PARTS = ("<s>", "aba", "</s>", "<s>a", "s>", "b<", "a", "b", " ", "\n", "  ", "\u2581", "A\u0301", "<unk>", "Z")
NORMALIZERS = (
    None,
    {"type": "NFC"},
    {"type": "Lowercase"},
    {"type": "Prepend", "prepend": "▁"},
    {"type": "Strip", "strip_left": True, "strip_right": True},
    {
        "type": "Sequence",
        "normalizers": [
            {"type": "Prepend", "prepend": "▁"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        ],
    },
)
SPLITTERS = (
    None,
    *(
        {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split}
        for scheme in ("first", "always", "never")
        for split in (True, False)
    ),
    {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    {"type": "WhitespaceSplit"},
    {"type": "Split", "pattern": {"String": "a"}, "behavior": "MergedWithNext", "invert": False},
)
PROCESSORS = (
    None,
    {"type": "RobertaProcessing", "sep": ["b", 2], "cls": ["<s>", 5], "trim_offsets": True, "add_prefix_space": True},
)
FLAGS = st.fixed_dictionaries(
    {name: st.booleans() for name in ("lstrip", "rstrip", "special")}
    | {name: st.integers(0, 4).map(lambda n: n == 0) for name in ("normalized", "single_word")}
)
TEXT = st.lists(st.sampled_from(PARTS), max_size=8).map("".join)


@settings(max_examples=400)
@given(
    tokens=st.dictionaries(
        st.sampled_from(("<s>", "</s>", "<s>a", "s>", "b<", "<unk>", "<>", "aba")), FLAGS, max_size=4
    ),
    parts=st.fixed_dictionaries(
        {
            "normalizer": st.sampled_from(NORMALIZERS),
            "pre_tokenizer": st.sampled_from(SPLITTERS),
            "post_processor": st.sampled_from(PROCESSORS),
        }
    ),
    begin=TEXT,
    ends=st.tuples(TEXT, TEXT),
    special=st.booleans(),
)
def test_made_tokenizers_tell_the_ids_of_tokenizers(
    tokens: dict[str, dict[str, bool]], parts: dict[str, Any], begin: str, ends: tuple[str, str], special: bool
) -> None:
    made = letters(*(added(content, 11 + n, **flags) for n, (content, flags) in enumerate(tokens.items())), **parts)
    for text, other in ((begin, begin + ends[1]), (begin + ends[0], begin + ends[1])):
        found = begun(made, text, other, special=special)
        assert found is not WRONG, (text, other)


class Wrong(Beginnings):
    """One that tells an id more of texts that hold a word."""

    def of(self, begun: Any, special: bool, encode: Any) -> Any:
        found: list[Any] = [*super().of(begun, special, encode)]
        return [ids and ids + ids[:1] * ("rare" in one.text) for one, ids in zip(begun, found)]


def test_ids_that_differ_are_left_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = load_tokenizer("builtin:chatml")
    wrong = lambda backend: Wrong(beginnings(backend)._anchors, (), (), ())  # type: ignore[union-attr]  # noqa: E731
    monkeypatch.setattr("sftui.tokens.shortcuts.bulk.beginnings", wrong)
    bulk = Bulk("never")
    for word, same in (("usual", True), ("rare", False)):
        many, prompts = bulk.of(plain), [f"<|im_start|>{number} a {word} word" for number in range(8)]
        pairs = ((ToEncode(text + "!"), ToEncode(text, other=text + "!")) for text in prompts)
        many.ahead([one for pair in pairs for one in pair])
        assert [many.ids(text) for text in prompts] == [plain.ids(text) for text in prompts]
        assert (bulk.mismatch is None) is same
    assert bulk.mismatch is not None and "rare" in bulk.mismatch and bulk.of(plain) is plain


def test_only_the_tails_of_prompts_are_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, real = load_tokenizer("builtin:chatml"), FastEngine.ids_batch
    asked: list[str] = []

    def listening(engine: FastEngine, texts: Sequence[str], special: bool) -> list[Flat]:
        asked.extend(texts)
        return real(engine, texts, special)

    monkeypatch.setattr(FastEngine, "ids_batch", listening)
    many = Bulk("never").of(plain)
    rows = [PROMPT.replace("you", f"you, {number}") for number in range(50)]
    many.ahead([one for row in rows for one in (ToEncode(row + "Me."), ToEncode(row, other=row + "Me."))])
    assert len(asked) == 50 + 1 + 1, "the rows, the one tail of all, and a prompt that goes the plain way too"
    assert [many.ids(row) for row in rows] == [plain.ids(row) for row in rows]


@pytest.mark.shared
@pytest.mark.parametrize("name", ["qwen2.5", "llama-3-8b-instruct", "minimind", "phi-3-mini", "t5-small"])
def test_shared_tokenizers_tell_prompts_at_every_added_token(shared: Path, name: str) -> None:
    engine = FastEngine(Tokenizer.from_file(str(shared / "testdata" / "tokenizers" / name / "tokenizer.json")))
    known = beginnings(engine.backend)
    assert known is not None
    texts = [f"  Hello\n{content} you {content}\n\nand\n" for content in list(known._anchors.values())[:40]]
    for special in (False, True):
        others = [text + "İ日 x" for text in texts]
        begun = [PrefixedText(*one) for one in zip(texts, others, engine.ids_batch(others, special))]
        found = known.of(begun, special, lambda tails: engine.ids_batch(tails, False))
        right = engine.ids_batch(texts, special)
        assert [ids for ids in found if ids is not None] == [one for ids, one in zip(found, right) if ids is not None]
        assert len(texts) - found.count(None) >= min(len(texts) - 2, 10), "all but those around every text"
