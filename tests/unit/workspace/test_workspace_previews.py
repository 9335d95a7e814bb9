"""What a row of the list begins with: past what the rows share, and never nothing."""

from __future__ import annotations

import pytest

from sftui.conversations.detect import detect
from sftui.model import Row
from sftui.pipeline import inspect_early
from sftui.trainers import preset
from sftui.workspace.summaries import PREVIEW, SharedBeginnings, preview

BELOW = "Below is an instruction that describes a task. Write a response. ### Instruction: "
PAIRED = "Below is an instruction that describes a task, paired with an input. Write a response. ### Instruction: "
ASKED = ("Name three fruits", "Why is the sky blue?", "Translate this", "Sum 2 and 2", "Tell a joke", "Sort these")
ALPACA = [BELOW + one for one in ASKED[:4]] + [PAIRED + one for one in ASKED[4:] + ASKED[:2]]


def test_alpaca_rows_begin_with_their_instruction() -> None:
    leads = SharedBeginnings(ALPACA)
    assert [leads.past(text) for text in ALPACA] == [f"…{one}" for one in (*ASKED, *ASKED[:2])]
    assert leads.past(BELOW + "One that was not among the first") == "…One that was not among the first"


@pytest.mark.parametrize(
    "texts",
    [
        [f"What is the capital of {one}?" for one in ("France", "Chad", "Peru", "Mali", "Laos")],
        ["The same question in every row of the set"] * 8,
        ["Write a function in Python that adds two numbers", *ASKED],
        ["", "", ""],
        [],
    ],
    ids=["short", "the same", "one row", "empty", "none"],
)
def test_what_few_rows_share_and_what_nothing_follows_stays(texts: list[str]) -> None:
    leads = SharedBeginnings(texts)
    assert [leads.past(text) for text in texts] == texts


def test_words_are_not_cut() -> None:
    texts = [f"You are a helpful assistant. Answer in inter{rest}" for rest in ("est", "esting", "estingly", "est too")]
    leads = SharedBeginnings(texts)
    assert [leads.past(text) for text in texts[1:]] == ["…interesting", "…interestingly", "…interest too"]


def shown(*rows: dict[str, object]) -> list[str]:
    read = tuple(Row(n, one, str(one), f"x:{n}") for n, one in enumerate(rows))
    recipe = preset()
    detected = detect(read, recipe.data)
    return [preview(inspect_early(row, detected, recipe), SharedBeginnings()) for row in read]


def test_all_that_the_user_says_comes_before_what_others_say() -> None:
    turns = [("system", "S" * 50), ("user", "Hi\n there"), ("assistant", "Hello"), ("user", "How so?")]
    assert shown({"messages": [{"role": role, "content": text} for role, text in turns]}) == ["Hi there · How so?"]
    parts = [{"type": "text", "text": "a picture"}, {"type": "image"}]
    assert shown({"messages": [{"role": "user", "content": parts}]}) == ["a picture"]
    assert shown({"messages": [{"role": "assistant", "content": "alone"}]}) == ["alone"]
    assert shown({"text": "x" * 5000}) == ["x" * PREVIEW]
