"""convert: what each format makes of a row, and what it says about a bad one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sftui.conversations import as_chat, convert, detect, turns_problem
from sftui.errors import ConversationError
from sftui.model import Conversation, Kind, Message, Row
from sftui.recipe import Data


def read(record: Any, data: Data | None = None, like: Any = None) -> Conversation:
    """One row, read as the set of `like` (or of the row itself) is."""
    data = data or Data()
    detected = detect([Row(0, like if like is not None else record, "", "line 1")], data)
    return convert(Row(0, record, "", "line 1"), detected, data)


def failure(record: Any, like: Any = None, data: Data | None = None) -> ConversationError:
    with pytest.raises(ConversationError) as caught:
        read(record, data, like)
    return caught.value


USER, ANSWER = {"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}
GOOD = {"messages": [USER, ANSWER]}


def test_messages_pass_through_untouched() -> None:
    call = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}],
        "x": [1],
    }
    parts = {"role": "user", "content": [{"type": "text", "text": "hi"}]}
    thought = {"role": "assistant", "content": "a", "reasoning_content": "r", "name": "n"}
    record = {"messages": [parts, call, {"role": "tool", "content": "5"}, thought]}
    conversation = read(record)
    assert [message.data for message in conversation.messages] == record["messages"]
    assert [message.origin for message in conversation.messages] == [f"messages[{i}]" for i in range(4)]
    assert (conversation.kind, conversation.prompt_messages) == (Kind.CHAT, None)


def test_messages_as_json_text_are_parsed_and_said() -> None:
    conversation = read({"messages": json.dumps([USER, ANSWER])})
    assert [message.content for message in conversation.messages] == ["q", "a"]
    assert "stored as JSON text" in conversation.notes[0]


def test_sharegpt_keys_and_roles() -> None:
    turns = [("system", "s"), ("human", "h"), ("gpt", "g"), ("observation", "o"), ("bot", "b"), ("alien", "x")]
    conversation = read({"conversations": [{"from": role, "value": text} for role, text in turns]})
    assert [message.data for message in conversation.messages] == [
        {"role": role, "content": text}
        for role, text in [
            ("system", "s"),
            ("user", "h"),
            ("assistant", "g"),
            ("tool", "o"),
            ("assistant", "b"),
            ("alien", "x"),
        ]
    ]
    assert conversation.messages[1].origin == "conversations[1]"
    assert any("`alien`" in note for note in conversation.notes)


def test_an_empty_role_map_renames_the_keys_only() -> None:
    call = '{"name": "f", "arguments": {}}'
    record = {"conversations": [{"from": "human", "value": "h"}, {"from": "function_call", "value": call}]}
    assert [message.data for message in read(record, Data(role_map={})).messages] == [
        {"role": "human", "content": "h"},
        {"role": "function_call", "content": call},
    ]


def test_a_function_call_keeps_its_text_unless_tool_calls_are_asked_for() -> None:
    call = {"name": "f", "arguments": {"x": 1}}
    tool_call = {"type": "function", "function": call}
    for text, expected in [
        (json.dumps(call), {"role": "assistant", "content": "", "tool_calls": [tool_call]}),
        (json.dumps([call, call]), {"role": "assistant", "content": "", "tool_calls": [tool_call, tool_call]}),
        ("f(x=1)", {"role": "assistant", "content": "f(x=1)"}),
        ('{"name": "f"}', {"role": "assistant", "content": '{"name": "f"}'}),
        ("[]", {"role": "assistant", "content": "[]"}),
    ]:
        record = {"conversations": [{"from": "human", "value": "h"}, {"from": "function_call", "value": text}]}
        assert read(record).messages[1].data == {"role": "assistant", "content": text}
        conversation = read(record, Data(function_calls="tool_calls"))
        assert conversation.messages[1].data == expected
        assert any("function_call" in note for note in conversation.notes)


def test_message_keys_are_renamed_and_others_kept() -> None:
    record = {"messages": [{"who": "user", "said": "q", "thought": "t", "content": "old", "id": 7}]}
    data = Data(
        message_keys={"role": "who", "content": "said", "reasoning": "thought"},
        fields={"messages": "messages"},
        format="messages",
    )
    assert read(record, data).messages[0].data == {"role": "user", "content": "q", "reasoning_content": "t", "id": 7}


@pytest.mark.parametrize(
    ("keys", "trained", "weight"),
    [
        ({}, None, None),
        ({"train": True}, True, None),
        ({"training": False}, False, None),
        ({"trainable": 0}, False, None),
        ({"weight": 0}, False, 0.0),
        ({"weight": 1}, True, 1.0),
        ({"loss_weight": 0.5}, True, 0.5),
        ({"loss": True}, True, None),
        ({"loss_mask": 1}, True, None),
        ({"weight": "heavy"}, None, None),
        ({"train": None}, None, None),
        ({"train": True, "weight": 0.25}, True, 0.25),
        ({"weight": 10**400}, None, None),
    ],
)
def test_flags_and_weights_are_information(keys: dict[str, Any], trained: bool | None, weight: float | None) -> None:
    message = read({"messages": [{**USER, **keys}]}).messages[0]
    assert (message.trained, message.weight) == (trained, weight)
    assert message.data == {**USER, **keys}


def test_the_train_flag_can_be_named() -> None:
    record = {"messages": [{**USER, "learn": False, "train": True}]}
    assert read(record, Data(message_keys={"train_flag": "learn"})).messages[0].trained is False


def test_tools_template_variables_and_documents() -> None:
    tools = [{"type": "function", "function": {"name": "f"}}]
    conversation = read(
        {**GOOD, "tools": json.dumps(tools), "chat_template_kwargs": {"thinking": False}, "documents": ["d"]}
    )
    assert conversation.tools == tools
    assert conversation.template_kwargs == {"thinking": False}
    assert conversation.extra["documents"] == ["d"]
    assert read({**GOOD, "tools": ""}).tools is None
    assert read({**GOOD, "tools": []}).tools == []
    assert read({**GOOD, "chat_template_kwargs": '{"a": 1}'}).template_kwargs == {"a": 1}


def test_a_system_column_goes_first_when_it_is_named() -> None:
    record = {**GOOD, "system": "s"}
    assert read(record).messages[0].role == "user"
    first = read(record, Data(fields={"system": "system"})).messages[0]
    assert (first.data, first.origin) == ({"role": "system", "content": "s"}, "system")
    pair = read({"question": "q", "answer": "a", "system_prompt": "s"}, Data(fields={"system": "system_prompt"}))
    assert [message.role for message in pair.messages] == ["system", "user", "assistant"]
    assert pair.prompt_messages == 2


STANFORD = (
    "Below is an instruction that describes a task, paired with an input that provides further context. Write a"
    " response that appropriately completes the request.\n\n### Instruction:\ndo {x}\n\n### Input:\nthis\n\n###"
    " Response:"
)


@pytest.mark.parametrize(
    ("style", "given", "content"),
    [
        ("stanford", "this", STANFORD),
        (
            "stanford",
            "",
            (
                "Below is an instruction that describes a task. Write a response that appropriately completes the "
                "request.\n\n### Instruction:\ndo {x}\n\n### Response:"
            ),
        ),
        ("newline", "this", "do {x}\nthis"),
        ("newline", "", "do {x}"),
        ("blank_line", "this", "do {x}\n\nthis"),
        ("blank_line", "", "do {x}"),
    ],
)
def test_the_alpaca_prompt(style: str, given: str, content: str) -> None:
    record = {"instruction": "do {x}", "input": given, "output": "done"}
    conversation = read(record, Data(alpaca_prompt=style))
    assert [message.data for message in conversation.messages] == [
        {"role": "user", "content": content},
        {"role": "assistant", "content": "done"},
    ]
    assert conversation.extra == record
    assert conversation.messages[1].origin == "output"


def test_alpaca_with_system_and_history() -> None:
    record = {"system": "s", "instruction": "i", "input": None, "output": "o", "history": [["q", "a"]]}
    conversation = read(record, Data(alpaca_prompt="newline"))
    assert [(message.role, message.content) for message in conversation.messages] == [
        ("system", "s"),
        ("user", "q"),
        ("assistant", "a"),
        ("user", "i"),
        ("assistant", "o"),
    ]
    assert conversation.messages[2].origin == "history[0][1]"


def test_string_pairs_become_messages_with_their_origins() -> None:
    conversation = read({"question": "q", "answer": "a"})
    assert (conversation.kind, conversation.prompt, conversation.completion) == (Kind.STRINGS, "q", "a")
    chat = as_chat(conversation)
    assert (chat.kind, chat.prompt_messages, chat.prompt) == (Kind.CHAT, 1, None)
    assert [(m.role, m.content, m.origin) for m in chat.messages] == [
        ("user", "q", "question"),
        ("assistant", "a", "answer"),
    ]
    assert as_chat(chat) is chat


def test_conversational_pairs_know_their_prompt() -> None:
    conversation = read({"prompt": [USER], "completion": [ANSWER, USER]})
    assert (conversation.kind, conversation.prompt_messages) == (Kind.CHAT, 1)
    assert [message.origin for message in conversation.messages] == ["prompt[0]", "completion[0]", "completion[1]"]


def test_text_and_segments() -> None:
    assert read({"text": "t"}).text == "t"
    conversation = read({"segments": [{"text": "ask ", "label": False}, {"text": "say", "label": True}]})
    assert (conversation.kind, conversation.text) == (Kind.TEXT, "ask say")
    assert conversation.extra["segments"] == (("ask ", False), ("say", True))


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        ({"mesages": []}, "line 1: no column `messages`; did you mean `mesages`?"),
        ({"messages": None}, "line 1: `messages` is null, not a list of messages; drop the row or fill in the column"),
        ({"messages": []}, "line 1: `messages` is empty; drop the row"),
        ({"messages": 5}, "line 1: `messages` is a number, not a list of messages; drop the row or fill in the column"),
        (
            {"messages": "hello"},
            (
                "line 1: `messages` is text, not a list of messages, because nor is it a JSON list; "
                "store the messages as a list"
            ),
        ),
        (
            {"messages": [USER, "x"]},
            "line 1, messages[1]: the message is text, not an object; each message needs a role and content",
        ),
        (
            {"messages": [{"rol": "user", "content": "q"}]},
            "line 1, messages[0]: the message has no `role`; did you mean `rol`?",
        ),
        (
            {"messages": [{"from": "human", "value": "q"}]},
            "line 1, messages[0]: the message has no `role`; its keys are `from`, `value`",
        ),
        (
            {"messages": [{"role": 1, "content": "q"}]},
            "line 1, messages[0]: `role` is a number, not text; give the message a role",
        ),
        (
            {"messages": [{"role": "user", "value": "q"}]},
            "line 1, messages[0]: the message has no `content`; did you mean `value`?",
        ),
        ({**GOOD, "tools": "f(x)"}, "line 1: `tools` is text that is not JSON; store it as JSON, or drop it"),
        ({**GOOD, "tools": {"f": 1}}, "line 1: `tools` is a mapping, not a list; store a list of tools"),
        ("text", "line 1: the row is text, not a JSON object; drop the row"),
    ],
)
def test_a_bad_row_says_where_what_and_what_to_do(record: Any, sentence: str) -> None:
    assert str(failure(record, like=GOOD)) == sentence


def test_a_row_that_was_not_read_gives_its_own_reason() -> None:
    detected = detect([Row(0, GOOD, "", "line 1")], Data())
    with pytest.raises(ConversationError, match="line 7: not JSON: unexpected end"):
        convert(Row(6, None, "{", "line 7", problem="not JSON: unexpected end"), detected, Data())


def test_pairs_of_two_kinds_are_refused() -> None:
    like = {"prompt": "p", "completion": "c"}
    assert "is a list of messages but `completion` is text" in str(failure({"prompt": [USER], "completion": "c"}, like))
    assert "`completion` is null, not text" in str(failure({"prompt": "p", "completion": None}, like))


def test_a_refused_set_is_refused_at_every_row() -> None:
    assert "preference set" in str(failure({"chosen": "a", "rejected": "b"}))


def test_a_message_without_content_loads_with_a_note() -> None:
    conversation = read({"messages": [USER, {"role": "assistant"}]}, like=GOOD)
    assert conversation.messages[1].data == {"role": "assistant"}
    assert conversation.notes == ("messages[1] has no content",)


def chat(*roles: str) -> list[Message]:
    return [Message({"role": role, "content": "x"}, f"messages[{i}]") for i, role in enumerate(roles)]


@pytest.mark.parametrize(
    ("roles", "problem"),
    [
        (("user", "assistant"), None),
        (("system", "user", "assistant", "tool", "assistant"), None),
        (("user", "user"), "messages[1] is `user` where an assistant message is expected"),
        (("assistant", "user"), "messages[0] is `assistant` where a user or tool message is expected"),
        (("user", "assistant", "user"), "the last message is not from the assistant"),
        (("system",), "the only message is a system message"),
    ],
)
def test_turns(roles: tuple[str, ...], problem: str | None) -> None:
    assert turns_problem(chat(*roles)) == problem


def test_strict_turns_are_an_error_when_the_recipe_says_so() -> None:
    record = {"messages": [USER, USER]}
    assert read(record).kind is Kind.CHAT
    assert "data.strict_turns is error" in str(failure(record, data=Data(strict_turns="error")))
