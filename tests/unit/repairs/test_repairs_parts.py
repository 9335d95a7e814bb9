"""Contents that are lists of text parts become the text that published templates print of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sftui.conversations.messages import joined_parts
from sftui.errors import ConversationError
from sftui.findings.catalogue import REPAIR_OF
from sftui.model import Row
from sftui.pipeline import detect
from sftui.recipe import Recipe
from sftui.repairs.model import RepairLayout
from sftui.repairs.run import REPAIRS, apply_plan, make_plan, repair_row
from sftui.repairs.to_messages import target_of, to_messages, way_of
from sftui.trainers import preset

LAYOUT = RepairLayout()


def part(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **more}


def row(*contents: Any, **more: Any) -> dict[str, Any]:
    roles = ("user", "assistant")
    return {"messages": [{"role": roles[n % 2], "content": one} for n, one in enumerate(contents)], **more}


def joined(data: dict[str, Any], layout: RepairLayout = LAYOUT) -> tuple[Any, list[str]]:
    done, changes = repair_row(data, [REPAIRS["join-parts"]], layout)
    return done, [f"{change.place}: {change.what}" for change in changes]


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([part("Hello.")], "Hello."),
        ([part("a"), part(" b\n"), part("c")], "a b\nc"),
        ([part("a", cache_control={"type": "ephemeral"})], "a"),
        ([{"type": "text", "value": "hi"}], "hi"),  # LLaMA-Factory v1's own samples
        ([{"text": "a"}, "b"], "ab"),
        ([{"type": "input_text", "text": "a"}], "a"),
        ([{"type": "output_text", "text": "a", "annotations": []}], "a"),
        ([part("")], ""),
        ([{"type": "image"}, part("a")], None),
        ([{"type": "image_url", "image_url": {"url": "u"}}], None),
        ([{"type": "tool_use", "name": "f", "input": {}}], None),
        ([{"type": "thinking", "thinking": "t"}, part("a")], None),
        ([{"type": "text"}], None),
        ([None], None),
        ([], None),
    ],
)
def test_text_parts_end_to_end(parts: list[Any], text: str | None) -> None:
    assert joined_parts(parts) == text


def test_the_repair_says_what_it_joined() -> None:
    data = row([part("hi")], [part("a"), part("b")], "and?", "Rome.", id=1)
    done, told = joined(data)
    assert done == row("hi", "ab", "and?", "Rome.", id=1)
    assert told == ["messages[0].content: 1 part became one text", "messages[1].content: 2 parts became one text"]
    assert joined(done) == (done, [])
    whole = {"conversations": [{"from": "human", "value": [part("hi")]}, {"from": "gpt", "value": "Hello."}]}
    layout = RepairLayout(columns=("conversations",), role="from", content="value")
    assert joined(whole, layout)[0]["conversations"][0]["value"] == "hi"


def test_what_is_no_text_is_refused_by_its_kind() -> None:
    for other, named in (
        ({"type": "image_url", "image_url": {"url": "u"}}, "`image_url`"),
        ({"type": "tool_use", "name": "f"}, "`tool_use`"),
    ):
        with pytest.raises(ConversationError, match=f"{named}, which is not text"):
            joined(row([part("a"), other], "b"))
        done = apply_plan(
            Row(0, row([part("a"), other], "b"), "", "t line 1"), make_plan(["join-parts"]), RepairLayout()
        )
        assert done.skipped and done.untouched


def test_it_is_offered_for_content_that_is_a_list() -> None:
    assert REPAIR_OF["CON002"][0] == "join-parts"


def converted(data: dict[str, Any], recipe: Recipe, *others: dict[str, Any]) -> Any:
    rows = [Row(n, one, json.dumps(one), f"t.jsonl line {n + 1}") for n, one in enumerate((data, *others))]
    way = way_of(rows, recipe, detect(rows, recipe))
    return to_messages(way, target_of(recipe)).apply(data, RepairLayout())[0]


@pytest.mark.parametrize("name", ["trl", "axolotl", "llamafactory", "unsloth", "ms-swift", "mlx-lm", "hf-trainer"])
def test_a_conversion_writes_texts(name: str) -> None:
    assert converted(row([part("hi")], [part("a"), part("b")]), preset(name)) == row("hi", "ab")
    sharegpt = {"conversations": [{"from": "human", "value": [part("hi")]}, {"from": "gpt", "value": "Hello."}]}
    assert converted(sharegpt, preset(name)) == row("hi", "Hello.")


def test_nemo_puts_a_blank_between_them() -> None:
    assert converted(row([part("hi")], [part("a"), part("b")]), preset("nemo-automodel")) == row("hi", "a b")


def test_sets_with_images_keep_their_parts() -> None:
    seen = row([part("What is it?"), {"type": "image"}], [part("A cat.")])
    plain = row([part("hi")], [part("Hello.")])
    assert converted(plain, preset("trl"), seen) == plain
    with pytest.raises(ConversationError, match="`image`, which is not text"):
        to_messages(
            way_of([Row(0, plain, "", "t line 1")], preset(), detect([Row(0, plain, "", "t line 1")], preset())),
            target_of(preset("trl")),
        ).apply(seen, RepairLayout())
