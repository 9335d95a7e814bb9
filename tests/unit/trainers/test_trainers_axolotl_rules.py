"""Axolotl's rules one by one, on small rows of our own and a bundled tokenizer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from golden_records import inspect, with_knobs
from hypothesis import given, settings
from hypothesis import strategies as st

from sftui import pipeline
from sftui.model import Example, Inspection, Part, Reason, Row, Stage
from sftui.recipe import Recipe
from sftui.runs import merged
from sftui.templates import rendering_of
from sftui.tokens import LoadedTokenizer, load_tokenizer
from sftui.trainers import preset, trainer_named
from sftui.trainers.axolotl import mask
from sftui.trainers.axolotl.instruct import instruct_type
from sftui.trainers.axolotl.mask import differing
from sftui.trainers.axolotl.packing import first_fit, next_fit, packs_of
from sftui.trainers.axolotl.parts import chunks, window
from sftui.trainers.axolotl.templates import REGISTRY, message_keys
from sftui.trainers.own_config import notes_of

CHAT = [
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "Hi there."},
    {"role": "user", "content": "Bye"},
    {"role": "assistant", "content": "So long."},
]


@pytest.fixture(scope="module")
def tokenizer() -> LoadedTokenizer:
    return load_tokenizer("builtin:chatml", mode="provisional")


def made(
    tokenizer: LoadedTokenizer,
    rows: Sequence[Mapping[str, Any]],
    knobs: Mapping[str, Any] | None = None,
    version: str = "0.19",
) -> list[Inspection]:
    """Rows under the preset with some knobs set; the tokenizer's own template is ChatML."""
    recipe = with_knobs(preset(f"axolotl@{version}"), {"render.template": "axolotl/chatml", **(knobs or {})})
    return inspect(rows, recipe, pipeline.make_toolbox(recipe, tokenizer))


def shown(tokenizer: LoadedTokenizer, one: Inspection) -> str:
    """The trained text between « and »."""
    assert one.example is not None, one.problem or one.dropped
    out, on = b"", False
    for token, label in zip(one.example.input_ids, one.example.labels):
        if (label != -100) != on:
            out += ("»" if on else "«").encode()
            on = not on
        out += tokenizer.surface(token) or tokenizer.piece(token).encode()
    return (out + ("»".encode() if on else b"")).decode()


def turn(role: str, text: str) -> str:
    return f"<|im_start|>{role}\n{text}<|im_end|>\n"


@pytest.mark.parametrize("version", ["0.18", "0.19"])
def test_a_row_of_too_many_turns_is_shown_as_far_as_it_went(
    tokenizer: LoadedTokenizer, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Axolotl renders the row anew for each turn: work that grows with the square of the turns is counted, and ends
    in the same place on any machine, where a clock ended it before."""
    rows = [{"messages": CHAT}, {"messages": CHAT * 40}, {"messages": CHAT}]
    whole = made(tokenizer, rows, version=version)
    assert all(one.labels is not None for one in whole)
    monkeypatch.setattr(mask, "WORK", mask.WORK // 250)
    short, long, after = made(tokenizer, rows, version=version)
    assert long.stopped_at is Stage.LABELS and long.problem is not None and long.problem.ours
    assert "160 turns" in long.problem.what and long.tokens == whole[1].tokens and long.labels is None
    assert (short.labels, after.labels) == (whole[0].labels, whole[2].labels)


@pytest.mark.parametrize(
    ("options", "first", "last"),
    [
        ({}, "«Hi there.<|im_end|>»", "«So long.<|im_end|>»"),
        ({"train_on_eos": "none"}, "«Hi there.»<|im_end|>", "«So long.»<|im_end|>"),
        ({"train_on_eos": "last"}, "«Hi there.»<|im_end|>", "«So long.<|im_end|>»"),
        ({"eot_tokens": ()}, "«Hi there.<|im_end|>»", "«So long.<|im_end|>»"),
    ],
)
def test_terminators(tokenizer: LoadedTokenizer, options: dict[str, Any], first: str, last: str) -> None:
    text = shown(
        tokenizer, made(tokenizer, [{"messages": CHAT}], {f"own.{name}": value for name, value in options.items()})[0]
    )
    assert f"<|im_start|>assistant\n{first}\n" in text and text.endswith(f"<|im_start|>assistant\n{last}\n")


def test_all_trains_the_terminator_of_every_turn(tokenizer: LoadedTokenizer) -> None:
    text = shown(tokenizer, made(tokenizer, [{"messages": CHAT[:2]}], {"own.train_on_eos": "all"})[0])
    assert text == "<|im_start|>user\nHello«<|im_end|>»\n<|im_start|>assistant\n«Hi there.<|im_end|>»\n"


def test_the_generic_terminator_knob_does_what_train_on_eos_does(tokenizer: LoadedTokenizer) -> None:
    masked = made(tokenizer, [{"messages": CHAT}], {"mask.terminator": "mask"})[0]
    stated = made(tokenizer, [{"messages": CHAT}], {"own.train_on_eos": "none"})[0]
    assert masked.example == stated.example


def test_version_018_loses_brackets_that_begin_like_its_dummy(tokenizer: LoadedTokenizer) -> None:
    row = {"messages": [CHAT[0], {"role": "assistant", "content": "[[1], [2]]"}]}
    new, old = (shown(tokenizer, made(tokenizer, [row], version=version)[0]) for version in ("0.19", "0.18"))
    assert new.endswith("assistant\n«[[1], [2]]<|im_end|>»\n")
    assert old.count("«") >= 1 and "«[[1]" not in old and old != new


def test_empty_content_trains_nothing_not_even_the_terminator(tokenizer: LoadedTokenizer) -> None:
    one = made(tokenizer, [{"messages": [CHAT[0], {"role": "assistant", "content": ""}]}])[0]
    assert one.trained == 0 and any("finds no content" in note for note in one.notes)


def test_a_flag_of_a_message_counts_only_where_its_key_is_named(tokenizer: LoadedTokenizer) -> None:
    row = {"messages": [{**CHAT[0], "t": True}, {**CHAT[1], "t": False}]}
    assert "«Hi there." in shown(tokenizer, made(tokenizer, [row])[0])
    flagged = made(tokenizer, [row], {"data.message_keys": {"train_flag": "t"}})[0]
    assert flagged.conversation is not None and not flagged.conversation.notes
    assert [message.trained for message in flagged.conversation.messages] == [True, False]
    named = shown(tokenizer, flagged)
    assert named == "<|im_start|>user\n«Hello<|im_end|>»\n" + turn("assistant", "Hi there.")


def test_weights_of_parts_are_character_ranges(tokenizer: LoadedTokenizer) -> None:
    parts = [{"type": "text", "text": "Hi", "weight": 0}, {"type": "text", "text": " there.", "weight": 1}]
    row = {"messages": [CHAT[0], {"role": "assistant", "content": parts}]}
    assert "assistant\nHi« there.<|im_end|>»" in shown(tokenizer, made(tokenizer, [row])[0])


def test_a_part_that_is_no_text_stops_axolotl(tokenizer: LoadedTokenizer) -> None:
    rows: list[dict[str, Any]] = [
        {"messages": CHAT},
        {"messages": [CHAT[0], {"role": "assistant", "content": [{"type": "text", "text": 3}]}]},
    ]
    one = made(tokenizer, rows)[1]
    assert one.problem is not None and "not text" in one.problem.what


def test_a_column_system_becomes_a_turn_unless_the_messages_have_one(tokenizer: LoadedTokenizer) -> None:
    rows = [
        {"system": "Be kind.", "messages": CHAT[:2]},
        {"system": "Be kind.", "messages": [{"role": "system", "content": "Mine."}, *CHAT[:2]]},
    ]
    first, second = (shown(tokenizer, one) for one in made(tokenizer, rows))
    assert (
        first.startswith(turn("system", "Be kind."))
        and second.startswith(turn("system", "Mine."))
        and "kind" not in second
    )
    assert shown(tokenizer, made(tokenizer, rows, {"own.drop_system_message": True})[0]).startswith("<|im_start|>user")


@pytest.mark.parametrize(
    ("turn", "read"),
    [
        ({"from": "user", "value": "a"}, "a"),
        ({"from": "user", "value": "a", "role": "user", "content": "b"}, "b"),  # the keys that Axolotl asks for
        ({"role": "user", "content": "b", "value": "a"}, "b"),
    ],
)
def test_from_and_value_are_read_where_there_is_no_role(
    tokenizer: LoadedTokenizer, turn: dict[str, str], read: str
) -> None:
    one = made(tokenizer, [{"messages": [turn]}])[0]
    assert one.conversation is not None and one.conversation.messages[0].data["content"] == read


def test_thinking_is_split_off_where_asked_for(tokenizer: LoadedTokenizer) -> None:
    row = {"messages": [CHAT[0], {"role": "assistant", "content": "<reasoning> hm </reasoning>\n\nYes."}]}
    one = made(tokenizer, [row], {"own.split_thinking": True})[0]
    assert one.conversation is not None and dict(one.conversation.messages[1].data) == {
        "role": "assistant",
        "reasoning_content": "hm",
        "content": "Yes.",
    }


def test_parts_are_never_split(tokenizer: LoadedTokenizer) -> None:
    row = {"messages": [CHAT[0], {"role": "assistant", "content": [{"type": "text", "text": "<think>hm</think>Yes."}]}]}
    text = shown(tokenizer, made(tokenizer, [row], {"own.split_thinking": True})[0])
    assert "«<think>hm</think>Yes.<|im_end|>»" in text


def test_a_null_system_column_is_written_as_its_transformers_writes_none(tokenizer: LoadedTokenizer) -> None:
    source = "{% for message in messages %}{{ message['role'] ~ ': ' ~ message['content'] }}<|im_end|>{% endfor %}"
    knobs = {"render.template": "axolotl/jinja", "own.chat_template_jinja": source}
    rows: list[dict[str, Any]] = [{"system": "Be kind.", "messages": CHAT[:2]}, {"system": None, "messages": CHAT[:2]}]
    assert shown(tokenizer, made(tokenizer, rows, knobs)[1]).startswith("system: None<|im_end|>user: Hello")


@pytest.mark.parametrize(
    ("row", "knobs", "said"),
    [
        (
            {"messages": [CHAT[0], {"role": "assistant"}]},
            {"own.split_thinking": True},
            "no text to split",
        ),
        ({"messages": [CHAT[0], {"content": "x"}]}, {"own.split_thinking": True}, "no role"),
        ({"messages": CHAT}, {"render.kwargs": {"max_length": 5}}, "does not model"),
        ({"messages": None}, {}, "no messages"),
        ({"messages": []}, {}, "is empty"),
        ({"messages": [5]}, {}, "`messages` is not a list of messages"),
        ({"messages": {}}, {}, "`messages` is not a list of messages"),
        ({"messages": "[not json"}, {}, "not valid JSON"),
        ({"messages": [{"content": "x"}]}, {}, "no role"),
        ({"messages": CHAT, "tools": {"a": 1}}, {}, "tools are not a list"),
        (
            {"messages": CHAT},
            {"own.eot_tokens": ("<|im_end|>", "<|im_start|>"), "own.train_on_eot": "all"},
            "differ",
        ),
        ({"messages": CHAT}, {"mask.rule": "completion"}, "no mask.rule"),
        ({"messages": CHAT}, {"length.max": 5, "length.over": "error"}, "stops the whole run"),
        ({"instruction": "x", "output": 7}, {}, "response is not text"),
        (
            {"instruction": "x", "output": "y"},
            {"own.type": {"format": "{other}", "no_input_format": "{other}"}},
            "asks for `{other}`",
        ),
        (
            {"instruction": "x", "output": "y"},
            {"own.type": {"format": "{instruction!r}", "no_input_format": "{instruction!r}"}},
            "asks for `{instruction}`",
        ),
        ({"text": 7}, {"own.type": "completion"}, "not text"),
        ({"segments": [{"text": "x"}]}, {}, "list of mappings with label and text"),
    ],
)
def test_what_stops_axolotl_is_a_problem_here(
    tokenizer: LoadedTokenizer, row: dict[str, Any], knobs: dict[str, Any], said: str
) -> None:
    try:
        problem = made(tokenizer, [row], knobs)[0].problem
        found = problem.sentence() if problem else ""
    except Exception as error:
        found = str(error)
    assert said in found


@pytest.mark.parametrize(
    ("rows", "options", "said"),
    [
        ([{"x": 1}], {}, "no column `messages`"),
        ([{"instruction": "a"}], {"type": "alpaca"}, "no column `output`"),
        ([{"text": "a"}], {"type": "pygmalion"}, "does not model"),
        ([{"text": "a"}], {"type": "completion", "field": "body"}, "no column `body`"),
    ],
)
def test_a_set_that_does_not_fit_is_refused(rows: list[dict[str, Any]], options: dict[str, Any], said: str) -> None:
    from golden_records import rows_of

    recipe = with_knobs(preset("axolotl@0.19"), {f"own.{name}": value for name, value in options.items()})
    refused = trainer_named("axolotl").detect(rows_of(rows), recipe).refused
    assert refused is not None and said in refused.sentence()


def test_without_a_type_the_columns_decide_and_it_is_said() -> None:
    from golden_records import rows_of

    def found(row: dict[str, Any]) -> tuple[str, str]:
        detected = trainer_named("axolotl").detect(rows_of([row]), preset("axolotl@0.19"))
        return detected.format, detected.reason

    assert found({"conversations": [{"from": "human", "value": "x"}]})[0] == "sharegpt"
    assert found({"instruction": "x", "output": "y"})[1].startswith(
        "Axolotl never guesses: a config must set `type: alpaca`"
    )
    assert found({"text": "x"})[0] == "text" and found({"segments": []})[0] == "segments"
    assert found({"input_ids": [1], "labels": [1], "attention_mask": [1]})[0] == "tokenized"


def test_long_rows_are_dropped_cut_or_kept(tokenizer: LoadedTokenizer) -> None:
    row = [{"messages": CHAT}]
    assert "excess_length_strategy: drop" in (made(tokenizer, row, {"length.max": 10})[0].dropped or "")
    cut = made(tokenizer, row, {"length.max": 10, "length.over": "cut_right"})[0]
    assert cut.example is not None and len(cut.example.input_ids) == 10
    assert "min_sample_len" in (made(tokenizer, row, {"length.min_tokens": 400})[0].dropped or "")


@pytest.mark.parametrize(
    ("version", "packs", "dropped"), [("0.19", True, True), ("0.19", False, False), ("0.18", True, False)]
)
def test_rows_without_a_trained_token_are_dropped_by_019_with_packing(
    tokenizer: LoadedTokenizer, version: str, packs: bool, dropped: bool
) -> None:
    knobs = {"pack.strategy": "multipack" if packs else "none"}
    one = made(tokenizer, [{"messages": CHAT[:1]}], knobs, version)[0]
    assert (one.dropped is not None) is dropped


def test_a_text_is_cut_into_rows(tokenizer: LoadedTokenizer) -> None:
    one = made(tokenizer, [{"text": "one two three four five six seven " * 6}], {"length.max": 16})[0]
    assert one.example is not None and one.tokens is not None
    pieces = [one.example, *one.more]
    assert [len(piece.input_ids) for piece in pieces[:-1]] == [16] * (len(pieces) - 1)
    assert [token for piece in pieces for token in piece.input_ids] == list(one.tokens.input_ids)
    assert pieces[-1].labels[-1] == tokenizer.facts.eos_id


def test_a_text_is_cut_at_64_sequence_lengths(tokenizer: LoadedTokenizer) -> None:
    """prompt_strategies/completion.py (max_length) and prompt_tokenizers.py (_tokenize): no EOS where it is full."""
    for words, received, ended in ((200, 128, False), (128, 128, False), (127, 128, True), (99, 100, True)):
        (one,) = made(tokenizer, [{"text": "a" + " a" * (words - 1)}], {"length.max": 2})
        assert one.tokens is not None and one.example is not None
        ids = [token for piece in (one.example, *one.more) for token in piece.input_ids]
        assert len(ids) == received and ids == list(one.tokens.input_ids[:received])
        assert (ids[-1] == tokenizer.facts.eos_id) is ended


@pytest.mark.parametrize(
    ("count", "packs", "kept"),
    [(1, True, ()), (2, True, ((0, 2),)), (3, True, ((0, 3),)), (0, False, ()), (1, False, ((0, 1),))],
)
def test_a_window_of_no_text_is_left_out(
    tokenizer: LoadedTokenizer, count: int, packs: bool, kept: tuple[tuple[int, int], ...]
) -> None:
    """utils/trainer.py (filter_sequences_by_length): EOS alone is no row of a pack."""
    strategy = "multipack" if packs else "none"
    recipe = with_knobs(preset("axolotl@0.19"), {"length.max": 16, "pack.strategy": strategy})
    assert tuple(window(count, tokenizer, recipe)) == kept


@pytest.mark.parametrize(("limit", "multiple", "width"), [(100, 64, 128), (100, None, 3), (None, 64, 64), (64, 64, 64)])
def test_packs_are_padded_to_multiples_of_the_padded_length(
    tokenizer: LoadedTokenizer, limit: int | None, multiple: int | None, width: int
) -> None:
    recipe = with_knobs(preset("axolotl@0.19"), {"length.max": limit, "batch.multiple": multiple})
    packs = [*packs_of([Example((1, 2), (1, -100), (1, 1)), Example((3,), (3,), (1,))], [[1, 0]], "doc_ids")]
    batch = trainer_named("axolotl").collate_packs(packs, recipe, pipeline.make_toolbox(recipe, tokenizer))
    assert {len(ids) for ids in batch.input_ids} == {width}


@pytest.mark.parametrize(
    ("names", "asked", "stops"),
    [
        (("default",), "tokenizer", False),
        (("default", "tool_use"), "tokenizer", True),
        (("default", "x"), "axolotl/chatml", False),
    ],
)
def test_a_tokenizer_of_several_templates(
    tokenizer: LoadedTokenizer, names: tuple[str, ...], asked: str, stops: bool
) -> None:
    recipe = with_knobs(preset("axolotl@0.19"), {"render.template": asked})
    tools = pipeline.make_toolbox(recipe, tokenizer)
    (template,) = tools.templates.values()
    (one,) = inspect([{"messages": CHAT}], recipe, replace(tools, templates=dict.fromkeys(names, template)))
    assert (one.problem is not None and "several named templates" in one.problem.why) is stops
    assert (one.problem is not None) is stops


def test_segments_are_encoded_one_by_one(tokenizer: LoadedTokenizer) -> None:
    one = made(tokenizer, [{"segments": [{"label": False, "text": "Hel"}, {"label": True, "text": "lo"}]}])[0]
    assert shown(tokenizer, one) == "Hel«lo»"
    assert one.example is not None
    assert one.example.input_ids == tokenizer.ids("Hel") + tokenizer.ids("lo")


def test_a_token_of_the_config_is_added_behind_the_vocabulary(tokenizer: LoadedTokenizer) -> None:
    recipe = with_knobs(preset("axolotl@0.19"), {"own.tokens": ("<|new|>",)})
    changed = trainer_named("axolotl").tokenizer_of(tokenizer, recipe)
    assert changed.encode("a<|new|>b").ids[1] == tokenizer.facts.vocab_size == changed.facts.vocab_size - 1
    assert any("no trained embedding" in note for note in changed.facts.notes)
    assert tokenizer.token_id("<|new|>") is None


def test_a_template_that_the_registry_has_not_is_refused_by_name(tokenizer: LoadedTokenizer) -> None:
    from sftui.errors import TemplateError

    with pytest.raises(TemplateError, match="has no chat template `no-such`") as refused:
        trainer_named("axolotl").own_template("no-such", tokenizer, preset("axolotl@0.19"))
    assert all(name in refused.value.fix for name in REGISTRY)


def test_only_keys_that_the_template_reads_of_message_reach_it() -> None:
    assert message_keys(
        "{% for message in messages %}{{ message.role }}{{ message['name'] }}{{ message.a.b }}{% endfor %}", "messages"
    ) == {"role", "name", "a", "b"}
    assert message_keys("{% for m in messages %}{{ m.role }}{{ m.name }}{% endfor %}", "messages") == frozenset()
    assert "x" in message_keys(
        "{% for message in messages %}{% generation %}{{ message.x }}{% endgeneration %}{% endfor %}", "messages"
    )


def test_every_named_type_writes_its_prompt() -> None:
    row: dict[str, Any] = dict.fromkeys(
        (
            "instruction",
            "input",
            "output",
            "response",
            "INSTRUCTION",
            "RESPONSE",
            "question",
            "category",
            "answer",
            "article",
            "summary",
            "unanswerable_question",
            "message_1",
            "message_2",
            "prompt",
            "generation",
            "system",
            "system_prompt",
            "solution",
        ),
        "x y",
    )
    row["choices"] = ["a", "b"]
    from sftui.trainers.axolotl.instruct import _LOADED, _STYLED, read_instruct

    for name in (*_LOADED, *_STYLED, "alpaca:chat", "alpaca:chatml", "alpaca:phi", "alpaca_chat.load"):
        kind = instruct_type(name)
        assert kind is not None, name
        conversation = read_instruct(row, kind, "row 0")
        assert conversation.prompt and "".join(run[0] for run in conversation.extra["runs"]) == conversation.prompt


@given(st.text(max_size=40), st.text(max_size=40))
def test_what_differs_is_between_equal_ends(a: str, b: str) -> None:
    start, end = differing(a, b)
    assert a[:start] == b[:start] and start <= end <= len(a)
    assert a[end:] == b[len(b) - (len(a) - end) :] if end < len(a) else True


@given(
    st.lists(st.integers(1, 16), max_size=60), st.integers(16, 40), st.integers(1, 5), st.integers(1, 30), st.booleans()
)
def test_every_row_lands_in_one_bin_with_room(
    lengths: list[int], capacity: int, most: int, group: int, sequential: bool
) -> None:
    if sequential:
        rows = [Example((1,) * n, (1,) * n, (1,) * n) for n in lengths]
        bins = [[index for index, _, _ in pack.documents] for pack in next_fit(rows, capacity, "ones")]
    else:
        bins = first_fit(lengths, capacity, most, group)
    assert sorted(index for members in bins for index in members) == list(range(len(lengths)))
    assert all(sum(lengths[index] for index in members) <= capacity for members in bins)
    assert sequential or all(len(members) <= most for members in bins)


@given(st.lists(st.integers(0, 20), max_size=50), st.integers(1, 16), st.integers(1, 4), st.integers(1, 20))
def test_each_row_takes_the_first_bin_with_room(lengths: list[int], capacity: int, most: int, group: int) -> None:
    bins: list[list[int]] = []
    for start in range(0, len(lengths), group):
        made: list[list[int]] = []
        for index in range(start, min(start + group, len(lengths))):
            fits = [
                one for one in made if sum(lengths[i] for i in one) + lengths[index] <= capacity and len(one) < most
            ]
            if fits:
                fits[0].append(index)
            else:
                made.append([index])
        bins += made
    assert first_fit(lengths, capacity, most, group) == bins


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=5), st.integers(1, 7), st.integers(1, 3))
def test_chunks_keep_the_order_and_the_size(gaps: list[tuple[int, int]], size: int, least: int) -> None:
    ranges, at = [], 0
    for gap, length in gaps:
        ranges.append((at + gap, at + gap + length))
        at += gap + length
    places = [place for start, end in ranges for place in range(start, end)]
    runs = [[place for start, end in run for place in range(start, end)] for run in chunks(merged(ranges), size, least)]
    assert all(least <= len(run) <= size for run in runs)
    assert [place for run in runs for place in run] == places[
        : len(places) - (len(places) % size if len(places) % size < least else 0)
    ] or size < least


def test_packs_number_their_documents() -> None:
    examples = [Example((1, 2), (1, -100), (1, 1)), Example((3,), (3,), (1,))]
    (pack,) = packs_of(examples, [[1, 0]], "doc_ids")
    assert (pack.input_ids, pack.labels, pack.position_ids, pack.attention_mask) == (
        (3, 1, 2),
        (3, 1, -100),
        (0, 0, 1),
        (1, 2, 2),
    )
    assert pack.documents == ((1, 0, 1), (0, 0, 2))
    assert next(packs_of(examples, [[1, 0]], "ones")).attention_mask == (1, 1, 1)
    assert next(packs_of(examples, [[0]], "none")).attention_mask is None


def test_knobs_without_an_effect_are_named() -> None:
    recipe: Recipe = with_knobs(preset("axolotl@0.19"), {"mask.turns": "last", "own.field_tools": "f"})
    notes = " ".join(notes_of(recipe))
    assert "mask.turns = 'last' has no key" in notes and "field_tools has no effect" in notes
    assert not [note for note in notes_of(preset("axolotl@0.18")) if "no effect" in note]


@pytest.mark.parametrize(
    ("name", "system", "said"),
    [
        ("llama3", None, "system<|end_header_id|>\n\n<|eot_id|>"),
        ("mistral_v1", None, " [INST] \n\nHello [/INST]"),
        ("qwen3", None, "fails"),
        ("chatml", None, "fails"),
        ("llama3", "S", "system<|end_header_id|>\n\nS<|eot_id|>"),
    ],
)
def test_a_null_system_text_in_its_own_templates(name: str, system: str | None, said: str) -> None:
    from sftui.errors import TemplateError
    from sftui.trainers.axolotl.templates import template_named

    template = template_named(name, load_tokenizer("builtin:llama3"), preset("axolotl@0.19"), rendering_of("5.16.1"))
    try:
        text = template.text(
            [{"role": "system", "content": system}, *CHAT], variables={"bos_token": "<s>", "eos_token": "</s>"}
        )[0]
    except TemplateError as error:
        text = str(error)
    assert said in text


def test_its_llama3_template_needs_a_bos_token() -> None:
    from sftui.errors import TemplateError
    from sftui.trainers.axolotl.templates import template_named

    with pytest.raises(TemplateError, match="bos_token"):
        template_named("llama3", load_tokenizer("builtin:llama3"), preset("axolotl@0.19"), rendering_of("5.16.1")).text(
            CHAT, variables={}
        )


def test_offsets_of_a_detail_need_not_be_whole_numbers(tokenizer: LoadedTokenizer) -> None:
    row = {
        "messages": [
            CHAT[0],
            {"role": "assistant", "content": "x", "detail": [{"begin_offset": 0.5, "end_offset": 1.5, "train": True}]},
        ]
    }
    one = made(tokenizer, [row], {"data.message_keys": {"train_detail": "detail"}})[0]
    assert "«<|im_end|>»" in shown(tokenizer, one) and "«x" not in shown(tokenizer, one)


@pytest.mark.parametrize("offset", ["begin_offset", "end_offset"])
def test_an_offset_of_a_detail_that_is_no_number_stops_axolotl(tokenizer: LoadedTokenizer, offset: str) -> None:
    detail = [{"begin_offset": 0, "end_offset": 1, "train": True, offset: "1"}]
    row = {"messages": [CHAT[0], {"role": "assistant", "content": "x", "detail": detail}]}
    one = made(tokenizer, [row], {"data.message_keys": {"train_detail": "detail"}})[0]
    assert one.problem is not None and "an offset is not a number" in (one.problem.why or "")


@pytest.mark.parametrize(
    ("flags", "reasons"),
    [
        ((None, None), (Reason.ROLE, Reason.ASSISTANT)),
        ((True, False), (Reason.FLAG, Reason.FLAG_OFF)),
        ((False, True), (Reason.FLAG_OFF, Reason.FLAG)),
    ],
)
def test_why_a_content_is_trained(
    tokenizer: LoadedTokenizer, flags: tuple[bool | None, ...], reasons: tuple[Reason, ...]
) -> None:
    row = {"messages": [{**turn, "t": flag} for turn, flag in zip(CHAT[:2], flags)]}
    one = made(tokenizer, [row], {"data.message_keys": {"train_flag": "t"}})[0]
    assert one.tokens is not None and one.labels is not None
    found = zip(one.tokens.messages, one.tokens.parts, one.labels.reasons)
    assert {(owner, reason) for owner, part, reason in found if part is Part.CONTENT} == set(enumerate(reasons))


def test_a_prepared_row_without_tokens_is_too_short(tokenizer: LoadedTokenizer) -> None:
    rows: list[dict[str, Any]] = [
        {"input_ids": [5, 6], "attention_mask": [1, 1], "labels": [5, 6]},
        {"input_ids": [], "attention_mask": [], "labels": []},
    ]
    full, empty = made(tokenizer, rows)
    assert full.example and empty.dropped and "min_sample_len" in empty.dropped


@pytest.mark.parametrize(("size", "packs", "ending"), [(9, "false", 0), (400, "false", 0), (400, "true", 1)])
def test_a_text_of_a_pretraining_dataset_is_trained_whole(size: int, packs: str, ending: int) -> None:
    """utils/data/streaming.py: with sample_packing EOS stands behind it, without it is cut at sequence_len - 2."""
    one, eos = pretraining(size, packs)
    assert one.problem is None and one.example is not None and one.tokens is not None and not one.more
    ids = one.tokens.input_ids
    assert one.example.input_ids == one.example.labels == (ids if size == 400 else ids[: size - 2])
    assert (ids[-1] == eos) == bool(ending)


def test_a_text_that_fills_its_window_is_shown() -> None:
    """With sample_packing EOS is of the window: as many tokens as sequence_len with it."""
    whole = pretraining(400, "true")[0].tokens
    assert whole is not None
    for size, shown in ((len(whole), True), (len(whole) - 1, False)):
        assert (pretraining(size, "true")[0].problem is None) is shown


def test_a_row_of_sequence_len_tokens_is_no_longer_one(tokenizer: LoadedTokenizer) -> None:
    (whole,) = made(tokenizer, [{"messages": CHAT}])
    assert whole.tokens is not None
    for size, dropped in ((len(whole.tokens), False), (len(whole.tokens) - 1, True)):
        (one,) = made(tokenizer, [{"messages": CHAT}], {"length.max": size, "length.over": "drop"})
        assert (one.dropped is not None) is dropped


def test_no_system_text_is_put_in(tokenizer: LoadedTokenizer) -> None:
    plain, asked = (
        made(tokenizer, [{"messages": CHAT}], knobs)[0] for knobs in ({}, {"render.inject_system": "Be brief."})
    )
    assert plain.rendered is not None and asked.rendered is not None and plain.rendered.text == asked.rendered.text


def test_a_text_of_several_windows_is_not_shown() -> None:
    """tokenizers 0.23.1 keeps the first window alone, 0.22.2 and 0.23.3 all."""
    one, _ = pretraining(9, "true")
    assert one.problem is not None and "several windows" in one.problem.what and one.example is None


def pretraining(size: int, packs: str) -> tuple[Inspection, int | None]:
    """One text of a pretraining_dataset, and the EOS of its tokenizer."""
    text = (
        f"base_model: m\nsequence_len: {size}\nsample_packing: {packs}\n"
        "pretraining_dataset:\n  - {path: d, text_column: body}\n"
    )
    row = Row(0, {"body": "abcdefghijklmnopqrstuvwxyz"}, "", "row 0")
    loaded = load_tokenizer("builtin:chatml", mode="provisional")
    recipe = trainer_named("axolotl").read_config("c.yaml", text, None).recipe
    one = pipeline.inspect(row, pipeline.detect([row], recipe), recipe, pipeline.make_toolbox(recipe, loaded))
    return one, loaded.facts.eos_id


def test_turns_are_found_alike_once_the_shape_of_a_row_is_known(
    tokenizer: LoadedTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows with a dummy in place of a turn are put together like any others: to the same text, labels, reasons and
    work, so that a row of too many turns ends in the same place whatever was learned before."""
    odd = ("", " ", "  padded \n", "[[dummy", "message]]", "zzdummymessagezz", "<|im_end|>", "Grüße 👋", "{{ x }}")
    rows = [
        {
            "messages": [
                dict(one, content=f"{odd[(number + place) % len(odd)]}{number}") for place, one in enumerate(CHAT)
            ]
        }
        for number in range(120)
    ]
    spent: list[int] = []

    class Watched(mask.Locator):
        def find(self, index: int, *, content_only: bool = False, reasoning_only: bool = False) -> tuple[int, int]:
            found = super().find(index, content_only=content_only, reasoning_only=reasoning_only)
            spent.append(self.spent[0])
            return found

    monkeypatch.setattr("sftui.trainers.axolotl.mask.Locator", Watched)
    recipe = with_knobs(preset("axolotl@0.19"), {"render.template": "axolotl/chatml"})
    tools = pipeline.make_toolbox(recipe, tokenizer)
    learned = inspect(rows, recipe, tools)
    assert all(template.skeletons.put_together > len(rows) for template in tools.templates.values())
    with_shapes = list(spent)
    spent.clear()
    monkeypatch.setattr("sftui.templates.shortcuts.skeletons.Skeletons.see", lambda *_: None)
    plain = inspect(rows, recipe, pipeline.make_toolbox(recipe, tokenizer))
    assert [(one.labels, one.problem) for one in learned] == [(one.labels, one.problem) for one in plain]
    assert with_shapes == spent
