"""A zoo of templates that mean harm: each ends soon, in a TemplateError, and leaves the process as it was."""

from __future__ import annotations

import contextlib
import pickle
import threading
from pathlib import Path
from typing import Any

import pytest

from sftui.errors import TemplateError
from sftui.model import Conversation, Kind, Message
from sftui.recipe import Render
from sftui.templates import compile_template, limits, load_template_file, render

MESSAGES = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]

REACHING = {
    "dunder_class": "{{ messages.__class__ }}{{ messages.__class__.__mro__ }}",
    "subclasses": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "format_attribute": "{{ '{0.__class__.__mro__}'.format(messages) }}",
    "format_map_attribute": "{{ '{a.__class__}'.format_map({'a': 1}) }}",
    "attr_filter": "{{ messages | attr('__class__') | attr('__mro__') }}",
    "globals": "{{ raise_exception.__globals__ }}",
    "function_code": "{{ strftime_now.__func__.__code__ }}",
    "environment": "{{ self._TemplateReference__context.environment.loader }}",
    "mutate": "{{ messages.append({'role': 'user'}) }}",
    "clear": "{{ messages[0].clear() }}",
    "cycler_init": "{{ cycler.__init__.__globals__ }}",
    "namespace_dunder": "{% set ns = namespace(__class__=1) %}",
    "lipsum_globals": "{{ lipsum.__globals__['os'].popen('id').read() }}",
    "include": "{% include '/etc/passwd' %}",
    "import": "{% import '/etc/passwd' as p %}{{ p }}",
    "extends": "{% extends '/etc/passwd' %}",
    "open": "{{ open('/etc/passwd').read() }}",
    "map_attribute": "{{ [messages] | map(attribute='__class__') | first | attr('__mro__') }}",
}

BROKEN = {
    "unclosed": "{% for m in messages %}",
    "unknown_tag": "{% exec 'x' %}",
    "unknown_filter": "{{ messages | nosuchfilter }}",
    "deep_parentheses": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "deep_nots": "{{ " + "not " * 20000 + "1 }}",
    "long_sum": "{{ " + "+".join(["x"] * 20000) + " }}",
    "deep_ifs": "{% if 1 %}" * 2000 + "{% endif %}" * 2000,
    "deep_lists": "{{ " + "[" * 3000 + "]" * 3000 + " }}",
    "many_loops": "{% for a in b %}" * 60 + "{% endfor %}" * 60,
    "too_long": "x" * (limits.SOURCE_LIMIT + 1),
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


@pytest.mark.parametrize("name", sorted(REACHING))
def test_reaching_out_of_the_sandbox_gives_nothing_away(name: str) -> None:
    before = pickle.dumps(MESSAGES)
    try:
        text, _ = compile_template(REACHING[name], "hostile").text(MESSAGES, variables={})
    except TemplateError:
        text = ""
    assert not text.strip(), text[:300]
    assert pickle.dumps(MESSAGES) == before


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_what_cannot_be_compiled_is_told(name: str) -> None:
    _ends(BROKEN[name])


@pytest.mark.parametrize("name", sorted(FAILING))
def test_what_fails_on_a_conversation_is_told(name: str) -> None:
    _ends(FAILING[name])


def _steps(source: str, count: int = 2) -> int:
    """How many messages' worth of a template render before it is refused; the same in every run."""
    for messages in range(count, 0, -1):
        with contextlib.suppress(TemplateError):
            compile_template(source, "t").text(MESSAGES[:1] * messages, variables={})
            return messages
    return 0


def test_what_decides_is_counted_in_steps_on_any_thread() -> None:
    """The messages pay for their own: a long conversation renders, a loop over nothing does not."""
    loops = "{% for m in messages %}{% for i in range(#) %}{% endfor %}{% endfor %}"
    assert _steps(loops.replace("#", "1500"), 700) == 700
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(_steps(loops.replace("#", "90000"), 20)))
    thread.start()
    thread.join()
    assert found == [_steps(loops.replace("#", "90000"), 20)] == [11]
    with pytest.raises(TemplateError, match="runs for too long"):
        compile_template("{% for i in range(99999) %}{% for j in range(99) %}{% endfor %}{% endfor %}", "t").text(
            MESSAGES, variables={}
        )


def test_the_renders_for_spans_are_counted_in_work(monkeypatch: pytest.MonkeyPatch) -> None:
    template = compile_template(
        "{% for m in messages %}{% for i in range(300) %}{% endfor %}{{ m.content }}{% endfor %}", "t"
    )
    messages = tuple(Message({"role": "user", "content": str(i) * 3}) for i in range(30))

    def drawn(most: int) -> int:
        monkeypatch.setattr(limits, "SPAN_WORK", most)
        renders: list[object] = []
        real = type(template).text

        def counted(*args: Any, **kwargs: Any) -> Any:
            renders.append(args)
            return real(*args, **kwargs)

        monkeypatch.setattr(type(template), "text", counted)
        render(
            Conversation(Kind.CHAT, "messages", messages),
            template,
            special_tokens={},
            options=Render(),
            prompt_messages=None,
        )
        monkeypatch.setattr(type(template), "text", real)
        return len(renders)

    unbounded = drawn(10**9)
    assert 1 < drawn(0) < unbounded and drawn(0) == drawn(0)


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
