"""What trainers have in common: rows, prompts, templates and totals as their base has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from golden_records import inspect, rows_of, with_knobs

from sftui import pipeline
from sftui.model import Conversation, Kind, Message, Pack
from sftui.recipe import changed
from sftui.templates import ChatTemplate
from sftui.tokens import load_tokenizer
from sftui.tokens.shortcuts.bulk import Bulk
from sftui.trainers import Toolbox, preset, trainer_named
from sftui.trainers.base import Totals, from_ids, pick_template, prompt_of, stored_attention

ASKED, SAID = Message({"role": "user", "content": "hi"}), Message({"role": "assistant", "content": "Hello."})
CHAT = {"messages": [dict(ASKED.data), dict(SAID.data)]}


@pytest.mark.parametrize(
    ("conversation", "rule", "prompt", "why"),
    [
        (Conversation(Kind.TEXT, "text", text="a"), "last_assistant", None, None),
        (Conversation(Kind.TOKENS, "tokens", input_ids=(1,)), "column", None, None),
        (Conversation(Kind.STRINGS, "x", prompt="a", completion="b"), "last_assistant", 1, None),
        (Conversation(Kind.CHAT, "messages", (ASKED, SAID)), "last_assistant", 1, None),
        (Conversation(Kind.CHAT, "messages", (ASKED, SAID, ASKED, SAID)), "last_assistant", 3, None),
        (Conversation(Kind.CHAT, "messages", (ASKED, SAID, ASKED)), "last_assistant", None, "from `user`"),
        (Conversation(Kind.CHAT, "messages"), "last_assistant", None, "no messages"),
        (Conversation(Kind.CHAT, "messages", (ASKED, SAID), 2), "column", 2, None),
        (Conversation(Kind.CHAT, "messages", (ASKED, SAID)), "column", None, None),
    ],
)
def test_how_many_messages_are_the_prompt(
    conversation: Conversation, rule: str, prompt: int | None, why: str | None
) -> None:
    found, dropped = prompt_of(conversation, rule)
    assert found == prompt and (dropped is None if why is None else dropped is not None and why in dropped)


def test_a_row_that_is_no_chat_has_no_roles_to_be_trained() -> None:
    recipe = with_knobs(preset("hf-trainer"), {"mask.rule": "assistant"})
    shape = trainer_named("hf-trainer").shape
    assert shape(Conversation(Kind.TEXT, "text", text="a"), recipe).dropped is None
    assert shape(Conversation(Kind.CHAT, "messages", (ASKED, SAID)), recipe).dropped is None
    assert shape(Conversation(Kind.CHAT, "messages", (ASKED,)), recipe).dropped is not None


@pytest.mark.parametrize("rule", ["completion", "assistant", "turn_full", "all"])
@pytest.mark.parametrize("masked", [(), ("mask.terminator",), ("mask.trailing",), ("mask.terminator", "mask.trailing")])
def test_labels_are_the_same_where_nobody_asks_for_places(rule: str, masked: tuple[str, ...]) -> None:
    recipe = with_knobs(preset("hf-trainer"), {"mask.rule": rule, **dict.fromkeys(masked, "mask")})
    tools = pipeline.make_toolbox(recipe, load_tokenizer("builtin:chatml"))
    rows, (placed,) = rows_of([CHAT]), inspect([CHAT], recipe, tools)
    (plain,) = pipeline.inspect_all(rows, pipeline.detect(rows, recipe), recipe, tools, Bulk())
    assert placed.example is not None and plain.example == placed.example


@pytest.mark.parametrize(
    ("kind", "mask", "count", "found"),
    [
        (Kind.TOKENS, (1, 0), 2, (1, 0)),
        (Kind.TOKENS, (1, 0), 3, None),  # it does not fit
        (Kind.TOKENS, None, 2, None),
        (Kind.CHAT, (1, 0), 2, None),
    ],
)
def test_a_stored_attention_mask_counts_where_it_fits(
    kind: Kind, mask: tuple[int, ...] | None, count: int, found: tuple[int, ...] | None
) -> None:
    assert stored_attention(Conversation(kind, "x", input_ids=(5, 6), attention_mask=mask), count) == found


@pytest.mark.parametrize(
    ("names", "tools", "name"),
    [
        (("default",), None, "default"),
        (("default", "tool_use"), None, "default"),
        (("default", "tool_use"), [{"name": "look"}], "tool_use"),
        (("default", "other"), [{"name": "look"}], "default"),
    ],
)
def test_which_of_several_templates(names: tuple[str, ...], tools: Any, name: str) -> None:
    """transformers 5, tokenization_utils_base.py (get_chat_template)."""
    templates = {one: ChatTemplate(f"the source of {one}", one) for one in names}
    toolbox = Toolbox(load_tokenizer("builtin:chatml"), templates, "none")
    conversation = Conversation(Kind.CHAT, "messages", (ASKED, SAID), tools=tools)
    assert pick_template(conversation, toolbox) is templates[name]


def test_stored_ids_are_shown_as_one_content() -> None:
    tokenizer = load_tokenizer("builtin:chatml")
    made = from_ids(Conversation(Kind.TOKENS, "tokens", input_ids=tokenizer.ids("Hi.")), Toolbox(tokenizer, {}, "none"))
    assert made.text == "Hi." and [(one.start, one.end, one.message) for one in made.spans] == [(0, 3, 0)]


@pytest.mark.parametrize(("mask", "attention"), [(None, (1, 1, 0)), ((1, 2), (1, 2, 0))])
def test_a_pack_without_a_mask_is_attended_whole(mask: tuple[int, ...] | None, attention: tuple[int, ...]) -> None:
    recipe, made = preset("hf-trainer"), (Pack((), (5, 6), (5, 6), None, mask), Pack((), (5, 6, 7), (5, 6, 7)))
    tools = pipeline.make_toolbox(recipe, load_tokenizer("builtin:chatml"))
    batch = trainer_named("hf-trainer").collate_packs(made, recipe, tools)
    assert batch.attention_mask == (attention, (1, 1, 1))


@pytest.mark.parametrize(
    ("totals", "packs", "words"),
    [
        (Totals(), False, None),
        (Totals(rows=3, tokens=9, kept=3, trained=4), False, None),
        (Totals(rows=1, tokens=5), False, "the only row is dropped, and it raises ValueError"),
        (Totals(rows=3, tokens=5), False, "all 3 rows are dropped, and it raises ValueError"),
        (Totals(rows=3), True, "all 3 rows are dropped"),
        (Totals(rows=3, kept=2, empty=2), True, "all 3 rows are dropped"),
        (Totals(rows=3, kept=2, empty=2), False, "all 2 rows that are left is masked"),
        (Totals(rows=3, tokens=9, kept=1), False, "the row that is left is masked"),
    ],
)
def test_when_a_run_trains_nothing(totals: Totals, packs: bool, words: str | None) -> None:
    recipe = changed(preset("trl"), "pack.strategy", "bfd" if packs else "none")
    stop = trainer_named("trl").stop_of(recipe, totals)
    assert stop is None if words is None else stop is not None and words in stop
    assert stop is None or ("raises" in stop) is ("raises" in str(words))


def test_tokens_of_dropped_rows_are_counted() -> None:
    recipe = with_knobs(preset("hf-trainer"), {"length.max": 5, "length.over": "drop"})
    tools, totals = pipeline.make_toolbox(recipe, load_tokenizer("builtin:chatml")), Totals()
    (dropped,) = inspect([CHAT], recipe, tools)
    assert dropped.example is None and dropped.tokens is not None
    totals.add(dropped)
    totals.add(replace(dropped, tokens=None))
    totals.add(replace(dropped, labels=None))
    assert (totals.rows, totals.kept, totals.tokens) == (3, 0, len(dropped.tokens))


def test_what_a_recipe_says_of_other_rows_is_taken_out() -> None:
    keys = {"role": "from", "content": "value", "reasoning": "thought", "weight": "loss"}
    fields = {"messages": "chat", "template_kwargs": "kwargs"}
    recipe = with_knobs(preset("trl"), {"data.message_keys": keys, "data.fields": fields, "data.format": "messages"})
    data = trainer_named("trl").reading_messages(recipe).data
    assert (data.format, data.message_keys, data.fields) == ("auto", {"weight": "loss"}, {"template_kwargs": "kwargs"})


@pytest.mark.parametrize(
    ("knobs", "roles", "remarks", "losses"),
    [
        ({"mask.rule": "assistant"}, ("assistant",), 0, 0),
        ({"mask.rule": "turn_full"}, ("assistant",), 0, 0),
        ({"mask.rule": "completion"}, (), 0, 0),
        ({"mask.rule": "markers"}, (), 0, 1),
        ({"loss.weights": "float"}, (), 1, 0),
        ({"length.over": "split"}, (), 0, 1),
        ({"pack.group": 7}, (), 0, 1),
    ],
)
def test_a_loop_written_by_hand(knobs: Mapping[str, Any], roles: tuple[str, ...], remarks: int, losses: int) -> None:
    trainer, recipe = trainer_named("hf-trainer"), with_knobs(preset("hf-trainer"), knobs)
    assert (trainer.trained_roles(recipe), len(trainer.remarks(recipe))) == (roles, remarks)
    said = trainer.keys_of(recipe)[1]
    assert len(said) == losses and all(("it has" in one) is ("pack.group" not in one) for one in said)
