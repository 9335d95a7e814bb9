"""Templates and conversations on which versions of transformers render differently, and as many on which they must not.

Every template meets every conversation. Values that JSON has not (dates, decimals and bytes as Parquet gives them,
tuples) are written to a request by `wire` and put back by `ask_transformers.read`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

EACH = "{% for m in messages %}"
END = "{% endfor %}"


def _each(inner: str) -> str:
    return EACH + inner + END


CHATML = _each("<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n") + (
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
MACRO = "{% macro say(m) %}{% generation %}{{ m.content }}{% endgeneration %}{% endmacro %}"
TEMPLATES: Mapping[str, str] = {
    "chatml": CHATML,
    "bos and eos": "{{ bos_token }}" + _each("{{ m.role }}: {{ m.content }}{{ eos_token }}"),
    "content or nothing": _each("[{{ m.content or '' }}]"),
    "content added": _each("{{ '<' + m.role + '>' + m.content }}"),
    "content joined": _each("{{ m.role ~ ':' ~ m.content }}\n"),
    "content trimmed": _each("{{ m.content | trim }}|"),
    "content tested": _each(
        "{{ m.content is none }}{{ m.content is defined }}{{ m.content is string }}{{ m.content is mapping }}"
        "{{ m.content is sequence }}{{ m.content is iterable }}{{ m.content is number }};"
    ),
    "content in parts": _each(
        "{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}"
        "{% if p.type == 'text' %}{{ p.text }}{% else %}<{{ p.type }}>{% endif %}{% endfor %}{% endif %}\n"
    ),
    "content listed": _each("{{ m.content | list }}{{ m.content | length }}"),
    "every key": _each("{% for k, v in m.items() %}{{ k }}={{ v }};{% endfor %}\n"),
    "every key, other ways": _each("{{ m | length }}{{ m.keys() | list }}{{ m | dictsort }}\n"),
    "named": _each("{{ m.role }}{% if m.name is defined %}({{ m.name }}){% endif %};"),
    "named, not none": _each("{{ m.role }}{% if m.name is not none %}({{ m.name }}){% endif %};"),
    "got": _each("{{ m.get('name', 'nobody') }}{{ m['name'] }}{{ 'name' in m }};"),
    "to json": _each("{{ m | tojson }}\n"),
    "to json, ordered": "{{ messages | tojson(indent=2, sort_keys=true) }}",
    "to json, in ascii": _each("{{ m.content | tojson(ensure_ascii=true, separators=(',', ':')) }}\n"),
    "reasoning_content": _each("{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}"),
    "thinking": _each("{% if m.thinking is defined %}<|channel|>{{ m.thinking }}{% endif %}{{ m.content }}"),
    "reasoning": _each("{{ m.reasoning if m.reasoning is defined else '-' }}"),
    "reasoning keys": _each("{{ m.keys() | list | join(',') }}\n"),
    "reasoning of strings": _each(
        "{% if m.reasoning_content is string %}{{ m.reasoning_content }}{% elif '</think>' in m.content %}"
        "{{ m.content.split('</think>')[0] }}{% endif %}"
    ),
    "namespace": "{% set n = namespace(last='', i=0) %}"
    + _each("{% set n.last = m.role %}{% set n.i = n.i + 1 %}")
    + "{{ n.last }}{{ n.i }}{{ n }}",
    "namespace, hidden": "{% set n = namespace(_count=0) %}" + _each("{{ m.role }}"),
    "namespace, hidden later": "{% set n = namespace() %}" + _each("{% set n._last = m.role %}") + "{{ n }}",
    "namespace, self": "{% set n = namespace(self=1) %}{{ n.self }}{{ messages | length }}",
    "dict made": _each("{{ dict(m, extra=1) }}{{ dict(role=m.role).role }}"),
    "dict from keys": "{{ dict.fromkeys(['a', 'b'], messages[0].role) }}",
    "dict items": _each("{% for k, v in dict.items(m) %}{{ k }}={{ v }};{% endfor %}"),
    "dict got": _each("{{ dict.get(m, 'name') }}{{ dict.copy(m) | length }}"),
    "tools": "{% if tools %}{% for t in tools %}{{ t | tojson }}\n{% endfor %}{% endif %}" + _each("{{ m.role }}"),
    "tools tested": "{{ tools is none }}{{ tools is defined }}{{ tools }}{% if tools is not none %}T{% endif %}",
    "tools counted": "{{ tools | length }}",
    "tool functions": "{% if tools %}{% for t in tools %}{{ t.function.name }}{{ t.function.parameters }}{% endfor %}"
    "{% endif %}",
    "tool calls": _each(
        "{% if m.tool_calls %}{% for c in m.tool_calls %}{% set c = c.function or c %}{{ c.name }}("
        "{{ c.arguments if c.arguments is string else c.arguments | tojson }}){% endfor %}{% endif %}{{ m.content }}"
    ),
    "tool calls defined": _each("{% if m.tool_calls is defined %}calls {{ m.tool_calls | length }}{% endif %};"),
    "refuses no content": _each(
        "{% if m.content is not defined %}{{ raise_exception('no content') }}{% endif %}{{ m.content }}"
    ),
    "refuses none": _each("{% if m.content is none %}{{ raise_exception('none') }}{% endif %}{{ m.content }}"),
    "refuses two of one": "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('alternate') }}{% endif %}{{ m.content }}{% endfor %}",
    "loop controls": _each(
        "{% if m.role == 'system' %}{% continue %}{% endif %}{% if loop.index > 2 %}{% break %}{% endif %}"
        "{{ m.content }}"
    ),
    "the day": "{{ strftime_now('%d %b %Y') }}" + _each("{{ m.role }}"),
    "arguments": "{{ enable_thinking }}{{ date_string }}{{ day }}{{ day is string }}",
    "documents": "{% if documents %}{% for d in documents %}{{ d.title }}{{ d | tojson }}{% endfor %}{% endif %}",
    "first block tagged": _each("{% generation %}{{ m.content }}{% endgeneration %}"),
    "answers tagged": _each(
        "{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{% endgeneration %}{% else %}"
        "{{ m.content }}{% endif %}"
    ),
    "tagged after bos": "{{ bos_token }}" + _each("{% generation %}{{ m.content }}{% endgeneration %}\n"),
    "tagged after nothing": "{{ '' }}" + _each("{% generation %}{{ m.role }}{% endgeneration %}"),
    "tagged in a macro": MACRO + _each("{{ say(m) }}"),
    "tagged in a set": _each("{% set s %}{% generation %}{{ m.role }}{% endgeneration %}{% endset %}-{{ s }}"),
    "methods of dates": _each("{% if m.at %}{{ m.at.year }}{{ m.at.isoformat() }}{{ m.at.strftime('%d') }}{% endif %}"),
    "arithmetic": _each("{% if m.n is defined %}{{ m.n + 1 }}{{ m.n * 2 }}{{ m.n | int }}{{ m.n | float }}{% endif %}"),
    "compared": _each("{% if m.n is defined %}{{ m.n > 1 }}{{ m.n == 2 }}{{ m.n is number }}{% endif %}"),
    "bytes": _each("{% if m.raw %}{{ m.raw.decode() }}{{ m.raw.hex() }}{{ m.raw | length }}{% endif %}"),
    "as strings": _each("{{ m.at | string }}{{ m.n | string }}{{ m.raw | string }}{{ m.pair | string }}"),
    "selected": "{{ messages | selectattr('content') | list | length }}"
    "{{ messages | selectattr('name', 'defined') | list | length }}"
    "{{ messages | map(attribute='role') | join(',') }}",
    "grouped": "{% for r, some in messages | groupby('role') %}{{ r }}{{ some | length }}{% endfor %}",
    "unpacked": _each("{% if m.pair %}{% set a, b = m.pair %}{{ a }}-{{ b }}{% endif %}"),
    "changed": _each("{% set _ = m.update({'content': 'x'}) %}{{ m.content }}"),
    "appended": "{% set _ = messages.append({'role': 'user'}) %}{{ messages | length }}",
    "last": "{{ messages[-1].role }}{{ messages[-1]['content'] }}{{ messages[1:] | length }}",
    "not there": _each("{{ m.nothing.inner }}"),
    "system apart": "{% if messages[0].role == 'system' %}S:{{ messages[0].content }}"
    "{% set messages = messages[1:] %}{% endif %}" + _each("{{ m.role }}={{ m.content }}\n"),
    "special tokens": "{{ pad_token }}{{ unk_token is defined }}{{ bos_token }}{{ eos_token }}",
}

USER: dict[str, Any] = {"role": "user", "content": "Hi <b>there</b> 你好"}
ANSWER: dict[str, Any] = {"role": "assistant", "content": " Fine.\n"}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": {"a": 1, "b": None}}}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "x": None}}}
NUMBERED: dict[Any, Any] = {"role": "user", "content": "x", 5: None}
DAY = datetime(2026, 1, 2, 3, 4, 5)


@dataclass(frozen=True)
class Chat:
    """Messages with what else `apply_chat_template` is given; `kwargs` holds its further arguments."""

    messages: list[dict[Any, Any]]
    tools: Any = None
    kwargs: Mapping[str, Any] = field(default_factory=dict)


def _with(**more: Any) -> list[dict[str, Any]]:
    return [USER, {**ANSWER, **more}]


CHATS: Mapping[str, Chat] = {
    "usual": Chat([USER, ANSWER]),
    "system": Chat([{"role": "system", "content": "Be brief."}, USER, ANSWER, USER]),
    "answer first": Chat([ANSWER, USER, ANSWER]),
    "one message": Chat([USER]),
    "none at all": Chat([]),
    "null content": Chat([USER, {"role": "assistant", "content": None}]),
    "null content, first": Chat([{"role": "system", "content": None}, USER, ANSWER]),
    "no content": Chat([USER, {"role": "assistant"}]),
    "no role": Chat([USER, {"content": "x"}]),
    "null role": Chat([USER, {"role": None, "content": "x"}]),
    "null name": Chat(_with(name=None)),
    "named": Chat(_with(name="Ann")),
    "null calls": Chat(_with(tool_calls=None)),
    "no calls": Chat(_with(tool_calls=[])),
    "calls": Chat([USER, {"role": "assistant", "content": None, "tool_calls": [CALL]}], [TOOL]),
    "calls of text": Chat(
        [USER, {"role": "assistant", "content": "", "tool_calls": [{"name": "f", "arguments": "{}"}]}]
    ),
    "tools none": Chat([USER, ANSWER], None),
    "tools empty": Chat([USER, ANSWER], []),
    "tools empty text": Chat([USER, ANSWER], ""),
    "tools of text": Chat([USER, ANSWER], ["f"]),
    "tools a mapping": Chat([USER, ANSWER], {"name": "f"}),
    "tools": Chat([USER, ANSWER], [TOOL, {"name": "g", "description": None}]),
    "tools a tuple": Chat([USER, ANSWER], (TOOL,)),
    "reasoning_content": Chat(_with(reasoning_content="hm")),
    "thinking": Chat(_with(thinking="hm")),
    "reasoning": Chat(_with(reasoning="hm")),
    "reasoning twice": Chat(_with(reasoning="a", thinking="b")),
    "reasoning thrice": Chat(_with(reasoning="a", thinking="b", reasoning_content="c")),
    "reasoning null": Chat(_with(reasoning=None, thinking=None, reasoning_content=None)),
    "reasoning null and not": Chat(_with(reasoning_content=None, reasoning="hm")),
    "reasoning empty": Chat(_with(reasoning_content="", thinking="hm")),
    "reasoning a list": Chat(_with(reasoning=["a", "b"])),
    "reasoning of the user": Chat([{**USER, "thinking": "why"}, ANSWER]),
    "thought in content": Chat([USER, {"role": "assistant", "content": "<think>hm</think>x"}]),
    "parts": Chat([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image"}]}, ANSWER]),
    "parts with nulls": Chat(
        [{"role": "user", "content": [{"type": "text", "text": "a", "image": None}, {"type": "image", "text": None}]}]
    ),
    "parts a tuple": Chat([{"role": "user", "content": ({"type": "text", "text": "a"},)}, ANSWER]),
    "no parts": Chat([{"role": "user", "content": []}, ANSWER]),
    "content a number": Chat([{"role": "user", "content": 3}, {"role": "assistant", "content": 1.0}]),
    "content a flag": Chat([{"role": "user", "content": True}, {"role": "assistant", "content": False}]),
    "content a mapping": Chat([{"role": "user", "content": {"a": None, "b": "x"}}, ANSWER]),
    "content empty": Chat([{"role": "user", "content": ""}, {"role": "assistant", "content": ""}]),
    "content a date": Chat([{"role": "user", "content": date(2026, 1, 2)}, ANSWER]),
    "content a time": Chat([{"role": "user", "content": DAY}, {"role": "assistant", "content": time(1, 2)}]),
    "content a zone's time": Chat([{"role": "user", "content": DAY.replace(tzinfo=timezone.utc)}, ANSWER]),
    "content a span": Chat([{"role": "user", "content": timedelta(seconds=90)}, ANSWER]),
    "content a decimal": Chat([{"role": "user", "content": Decimal("1.50")}, ANSWER]),
    "content bytes": Chat([{"role": "user", "content": b"a\xff"}, {"role": "assistant", "content": b""}]),
    "content a uuid": Chat([{"role": "user", "content": UUID(int=5)}, ANSWER]),
    "kept beside": Chat(_with(at=DAY, n=Decimal("2.5"), raw=b"ab", pair=(1, None))),
    "null beside": Chat(_with(at=None, n=None, raw=None, pair=None)),
    "usual beside": Chat(_with(at="2026", n=2, raw="ab", pair=[1, 2])),
    "dates inside": Chat([{"role": "user", "content": [{"type": "text", "text": DAY}]}, ANSWER]),
    "keys that are numbers": Chat([NUMBERED, ANSWER]),
    "tools with a date": Chat([USER, ANSWER], [{"function": {"name": "f", "parameters": {"since": DAY}}}]),
    "arguments": Chat([USER, ANSWER], None, {"enable_thinking": False, "date_string": "now", "day": "Monday"}),
    "arguments of YAML": Chat([USER, ANSWER], None, {"enable_thinking": None, "day": date(2026, 1, 2)}),
    "documents": Chat([USER, ANSWER], None, {"documents": [{"title": "T", "text": None, "at": DAY}]}),
    "documents of text": Chat([USER, ANSWER], None, {"documents": ["T"]}),
    "a token replaced": Chat([USER, ANSWER], None, {"bos_token": "<B>", "pad_token": None}),
}


@dataclass(frozen=True)
class Case:
    """One template on one conversation."""

    name: str
    template: str
    chat: Chat


def cases() -> Iterator[Case]:
    """Every template on every conversation."""
    for name, template in TEMPLATES.items():
        for kind, chat in CHATS.items():
            yield Case(f"{name} × {kind}", template, chat)


def wire(value: Any) -> Any:
    """The value as JSON holds it; `ask_transformers.read` is the inverse."""
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            return {"$": "pairs", "value": [[wire(key), wire(one)] for key, one in value.items()]}
        return {key: wire(one) for key, one in value.items()}
    if isinstance(value, list):
        return [wire(one) for one in value]
    if isinstance(value, tuple):
        return {"$": "tuple", "value": [wire(one) for one in value]}
    if isinstance(value, bytes):
        return {"$": "bytes", "value": value.hex()}
    if isinstance(value, timedelta):
        return {"$": "timedelta", "value": str(value.total_seconds())}
    if isinstance(value, (datetime, date, time)):
        return {"$": type(value).__name__, "value": value.isoformat()}
    if isinstance(value, (Decimal, UUID)):
        return {"$": type(value).__name__, "value": str(value)}
    return value
