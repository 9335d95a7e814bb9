"""mlx-lm rule by rule, on bundled tokenizers; what its own code gives is in the goldens."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sftui import pipeline
from sftui.errors import ConversationError
from sftui.findings.context import Context
from sftui.findings.run import check_setup
from sftui.model import Batch, Inspection, Reason, Row
from sftui.recipe import Recipe, changed
from sftui.sources.records import parse_record
from sftui.tokens import builtin, load_tokenizer
from sftui.trainers import Toolbox, preset, trainer_named
from sftui.trainers.base import Totals
from sftui.trainers.own_config import notes_of

CHAT = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}]}
PAIR = {"prompt": "hi", "completion": "Hello."}
TEXT = {"text": "Once upon a time."}
MASKED = {"mask.rule": "completion"}


def prepared(
    rows: Sequence[Mapping[str, Any]],
    knobs: Mapping[str, Any] | None = None,
    name: str = "builtin:chatml",
    trainer: str = "mlx-lm",
) -> tuple[list[Inspection], Recipe, Toolbox]:
    recipe = preset(trainer)
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
    assert made.problem is None and made.example is not None
    tokenizer = load_tokenizer("builtin:chatml")
    return b"".join(tokenizer.surface(token) for token in made.example.labels if token != -100).decode()


def batch_of(rows: Sequence[Mapping[str, Any]], knobs: Mapping[str, Any] | None = None) -> Batch:
    made, recipe, tools = prepared(rows, knobs)
    examples = [one.example for one in made if one.example is not None]
    return trainer_named("mlx-lm").collate(examples, range(len(examples)), recipe, tools)


BYE = "<|im_start|>user\nBye.<|im_end|>\n"
ASKED = "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"


@pytest.mark.parametrize(
    ("row", "knobs", "trained"),
    [
        (CHAT, {}, f"{ASKED}Hello.<|im_end|>\n"),
        (CHAT, MASKED, "Hello.<|im_end|>\n"),
        (PAIR, {}, f"{ASKED}Hello.<|im_end|>\n"),
        (PAIR, MASKED, "Hello.<|im_end|>\n"),
        (TEXT, {}, "Once upon a time.<|im_end|>"),
        ({"text": "The end.<|im_end|>"}, {}, "The end.<|im_end|>"),
        ({**PAIR, **CHAT, **TEXT}, MASKED, "Hello.<|im_end|>\n"),
        ({"messages": [*CHAT["messages"], {"role": "user", "content": "Bye."}]}, MASKED, BYE),
        ({"chat": CHAT["messages"]}, {**MASKED, "data.fields": {"messages": "chat"}}, "Hello.<|im_end|>\n"),
    ],
)  # fmt: skip
def test_what_is_trained(row: Mapping[str, Any], knobs: Mapping[str, Any], trained: str) -> None:
    assert learnt(inspected(row, knobs)) == trained


def test_the_end_that_is_appended_to_a_text_is_told() -> None:
    made = inspected(TEXT)
    assert made.labels is not None and made.labels.reasons[-1] is Reason.APPENDED


@pytest.mark.parametrize(
    ("row", "knobs", "why"),
    [
        (TEXT, MASKED, "Prompt masking not supported for text dataset."),
        ({"instruction": "x", "output": "y"}, {}, "Unsupported data format"),
        ({"conversations": CHAT["messages"]}, {}, "Unsupported data format"),
        ({"messages": []}, {}, "is empty"),
        ({"messages": CHAT["messages"][1:]}, MASKED, "there are none"),
        ({"messages": '[{"role": "user", "content": "hi"}]'}, {}, "mlx-lm does not parse JSON text"),
        ({**CHAT, "tools": "[]"}, {}, "its `tools` are text"),
        ({**PAIR, "tools": {"a": 1}}, {}, "its `tools` are"),
        ({"text": ""}, {}, "its text has no tokens"),
        ({"text": None}, {}, "is null, not text"),
        (CHAT, {"data.format": "text"}, "mlx-lm reads these rows as messages"),
    ],
)
def test_what_it_stops_at(row: Mapping[str, Any], knobs: Mapping[str, Any], why: str) -> None:
    made = inspected(row, knobs)
    assert made.problem is not None and why in made.problem.sentence()


@pytest.mark.parametrize("beside", ["prompt", "completion"])
def test_half_a_pair_is_none(beside: str) -> None:
    assert pipeline.detect([Row(0, {beside: "x", **TEXT}, "", "row 0")], preset("mlx-lm")).format == "text"


def test_the_first_row_says_how_all_are_read() -> None:
    made, _, _ = prepared([PAIR, CHAT])
    assert made[0].problem is None
    assert made[1].problem is not None and "it has no `prompt`" in made[1].problem.what


@pytest.mark.parametrize(("where", "told"), [("rows.jsonl line 1", False), ("rows.json record 0", True)])
def test_a_file_that_is_one_list_is_told(where: str, told: bool) -> None:
    layout = "one list" if told else ""
    found = pipeline.detect([Row(0, CHAT, json.dumps(CHAT), where, layout=layout)], preset("mlx-lm"))
    assert any("JSON lines" in note for note in found.notes) is told


def with_thoughts(folder: Path) -> str:
    """The tokenizer of builtin:chatml with the tags of thoughts."""
    shutil.copytree(Path(builtin.__file__).parent / "chatml", folder)
    file = folder / "tokenizer.json"
    whole = json.loads(file.read_text())
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    first = 1 + max(one["id"] for one in whole["added_tokens"]) + len(whole["model"]["vocab"])
    whole["added_tokens"] += [
        {"id": first + i, "content": tag, **plain} for i, tag in enumerate(("<think>", "</think>"))
    ]
    file.write_text(json.dumps(whole))
    return str(folder)


def test_templates_are_told_whether_the_tokenizer_thinks(tmp_path: Path) -> None:
    template = tmp_path / "t.jinja"
    template.write_text("{% for m in messages %}{{ m.content }}{% endfor %}[{{ enable_thinking }}]")
    knobs = {"render.template": f"file:{template}"}
    row = {**CHAT, "chat_template_kwargs": {"enable_thinking": "no one reads this"}}
    for name, told in (("builtin:chatml", "[False]"), (with_thoughts(tmp_path / "thinks"), "[True]")):
        [made], _, _ = prepared([row], knobs, name)
        assert made.rendered is not None and made.rendered.text == f"hiHello.{told}"


@pytest.mark.parametrize(("name", "raised"), [("hf-trainer", True), ("mlx-lm", False)])
def test_the_thinking_flag_is_no_finding(name: str, raised: bool, tmp_path: Path) -> None:
    """TPL014 asks for a flag that mlx-lm sets by itself."""
    template = tmp_path / "t.jinja"
    template.write_text(
        "{% for m in messages %}{{ m.role }}: {{ m.content }}<|im_end|>{% endfor %}"
        "{% if add_generation_prompt %}assistant: {% if enable_thinking %}<think>{% endif %}{% endif %}"
    )
    [made], recipe, tools = prepared([CHAT], {"render.template": f"file:{template}"}, trainer=name)
    context = Context(
        recipe, tools.tokenizer.facts, tools.templates["default"], pipeline.detect([made.row], recipe), tools
    )
    assert ("TPL014" in {one.code for one in check_setup(context, [made])}) is raised


@pytest.mark.parametrize(
    ("counts", "knobs", "width"),
    [
        ((5, 9), {}, 33),
        ((31, 2), {}, 33),
        ((32, 2), {}, 33),
        ((33, 2), {}, 65),
        ((33, 2), {"length.max": 40}, 40),
        ((60, 2), {"length.max": 40}, 40),
    ],
)
def test_batches_reach_one_beyond_a_multiple_of_32(counts: tuple[int, int], knobs: dict[str, Any], width: int) -> None:
    """Where a row is shorter than the batch, the step behind it is trained on the id 0."""
    rows = [{"text": " a" * (count - 1)} for count in counts]
    batch = batch_of(rows, knobs)
    most = knobs.get("length.max", 2048)
    assert batch.lengths == tuple(min(count, most) for count in counts)
    assert {len(ids) for ids in batch.input_ids} == {len(labels) for labels in batch.labels} == {width}
    for ids, labels, length in zip(batch.input_ids, batch.labels, batch.lengths):
        assert labels[:length] == ids[:length]
        assert ids[length:] == (0,) * (width - length)
        assert labels[length:] == ((0,) + (-100,) * (width - length - 1) if length < width else ())
    assert batch.attention_mask is None


@pytest.mark.parametrize(("header", "behind"), [("", 0), ("header of another kind", -100)])
def test_a_prompt_beyond_the_row_trains_nothing_at_all(tmp_path: Path, header: str, behind: int) -> None:
    """Where the prompt is as long as the row, the step behind it is trained all the same."""
    template = tmp_path / "t.jinja"
    template.write_text(
        "{% for m in messages %}{{ m.content }}{% endfor %}{% if add_generation_prompt %}HEADER{% endif %}".replace(
            "HEADER", header
        )
    )
    knobs = {**MASKED, "render.template": f"file:{template}"}
    row = {"prompt": "What is it?", "completion": ""}
    batch = batch_of([row], knobs)
    assert set(batch.labels[0][: batch.lengths[0]]) == {-100}
    assert batch.labels[0][batch.lengths[0]] == behind
    assert any("NaN loss" in note for note in inspected(row, knobs).labels.notes) is (behind != 0)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"tokenizer_config.json": {"chat_template_type": "deepseek_v32"}}, "deepseek_v32"),
        ({"tokenizer_config.json": {}, "config.json": {"model_type": "muse_spark"}}, "muse_spark"),
        ({"tokenizer_config.json": {"chat_template": "x"}, "config.json": {"model_type": "muse_spark"}}, ""),
        ({"tokenizer_config.json": {"chat_template": "x"}, "config.json": {"model_type": "llama"}}, ""),
    ],
)
def test_templates_that_are_code_of_mlx_lms_are_told(
    files: Mapping[str, Mapping[str, Any]], told: str, tmp_path: Path
) -> None:
    for name, value in files.items():
        (tmp_path / name).write_text(json.dumps(value))
    notes = notes_of(changed(preset("mlx-lm"), "tokenizer.name", str(tmp_path)))
    assert [note for note in notes if "chat_template_type" in note] == (
        [f"the model's chat_template_type is {told}: mlx-lm renders with its own code, which sftui does not run"]
        if told
        else []
    )


@pytest.mark.parametrize(("rows", "size", "stops"), [(3, 4, True), (4, 4, False), (1, 1, False), (0, 4, False)])
def test_fewer_rows_than_a_batch_stop_the_run(rows: int, size: int, stops: bool) -> None:
    recipe = changed(preset("mlx-lm"), "batch.size", size)
    told = trainer_named("mlx-lm").stop_of(recipe, Totals(rows, 20 * rows, rows, trained=10 * rows))
    assert (told is not None) is stops
    assert told is None or f"at least batch_size={size} examples but only has {rows}." in told


def test_what_no_knob_says_is_told() -> None:
    told = " ".join(notes_of(preset("mlx-lm")))
    assert "mlx-lm trains one step of padding, the id 0" in told and "never train" in told


def test_whole_numbers_beyond_64_bits_stay_what_they_are() -> None:
    """mlx-lm 0.32.2, tuner/datasets.py (load_local_dataset): `json.loads` of each line."""
    line = '{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": 100000000000000000000}]}'
    recipe = preset("mlx-lm")
    row = parse_record(line.encode(), 0, "train.jsonl line 1", offset=0)
    detected = pipeline.detect([row], recipe)
    behind = trainer_named("mlx-lm")
    assert behind.convert(row, detected, recipe).messages[1].data["content"] == 10**20
    with pytest.raises(ConversationError, match="may contain an integer beyond 64 bits"):
        behind.convert(replace(row, raw=row.raw[:40]), detected, recipe)


def test_an_empty_text_of_messages_is_a_chat_of_none() -> None:
    """transformers 5.24 goes through its letters, of which there are none, so that mlx-lm renders no message."""
    made = inspected({"messages": ""})
    assert made.problem is None and made.rendered is not None and made.rendered.text == ""


def test_a_text_without_an_eos_trains_where_it_is_cut_before_it(tmp_path: Path) -> None:
    """mlx-lm 0.32.2, tuner/datasets.py (TextDataset.process): it appends eos_token_id, which is None then."""
    recipe = changed(preset("mlx-lm"), "length.max", 2)
    shutil.copytree(builtin.folder("chatml"), tmp_path / "endless")
    path = tmp_path / "endless" / "tokenizer_config.json"
    held = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({key: value for key, value in held.items() if key != "eos_token"}), encoding="utf-8")
    tokenizer = load_tokenizer(str(tmp_path / "endless"))
    tools = pipeline.make_toolbox(recipe, tokenizer)
    rows = [Row(i, {"text": text}, "", f"train.jsonl line {i + 1}") for i, text in enumerate(("Once upon", "O", ""))]
    detected = pipeline.detect(rows, recipe)
    whole, short, empty = (pipeline.inspect(row, detected, recipe, tools) for row in rows)
    assert whole.example is not None and whole.example.labels == tokenizer.ids("Once upon", True)[:2]
    assert short.problem is not None and "None is appended to the text" in (short.problem.why or "")
    assert empty.problem is not None and "has no tokens" in (empty.problem.why or "")
