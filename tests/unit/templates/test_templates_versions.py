"""What a template sees and gives depends on the version of transformers that it is rendered as."""

from __future__ import annotations

import pickle
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from sftui.errors import TemplateError
from sftui.model import Row
from sftui.pipeline import detect, inspect, make_toolbox
from sftui.recipe import Recipe, changed
from sftui.templates import compile_template, rendering_of
from sftui.templates.rendering.behaviour import BEHAVIOURS, LATEST, NEWEST, not_read
from sftui.tokens import load_tokenizer
from sftui.trainers import trainer_named
from sftui.trainers.own_config import notes_of

USER = {"role": "user", "content": "hi"}
REASONED = {"role": "assistant", "content": "x", "reasoning": "hm"}
REFUSED = "refused"


def text(template: str, messages: list[dict[str, Any]], version: str, **more: Any) -> str:
    """What a template gives under a version of transformers, or REFUSED."""
    made = compile_template(template, "t", rendering=rendering_of(version))
    try:
        return made.text(messages, variables=more.pop("variables", {}), **more)[0]
    except TemplateError:
        return REFUSED


CHANGES: dict[str, tuple[str, list[dict[str, Any]], str, str, str, str | None]] = {
    # template, messages, the last version before, what it gives, the first after, what that gives (all recorded)
    "null key": ("{{ messages[0].content }}", [{"role": "user", "content": None}], "5.22.2", "None", "5.23.0", ""),
    "reasoning": ("{{ messages[0].thinking }}", [REASONED], "5.20.1", "", "5.21.0", "hm"),
    "reasoning content": ("{{ messages[0].reasoning_content }}", [REASONED], "5.20.1", "", "5.21.0", "hm"),
    "date": (
        "{{ messages[0].content }}",
        [{"role": "user", "content": date(2026, 1, 2)}],
        "5.22.1",
        "2026-01-02",
        "5.22.2",
        "<date>",
    ),
    "decimal": (
        "{{ messages[0].content + 1 }}",
        [{"role": "user", "content": Decimal("1.50")}],
        "5.22.1",
        "2.50",
        "5.22.2",
        REFUSED,
    ),
    "bytes": (
        "{{ messages[0].content }}",
        [{"role": "user", "content": b"a\xff"}],
        "5.22.1",
        "b'a\\xff'",
        "5.22.2",
        "<bytes>",
    ),
    "date to json": (
        "{{ messages | tojson }}",
        [{"role": "user", "at": datetime(2026, 1, 2)}],
        "5.22.1",
        REFUSED,
        "5.22.2",
        '[{"role": "user", "at": "<datetime>"}]',
    ),
    "methods of dict": ("{{ dict.get(messages[0], 'role') }}", [USER], "5.22.1", "user", "5.22.2", REFUSED),
    "dict itself": ("{{ dict }}", [USER], "5.22.1", "<class 'dict'>", "5.22.2", None),
    "namespace": ("{% set n = namespace(_a=1) %}{{ n }}", [USER], "5.22.1", "<Namespace {'_a': 1}>", "5.22.2", REFUSED),
    "namespace set": (
        "{% set n = namespace() %}{% set n._a = 1 %}{{ n }}",
        [USER],
        "5.22.1",
        "<Namespace {'_a': 1}>",
        "5.22.2",
        REFUSED,
    ),
}


@pytest.mark.parametrize("name", sorted(CHANGES))
def test_what_changed_with_a_release(name: str) -> None:
    template, messages, before, was, after, now = CHANGES[name]
    assert text(template, messages, before) == was
    if now is not None:
        assert text(template, messages, after) == now
    else:
        assert text(template, messages, after) != was


TAGGED = "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}"


@pytest.mark.parametrize(
    ("template", "version", "spans"),
    [
        (TAGGED, "5.3.0", ((2, 3),)),
        (TAGGED, "5.4.0", ((0, 2), (2, 3))),
        ("a" + TAGGED, "5.3.0", ((1, 3), (3, 4))),
        ("a" + TAGGED, "4.57.6", ((1, 3), (3, 4))),
    ],
)
def test_a_first_generation_block_before_5_4(template: str, version: str, spans: tuple[tuple[int, int], ...]) -> None:
    made = compile_template(template, "t", rendering=rendering_of(version))
    assert made.text([USER, REASONED], variables={})[1] == spans


def test_an_empty_conversation_is_refused_by_every_version_in_its_words() -> None:
    for version, why in (("5.12.1", "IndexError"), ("5.13.0", "at least one message")):
        with pytest.raises(TemplateError, match=why):
            compile_template("x", "t", rendering=rendering_of(version)).text([], variables={})


@pytest.mark.parametrize("tools", [[], (), "", {}])
def test_no_tools_at_all_is_not_an_empty_list_of_them(tools: Any) -> None:
    for version in ("4.57.6", "5.23.0"):
        assert text("{{ tools is none }} {{ tools }}", [USER], version, tools=tools) == "False []"
        assert text("{{ tools is none }}", [USER], version, tools=None) == "True"
        assert text("x", [USER], version, tools=["a"]) == REFUSED


def test_a_mapping_cannot_be_changed_in_place() -> None:
    with pytest.raises(TemplateError, match="not allowed"):
        compile_template("{{ dict.update(messages[0], {'a': 1}) }}", "t", rendering=rendering_of("5.16.1")).text(
            [USER], variables={}
        )


def test_the_table_begins_each_behaviour_at_its_release() -> None:
    assert rendering_of("5.22.1").version == "5.21.0"
    assert rendering_of("5.24.0") is rendering_of("6.0") is rendering_of("") is NEWEST
    assert rendering_of("4.30.0") is BEHAVIOURS[0]
    assert rendering_of("5.24.0rc1") is NEWEST
    assert len(set(BEHAVIOURS)) == len(BEHAVIOURS)


def test_versions_outside_the_read_ones_are_told_and_others_not() -> None:
    assert not_read("5.25.0") is not None and not_read("4.50.0") is not None
    assert [not_read(one) for one in (LATEST, "5.24.4", "4.55.0", "5.16.1", "")] == [None] * 5


def test_a_template_keeps_its_version_through_a_pipe() -> None:
    made = compile_template("{{ messages[0].content }}", "t", rendering=rendering_of("5.16.1"))
    again = pickle.loads(pickle.dumps(made))
    assert again.rendering == made.rendering
    assert again.text([{"role": "user", "content": None}], variables={})[0] == "None"


def shown(recipe: Recipe, tmp_path: Any) -> str:
    tools = make_toolbox(recipe, load_tokenizer("builtin:chatml", mode="provisional"))
    data = {"messages": [USER, {"role": "assistant", "content": "x", "name": None}]}
    row = Row(0, data, "", "row 0")
    found = inspect(row, detect([row], recipe), recipe, tools)
    assert found.rendered is not None, found.problem
    return found.rendered.text


def test_a_recipe_is_rendered_as_the_transformers_that_it_means(tmp_path: Any) -> None:
    file = tmp_path / "names.jinja"
    file.write_text("{% for m in messages %}{{ m.name is defined }};{% endfor %}")
    for preset, version, wanted in (
        ("trl", None, "False;False;"),
        ("trl", "5.16.1", "False;True;"),
        ("axolotl", "5.23.0", "False;False;"),
        ("hf-trainer", "4.57.6", "False;True;"),
    ):
        recipe = changed(trainer_named(preset).preset(), "render.template", f"file:{file}")
        assert shown(changed(recipe, "tokenizer.transformers", version), tmp_path) == wanted, (preset, version)


def test_a_transformers_that_was_not_read_is_noted_where_it_renders() -> None:
    for preset, count in (("trl", 1), ("axolotl", 1), ("llamafactory", 0), ("torchtune", 0)):
        recipe = changed(trainer_named(preset).preset(), "tokenizer.transformers", "5.99.0")
        notes = [note for note in notes_of(recipe) if "5.99.0 is newer" in note]
        assert len(notes) == count, preset
        usual = trainer_named(preset).preset()
        assert not [note for note in notes_of(usual) if "chat templates are rendered" in note]


def test_documents_are_mappings_in_every_version() -> None:
    for version in ("4.57.6", "5.23.0"):
        assert text("x", [USER], version, variables={"documents": ["T"]}) == REFUSED
        titled = {"documents": [{"title": "T"}]}
        assert text("{{ documents[0].title }}", [USER], version, variables=titled) == "T"


def test_bytes_and_text_are_decoded_and_encoded_inside_a_loop_too() -> None:
    raw = [{"role": "user", "content": b"ab"}]
    assert text("{% for m in messages %}{{ m.content.decode() }}{% endfor %}", raw, "5.16.1") == "ab"
    assert text("{% for m in messages %}{{ m.content.encode() | length }}{% endfor %}", [USER], "5.23.0") == "2"


def test_the_test_command_installs_a_transformers_whose_rules_are_known() -> None:
    text = (Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8")
    assert f'"transformers<={LATEST}"' in text
