"""Repairs that would break rows for their trainer are refused, or told which other one they need."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sftui.errors import RecipeError
from sftui.recipe import changed
from sftui.session.harm import harm_of, refuse_harm
from sftui.session.options import OpenOptions
from sftui.session.ready import Ready, open_data, tokenized, under
from sftui.trainers import preset

TOOLS = json.dumps([{"name": "weather", "description": "", "parameters": {"type": "object", "properties": {}}}])
SHAREGPT = {"conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "Hello."}]}
ALIASES = {"messages": [{"role": "human", "content": "hi"}, {"role": "assistant", "content": "Hello."}]}


def opened(tmp_path: Path, rows: list[Any], name: str, **knobs: Any) -> Ready:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return session(path, name, **knobs)


def session(path: Path, name: str, **knobs: Any) -> Ready:
    recipe = preset(name)
    for knob, value in knobs.items():
        recipe = changed(recipe, knob.replace("__", "."), value)
    options = OpenOptions((str(path),), recipe=changed(recipe, "tokenizer.name", "builtin:chatml"))
    return tokenized(open_data(options), "provisional").ready()


def test_tools_that_must_stay_text_are_not_parsed(tmp_path: Path) -> None:
    found = opened(tmp_path, [SHAREGPT, {**SHAREGPT, "tools": TOOLS}], "llamafactory")
    with pytest.raises(RecipeError, match="parse-json would do harm under LLaMA-Factory") as told:
        refuse_harm(found, ["trim", "parse-json"])
    assert "row 1 could no longer be prepared" in told.value.why and "its tools are not JSON text" in told.value.why
    assert told.value.fix == "omit it", "nor would it help to convert the rows: LLaMA-Factory's tools stay text"
    refuse_harm(found, ["trim", "map-roles", "deduplicate"])
    refuse_harm(found, ["trim", "to-messages"])


def test_a_repair_that_needs_another_says_which(tmp_path: Path) -> None:
    found = opened(tmp_path, [SHAREGPT], "torchtune")
    with pytest.raises(RecipeError, match="map-roles would do harm under torchtune") as told:
        refuse_harm(found, ["trim", "map-roles"])
    together = "add to-messages, which prevents this (--apply trim,map-roles,to-messages), or omit it"
    assert told.value.fix == together
    refuse_harm(found, ["trim", "map-roles", "to-messages"])


def test_roles_that_the_trainer_knows_by_these_names_are_not_renamed(tmp_path: Path) -> None:
    tags = {"human": "user", "assistant": "assistant"}
    found = opened(tmp_path, [ALIASES], "llamafactory", data__format="messages", data__role_map=tags)
    with pytest.raises(RecipeError, match="map-roles would do harm") as told:
        refuse_harm(found, ["map-roles"])
    assert "row 0 would be dropped: Invalid role tag: `user`" in told.value.why


def test_rows_that_nobody_read_before_are_not_harmed(tmp_path: Path) -> None:
    found = opened(tmp_path, [{"question": "1 + 1?", "answer": " 2"}], "trl")
    refuse_harm(found, ["trim"])
    refuse_harm(found, ["to-messages", "trim", "drop no-answer"])


REAL = {
    # dataset, trainer, repair → what it would do
    ("glaive_toolcall_en_demo.json", "llamafactory", "parse-json"): "its tools are not JSON text",
    ("glaive_toolcall_en_demo.json", "torchtune", "map-roles"): "torchtune's ShareGPT does not support the role 'user'",
    (
        "fastchat_dummy_conversation.json",
        "torchtune",
        "map-roles",
    ): "torchtune's ShareGPT does not support the role 'user'",
}
NAMES = ("parse-json", "map-roles", "fill-content", "strip-tokens", "trim", "fold-system", "merge-neighbours")


@pytest.mark.one_of(8)
def test_a_longer_row_of_which_everything_is_trained_is_not_harmed(tmp_path: Path) -> None:
    """The last question was cut away, and is trained as the first is; with the answers alone trained it is not."""
    words = [("user", "Hi"), ("assistant", "Yes. " * 40), ("user", "So?"), ("assistant", "No.")]
    rows = [{"messages": [{"role": role, "content": text} for role, text in words]}]
    short = opened(tmp_path, rows, "trl@1.16", length__max=32).inspect(0)
    whole, answering = opened(tmp_path, rows, "trl@1.16").inspect(0), ("assistant",)
    assert short.cut and not harm_of(short, whole, answering)
    assert "would train message 2" in harm_of(short, whole, answering, asks=False)


@pytest.mark.parametrize("trainer", ["hf-trainer", "trl", "axolotl", "llamafactory", "torchtune"])
@pytest.mark.parametrize(
    "name",
    [
        "glaive_toolcall_en_demo.json",
        "fastchat_dummy_conversation.json",
        "alpaca_en_demo.json",
        "turkish_daily_test.jsonl",
        "derived_dirty_messages.jsonl",
    ],
)
def test_repairs_of_real_rows_do_harm_where_the_trainer_says_so_alone(shared: Path, name: str, trainer: str) -> None:
    found = session(shared / "testdata" / "datasets" / name, trainer)
    for repair in NAMES:
        wanted = REAL.get((name, trainer, repair))
        try:
            refuse_harm(found, [repair])
        except RecipeError as error:
            assert wanted is not None and wanted in error.why, (repair, error)
        else:
            assert wanted is None, repair


def test_an_answer_that_torchtune_itself_marks_otherwise_is_lost(tmp_path: Path) -> None:
    turns = [{"role": role, "content": text} for role, text in zip(("user", "assistant") * 2, ("a", "B.", "c", "D."))]
    found = opened(tmp_path, [{"messages": turns}], "torchtune@0.7", mask__rule="turn_full")
    other = under(found, changed(found.requested, "mask.turns", "last")).ready()
    said = harm_of(found.inspect(0), other.inspect(0), {"assistant"}, asks=False)
    assert said == "row 0 would no longer train message 1"
