"""A check that is not asked finds nothing: what stands before each check is held against the check itself."""

from __future__ import annotations

from typing import Any

import pytest
from case_runner import open_case
from hypothesis import given, settings
from hypothesis import strategies as st

from sftui.errors import SftuiError
from sftui.findings import CODES, Context
from sftui.findings.catalogue import ROW_CHECKS
from sftui.findings.checks import RowCheck
from sftui.findings.look import Look
from sftui.findings.rule import Case
from sftui.findings.run import moments
from sftui.model import Inspection

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
            "<image>",
            "\\n",
            "â€™",
            "\u200b",
            "日本",
            "[",
            "{}",
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
    """The checks that are not asked; AssertionError where one of them finds something."""
    look = Look(inspection, context)
    kind = inspection.conversation.kind if inspection.conversation is not None else None
    found = []
    for check in asked(inspection):
        if not check.open(context, kind) or (check.row is not None and not check.row(look)):
            told = list(check(Look(inspection, context)))
            assert not told, f"{check.found.__module__}.{check.found.__name__}: {told}"
            found.append(check.found.__name__)
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


def test_most_checks_need_not_be_asked_of_an_ordinary_row() -> None:
    row = {"messages": [{"role": "user", "content": "What is it?"}, {"role": "assistant", "content": "It is that."}]}
    case = Case([row])
    context, (inspection,) = open_case(case, case.rows)
    assert len(shut(inspection, context)) > len(asked(inspection)) * 0.6
