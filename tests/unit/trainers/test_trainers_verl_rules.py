"""verl rule by rule, on bundled tokenizers; what its own code gives is in the goldens."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from sftui import pipeline
from sftui.model import Inspection, Part, Reason, Row
from sftui.recipe import Recipe, changed
from sftui.runs import as_runs
from sftui.sources import SourceSpec, open_source
from sftui.tokens import load_tokenizer
from sftui.tokens.shortcuts.beginnings import joints
from sftui.tokens.shortcuts.bulk import Bulk
from sftui.trainers import Toolbox, preset, trainer_named
from sftui.trainers.base import Totals
from sftui.trainers.own_config import notes_of
from sftui.trainers.verl.alone import MessagePieces

USER = {"role": "user", "content": "hi"}
SAID = {"role": "assistant", "content": "Hello."}
CHAT = {"messages": [USER, SAID]}
IGNORE = {"own.ignore_input_ids_mismatch": True}
SYSTEM = (
    "{% if messages[0].role != 'system' %}<|im_start|>system\nBe good.<|im_end|>\n{% endif %}{% for m in messages %}"
    "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LAST = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if loop.last and messages | length > 1 %}<think></think>"
    "{% endif %}{{ m.content }}<|im_end|>\n{% endfor %}"
)
STRICT = (
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}[{{ m.role }}]{{ m.content }}{% endfor %}"
)
ASKS = (
    "{% if messages | selectattr('role', 'equalto', 'user') | list | length == 0 %}{{ raise_exception('no user') }}"
    "{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{{ m.content if m.content is string else m.content[0].text }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
THINKS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ enable_thinking }} {{ m.content }}<|im_end|>\n{% endfor %}"
)


def prepared(
    rows: Sequence[Mapping[str, Any]],
    knobs: Mapping[str, Any] | None = None,
    template: str | None = None,
    name: str = "builtin:chatml",
    where: str = "rows.jsonl line",
) -> tuple[list[Inspection], Recipe, Toolbox]:
    recipe = preset("verl")
    if template is not None:
        recipe = changed(changed(recipe, "render.template", "verl/custom"), "own.custom_chat_template", template)
    for path, value in (knobs or {}).items():
        recipe = changed(recipe, path, value)
    made = [Row(i, row, json.dumps(row), f"{where} {i + 1}") for i, row in enumerate(rows)]
    detected = pipeline.detect(made, recipe)
    tools = pipeline.make_toolbox(recipe, load_tokenizer(name))
    found = [pipeline.inspect(row, detected, recipe, tools) for row in made]
    bulk = [*pipeline.inspect_all(made, detected, recipe, tools, Bulk())]
    assert [one.example for one in found] == [one.example for one in bulk]
    return found, recipe, tools


def inspected(
    row: Mapping[str, Any], knobs: Mapping[str, Any] | None = None, template: str | None = None
) -> Inspection:
    return prepared([row], knobs, template)[0][0]


def learnt(made: Inspection) -> str:
    """The text that is trained."""
    assert made.problem is None and made.example is not None, made.problem
    tokenizer = load_tokenizer("builtin:chatml")
    return b"".join(tokenizer.surface(token) for token in made.example.labels if token != -100).decode()


def of(*messages: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"messages": list(messages), **more}


@pytest.mark.parametrize(
    ("row", "template", "trained"),
    [
        (CHAT, None, "Hello.<|im_end|>\n"),
        (of(USER, SAID, USER, SAID), None, "Hello.<|im_end|>\nHello.<|im_end|>\n"),
        (of(USER, {"role": "Assistant", "content": "x"}), None, ""),
        (of(USER), None, ""),
        (CHAT, SYSTEM, "Hello.<|im_end|>\n"),
        (of({"role": "system", "content": "s"}, USER, SAID), SYSTEM, "Hello.<|im_end|>\n"),
        (of(SAID), SYSTEM, "Be good.<|im_end|>\n<|im_start|>assistant\nHello.<|im_end|>\n"),
        (CHAT, ASKS, "Hello.<|im_end|>\n"),
    ],
)
def test_what_is_trained(row: Mapping[str, Any], template: str | None, trained: str) -> None:
    assert learnt(inspected(row, template=template)) == trained


@pytest.mark.parametrize(
    ("rows", "knobs", "template", "why"),
    [
        ([CHAT], {}, LAST, "first in messages[1] (`assistant`)"),
        ([CHAT], {"length.max": 5}, None, "sequence_length=16 is larger than self.max_length=5"),
        ([of()], {}, None, "torch.cat(): expected a non-empty list of Tensors"),
        ([of(USER, SAID, tools=None), of(USER, SAID, tools=[])], {}, None, "'NAType' object is not iterable"),
        ([of(USER, SAID, tools="[]")], {}, None, "Tools should either be a JSON schema"),
        ([of(USER, SAID, enable_thinking=None)], {}, None, "boolean value of NA is ambiguous"),
        ([of(USER, SAID, images=["a"])], {}, None, "processor is needed to process image and video"),
        ([{"messages": "[]"}], {}, None, "string indices must be integers"),
        ([{"messages": ["a"]}], {}, None, "`datasets` stores them as JSON text"),
        ([{"messages": [{"role": "user"}]}], {}, None, "KeyError: 'content'"),
        ([{"messages": [{"content": "x"}]}], {}, None, "KeyError: 'role'"),
        ([CHAT], {}, STRICT, "cannot render two user messages in a row"),
        ([CHAT], {"mask.rule": "all"}, None, "verl has no mask.rule `all`"),
        ([CHAT], {"length.over": "cut_left"}, None, "verl has no length.over `cut_left`"),
        ([{"prompt": "a"}], {}, None, "KeyError: 'messages'"),
        ([of({"role": "user", "content": 1}, SAID), CHAT], {}, None, "gives each column of a JSON file one type"),
    ],
)
def test_what_stops_it(rows: Any, knobs: Mapping[str, Any], template: str | None, why: str) -> None:
    [made, *_] = prepared(rows, knobs, template)[0]
    assert made.problem is not None and why in made.problem.sentence(), made.problem


def test_a_mismatch_may_be_ignored_and_is_told() -> None:
    made = inspected(CHAT, IGNORE, LAST)
    assert learnt(made) == "<|im_start|>assistant\nHello.<|im_end|>\n"  # the template has no generation prompt
    assert any("different ids from the whole row, first in messages[1]" in note for note in made.notes)


def test_the_whole_is_encoded_only_where_it_may_be_other() -> None:
    for template, known in ((None, True), (LAST, False), (ASKS, True)):
        made = inspected(CHAT, IGNORE, template)
        assert isinstance(made.rendered, MessagePieces)
        assert (made.rendered.whole is None) is known, template


@pytest.mark.parametrize("name", ["builtin:chatml", "builtin:llama3", "builtin:gemma"])
def test_a_text_is_cut_at_its_joints_without_a_change(name: str) -> None:
    tokenizer = load_tokenizer(name)
    found = joints(tokenizer)
    assert found
    for joint in sorted(found)[:20]:
        for before, after in (
            ("a b", " c"),
            ("  ", "x  "),
            ("\n", ""),
            (joint, joint),
            ("\u56db", "\u0301"),
            ("<", ">"),
        ):
            whole = tokenizer.ids(before + joint + after)
            assert whole == tokenizer.ids(before) + tokenizer.ids(joint + after), (joint, before, after)


@pytest.mark.parametrize(
    ("knobs", "row", "written"),
    [
        ({}, CHAT, "True"),
        ({"own.enable_thinking_default": False}, CHAT, "False"),
        ({"own.enable_thinking_default": None}, CHAT, ""),
        ({"render.kwargs": {"enable_thinking": False}}, CHAT, "True"),
        ({"own.enable_thinking_default": None, "render.kwargs": {"enable_thinking": False}}, CHAT, "False"),
        ({}, of(USER, SAID, enable_thinking=False), "False"),
        ({}, of(USER, SAID, enable_thinking="no"), "True"),
        ({"own.enable_thinking_key": "other"}, of(USER, SAID, enable_thinking=False), "True"),
    ],
)
def test_what_templates_get_as_enable_thinking(knobs: Mapping[str, Any], row: Mapping[str, Any], written: str) -> None:
    made = inspected(row, {**knobs, **IGNORE}, THINKS)
    assert made.rendered is not None and f"user\n{written} hi" in made.rendered.text


def test_messages_keep_the_keys_of_all_in_a_json_file() -> None:
    rows = [of({**USER, "name": "me"}, SAID), CHAT]
    template = "{% for m in messages %}<|im_start|>{{ m.name is defined }}|{{ m.content }}{% endfor %}"
    for where, known in (("rows.jsonl line", ["True", "True"]), ("rows.parquet row", ["True", "False"])):
        made = prepared(rows, IGNORE, template, where=where)[0][0]
        assert made.rendered is not None
        assert [word.partition("|")[0] for word in made.rendered.text.split("<|im_start|>")[1:]] == known


def test_parts_and_reasons_are_those_of_each_message() -> None:
    made = inspected(CHAT, template=SYSTEM)
    assert made.tokens is not None and made.labels is not None
    parts = [part for _, _, part in as_runs(made.tokens.parts).runs()]
    assert parts == [
        *(Part.INJECTED, Part.HEADER, Part.CONTENT, Part.TERMINATOR, Part.SEPARATOR),
        *(Part.HEADER, Part.CONTENT, Part.TERMINATOR, Part.SEPARATOR),
    ]
    reasons = [reason for _, _, reason in as_runs(made.labels.reasons).runs()]
    assert reasons == [Reason.ROLE, Reason.HEADER, Reason.ASSISTANT, Reason.TERMINATOR, Reason.ASSISTANT]


@pytest.mark.parametrize(
    ("knobs", "kept"),
    [
        ({"length.max": 9, "length.over": "cut_right"}, slice(None, 9)),
        ({"length.max": 9, "length.over": "cut_left", "batch.flatten": False}, slice(-9, None)),
    ],
)
def test_cuts(knobs: Mapping[str, Any], kept: slice) -> None:
    whole, made = inspected(CHAT), inspected(CHAT, knobs)
    assert whole.example is not None and made.example is not None
    assert tuple(made.example.input_ids) == whole.example.input_ids[kept]


def test_batches_are_end_to_end_or_padded() -> None:
    trainer = trainer_named("verl")
    for knobs in ({}, {"batch.flatten": False, "batch.pad_to": "max", "length.max": 20}):
        made, recipe, tools = prepared([CHAT, of(USER, SAID, USER, SAID)] if not knobs else [CHAT, CHAT], knobs)
        examples = [one.example for one in made if one.example is not None]
        batch = trainer.collate(examples, [0, 1], recipe, tools)
        sizes = [len(one.input_ids) for one in examples]
        assert batch.position_ids is not None
        if knobs:
            assert [len(row) for row in batch.input_ids] == [20, 20] and batch.attention_mask is not None
            assert batch.position_ids[0] == (*range(sizes[0]), *(0,) * (20 - sizes[0]))
        else:
            assert batch.attention_mask is None and len(batch.input_ids[0]) == sum(sizes)
            assert batch.position_ids[0] == (*range(sizes[0]), *range(sizes[1]))


def test_rows_beyond_train_max_samples_are_not_read() -> None:
    made = prepared([CHAT, CHAT, of()], {"own.train_max_samples": 1})[0]
    assert [one.dropped is not None for one in made] == [False, True, True]
    assert all(one.problem is None for one in made)


@pytest.mark.parametrize(("kept", "size", "stops"), [(3, 4, True), (4, 4, False), (1, 1, False), (0, 4, True)])
def test_fewer_rows_than_a_batch_stop_the_run(kept: int, size: int, stops: bool) -> None:
    recipe = changed(preset("verl"), "batch.size", size)
    told = trainer_named("verl").stop_of(recipe, Totals(max(kept, 1), 20 * kept, kept, trained=10 * kept))
    assert (told is not None) is stops and (told is None or "ZeroDivisionError" in told)


def test_no_row_at_all_is_no_batch_that_is_not_full() -> None:
    told = trainer_named("verl").stop_of(preset("verl"), Totals(3))
    assert told is not None and "do not fill a batch" not in told


PARTS = of({**USER, "content": [{"type": "text", "text": "hi"}]}, {**SAID, "content": [{"type": "text", "text": "x"}]})


@pytest.mark.parametrize(
    ("images", "why"),
    [
        (None, "`images` is null"),
        (5, "it has no len()"),
        (["a"], "AssertionError: 0 != 1"),
        ([], ""),
    ],
)
def test_a_column_of_images_is_counted(images: Any, why: str) -> None:
    made = inspected({**PARTS, "images": images}, template=ASKS)
    assert why in made.problem.sentence() if made.problem is not None else not why


def test_the_whole_is_compared_without_what_the_tokenizer_puts_around() -> None:
    """multiturn_sft_dataset.py: messages and the whole are rendered to ids alike, without special tokens."""
    made = prepared([CHAT], template=LAST.replace("> 1", "> 5"), name="builtin:llama3")[0][0]
    assert isinstance(made.rendered, MessagePieces) and made.rendered.whole is not None
    assert made.problem is None


def test_what_no_knob_says_is_told() -> None:
    def told(**knobs: Any) -> str:
        recipe = preset("verl")
        for path, value in knobs.items():
            recipe = changed(recipe, path.replace("__", "."), value)
        return " ".join(notes_of(recipe))

    assert "the text `none`" in told() and "drops the remaining rows" in told()
    assert "overrides enable_thinking in" in told(render__kwargs={"enable_thinking": False})
    assert "AssertionError" in told(batch__flatten=False, batch__pad_to="max")


def test_gemma_2_ends_with_another_token_by_its_name() -> None:
    recipe = changed(preset("verl"), "tokenizer.name", "google/gemma-2-2b-it")
    made = trainer_named("verl").tokenizer_of(load_tokenizer("builtin:gemma"), recipe)
    assert made.facts.eos_token == "<end_of_turn>"


def test_what_datasets_stores_as_json_text_stops_it(tmp_path: Path) -> None:
    """As Dataset.to_parquet of datasets 5.2 writes messages whose keys differ."""
    import pyarrow
    import pyarrow.parquet

    features = {"messages": {"feature": {"_type": "Json"}, "_type": "List"}}
    texts = [[json.dumps(USER), json.dumps({**SAID, "name": "x"})]]
    stored = pyarrow.array(texts, pyarrow.list_(pyarrow.string())).cast(pyarrow.list_(pyarrow.json_()))
    table = pyarrow.table({"messages": stored}).replace_schema_metadata(
        {"huggingface": json.dumps({"info": {"features": features}})}
    )
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet")
    source = open_source(SourceSpec((str(tmp_path / "rows.parquet"),)))
    [row] = list(source.rows())
    source.close()
    assert row.data is not None and row.data["messages"][0] == USER and row.json_text == ("messages",)
    detected = pipeline.detect([row], preset("verl"))
    made = pipeline.inspect_early(row, detected, preset("verl"))
    assert made.problem is not None and "`messages` is stored as JSON text" in made.problem.what


@pytest.mark.parametrize("name", ["preprocessor_config.json", "processor_config.json"])
def test_a_processor_beside_the_tokenizer_is_told(name: str, tmp_path: Path) -> None:
    recipe = changed(preset("verl"), "tokenizer.name", str(tmp_path))
    assert not any("processor" in one for one in trainer_named("verl").remarks(recipe))
    (tmp_path / name).write_text("{}")
    assert any("processor" in one for one in trainer_named("verl").remarks(recipe))


@pytest.mark.parametrize(
    ("kwargs", "said"),
    (
        ({"add_generation_prompt": False}, "verl stops: render.kwargs contains `add_generation_prompt`"),
        ({"tools": []}, "verl stops: render.kwargs contains `tools`"),
        ({"tokenizer": "x"}, "verl stops: render.kwargs contains `tokenizer`"),
        ({"continue_final_message": True}, "sftui does not model `continue_final_message` in render.kwargs"),
        ({"padding": False, "documents": [], "mine": 1}, None),
    ),
)
def test_kwargs_that_are_arguments_stop_it(kwargs: Mapping[str, Any], said: str | None) -> None:
    """verl 0.9.1, utils/tokenizer/chat_template.py: it gives apply_chat_template those itself."""
    problem = prepared([CHAT], {"render.kwargs": kwargs})[0][0].problem
    assert (problem.what if problem is not None else None) == said
