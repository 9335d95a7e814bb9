"""A loaded tokenizer of transformers, taken as it is."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sftui.errors import TokenizerError
from sftui.tokens import load_tokenizer
from sftui.tokens.loaded import FastEngine
from sftui.tokens.loading.given import LocalTokenizer
from sftui.tokens.loading.process import PipedEngine

CHATML = Path(__file__).resolve().parents[3] / "sftui" / "tokens" / "builtin" / "chatml"
TEXTS = ("Hello <|im_start|>user\n", " two  spaces", "naïve 😀 ½", "")


@pytest.fixture
def tokenizer() -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(str(CHATML))


def test_its_ids_and_facts_are_those_of_its_folder(tokenizer: Any) -> None:
    ours, named = LocalTokenizer(tokenizer).load(), load_tokenizer(str(CHATML))
    assert isinstance(ours.engine, FastEngine) and ours.facts.probes > 50
    for text in TEXTS:
        for special in (False, True):
            assert ours.encode(text, special) == named.encode(text, special)
    for name in ("special_tokens", "chat_templates", "eos_id", "pad_id", "vocab_size", "padding_side", "front", "back"):
        assert getattr(ours.facts, name) == getattr(named.facts, name)


def test_it_goes_to_another_process(tokenizer: Any) -> None:
    ours = LocalTokenizer(tokenizer).load()
    again = pickle.loads(pickle.dumps(ours.carried)).load()
    assert [again.ids(text) for text in TEXTS] == [ours.ids(text) for text in TEXTS]


def test_a_slow_one_encodes_by_itself(tokenizer: Any) -> None:
    class Slow:
        """A tokenizer without a backend."""

        is_fast = False

        def __getattr__(self, name: str) -> Any:
            if name == "backend_tokenizer":
                raise AttributeError(name)
            return getattr(tokenizer, name)

        def __len__(self) -> int:
            return len(tokenizer)

        def __call__(self, text: str, **options: Any) -> Any:
            return tokenizer(text, **options)

    ours = LocalTokenizer(Slow()).load()
    assert isinstance(ours.engine, PipedEngine) and not ours.facts.is_fast
    for text in TEXTS:
        assert ours.ids(text) == tuple(tokenizer(text, add_special_tokens=False)["input_ids"])


def test_one_whose_backend_is_not_all_of_it_encodes_by_itself(tokenizer: Any) -> None:
    plain = type(tokenizer).__call__

    class Shouting(type(tokenizer)):  # type: ignore[misc]
        def __call__(self, text: str, **options: Any) -> Any:
            return plain(self, text.upper(), **options)

    tokenizer.__class__ = Shouting
    ours = LocalTokenizer(tokenizer).load()
    assert isinstance(ours.engine, PipedEngine) and ours.facts.engine == "transformers"
    assert any("differs from it" in note for note in ours.facts.notes)
    assert ours.ids("hello") == tuple(tokenizer("hello", add_special_tokens=False)["input_ids"])


def test_texts_of_the_rows_are_held_against_it(tokenizer: Any) -> None:
    given = LocalTokenizer(tokenizer)
    ours = given.load()
    assert given.proven_on(ours, TEXTS) is ours
    plain = type(tokenizer).__call__

    class Odd(type(tokenizer)):  # type: ignore[misc]
        def __call__(self, text: str, **options: Any) -> Any:
            return plain(self, text.replace("zebra", "horse"), **options)

    tokenizer.__class__ = Odd
    given = LocalTokenizer(tokenizer)
    ours = given.load()
    assert isinstance(ours.engine, FastEngine)  # no probe string has a zebra
    other = given.proven_on(ours, ["a zebra"])
    assert isinstance(other.engine, PipedEngine)
    assert other.ids("zebra") == tuple(tokenizer("horse", add_special_tokens=False)["input_ids"])


CHANGES: dict[str, Callable[[Any], object]] = {
    "chat_template": lambda one: setattr(one, "chat_template", "{{ messages }}"),
    "padding_side": lambda one: setattr(one, "padding_side", "left"),
    "special tokens": lambda one: setattr(one, "pad_token", "<|im_end|>"),
    "vocabulary": lambda one: one.add_tokens(["<|new|>"]),
    "normalizer": lambda one: setattr(one.backend_tokenizer, "normalizer", _lowercase()),
}


def _lowercase() -> Any:
    from tokenizers.normalizers import Lowercase

    return Lowercase()


@pytest.mark.parametrize("what", CHANGES)
def test_what_is_changed_later_is_noticed(tokenizer: Any, what: str) -> None:
    tokenizer.pad_token = "<|im_start|>"
    given = LocalTokenizer(tokenizer)
    given.load()
    tokenizer("using it", truncation=True, max_length=2, padding="max_length")
    assert given.changed() == ""
    CHANGES[what](tokenizer)
    assert what in given.changed()


def test_what_is_no_tokenizer_says_what_to_give(tokenizer: Any) -> None:
    class Processor:
        def __init__(self) -> None:
            self.tokenizer = tokenizer

    for value, told in (
        (17, "int is not a tokenizer; give its name, a folder, or a transformers tokenizer"),
        (Processor(), "give its .tokenizer"),
        (tokenizer.backend_tokenizer, "give transformers.PreTrainedTokenizerFast(tokenizer_object=…)"),
    ):
        with pytest.raises(TokenizerError) as raised:
            LocalTokenizer(value)
        assert told in str(raised.value)
