"""Wild rows: only ConversationError is ever raised, and the data is never changed."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sftui.conversations import as_chat, convert, detect, turns_problem
from sftui.errors import ConversationError
from sftui.model import Row
from sftui.recipe import FORMATS, Data
from sftui.text import visible

KEYS = st.sampled_from(
    [
        "role",
        "content",
        "from",
        "value",
        "messages",
        "conversations",
        "prompt",
        "completion",
        "instruction",
        "input",
        "output",
        "history",
        "system",
        "text",
        "input_ids",
        "labels",
        "attention_mask",
        "tools",
        "chat_template_kwargs",
        "segments",
        "label",
        "weight",
        "train",
        "tool_calls",
        "chosen",
        "rejected",
        "documents",
        "question",
        "answer",
        "reasoning_content",
        "instances",
    ]
) | st.text(max_size=4)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(
        [
            "user",
            "assistant",
            "human",
            "gpt",
            "function_call",
            "system",
            '[{"role": "user", "content": "x"}]',
            "[1",
            "[" * 1_200,
            "{}",
        ]
    )
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=14
)
MESSAGE = st.fixed_dictionaries(
    {"role": SCALARS, "content": VALUES}, optional={"weight": SCALARS, "tool_calls": VALUES}
)
TURN = st.fixed_dictionaries({"from": SCALARS, "value": VALUES})
ROW = st.dictionaries(KEYS, VALUES | st.lists(MESSAGE, max_size=4) | st.lists(TURN, max_size=4), max_size=6) | VALUES
DATA = st.builds(
    Data,
    format=st.sampled_from(FORMATS),
    fields=st.dictionaries(KEYS, KEYS, max_size=2),
    message_keys=st.dictionaries(
        st.sampled_from(["role", "content", "reasoning", "train_flag", "weight"]), KEYS, max_size=2
    ),
    role_map=st.just({}) | st.just({"human": "user", "gpt": "assistant"}),
    alpaca_prompt=st.sampled_from(["stanford", "newline", "blank_line"]),
    strict_turns=st.sampled_from(["off", "drop", "error"]),
    given_labels=st.sampled_from(["auto", "shifted", "unshifted"]),
)


def drawable(text: str) -> bool:
    return visible(text) == text and len(text) < 2000


@settings(max_examples=200, deadline=None)
@given(records=st.lists(ROW, min_size=1, max_size=3), data=DATA)
def test_only_conversation_errors_and_no_changes(records: list[Any], data: Data) -> None:
    rows = [Row(i, record, "", f"row {i}") for i, record in enumerate(records)]
    before = copy.deepcopy(records)
    detected = detect(rows, data)
    assert detected.refused is not None or detected.format != "auto"
    sentences = [detected.reason, *detected.notes, detected.refused.sentence() if detected.refused else ""]
    assert all(drawable(text) for text in sentences)
    for row in rows:
        try:
            conversation = as_chat(convert(row, detected, data))
        except ConversationError as error:
            assert drawable(str(error))
            continue
        turns_problem(conversation.messages)
        assert all(drawable(note) for note in conversation.notes)
    assert repr(records) == repr(before)


def test_names_of_the_data_cannot_act_on_the_terminal() -> None:
    hostile = "\x1b[2Jmessages\u202e\n"
    rows = [
        Row(0, {hostile: [{"role": "\x1b[0mx\x07", "content": "c"}]}, "", "line 1"),
        Row(1, {hostile: []}, "", "line 2"),
    ]
    detected = detect(rows, Data())
    assert detected.fields["messages"] == hostile
    assert drawable(detected.reason) and all(drawable(note) for note in detected.notes)
    assert all(drawable(note) for note in convert(rows[0], detected, Data()).notes)
    try:
        convert(rows[1], detected, Data())
    except ConversationError as error:
        assert drawable(str(error)) and "\x1b" not in error.what


def test_huge_names_are_clipped() -> None:
    refused = detect([Row(0, {"k" * 100_000: 1}, "", "line 1")], Data()).refused
    assert refused is not None and len(refused.sentence()) < 1500
