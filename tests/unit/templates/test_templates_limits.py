"""What a template may ask for, each limit lowered and gone beyond by a little: nothing here is much for any engine."""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import Any

import pytest

from sftui.errors import TemplateError
from sftui.model import Conversation, Kind, Message
from sftui.recipe import Render
from sftui.templates import compile_template, render
from sftui.templates.rendering import limits
from sftui.templates.rendering.template import ChatTemplate

MESSAGES = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]


def lower(monkeypatch: pytest.MonkeyPatch, name: str, by: int) -> int:
    """A limit by so much lower; where somebody raises it, what a test asks for is within it again."""
    lowered: int = getattr(limits, name) // by
    monkeypatch.setattr(limits, name, lowered)
    return lowered


def said(source: str, messages: list[dict[str, str]] | None = None) -> str:
    """What is told of a template, which is one sentence; nothing where it renders."""
    try:
        compile_template(source, "t").text(messages or MESSAGES, variables={"bos_token": "<s>"})
    except TemplateError as error:
        assert "\n" not in str(error) and len(str(error)) < 1500
        return str(error)
    return ""


BY_NUMBER = {
    "repeat": "{{ 'a' * # }}",
    "repeat from the left": "{{ # * 'a' }}",
    "repeat a list": "{{ ([1] * #) | length }}",
    "repeat bytes": "{{ ('a'.encode() * #) | length }}",
    "repeat markup": "{{ ('a' | safe) * # }}",
    "repeat what a row holds": "{% set n = # %}{{ messages[0].role[0] * n }}",
    "percent, width": "{{ '%#d' % 1 }}",
    "percent, star": "{{ '%*d' % (#, 1) }}",
    "percent, precision": "{{ '%.#f' % 1.5 }}",
    "percent of bytes": "{{ 'a%#d'.encode() % 1 }}",
    "percent of markup": "{{ ('%#d' | safe) % 1 }}",
    "format, width": "{{ '{:#}'.format(1) }}",
    "format, nested width": "{{ '{:{}}'.format(1, #) }}",
    "format_map": "{{ '{a:#}'.format_map({'a': 1}) }}",
    "format of markup": "{{ ('{:#}' | safe).format(1) }}",
    "format filter": "{{ '%#d' | format(1) }}",
    "center filter": "{{ 'a' | center(#) }}",
    "center of each": "{{ ['a'] | map('center', #) | list | length }}",
    "center by attr": "{{ ('a' | attr('center'))(#) }}",
    "center method": "{{ 'a'.center(#) }}",
    "center of bytes": "{{ 'a'.encode().center(#) | length }}",
    "ljust": "{{ messages[0].content.ljust(#) }}",
    "rjust": "{{ 'a'.rjust(#) }}",
    "zfill": "{{ 'a'.zfill(#) }}",
    "expandtabs": "{{ '\t'.expandtabs(#) }}",
    "indent": "{{ 'a\nb' | indent(#) }}",
    "tojson indent": "{{ [1] | tojson(indent=#) }}",
    "to_bytes": "{{ (1).to_bytes(#, 'big') | length }}",
    "batch filled": "{{ [1] | batch(#, 'x') | first | length }}",
}


@pytest.mark.parametrize("name", BY_NUMBER)
def test_a_value_that_is_asked_for_by_a_number_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    most = lower(monkeypatch, "VALUE_LIMIT", 64)
    assert said(BY_NUMBER[name].replace("#", "1000000")) == "" and most >= 1_000_000
    assert "builds a value of more than 1 Mi characters" in said(BY_NUMBER[name].replace("#", "1100000"))


@pytest.mark.parametrize("source", ["{{ lipsum(n=#) }}", "{{ strftime_now('%d' * # * 5) }}"])
def test_what_makes_much_of_a_small_number_is_refused(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lower(monkeypatch, "VALUE_LIMIT", 64)
    assert said(source.replace("#", "10")) == ""
    assert "builds a value of more than 1 Mi characters" in said(source.replace("#", "110"))


LONG_NUMBERS = {
    "power": "{{ 7 ** # }}",
    "power of a power": "{{ (7 ** 50) ** (# // 50) }}",
    "square": "{% set n = 7 ** (# // 2) %}{{ n * n }}",
    "digits": "{{ ('9' * (2 * #)) | int }}",
    "digits of another base": "{{ ('f' * (2 * #)) | int(base=16) }}",
    "round": "{{ 3 | round(#, 'ceil') }}",
}


@pytest.mark.parametrize("name", LONG_NUMBERS)
def test_an_integer_of_many_digits_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert lower(monkeypatch, "DIGIT_BITS", 64) == 256
    assert said(LONG_NUMBERS[name].replace("#", "50")) == ""
    assert "an integer of thousands of digits" in said(LONG_NUMBERS[name].replace("#", "200"))


@pytest.mark.parametrize(
    "source",
    [
        "{% for i in range(#) %}{{ 'x' * 60000 }}{% endfor %}",
        "{% for i in range(#) %}{% generation %}{{ 'x' * 60000 }}{% endgeneration %}{% endfor %}",
    ],
)
def test_output_without_end_is_refused(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lower(monkeypatch, "OUTPUT_LIMIT", 64)
    assert said(source.replace("#", "17")) == ""
    assert "writes more than 1 Mi characters" in said(source.replace("#", "18"))


def test_a_source_that_is_too_long_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lower(monkeypatch, "SOURCE_LIMIT", 256) == 1 << 10
    assert said("x" * 1024) == ""
    assert "longer than 1 Ki characters" in said("x" * 2048)


STEPS = {
    "a loop": "{% for i in range(#) %}{% endfor %}",
    "a loop in a loop": "{% for i in range(10) %}{% for j in range(# // 10) %}{% endfor %}{% endfor %}",
    "a loop whose rounds are left out": "{% for i in range(#) if i >= 0 %}{% endfor %}",
    "calls": "{% macro f() %}{% endmacro %}{% for i in range(# // 2) %}{{ f() }}{% endfor %}",
    "calls of the caller": (
        "{% macro f() %}{{ caller() }}{% endmacro %}{% for i in range(# // 3) %}{% call f() %}{% endcall %}{% endfor %}"
    ),
    "methods": "{% for i in range(# // 2) %}{{ 'a'.upper() }}{% endfor %}",
    "a loop that calls itself": "{% for i in range(#) recursive %}{% if not i %}{{ loop([1]) }}{% endif %}{% endfor %}",
    "a loop that writes": "{% for i in range(#) %}x{% endfor %}",
    "loops in macros": "{% macro f() %}{% for i in range(# // 2) %}{% endfor %}{% endmacro %}{{ f() }}{{ f() }}",
    "loops in set blocks": "{% set b %}{% for i in range(#) %}{% endfor %}{% endset %}",
}


@pytest.mark.parametrize("name", STEPS)
def test_a_template_of_many_steps_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert lower(monkeypatch, "STEPS", 1000) == 1000
    lower(monkeypatch, "STEPS_PER_MESSAGE", 1000)
    assert said(STEPS[name].replace("#", "900")) == ""
    assert "runs for too long" in said(STEPS[name].replace("#", "2000"))


def rendered_messages(source: str, count: int) -> int:
    """How many messages' worth of a template render before it is refused; the same in every run."""
    for messages in range(count, 0, -1):
        if not said(source, MESSAGES[:1] * messages):
            return messages
    return 0


def test_what_decides_is_counted_in_steps_on_any_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The messages pay for their own: a long conversation renders, a loop over nothing does not."""
    lower(monkeypatch, "STEPS", 1000)
    lower(monkeypatch, "STEPS_PER_MESSAGE", 1000)
    loops = "{% for m in messages %}{% for i in range(#) %}{% endfor %}{% endfor %}"
    assert rendered_messages(loops.replace("#", "2"), 600) == 500
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(rendered_messages(loops.replace("#", "90"), 20)))
    thread.start()
    thread.join()
    assert found == [rendered_messages(loops.replace("#", "90"), 20)] == [11]


def test_the_renders_for_spans_are_counted_in_work(monkeypatch: pytest.MonkeyPatch) -> None:
    template = compile_template(
        "{% for m in messages %}{% for i in range(300) %}{% endfor %}{{ m.content }}{% endfor %}", "t"
    )
    messages = tuple(Message({"role": "user", "content": str(i) * 3}) for i in range(30))

    def drawn() -> int:
        renders: list[object] = []
        real = ChatTemplate.text

        def counted(*args: Any, **kwargs: Any) -> Any:
            renders.append(args)
            return real(*args, **kwargs)

        with monkeypatch.context() as patch:
            patch.setattr(ChatTemplate, "text", counted)
            render(
                Conversation(Kind.CHAT, "messages", messages),
                template,
                special_tokens={},
                options=Render(),
                prompt_messages=None,
            )
        return len(renders)

    unbounded = drawn()
    lower(monkeypatch, "SPAN_WORK", 1000)
    assert 1 < drawn() == drawn() < unbounded


NESTED = {
    "parentheses": ("(", "1", ")"),
    "lists": ("[", "1", "]"),
    "negations": ("not ", "1", ""),
    "sums": ("1 + ", "1", ""),
    "conditions": ("1 if 1 else ", "1", ""),
}


@pytest.mark.parametrize("name", [*NESTED, "ifs"])
def test_what_is_nested_deeper_than_python_recurses_is_told(name: str) -> None:
    """Of 300 levels, where Python is allowed a few hundred frames more than there are."""
    before, inner, after = NESTED.get(name, ("", "", ""))
    source = "{{ " + before * 300 + inner + after * 300 + " }}" if before else "{% if 1 %}" * 300 + "{% endif %}" * 300
    depth, frame = 0, sys._getframe()
    while frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    allowed = sys.getrecursionlimit()
    sys.setrecursionlimit(depth + 250)
    try:
        told = said(source)
    finally:
        sys.setrecursionlimit(allowed)
    assert "cannot be compiled" in told and "it is nested too deeply" in told


def test_a_template_that_calls_itself_is_told() -> None:
    told = said("{% macro f(n) %}{% if n %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(5000) }}")
    assert "exceeds its limits, because it recurses too deeply" in told


def test_a_template_renders_again_after_it_went_over_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    lower(monkeypatch, "STEPS", 1000)
    template = compile_template("{% for i in range(bos_token) %}{% endfor %}x", "t")
    with contextlib.suppress(TemplateError):
        template.text(MESSAGES, variables={"bos_token": 9000})
        raise AssertionError("it rendered")
    assert template.text(MESSAGES, variables={"bos_token": 9}) == ("x", ())
