"""Templates that reach for what is not theirs, are broken or fail: each ends in a TemplateError and changes nothing."""

from __future__ import annotations

import pickle
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment

from sftui.errors import TemplateError
from sftui.templates import compile_template, load_template_file
from sftui.templates.rendering import sandbox
from sftui.templates.rendering.behaviour import rendering_of

MESSAGES = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]


class Thing:
    """A stand-in for whatever a template may come to hold: one attribute to show, and one that is nobody's business."""

    shown, _hidden = "shown", "hidden"

    def risky(self) -> str:
        return "hidden"

    risky.unsafe_callable = True  # type: ignore[attr-defined]


REFUSED = {
    "attribute": "{{ thing._hidden }}",
    "item": "{{ thing['_hidden'] }}",
    "of a method": "{{ thing.risky._hidden }}",
    "attr filter": "{{ thing | attr('_hidden') }}",
    "format": "{{ '{0._hidden}'.format(thing) }}",
    "format of markup": "{{ ('{0._hidden}' | safe).format(thing) }}",
    "format by name": "{{ '{a._hidden}'.format(a=thing) }}",
    "format_map": "{{ '{a._hidden}'.format_map({'a': thing}) }}",
    "map by attribute": "{{ [thing] | map(attribute='_hidden') | first }}",
    "sum by attribute": "{{ [thing] | sum(attribute='_hidden', start='') }}",
    "a call that is not safe": "{{ thing.risky() }}",
    "in a loop": "{% for one in [thing] %}{{ one._hidden }}{% endfor %}",
    "append": "{{ messages.append({'role': 'user'}) }}",
    "clear": "{{ messages[0].clear() }}",
    "update by the type": "{{ dict.update(messages[0], {'a': 1}) }}",
    "namespace": "{% set ns = namespace(_hidden=1) %}{{ ns._hidden }}",
    "include": "{% include 'other.jinja' %}",
    "import": "{% import 'other.jinja' as other %}{{ other }}",
    "extends": "{% extends 'other.jinja' %}",
    "open": "{{ open('other.jinja').read() }}",
}

BROKEN = {
    "unclosed": "{% for m in messages %}",
    "unknown_tag": "{% exec 'x' %}",
    "unknown_filter": "{{ messages | nosuchfilter }}",
    "many_loops": "{% for a in b %}" * 25 + "{% endfor %}" * 25,
}

FAILING = {
    "type": "{{ 'a' + 1 }}",
    "undefined": "{{ nothing.at.all }}",
    "zero": "{{ 1 // 0 }}",
    "raise": "{{ raise_exception('no') }}",
    "raise_number": "{{ raise_exception(3) }}",
    "strftime": "{{ strftime_now(3) }}",
    "infinite_int": "{{ (1e308 * 10) | int + 1 - 'a' }}",
    "key": "{{ messages[7].role + 'x' }}",
    "call_nothing": "{{ none() }}",
    "json_of_function": "{{ raise_exception | tojson }}",
}


def _ends(source: str) -> TemplateError:
    with pytest.raises(TemplateError) as caught:
        compile_template(source, "hostile").text(MESSAGES, variables={"bos_token": "<s>"})
    assert len(str(caught.value)) < 1500
    assert pickle.loads(pickle.dumps(caught.value)).what == caught.value.what
    return caught.value


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("release", ["4.40.0", "5.13.0", "5.22.2"])
def test_what_the_sandbox_refuses_by_rule_gives_nothing_away(
    name: str, release: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names that begin with an underscore, calls marked as unsafe, changes of what is given, other files."""
    (tmp_path / "other.jinja").write_text("hidden")
    monkeypatch.chdir(tmp_path)
    template = compile_template(REFUSED[name], "hostile", rendering=rendering_of(release))
    template._environment.globals["thing"] = Thing()
    before = pickle.dumps(MESSAGES)
    try:
        text, _ = template.text(MESSAGES, variables={})
    except TemplateError as error:
        text = ""
        assert "hidden" not in str(error).replace("_hidden", "")
    assert not text.strip()
    assert pickle.dumps(MESSAGES) == before


def test_what_is_not_hidden_is_shown() -> None:
    """The stand-in is one that a template can hold: the rules are what keeps the rest from it."""
    template = compile_template("{{ thing.shown }}{{ '{0.shown}'.format(thing) }}", "t")
    template._environment.globals["thing"] = Thing()
    assert template.text(MESSAGES, variables={})[0] == "shownshown"


def test_the_rules_are_those_of_the_sandbox() -> None:
    """Which attributes and calls are safe is for jinja2 to say; nothing of ours stands in between."""
    for rule in ("is_safe_attribute", "is_safe_callable", "getattr", "getitem", "unsafe_undefined"):
        assert getattr(sandbox.ChatEnvironment, rule) is getattr(ImmutableSandboxedEnvironment, rule), rule
    environment, _ = sandbox.compile_source("x", datetime.now)
    assert environment.loader is None


@pytest.mark.parametrize("name", ["raise_exception", "strftime_now", "dict", "namespace", "lipsum", "cycler", "joiner"])
def test_what_templates_can_call_hides_what_it_is_made_of(name: str) -> None:
    template = compile_template(f"{{{{ {name}._hidden }}}}", "t")
    found: Any = template._environment.globals[name]

    def made_up(*given: object, **named: object) -> object:
        return found(*given, **named)

    made_up._hidden = "hidden"  # type: ignore[attr-defined]
    template._environment.globals[name] = made_up
    assert template.text(MESSAGES, variables={})[0] == ""


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_what_cannot_be_compiled_is_told(name: str) -> None:
    _ends(BROKEN[name])


@pytest.mark.parametrize("name", sorted(FAILING))
def test_what_fails_on_a_conversation_is_told(name: str) -> None:
    _ends(FAILING[name])


def test_a_template_renders_again_after_it_failed() -> None:
    template = compile_template("{% generation %}{{ messages[0].content + '' }}{% endgeneration %}", "t")
    with pytest.raises(TemplateError):
        template.text([{"role": "user", "content": 3}], variables={})
    assert template.text([{"role": "user", "content": "x"}], variables={}) == ("x", ((0, 1),))


def test_large_honest_content_passes() -> None:
    text, _ = compile_template(
        "{% for m in messages %}{{ '<' + m.role + '>' + m.content | trim ~ '\n' }}{% endfor %}", "t"
    ).text(
        [{"role": "user", "content": "x" * 16_000_000}],
        variables={},
    )
    assert len(text) == 16_000_007


def test_a_template_file_that_is_missing_or_not_text_is_told(tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match="cannot be read"):
        load_template_file(tmp_path / "none.jinja")
    bad = tmp_path / "bad.jinja"
    bad.write_bytes(b"\xff\xfe{{ 1 }}")
    with pytest.raises(TemplateError, match="not UTF-8"):
        load_template_file(bad)
