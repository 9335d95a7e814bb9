"""Proving a tokenizer on texts of the user's rows, beside the probe strings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sftui.errors import TokenizerError
from sftui.tokens import LoadedTokenizer, load_tokenizer
from sftui.tokens.loaded import FastEngine
from sftui.tokens.loading import rows
from sftui.tokens.loading.locate import locate
from sftui.tokens.loading.process import PipedEngine, TokenizerProcess
from sftui.tokens.loading.rows import LEFT_OUT, NOT_COMPARED, prove_on

ONLY_HERE = "zebrafish"
Differing = Callable[[Path, str], LoadedTokenizer]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[TokenizerProcess]:
    """Every process that loads AutoTokenizer from here on."""
    found: list[TokenizerProcess] = []
    load = TokenizerProcess.load

    def counted(self: TokenizerProcess) -> dict[str, Any]:
        found.append(self)
        return load(self)

    monkeypatch.setattr(TokenizerProcess, "load", counted)
    return found


@pytest.mark.processes
def test_a_text_that_differs_where_no_probe_does_is_found(make_folder: Any, differing: Differing) -> None:
    folder = make_folder("chatml")
    loaded = differing(folder, ONLY_HERE)
    wrong = loaded.encode(f"a {ONLY_HERE} swims")
    assert isinstance(loaded.engine, FastEngine) and prove_on(loaded, locate(str(folder)), ["plain", "text"]) is loaded
    found = prove_on(loaded, locate(str(folder)), ["plain", f"a {ONLY_HERE} swims"])
    right = load_tokenizer("builtin:chatml").encode(f"a {ONLY_HERE} swims")
    assert wrong != right == found.encode(f"a {ONLY_HERE} swims")
    assert (found.facts.engine, found.facts.probes, found.facts.backend) == ("transformers", 0, "")
    (note,) = [note for note in found.facts.notes if "on 1 of 2 texts of the rows" in note]
    again = load_tokenizer(str(folder))  # for every dataset from now on
    assert isinstance(again.engine, PipedEngine) and again.facts == found.facts and note in again.facts.notes
    assert prove_on(again, locate(str(folder)), ["other"]) is again


def test_equal_texts_are_compared_once_and_new_ones_alone(make_folder: Any, started: list[TokenizerProcess]) -> None:
    folder = make_folder("chatml")
    loaded = load_tokenizer(str(folder))
    started.clear()
    for texts, processes in ((["a b"], 1), (["a b"], 1), (["a b", "naïve\n\n  x"], 2), ([], 2)):
        assert prove_on(load_tokenizer(str(folder)), locate(str(folder)), texts).engine.__class__ is FastEngine
        assert len(started) == processes
    assert prove_on(loaded, locate(str(folder)), ["a b"]) is loaded


def test_built_in_and_provisional_ones_ask_nobody(make_folder: Any, started: list[TokenizerProcess]) -> None:
    folder = make_folder("chatml")
    for name, loaded in (
        ("builtin:chatml", load_tokenizer("builtin:chatml")),
        (str(folder), load_tokenizer(str(folder), mode="provisional")),
    ):
        assert prove_on(loaded, locate(name), [ONLY_HERE]) is loaded
    assert started == []


def test_a_text_without_an_answer_is_left_out_and_said(
    make_folder: Any, started: list[TokenizerProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_folder("chatml")
    loaded = load_tokenizer(str(folder))
    encode = TokenizerProcess.encode

    def hanging(self: TokenizerProcess, texts: Any, special: bool, limit: float | None = None) -> Any:
        assert limit == rows.PATIENCE
        if "bomb" in texts[0]:
            raise TokenizerError("the tokenizer cannot be used", why="tokenizing with it took longer")
        return encode(self, texts, special, limit)

    monkeypatch.setattr(TokenizerProcess, "encode", hanging)
    started.clear()
    for _ in range(2):
        found = prove_on(loaded, locate(str(folder)), ["plain", "a bomb", "after it"])
        assert found.engine is loaded.engine
        assert [note for note in found.facts.notes if LEFT_OUT in note] == [
            f"2 of 3 texts of the first rows {LEFT_OUT}"
        ]
    assert len(started) == 1, "it is not tried again"


def test_a_reference_that_does_not_load_is_said(make_folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_folder("chatml")
    loaded = load_tokenizer(str(folder))

    def refuse(self: TokenizerProcess) -> dict[str, Any]:
        raise TokenizerError("the tokenizer cannot be loaded", why="no room")

    monkeypatch.setattr(TokenizerProcess, "load", refuse)
    found = prove_on(loaded, locate(str(folder)), ["x"])
    assert found.engine is loaded.engine and f"{NOT_COMPARED}: no room" in found.facts.notes


def test_what_cannot_be_kept_is_shown_all_the_same(
    make_folder: Any, differing: Differing, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_folder("chatml")
    loaded = differing(folder, ONLY_HERE)

    def full(*arguments: Any, **more: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sftui.tokens.loading.cache.tempfile.mkstemp", full)
    assert isinstance(prove_on(loaded, locate(str(folder)), [ONLY_HERE]).engine, PipedEngine)
