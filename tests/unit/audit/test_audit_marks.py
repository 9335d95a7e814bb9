"""What recognises a finding: not how often it is, but all that tells it apart from others."""

from __future__ import annotations

import pytest

from sftui.audit.found import setup_mark
from sftui.findings import Finding, Severity


def marked(sentence: str, code: str = "EOS008") -> str:
    return setup_mark(Finding(code, Severity.INFO, sentence))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "2 of 7 packed documents are only a part of their row",
            "4 of 1,209 packed documents are only a part of their row",
        ),
        (
            "in 6 of 6 sampled rows ⏎ behind the stop token is trained",
            "in 1 of 32 sampled rows ⏎ behind the stop token is trained",
        ),
        (
            "the first token of 3 of 9 packed documents is trained",
            "the first token of 1 of 2 packed documents is trained",
        ),
        (
            "3 of 9 packed documents end with four or similar instead of a stop token",
            "4 of 8 packed documents end with ␣five or similar instead of a stop token",
        ),
        ("1 row is the same", "12 rows are the same"),
        ("1 packed document is cut", "2 packed documents are cut"),
    ],
)
def test_counts_do_not_tell_findings_apart(before: str, after: str) -> None:
    assert marked(before) == marked(after)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<|reserved_7|> is trained", "<|reserved_8|> is trained"),
        (
            "padding gets the label 0 instead of the ignored value -100",
            "padding gets the label 7 instead of the ignored value -100",
        ),
        (
            "the pad id 5 is outside the model's 9 embedding rows",
            "the pad id 6 is outside the model's 9 embedding rows",
        ),
        (
            "messages have `weight 1 of 2`, which the template never reads",
            "messages have `weight 2 of 2`, which the template never reads",
        ),
        ("messages have `key1`, which", "messages have `key2`, which"),
        (
            "in 6 of 6 sampled rows ⏎ behind the stop token is trained",
            "in 6 of 6 sampled rows ⇥ behind the stop token is trained",
        ),
        ("answers end with <|im_end|> but", "answers end with </s> but"),
        ("</think> is 3 tokens in this tokenizer", "</think> is 4 tokens in this tokenizer"),
        ("length 512 is cut", "length 1024 is cut"),
    ],
)
def test_keys_knobs_and_tokens_do(one: str, other: str) -> None:
    assert marked(one) != marked(other)


def test_codes_do() -> None:
    assert marked("the same") != marked("the same", "EOS011")
