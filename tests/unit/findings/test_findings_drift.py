"""Ids that a tokenizer would not make of their text: where they part, and what is said of it."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from case_runner import run

from sftui.findings import Finding, Severity
from sftui.findings.rule import GOOD, case, stored_case
from sftui.findings.rules.stored import DriftPlace, places
from sftui.tokens import LoadedTokenizer, load_tokenizer

TEXT = "The quick brown fox jumps over the lazy dog, and Paris is the capital of France.\nNobody expected 1234 of them."


@pytest.fixture(scope="module", params=["chatml", "llama3", "gemma"])
def tokenizer(request: pytest.FixtureRequest) -> LoadedTokenizer:
    return load_tokenizer(f"builtin:{request.param}")


def split(ids: Sequence[int], at: int, tokenizer: LoadedTokenizer) -> list[int] | None:
    """The ids with one of them written as two that stand for the same bytes, None where there are no such two."""
    piece = tokenizer.piece(ids[at])
    for cut in range(1, len(piece)):
        two = [tokenizer.token_id(piece[:cut]), tokenizer.token_id(piece[cut:])]
        if None not in two and tokenizer.spelling([one for one in two if one is not None]) == tokenizer.spelling(
            [ids[at]]
        ):
            return [*ids[:at], *[one for one in two if one is not None], *ids[at + 1 :]]
    return None


def test_each_token_that_is_written_as_two_is_found(tokenizer: LoadedTokenizer) -> None:
    ids = tokenizer.ids(TEXT)
    held = {at: made for at in range(len(ids)) if (made := split(ids, at, tokenizer)) is not None}
    assert len(held) > 10
    for at, made in held.items():
        assert places(made, ids, tokenizer) == [DriftPlace((at, at + 2), (at, at + 1))]
        assert places(ids, made, tokenizer) == [DriftPlace((at, at + 1), (at, at + 2))]


def test_many_at_once_are_found_where_they_are(tokenizer: LoadedTokenizer) -> None:
    ids = tokenizer.ids(TEXT)
    drawn = random.Random(3)
    for _ in range(30):
        chosen = [at for at in range(len(ids)) if split(ids, at, tokenizer) and drawn.random() < 0.3]
        made: list[int] = list(ids)
        for at in reversed(chosen):
            made = split(made, at, tokenizer) or made
        found = places(made, ids, tokenizer)
        assert found is not None
        assert [one.anew for one in found] == [(at, at + 1) for at in chosen]


def test_a_text_that_was_cut_parts_nowhere(tokenizer: LoadedTokenizer) -> None:
    ids = tokenizer.ids(TEXT)
    assert places(ids[:9], ids, tokenizer) == []
    assert places(ids, ids, tokenizer) == []


def test_another_text_is_not_drift(tokenizer: LoadedTokenizer) -> None:
    assert places(tokenizer.ids("another"), tokenizer.ids(TEXT), tokenizer) is None


@pytest.fixture(scope="module")
def chatml() -> LoadedTokenizer:
    return load_tokenizer("builtin:chatml")


def drift_of(found: Sequence[Finding]) -> list[Finding]:
    return [one for one in found if one.code == "TOK006"]


def test_what_is_said_of_stored_ids(chatml: LoadedTokenizer) -> None:
    ids = chatml.ids(TEXT)
    made = split(ids, ids.index(chatml.token_id("ĠParis") or 0), chatml) or []
    (found,) = drift_of(run(stored_case({"input_ids": made, "labels": made})).findings)
    assert found.sentence == "encoded again, its text gets different ids in one place, which is trained"
    assert found.severity is Severity.INFO
    assert found.evidence == "[␣][Paris] → [␣Paris]"


def test_where_the_answer_begins_the_tokenizer_needs_no_border(chatml: LoadedTokenizer) -> None:
    ids = chatml.ids(TEXT)
    at = ids.index(chatml.token_id("ĠParis") or 0)
    made = split(ids, at, chatml) or []
    labels = [*[-100] * (at + 1), *made[at + 1 :]]
    assert not drift_of(run(stored_case({"input_ids": made, "labels": labels})).findings)


def test_messages_beside_sampled_ids_are_encoded_again(chatml: LoadedTokenizer) -> None:
    text = (
        "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n"
        "<|im_start|>assistant\nParis is the capital of France.<|im_end|>\n"
    )
    ids = chatml.ids(text)
    made = split(ids, ids.index(chatml.token_id("Paris") or 0), chatml)
    outcome = run(case({**GOOD, "input_ids": made}, preset="axolotl@0.19"))
    (found,) = drift_of(outcome.findings)
    assert found.severity is Severity.WARNING
    assert found.sentence == "the row has ids, but its messages encode to different ones in one place"
    assert "CFG001" not in outcome.codes
    assert not drift_of(run(case({**GOOD, "input_ids": list(ids)}, preset="axolotl@0.19")).findings)
