"""TRL's tricky rules: where the EOS goes, which columns it takes for its own, what packing does to the length."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sftui import pipeline
from sftui.model import Example, Inspection, Row
from sftui.recipe import changed
from sftui.session.options import OpenOptions
from sftui.session.ready import open_data, tokenized
from sftui.tokens import LoadedTokenizer, load_tokenizer
from sftui.trainers import preset, trainer_named
from sftui.trainers.base import Totals
from sftui.trainers.trl import trainer as trl
from sftui.trainers.trl.packing import CollatorTrainer

TURNS = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi."}]
PAIR = {"prompt": "Say ", "completion": "hi"}
EOS = "<|im_end|>"


def inspected(
    rows: list[dict[str, Any]], version: str = "1.16", tokenizer: Any = None, **knobs: Any
) -> list[Inspection]:
    recipe = preset(f"trl@{version}")
    for path, value in knobs.items():
        recipe = changed(recipe, path.replace("__", "."), value)
    source = [Row(i, row, "", f"row {i}") for i, row in enumerate(rows)]
    detected = pipeline.detect(source, recipe)
    assert detected.refused is None, detected.refused
    tools = pipeline.make_toolbox(recipe, tokenizer or load_tokenizer("builtin:chatml", mode="provisional"))
    tools = pipeline.survey(source[0], detected, recipe, tools)
    return [pipeline.inspect(row, detected, recipe, tools, text=True) for row in source]


@pytest.mark.parametrize(
    ("row", "version", "field", "ends"),
    [
        (PAIR, "1.16", "text", True),
        ({**PAIR, "text": "x"}, "1.16", "text", False),  # the text column gets it instead
        ({**PAIR, "text": f"x{EOS}"}, "1.16", "text", True),
        ({**PAIR, "body": "x"}, "1.16", "body", False),
        ({**PAIR, "prompt": f"a{EOS}"}, "1.16", "prompt", True),
        ({**PAIR, "body": "x"}, "1.14", "body", True),  # before 1.15 it looks for `text`, whatever the config says
        ({**PAIR, "text": "x"}, "1.14", "body", False),
        (PAIR, "1.16", "completion", True),
        ({"prompt": f"a{EOS}", "completion": ""}, "1.16", "text", True),  # the prompt's own is not the completion's
    ],
)
def test_a_text_column_beside_a_completion_takes_the_eos(
    row: dict[str, Any], version: str, field: str, ends: bool
) -> None:
    one = inspected([row], version, own__dataset_text_field=None if field == "text" else field)[0]
    assert one.tokens is not None and one.token_text.pieces.count(EOS) == ends + (EOS in row["prompt"])


SPOKEN = {"prompt": TURNS[:1], "completion": TURNS[1:]}
ROLELESS = {"prompt": [{"content": "Hello"}], "completion": [{"content": "Hi."}]}


def told(one: Inspection) -> str:
    return one.problem.sentence() if one.problem is not None else ""


def test_a_first_row_of_messages_keeps_the_eos_from_every_text() -> None:
    """is_conversational is asked of the first row alone (trl 1.16.0, trainer/sft_trainer.py `_prepare_dataset`)."""
    text, later = inspected([PAIR, PAIR])[0], inspected([SPOKEN, PAIR])[1]
    assert text.tokens is not None and later.tokens is not None
    assert (text.token_text.pieces.count(EOS), later.token_text.pieces.count(EOS)) == (1, 0)


@pytest.mark.parametrize("first", [PAIR, ROLELESS])
def test_after_a_first_row_of_text_a_completion_of_messages_stops_trl(first: dict[str, Any]) -> None:
    """AttributeError: 'list' object has no attribute 'endswith'."""
    later = inspected([first, SPOKEN])[1]
    assert "stops at this row" in told(later) and "TRL appends an EOS token to every completion" in told(later)


@pytest.mark.parametrize(
    ("row", "stops"),
    [
        ([{"content": "Hello"}], True),  # KeyError: 'text'
        ([{"role": "user", "content": "Hello"}, {"content": "Hi."}], False),  # the template judges later messages
    ],
)
def test_a_first_message_without_a_role_stops_trl(row: Any, stops: bool) -> None:
    found = told(inspected([{"messages": TURNS}, {"messages": row}])[1])
    assert ("finds no `text`" in found) is stops


def test_a_text_column_beside_messages_without_a_role_is_not_known() -> None:
    rows = [{"messages": TURNS, "text": "x"}, {"messages": [{"content": "Hello"}], "text": "x"}]
    assert "does not model" in told(inspected(rows)[1])


PLAIN_ROLES = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
CONCATENATED = "{% for m in messages %}{{ '<' + m['role'] + '>' + m['content'] }}{% endfor %}"


@pytest.mark.parametrize("role", [1, 1.5, True, ["a"], {"a": 1}])
@pytest.mark.parametrize("key", ["from", "role", "prompt"])
def test_a_role_that_is_no_text_is_the_templates_to_judge(role: Any, key: str, tmp_path: Path) -> None:
    """TRL hands it on, and apply_chat_template prints it or stops (trl 1.16.0 under transformers 5.23)."""
    first, second = {"role": role, "content": "hi"}, {"role": "assistant", "content": "yo"}
    rows: dict[str, dict[str, Any]] = {
        "from": {"conversations": [{"from": one["role"], "value": one["content"]} for one in (first, second)]},
        "role": {"messages": [first, second]},
        "prompt": {"prompt": [first], "completion": [second]},
    }
    template = tmp_path / "t.jinja"
    template.write_text(PLAIN_ROLES)
    one = inspected([rows[key]], render__template=f"file:{template}")[0]
    assert one.problem is None and one.rendered is not None and one.rendered.text == f"[{role}]hi[assistant]yo"
    template.write_text(CONCATENATED)
    one = inspected([rows[key]], render__template=f"file:{template}")[0]
    assert one.problem is not None and "can only concatenate str" in f"{one.problem.what} {one.problem.why}"


def test_a_text_column_that_holds_no_text_stops_trl() -> None:
    one = inspected([{**PAIR, "text": None}])[0]
    assert one.problem is not None and "not text" in one.problem.what


@pytest.mark.parametrize(
    ("row", "knobs", "words"),
    [
        ({"text": "a", "labels": 1}, {}, "column `labels`"),
        ({"messages": TURNS, "assistant_masks": [1]}, {}, "column `assistant_masks`"),
        ({"messages": TURNS, "completion_mask": [1]}, {"mask.rule": "completion"}, "column `completion_mask`"),
        ({"messages": TURNS, "completion_mask": [1]}, {}, None),
        (
            {"prompt": TURNS[:1], "completion": TURNS[1:], "completion_mask": [1]},
            {"mask.rule": "completion"},
            None,  # TRL writes its own over it
        ),
        ({"messages": TURNS, "image": None}, {}, "the dataset has images"),
        ({"messages": TURNS, "images": []}, {}, "the dataset has images"),
        ({"messages": TURNS, "assistant_masks": [1]}, {"mask.rule": "generation_tag"}, None),
        ({"input_ids": [1, 2], "labels": [1, 2]}, {}, None),
        ({"input_ids": [1, 2]}, {"mask.rule": "generation_tag"}, "assistant_only_loss"),
        ({"input_ids": [1, 2], "messages": TURNS}, {"mask.rule": "generation_tag"}, None),
        (
            {"conversations": [{"from": "user", "value": "a"}]},
            {"mask.rule": "generation_tag"},
            "assistant_only_loss",
        ),  # asked before it is renamed
        (
            {**PAIR, "messages": TURNS},
            {},
            "messages and some do not",
        ),  # which column it asks hangs on Python's hash seed
        ({"prompt": TURNS[:1], "completion": TURNS[1:], "messages": TURNS}, {}, None),
        ({**PAIR, "input_ids": [1], "messages": TURNS}, {}, None),
    ],
)
def test_columns_that_trl_takes_for_its_own(row: dict[str, Any], knobs: dict[str, Any], words: str | None) -> None:
    recipe = preset("trl@1.16")
    for path, value in knobs.items():
        recipe = changed(recipe, path, value)
    refused = pipeline.detect([Row(0, row, "", "row 0")], recipe).refused
    assert (refused is None) if words is None else (refused is not None and words in refused.sentence())


@pytest.mark.parametrize(
    ("kwargs", "row", "words"),
    [
        ({"enable_thinking": False}, {"messages": TURNS}, None),
        ({"add_generation_prompt": None}, {"messages": TURNS}, None),
        ({"add_generation_prompt": True}, {"messages": TURNS}, "does not model"),
        ({"continue_final_message": True}, {"messages": TURNS}, "does not model"),
        ({"add_generation_prompt": None}, {"prompt": TURNS[:1], "completion": TURNS[1:]}, "stops at"),
        ({"tokenize": True}, {"messages": TURNS}, "stops at"),
        ({"tools": None}, {"messages": TURNS, "tools": [{"type": "function"}]}, "does not model"),
        ({"tools": None, "chat_template": None}, {"messages": TURNS}, None),
        ({"chat_template": ""}, {"messages": TURNS}, "does not model"),
    ],
)
def test_kwargs_that_are_no_template_variables_are_refused(
    kwargs: dict[str, Any], row: dict[str, Any], words: str | None
) -> None:
    one = inspected([{**row, "chat_template_kwargs": kwargs}])[0]
    assert (one.problem is None) if words is None else (one.problem is not None and words in one.problem.what)


def test_kwargs_as_text_stop_trl() -> None:
    """`**example["chat_template_kwargs"]` raises TypeError: 'str' object is not a mapping."""
    row = {"messages": TURNS, "chat_template_kwargs": '{"enable_thinking": false}'}
    detected = pipeline.detect([Row(0, row, "", "")], preset("trl@1.16"))
    assert detected.refused is not None and "stored as text" in detected.refused.what


def test_tools_that_are_an_empty_text_stop_trl() -> None:
    empty, none = inspected([{"messages": TURNS, "tools": ""}, {"messages": TURNS, "tools": None}])
    assert none.problem is None and empty.problem is not None and "empty string" in empty.problem.what


def test_packing_keeps_the_start_whatever_truncation_mode_says() -> None:
    knobs: dict[str, Any] = {"length__max": 3, "length__over": "cut_left"}
    ids = inspected([{"text": "one two three four five six"}])[0].tokens
    alone = inspected([{"text": "one two three four five six"}], **knobs)[0].example
    packed = inspected([{"text": "one two three four five six"}], pack__strategy="bfd", **knobs)[0].example
    assert ids is not None and alone is not None and packed is not None
    assert alone.input_ids == ids.input_ids[-3:] and packed.input_ids == ids.input_ids[:3]


def without(tokenizer: LoadedTokenizer, **facts: Any) -> LoadedTokenizer:
    return LoadedTokenizer(replace(tokenizer.facts, **facts), tokenizer.engine)


def test_a_tokenizer_with_nothing_to_pad_with_is_refused() -> None:
    tokenizer = load_tokenizer("builtin:chatml", mode="provisional")
    bare = inspected(
        [{"messages": TURNS}], tokenizer=without(tokenizer, pad_token=None, pad_id=None, eos_token=None, eos_id=None)
    )[0]
    assert bare.problem is not None and "neither a pad token nor an EOS" in (bare.problem.why or "")
    text = inspected([{"text": "a"}], tokenizer=without(tokenizer, eos_token=None, eos_id=None))[0]
    assert text.problem is not None and "EOS" in (text.problem.why or "")


@pytest.mark.parametrize(
    ("version", "most", "left_out"), [("1.16", 1024, True), ("1.16", None, False), ("1.8", 1024, False)]
)
@pytest.mark.parametrize("row", [{"input_ids": []}, {"input_ids": [], "labels": []}])
def test_a_row_of_no_ids_is_left_out_and_stops_nothing(
    row: dict[str, Any], version: str, most: int | None, left_out: bool
) -> None:
    """The filter of examples without a label runs where max_length is set (sft_trainer.py, since 1.9)."""
    ids = {"input_ids": [5, 6], **({"labels": [5, 6]} if "labels" in row else {})}
    full, empty = inspected([ids, row], version, length__max=most)
    assert full.problem is None and full.example is not None
    assert empty.problem is None and bool(empty.dropped) is left_out
    assert left_out or (empty.example is not None and empty.example.input_ids == ())


ALONG: dict[str, Any] = {"input_ids": None, "labels": None, "attention_mask": None}


@pytest.mark.parametrize(
    ("row", "strategy", "goes_on"),
    [
        ({"input_ids": []}, "bfd", True),
        ({"input_ids": []}, "wrapped", True),
        (ALONG, "bfd", True),
        (ALONG, "wrapped", True),
        ({**ALONG, "labels": [7]}, "bfd", True),
        ({**ALONG, "labels": [7]}, "wrapped", False),  # they would go to the row behind
        (ALONG, "none", False),
        ({"input_ids": None}, "bfd", False),  # TRL makes the labels of the ids
    ],
)
@pytest.mark.parametrize("trainer", ["trl@1.16", "unsloth@2026.10"])
def test_packing_leaves_out_a_row_of_no_ids(row: dict[str, Any], strategy: str, goes_on: bool, trainer: str) -> None:
    """Recorded with TRL 1.16.0 and unsloth_zoo 2026.10.9: 60 rows, every fourth of them without ids."""
    goes_on |= trainer.startswith("unsloth") and row == {"input_ids": None}
    recipe = changed(changed(preset(trainer), "pack.strategy", strategy), "length.max", 8)
    source = [Row(i, {**{key: [5, 6] for key in row}, **one}, "", f"row {i}") for i, one in enumerate(({}, row))]
    tools = pipeline.make_toolbox(recipe, load_tokenizer("builtin:chatml", mode="provisional"))
    detected = pipeline.detect(source, recipe)
    made = [pipeline.inspect(one, detected, recipe, tools) for one in source]
    assert made[0].problem is None and (made[1].problem is None) is goes_on
    if strategy != "none" and goes_on:
        packs = list(pipeline.pack_rows(made, recipe, tools))
        assert [pack.input_ids for pack in packs] == [(5, 6)]


def test_nothing_but_rows_of_no_ids_stops_trl(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"input_ids": [], "labels": []}\n' * 3)
    recipe = changed(changed(preset("trl"), "pack.strategy", "bfd"), "tokenizer.name", "builtin:chatml")
    options = OpenOptions((str(tmp_path / "d.jsonl"),), recipe=recipe)
    with contextlib.closing(open_data(options)) as data:
        made = list(tokenized(data, "provisional").ready().all_rows())
    assert [bool(one.dropped) for one in made] == [True] * 3
    dropped = "TRL stops: all 3 rows are dropped"
    assert trainer_named("trl").stop_of(recipe, Totals(3)) == dropped, "another error than where rows are masked"
    stop = trainer_named("trl").stop_of(recipe, Totals(3, tokens=6))
    assert stop is not None and stop.startswith(f"{dropped}, and it raises ValueError: num_samples")


@pytest.mark.parametrize(("strategy", "stops"), [("bfd", True), ("none", False)])
def test_a_pack_holds_no_row_of_no_ids(strategy: str, stops: bool) -> None:
    recipe = changed(preset("unsloth"), "pack.strategy", strategy)
    said = trainer_named("unsloth").stop_of(recipe, Totals(3, kept=3, empty=3)) or ""
    assert said.startswith("Unsloth stops: all 3 rows are dropped" if stops else "nothing is trained: every label")


@pytest.mark.parametrize(
    ("strategy", "flatten", "positions", "masked"),
    [
        ("bfd", False, (0, 1, 2, 0, 1), (0, 3)),  # sft_trainer.py: both pack to padding-free rows
        ("bfd_split", False, (0, 1, 2, 0, 1), (0, 3)),
        ("wrapped", True, (0, 1, 2, 3, 4), (0,)),  # there one long document
        ("wrapped", False, None, ()),
    ],
)
@pytest.mark.parametrize("trainer", ["trl", "unsloth"])
def test_the_first_token_of_a_document_has_no_loss_where_the_collator_is_padding_free(
    trainer: str, strategy: str, flatten: bool, positions: tuple[int, ...] | None, masked: tuple[int, ...]
) -> None:
    recipe = changed(changed(preset(trainer), "pack.strategy", strategy), "batch.flatten", flatten)
    recipe = changed(recipe, "length.max", 5)
    behind = trainer_named(trainer)
    assert isinstance(behind, CollatorTrainer)
    rows = [Example((4, 5, 6), (4, 5, 6), (1, 1, 1)), Example((7, 8), (7, 8), (1, 1))]
    tools = pipeline.make_toolbox(recipe, load_tokenizer("builtin:chatml", mode="provisional"))
    (pack,) = CollatorTrainer.pack(behind, rows, recipe, tools)
    assert pack.input_ids == (4, 5, 6, 7, 8) and pack.attention_mask == (None if strategy != "wrapped" else (1,) * 5)
    fed = behind.fed(pack, recipe)
    assert fed.labels == tuple(-100 if place in masked else token for place, token in enumerate(pack.input_ids))
    assert fed.attention_mask == ((1,) * 5 if strategy == "wrapped" and not flatten else None)
    assert fed.position_ids == positions
    batch = CollatorTrainer.collate_packs(behind, (pack, pack), changed(recipe, "batch.multiple", 4), tools)
    flat, pad = positions is not None, tools.tokenizer.facts.pad_id
    assert batch.input_ids == ((4, 5, 6, 7, 8) * 2 + (pad, pad),) if flat else len(batch.input_ids) == 2


def test_a_padding_free_row_is_padded_at_its_end() -> None:
    recipe = changed(changed(preset("trl"), "batch.flatten", True), "batch.multiple", 4)
    tools = pipeline.make_toolbox(recipe, load_tokenizer("builtin:chatml", mode="provisional"))
    rows = [Example((4, 5), (4, 5), (1, 1)), Example((6,), (6,), (1,)), Example((7, 8, 9), (-100, 8, 9), (1, 1, 1))]
    batch = trainer_named("trl").collate(rows, (0, 1, 2), recipe, tools)
    pad = tools.tokenizer.facts.pad_id
    assert (batch.input_ids, batch.labels) == (
        ((4, 5, 6, 7, 8, 9, pad, pad),),
        ((-100, 5, -100, -100, 8, 9, -100, -100),),
    )
    assert batch.position_ids == ((0, 1, 0, 0, 1, 2, 0, 0),) and batch.attention_mask is None


@pytest.mark.parametrize(
    ("source", "finds"), [("{%- generation -%}x{% endgeneration %}", True), ("{{ messages }}", False)]
)
def test_answers_are_found_by_tags_or_in_a_template_that_trl_knows(source: str, finds: bool) -> None:
    assert trl.finds_answers(source) is finds
