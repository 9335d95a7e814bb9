"""Data that its trainer does not read, in an open workspace: shown as it stops, converted, written, exported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sftui.model import Stage
from sftui.recipe import changed
from sftui.session.ready import Ready, open_data, tokenized, under
from sftui.trainers import preset
from sftui.views.words import why_stopped
from sftui.workspace import OpenOptions
from sftui.workspace import events as ev

ROWS = [{"question": f"1 + {n}?", "answer": str(1 + n), "id": n} for n in range(5)]
SHAREGPT = [
    {"conversations": [{"from": "human", "value": f"hi {n}"}, {"from": "gpt", "value": "Hello."}]} for n in range(5)
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return put(tmp_path, ROWS)


def put(folder: Path, rows: list[Any]) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def session(data: Path, name: str, **knobs: Any) -> Ready:
    recipe = preset(name)
    for path, value in knobs.items():
        recipe = changed(recipe, path.replace("__", "."), value)
    return tokenized(
        open_data(OpenOptions((str(data),), recipe=changed(recipe, "tokenizer.name", "builtin:chatml"))), "provisional"
    ).ready()


def proven(heard: Any) -> Any:
    return heard.wait(ev.RowReady, lambda event: not event.inspection.provisional)


def test_it_opens_converts_and_is_written_with_its_config(
    open_workspace: Callable[..., Any], data: Path, tmp_path: Path
) -> None:
    workspace, heard = open_workspace(recipe=preset("trl"))
    source = heard.wait(ev.SourceOpened)
    assert source.unread and source.refused is not None and "KeyError: 'text'" in source.refused.what
    row = heard.wait(ev.RowReady).inspection
    assert row.stopped_at is Stage.CONVERSATION and "KeyError: 'text'" in (why_stopped(row) or "")

    workspace.set_repairs(("to-messages",))
    converted = heard.wait(ev.RowReady, lambda event: event.inspection.tokens is not None).inspection
    assert converted.row.data == {
        "id": 0,
        "messages": [{"role": "user", "content": "1 + 0?"}, {"role": "assistant", "content": "1"}],
    }
    assert converted.row.repairs == ("`question` and `answer` became 2 messages",)
    out = tmp_path / "new.jsonl"
    workspace.request_write(str(out), str(tmp_path / "new.log.jsonl"))
    assert heard.wait(ev.RepairsWritten, lambda event: event.done).counted.changed == 5
    files = {file.path.name: file.content for file in workspace.plan_export("trl", str(tmp_path / "conf")).files}
    assert str(out) in files["trl_sft.yaml"]
    workspace.undo()
    again = heard.wait(ev.RowReady, lambda event: event.inspection.problem is not None).inspection
    assert again.row.data == ROWS[0]


def test_the_recipe_of_converted_rows_says_nothing_of_columns_that_are_gone(tmp_path: Path) -> None:
    given = {"data__fields": {"messages": "conversations"}, "data__message_keys": {"role": "from", "content": "value"}}
    before = session(put(tmp_path, SHAREGPT), "axolotl", own__type="chat_template", **given)
    after = under(before, before.recipe, ("to-messages",))
    assert isinstance(after, Ready) and after.requested is before.recipe and after.recipe.data.fields == {}
    for _ in range(2):  # another tokenizer, or the same again, begins with the recipe that was asked for
        after = under(after, after.requested)
        assert isinstance(after, Ready) and after.detected.fields == {"messages": "messages"}
    for number in range(5):
        a, b = before.inspect(number), after.inspect(number)
        assert a.tokens is not None and b.tokens is not None and a.labels is not None and b.labels is not None
        assert (a.tokens.input_ids, a.labels.labels) == (b.tokens.input_ids, b.labels.labels)


def test_other_repairs_find_converted_messages(tmp_path: Path) -> None:
    rows = [{"question": " 1 + 1? ", "answer": "2"}, {"question": "1 + 1?", "answer": "2"}, *ROWS[2:]]
    before = session(put(tmp_path, rows), "trl")
    after = under(before, before.recipe, ("to-messages", "trim", "deduplicate"))
    made = [row.data for row in after.rows() if row.data is not None]
    assert [one["messages"][0]["content"] for one in made] == ["1 + 1?", "1 + 2?", "1 + 3?", "1 + 4?"]


def test_a_conversion_that_is_refused_leaves_the_rows_as_they_are(tmp_path: Path) -> None:
    rows = [
        {
            "conversations": [
                {"from": "human", "value": "hi"},
                {"from": "function_call", "value": '{"name": "a"}'},
                {"from": "observation", "value": "x"},
                {"from": "gpt", "value": "Hello."},
            ]
        },
        *SHAREGPT,
    ]
    before = session(put(tmp_path, rows), "llamafactory")
    after = under(before, before.recipe, ("to-messages",))
    found = [after.inspect(number) for number in range(3)]
    assert after.recipe is before.recipe
    for number, one in enumerate(found):
        assert one.row.skipped is not None
        assert "LLaMA-Factory would lose after conversion to messages" in one.row.skipped
        assert one.row.data == before.row(number).data
    assert [one.problem for one in found] == [before.inspect(number).problem for number in range(3)]
