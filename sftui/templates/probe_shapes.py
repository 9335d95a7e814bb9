"""Shapes of conversation that a user's data may not hold yet, for `sftui template --probe`.

What a message says is recognised by the name of a bird: each stands in one text of a shape, and can be looked for in
whatever the template makes of that text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

_BIRD = re.compile(
    r"heron|plover|linnet|dunlin|avocet|curlew|siskin|bunting|wagtail|gannet|fulmar|osprey|kestrel|whimbrel|godwit"
)
Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ProbeShape:
    """One conversation and what it is given to the template with.

    `usual`: good datasets hold such rows, so what goes wrong here is an error; elsewhere it is a warning. `exact`: the
    contents are to stand in the text letter for letter (in any of `marks.forms`). `pythonic`: its own texts look like
    what Python prints, so that nothing is said of that. `marked`: its own texts hold control words.
    """

    name: str
    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, Any], ...] | None = None
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    usual: bool = False
    exact: bool = False
    pythonic: bool = False
    marked: bool = False


def birds(value: Any) -> tuple[str, ...]:
    """The words by which a value is found again, each once, in order."""
    return tuple(dict.fromkeys(word for text in _texts(value) for word in _BIRD.findall(text)))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(key)
            yield from _texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)


def _m(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def _call(name: str, arguments: Any, number: int = 1) -> dict[str, Any]:
    return {"id": f"call0000{number}", "type": "function", "function": {"name": name, "arguments": arguments}}


def _calls(*calls: Any, content: Any = "", **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more, "tool_calls": list(calls)}


def _parts(role: str, *texts: str) -> dict[str, Any]:
    return _m(role, [{"type": "text", "text": text} for text in texts])


_FUNCTION = {
    "name": "osprey",
    "description": "Looks it up",
    "parameters": {
        "type": "object",
        "properties": {"where": {"type": "string", "description": "the place"}},
        "required": ["where"],
    },
}
_TOOLS = ({"type": "function", "function": _FUNCTION},)
_OTHER = {**_FUNCTION, "name": "kestrel"}
_U = _m("user", "Where is the heron?")
_A = _m("assistant", "By the plover.")
_U2 = _m("user", "And the linnet?")
_A2 = _m("assistant", "With the dunlin.")
_S = _m("system", "You know the avocet.")
_C = _call("osprey", {"where": "curlew"})
_R = _m("tool", "seen a siskin", name="osprey", tool_call_id="call00001")


def _said(user: Any, assistant: Any) -> tuple[Message, ...]:
    return _m("user", user), _m("assistant", assistant)


def _called(call: Message, *results: Message) -> tuple[Message, ...]:
    """A question, a turn of calls, their results (or the usual one) and an answer."""
    return _U, call, *(results or (_R,)), _A


def _with(arguments: Any) -> tuple[Message, ...]:
    return _called(_calls(_call("osprey", arguments)))


_K = _call("kestrel", {"where": "godwit"}, 2)
_RK = _m("tool", "a fulmar", name="kestrel", tool_call_id="call00002")
_BOTH = (*_TOOLS, {"type": "function", "function": _OTHER})
_THOUGHT = {**_A, "reasoning_content": "I recall a bunting."}
_INLINE = _m("assistant", "<think>\nA bunting?\n</think>\n\nBy the plover.")
_TURNS = tuple(_m(r, f"{t} number {i}") for i in range(40) for r, t in (("user", "Q"), ("assistant", "A")))


def shapes() -> tuple[ProbeShape, ...]:
    """Every shape, the plain ones first; their names are what `--probe-show` takes."""
    usual = [
        ProbeShape("plain", (_U, _A)),
        ProbeShape("two-turns", (_U, _A, _U2, _A2)),
        ProbeShape("system", (_S, _U, _A)),
        ProbeShape("system-two-turns", (_S, _U, _A, _U2, _A2)),
        ProbeShape("many-turns", _TURNS),
        ProbeShape("long-turn", (_m("user", "a heron " * 4000), _A)),
        ProbeShape("cjk", _said("苍鹭在哪里？ heron 鷺はどこ", "在湖边 plover です"), exact=True),
        ProbeShape("emoji", _said("heron 👩‍👩‍👧 é", "plover 🦆"), exact=True),
        ProbeShape("right-to-left", _said("heron أين البلشون", "plover בנהר"), exact=True),
        ProbeShape("code", _said("if a < b && c > 'heron': \"x\\n\"", "<b>plover</b> \\ &amp;"), exact=True),
        ProbeShape("lines", _said("heron\n\nlinnet\n- one", "plover\n\n```\ndunlin\n```"), exact=True),
        ProbeShape("tools", (_U, _A), _TOOLS),
        ProbeShape("tools-system", (_S, _U, _A), _TOOLS),
        ProbeShape("call", _called(_calls(_C)), _TOOLS),
        ProbeShape("call-null-content", _called(_calls(_C, content=None)), _TOOLS),
        ProbeShape("call-with-words", _called(_calls(_C, content="Let me ask the gannet.")), _TOOLS),
        ProbeShape("call-json-arguments", _with('{"where": "curlew"}'), _TOOLS),
        ProbeShape("call-last", (_U, _calls(_C)), _TOOLS),
        ProbeShape("call-without-tools", _called(_calls(_C))),
        ProbeShape("call-later", (_U, _A, _U2, _calls(_C), _R, _A2), _TOOLS),
        ProbeShape("calls-in-turn", _called(_calls(_C), _R, _calls(_K), _RK), _BOTH),
        ProbeShape("parallel-calls", _called(_calls(_C, _K), _R, _RK), _BOTH),
        ProbeShape("result-json", _called(_calls(_C), {**_R, "content": '{"seen": "siskin", "n": [1, 2]}'}), _TOOLS),
        ProbeShape("arguments-empty", _with({}), _TOOLS),
        ProbeShape("arguments-empty-json", _with("{}"), _TOOLS),
        ProbeShape("arguments-nested", _with({"where": {"near": ["curlew", {"by": "godwit"}]}}), _TOOLS),
        ProbeShape(
            "arguments-values", _with({"where": "curlew", "deep": True, "far": None, "part": 0.5, "n": 3}), _TOOLS
        ),
        ProbeShape("arguments-quotes", _with({"where": "a \"curlew\" <b> & c:\\d 'e'\nf"}), _TOOLS),
        ProbeShape("arguments-unicode", _with({"where": "curlew Zürich 東京 🦆"}), _TOOLS),
        ProbeShape("reasoning", (_U, _THOUGHT)),
        ProbeShape("reasoning-earlier", (_U, _THOUGHT, _U2, _A2)),
        ProbeShape("reasoning-and-call", _called(_calls(_C, reasoning_content="I recall a bunting.")), _TOOLS),
        ProbeShape("think-inline", (_U, _INLINE), marked=True),
        ProbeShape("think-inline-earlier", (_U, _INLINE, _U2, _A2), marked=True),
        ProbeShape("thinking-on", (_U, _A), kwargs={"enable_thinking": True}),
        ProbeShape("thinking-off", (_U, _A), kwargs={"enable_thinking": False}),
        ProbeShape("ends-with-user", (_U, _A, _U2)),
    ]
    bare = {"name": "osprey", "arguments": {"where": "curlew"}}
    long_id = "call_9b1deb4d3b7d4bad"
    odd = [
        ProbeShape("content-null", (_U, _m("assistant", None))),
        ProbeShape("content-null-user", (_m("user", None), _A)),
        ProbeShape("content-missing", (_U, {"role": "assistant"})),
        ProbeShape("call-content-missing", _called({"role": "assistant", "tool_calls": [_C]}), _TOOLS),
        ProbeShape("answer-empty", (_U, _m("assistant", ""))),
        ProbeShape("answer-empty-earlier", (_U, _m("assistant", ""), _U2, _A2)),
        ProbeShape("user-empty", (_m("user", ""), _A)),
        ProbeShape("system-empty", (_m("system", ""), _U, _A)),
        ProbeShape("blank", _said(" \n ", "\n\n")),
        ProbeShape("edges", _said("  \n heron \n", "\n plover \n\n")),
        ProbeShape("parts", (_parts("user", "Where is", " the heron?"), _parts("assistant", "By the plover."))),
        ProbeShape("parts-system", (_parts("system", "You know the avocet."), _U, _A)),
        ProbeShape(
            "parts-result", _called(_calls(_C), {**_R, "content": [{"type": "text", "text": "seen a siskin"}]}), _TOOLS
        ),
        ProbeShape("parts-of-strings", (_m("user", ["Where is the heron?"]), _A)),
        ProbeShape("content-mapping", (_m("user", {"heron": "linnet"}), _A)),
        ProbeShape("tools-bare", (_U, _A), (_FUNCTION,)),
        ProbeShape("tools-twice", (_U, _A), (*_TOOLS, *_TOOLS)),
        ProbeShape("tools-both-ways", (_U, _A), (*_TOOLS, _OTHER)),
        ProbeShape("tools-empty", (_U, _A), ()),
        ProbeShape("tools-no-parameters", (_U, _A), ({"type": "function", "function": {"name": "osprey"}},)),
        ProbeShape("call-bare", _called(_calls(bare)), _TOOLS),
        ProbeShape(
            "call-without-id",
            _called(_calls({"type": "function", "function": bare}), _m("tool", "seen a siskin")),
            _TOOLS,
        ),
        ProbeShape("call-id-long", _called(_calls({**_C, "id": long_id}), {**_R, "tool_call_id": long_id}), _TOOLS),
        ProbeShape("calls-null", (_U, {**_A, "tool_calls": None})),
        ProbeShape("calls-empty", (_U, {**_A, "tool_calls": []})),
        ProbeShape("arguments-null", _with(None), _TOOLS),
        ProbeShape(
            "arguments-missing",
            _called(_calls({"type": "function", "id": "call00001", "function": {"name": "osprey"}})),
            _TOOLS,
        ),
        ProbeShape("arguments-no-json", _with("curlew, please"), _TOOLS),
        ProbeShape("result-last", (_U, _calls(_C), _R), _TOOLS),
        ProbeShape("result-empty", _called(_calls(_C), {**_R, "content": ""}), _TOOLS),
        ProbeShape("result-without-call", (_U, _R, _A), _TOOLS),
        ProbeShape("result-mapping", _called(_calls(_C), {**_R, "content": {"seen": "siskin"}}), _TOOLS),
        ProbeShape("result-as-ipython", _called(_calls(_C), {**_R, "role": "ipython"}), _TOOLS),
        ProbeShape("result-as-function", _called(_calls(_C), {**_R, "role": "function"}), _TOOLS),
        ProbeShape("results-then-user", (_U, _calls(_C), _R, _U2, _A2), _TOOLS),
        ProbeShape("system-middle", (_U, _A, _S, _U2, _A2)),
        ProbeShape("system-twice", (_S, _m("system", "And the wagtail."), _U, _A)),
        ProbeShape("system-last", (_U, _S, _A)),
        ProbeShape("system-only", (_S,)),
        ProbeShape("developer", (_m("developer", "You know the avocet."), _U, _A)),
        ProbeShape("no-user", (_S, _A)),
        ProbeShape("assistant-first", (_A, _U, _A2)),
        ProbeShape("users-in-a-row", (_U, _U2, _A)),
        ProbeShape("assistants-in-a-row", (_U, _A, _A2)),
        ProbeShape("unknown-role", (_U, _m("critic", "Is it a whimbrel?"), _A)),
        ProbeShape("role-capital", (_m("User", "Where is the heron?"), _m("Assistant", "By the plover."))),
        ProbeShape("names", ({**_U, "name": "ann"}, {**_A, "name": "bot"})),
        ProbeShape(
            "extra-keys", ({**_U, "id": 7, "weight": 0.5, "meta": {"a": None}}, {**_A, "weight": 1, "refusal": None})
        ),
        ProbeShape("reasoning-null", (_U, {**_A, "reasoning_content": None})),
        ProbeShape("reasoning-empty", (_U, {**_A, "reasoning_content": ""})),
        ProbeShape("think-open", (_U, _m("assistant", "<think>a bunting? By the plover.")), marked=True),
        ProbeShape("think-close", (_U, _m("assistant", "a bunting? </think> By the plover.")), marked=True),
        ProbeShape("think-in-user", (_m("user", "What is </think> of a heron?"), _A), marked=True, exact=True),
        ProbeShape("jinja-in-content", _said("{{ 7 * 7 }} heron {% raw %}", "{# plover #}"), exact=True),
        ProbeShape("python-in-content", (_m("user", "None, True or {'heron': ['a']}?"), _A), exact=True, pythonic=True),
        ProbeShape("json-in-content", _said(json.dumps({"heron": None}), '{"plover": true}'), exact=True),
        ProbeShape("documents", (_U, _A), kwargs={"documents": [{"title": "Birds", "text": "whimbrel"}]}),
    ]
    return (*(replace(shape, usual=True) for shape in usual), *odd)
