"""render.date: the day that rows write, whoever renders them."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path

import pytest

from sftui import pipeline, trainers
from sftui.model import Row
from sftui.recipe import changed
from sftui.tokens import load_tokenizer
from sftui.trainers.own_config import losses_of

DATED = (
    "{{ strftime_now('%d %b %Y %H:%M') }}\n{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TOOLS = json.dumps([{"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}}])
MESSAGES = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo"}]


def text_of(preset: str, data: dict[str, object], template: str, day: str) -> str:
    recipe = changed(changed(trainers.preset(preset), "render.template", template), "render.date", day)
    row = Row(0, data, json.dumps(data), "line 1")
    tools = pipeline.make_toolbox(recipe, load_tokenizer("builtin:chatml"))
    detected = pipeline.detect([row], recipe)
    tools = replace(tools, templates=pickle.loads(pickle.dumps(dict(tools.templates))))  # as other processes get them
    tools = pipeline.survey(row, detected, recipe, tools)
    found = pipeline.inspect(row, detected, recipe, tools)
    assert found.problem is None and found.rendered is not None, found.problem
    if found.rendered.prompt is not None:
        assert found.rendered.text.startswith(found.rendered.prompt)
    return found.rendered.text


@pytest.mark.parametrize("preset", ["hf-trainer", "manual-shift", "trl@1.16", "unsloth@2026.10", "axolotl@0.19"])
def test_a_pinned_day_stands_in_every_row_with_its_hours_at_midnight(preset: str, tmp_path: Path) -> None:
    file = tmp_path / "dated.jinja"
    file.write_text(DATED)
    rendered = text_of(preset, {"messages": MESSAGES}, f"file:{file}", "2025-03-05")
    assert rendered.startswith("05 Mar 2025 00:00\n")
    days = {datetime.now().strftime("%d %b %Y")}
    today = text_of(preset, {"messages": MESSAGES}, f"file:{file}", "today")
    days.add(datetime.now().strftime("%d %b %Y"))
    assert today[:11] in days


def test_llama_factorys_tools_write_the_pinned_day() -> None:
    data: dict[str, object] = {
        "conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Yo"}],
        "tools": TOOLS,
    }
    assert "Today Date: 05 Mar 2025\n" in text_of("llamafactory@0.9", data, "llamafactory/llama3", "2025-03-05")
    before = date.today()
    found = text_of("llamafactory@0.9", data, "llamafactory/llama3", "today")
    assert any(f"Today Date: {day:%d %b %Y}\n" in found for day in (before, date.today()))


def test_trls_training_copy_of_a_template_writes_the_pinned_day() -> None:
    from sftui.templates import compile_template
    from sftui.trainers.base import Toolbox
    from sftui.trainers.trl.trainer import training_toolbox

    tagged = compile_template("{% generation %}{% endgeneration %}{{ strftime_now('%Y') }}", "t")
    pinned = tagged.on(lambda: datetime(1999, 1, 1))
    tools = training_toolbox(Toolbox(load_tokenizer("builtin:chatml"), {"default": pinned}))
    assert tools.templates["default"].now().year == 1999


@pytest.mark.parametrize("preset", trainers.preset_names())
def test_an_export_says_that_the_trainer_writes_the_day_of_its_run(preset: str) -> None:
    trainer = trainers.trainer_named(preset)
    losses = losses_of(changed(trainers.preset(preset), "render.date", "2025-03-05"))
    if preset in ("hf-trainer", "manual-shift"):
        assert losses == ()
    else:
        assert len(losses) == 1 and losses[0].startswith("render.date = '2025-03-05' has no ")
        assert losses[0].endswith(f"{trainer.title} inserts the date of its run")
