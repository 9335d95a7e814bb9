"""LLaMA-Factory's rules one by one: rows, templates, masks, cuts and packs, on the bundled tokenizers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from golden_records import inspect, with_knobs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sftui import pipeline
from sftui.errors import RecipeError
from sftui.labels import proportional, shares
from sftui.model import IGNORE_INDEX, Example, Inspection, Part, Reason, Row
from sftui.recipe import Recipe
from sftui.session.options import OpenOptions
from sftui.session.ready import open_data
from sftui.tokens import load_tokenizer
from sftui.tokens.shortcuts.bulk import Bulk
from sftui.trainers import preset, trainer_named
from sftui.trainers.llamafactory.registry import NAMES, TEMPLATES
from sftui.trainers.llamafactory.tools import FORMATS, describe
from sftui.trainers.llamafactory.trainer import knapsack_packs

TURNS = [
    {"from": "system", "value": "Be brief."},
    {"from": "human", "value": "What is 2+2?"},
    {"from": "gpt", "value": "4"},
    {"from": "human", "value": "And 3+3?"},
    {"from": "gpt", "value": "6"},
]
TOOLS = (
    '[{"name": "add", "description": "Adds.", "parameters": {"properties": {"a": {"type": "int"}}, "required": ["a"]}}]'
)


def seen(
    rows: Sequence[Mapping[str, Any]], knobs: Mapping[str, Any] | None = None, tokenizer: str = "builtin:chatml"
) -> list[Inspection]:
    recipe = with_knobs(preset("llamafactory@0.9"), {"render.template": "llamafactory/chatml", **(knobs or {})})
    return inspect(rows, recipe, pipeline.make_toolbox(recipe, load_tokenizer(tokenizer)))


def one(turns: Sequence[Mapping[str, Any]], knobs: Mapping[str, Any] | None = None, **more: Any) -> Inspection:
    return seen([{"conversations": list(turns), **more}], knobs)[0]


def trained_text(row: Inspection) -> str:
    """The text of the trained tokens, runs parted by |."""
    assert row.tokens and row.labels and row.rendered
    runs: list[str] = []
    before = False
    for start, end, label in zip(row.tokens.starts, row.tokens.ends, row.labels.labels):
        if label != IGNORE_INDEX:
            text = row.rendered.text[start:end] if start >= 0 else "<eos>"
            if before:
                runs[-1] += text
            else:
                runs.append(text)
        before = label != IGNORE_INDEX
    return "|".join(runs)


@pytest.mark.parametrize(
    ("value", "drops"),
    [({"role": "user"}, False), (5, False), ("text", False), (None, False), ([1], False), ([], True), ("", True)],
)
def test_a_named_column_that_holds_no_messages_is_a_problem_of_the_row(value: Any, drops: bool) -> None:
    """data/converter.py asks for the length alone first: nothing is no message, and the row goes."""
    (row,) = seen([{"chat": value}], {"data.fields": {"messages": "chat"}})
    assert (row.problem is not None, row.dropped is not None) == (not drops, drops)


@pytest.mark.parametrize(
    ("kind", "part", "first", "knobs", "refused"),
    [
        ("alpaca", "tools", 1000, {}, True),
        ("alpaca", "system", 1000, {}, True),
        ("sharegpt", "tools", 1000, {}, True),
        ("sharegpt", "system", 1000, {}, False),  # it may be a message's
        ("alpaca", "system", 999, {}, False),
        ("alpaca", "system", 1000, {"own.max_samples": 1000}, False),
        ("alpaca", "system", 1000, {"own.max_samples": 1001}, True),
        ("alpaca", "system", 1000, {"own.preprocessing_num_workers": 2}, False),
        ("alpaca", "system", 1000, {"own.preprocessing_num_workers": 1}, True),
    ],
)
def test_a_column_that_no_row_of_the_first_1000_has_stops_one_process(
    kind: str, part: str, first: int, knobs: Mapping[str, Any], refused: bool
) -> None:
    row = {"conversations": TURNS[1:]} if kind == "sharegpt" else {"instruction": "q", "input": "", "output": "a"}
    rows = [Row(0, row, "", "row 0"), Row(first, {**row, part: "[]"}, "", f"row {first}")]
    fields = {"messages": "conversations"} if kind == "sharegpt" else {name: name for name in row}
    recipe = with_knobs(
        preset("llamafactory@0.9"), {"data.format": kind, "data.fields": {**fields, part: part}, **knobs}
    )
    found = pipeline.detect(rows, recipe).refused
    assert (found is not None and "none of the first 1,000 rows" in found.what) is refused


@pytest.mark.parametrize(
    ("knobs", "expected"),
    [
        ({}, "4<|im_end|>\n|6<|im_end|>\n"),
        ({"mask.turns": "last"}, "6<|im_end|>\n"),
        ({"mask.terminator": "mask", "mask.trailing": "mask"}, "4|6"),
        ({"mask.terminator": "mask"}, "4|\n|6|\n"),
        ({"mask.trailing": "mask"}, "4<|im_end|>|6<|im_end|>"),
    ],
)
def test_answers_and_what_follows_them_are_trained(knobs: Mapping[str, Any], expected: str) -> None:
    made = one(TURNS, knobs)
    assert trained_text(made) == expected
    recipe = with_knobs(preset("llamafactory@0.9"), {"render.template": "llamafactory/chatml", **knobs})
    tools = pipeline.make_toolbox(recipe, load_tokenizer("builtin:chatml"))
    (unplaced,) = pipeline.inspect_all([made.row], pipeline.detect([made.row], recipe), recipe, tools, Bulk())
    assert unplaced.example == made.example


def test_train_on_prompt_trains_everything() -> None:
    row = one(TURNS, {"mask.rule": "all"})
    assert row.labels and row.tokens and row.labels.labels == row.tokens.input_ids


def test_both_masks_are_refused() -> None:
    row = one(TURNS, {"mask.rule": "all", "mask.turns": "last"})
    assert row.problem and "incompatible" in row.problem.sentence()


def test_who_wrote_what() -> None:
    row = one(TURNS[:3])
    assert row.tokens and row.rendered
    text = {
        (message, part): "".join(
            row.rendered.text[s.start : s.end] for s in row.rendered.spans if (s.message, s.part) == (message, part)
        )
        for message, part in {(s.message, s.part) for s in row.rendered.spans}
    }
    assert (
        text[(0, Part.CONTENT)] == "Be brief."
        and text[(1, Part.CONTENT)] == "What is 2+2?"
        and text[(2, Part.CONTENT)] == "4"
    )
    assert text[(2, Part.HEADER)] == "<|im_start|>assistant\n" and text[(2, Part.TERMINATOR)] == "<|im_end|>"
    assert "".join(row.rendered.text[s.start : s.end] for s in row.rendered.spans) == row.rendered.text
    assert [s.start for s in row.rendered.spans[1:]] == [s.end for s in row.rendered.spans[:-1]]


@pytest.mark.parametrize(
    ("turns", "why"),
    [
        (TURNS[:2], "Invalid message count: 1"),
        ([*TURNS[:2], *TURNS[1:3]], "Invalid role tag: `human`"),
        ([TURNS[2], TURNS[1]], "Invalid role tag: `gpt`"),
        ([*TURNS[1:3], TURNS[0]], "Invalid role tag: `system`"),
        ([], "no messages"),
    ],
)
def test_rows_that_do_not_alternate_are_dropped(turns: Sequence[Mapping[str, Any]], why: str) -> None:
    row = seen([{"conversations": TURNS}, {"conversations": list(turns)}])[1]
    assert row.dropped and why in row.dropped and row.example is None and row.problem is None


def test_when_all_sampled_rows_drop_the_user_is_told() -> None:
    from golden_records import rows_of

    found = pipeline.detect(rows_of([{"conversations": TURNS[:2]}]), preset("llamafactory@0.9"))
    assert any("Cannot find valid samples" in note for note in found.notes)


@pytest.mark.parametrize(
    ("system", "tools", "expected"),
    [
        (None, None, "detailed thinking off"),
        ("Hi.", None, "Hi.\ndetailed thinking off"),
        ("Hi. detailed thinking on", None, "Hi. detailed thinking on"),
        ("Hi.", TOOLS, "Hi.\n"),
    ],
)
def test_formatting_openai_writes_into_the_system_text(system: str | None, tools: str | None, expected: str) -> None:
    turns = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    turns = [{"role": "system", "content": system}, *turns] if system else turns
    knobs = {
        "data.format": "messages",
        "own.formatting": "openai",
        "data.fields": {"messages": "messages", "tools": "tools"},
        "data.message_keys": {"role": "role", "content": "content"},
        "data.role_map": {"user": "user", "assistant": "assistant", "system": "system"},
    }
    row = seen([{"messages": turns, "tools": tools}], knobs)[0]
    assert row.conversation and row.conversation.messages[0].content == expected


def test_formatting_openai_beside_an_alpaca_reading_gives_no_error_of_its_own() -> None:
    knobs = {"data.format": "alpaca", "data.fields": {"instruction": "prompt"}, "own.formatting": "openai"}
    recipe = with_knobs(preset("llamafactory@0.9"), knobs)
    row = Row(0, {"prompt": "hi", "messages": []}, "", "row 0")
    assert pipeline.detect([row], recipe).fields == {"instruction": "prompt"}


def test_role_and_content_messages_are_sharegpt_with_tags() -> None:
    turns = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "a"},
        {"role": "tool", "content": "t"},
        {"role": "assistant", "content": "b"},
    ]
    named, guessed = (seen([{"messages": turns}], {"data.format": name})[0] for name in ("messages", "auto"))
    assert named.conversation and guessed.conversation and named.conversation.messages == guessed.conversation.messages
    assert [m.role for m in named.conversation.messages] == ["user", "assistant", "observation", "assistant"]
    assert named.example == guessed.example is not None


def test_openai_tool_results_are_joined_and_calls_become_a_function_turn() -> None:
    turns = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "add", "arguments": {"a": 1}}}]},
        {"role": "tool", "content": "1"},
        {"role": "tool", "content": "2"},
        {"role": "assistant", "content": "done"},
    ]
    knobs = {
        "data.format": "messages",
        "own.formatting": "openai",
        "data.fields": {"messages": "messages"},
        "data.message_keys": {"role": "role", "content": "content"},
        "data.role_map": {"user": "user", "assistant": "assistant", "tool": "observation", "function_call": "function"},
    }
    row = seen([{"messages": turns}], knobs)[0]
    assert row.conversation and [m.role for m in row.conversation.messages] == [
        "system",
        "user",
        "function",
        "observation",
        "assistant",
    ]
    assert row.conversation.messages[3].content == "1\n</tool_response>\n<tool_response>\n2"
    assert row.rendered and 'Action: add\nAction Input: {"a": 1}' in row.rendered.text


@pytest.mark.parametrize(
    ("thinking", "trained"),
    [(True, "<think>\n\n</think>\n\n4<|im_end|>\n"), (False, "4<|im_end|>\n"), (None, "4<|im_end|>\n")],
)
def test_an_empty_thought_is_trained_or_belongs_to_the_prompt(thinking: bool | None, trained: str) -> None:
    row = one(TURNS[:3], {"render.template": "llamafactory/qwen3", "render.kwargs": {"enable_thinking": thinking}})
    assert trained_text(row) == trained
    assert row.rendered and row.rendered.text.count("<think>\n\n</think>\n\n") == 1


def test_thoughts_of_earlier_turns_go_with_mask_history() -> None:
    turns = [
        {**turn, "value": f"<think>\nhm\n</think>\n\n{turn['value']}"} if turn["from"] == "gpt" else turn
        for turn in TURNS
    ]
    knobs = {"render.template": "llamafactory/qwen3", "mask.turns": "last"}
    row, kept = one(turns, knobs), one(turns, {**knobs, "render.kwargs": {"preserve_thinking": True}})
    assert row.rendered and row.rendered.text.count("hm") == 1
    assert kept.rendered and kept.rendered.text.count("hm") == 2


def test_efficient_eos_labels_the_next_turn() -> None:
    row = one(TURNS, {"render.template": "llamafactory/breeze"})
    assert row.tokens and row.labels
    at = [i for i, reason in enumerate(row.labels.reasons) if reason is Reason.EFFICIENT_EOS]
    eos = row.tokens.input_ids[-1]
    assert len(at) == 1 and row.labels.labels[at[0]] == eos != row.tokens.input_ids[at[0]]
    assert row.labels.reasons[-1] is Reason.APPENDED


def test_a_missing_stop_word_is_added_to_the_tokenizer() -> None:
    recipe = with_knobs(preset("llamafactory@0.9"), {"render.template": "llamafactory/phi"})
    before = load_tokenizer("builtin:chatml")
    after = trainer_named("llamafactory").tokenizer_of(before, recipe)
    assert (
        before.token_id("<|end|>") is None
        and after.token_id("<|end|>") == before.facts.vocab_size == after.facts.vocab_size - 1
    )
    assert after.facts.eos_token == "<|end|>" and any("resize_vocab" in note for note in after.facts.notes)


@pytest.mark.one_of(15)
@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_template_renders_tools_and_many_turns(name: str) -> None:
    turns = [
        *TURNS,
        {"from": "human", "value": "Add."},
        {"from": "function_call", "value": '{"name": "add", "arguments": {"a": 1}}'},
        {"from": "observation", "value": "1"},
        {"from": "gpt", "value": "1"},
    ]
    added = ",".join(sorted(TEMPLATES[name].inserted)) or None
    row = one(turns, {"render.template": f"llamafactory/{name}", "own.add_special_tokens": added}, tools=TOOLS)
    assert row.problem is None and row.example is not None and row.rendered is not None
    assert "add" in row.rendered.text and row.example.trained > 0


def test_the_registry_template_is_also_a_jinja() -> None:
    recipe: Recipe = with_knobs(preset("llamafactory@0.9"), {"render.template": "llamafactory/qwen"})
    tools = pipeline.make_toolbox(recipe, load_tokenizer("builtin:chatml"))
    row = inspect([{"conversations": TURNS[1:3]}], recipe, tools)[0]
    text, _ = tools.templates["default"].text(
        [{"role": "user", "content": "What is 2+2?"}, {"role": "assistant", "content": "4"}],
        variables=tools.special_tokens,
    )
    assert row.rendered and row.rendered.text == text


@pytest.mark.parametrize(
    ("content", "why"),
    [(None, "not text"), (7, "Expected a string, got 7")],
)
def test_content_that_is_no_text_stops_the_run(content: Any, why: str) -> None:
    row = one([TURNS[1], {"from": "gpt", "value": content}])
    assert row.problem and why in row.problem.sentence()


@pytest.mark.parametrize("tools", ["not json", '[{"name": "add"}]', '{"name": "add"}'])
def test_tools_that_cannot_be_written_stop_the_run(tools: str) -> None:
    row = one(TURNS, {"render.template": "llamafactory/default"}, tools=tools)
    assert row.problem and "LLaMA-Factory stops" in row.problem.sentence()


def test_the_llama3_tool_text_holds_the_day() -> None:
    assert "Today Date: 05 Mar 2026\n" in describe(TOOLS, "llama3", date(2026, 3, 5))
    assert all(describe("[]", name, date(2026, 3, 5)) == "" for name in FORMATS)


values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.text(max_size=4)
    | st.sampled_from(["human", "gpt", "user", "assistant", "system", "{{idx}}", "{{content}}"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["from", "value", "role", "content", "tool_calls", "function", "name", "arguments"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)
COLUMNS = ("conversations", "messages", "instruction", "input", "output", "system", "tools", "history")


@pytest.fixture(scope="module")
def ways() -> list[tuple[Recipe, Any]]:
    """Recipes for every format, with their toolboxes."""
    loaded = load_tokenizer("builtin:chatml")
    chosen: list[Mapping[str, Any]] = [
        {"data.format": "alpaca", "data.fields": {name: name for name in COLUMNS[2:]}},
        {"data.format": "sharegpt", "data.fields": {name: name for name in ("messages", "system", "tools")}},
        {
            "data.format": "messages",
            "own.formatting": "openai",
            "data.message_keys": {"role": "role", "content": "content"},
            "data.fields": {name: name for name in ("messages", "system", "tools")},
            "data.role_map": {"user": "user", "assistant": "assistant", "tool": "observation"},
        },
        {"data.format": "alpaca", "data.fields": {"instruction": "instruction"}, "own.stage": "pt"},
    ]
    recipes = [
        with_knobs(preset("llamafactory@0.9"), {"render.template": "llamafactory/qwen3", **knobs}) for knobs in chosen
    ]
    return [(recipe, pipeline.make_toolbox(recipe, loaded)) for recipe in recipes]


@given(st.dictionaries(st.sampled_from(COLUMNS), values, max_size=8))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
def test_no_row_whatever_it_holds_raises(ways: list[tuple[Recipe, Any]], row: dict[str, Any]) -> None:
    for recipe, tools in ways:
        (one,) = inspect([{**dict.fromkeys(COLUMNS), **row}], recipe, tools)
        assert one.example is not None or one.problem is not None or one.dropped


@pytest.mark.parametrize(
    ("pair", "texts"),
    [
        (["Who?", "Me."], ("Who?", "Me.")),
        ({"question": "Who?", "answer": "Me."}, ("question", "answer")),
        ("ab", ("a", "b")),
        ({"q": 1, "a": None}, ("q", "a")),
        (["Who?"], None),
        ({"q": 1, "a": 2, "z": 3}, None),
        ("abc", None),
        (None, None),
        (2, None),
    ],
)
def test_whatever_gives_two_things_is_a_pair_of_the_history(
    ways: list[tuple[Recipe, Any]], pair: Any, texts: tuple[str, str] | None
) -> None:
    recipe, tools = ways[0]
    row = {**dict.fromkeys(COLUMNS), "instruction": "So?", "output": "Yes.", "history": [pair]}
    (one,) = inspect([row], recipe, tools)
    if texts is None:
        assert one.problem is not None and "not a [question, answer] pair" in one.problem.what
    else:
        assert one.conversation is not None and one.problem is None
        assert tuple(message.content for message in one.conversation.messages[:2]) == texts


@pytest.mark.parametrize("nothing", ["", {}, []])
def test_an_empty_column_of_messages_drops_the_row(ways: list[tuple[Recipe, Any]], nothing: Any) -> None:
    recipe, tools = ways[1]
    (one,) = inspect([{**dict.fromkeys(COLUMNS), "messages": nothing}], recipe, tools)
    assert one.problem is None and one.dropped


sizes = st.integers(0, 400)


@given(sizes, sizes, st.integers(0, 300))
def test_shares_never_exceed_the_room_nor_the_turn(source: int, target: int, room: int) -> None:
    if source + target == 0:
        return
    a, b = shares(source, target, room)
    assert 0 <= a <= source and 0 <= b <= target and a + b <= max(room, 0) + 0
    if source + target <= room:
        assert (a, b) == (source, target)


@given(
    st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), min_size=1, max_size=6),
    st.integers(1, 200),
    st.booleans(),
)
def test_a_cut_row_fits_and_serves_turns_in_order(pairs: list[tuple[int, int]], cutoff: int, last_first: bool) -> None:
    kept = proportional(pairs, cutoff, reserved=0, last_first=last_first)
    assert sum(map(sum, kept)) <= cutoff
    order = kept[::-1] if last_first else kept
    whole = pairs[::-1] if last_first else pairs
    shortened = [i for i, (a, b) in enumerate(zip(order, whole)) if a != b]
    assert all(
        pair == (0, 0) for pair in (order[shortened[0] + 1 :] if shortened and sum(map(sum, kept)) == cutoff else [])
    )


@given(st.lists(st.integers(1, 40), max_size=30), st.integers(8, 64), st.booleans())
def test_packs_hold_every_row_that_fits_once(lengths: list[int], size: int, neat: bool) -> None:
    examples = [Example(tuple(range(1, n + 1)), tuple(range(1, n + 1)), (1,) * n) for n in lengths]
    packs = tuple(knapsack_packs(examples, size, 0, neat=neat))
    held = sorted(index for pack in packs for index, _, _ in pack.documents)
    assert held == [i for i, n in enumerate(lengths) if n < size]
    for pack in packs:
        assert (
            len(pack.input_ids)
            == len(pack.labels)
            == len(pack.position_ids or ())
            == len(pack.attention_mask or ())
            == size
        )
        assert pack.attention_mask and (
            set(pack.attention_mask) == {1} if not neat else max(pack.attention_mask) == len(pack.documents)
        )


@pytest.mark.parametrize(
    ("early", "number", "knobs", "stops"),
    [
        ({}, 1000, {}, True),
        ({}, 999, {}, False),
        ({}, 1200, {"own.max_samples": 1200}, False),
        ({}, 1200, {"own.max_samples": 1201}, True),
        ({}, 1000, {"own.preprocessing_num_workers": 16}, False),
        ({"tools": ""}, 1000, {}, False),
    ],
)
@pytest.mark.parametrize("chats", [True, False])
def test_a_column_that_begins_behind_the_first_thousand_rows_stops_the_run(
    early: Mapping[str, Any], number: int, knobs: Mapping[str, Any], stops: bool, chats: bool
) -> None:
    """llamafactory 0.9.5 with late_rows: 32 rows before the late one train, 1,000 do not."""
    row = {"conversations": TURNS} if chats else {"instruction": "a", "input": "", "output": "b"}
    fields = {"messages": "conversations"} if chats else {"prompt": "instruction", "response": "output"}
    knobs = {"data.format": "sharegpt" if chats else "alpaca", "data.fields": {**fields, "tools": "tools"}, **knobs}
    recipe = with_knobs(preset("llamafactory@0.9"), knobs)
    sample = [Row(0, {**row, **early}, "", "row 0"), Row(number, {**row, "tools": TOOLS}, "", f"row {number}")]
    assert (trainer_named("llamafactory").detect(sample, recipe).refused is not None) is stops


@pytest.mark.parametrize(
    ("knobs", "stops"),
    [
        ({"length.max": 512}, ()),
        ({"length.max": 300}, ("packs of cutoff_len 300 are padded to 304 tokens",)),
        ({"length.max": 300, "pack.strategy": "knapsack"}, ("packs of cutoff_len 300 are padded to 304 tokens",)),
        ({"length.max": 300, "pack.strategy": "none"}, ()),
        ({"length.max": None}, ()),
        ({"length.max": 300, "render.template": "auto"}, ("packs of cutoff_len 300 are padded to 304 tokens",)),
        ({"length.max": 300, "render.template": "llamafactory/qwen2_vl"}, ()),
        ({"length.max": 512, "batch.attention": "none", "batch.size": 1}, ()),
        ({"length.max": 512, "batch.attention": "none", "batch.size": 2}, ("takes one pack per batch",)),
        ({"length.max": 300, "pack.strategy": "wrapped", "own.stage": "pt", "batch.multiple": None}, ()),
    ],
)
def test_packs_that_no_model_takes_stop_the_run(knobs: Mapping[str, Any], stops: tuple[str, ...]) -> None:
    """Both tried with llamafactory 0.9.5: position ids are not padded with the rest of the batch."""
    recipe = with_knobs(
        preset("llamafactory@0.9"), {"render.template": "llamafactory/chatml", "pack.strategy": "neat", **knobs}
    )
    found = trainer_named("llamafactory").stops(recipe)
    assert len(found) == len(stops) and all(part in one for part, one in zip(stops, found))


def test_flash_attention_gets_a_neat_pack_without_padding_and_mask() -> None:
    """SFTDataCollatorWith4DAttentionMask takes the padding out, and refuses a second pack."""
    rows = [{"conversations": TURNS}] * 3
    knobs = {"pack.strategy": "neat", "pack.isolate": True, "batch.attention": "none", "length.max": 160}
    recipe = with_knobs(preset("llamafactory@0.9"), {"render.template": "llamafactory/chatml", **knobs})
    tools = pipeline.make_toolbox(recipe, load_tokenizer("builtin:chatml"))
    packs = tuple(pipeline.pack_rows(inspect(rows, recipe, tools), recipe, tools))
    batch = pipeline.collate_packs(packs[:1], recipe, tools)
    used = sum(end - start for _, start, end in packs[0].documents)
    assert len(packs[0].documents) > 1 and 0 < used < 160 and batch.attention_mask is None and batch.documents is None
    assert [len(one[0]) for one in (batch.input_ids, batch.labels, batch.position_ids or ())] == [used] * 3
    with pytest.raises(RecipeError, match="one pack per batch"):
        pipeline.collate_packs((packs[0], packs[0]), recipe, tools)


def test_a_missing_eos_is_added_before_the_stop_words() -> None:
    from dataclasses import replace

    from sftui.tokens.loaded import LoadedTokenizer
    from sftui.trainers.llamafactory.registry import TEMPLATES
    from sftui.trainers.llamafactory.trainer import fix_special_tokens

    bare = load_tokenizer("builtin:gemma")
    bare = LoadedTokenizer(replace(bare.facts, eos_token=None, eos_id=None), bare.engine)
    made = fix_special_tokens(bare, replace(TEMPLATES["yi"], stop_words=("<|stop|>",)))
    assert (
        made.token_id("<|endoftext|>") is not None
        and made.token_id("<|stop|>") == (made.token_id("<|endoftext|>") or 0) + 1
    )


@pytest.mark.parametrize(
    ("second", "told"),
    [('{"b": 1}', False), ({"a": 2}, False), ({"b": 1}, True)],
    ids=["text", "the same keys", "other keys"],
)
def test_it_is_told_where_arrow_would_even_out_the_keys_of_calls(second: Any, told: bool) -> None:
    from golden_records import rows_of

    from sftui.trainers.llamafactory.formats import UNEVEN

    def row(arguments: Any) -> dict[str, Any]:
        call = {"type": "function", "function": {"name": "f", "arguments": arguments}}
        return {
            "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "", "tool_calls": [call]}]
        }

    first = {"a": 1} if isinstance(second, dict) else '{"a": 1}'
    recipe = with_knobs(
        preset("llamafactory@0.9"),
        {
            "data.format": "messages",
            "data.fields": {"messages": "messages"},
            "data.message_keys": {"role": "role", "content": "content"},
            "own.formatting": "openai",
        },
    )
    found = trainer_named("llamafactory").detect(rows_of([row(first), row(second)]), recipe)
    assert (UNEVEN in found.notes) == told


def test_rows_that_are_dropped_count_in_the_groups_that_are_packed() -> None:
    from sftui.session.verifying import through

    recipe = with_knobs(
        preset("llamafactory@0.9"),
        {"render.template": "llamafactory/chatml", "pack.strategy": "knapsack", "pack.group": 2, "length.max": 64},
    )
    tools = pipeline.make_toolbox(recipe, load_tokenizer("builtin:chatml"))
    rows = [{"instruction": "q", "input": "", "output": None if number == 1 else "a"} for number in range(4)]
    packs = through(inspect(rows, recipe, tools), recipe, tools).packs
    assert [len(pack.documents) for pack in packs] == [1, 2]


def test_a_null_role_without_a_system_tag_and_a_null_tool_result_stop_the_run() -> None:
    keys = {"role": "role", "content": "content"}
    base = {"data.format": "messages", "data.fields": {"messages": "messages"}, "data.message_keys": keys}
    roles = {"user": "user", "assistant": "assistant"}
    for where in (0, 1):
        turns: list[dict[str, Any]] = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
        turns[where] = {"role": None, "content": "x"}
        row = seen([{"messages": turns}], {**base, "data.role_map": roles})[0]
        assert row.problem and "Unexpected role: system" in row.problem.sentence()
    turns = [
        {"role": "user", "content": "q"},
        {"role": "call", "content": "{}"},
        {"role": "tool", "content": None},
        {"role": "assistant", "content": "a"},
    ]
    row = seen(
        [{"messages": turns}],
        {
            **base,
            "data.role_map": {**roles, "tool": "observation", "call": "function"},
            "own.formatting": "openai",
        },
    )[0]
    assert row.problem and "joins tool results" in row.problem.sentence()


def test_a_parsed_template_may_lose_the_content_where_another_placeholder_is_left() -> None:
    from sftui.templates import compile_template
    from sftui.trainers.llamafactory.registry import parse

    source = "{% for message in messages %}{{ (message.role ~ ': ' ~ message.content)|upper }}\n{% endfor %}"
    slots = parse({"default": compile_template(source, "t")}, {}, "")
    assert slots.user == ("USER: {{CONTENT}}\n",) and slots.assistant == ("ASSISTANT: {{CONTENT}}\n",)


@pytest.mark.parametrize(
    ("answers", "told"),
    [(("2024-01-02", "2024-05-06"), True), (("2024-01-02 10:11:12", None), True), (("2024-01-02", "soon"), False)],
)
def test_it_is_told_where_arrow_would_read_answers_as_times(
    answers: tuple[str | None, ...], told: bool, tmp_path: Path
) -> None:
    rows = [{"instruction": "When?", "input": "", "output": answer} for answer in answers]
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    opened = open_data(OpenOptions(paths=(str(path),)), preset("llamafactory@0.9"))
    notes = opened.detected.notes
    opened.close()
    assert any("`output`" in note and "timestamps" in note for note in notes) == told


@pytest.mark.parametrize(
    ("response", "shown"),
    [
        (None, ""),
        ({"type": "object", "description": "All."}, ',response:{description:<|"|>All.<|"|>,type:<|"|>OBJECT<|"|>}'),
        ({"type": "string", "description": "All."}, ',response:{description:<|"|>All.<|"|>}'),
    ],
)
def test_what_a_tool_gives_back_is_declared_to_gemma(response: Any, shown: str) -> None:
    """llamafactory 0.9.5, data/tool_utils.py (Gemma4ToolUtils): of types an object's alone."""
    tools = json.dumps([{"name": "add", "description": "Adds.", "response": response}])
    assert f'declaration:add{{description:<|"|>Adds.<|"|>{shown}}}' in describe(tools, "gemma4", date(2026, 1, 2))


def test_a_release_that_is_not_out_is_refused() -> None:
    with pytest.raises(RecipeError, match=r"1\.0 is not yet released"):
        preset("llamafactory@1.0")
