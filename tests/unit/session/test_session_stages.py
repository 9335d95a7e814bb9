"""How far an open dataset is, and what another recipe, tokenizer or repairs make of it."""

from __future__ import annotations

import dataclasses
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from sftui import trainers
from sftui.comparison import compare_row
from sftui.errors import ConversationError, SftuiError, SourceError
from sftui.model import Problem, Stage
from sftui.recipe import Recipe, changed
from sftui.session.opened import OpenData
from sftui.session.options import OpenOptions
from sftui.session.ready import (
    Ready,
    UntemplatedData,
    UntokenizedData,
    open_data,
    ready_under,
    tokenized,
    under,
    waits,
    with_tokenizer,
)
from sftui.session.sent import sent

NAMES = ("hf-trainer", "manual-shift", "trl", "axolotl", "llamafactory", "unsloth", "torchtune")


def recipe(name: str = "hf-trainer") -> Recipe:
    return changed(trainers.preset(name), "tokenizer.name", "builtin:chatml")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    rows = [[{"role": "user", "content": f"{i}?"}, {"role": "assistant", "content": f"{i}."}] for i in range(40)]
    path.write_text("".join(json.dumps({"messages": row}) + "\n" for row in rows))
    return path


def opened(data: Path, asked: Recipe) -> OpenData:
    return open_data(OpenOptions((str(data),)), asked)


def ready(data: Path, asked: Recipe) -> Ready:
    return tokenized(opened(data, asked), "provisional").ready()


def test_each_stage_says_what_it_lacks_and_shows_what_it_has(data: Path) -> None:
    waiting = opened(data, recipe())
    assert waits(waiting) and waiting.inspect(0).provisional and waiting.inspect(0).conversation is not None
    lost = with_tokenizer(waiting, Problem("no such tokenizer"))
    assert isinstance(lost, UntokenizedData) and not waits(lost) and lost.inspect(0).stopped_at is Stage.TOKENS
    bare = tokenized(opened(data, changed(recipe(), "render.template", "file:none.jinja")), "provisional")
    assert isinstance(bare, UntemplatedData) and bare.inspect(0).stopped_at is Stage.RENDERED
    whole = ready(data, recipe())
    assert whole.inspect(0).example is not None and whole.ready() is whole
    for stage, why in ((waiting, "not loaded yet"), (lost, "no such tokenizer"), (bare, "none.jinja")):
        with pytest.raises(SftuiError, match=why):
            stage.ready()
    with pytest.raises(dataclasses.FrozenInstanceError):
        whole.recipe = recipe("trl")  # type: ignore[misc]


@pytest.mark.parametrize("second", NAMES)
@pytest.mark.parametrize("first", ["hf-trainer", "llamafactory", "torchtune"])
def test_another_recipe_leaves_nothing_of_the_one_before(first: str, second: str, data: Path) -> None:
    moved, fresh = under(ready(data, recipe(first)), recipe(second)), ready(data, recipe(second))
    if waits(moved):  # it loads the tokenizer by another transformers
        moved = tokenized(moved, "provisional")
    assert isinstance(moved, Ready)
    assert moved.tools.notes == fresh.tools.notes and moved.detected == fresh.detected
    assert moved.tools.tokenizer.facts == fresh.tools.tokenizer.facts
    assert [moved.inspect(row) for row in range(3)] == [fresh.inspect(row) for row in range(3)]


def test_a_recipe_keeps_the_tokenizer_and_the_data_of_the_one_before(data: Path) -> None:
    before = ready(data, recipe())
    after = under(before, changed(recipe(), "mask.rule", "all"))
    assert isinstance(after, Ready) and after.tokenizer is before.tokenizer
    assert after.stored is before.stored and after.detected is before.detected
    lost = with_tokenizer(before, Problem("gone"))
    assert isinstance(under(lost, changed(recipe(), "mask.rule", "all")), UntokenizedData)
    assert waits(under(lost, changed(recipe(), "tokenizer.name", "builtin:llama3")))
    assert before.inspect(0).trained < after.inspect(0).trained, "the one before is as it was"


def test_another_recipe_compiles_no_template_again(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import jinja2

    before, compiled = ready(data, recipe()), []
    whole = jinja2.Environment.compile

    def counted(self: jinja2.Environment, *given: Any, **more: Any) -> Any:
        compiled.append(given)
        return whole(self, *given, **more)

    monkeypatch.setattr(jinja2.Environment, "compile", counted)
    after = under(before, changed(recipe(), "mask.rule", "all")).ready()
    assert after.inspect(0).example is not None and compiled == []
    dated = under(before, changed(recipe(), "render.date", "2001-02-03")).ready()
    assert dated.inspect(0).example is not None and compiled == []
    other = data.with_name("other.jinja")  # no other test compiles it, and what one compiled is kept
    other.write_text("{% for m in messages %}{{ m.role }} says {{ m.content }}{% endfor %}")
    assert under(before, changed(recipe(), "render.template", f"file:{other}")).ready() and compiled


def test_what_is_no_training_set_is_refused_by_who_asks(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    turn = [{"role": "assistant", "content": "a"}]
    path.write_text(json.dumps({"prompt": "?", "chosen": turn, "rejected": turn}) + "\n")
    found = opened(path, recipe())
    assert found.refused is not None
    with pytest.raises(ConversationError):
        found.accepted()


@pytest.mark.parametrize("row", [0, 31, 32, 39])
def test_one_row_is_the_row(row: int, data: Path) -> None:
    found = opened(data, recipe())
    assert found.one_row(row) == found.row(row)
    mended = under(found, recipe(), ("deduplicate",))
    assert mended.one_row(row) == mended.row(row)
    with pytest.raises(SourceError, match="the last one is 39"):
        found.one_row(40)


@pytest.mark.parametrize("name", ["hf-trainer", "axolotl", "llamafactory"])
def test_a_session_that_travels_inspects_rows_as_the_one_it_left(name: str, data: Path) -> None:
    asked = recipe(name)
    if name == "axolotl":  # it sets rows aside
        asked = changed(asked, "own", dataclasses.replace(asked.own, **{"val_set_size": 0.2, "seed": 42}))
    here = ready(data, asked)
    there = pickle.loads(pickle.dumps(sent(here))).open()
    rows = list(here.source.rows())
    assert list(there.inspect_many(rows)) == list(here.inspect_many(rows))
    assert any(one.evaluates for one in there.inspect_many(rows)) is (name == "axolotl")
    assert [there.found(one) for one in there.inspect_many(rows)] == [here.found(here.inspect_row(row)) for row in rows]


@pytest.mark.parametrize(
    ("trainer", "path", "value", "before", "after"),
    [
        ("trl", "loss.objective", "dpo", "completion", "chosen"),
        ("axolotl", "own.type", "alpaca", "messages", "instruction"),
    ],
)
def test_what_decides_the_columns_reads_the_rows_anew(
    trainer: str, path: str, value: str, before: str, after: str, tmp_path: Path
) -> None:
    turns = {name: [{"role": "assistant", "content": name}] for name in ("completion", "chosen", "rejected")}
    asked = [{"role": "user", "content": "Hi"}]
    row = {"prompt": asked, **turns} if trainer == "trl" else {"messages": [*asked, *turns["chosen"]]}
    data = tmp_path / "rows.jsonl"
    data.write_text(json.dumps({**row, "instruction": "Hi", "input": "", "output": "Hello"}) + "\n")
    recipe = changed(trainers.preset(trainer), "tokenizer.name", "builtin:chatml")
    session = tokenized(open_data(OpenOptions((str(data),), recipe=recipe))).ready()
    other = ready_under(session, changed(recipe, path, value), ())
    assert before in session.detected.fields and after in other.detected.fields


def test_both_sides_of_a_pair_count_where_the_other_recipe_makes_nothing_of_it(tmp_path: Path) -> None:
    row = {name: [{"role": who, "content": name}] for name, who in (("prompt", "user"), ("chosen", "assistant"))}
    data = tmp_path / "rows.jsonl"
    data.write_text(json.dumps({**row, "rejected": [{"role": "assistant", "content": "no"}]}) + "\n")
    recipe = changed(changed(trainers.preset("trl"), "tokenizer.name", "builtin:chatml"), "loss.objective", "dpo")
    session = tokenized(open_data(OpenOptions((str(data),), recipe=recipe))).ready()
    failing = ready_under(session, changed(recipe, "loss.objective", "sft"), ())
    made = [one.inspect_row(session.row(0), text=True) for one in (session, failing)]
    compared = compare_row(made)
    both = sum(len(side.tokens) for side in made[0].sides if side.tokens is not None)
    assert len(compared.sides[0].ids) == both and compared.sides[1].stopped and compared.rejected
