"""Rows of any shape become messages that say the same, or are refused in one sentence that names the row."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from conversions import ASKED, PARIS, SHAPES, STAYS, TOLD, WEATHER, read, row_of, told, turn

from sftui.conversations import as_chat, convert
from sftui.errors import ConversationError, SftuiError
from sftui.model import Row
from sftui.pipeline import detect
from sftui.recipe import Recipe, changed
from sftui.repairs.lines import RepairedRow
from sftui.repairs.model import RepairLayout
from sftui.repairs.run import CONVERSION, RepairPlan, apply_plan
from sftui.repairs.to_messages import target_of, to_messages, way_of
from sftui.sources import SourceSpec, open_source
from sftui.trainers import preset

TRAINERS = ("trl", "axolotl", "llamafactory", "unsloth", "torchtune", "hf-trainer")


def converted(data: Mapping[str, Any], recipe: Recipe, sample: tuple[Row, ...] = ()) -> RepairedRow:
    """A row as it becomes under a recipe; `sample` are the first rows of its set, itself where none are given."""
    row = row_of(data)
    first = sample or (row,)
    way = way_of(first, recipe, detect(first, recipe))
    repair = to_messages(way, target_of(recipe))
    return apply_plan(row, RepairPlan((repair,)), repair.layout or RepairLayout())


@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_becomes_messages(shape: str) -> None:
    data, expected = SHAPES[shape]
    recipe = changed(preset(), "data.alpaca_prompt", "newline")
    done = converted(data, recipe)
    assert done.skipped == "" and done.data == expected
    assert list(done.data or ()) == list(expected), "columns that stay come first, in their order"
    assert done.changes[0].repair == "to-messages" and "messages" in done.changes[0].what


@pytest.mark.parametrize("trainer", ["trl", "unsloth"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_trainer_that_cannot_read_a_shape_gets_the_same(shape: str, trainer: str) -> None:
    data, expected = SHAPES[shape]
    done = converted(data, preset(trainer))
    assert (done.skipped, done.data) == ("", expected)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_converted_row_reads_as_the_row_did(shape: str) -> None:
    data, _ = SHAPES[shape]
    done = converted(data, changed(preset(), "data.alpaca_prompt", "newline"))
    before = told(read({**data, "tools": data.get("tools") or data.get("functions")}))
    if shape == "sharegpt, system beside":  # which plain reading passes over unless it is named
        before = [{"role": "system", "content": "Be short."}, *before]
    if shape in ("two calls behind a thought", "calls in tags", "another column and keys"):
        return  # what plain reading leaves as text, or as a role of its own; the rows are above
    assert told(read(done.data or {})) == before


@pytest.mark.parametrize("shape", SHAPES)
def test_converting_twice_changes_nothing(shape: str) -> None:
    once = converted(SHAPES[shape][0], preset("trl")).data or {}
    again = converted(once, preset("trl"))
    assert again.data is again.row.data and again.changes == ()


@pytest.mark.parametrize("trainer", TRAINERS)
@pytest.mark.parametrize("shape", STAYS)
def test_what_is_in_the_shape_stays(shape: str, trainer: str) -> None:
    done = converted(STAYS[shape], preset(trainer))
    if "tools" not in shape or trainer not in ("llamafactory", "torchtune", "axolotl"):
        assert done.data is done.row.data and done.changes == ()


REFUSED: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "ids": ({"input_ids": [1, 2]}, "ids that are ready"),
    "text": ({"text": "Once."}, "already text to train on"),
    "segments": ({"segments": [{"text": "a", "label": True}]}, "already text to train on"),
    "chosen and rejected": ({"prompt": "a", "chosen": "b", "rejected": "c"}, "a preference set"),
    "a call that is none": (
        {"conversations": [turn("human", "hi"), turn("function_call", "weather(Paris)"), turn("gpt", "Sunny.")]},
        "conversations[1]: a turn that should be a call is not JSON",
    ),
    "a call without a name": (
        {"messages": [ASKED, {"role": "assistant", "content": "", "tool_calls": [{"arguments": {}}]}, TOLD]},
        "messages[1]: a call has no name",
    ),
    "tools that are no JSON": ({"messages": [ASKED, TOLD], "tools": "weather"}, "text that is not JSON"),
    "tools that are not a list": ({"messages": [ASKED, TOLD], "functions": True}, "`tools` is true/false, not a list"),
    "both kinds of calls": (
        {"messages": [ASKED, {**TOLD, "tool_calls": [{"function": PARIS}], "function_call": PARIS}]},
        "both `function_call` and `tool_calls`",
    ),
    "another column of that name": (
        {"conversations": [turn("human", "hi"), turn("gpt", "Hello.")], "messages": "none"},
        "a column `messages` as well as the one that is read",
    ),
    "answers in the prompt": (
        {"prompt": [ASKED, TOLD, ASKED], "completion": [TOLD]},
        "the prompt contains answers, which are not trained",
    ),
    "nothing": ({"conversations": []}, "empty"),
    "no role": ({"conversations": [turn("human", "hi"), {"value": "Hello."}]}, "has no `from`"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_cannot_be_carried_is_refused(why: str) -> None:
    data, sentence = REFUSED[why]
    shape = {"conversations": [turn("human", "hi"), turn("gpt", "Hello.")]}
    sample = (row_of(shape), row_of(data, 1)) if "conversations" in data else ()
    done = converted(data, preset(), sample)
    assert sentence in done.skipped and done.data is done.row.data


def test_calls_that_a_trainer_would_lose_are_refused() -> None:
    data, _ = SHAPES["function_call and observation"]
    assert "LLaMA-Factory would lose" in converted(data, preset("llamafactory")).skipped
    done = converted(data, changed(preset("llamafactory"), "own.formatting", "openai"))
    assert done.skipped == "" and done.data is not None


def test_what_a_trainer_reads_as_text_stays_text() -> None:
    data = {"conversations": [turn("human", "hi"), turn("gpt", "Hello.")], "tools": '[{"type":"function"}]'}
    assert (converted(data, preset("llamafactory")).data or {})["tools"] == data["tools"]
    calling = SHAPES["function_call and observation"][0]
    done = converted(calling, preset("axolotl")).data or {}
    assert json.loads(done["tools"]) == [{"type": "function", "function": WEATHER}]
    assert done["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"city": "Paris"}'


@pytest.mark.parametrize("trainer", ["verl", "trl"])
@pytest.mark.parametrize("column", ["tools", "functions"])
def test_a_row_without_tools_has_an_empty_list_where_its_trainer_stops_at_none(trainer: str, column: str) -> None:
    """verl 0.9.1 reads the column of tools with pandas, where a null is NA: `TypeError: 'NAType' object is not
    iterable`."""
    chat = {"conversations": [turn("human", "hi"), turn("gpt", "Hello.")]}
    having = {**chat, column: [WEATHER]}
    if column == "functions":
        having = {**having, "conversations": SHAPES["functions of OpenAI before tools"][0]["messages"]}
        chat = {"conversations": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}]}
    sample = (row_of(having), row_of(chat))
    empty: dict[str, Any] = {"tools": []} if trainer == "verl" else {}
    assert {
        key: value for key, value in (converted(chat, preset(trainer), sample).data or {}).items() if key != "messages"
    } == empty
    assert "tools" not in (converted(chat, preset(trainer)).data or {}), "a set without tools gets no such column"


def test_results_name_their_calls_where_the_trainer_stops_without() -> None:
    """NeMo Automodel 0.7.0, chat_dataset.py: `call_` and the number in its message is its own name for a call."""
    call = {"type": "function", "function": PARIS}
    messages = [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": "", "tool_calls": [call, {**call, "id": "mine"}]},
        *({"role": "tool", "content": text} for text in ("sunny", "rainy", "nobody asked")),
        {"role": "assistant", "content": "Both.", "tool_calls": [call]},
        {"role": "tool", "content": "sunny", "tool_call_id": "theirs"},
    ]
    done = converted({"messages": messages}, preset("nemo-automodel"))
    assert [one.get("tool_call_id") for one in (done.data or {})["messages"] if one["role"] == "tool"] == [
        *("call_0", "mine", None, "theirs"),
    ]
    assert any(change.what == "2 written in OpenAI's format" for change in done.changes)
    assert converted({"messages": messages}, preset("trl")).data == {"messages": messages}


def test_names_that_a_recipe_gives_are_read() -> None:
    recipe = preset("llamafactory")
    for path, value in (
        ("data.format", "sharegpt"),
        ("data.fields", {"messages": "chat", "system": "rules"}),
        ("data.message_keys", {"role": "who", "content": "what"}),
        ("data.role_map", {"ASK": "user", "SAY": "assistant", "RUN": "function", "GOT": "observation"}),
    ):
        recipe = changed(recipe, path, value)
    who = [("ASK", "Weather?"), ("RUN", json.dumps(PARIS)), ("GOT", "sunny"), ("SAY", "It is sunny.")]
    data = {"rules": "Be short.", "chat": [{"who": role, "what": text} for role, text in who]}
    row = row_of(data)
    way = way_of((row,), recipe, detect((row,), recipe))
    made, _ = to_messages(way, target_of(preset("trl"))).apply(data, RepairLayout())
    assert [(message["role"], message["content"]) for message in made["messages"]] == [
        ("system", "Be short."),
        ("user", "Weather?"),
        ("assistant", ""),
        ("tool", "sunny"),
        ("assistant", "It is sunny."),
    ]
    assert made["messages"][2]["tool_calls"][0]["function"] == PARIS


@pytest.mark.parametrize(
    ("trainer", "text"), [("llamafactory", "Add.\n1, 2"), ("torchtune", "Below is an instruction")]
)
def test_an_instruction_is_joined_as_the_trainer_joins_it(trainer: str, text: str) -> None:
    done = converted({"instruction": "Add.", "input": "1, 2", "output": "3"}, preset(trainer)).data or {}
    assert done["messages"][0]["content"].startswith(text)


def test_a_row_is_converted_alone_where_its_set_is_not_known() -> None:
    data, expected = SHAPES["question and answer"]
    assert CONVERSION.apply(data, RepairLayout())[0] == expected
    with pytest.raises(ConversationError, match="already text"):
        CONVERSION.apply({"text": "Once."}, RepairLayout())


FILES = (
    "alpaca_en_demo.json",
    "alpaca_zh_demo.json",
    "identity_placeholders.json",
    "glaive_toolcall_en_demo.json",
    "reason_tool_use_demo_50.jsonl",
    "v1_sft_demo.jsonl",
    "fastchat_dummy_conversation.json",
    "gsm8k_test.jsonl",
    "mlx_wwdc25_prompt_completion.jsonl",
    "turkish_daily_test.jsonl",
    "toolset_tool_text_pairs.jsonl",
    "openai_toy_chat_fine_tuning.jsonl",
    "derived_dirty_messages.jsonl",
    "axolotl_conversation_missingturns.json",
    "torchtune_alpaca_tiny.json",
)


@pytest.mark.one_of(4)
@pytest.mark.parametrize("name", FILES)
def test_every_row_of_the_real_datasets_says_the_same_after(shared: Path, name: str) -> None:
    source = open_source(SourceSpec((str(shared / "testdata" / "datasets" / name),)))
    rows = tuple(source.rows())
    recipe = changed(preset(), "data.function_calls", "tool_calls")
    found = detect(rows[:32], recipe)
    way = way_of(rows[:32], recipe, found)
    repair = to_messages(way, target_of(recipe))
    compared = 0
    for row in rows:
        done = apply_plan(row, RepairPlan((repair,)), RepairLayout())
        try:
            before = as_chat(convert(row, found, recipe.data))
        except SftuiError:
            assert done.skipped or row.data is None
            continue
        assert done.skipped == "" and done.data is not None
        assert told(read(done.data)) == told(before)
        compared += 1
    assert compared >= 0.7 * len(rows)
