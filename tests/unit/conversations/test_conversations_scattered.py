"""Sets whose rows are parts of conversations, trees of them, or lists printed as text: named as what they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sftui.conversations import convert, detect
from sftui.model import Row
from sftui.recipe import Data

TURNS = [{"role": "user", "content": "What's 1 + 1?"}, {"role": "assistant", "content": 'It is "2",\nisn\'t it?'}]


def found(*rows: dict[str, Any]) -> Any:
    return detect([Row(n, one, "", f"t.jsonl line {n + 1}") for n, one in enumerate(rows)], Data())


EVENT = {"type": "user", "sessionId": "s1", "message": {"role": "user", "content": "Fix it"}}
CODEX = {"timestamp": "t", "type": "response_item", "payload": {"type": "message", "role": "user", "content": []}}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (TURNS, "one turn, not a conversation.*`role` says whose.*turns of each conversation"),
        ([{"from": "human", "value": "hi"}, {"from": "gpt", "value": "Hello."}], "one turn.*`from`.*`value`"),
        ([{"conversation_id": 1, **one} for one in TURNS], "one turn.*turns of one `conversation_id`"),
        ([{"role": "prompter", "text": "hi", "message_tree_id": "a", "parent_id": None}], "`message_tree_id`"),
        ([{"type": "summary", "summary": "s"}, EVENT, EVENT], "one event of a session.*summary, user.*`sessionId`"),
        ([CODEX, CODEX], "one event of a session.*nested under `payload`"),
        ([{"prompt": {"text": "hi", "role": "prompter", "replies": []}}], "tree of messages.*`prompt.replies`"),
        ([{"id": "a", "node": {"state": "s", "children": [{"state": "t", "children": []}]}}], "`node.children`"),
    ],
)
def test_rows_that_are_no_conversations(rows: list[dict[str, Any]], said: str) -> None:
    import re

    refused = found(*rows).refused
    assert refused is not None and re.search(said, refused.sentence(), re.DOTALL), refused
    assert "under `messages`, one conversation" in refused.sentence()


@pytest.mark.parametrize(
    "rows",
    [
        [{"messages": TURNS, "type": "chat", "message": {"a": 1}}],
        [{"messages": TURNS, "children": []}],
        [{"text": "a", "role": "page"}],
        [{"content": "a page of text"}],
        [{"prompt": "hi", "completion": "Hello.", "type": "qa"}],
        [{"question": "hi", "answer": "Hello.", "role": "user"}],
    ],
)
def test_other_sets_are_read_as_before(rows: list[dict[str, Any]]) -> None:
    assert found(*rows).refused is None


@pytest.mark.parametrize("of", [TURNS, [{"from": "human", "value": "it's"}, {"from": "gpt", "value": "null, True"}]])
def test_lists_that_python_printed_are_read(of: list[dict[str, str]]) -> None:
    row = Row(0, {"conversations": str(of)}, "", "t.csv row 0")
    seen = detect([row], Data())
    assert seen.refused is None and "stored as text" in seen.reason
    made = convert(row, seen, Data())
    assert [message.content for message in made.messages] == [one.get("content", one.get("value")) for one in of]
    assert any("Python list literal" in note for note in made.notes)


def test_what_numpy_printed_is_named() -> None:
    refused = found({"messages": str(np.array(TURNS, dtype=object))}).refused
    assert refused is not None and "as numpy prints them" in refused.what and "orient=" in refused.fix
