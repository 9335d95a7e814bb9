"""Unsloth's tricky rules: where a span ends, what the first row decides, what it refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sftui import pipeline
from sftui.model import Inspection, Reason, Row
from sftui.recipe import changed
from sftui.templates import compile_template, rendering_of
from sftui.tokens import LoadedTokenizer, load_tokenizer
from sftui.tokens.shortcuts.bulk import Bulk
from sftui.trainers import preset
from sftui.trainers.unsloth import UnslothOptions, formats
from sftui.trainers.unsloth.markers import Marker, Markers, find_marker, hidden_places, resolve, spans_of
from sftui.trainers.unsloth.trainer import MarkerSurvey

TEXT = {"own.text_from": "messages"}
ASK, ANSWER, EOS, BOS = (1, 2), (1, 3), 8, 9
TURNS = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi."}]


def markers(*, eager: bool = True, opener: tuple[int, ...] = (1,), **more: Any) -> Markers:
    return Markers("ask", "answer", Marker(ASK), Marker(ANSWER), opener, BOS, EOS, eager=eager, **more)


@pytest.mark.parametrize(
    ("ids", "eager", "plain"),
    [
        ([1, 2, 5, 1, 3, 6, 8, 7], ((5, 7),), ((5, 8),)),  # EOS ends a span, what follows is not trained
        ([1, 3, 6, 1, 4, 7, 1, 2, 5], ((2, 3),), ((2, 6),)),  # a tool's turn after an answer
        ([1, 3, 6, 1, 3, 7, 8], ((2, 3), (5, 7)), ((2, 7),)),  # two answers in a row
        ([1, 3, 6, 9, 5], ((2, 3),), ((2, 5),)),  # BOS of the next sample
        ([1, 3], (), ()),  # cut right behind the marker
        ([1, 3, 6], ((2, 3),), ((2, 3),)),
        ([1, 3, 1, 2, 5], ((2, 2),), ((2, 2),)),  # an empty answer
    ],
)
def test_where_a_span_ends(ids: list[int], eager: tuple[Any, ...], plain: tuple[Any, ...]) -> None:
    assert spans_of(ids, markers()) == eager
    assert spans_of(ids, markers(eager=False)) == plain


@given(st.lists(st.sampled_from([1, 2, 3, 4, 5, EOS, BOS]), max_size=40), st.booleans(), st.booleans())
@settings(max_examples=300, deadline=None)
def test_spans_stand_behind_a_response_marker_in_order(ids: list[int], eager: bool, opened: bool) -> None:
    spans = spans_of(ids, markers(eager=eager, opener=(1,) if opened else ()))
    last = 0
    for start, end in spans:
        assert last <= start <= end <= len(ids)
        assert tuple(ids[start - 2 : start]) == ANSWER
        last = end
        if eager:
            assert BOS not in ids[start:end] and EOS not in ids[start : end - 1]


def test_hidden_tokens_are_found_everywhere() -> None:
    assert hidden_places([1, 5, 6, 5, 5, 6], markers(hidden=((5, 6), (1,)))) == {0, 1, 2, 4, 5}


def inspected(
    rows: list[dict[str, Any]], version: str = "2026.10", tokenizer: str = "builtin:chatml", **knobs: Any
) -> list[Inspection]:
    recipe = preset(f"unsloth@{version}")
    for path, value in knobs.items():
        recipe = changed(recipe, path.replace("__", "."), value)
    source = [Row(i, row, "", f"row {i}") for i, row in enumerate(rows)]
    detected = pipeline.detect(source, recipe)
    assert detected.refused is None, detected.refused
    tools = pipeline.survey(
        source[0], detected, recipe, pipeline.make_toolbox(recipe, load_tokenizer(tokenizer, mode="provisional"))
    )
    return [pipeline.inspect(row, detected, recipe, tools, text=True) for row in source]


def test_a_row_without_a_response_is_removed_and_says_so() -> None:
    kept, gone = inspected([{"messages": TURNS}, {"messages": TURNS[:1]}], mask__rule="markers")
    assert kept.dropped is None and gone.dropped is not None and "removes the row" in gone.dropped


def test_only_the_last_answer_and_the_reason_of_the_others() -> None:
    one = inspected([{"messages": TURNS * 2}], mask__rule="markers", mask__turns="last")[0]
    assert one.labels is not None and Reason.EARLIER in one.labels.reasons
    assert 0 < one.trained < inspected([{"messages": TURNS * 2}], mask__rule="markers")[0].trained


def test_the_first_row_decides_on_the_bos_of_all() -> None:
    plain, marked = {"text": "Hello there"}, {"text": "<|begin_of_text|>Hello there"}
    bos = "<|begin_of_text|>"

    def begins(rows: list[dict[str, Any]]) -> list[int]:
        found = inspected(rows, tokenizer="builtin:llama3")
        return [one.token_text.pieces[:2].count(bos) for one in found if one.tokens is not None]

    assert begins([marked, plain]) == [1, 0]  # none is added to any row
    assert begins([plain, marked]) == [1, 2]  # one is added to every row


@pytest.mark.parametrize(
    ("rows", "options", "words"),
    [
        ([{"messages": TURNS}], {"formatting_func": True}, "formatting_func"),
        ([{"body": "a"}], {}, "formatting_func"),
        ([{"text": "a"}], {"text_from": "text"}, "does not contain a list of messages"),
        ([{"image": "x", "text": "a"}], {}, "images"),
    ],
)
def test_what_cannot_be_known_is_refused(rows: list[dict[str, Any]], options: dict[str, Any], words: str) -> None:
    recipe = replace(preset("unsloth@2026.10"), own=UnslothOptions(**options))
    refused = pipeline.detect([Row(0, rows[0], "", "row 0")], recipe).refused
    assert refused is not None and words in refused.sentence()


def test_one_marker_alone_is_refused() -> None:
    one = inspected([{"messages": TURNS}], mask__rule="markers", mask__response_marker="A:")[0]
    assert one.problem is not None and "both markers" in one.problem.what


def test_assistant_only_needs_what_unsloth_renders() -> None:
    old = inspected([{"messages": TURNS}], "2026.8", mask__rule="generation_tag", own__text_from="messages")[0]
    assert old.problem is not None and "does not build an assistant mask" in old.problem.what
    new = inspected([{"messages": TURNS}], mask__rule="generation_tag")[0]
    assert new.problem is None and new.trained


@pytest.mark.parametrize(
    ("version", "trl", "rule", "masked"),
    [
        ("2026.10", None, "auto", True),
        ("2026.10", "0.24", "auto", True),
        ("2026.10", "0.24", "markers", False),
        ("2026.10", None, "markers", True),
        ("2026.8", None, "auto", True),
        ("2026.8", "1.15", "auto", False),
        ("2026.8", None, "markers", False),
        ("2026.8", "1.7.0", "auto", False),
        ("2026.8", "1.6rc1", "auto", True),
    ],
)
def test_the_completion_mask_depends_on_trl(version: str, trl: str | None, rule: str, masked: bool) -> None:
    # The prompt holds an answer of its own, which only the completion mask takes out.
    row = {"prompt": [*TURNS, TURNS[0]], "completion": TURNS[1:]}
    one = inspected([row], version, mask__rule=rule, own__trl_version=trl)[0]
    assert one.problem is None and one.labels is not None and one.tokens is not None
    first = next(
        i for i, owner in enumerate(one.tokens.messages) if owner == 1 and one.tokens.parts[i].value == "content"
    )
    assert (one.labels.labels[first] == -100) is masked


def test_the_prompts_own_eos_is_not_the_completions() -> None:
    one = inspected([{"prompt": "a<|im_end|>", "completion": ""}])[0]
    assert one.tokens is not None and one.token_text.pieces[-2:] == ("<|im_end|>",) * 2


def test_responses_only_replaces_the_collator_and_its_multiple() -> None:
    recipe = changed(preset("unsloth@2026.10"), "batch.multiple", 64)
    tools = pipeline.make_toolbox(recipe, load_tokenizer("builtin:chatml", mode="provisional"))
    for rule, width in (("auto", 64), ("markers", None)):
        found = inspected([{"messages": TURNS}], mask__rule=rule)
        batch = pipeline.make_batch(found, changed(recipe, "mask.rule", rule), tools)
        assert len(batch.input_ids[0]) == (width or batch.lengths[0])


def test_a_row_without_an_answer_is_removed_before_packing() -> None:
    kept, gone = inspected(
        [{"messages": TURNS}, {"messages": TURNS[:1]}], mask__rule="generation_tag", pack__strategy="bfd"
    )
    assert kept.dropped is None and gone.dropped is not None


def test_assistant_only_goes_for_the_messages_beside_their_text() -> None:
    one = inspected([{"messages": TURNS}], mask__rule="generation_tag", own__text_from="messages")[0]
    assert one.problem is None and one.trained


def test_ready_ids_train_the_pad_token_too() -> None:
    tokenizer = load_tokenizer("builtin:chatml", mode="provisional")
    pad = tokenizer.facts.pad_id
    one = inspected([{"input_ids": [5, pad, 6]}])[0]
    assert pad is not None and one.labels is not None and one.labels.labels == (5, pad, 6)


def test_templates_see_null_as_the_pinned_transformers_hands_it_over() -> None:
    turn = {"role": "assistant", "content": None, "reasoning_content": "r"}
    template = "{% for m in messages %}{{ m.content }}/{{ m.thinking }};{% endfor %}"
    recipe = preset("unsloth@2026.10")
    tools = pipeline.make_toolbox(recipe, load_tokenizer("builtin:chatml", mode="provisional"))
    tools = replace(tools, templates={"default": compile_template(template, "nulls", rendering=rendering_of("5.17.0"))})
    for row, wanted in (
        ({"messages": [TURNS[0], turn]}, "Hello/;/;"),
        ({"prompt": TURNS[:1], "completion": [turn]}, "Hello/;None/;"),
    ):
        source = Row(0, row, "", "row 0")
        one = pipeline.inspect(source, pipeline.detect([source], recipe), recipe, tools)
        assert one.rendered is not None and one.rendered.text == wanted


def test_a_completion_without_a_length_stops_unsloth() -> None:
    one = inspected([{"prompt": "a", "completion": "b"}], length__max=None)[0]
    assert one.problem is not None and "max_length" in one.problem.what


@pytest.mark.parametrize(
    ("row", "options", "format_"),
    [
        (
            {"messages": TURNS, "input_ids": [1]},
            {"text_from": "messages"},
            "tokenized",
        ),  # what stays beside the new text goes before it
        (
            {"messages": TURNS, "prompt": TURNS[:1], "completion": TURNS[1:]},
            {"text_from": "messages"},
            "prompt_completion",
        ),
        ({"messages": TURNS}, {"text_from": "messages"}, "messages"),
        ({"messages": TURNS, "prompt": "a", "completion": "b"}, {}, None),  # asked by chance, as in TRL
        ({"messages": TURNS}, {"text_from": "messages", "formatting_func": True, "completion_only_loss": True}, None),
    ],
)
def test_which_columns_go_first(row: dict[str, Any], options: dict[str, Any], format_: str | None) -> None:
    found = pipeline.detect(
        [Row(0, row, "", "row 0")], replace(preset("unsloth@2026.10"), own=UnslothOptions(**options))
    )
    assert (found.refused is not None) if format_ is None else (found.refused is None and found.format == format_)


@pytest.mark.parametrize(
    ("columns", "tools", "words"),
    [
        ({"messages": TURNS}, "[]", None),
        ({"messages": TURNS}, "", "empty string"),
        ({"prompt": TURNS[:1], "completion": TURNS[1:]}, "[]", "tools are text"),
        ({"prompt": TURNS[:1], "completion": TURNS[1:]}, [], None),
    ],
)
def test_tools_stored_as_text(columns: dict[str, Any], tools: Any, words: str | None) -> None:
    one = inspected([{**columns, "tools": tools}])[0]
    assert (one.problem is None) if words is None else (one.problem is not None and words in one.problem.what)


def test_a_first_row_that_begins_with_no_message_does_not_refuse_the_column() -> None:
    """The script renders whatever the list holds: a template may print nothing of it (fuzz_rows, seed 54)."""
    rows: list[dict[str, Any]] = [{"messages": [True, *TURNS]}, {"messages": TURNS}]
    odd, right = inspected(rows, own__text_from="messages")
    assert odd.problem is not None and "sftui does not model what a template does with it" in odd.problem.why
    assert right.problem is None
    (alone,) = inspected(rows[:1], own__text_from="messages")
    assert alone.problem is not None and alone.problem.why == odd.problem.why


def test_an_empty_mapping_of_tools_is_no_tools() -> None:
    """transformers goes through it and finds none; of one with keys it stops at the first."""
    given: tuple[Any, ...] = ([], {}, {"a": 1})
    empty, mapping, filled = inspected([{"messages": TURNS, "tools": tools} for tools in given])
    assert empty.example is not None and mapping.example == empty.example
    assert filled.problem is not None and "a mapping, not a list" in filled.problem.what


@pytest.mark.parametrize("messages", ["", "ab", '{"role": "user"}', None, 3])
def test_a_value_that_the_script_gives_to_the_template_as_it_is_is_not_known(messages: Any) -> None:
    """`messages: ""` renders as nothing (fuzz_rows, seed 53): the template goes through the characters of a text."""
    rows = [{"messages": TURNS}, {"messages": messages}]
    one = inspected(rows, own__text_from="messages")[1]
    assert one.problem is not None and "sftui does not model what a template does with it" in one.problem.why


def walked(ids: list[int], how: Markers) -> tuple[tuple[int, int], ...]:
    """The spans as Unsloth's own loop finds them, one position after the other (no optional ids at the edges)."""

    def stands(marker: tuple[int, ...], at: int) -> bool:
        return bool(marker) and tuple(ids[at : at + len(marker)]) == marker

    found, at = [], 0
    while at < len(ids):
        if stands(ANSWER, at):
            start = at = at + len(ANSWER)
            while at < len(ids):
                if how.eager and ids[at] == EOS:
                    found.append((start, at + 1))
                    break
                if how.eager and (ids[at] == BOS or stands(how.opener, at) or stands(ANSWER, at)):
                    found.append((start, at))
                    at -= 1
                    break
                if at == len(ids) - 1 or stands(ASK, at):
                    last = at == len(ids) - 1
                    found.append((start, len(ids) if last else at))
                    at = at if last else at + len(ASK) - (1 if how.eager else 0)
                    break
                at += 1
        at += 1
    return tuple(found)


@given(st.lists(st.sampled_from([1, 1, 2, 3, 3, 4, 5, EOS, BOS]), max_size=60), st.booleans(), st.booleans())
@settings(max_examples=500, deadline=None)
def test_spans_are_those_of_a_walk_over_every_position(ids: list[int], eager: bool, opened: bool) -> None:
    how = markers(eager=eager, opener=(1,) if opened else ())
    assert spans_of(ids, how) == walked(ids, how)


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_cut_text_keeps_its_bos_where_nobody_asks_for_places(side: str) -> None:
    """What the tokenizer put around a text is told by where its tokens stand, which is asked of cut rows alone."""
    loaded = load_tokenizer("builtin:llama3")
    assert len(loaded.facts.front) == 1
    tokenizer = LoadedTokenizer(replace(loaded.facts, truncation_side=side), loaded.engine)
    recipe = changed(changed(preset("unsloth"), "tokenizer.name", "builtin:llama3"), "length.max", 5)
    rows = [Row(n, {"text": f"Number {n} is " + "one of many words " * n}, "", f"row {n}") for n in range(6)]
    detected = pipeline.detect(rows, recipe)
    tools = pipeline.survey(rows[0], detected, recipe, pipeline.make_toolbox(recipe, tokenizer))
    alone = [pipeline.inspect(one, detected, recipe, tools) for one in rows]
    together = list(pipeline.inspect_all(rows, detected, recipe, tools, Bulk()))
    assert not any(one.tokens is not None and one.tokens.placed for one in together)
    assert [one.example for one in together] == [one.example for one in alone]
    assert all(
        one.example is not None and one.example.input_ids[0] == loaded.facts.bos_id and len(one.example.input_ids) == 5
        for one in together
    )


def test_no_document_of_a_pack_trains_its_first_token() -> None:
    """unsloth_zoo 2026.8 trains on from an answer into the next document; TRL's collator masks where that begins."""
    recipe = preset("unsloth@2026.8")
    for path, value in {"mask.rule": "markers", "pack.strategy": "bfd", "length.max": 64, **TEXT}.items():
        recipe = changed(recipe, path, value)
    tools = pipeline.make_toolbox(recipe, load_tokenizer("builtin:chatml", mode="provisional"))
    turns = [{"role": "system", "content": "Be kind."}, *TURNS]
    rows = [Row(i, {"messages": turns}, "", f"row {i}") for i in range(2)]
    detected = pipeline.detect(rows, recipe)
    tools = pipeline.survey(rows[0], detected, recipe, tools)
    (pack,) = pipeline.pack_rows([pipeline.inspect(row, detected, recipe, tools) for row in rows], recipe, tools)
    second = pack.documents[0][2]
    assert pack.labels[second] == -100 != pack.labels[second + 1]


def spoken(one: Inspection) -> str:
    """The text that is trained."""
    tokenizer = load_tokenizer("builtin:chatml")
    assert one.example is not None, one.problem
    return b"".join(tokenizer.surface(token) for token in one.example.labels if token != -100).decode()


def test_mask_out_tokens_are_masked_inside_of_answers() -> None:
    """unsloth_zoo 2026.10.9, dataset_utils.py: beside what last_response_only leaves."""
    knobs: dict[str, Any] = {"own__text_from": "messages", "own__mask_out_tokens": ("Hi",), "mask__rule": "markers"}
    knobs |= {"mask__response_marker": "<|im_start|>assistant\n", "mask__instruction_marker": "<|im_start|>user\n"}
    (both,) = inspected([{"messages": TURNS * 2}], **knobs)
    assert spoken(both) == ".<|im_end|>" * 2
    (last,) = inspected([{"messages": TURNS * 2}], mask__turns="last", **knobs)
    assert spoken(last) == ".<|im_end|>" and last.labels is not None
    assert {Reason.FORCED, Reason.EARLIER} <= {*last.labels.reasons}


@pytest.mark.parametrize(
    ("values", "newest", "keys"),
    [
        ({"from": ["human", "gpt"], "value": ["hi", "x"]}, True, ("from", "value")),
        ({"value": ["hi", "x"], "from": ["human", "gpt"]}, True, ("from", "value")),
        ({"role": ["user"], "content": ["assistant"]}, True, ("role", "content")),  # both are roles: by the name
        ({"content": ["assistant"], "role": ["user"]}, True, ("role", "content")),
        ({"a": ["user", "user"], "b": ["user", "gpt"]}, True, ("a", "b")),  # no name either: that of fewer values
        ({"a": ["user", "gpt"], "b": ["user", "user"]}, True, ("b", "a")),
        ({"a": ["user", "gpt"], "b": ["gpt", "user"]}, True, ("b", "a")),
        ({"a": ["one", "two"], "b": ["three", "three"]}, True, ("b", "a")),
        ({"role": ["user", "gpt"], "content": ["hi", "hi"]}, False, ("content", "role")),
    ],
)
def test_which_key_of_two_is_the_role(values: dict[str, list[str]], newest: bool, keys: tuple[str, str]) -> None:
    """unsloth_zoo 2026.10.9, dataset_utils.py (standardize_data_formats)."""
    assert formats.role_key(values, newest) == keys


SHARED = [{"from": "human", "value": "Hello"}, {"from": "gpt", "value": "Hi."}]


@pytest.mark.parametrize(
    ("row", "options", "found"),
    [
        ({"conversations": SHARED}, {"text_from": "conversations", "standardize": True}, "sharegpt"),
        ({"messages": TURNS}, {"text_from": "messages", "standardize": True}, "only the column `conversations`"),
        (
            {"conversations": [{**SHARED[0], "x": "y"}]},
            {"text_from": "conversations", "standardize": True},
            "expects exactly two",
        ),
        ({"conversations": [{"from": "gpt", "value": 3}]}, {"text_from": "conversations", "standardize": True}, "text"),
        (
            {"conversations": [{"from": "bot", "value": "x"}]},
            {"text_from": "conversations", "standardize": True},
            "'x'",
        ),
        ({"prompt": TURNS[:1], "completion": TURNS[1:]}, {"text_from": "prompt"}, "prompt_completion"),
        ({"prompt": "a", "text": "b"}, {}, "text"),
        ({"completion": "a", "text": "b"}, {}, "text"),
    ],
)
def test_how_rows_are_read(row: dict[str, Any], options: dict[str, Any], found: str) -> None:
    recipe = replace(preset("unsloth@2026.10"), own=UnslothOptions(**options))
    detected = pipeline.detect([Row(0, row, "", "row 0")], recipe)
    assert detected.format == found if detected.refused is None else found in detected.refused.sentence()


def test_a_text_that_is_a_list_is_not_known() -> None:
    one = inspected([{"text": "a"}, {"text": ["a", "b"]}])[1]
    assert one.problem is not None and "`text` is a list" in one.problem.what


@pytest.mark.parametrize(
    ("instruction", "response", "opener"),
    [
        ("<|im_start|>user\n", "<|im_start|>assistant\n", "<|im_start|>"),
        ("<|im_start|>user", "<|im_start|>assistant", "<|im_start|>"),
        ("### Question:\n", "### Answer:\n", ""),
    ],
)
def test_markers_are_told_apart_by_more_than_what_they_share(instruction: str, response: str, opener: str) -> None:
    tokenizer = load_tokenizer("builtin:chatml", mode="provisional")
    found = resolve(instruction, response, tokenizer, force=True, hidden=("Hi", "Hi"), eager=True)
    assert found.opener == tokenizer.ids(opener) and found.hidden == (tokenizer.ids("Hi"), tokenizer.ids(" Hi"))
    texts = [b"".join(map(tokenizer.surface, one.core)).decode() for one in (found.instruction, found.response)]
    assert texts == [instruction, response]


@pytest.mark.parametrize(
    ("text", "core", "left", "right"),
    [
        ("<|im_start|>user\n", "<|im_start|>user", "", "\n"),
        (" ### Answer:\n", "# Answer", " ##", ":\n"),
        ("\n\n### Answer: ", "### Answer", "\n\n", ": "),
        ("\n<|im_end|>\n", "<|im_end|>", "\n", "\n"),
        ("<|im_end|> ", "<|im_end|>", "", " "),
        (" user ", "", "", ""),
        ("Q: ", "", "", ""),
        (">", "", "", ""),
        (" a", "", "", ""),
    ],
)
def test_a_marker_is_what_blanks_around_it_leave(text: str, core: str, left: str, right: str) -> None:
    """What _find_common_token_ids of unsloth_zoo 2026.10.9 and 2026.8.13 gives with this tokenizer."""
    tokenizer = load_tokenizer("builtin:chatml", mode="provisional")
    for edges in (True, False):
        found = find_marker(text, tokenizer, force=False, edges=edges)
        texts = tuple(b"".join(map(tokenizer.surface, ids)).decode() for ids in (found.core, found.left, found.right))
        assert texts == (core, left, right), edges


@pytest.mark.parametrize(
    ("instruction", "response", "asked", "answered"),
    [
        ("<|im_start|>user\n", "<|im_start|>\n", ("<|im_start|>user", "\n"), ("<|im_start|>\n", "")),
        ("<|im_start|>\n", "<|im_start|>user\n", ("<|im_start|>\n", ""), ("<|im_start|>user", "\n")),
    ],
)
def test_a_marker_that_begins_the_other_needs_its_right_edge(
    instruction: str, response: str, asked: tuple[str, str], answered: tuple[str, str]
) -> None:
    """unsloth_zoo 2026.10.9, dataset_utils.py: A_must + A_right where it is how Q_must begins, and the other way."""
    tokenizer = load_tokenizer("builtin:chatml", mode="provisional")
    found = resolve(instruction, response, tokenizer, force=False, hidden=(), eager=True)
    for marker, wanted in ((found.instruction, asked), (found.response, answered)):
        texts = tuple(b"".join(map(tokenizer.surface, ids)).decode() for ids in (marker.core, marker.right))
        assert texts == wanted


@pytest.mark.parametrize("name", ["builtin:chatml", "builtin:llama3", "builtin:gemma"])
def test_a_marker_of_a_token_is_that_token(name: str) -> None:
    tokenizer = load_tokenizer(name, mode="provisional")
    for number, (text, _) in tokenizer.engine.added().items():
        assert find_marker(text, tokenizer, force=False, edges=False).core == (number,), text


@pytest.mark.parametrize(
    ("row", "labelled"),
    [
        ({"text": "a"}, False),
        ({"messages": TURNS}, False),
        ({"prompt": "a", "completion": "b"}, True),
        ({"prompt": TURNS[:1], "completion": TURNS[1:]}, True),
        ({"input_ids": [1], "labels": [1]}, True),
        ({"input_ids": [1]}, False),
    ],
)
def test_rows_with_labels_of_their_own(row: dict[str, Any], labelled: bool) -> None:
    recipe, source = preset("unsloth@2026.10"), Row(0, row, "", "row 0")
    tools = pipeline.make_toolbox(recipe, load_tokenizer("builtin:chatml", mode="provisional"))
    survey = pipeline.survey(source, pipeline.detect([source], recipe), recipe, tools).survey
    assert isinstance(survey, MarkerSurvey) and survey.labelled is labelled


def test_a_script_renders_the_messages_alone(tmp_path: Path) -> None:
    template = tmp_path / "t.jinja"
    template.write_text(
        "{% if tools %}{{ tools }}{% endif %}{{ x }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    )
    row = {"messages": TURNS, "tools": [{"name": "add"}], "chat_template_kwargs": {"x": "y"}}
    for script, begins in (("messages", "<user>"), (None, "[{")):
        (one,) = inspected([row], own__text_from=script, render__template=f"file:{template}")
        assert one.rendered is not None and one.rendered.text.startswith(begins)


@pytest.mark.parametrize(("script", "begins"), [("messages", True), (None, False)])
def test_what_a_script_renders_is_tokenized_as_a_text(script: str | None, begins: bool, tmp_path: Path) -> None:
    template = tmp_path / "t.jinja"
    template.write_text("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}")
    knobs: dict[str, Any] = {"own__text_from": script, "render__template": f"file:{template}"}
    (one,) = inspected([{"messages": TURNS}], tokenizer="builtin:llama3", **knobs)
    assert one.tokens is not None
    assert (one.tokens.input_ids[0] == load_tokenizer("builtin:llama3").facts.bos_id) is begins


@pytest.mark.parametrize(
    ("row", "at_the_end"),
    [({"messages": TURNS}, True), ({"prompt": TURNS[:1], "completion": TURNS[1:]}, False)],
)
def test_only_whole_chats_are_cut_at_the_beginning(row: dict[str, Any], at_the_end: bool) -> None:
    (whole,), (cut,) = inspected([row]), inspected([row], length__max=7, length__over="cut_left")
    assert whole.tokens is not None and cut.example is not None
    ids = whole.tokens.input_ids
    assert cut.example.input_ids == (ids[-7:] if at_the_end else ids[:7])


@pytest.mark.parametrize(
    ("row", "knobs", "goes"),
    [
        ({"messages": TURNS[:1]}, {"mask__rule": "markers"}, True),
        ({"messages": TURNS[:1]}, {"mask__rule": "markers", "pack__strategy": "bfd"}, False),
        ({"input_ids": [5], "labels": [-100]}, {}, False),
    ],
)
def test_a_row_without_labels_goes_where_markers_are_searched(
    row: dict[str, Any], knobs: dict[str, Any], goes: bool
) -> None:
    first = {"messages": TURNS} if "messages" in row else {"input_ids": [5], "labels": [5]}
    assert (inspected([first, row], **knobs)[1].dropped is not None) is goes
