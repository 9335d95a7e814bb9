"""Values go to another process as their fields, and come out of it the same."""

from __future__ import annotations

import pickle
from dataclasses import field, fields, replace
from typing import Any

import pytest

from sftui.model import Boundary, Conversation, Message, Part, Piece, RenderedText, Row, Span
from sftui.runs import LazyRuns, Runs, sides
from sftui.trainers.ms_swift.trainer import WeighedPiece
from sftui.values import value_class

SAID = {"role": "user", "content": "Hé"}
ROW = Row(3, {"messages": [SAID]}, '{"…"}', "a.jsonl line 4", 31, json_text=("tools",))


@value_class
class Alone:
    """A value of one field."""

    only: tuple[int, ...]


@value_class
class Filled:
    """A value whose fields have names that a method could have, and defaults."""

    value: int
    self_: list[int] = field(default_factory=list)
    default: str = "x"

    def __post_init__(self) -> None:
        if self.value < 0:
            raise ValueError(self.value)


@pytest.mark.parametrize(
    "value",
    [
        ROW,
        replace(ROW, data=None, problem="it is no JSON", repairs=("trimmed",), left_out="twice", skipped="late"),
        Message({"role": "user"}, "messages[0]", trained=False, weight=0.5),
        Boundary(4, 3),
        RenderedText("a b", (Span(0, 3, 0, Part.CONTENT),), prompt="a"),
        Piece("a", 0, Part.CONTENT),
        WeighedPiece("a", 0, Part.CONTENT),
        Runs((2, 3), ("x", "y")),
        Alone((1, 2)),
        sides(((0, 2, 0, Part.CONTENT),))[0],
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_is_pickled_without_the_names_of_its_fields(value: Any) -> None:
    written = pickle.dumps(value)
    again = pickle.loads(written)
    assert again == value and (type(again) is type(value) or isinstance(value, LazyRuns))
    assert not any(one.name.encode() in written for one in fields(value))


def test_a_value_is_made_as_by_a_dataclass() -> None:
    first, second = Filled(1), Filled(value=2, default="y")
    first.self_.append(3)
    assert (first.self_, second.self_, first.default, second.default) == ([3], [], "x", "y")
    with pytest.raises(ValueError, match="-1"):
        Filled(-1)
    with pytest.raises(TypeError, match="value"):
        Filled()  # type: ignore[call-arg]


def test_what_values_share_they_share_on_the_other_side() -> None:
    row, again = pickle.loads(pickle.dumps((ROW, Message(SAID, "messages[0]"))))
    assert again.data is row.data["messages"][0]


def test_a_conversation_with_other_messages_keeps_every_field() -> None:
    """Each is written down there, so a new one could be left out."""
    values: dict[str, Any] = {one.name: one.name for one in fields(Conversation)}
    made = Conversation(**values)
    messages = (Message({"role": "user"}),)
    assert made.with_messages(messages) == replace(made, messages=messages)
