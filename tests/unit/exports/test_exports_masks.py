"""What is trained before an export is trained by the exported config, read back; where it is not, the export says so in
words."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from sftui import pipeline
from sftui.conversations import detect
from sftui.errors import ExportError, SftuiError
from sftui.exports.conversion import reread
from sftui.exports.plan import ExportPlan, plan_export
from sftui.exports.prepared import ExportInput
from sftui.model import Row
from sftui.recipe import Data, Recipe, changed
from sftui.sources.source import LINES
from sftui.templates import compile_template
from sftui.tokens import LoadedTokenizer, load_tokenizer
from sftui.trainers import preset
from sftui.trainers.config import WrittenConfig, WrittenFile

TURNS = (
    ("system", "sysword here"),
    ("user", "userone here"),
    ("assistant", "answerone here"),
    ("user", "usertwo here"),
    ("assistant", "answertwo here"),
)
NAMES = {"user": "human", "assistant": "gpt"}
ROWS: Mapping[str, Mapping[str, Any]] = {
    "messages": {"messages": [{"role": role, "content": text} for role, text in TURNS]},
    "messages-elsewhere": {"dialogue": [{"role": role, "content": text} for role, text in TURNS]},
    "sharegpt": {"conversations": [{"from": NAMES.get(role, role), "value": text} for role, text in TURNS]},
    "alpaca": {"instruction": "userone here", "input": "usertwo here", "output": "answerone here"},
    "alpaca-response": {"instruction": "userone here", "input": "usertwo here", "response": "answerone here"},
    "pair": {"prompt": "userone here", "completion": " answerone here"},
    "question-answer": {"question": "userone here", "answer": " answerone here"},
    "pair-of-messages": {
        "prompt": [{"role": "user", "content": "userone here"}],
        "completion": [{"role": "assistant", "content": "answerone here"}],
    },
    "text": {"text": "It is userone here and answerone here"},
    "text-elsewhere": {"content": "It is userone here and answerone here"},
    "ids": {
        "input_ids": list(range(300, 340)),
        "labels": [-100] * 20 + list(range(320, 340)),
        "attention_mask": [1] * 40,
    },
}
"""A row of each shape, its parts told apart by their words."""

WORDS = ("sysword", "userone", "usertwo", "answerone", "answertwo")
TAGGED = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{% if m['role'] == 'assistant' %}{% generation %}{{"
    " m['content'] }}<|im_end|>{% endgeneration %}{% else %}{{ m['content'] }}<|im_end|>{% endif %}\n{% endfor %}{% if"
    " add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
STARTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "hf-trainer": ("hf-trainer", {}),
    "hf-trainer assistant": ("hf-trainer", {"mask.rule": "assistant"}),
    "hf-trainer tagged": ("hf-trainer", {"mask.rule": "assistant", "render.template": "TAGGED"}),
    "manual-shift": ("manual-shift", {}),
    "trl": ("trl@1.16", {}),
    "trl tagged": ("trl@1.16", {"mask.rule": "generation_tag", "render.template": "TAGGED"}),
    "axolotl": ("axolotl@0.19", {}),
    "llamafactory": ("llamafactory@0.9", {}),
    "llamafactory last": ("llamafactory@0.9", {"mask.turns": "last"}),
    "unsloth": ("unsloth@2026.10", {}),
    "unsloth markers": ("unsloth@2026.10", {"mask.rule": "markers"}),
    "torchtune 0.6": ("torchtune@0.6.1", {}),
    "torchtune": ("torchtune@0.7", {}),
    "torchtune last": ("torchtune@0.7", {"mask.rule": "turn_full", "mask.turns": "last"}),
}
TARGETS = ("trl", "axolotl", "llamafactory", "unsloth", "torchtune", "torchtune@0.6.1")
STOPPED = re.compile(r"stop|refuses|cannot read|leaves the roles|needs to be told|does not find these columns")
OTHERWISE = re.compile(r"trains|has no equal")


@cache
def tokenizer() -> LoadedTokenizer:
    return load_tokenizer("builtin:chatml")


def recipe_of(start: str, folder: Path) -> Recipe:
    name, knobs = STARTS[start]
    recipe = changed(preset(name), "tokenizer.name", "builtin:chatml")
    for path, value in knobs.items():
        if value == "TAGGED":
            (folder / "tagged.jinja").write_text(TAGGED)
            value = f"file:{folder / 'tagged.jinja'}"
        recipe = changed(recipe, path, value)
    return recipe


def trained(recipe: Recipe, row: Row) -> str:
    """The words that are trained; what stops, where something does."""
    try:
        found = pipeline.detect([row], recipe)
        if found.refused is not None:
            return f"stopped: {found.refused.what}"
        tools = pipeline.survey(row, found, recipe, pipeline.make_toolbox(recipe, tokenizer()))
    except SftuiError as error:
        return f"stopped: {error}"
    one = pipeline.inspect(row, found, recipe, tools, text=True)
    if one.problem is not None or one.tokens is None or one.labels is None:
        return f"stopped: {one.problem.what if one.problem else ''}"
    if one.labels.dropped:
        return f"stopped: {one.labels.dropped}"
    text = b"".join(
        surface if label != -100 else b"|" for surface, label in zip(one.token_text.surfaces, one.labels.labels)
    ).decode("utf-8", "replace")
    return (
        " ".join(word for word in WORDS if word in text)
        or f"{sum(label != -100 for label in one.labels.labels)} of {len(one.labels.labels)}"
    )


def planned(start: Recipe, row: Row, to: str, folder: Path, looking: bool = True) -> tuple[ExportPlan, Recipe]:
    """The export, and the recipe that its config is when it is read back; `looking`: at the data."""
    source = TAGGED if start.render.template.startswith("file:") else None
    assert source is None or compile_template(source, "tagged")
    prepared = ExportInput(
        paths=(str(folder / "rows.jsonl"),),
        loading=LINES,
        detected=pipeline.detect([row], start),
        tokenizer=tokenizer().facts,
        template_source=source,
        plainly=detect([row], Data()),
        sample=(row,) if looking else (),
    )
    plan = plan_export(to, str(folder / "out"), start, start, prepared)
    if plan.converted is not None:
        return plan, plan.converted
    files = tuple(WrittenFile(file.path.name, file.content) for file in plan.files if file.path.name != "recipe.yaml")
    return plan, reread(start, WrittenConfig(files))


@pytest.mark.one_of(6)
@pytest.mark.parametrize("shape", ROWS)
@pytest.mark.parametrize("start", STARTS)
def test_the_mask_is_carried_or_the_loss_is_told(start: str, shape: str, tmp_path: Path) -> None:
    recipe, row = recipe_of(start, tmp_path), Row(0, ROWS[shape], json.dumps(ROWS[shape]), "rows.jsonl line 1")
    before = trained(recipe, row)
    if before.startswith("stopped"):  # an export of what does not run is refused, or nobody's
        return
    for to in TARGETS:
        try:
            plan, after = planned(recipe, row, to, tmp_path)
        except ExportError as refused:
            assert STOPPED.search(str(refused)) and refused.why and refused.fix, refused
            _, after = planned(recipe, row, to, tmp_path, looking=False)
            assert trained(after, row).startswith("stopped"), f"{to} would take this and is refused: {refused}"
            continue
        now = trained(after, row)
        if now == before:
            continue
        wanted = STOPPED if now.startswith("stopped") else OTHERWISE
        assert any(wanted.search(note) for note in plan.notes), (
            f"{to}: `{before}` becomes `{now}`, and the export says {plan.notes}"
        )


@pytest.mark.parametrize(
    "names", [("ask", "given", "reply"), ("instruction", "input", "response"), ("instruction", "context", "output")]
)
def test_columns_that_axolotl_does_not_know_are_named_with_the_same_prompt(
    names: tuple[str, str, str], tmp_path: Path
) -> None:
    texts = ("Add.", "1 and 2", "3")
    usual = Row(0, dict(zip(("instruction", "input", "output"), texts)), "", "rows.jsonl line 1")
    other = Row(0, dict(zip(names, texts)), "", "rows.jsonl line 1")
    base = recipe_of("hf-trainer", tmp_path)
    start = changed(base, "data.fields", dict(zip(("instruction", "input", "output"), names)))
    ids = []
    for recipe, row in ((base, usual), (start, other)):
        _, after = planned(recipe, row, "axolotl", tmp_path)
        found = pipeline.detect([row], after)
        one = pipeline.inspect(row, found, after, pipeline.make_toolbox(after, tokenizer()))
        assert one.tokens is not None and one.labels is not None, one.problem
        ids.append((one.tokens.input_ids, one.labels.labels))
    assert ids[0] == ids[1]


def test_a_rule_and_a_version_of_the_same_trainer_are_told_for_what_they_are(tmp_path: Path) -> None:
    row = Row(0, ROWS["messages"], json.dumps(ROWS["messages"]), "rows.jsonl line 1")
    plan, after = planned(recipe_of("trl", tmp_path), row, "trl@1.8", tmp_path)
    assert after.mask.boundary == "prompt_length" and not any("mask.boundary" in note for note in plan.notes)
    plan, after = planned(
        changed(recipe_of("hf-trainer", tmp_path), "length.over", "drop"), row, "llamafactory", tmp_path
    )
    assert not any("length.over" in note for note in plan.notes), "nothing is over no limit"


def test_files_are_named_by_absolute_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    row = Row(0, ROWS["messages"], json.dumps(ROWS["messages"]), "rows.jsonl line 1")
    (tmp_path / "rows.jsonl").write_text(json.dumps(row.data))
    recipe = recipe_of("hf-trainer tagged", tmp_path)
    for to in ("trl", "axolotl", "llamafactory", "unsloth", "torchtune"):
        prepared = ExportInput(
            paths=("rows.jsonl",),
            loading=LINES,
            detected=pipeline.detect([row], recipe),
            tokenizer=tokenizer().facts,
            template_source=TAGGED,
            plainly=detect([row], Data()),
            sample=(row,),
        )
        plan = plan_export(to, "made", recipe, recipe, prepared)
        text = "\n".join(file.content for file in plan.files if file.path.name != "recipe.yaml")
        assert str(tmp_path / "rows.jsonl") in text, to
        if to in ("trl", "axolotl", "unsloth"):
            assert str(tmp_path / "made" / "chat_template.jinja") in text
        if to == "llamafactory":
            assert f"dataset_dir: {tmp_path / 'made'}" in text
        assert sum("paths are absolute" in note for note in plan.notes) == 1
