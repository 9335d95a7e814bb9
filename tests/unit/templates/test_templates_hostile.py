"""A zoo of templates that mean harm: each ends soon, in a TemplateError, and leaves the process as it was."""

from __future__ import annotations

import contextlib
import pickle
import resource
import threading
import time
from pathlib import Path

import pytest

from sftui.errors import TemplateError
from sftui.model import Conversation, Kind, Message
from sftui.recipe import Render
from sftui.templates import compile_template, limits, load_template_file, render

MESSAGES = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]

BOMBS = {
    "repeat": "{{ 'a' * 10**10 }}",
    "repeat_from_the_left": "{{ 10000000000 * 'a' }}",
    "repeat_list": "{{ [1] * 10**9 }}",
    "repeat_variable": "{% set n = 10000000000 %}{{ messages[0].role * n }}",
    "power": "{{ 9 ** (9 ** 9) }}",
    "power_string": "{{ (10 ** 5000) ** 5000 }}",
    "square_forever": (
        "{% set ns = namespace(x=7) %}{% for i in range(100) %}{% set ns.x = ns.x * ns.x %}{% endfor %}{{ ns.x }}"
    ),
    "power_float": "{{ 10.0 ** 10000 }}",
    "percent_width": "{{ '%10000000000d' % 1 }}",
    "percent_star": "{{ '%*d' % (9999999999, 1) }}",
    "percent_precision": "{{ '%.9999999999f' % 1.5 }}",
    "percent_many": "{% set big = 'x' * 60000000 %}{{ '%s%s%s%s' % (big, big, big, big) }}",
    "format_width": "{{ '{:10000000000}'.format(1) }}",
    "format_nested_width": "{{ '{:{}}'.format(1, 9999999999) }}",
    "format_map_width": "{{ '{a:10000000000}'.format_map({'a': 1}) }}",
    "format_filter": "{{ '%10000000000d' | format(1) }}",
    "format_long_number": "{{ '{:99999999999999999999999}'.format(1) }}",
    "center_filter": "{{ 'a' | center(10000000000) }}",
    "center_method": "{{ 'a'.center(10000000000) }}",
    "ljust": "{{ messages[0].content.ljust(10000000000) }}",
    "rjust": "{{ 'a'.rjust(10000000000) }}",
    "zfill": "{{ 'a'.zfill(10000000000) }}",
    "expandtabs": "{{ '\t'.expandtabs(10000000000) }}",
    "indent": "{{ 'a\nb' | indent(10000000000) }}",
    "indent_text": "{% set big = 'x' * 1000000 %}{{ ('a\n' * 1000000) | indent(big) }}",
    "tojson_indent": "{{ messages | tojson(indent=10000000000) }}",
    "tojson_separators": "{% set big = 'x' * 10000000 %}{{ ([1] * 1000000) | tojson(separators=(big, big)) }}",
    "replace_filter": "{% set big = 'x' * 1000000 %}{{ big | replace('x', big) }}",
    "replace_method": "{% set big = 'x' * 1000000 %}{{ big.replace('x', big) }}",
    "replace_empty": "{% set big = 'x' * 1000000 %}{{ big.replace('', big) }}",
    "join_filter": "{% set big = 'x' * 1000000 %}{{ range(100000) | join(big) }}",
    "join_method": "{% set big = 'x' * 1000000 %}{{ big.join(big) }}",
    "translate": "{% set big = 'x' * 1000000 %}{{ big.translate({120: big}) }}",
    "translate_fromkeys": "{% set big = 'x' * 1000000 %}{{ big.translate(dict.fromkeys([120], big)) }}",
    "double_plus": (
        "{% set ns = namespace(x='a') %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x }}"
    ),
    "double_tilde": (
        "{% set ns = namespace(x='a') %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}{{ ns.x }}"
    ),
    "double_block": (
        "{% set ns = namespace(x='a') %}{% for i in range(60) %}{% set b %}{{ ns.x }}{{ ns.x }}{% endset %}{% set ns.x"
        " = b %}{% endfor %}"
    ),
    "double_list": (
        "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x }}"
    ),
    "nested_list": (
        "{% set ns = namespace(x=['a']) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}"
    ),
    "nested_dict": (
        "{% set ns = namespace(x='a') %}{% for i in range(60) %}{% set ns.x = {'a': ns.x, 'b': ns.x} %}{% endfor %}{{"
        " ns.x | tojson }}"
    ),
    "nested_dict_call": (
        "{% set ns = namespace(x='a') %}{% for i in range(60) %}{% set ns.x = dict(a=ns.x, b=ns.x) %}{% endfor %}{{"
        " ns.x }}"
    ),
    "nested_tuple_straight": (
        "{% set x0 = ('a', 'a') %}" + "".join(f"{{% set x{i + 1} = (x{i}, x{i}) %}}" for i in range(60)) + "{{ x60 }}"
    ),
    "nested_namespace": (
        "{% set ns = namespace(x=['a']) %}{% for i in range(60) %}{% set ns.x = namespace(a=ns.x, b=ns.x) %}{% endfor"
        " %}{{ ns.x }}"
    ),
    "nested_recursion": (
        "{% macro f(x, n) %}{% if n %}{{ f([x, x], n - 1) }}{% else %}{{ x }}{% endif %}{% endmacro %}{{ f('a', 60) }}"
    ),
    "macro_varargs": (
        "{% macro f(n) %}{% if n %}{{ f(n - 1, varargs, varargs) }}{% else %}{{ varargs }}{% endif %}{% endmacro %}{{"
        " f(60, 1) }}"
    ),
    "namespace_chain": (
        "".join(f"{{% set n{i} = namespace(x=1) %}}" for i in range(61))
        + "".join(f"{{% set n{i}.x = [n{i + 1}, n{i + 1}] %}}" for i in range(60))
        + "{{ n0 }}"
    ),
    "nested_by_map": (
        "{% set ns = namespace(x='a') %}{% for i in range(60) %}{% set ns.x = ['', ''] | map('default', ns.x, true) |"
        " list %}{% endfor %}{{ ns.x }}"
    ),
    "nested_by_batch": (
        "{% set ns = namespace(x='a') %}{% for i in range(60) %}{% set ns.x = ['', ''] | map('default', ns.x, true) |"
        " batch(2) | first %}{% endfor %}{{ ns.x }}"
    ),
    "sum_of_mapped": (
        "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = ['', ''] | map('default', ns.x, true) |"
        " sum(start=[]) %}{% endfor %}{{ ns.x }}"
    ),
    "huge_range": "{% for i in range(10**9) %}{% endfor %}",
    "nested_loops": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "nested_loops_with_output": "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}",
    "filtered_loops": "{% for i in range(99999) %}{% for j in range(99999) if false %}{% endfor %}{% endfor %}",
    "big_output": "{% set big = 'x' * 1000000 %}{% for i in range(99999) %}{{ big }}{% endfor %}",
    "big_set_block": (
        "{% set big = 'x' * 1000000 %}{% set b %}{% for i in range(99999) %}{{ big }}{% endfor %}{% endset %}"
    ),
    "big_macro": (
        "{% set big = 'x' * 1000000 %}{% macro f() %}{% for i in range(99999) %}{{ big }}{% endfor %}{% endmacro %}{{"
        " f() }}"
    ),
    "big_filter_block": (
        "{% set big = 'x' * 1000000 %}{% filter upper %}{% for i in range(99999) %}{{ big }}{% endfor %}{% endfilter %}"
    ),
    "big_generation": (
        "{% set big = 'x' * 1000000 %}{% generation %}{% for i in range(99999) %}{{ big }}{% endfor %}{%"
        " endgeneration %}"
    ),
    "macro_forever": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "macro_tree": "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    "recursive_loop": "{% for m in messages recursive %}{{ loop(messages) }}{% endfor %}",
    "block_forever": "{% block a %}{{ self.a() }}{% endblock %}",
    "lipsum": "{{ lipsum(n=100000000) }}",
    "lipsum_words": "{{ lipsum(max=10000000000) }}",
    "batch_fill": "{{ [1] | batch(10000000000, 'x') | list }}",
    "slice_many": "{{ [1] | slice(10000000000) | list }}",
    "round_digits": "{{ 3 | round(100000000, 'ceil') }}",
    "wordwrap": "{% set big = 'x' * 1000000 %}{{ ('a ' * 1000000) | wordwrap(1, wrapstring=big) }}",
    "urlize_target": "{% set big = 'x' * 1000000 %}{{ ('http://a.de ' * 100000) | urlize(target=big) }}",
    "letters_to_list": "{{ ('x' * 60000000) | list | length }}",
    "split_letters": "{{ ('x ' * 30000000).split() | length }}",
    "sum_of_lists": (
        "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] | sum(start=[]) %}{% endfor"
        " %}{{ ns.x }}"
    ),
    "map_center": "{{ ['a'] | map('center', 10000000000) | list }}",
    "attr_of_method": "{{ ('a' | attr('center'))(10000000000) }}",
    "markup_center": "{{ ('a' | safe).center(10000000000) }}",
    "markup_format": "{{ ('{:10000000000}' | safe).format(1) }}",
    "markup_repeat": "{{ ('a' | safe) * 10000000000 }}",
    "markup_percent": "{{ ('%10000000000d' | safe) % 1 }}",
    "markup_autoescape": (
        "{% autoescape true %}{% set big = 'x' * 1000000 %}{{ big.replace('x', big) }}{% endautoescape %}"
    ),
    "bytes_repeat": "{{ 'a'.encode() * 10000000000 }}",
    "bytes_center": "{{ 'a'.encode().center(10000000000) }}",
    "bytes_percent": "{{ 'a%9999999999d'.encode() % 1 }}",
    "to_bytes": "{{ (1).to_bytes(10000000000, 'big') }}",
    "from_bytes_giant": (
        "{{ (1).from_bytes('x'.encode() * 60000000, 'big') // (1).from_bytes('y'.encode() * 30000000, 'big') }}"
    ),
    "int_filter_giant": "{{ ('f' * 60000000) | int(base=16) is divisibleby(3) }}",
    "punycode": "{{ ('ü' * 10000000).encode('punycode') }}",
    "idna": "{{ ('ü' * 10000000).encode('idna') }}",
    "striptags_comments": "{{ ('<!---->' * 8000000) | striptags }}",
    "striptags_method": "{{ (('<!---->' * 8000000) | safe).striptags() }}",
    "title_long": "{{ ('a ' * 30000000) | title }}",
    "pprint_long": "{{ (['ab'] * 1000000) | pprint }}",
    "urlencode_long": "{{ ('ü' * 60000000) | urlencode }}",
    "splitlines_returns": "{{ ('\\r' * 60000000).splitlines() | length }}",
    "split_words": "{{ ('xy ' * 20000000).split() | length }}",
    "nested_views": (
        "{% set ns = namespace(x={'a': 'a'}) %}{% for i in range(60) %}{% set ns.x = {'a': ns.x.items(), 'b':"
        " ns.x.values()} %}{% endfor %}{{ ns.x }}"
    ),
    "folded_at_compile_time": "{% if false %}{{ 'a' | center(10000000000) }}{% endif %}{{ 'a' | center(10000000000) }}",
}

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


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SECONDS", 0.5)


def _ends(source: str) -> TemplateError:
    begun = time.perf_counter()
    with pytest.raises(TemplateError) as caught:
        compile_template(source, "hostile").text(MESSAGES, variables={"bos_token": "<s>"})
    assert time.perf_counter() - begun < 5
    assert len(str(caught.value)) < 1500
    assert pickle.loads(pickle.dumps(caught.value)).what == caught.value.what
    return caught.value


@pytest.mark.parametrize("name", sorted(BOMBS))
def test_a_bomb_ends_in_a_template_error(name: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    _ends(BOMBS[name])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 700_000  # kibibytes


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


def test_the_time_limit_holds_outside_the_main_thread() -> None:
    caught: list[BaseException] = []

    def run() -> None:
        try:
            compile_template(BOMBS["nested_loops"], "hostile").text(MESSAGES, variables={})
        except TemplateError as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(timeout=10)
    assert not thread.is_alive()
    assert "runs for too long" in str(caught[0])


def test_spans_of_a_slow_template_take_no_longer_than_one_render_may() -> None:
    slow = "{% for m in messages %}{% for i in range(70000) %}{% endfor %}{{ m.content }}{% endfor %}"
    messages = tuple(Message({"role": "user", "content": str(i) * 3}) for i in range(60))
    begun = time.perf_counter()
    with contextlib.suppress(TemplateError):
        render(
            Conversation(Kind.CHAT, "messages", messages),
            compile_template(slow, "slow"),
            special_tokens={},
            options=Render(),
            prompt_messages=None,
        )
    assert time.perf_counter() - begun < 3


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
