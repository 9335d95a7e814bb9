"""What one go through the messages tells is what each question about them, put by itself, is answered with."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from sftui.findings.context import Context
from sftui.findings.look import RowLook
from sftui.findings.shapes import MessageTraits, read
from sftui.findings.words import REASONING, texts
from sftui.model import Conversation, Inspection, Kind, Message, Row


class Text(str):
    """What is a text, and of a kind of its own, as numpy has some."""


TEXTS = st.sampled_from(["", " ", "\n\t", "Hi", " Hi", "Hi\n", "\u00a0", "a b", "<think>x</think>"])
CONTENTS: st.SearchStrategy[object] = st.one_of(
    TEXTS,
    st.sampled_from([None, 42, [], {}, Text("Hi "), Text(""), [{"type": "text", "text": " Hi"}, "there"], ("a", 1)]),
)
CALLS = st.sampled_from(
    [None, [], "text", [{"function": {"name": "f", "arguments": {"a": ["b", None]}}}], [{"name": "f"}, 3], {"a": "b"}]
)
MESSAGES = st.lists(
    st.builds(
        Message,
        st.fixed_dictionaries(
            {},
            optional={
                "role": st.sampled_from(["user", "assistant", "tool", 3, ""]),
                "content": CONTENTS,
                "tool_calls": CALLS,
                "name": TEXTS,
                **dict.fromkeys(REASONING, st.sampled_from([None, "", "I think.", ["a"]])),
            },
        ),
        trained=st.sampled_from([None, None, None, True]),
        weight=st.sampled_from([None, None, None, 0.5]),
    ),
    max_size=4,
)


@given(MESSAGES)
def test_the_manner_is_what_each_question_alone_tells(messages: list[Message]) -> None:
    every = [(message, message.data.get("content"), message.data.get("tool_calls")) for message in messages]
    plain = all(type(said) is str and len(one.data) == 2 and "role" in one.data for one, said, _ in every)
    words = [(one, said, calls) for one, said, calls in every if isinstance(said, str)]
    found = read(messages)
    assert found.roles == tuple(one.role for one in messages)
    assert list(found.said) == [said for _, said, _ in texts(Conversation(Kind.CHAT, "messages", tuple(messages)))]
    assert found.manner == MessageTraits(
        plain=plain,
        edged=plain and any(said != said.strip() or not said for _, said, _ in words),
        bordered=any(type(said) is not str or (said and said != said.strip()) for _, said, _ in words),
        silent=any(
            type(said) is not str
            or (one.role == "assistant" and said.strip() != (said or None) and not (calls and not said.strip()))
            for one, said, calls in words
        ),
        other=any("content" in one.data and type(said) is not str for one, said, _ in every),
        unsaid=any(type(said) is not str and not (said is None and calls) for _, said, calls in every),
        called=any(bool(calls) for _, _, calls in every),
        beside=any(bool(calls) and said not in (None, "") for _, said, calls in every),
        reasoned=any(key in one.data for one in messages for key in REASONING),
        flagged=any(one.trained is not None or one.weight is not None for one in messages),
        mute=tuple(
            number
            for number, (_, said, _) in enumerate(every)
            if not (isinstance(said, str) and (said.strip() or type(said) is not str))
        ),
    )


@given(MESSAGES, st.sampled_from([None, "a", " "]), st.sampled_from([None, "b"]), st.sampled_from([None, "c"]))
def test_what_is_spoken_are_the_texts(
    messages: list[Message], prompt: str | None, completion: str | None, text: str | None
) -> None:
    conversation = Conversation(
        Kind.CHAT, "messages", messages=tuple(messages), prompt=prompt, completion=completion, text=text
    )
    context = cast(Context, SimpleNamespace(recipe=None, facts=None))
    look = RowLook(Inspection(Row(0, {}, "", "row 0"), conversation), context)
    assert look.spoken == "\n".join([said for _, said, _ in texts(conversation)])
