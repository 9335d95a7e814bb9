"""A check that is not asked finds nothing: what stands before each check is held against the check itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import pytest
from case_runner import open_case
from hypothesis import given, settings
from hypothesis import strategies as st

from sftui.errors import SftuiError
from sftui.findings import CODES, Context, check_row
from sftui.findings.catalogue import ROW_CHECKS
from sftui.findings.checks import RowCheck
from sftui.findings.look import CONTROL, HUMAN, JSON, TAG, WIDE, RowLook
from sftui.findings.rule import Case
from sftui.findings.rules import eos, marks
from sftui.findings.run import moments
from sftui.findings.shapes import RowShape
from sftui.findings.words import TextMarks, cover, sign_of, walk, words
from sftui.model import IGNORE_INDEX, NOWHERE, Conversation, Cut, Inspection, Kind, Message, Row
from sftui.runs import flat, labelled
from sftui.tokens import token_text

RECIPES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("hf-trainer", {}),
    ("hf-trainer", {"mask.rule": "all", "length.max": 12}),
    ("trl@1.16", {"mask.rule": "generation_tag"}),
    ("axolotl@0.19", {}),
    ("llamafactory@0.9", {}),
    ("unsloth@2026.10", {}),
    ("torchtune@0.7", {}),
)
SAID = st.lists(
    st.sampled_from(
        [
            "Hi",
            " ",
            "\n",
            "<think>",
            "</think>",
            "</s>",
            "[EOS]",
            "<|im_end|>",
            "<|endoftext|>",
            "<image>",
            "\\n",
            "â€™",
            "\u200b",
            "日本",
            "[",
            "{}",
            "```\n",
            '{"a',
            "(so",
            "\n### Human:",
        ]
    ),
    max_size=5,
).map("".join)
CALL = {"type": "function", "function": {"name": "look", "arguments": {"at": "there", "by": None, "on": None}}}
MESSAGE = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant", "system", "developer", "tool", "function", "human", "asistant"]),
        "content": st.one_of(SAID, SAID, SAID, st.none(), st.just([{"type": "text", "text": "Hi"}])),
    },
    optional={
        "tool_calls": st.just([CALL]),
        "reasoning_content": SAID,
        "weight": st.sampled_from([0, 1, 0.5]),
        "name": st.just("x"),
    },
)
IDS = st.lists(st.integers(0, 300), min_size=1, max_size=40)
ROW = st.one_of(
    st.fixed_dictionaries({"messages": st.lists(MESSAGE, min_size=1, max_size=6)}, optional={"tools": st.just([CALL])}),
    st.fixed_dictionaries({"prompt": SAID, "completion": SAID}),
    st.fixed_dictionaries({"text": SAID}),
    IDS.map(lambda ids: {"input_ids": ids, "labels": [*ids[1:], -100], "attention_mask": [1] * len(ids)}),
)


def shut(inspection: Inspection, context: Context) -> list[str]:
    """The checks that are not asked; AssertionError where one that is of such rows finds something."""
    look = RowLook(inspection, context)
    if look.shape.labelled:
        assert look.shape.placed <= look.placed
        labels, special = look.labels.counted, context.tools.tokenizer.special_ids
        trained = [i for i, one in enumerate(look.tokens.input_ids) if one in special and labels[i] != IGNORE_INDEX]
        assert list(look.special_trained) == trained
    found = []
    for check in asked(inspection):
        shape, signs = look.shape, look.signs
        opened = check.open(context, shape) and check.seen(context, shape, signs)
        if not opened or (check.row is not None and not check.row(look)):
            told = list(check(RowLook(inspection, context))) if check.fits(context, look.shape) else []
            assert not told, f"{check.faults.__module__}.{check.faults.__name__}: {told}"
            found.append(check.faults.__name__)
    return found


def asked(inspection: Inspection) -> list[RowCheck]:
    """The checks that fit how far the row came."""
    return [check for when in moments(inspection) for check in ROW_CHECKS if check.when is when]


@pytest.mark.parametrize("code", sorted(CODES))
def test_what_is_not_asked_finds_nothing_in_the_examples(code: str) -> None:
    for case in (CODES[code].bad, CODES[code].good, *CODES[code].more):
        context, inspections = open_case(case, case.rows)
        for one in inspections:
            shut(one, context)


@given(ROW, st.sampled_from(RECIPES))
@settings(max_examples=250, deadline=None)
def test_nor_in_wild_rows(row: dict[str, Any], recipe: tuple[str, dict[str, Any]]) -> None:
    case = Case([row], preset=recipe[0], changes=recipe[1])
    try:
        context, inspections = open_case(case, case.rows)
    except SftuiError:
        return  # the set as a whole is refused
    for one in inspections:
        shut(one, context)


@given(st.lists(SAID, min_size=2, max_size=5), st.sampled_from(["assistant", "all"]))
@settings(max_examples=100, deadline=None)
def test_nor_where_the_tokens_are_the_text_cut(said: list[str], rule: str) -> None:
    messages = [{"role": ("user", "assistant")[i % 2], "content": one} for i, one in enumerate(said)]
    case = Case([{"messages": messages}], changes={"mask.rule": rule})
    context, (one,) = open_case(case, case.rows)
    assert one.tokens is not None and one.rendered is not None
    written = b"".join(token_text(one.tokens, one.rendered, context.tools.tokenizer).surfaces)
    assert written == one.rendered.text.encode()
    shut(replace(one, tokens=replace(one.tokens, ends=Cut(one.tokens.ends))), context)


CHAT = st.lists(st.sampled_from(["Hi", "Hi there.\n", " ", "What is it?", "日本"]), min_size=2, max_size=5).map(
    lambda said: [{"role": ("user", "assistant")[i % 2], "content": one} for i, one in enumerate(said)]
)
AT = st.integers(-10, 40)


@given(
    CHAT,
    st.sampled_from(RECIPES),
    st.lists(st.tuples(AT, st.sampled_from([1, 2, 80]), st.booleans()), max_size=4),
    st.lists(st.tuples(AT, st.lists(st.sampled_from(["<|im_end|>", "Ċ", "H"]), min_size=1, max_size=3)), max_size=3),
    st.sampled_from(["as they are", "tiled", "wild"]),
    st.lists(st.integers(NOWHERE, 120), min_size=1, max_size=40),
)
@settings(max_examples=400, deadline=None)
def test_nor_with_masks_ids_and_offsets_that_nothing_makes(
    messages: list[dict[str, Any]],
    recipe: tuple[str, dict[str, Any]],
    drawn: list[tuple[int, int, bool]],
    stray: list[tuple[int, list[str]]],
    offsets: str,
    places: list[int],
) -> None:
    case = Case([{"messages": messages}], preset=recipe[0], changes=recipe[1])
    try:
        context, (one,) = open_case(case, case.rows)
    except SftuiError:
        return  # the set as a whole is refused
    if one.tokens is None or one.labels is None or one.rendered is None or not len(one.tokens):
        return
    n, labels, ids = len(one.tokens), list(one.labels.labels), list(one.tokens.input_ids)
    for at, pieces in stray:
        for i, piece in enumerate(pieces, at % n):
            if i < n:
                ids[i] = context.tools.tokenizer.token_id(piece) or 0
    for at, length, trained in drawn:
        for i in range(at % n, min(at % n + length, n)):
            labels[i] = ids[i] if trained else IGNORE_INDEX
    tokens = replace(one.tokens, ids=flat(ids))
    if offsets == "tiled":
        begins = sorted((places * n)[:n])
        tokens = replace(tokens, starts=tuple(begins), ends=(*begins[1:], len(one.rendered.text)))
    elif offsets == "wild":
        tokens = replace(tokens, starts=tuple((places * n)[:n]), ends=tuple((places[::-1] * n)[:n]))
    shut(replace(one, tokens=tokens, labels=replace(one.labels, values=labels, ranges=labelled(labels))), context)


def test_most_checks_need_not_be_asked_of_an_ordinary_row() -> None:
    row = {"messages": [{"role": "user", "content": "What is it?"}, {"role": "assistant", "content": "It is that."}]}
    case = Case([row])
    context, (inspection,) = open_case(case, case.rows)
    assert len(shut(inspection, context)) > len(asked(inspection)) * 0.8


def test_what_is_asked_is_decided_once_for_rows_of_one_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {"messages": [{"role": "user", "content": f"What is {i}?"}, {"role": "assistant", "content": "a number " * i}]}
        for i in range(1, 5)
    ]
    case = Case(rows)
    context, inspections = open_case(case, case.rows)
    plain, opened = RowCheck.open, Counter[int]()

    def noted(check: RowCheck, context: Context, shape: RowShape) -> bool:
        opened[id(check)] += 1
        return plain(check, context, shape)

    monkeypatch.setattr(RowCheck, "open", noted)
    for one in inspections:
        check_row(one, context)
        assert set(opened.values()) == {1} and len(opened) == len(asked(inspections[0]))


class Text(str):
    """A text of another type."""


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.text(max_size=3).map(Text),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.lists(inner, max_size=3).map(tuple)
            | st.dictionaries(st.text(max_size=2) | st.integers(), inner, max_size=4)
        ),
        max_leaves=12,
    ),
    st.sampled_from([0, 1, 100, 5_000]),
)
def test_words_are_the_strings_among_all_values(value: Any, deep: int) -> None:
    for _ in range(deep):
        value = ["in", value, {"at": "end"}]
    assert words(value) == [one for one in walk(value) if isinstance(one, str)]


@given(st.lists(st.text("ab<|>", max_size=5), max_size=6))
def test_every_text_holds_a_part_of_the_cover(texts: list[str]) -> None:
    parts = cover(texts)
    assert len(parts) <= len(set(texts))
    assert all(any(part in text for part in parts) for text in texts)


@given(st.from_regex(eos._FOREIGN, fullmatch=True), st.from_regex(marks._TAG, fullmatch=True))
def test_every_foreign_stop_and_tag_holds_a_mark_and_a_sign(stop: str, tag: str) -> None:
    assert eos._MARKS.in_(stop) and begins_tag(stop)
    assert marks._MARKS.in_(tag) and begins_tag(tag)


def begins_tag(text: str) -> bool:
    """Whether a `<` or `[` in it is followed by neither such a bracket, nor white space, nor a digit."""
    return any(
        f"{one}{two}" not in ("<<", "<>", "[[", "[]") and one in "<[" and not two.isspace() and not two.isdecimal()
        for one, two in pairwise(text)
    )


@given(st.lists(st.text("a<|>", min_size=1, max_size=3), max_size=5), st.text("ab<|>", max_size=12))
def test_marks_stand_in_a_text_where_one_of_them_does(marks: list[str], text: str) -> None:
    assert TextMarks(marks).in_(text) == any(mark in text for mark in marks)
    assert all(sign_of(mark) in mark for mark in marks)


ODD = st.text("ab1 \t\n<>[]|\\`{(#\x00\x01\x7fé\ud83d", max_size=8)
SPOKEN = st.lists(st.text(max_size=8) | ODD | st.sampled_from(["a Human: ", "as JSON."]), max_size=4)


@given(SPOKEN)
def test_the_signs_of_a_row_are_those_of_its_texts(said: list[str]) -> None:
    messages = [{"role": ("user", "assistant")[i % 2], "content": one} for i, one in enumerate(said)]
    conversation = Conversation(Kind.CHAT, "messages", messages=tuple(map(Message, messages)))
    look = RowLook(
        Inspection(Row(0, {}, "", "row 0"), conversation), cast(Context, SimpleNamespace(recipe=None, facts=None))
    )
    plain = {chr(code) for code in (9, 10, 13, *range(0x20, 0x7F))} - set("<>[]|\\`{(#")
    odd = [char for text in said for char in text if char not in plain]
    assert look.odd.decode("utf-8", "surrogatepass") == "".join(odd)
    named = {WIDE if not char.isascii() else char if char >= " " and char != "\x7f" else CONTROL for char in odd}
    named |= {TAG for text in said if begins_tag(text)}
    named |= {sign for text in said for word, sign in (("Human", HUMAN), ("JSON", JSON)) if word in text}
    assert look.signs == named
