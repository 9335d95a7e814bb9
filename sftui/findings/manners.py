"""What the messages of a row are made of, besides what they say: many checks ask for it, and one go tells it all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sftui.findings.words import REASONING, content_texts, texts_beside
from sftui.model import Message

_REASONING = frozenset(REASONING)


class Manner(NamedTuple):
    """What some message of a row is, or none of them; a part of the row's shape.

    `plain`: every one is a role and a text. `edged`: so, and some text is empty or has white space at its ends.
    `bordered`: some text that is not empty has. `silent`: so has one of the assistant, or it says nothing and calls
    nothing. `other`: there is content that is no text. `unsaid`: one has no text as content, and calls nothing.
    `called`: one calls tools; `beside`: and says something, too. `reasoned`: one keeps reasoning next to its content.
    `flagged`: one says of itself whether, or with which weight, it is trained. `mute` are those that say nothing.
    """

    plain: bool = True
    edged: bool = False
    bordered: bool = False
    silent: bool = False
    other: bool = False
    unsaid: bool = False
    called: bool = False
    beside: bool = False
    reasoned: bool = False
    flagged: bool = False
    mute: tuple[int, ...] = ()


class Read(NamedTuple):
    """The role of each message, all texts that they hold in their order (see `words.texts`), and their manner."""

    roles: tuple[str, ...]
    said: tuple[str, ...]
    manner: Manner


def read(messages: Sequence[Message]) -> Read:
    """All that one go through the messages of a row tells."""
    roles: list[str] = []
    said: list[str] = []
    mute: list[int] = []
    plain = True
    empty = bordered = silent = other = unsaid = called = beside = reasoned = flagged = False
    for message in messages:
        data, calls = message.data, None
        role, content = data.get("role", ""), data.get("content")
        if type(role) is not str:
            role = str(role)
        if message.trained is not None or message.weight is not None:
            flagged = True
        if type(content) is str:
            said.append(content)
        else:
            said += content_texts(message)
        if type(content) is not str or len(data) != 2 or "role" not in data:
            plain = False
            calls, reasons = data.get("tool_calls"), not _REASONING.isdisjoint(data)
            if calls:
                called = True
                beside = beside or (content is not None and content != "")
            if reasons:
                reasoned = True
            if calls or reasons:
                said += texts_beside(message)
        if type(content) is str:
            bare = content.strip()
            if not bare or len(bare) < len(content):
                empty = empty or not content
                bordered = bordered or bool(content)
                silent = silent or (role == "assistant" and bool(bare or not calls))
                if not bare:
                    mute.append(len(roles))
        else:
            other = other or "content" in data
            unsaid = unsaid or content is not None or not calls
            if isinstance(content, str):  # of a kind of its own: what it says is for the checks to see
                bordered = silent = True
            else:
                mute.append(len(roles))
        roles.append(role)
    return Read(
        tuple(roles),
        tuple(said),
        Manner(
            plain,
            plain and (empty or bordered),
            bordered,
            silent,
            other,
            unsaid,
            called,
            beside,
            reasoned,
            flagged,
            tuple(mute),
        ),
    )
