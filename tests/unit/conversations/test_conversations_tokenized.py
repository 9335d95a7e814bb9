"""Rows of ids: the shift convention is proven or not known, and un-shifting loses nothing."""

from __future__ import annotations

from typing import Any

import pytest

from sftui.conversations import convert, detect
from sftui.conversations.tokenized import alignment
from sftui.errors import ConversationError
from sftui.model import IGNORE_INDEX, Conversation, Kind, Row
from sftui.recipe import Data

IDS = list(range(100, 160))
MASKED = [IGNORE_INDEX] * 20


def read(record: dict[str, Any], data: Data | None = None) -> tuple[str, Conversation]:
    data = data or Data()
    row = Row(0, record, "", "row 0")
    detected = detect([row], data)
    return detected.given_labels, convert(row, detected, data)


def test_unshifted_labels_stay_as_they_are() -> None:
    convention, conversation = read({"input_ids": IDS, "labels": MASKED + IDS[20:], "attention_mask": [1] * 60})
    assert convention == "unshifted"
    assert (conversation.kind, conversation.input_ids) == (Kind.TOKENS, tuple(IDS))
    assert conversation.labels == tuple(MASKED + IDS[20:])
    assert conversation.attention_mask == (1,) * 60


def test_labels_shifted_in_place_are_moved_back() -> None:
    stored = [IGNORE_INDEX] * 19 + IDS[20:] + [IGNORE_INDEX]
    convention, conversation = read({"input_ids": IDS, "labels": stored})
    assert convention == "shifted"
    assert conversation.input_ids == tuple(IDS)
    assert conversation.labels == tuple(MASKED + IDS[20:])


def test_labels_shifted_by_hand_get_the_cut_token_back() -> None:
    # What a hand-written loop stores: input_ids[:-1] and labels[1:].
    stored = {"input_ids": IDS[:-1], "labels": (MASKED + IDS[20:])[1:], "attention_mask": [1] * 59}
    convention, conversation = read(stored)
    assert convention == "shifted"
    assert conversation.input_ids == tuple(IDS)
    assert conversation.labels == tuple(MASKED + IDS[20:])
    assert list(conversation.input_ids[:-1]) == stored["input_ids"]
    assert list(conversation.labels[1:]) == stored["labels"]
    assert conversation.attention_mask == (1,) * 60


@pytest.mark.parametrize(
    "labels",
    [
        [IGNORE_INDEX] * 60,
        [IGNORE_INDEX] * 45 + IDS[45:],
        [7] * 60,
    ],
    ids=["all masked", "too few positions", "labels of another tokenizer"],
)
def test_thin_evidence_is_said_not_guessed(labels: list[int]) -> None:
    convention, conversation = read({"input_ids": IDS, "labels": labels})
    assert convention == "unknown"
    assert conversation.labels == tuple(labels)
    assert any("does not know" in note for note in conversation.notes)


def test_repeated_tokens_are_no_evidence() -> None:
    assert alignment([([5] * 90, [5] * 90)]).convention == "unknown"
    assert alignment([([5] * 90, [5] * 90)]).positions == 0


def test_the_recipe_decides_over_the_evidence() -> None:
    convention, conversation = read({"input_ids": IDS[:10], "labels": IDS[:10]}, Data(given_labels="unshifted"))
    assert (convention, conversation.notes) == ("unshifted", ())
    convention, conversation = read(
        {"input_ids": [1, 2, 3], "labels": [2, 3, IGNORE_INDEX]}, Data(given_labels="shifted")
    )
    assert conversation.labels == (IGNORE_INDEX, 2, 3)


def test_evidence_adds_up_over_rows() -> None:
    rows = [Row(i, {"input_ids": IDS[i : i + 4], "labels": IDS[i : i + 4]}, "", f"row {i}") for i in range(20)]
    assert detect(rows, Data()).given_labels == "unshifted"
    assert detect(rows[:2], Data()).given_labels == "unknown"


def test_no_labels_and_other_masks() -> None:
    convention, conversation = read({"input_ids": [1, 2], "completion_mask": [0, 1], "assistant_masks": [0, 1]})
    assert (convention, conversation.labels) == ("", None)
    assert conversation.extra == {"completion_mask": [0, 1], "assistant_masks": [0, 1]}


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"input_ids": [1, 2], "labels": [1]}, "`labels` has 1 entries, the ids have 2"),
        ({"input_ids": [1, 2], "attention_mask": [1]}, "`attention_mask` has 1 entries"),
        ({"input_ids": [1, "b"]}, "`input_ids[1]` is text, not a whole number"),
        ({"input_ids": [1, True]}, "`input_ids[1]` is true/false"),
        ({"input_ids": [1, -4]}, "`input_ids[1]` is -4, which no tokenizer produces"),
        ({"input_ids": []}, "`input_ids` is empty"),
        ({"input_ids": None}, "`input_ids` is null"),
        ({"labels": [1]}, "no column `input_ids`"),
        ({"input_ids": IDS, "labels": MASKED + IDS[20:], "attention_mask": MASKED + IDS[20:]}, "a copy of the labels"),
    ],
)
def test_ids_that_cannot_be_used(record: dict[str, Any], words: str) -> None:
    detected = detect([Row(0, {"input_ids": [1, 2], "labels": [1, 2], "attention_mask": [1, 1]}, "", "row 0")], Data())
    with pytest.raises(ConversationError) as caught:
        convert(Row(3, record, "", "row 3"), detected, Data())
    assert words in str(caught.value) and str(caught.value).startswith("row 3: ")
