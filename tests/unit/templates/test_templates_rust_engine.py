"""The second engine reaches nothing that a template could change, and is bounded by counts; inputs are harmless."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import minijinja
import pytest

from sftui.templates.rendering.limits import LimitExceeded
from sftui.templates.shortcuts import rust_engine
from sftui.templates.shortcuts.rust_engine import RustEngine, frozen, frozen_flat

MESSAGES = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi", "calls": [{"a": 1.5}]}]
NOW = datetime(2026, 2, 3)


def said(source: str) -> str:
    return RustEngine(source).text({"messages": frozen(MESSAGES)}, NOW)


@pytest.mark.parametrize(
    "change",
    [
        "messages.append(1)",
        "messages['append'](1)",
        "messages.pop()",
        "messages.extend([1])",
        "messages.sort()",
        "messages.copy().clear()",
        "messages[0].update({'a': 1})",
        "messages[0]['setdefault']('a', [])",
        "messages[0].copy().update({})",
        "messages[0].items().mapping.copy()",
        "messages[1].calls.insert(0, 1)",
        "messages[1].calls[0].pop('a')",
    ],
)
def test_nothing_that_a_row_holds_is_changed(change: str) -> None:
    before = repr(MESSAGES)
    with pytest.raises((minijinja.TemplateError, TypeError)):
        said("{{ " + change + " }}")
    assert repr(MESSAGES) == before


@pytest.mark.parametrize("name", ["__class__", "__init__", "__dict__", "__reduce__"])
def test_names_of_the_language_show_nothing(name: str) -> None:
    for what in ("messages", "messages[0]", "raise_exception", "strftime_now"):
        assert said("{{ " + f"{what}.{name}" + " }}") == said("{{ " + f"{what}['{name}']" + " }}") == ""


def test_only_plain_data_is_let_in() -> None:
    for value in (date(2026, 1, 2), b"a", (1, 2), {1: 2}, [{"a": {1}}], type("Text", (str,), {})("a")):
        with pytest.raises(TypeError):
            frozen(value)
    assert frozen(MESSAGES) == MESSAGES == said_as_python()
    assert frozen_flat(MESSAGES[:1]) == MESSAGES[:1]


def said_as_python() -> Any:
    import json

    return json.loads(said("{{ messages | tojson }}"))


def test_steps_are_bounded_by_fuel(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "{% for i in range(200) %}{{ i % 2 }}{% endfor %}"
    assert len(said(source)) == 200
    monkeypatch.setattr(rust_engine, "FUEL", rust_engine.FUEL // 10)
    with pytest.raises(minijinja.TemplateError, match="fuel"):
        said(source)


def test_a_long_source_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said("a" * 40) == "a" * 40
    monkeypatch.setattr(rust_engine, "MOST_SOURCE", rust_engine.MOST_SOURCE >> 10)
    with pytest.raises(LimitExceeded):
        said("a" * 40)


@pytest.mark.parametrize(
    "source",
    ["{{ 'a' * 3 }}", "{{ ([1] * 3) | list }}", "{{ '{:3}'.format(1) }}", "{{ messages[0].content . format(1) }}"],
)
def test_what_makes_as_much_as_a_number_says_is_not_tried(source: str) -> None:
    with pytest.raises(LimitExceeded):
        RustEngine(source)


@pytest.mark.parametrize(
    "value",
    [
        *("'a' | indent(3)", "'%3d' | format(1)", "[1] | batch(3, 'x') | list", "'a' | attr('center')", "'a' | pprint"),
        *("'%3d' % 1", "'a'.center(3)", "'a'.ljust(3)", "'1'.zfill(3)", "'a' | center(3)", "['a'] | map('format', 3)"),
        *("'a'['format'](1)", "('a' | safe)['format'](1)"),
    ],
)
def test_what_else_pads_is_not_there(value: str) -> None:
    with pytest.raises(minijinja.TemplateError):
        said("{{ (" + value + ") | string }}")


def test_generation_tags_change_nothing_but_white_space() -> None:
    source = "a\n{%- generation -%}\n b {% endgeneration %}\nc {% generation %}d{%- endgeneration %}"
    assert said(source) == "ab c d"
    assert said("{{ strftime_now('%Y') }}{{ none is iterable }}") == "2026False"
