"""Rendered text and generation spans against each version of transformers itself."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Any

import environments
import made_templates
import made_tokenizers
import pytest
import record_versions

from sftui.errors import SftuiError, TemplateError
from sftui.labels import label
from sftui.model import IGNORE_INDEX, Conversation, Kind, RenderedText
from sftui.recipe import changed
from sftui.templates import compile_template, rendering_of
from sftui.tokens import LoadedTokenizer, load_tokenizer, tokenize
from sftui.trainers import trainer_named

pytestmark = pytest.mark.parity
NOON = datetime(2026, 11, 20, 12, 30)


def environment(version: str) -> None:
    if not record_versions.python_of(version).exists():
        pytest.skip(f"transformers {version} is not there: run tests/parity/environments.py transformers@{version}")


def ours(case: made_templates.Case, version: str, special: dict[str, str]) -> dict[str, Any]:
    """What sftui makes of a case, in the shape of the record; `error` where it refuses."""

    def text(**more: Any) -> Any:
        variables = {**special, **case.chat.kwargs}
        try:
            template = compile_template(case.template, case.name, rendering=rendering_of(version))
            return template.text(case.chat.messages, tools=case.chat.tools, variables=variables, now=NOON, **more)
        except TemplateError as error:
            return {"error": str(error)}

    plain = text()
    made = {"text": plain, "prompt": text(add_generation_prompt=True)}
    if "{% generation %}" in case.template:
        made["spans"] = [list(span) for span in plain[1]] if isinstance(plain, tuple) else plain
        made["mask"] = mask(plain, version) if isinstance(plain, tuple) else plain
    return {key: value[0] if isinstance(value, tuple) else value for key, value in made.items()}


def mask(rendered: tuple[str, Any], version: str) -> Any:
    """Which tokens the rule generation_tag trains under a version, as 0 and 1."""
    overlapping = rendering_of(version).masks_overlaps
    made = RenderedText(rendered[0], generation=rendered[1], has_generation_tag=True, overlapping=overlapping)
    recipe = changed(trainer_named("hf-trainer").preset(), "mask.rule", "generation_tag")
    recipe = changed(recipe, "tokenize.add_special_tokens", False)
    try:
        tokens = tokenize(made, tokenizer(), recipe.tokenize)
        labels = label(tokens, made, Conversation(Kind.CHAT, "messages"), recipe).labels
    except SftuiError as error:
        return {"error": str(error)}
    return [int(one != IGNORE_INDEX) for one in labels]


@cache
def tokenizer() -> LoadedTokenizer:
    return load_tokenizer(str(made_tokenizers.folder(record_versions.RENDERS_WITH)))


def differs(theirs: Any, mine: Any) -> bool:
    """Whether an answer is another; two refusals are the same, whatever their words."""
    refused = [isinstance(one, dict) and "error" in one for one in (theirs, mine)]
    return refused[0] != refused[1] or (not refused[0] and theirs != mine)


@pytest.mark.parametrize("version", environments.TRANSFORMERS)
def test_every_template_renders_as_that_version_does(version: str) -> None:
    environment(version)
    special, recorded = record_versions.recorded_renders(version)
    cases = list(made_templates.cases())
    assert len(cases) == len(recorded) and len(made_templates.TEMPLATES) >= 60
    wrong, compared, refused = [], 0, 0
    for case in cases:
        theirs, mine = recorded[case.name], ours(case, version, special)
        for key, value in mine.items():
            compared += 1
            refused += isinstance(theirs[key], dict)
            if differs(theirs[key], value):
                wrong.append(f"{case.name}, {key}: {theirs[key]!r} there, {value!r} here")
    print(f"transformers {version}: {compared:,} renders compared ({refused:,} refused there), {len(wrong)} differing")
    assert not wrong, "\n".join(wrong[:40])


def test_versions_differ_on_many_of_them_and_the_newest_rules_alone_would_not_do() -> None:
    for version in environments.TRANSFORMERS:
        environment(version)
    newest = record_versions.recorded_renders(environments.TRANSFORMERS[-1])[1]
    decides = ("text", "spans", "mask")
    for version in environments.TRANSFORMERS[:-1]:
        recorded = record_versions.recorded_renders(version)[1]
        other = [
            name
            for name, theirs in recorded.items()
            if any(differs(value, newest[name][key]) for key, value in theirs.items() if key in decides)
        ]
        print(f"transformers {version}: {len(other):,} of {len(recorded):,} otherwise than by the newest")
        assert len(other) > 100
