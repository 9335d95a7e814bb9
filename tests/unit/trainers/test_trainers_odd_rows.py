"""Rows that trainers hand over as they are: what a template makes of a message without a role, and by whose rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sftui import pipeline
from sftui.model import Inspection, Row
from sftui.recipe import changed
from sftui.tokens import load_tokenizer
from sftui.tokens.shortcuts.bulk import Bulk
from sftui.trainers import preset

USER, ANSWER = {"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}


def inspected(name: str, *rows: Any, **knobs: Any) -> list[Inspection]:
    """Each of the rows under a preset, with the built-in tokenizer and template."""
    recipe = changed(preset(name), "render.template", "builtin:chatml")
    for path, value in knobs.items():
        recipe = changed(recipe, path.replace("__", "."), value)
    held = [Row(i, data, "", f"data.jsonl line {i + 1}") for i, data in enumerate(rows)]
    detected = pipeline.detect(held, recipe)
    tools = pipeline.make_toolbox(recipe, load_tokenizer("builtin:chatml", mode="provisional"))
    return list(pipeline.inspect_all(held, detected, recipe, tools, Bulk()))


@pytest.mark.parametrize("name", ["trl@1.16", "unsloth@2026.10"])
@pytest.mark.parametrize(("odd", "role"), [({"content": "x"}, ""), ({"role": 7, "content": "x"}, "7")])
def test_a_message_without_a_role_is_the_templates_to_judge(name: str, odd: Any, role: str, tmp_path: Path) -> None:
    """Both trainers look at the first message of the first row alone; the template writes what it is given."""
    template = tmp_path / "lenient.jinja"
    template.write_text("{% for m in messages %}{{ m.role }}|{{ m.content }}\n{% endfor %}", encoding="utf-8")
    rows = ({"messages": [USER, ANSWER]}, {"messages": [USER, odd]})
    whole, one = inspected(name, *rows, render__template=f"file:{template}")
    assert not any("role" in note for note in whole.notes)
    assert one.rendered is not None and one.rendered.text == f"user|q\n{role}|x\n"
    assert any("messages[1]" in note and "the template receives it unchanged" in note for note in one.notes)
    strict = inspected(name, *rows)[1]
    assert strict.problem is not None and "the chat template fails" in strict.problem.what


def test_other_trainers_still_want_a_role() -> None:
    (one,) = inspected("hf-trainer", {"messages": [USER, {"content": "x"}]})
    assert one.problem is not None and "no `role`" in one.problem.what


def test_a_message_that_is_no_mapping_is_told_as_not_known() -> None:
    one = inspected("trl@1.16", {"messages": [USER, ANSWER]}, {"messages": [USER, ["x"]]})[1]
    assert one.problem is not None and "sftui does not model" in one.problem.why


def test_a_script_that_renders_messages_reads_no_tools() -> None:
    row = {"messages": [USER, ANSWER], "tools": "no JSON"}
    script = {"own__text_from": "messages"}
    (one,) = inspected("unsloth@2026.10", row, **script)
    (other,) = inspected("unsloth@2026.10", {"messages": row["messages"]}, **script)
    assert one.example is not None and one.example == other.example
    assert inspected("unsloth@2026.10", row)[0].problem is not None, "without the script Unsloth reads them"


def test_unsloth_reads_every_row_as_it_reads_the_first() -> None:
    texts, chat = {"prompt": "q", "completion": "a"}, {"prompt": [USER], "completion": [ANSWER]}
    for first, second in ((texts, chat), (chat, texts)):
        one, other = inspected("unsloth@2026.10", first, second)
        assert one.problem is None and other.problem is not None and "first row" in other.problem.what


def test_a_list_of_texts_is_told_as_not_known() -> None:
    (one,) = inspected("unsloth@2026.10", {"text": ["a", "b"]})
    assert one.problem is not None and "sftui does not model" in one.problem.why
