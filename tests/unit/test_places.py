"""Where a message stands in its row, and other texts there."""

from __future__ import annotations

import pytest

from sftui.places import Place, place_in, value_at, with_texts

RECORD = {"prompt": "Hi", "chat": [{"content": "a"}, {"content": ["b", "c"]}], "history": [["q", "r"]]}


@pytest.mark.parametrize(
    ("origin", "place"),
    [
        ("", ()),
        ("prompt", ("prompt",)),
        ("conversations[12]", ("conversations", 12)),
        ("history[0][1]", ("history", 0, 1)),
        ("my [0] column[3]", ("my [0] column", 3)),
        ("instruction + input", ("instruction + input",)),
        ("a[1]b", ("a[1]b",)),
        ("a[1234567890]", ("a[1234567890]",)),
    ],
)
def test_an_origin_is_the_steps_to_it(origin: str, place: Place) -> None:
    assert place_in(origin) == place


def test_texts_are_put_in_their_places_and_the_rest_stays() -> None:
    made = with_texts(RECORD, {("chat", 1, "content", 0): "B", ("history", 0, 1): "R"})
    assert value_at(made, ("chat", 1, "content")) == ["B", "c"] and made["history"] == [["q", "R"]]
    assert made["chat"][0] is RECORD["chat"][0] and RECORD["history"] == [["q", "r"]]
    assert with_texts("Hi", {(): "Ho"}) == "Ho"
    for nowhere in (("chat", 2), ("none",), ("prompt", "x")):
        with pytest.raises((LookupError, TypeError)):
            value_at(RECORD, nowhere)
