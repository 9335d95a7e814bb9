"""Unsloth's preferences are TRL's; what a script does for SFT alone, and older releases, are refused."""

from __future__ import annotations

from typing import Any

import pytest

import sftui
from sftui.errors import SftuiError

ROW = {"prompt": "2+2 =", "chosen": " four", "rejected": " five"}
OBJECTIVES = ("dpo", "kto", "reward", "orpo", "cpo")


def row_of(trainer: str, objective: str, tokenizer: str = "chatml", **knobs: Any) -> sftui.PreparedRow:
    set_ = {"loss.objective": objective, **knobs}
    return sftui.open([ROW], tokenizer=f"builtin:{tokenizer}", trainer=trainer, set=set_)[0]


def sides(trainer: str, objective: str) -> list[tuple[Any, ...]]:
    row = row_of(trainer, objective)
    assert row.rejected is not None and row.error is None
    return [(side.input_ids, side.labels) for side in (row, row.rejected)]


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_rows_are_those_of_trl(objective: str) -> None:
    assert sides("unsloth@2026.10", objective) == sides("trl@1.16", objective)


def test_a_tokenizer_without_a_pad_token_gets_one() -> None:
    assert "the tokenizer has none" in (row_of("trl@1.16", "orpo", "llama3").error or "")
    assert row_of("unsloth@2026.10", "orpo", "llama3").error is None


@pytest.mark.parametrize(
    ("trainer", "knobs", "why"),
    [
        ("unsloth@2026.8", {}, "before Unsloth 2026.10"),
        ("unsloth@2026.10", {"mask.rule": "markers"}, "DPO has no steps of its own"),
        ("unsloth@2026.10", {"own.standardize": True}, "DPO has no steps of its own"),
    ],
)
def test_what_only_sft_has_is_refused(trainer: str, knobs: dict[str, Any], why: str) -> None:
    with pytest.raises(SftuiError, match=why):
        row_of(trainer, "dpo", **knobs)
