"""NeMo Automodel rule by rule, on bundled tokenizers; what its own code gives is in the goldens."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from sftui import pipeline
from sftui.findings.context import Context
from sftui.findings.run import check_row
from sftui.model import Batch, Example, Inspection, Reason, Row
from sftui.recipe import Recipe, changed
from sftui.sources.records import parse_record
from sftui.tokens import LoadedTokenizer, load_tokenizer
from sftui.trainers import Toolbox, preset, trainer_named
from sftui.trainers.base import TaggedIds
from sftui.trainers.nemo_automodel import masks, packing, trainer
from sftui.trainers.nemo_automodel.trainer import pads_left

USER, SAID = {"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}
CHAT = {"messages": [USER, SAID]}
ROUNDS = {"messages": [USER, SAID, {"role": "user", "content": "Bye."}, {"role": "assistant", "content": "Bye!"}]}
PAIR = {"prompt": "Say a", "completion": "word."}
COLUMNS = {"own.dataset": "columns"}
AGENT = {"own.dataset": "agent"}
INLINE = "nemo-automodel/inline"
TAGS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' %}{% generation %}{{ m.content }}"
    "<|im_end|>{% endgeneration %}{% else %}{{ m.content }}<|im_end|>{% endif %}\n{% endfor %}"
)
FORGETS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.reasoning_content and loop.last %}<think>"
    "{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}<|im_end|>\n{% endfor %}"
)
"""A template that leaves out earlier thoughts."""
STERN = (
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
)


def inline(source: str, **more: Any) -> dict[str, Any]:
    return {"render.template": INLINE, "own.chat_template": source, **more}


def prepared(
    rows: Sequence[Mapping[str, Any]], knobs: Mapping[str, Any] | None = None, name: str = "builtin:chatml"
) -> tuple[list[Inspection], Recipe, Toolbox]:
    recipe = preset("nemo-automodel")
    for path, value in (knobs or {}).items():
        recipe = changed(recipe, path, value)
    made = [Row(i, row, json.dumps(row), f"rows.jsonl line {i + 1}") for i, row in enumerate(rows)]
    detected = pipeline.detect(made, recipe)
    tools = pipeline.make_toolbox(recipe, load_tokenizer(name))
    return [pipeline.inspect(row, detected, recipe, tools) for row in made], recipe, tools


def inspected(
    row: Mapping[str, Any], knobs: Mapping[str, Any] | None = None, name: str = "builtin:chatml"
) -> Inspection:
    return prepared([row], knobs, name)[0][0]


def learnt(made: Inspection) -> str:
    """The text that is trained."""
    assert made.problem is None and made.example is not None, made.problem
    tokenizer = load_tokenizer("builtin:chatml")
    return b"".join(tokenizer.surface(token) for token in made.example.labels if token != -100).decode()


def batch_of(rows: Sequence[Mapping[str, Any]], knobs: Mapping[str, Any], name: str = "builtin:chatml") -> Batch:
    made, recipe, tools = prepared(rows, knobs, name)
    examples = [one.example for one in made if one.example is not None]
    return trainer_named("nemo-automodel").collate(examples, range(len(examples)), recipe, tools)


ANSWER, BYE = "<|im_start|>assistant\nHello.<|im_end|>\n", "<|im_start|>assistant\nBye!<|im_end|>\n"
OPENED = {"own.mask_generation_prompt": True}
THOUGHT = {"messages": [USER, {**SAID, "reasoning_content": "Greet."}]}
THINKS = TAGS.replace("%}{{ m.content }}<", "%}<think>{{ m.reasoning_content }}</think>{{ m.content }}<", 1)


@pytest.mark.parametrize(
    ("row", "knobs", "trained"),
    [
        (CHAT, {}, ANSWER),
        (ROUNDS, {}, ANSWER + BYE),
        (ROUNDS, {"mask.turns": "last"}, BYE),
        (ROUNDS, {**AGENT, "mask.turns": "last"}, BYE),
        (CHAT, OPENED, "Hello.<|im_end|>\n"),
        (CHAT, inline(TAGS), "Hello.<|im_end|>"),
        (ROUNDS, inline(TAGS, **{"mask.turns": "last"}), "Bye!<|im_end|>"),
        (THOUGHT, inline(THINKS), "<think>Greet.</think>Hello.<|im_end|>"),
        (THOUGHT, inline(THINKS, **{"own.mask_reasoning_content": True}), "<think></think>Hello.<|im_end|>"),
        (CHAT, inline(TAGS.replace(" generation ", "generation ")), ANSWER.rstrip()),  # no tag to NeMo's pattern
        (PAIR, COLUMNS, "."),  # the space behind the prompt goes with the word
        (PAIR, {**COLUMNS, "mask.rule": "all"}, "ay a word."),
        (PAIR, {**COLUMNS, "own.use_hf_chat_template": True}, "<|im_start|>assistant\nword.<|im_end|>\n"),
        ({"conversations": [{"from": "human", "value": "hi"}, {"from": "bot", "value": "Hello."}]}, {}, ANSWER),
        ({"messages": [{"role": "system", "content": "S"}, USER, SAID]}, inline(STERN), ANSWER),
    ],
)  # fmt: skip
def test_what_is_trained(row: Mapping[str, Any], knobs: Mapping[str, Any], trained: str) -> None:
    assert learnt(inspected(row, knobs)) == trained


@pytest.mark.parametrize(
    ("row", "knobs", "why"),
    [
        ({"messages": [USER]}, {}, "At least one assistant message is required"),
        ({"messages": [SAID, USER]}, {}, "does not render an empty conversation"),
        ({"messages": [USER, {**SAID, "tool_calls": None}]}, {}, "`tool_calls` must be a list"),
        ({"messages": [USER, SAID, {"role": "tool", "content": "x"}, SAID]}, {}, "has no tool_call_id"),
        ({"messages": [USER, {"role": "tool_call", "content": "{}"}, SAID]}, {}, "agent also accepts tool_call"),
        ({"messages": [{"role": "system", "content": "S"}] * 2 + [USER, SAID]}, {}, "several system messages"),
        ({**CHAT, "tools": "look"}, {}, "`tools` is text, but not valid JSON"),
        ({"messages": [*THOUGHT["messages"], USER, SAID]}, inline(FORGETS), "its first 2 messages, rendered alone"),
        ({"messages": "hi"}, {}, "is text"),
        (PAIR, {}, "set own.dataset to columns"),
        ({"question": "", "answer": "x"}, COLUMNS, "Expected prompt to be non-empty"),
        ({"question": "What?", "answer": 4}, COLUMNS, "a column contains a number"),
        (CHAT, {"mask.rule": "all"}, "NeMo Automodel has no mask.rule all here"),
        (CHAT, {"data.format": "messages"}, "only by its dataset class"),
        ({"messages": [USER, {"role": "tool_call", "content": "x"}]}, AGENT, "is a tool call that is not JSON"),
        ({"query": "x", "tools": "[]"}, {"own.dataset": "xlam"}, "has no `answers`"),
    ],
)  # fmt: skip
def test_what_it_stops_at(row: Mapping[str, Any], knobs: Mapping[str, Any], why: str) -> None:
    made = inspected(row, knobs)
    assert made.problem is not None and why in made.problem.sentence(), made.problem


def test_labels_are_shown_unshifted_and_handed_out_shifted() -> None:
    made = inspected(CHAT)
    assert made.tokens is not None and made.labels is not None and made.example is not None
    ids, labels = made.tokens.input_ids, made.labels.labels
    assert made.example.input_ids == ids[:-1] and made.example.labels == labels[1:] and made.example.shifted
    assert all(label in (-100, token) for token, label in zip(ids, labels))


def test_a_prompt_is_masked_from_its_first_token_on() -> None:
    made = inspected(PAIR, COLUMNS)
    assert made.labels is not None and made.labels.labels[0] == -100


def test_what_is_masked_of_an_answer_is_told() -> None:
    made = inspected(ROUNDS, {**OPENED, "mask.turns": "last"})
    assert made.labels is not None
    assert {Reason.HEADER, Reason.EARLIER, Reason.ASSISTANT, Reason.TERMINATOR} <= {*made.labels.reasons}


def test_a_header_that_is_trained_is_told_with_the_option_against_it() -> None:
    [made], recipe, tools = prepared([CHAT])
    detected = pipeline.detect([made.row], recipe)
    context = Context(recipe, tools.tokenizer.facts, tools.templates["default"], detected, tools)
    found = {one.code: one for one in check_row(made, context)}
    assert found["GEN002"].fix is not None
    assert [(one.path, one.after) for one in found["GEN002"].fix.changes] == [("own.mask_generation_prompt", True)]


def test_a_row_without_labels_gives_way_to_the_next() -> None:
    made = inspected({"question": "What is it?", "answer": ""}, COLUMNS)
    assert made.dropped is not None and "uses the next row" in made.dropped


def test_a_row_whose_place_another_takes_stops_where_that_one_does() -> None:
    from sftui.session.verifying import through

    asked = {"question": "What is it?"}
    kept, without, stops = ({**asked, "answer": answer} for answer in ("A cat.", "", None))
    for rows, stopped in (
        ([kept, without, stops, kept], {1, 2}),
        ([kept, without, without, stops], {1, 2, 3}),
        ([stops, kept, without], {0, 2}),  # behind the last row comes the first
        ([kept, stops, without, kept], {1}),
    ):
        found = through(*prepared(rows, COLUMNS))
        assert set(found.problems) == stopped, rows
        assert set(found.examples) == {place for place, row in enumerate(rows) if row is kept}


def test_rows_are_filled_up_by_the_dataset() -> None:
    made = inspected(CHAT)
    assert made.tokens is not None
    ids, size = made.tokens.input_ids, 40
    batch = batch_of([CHAT, ROUNDS], {"length.max": size, "batch.pad_to": "max"})
    assert {len(row) for row in batch.input_ids} == {len(row) for row in batch.labels} == {size}
    assert batch.input_ids[0][: len(ids)] == ids  # the last token is there again
    assert batch.labels[0][: len(ids)] == (*(made.labels.labels[1:] if made.labels else ()), -100)


@pytest.mark.parametrize(
    ("size", "left", "ids", "labels", "attention"),
    [
        (6, False, (1, 2, 3, 4, 0, 9), (2, 3, 4, -100, -100, -100), (1, 1, 1, 1, 0, 0)),
        (6, True, (0, 0, 1, 2, 3, 9), (-100, -100, 2, 3, 4, -100), (1, 1, 1, 1, 0, 0)),
        (4, False, (1, 2, 3, 9), (2, 3, 4, -100), (1, 1, 1, 0)),
    ],
)
def test_a_row_is_filled_shifted_and_padded_by_one(
    size: int, left: bool, ids: tuple[int, ...], labels: tuple[int, ...], attention: tuple[int, ...]
) -> None:
    """With the tokenizer's pad (0), and behind the shift with the dataset's (9); content is counted from the left."""
    row = Example(TaggedIds.of((1, 2, 3), (4, -100)), (2, 3, 4), (1, 1, 1))
    made = packing.filled(row, size, 0, 9, left, lambda _: 4)
    assert (tuple(made.input_ids), made.labels, made.attention_mask) == (ids, labels, attention)


@pytest.mark.parametrize(
    ("dataset", "chat", "templates", "left"),
    [
        ("chat", False, True, True),
        ("columns", False, True, False),
        ("columns", True, True, True),
        ("columns", True, False, False),
        ("squad", False, True, True),
        ("squad", False, False, False),
        ("chat", False, False, True),
    ],
)
def test_texts_are_padded_behind_and_chats_where_the_tokenizer_pads(
    dataset: str, chat: bool, templates: bool, left: bool
) -> None:
    recipe = changed(changed(preset("nemo-automodel"), "own.dataset", dataset), "own.use_hf_chat_template", chat)
    loaded = load_tokenizer("builtin:chatml")
    loaded = LoadedTokenizer(replace(loaded.facts, padding_side="left"), loaded.engine)
    tools = pipeline.make_toolbox(recipe, loaded)
    tools = tools if templates else Toolbox(loaded, {}, "none")
    assert bool(pads_left(recipe, tools)) is left
    assert not pads_left(recipe, Toolbox(load_tokenizer("builtin:chatml"), tools.templates, "right"))


@pytest.mark.parametrize(
    ("name", "adds", "counted"),
    [("builtin:llama3", True, 1), ("builtin:llama3", False, 0), ("builtin:chatml", True, 0)],
)
def test_the_length_of_a_prompt_counts_bos_by_add_bos_token(
    name: str, adds: bool, counted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainer, "_named_class", lambda _: ("", adds))
    assert trainer.counts_bos(preset("nemo-automodel"), load_tokenizer(name)) == counted


@pytest.mark.parametrize(("row", "missing"), [({"question": "What?"}, "answer"), ({"answer": "That."}, "question")])
def test_a_later_row_without_a_mapped_column_stops_it(row: Mapping[str, Any], missing: str) -> None:
    (_, later), *_ = prepared([{"question": "What?", "answer": "That."}, row], COLUMNS)
    assert later.problem is not None and f"it has no `{missing}`" in later.problem.sentence()


def test_transformers_tokenizer_takes_several_system_messages() -> None:
    row = {"messages": [{"role": "system", "content": "S"}] * 2 + [USER, SAID]}
    assert learnt(inspected(row, {"own.tokenizer_backend": "transformers_auto"})) == ANSWER


@pytest.mark.parametrize(
    ("row", "format_"),
    [(CHAT, "messages"), ({"conversations": [{"from": "human", "value": "hi"}]}, "sharegpt")],
)
def test_rows_are_read_by_their_column(row: Mapping[str, Any], format_: str) -> None:
    assert pipeline.detect([Row(0, row, "", "row 0")], preset("nemo-automodel")).format == format_


def test_packs_hold_whole_rows_and_leave_out_longer_ones() -> None:
    rows = [CHAT, ROUNDS, CHAT, {"messages": [USER, {**SAID, "content": "very " * 90}]}]
    for strategy, documents in (("sequential", [[0], [1], [2]]), ("neat", [[1], [0, 2]])):
        made, recipe, tools = prepared(rows, {"pack.strategy": strategy, "own.packed_sequence_size": 34})
        packs = list(pipeline.pack_rows(made, recipe, tools))
        assert [[row for row, _, _ in pack.documents] for pack in packs] == documents, strategy


@pytest.mark.parametrize(
    ("lengths", "multiple", "packs"),
    [
        ((2,), 1, [((0, 1, 2, 3, 4), (5,))]),  # what pads goes on counting, and belongs to the last document
        ((2, 1), 1, [((0, 1, 0, 1, 2), (2, 3))]),
        ((5,), 1, [((0, 1, 2, 3, 4), (5,))]),
        ((6,), 1, []),  # longer than a pack
        ((3, 2, 1), 1, [((0, 1, 2, 0, 1), (3, 2)), ((0, 1, 2, 3, 4), (5,))]),
        ((1, 1), 2, [((0, 1, 0, 1, 2), (2, 3))]),
        ((0,), 1, []),
    ],
)
def test_packs_of_whole_rows_in_order(
    lengths: tuple[int, ...], multiple: int, packs: list[tuple[tuple[int, ...], tuple[int, ...]]]
) -> None:
    """nemo-automodel 0.7.0, components/datasets/llm/packed_sequence.py (_pack_sequence, THD)."""
    rows = [Example((7,) * length, (7,) * length, (1,) * length) for length in lengths]
    made = list(packing.in_order(rows, 5, 0, multiple))
    assert [(pack.position_ids, pack.seq_lens) for pack in made] == packs


@pytest.mark.parametrize(
    ("ids", "end", "begins"),
    [
        ((1, 2), None, True),
        ((1, 9), 9, True),  # an EOS in place of what follows
        ((1, 9), None, False),
        ((1, 9), 8, False),
        ((2, 9), 9, False),
        ((9,), 9, False),
        ((1, 2, 3, 4), None, False),
    ],
)
def test_messages_by_themselves_begin_as_the_whole(ids: tuple[int, ...], end: int | None, begins: bool) -> None:
    """formatting_utils.py, _is_consistent_render_prefix."""
    assert masks._begins(ids, (1, 2, 3), end) is begins


@pytest.mark.parametrize(
    ("most", "left", "ids", "start"),
    [
        (None, True, (1, 2, 3, 4, 5), 0),
        (3, False, (1, 2, 3), 0),
        (3, True, (3, 4, 5), 2),
        (5, True, (1, 2, 3, 4, 5), 0),
    ],
)
def test_truncation_leaves_one_end(most: int | None, left: bool, ids: tuple[int, ...], start: int) -> None:
    window = masks.Window(most, left)
    assert (window.of((1, 2, 3, 4, 5)), window.start(5)) == (ids, start)


def test_verdicts_of_what_is_left_are_along_it() -> None:
    marks = masks.Marks(4, (True, Reason.ASSISTANT))
    marks.put(1, 2, (False, Reason.ROLE))
    masks.change(marks, -1, 1, None, (False, Reason.HEADER))
    masks.change(marks, 2, 9, Reason.ASSISTANT, (True, Reason.TERMINATOR))
    masks.change(marks, 3, 4, Reason.ASSISTANT, (False, Reason.HEADER))  # another reason: it stays
    flags, reasons = masks.mask_of(marks, ((2, 5), (6, 7)), 9)
    assert list(flags) == [False, False, False, False, True, False, True, False, False]
    cut = Reason.TRUNCATED
    assert list(reasons) == [
        *(cut, cut, Reason.HEADER, Reason.ROLE, Reason.TERMINATOR),
        *(cut, Reason.TERMINATOR, cut, cut),
    ]


@pytest.mark.parametrize(
    ("knobs", "raw", "where", "skips"),
    [
        ({}, "{no", "rows.jsonl line 1", True),
        ({}, "{}", "rows.jsonl line 1", False),
        ({}, "{no", "rows.json row 1", False),
        ({"own.skip_invalid_samples": False}, "{no", "rows.jsonl line 1", False),
        (AGENT, "{no", "rows.jsonl line 1", False),
    ],
)
def test_a_line_that_is_no_json_is_skipped(knobs: Mapping[str, Any], raw: str, where: str, skips: bool) -> None:
    recipe = changed(preset("nemo-automodel"), "own.skip_invalid_samples", True)
    for path, value in knobs.items():
        recipe = changed(recipe, path, value)
    made = trainer_named("nemo-automodel").passes_over(Row(0, None, raw, where), recipe)
    assert (made is not None) is skips


def test_the_oldest_exchanges_go_until_a_row_fits() -> None:
    made = inspected(ROUNDS, {**AGENT, "own.truncate_history": True, "length.max": 20})
    assert made.rendered is not None and "Hello." not in made.rendered.text and learnt(made) == BYE
    assert any("drops 2 messages" in note for note in made.notes)
    least = inspected(ROUNDS, {**AGENT, "own.truncate_history": True, "length.max": 3})  # not even the last one fits
    assert least.rendered is not None and least.rendered.text == made.rendered.text
    knobs = inline(TAGS, **AGENT, **{"own.truncate_history": True, "length.max": 3})
    none = inspected({"messages": [SAID, SAID]}, knobs)
    assert none.rendered is not None and none.rendered.text.count("Hello.") == 2  # nothing to cut at


@pytest.mark.parametrize(("name", "written"), [("look", "look"), ("", ""), (5, ""), (None, "")])
def test_a_result_has_a_name_where_it_is_text(name: Any, written: str) -> None:
    """nemo-automodel 0.7.0, components/datasets/llm/agent_chat.py (_convert_messages)."""
    called = {"role": "tool_call", "content": '{"name": "look", "arguments": {}}'}
    row = {"messages": [USER, called, {"role": "tool_response", "content": "4", "name": name}, SAID]}
    template = "{% for m in messages %}{{ m.role }}({{ m.name }}){{ m.content }}<|im_end|>{% endfor %}"
    made = inspected(row, inline(template, **AGENT))
    assert made.rendered is not None, made.problem
    assert f"tool({written})4" in made.rendered.text


@pytest.mark.parametrize(("text", "zeros"), [("", 0), ("<|endoftext|>", 1), ("<|endoftext|>" * 3, 3)])
def test_the_attention_mask_ends_before_pads_at_the_end_of_a_text(text: str, zeros: int) -> None:
    """formatting_utils.py (_package_tokenized_example): content is told by the id, before the shift by one."""
    made = inspected(CHAT, inline(TAGS + text))
    assert made.example is not None and made.tokens is not None
    size = len(made.tokens) - 1
    assert len(made.example.input_ids) == size
    assert made.example.attention_mask == (1,) * (size - zeros) + (0,) * zeros


def test_whole_numbers_beyond_64_bits_stay_what_they_are() -> None:
    """nemo-automodel 0.7.0, components/datasets/llm/chat_dataset.py: ChatDataset reads JSON by Python's `json`."""
    line = (
        '{"messages": [{"role": "user", "content": 100000000000000000000}, {"role": "assistant", "content": "Hello."}]}'
    )
    recipe = preset("nemo-automodel")
    row = parse_record(line.encode(), 0, "rows.jsonl line 1", offset=0)
    tools = pipeline.make_toolbox(recipe, load_tokenizer("builtin:chatml"))
    made = pipeline.inspect(row, pipeline.detect([row], recipe), recipe, tools)
    assert made.rendered is not None and "user\n100000000000000000000<|im_end|>" in made.rendered.text


def test_a_row_with_half_a_character_is_no_line_to_skip() -> None:
    recipe = changed(preset("nemo-automodel"), "own.skip_invalid_samples", True)
    raw = json.dumps(CHAT)[:-1] + ', "x": "\udc80"}'
    assert trainer_named("nemo-automodel").passes_over(Row(0, CHAT, raw, "rows.jsonl line 1"), recipe) is None
