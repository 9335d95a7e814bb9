"""How calls and marks stand in the text: by another family's marks, as Python prints them, or twice."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from sftui.findings.checks import CHATS, CONVERSATION, Fault, row_check
from sftui.findings.context import FIRST_USER, Context
from sftui.findings.look import TAG, RowLook, shown
from sftui.findings.model import Consequence
from sftui.findings.rule import CALL, CALLING, DROP, TOOL, case, chat, chatml, major
from sftui.findings.rules.tools import parsed
from sftui.findings.words import TextMarks, mappings, text_of, without_code

_FAMILIES: Mapping[str, str] = {
    "<tool_call>": "Qwen and Hermes",
    "<function=": "Llama 3.1 and Qwen3-Coder",
    "<|python_tag|>": "Llama 3.1",
    "[TOOL_CALLS]": "Mistral",
    "<|tool_call|>": "Granite and Phi-4",
    "<|tool_call>": "Gemma 4",
    "<start_function_call>": "FunctionGemma",
    "<|tool_call_start|>": "LFM2",
    "<|tool▁calls▁begin|>": "DeepSeek",
    "<\uff5ctool▁calls▁begin\uff5c>": "DeepSeek",
    "<|tool_calls_section_begin|>": "Kimi",
    "<functioncall>": "Glaive",
}
"""What begins calls, by the families whose templates write it."""
_MARKS = TextMarks(_FAMILIES)
_WRITTEN = re.compile("^[ \t]*(" + "|".join(map(re.escape, _FAMILIES)) + ")", re.MULTILINE)
_SPOKEN = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'
_OWN = chatml(
    "{% for c in m.tool_calls %}[TOOL_CALLS]{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson"
    " }}{% endfor %}{{ m.content }}<|im_end|>",
    before="{% if tools %}{{ tools | tojson }}{% endif %}",
)

TOO009 = major(
    "call-of-another-family",
    "a call is written as text in another model family's format",
    "The template marks calls in its own format. The inference server looks for those marks and treats this call as"
    " plain text.",
    data="store it as a structured tool call, which the template renders",
    repair=(DROP,),
    bad=case(chat("Weather?", _SPOKEN, tools=[TOOL]), template=_OWN),
    good=case(chat("Weather?", CALL, tools=[TOOL]), template=_OWN),
)


@row_check(CONVERSATION, TOO009, kinds=CHATS, signs=lambda *_: TAG, row=lambda look: _MARKS.in_(look.spoken))
def foreign_call(look: RowLook) -> Iterator[Fault]:
    """TOO009: at the beginning of a line, not in code, and not as the row itself says that calls are written."""
    own = look.context.once("calls", lambda: _before_calls(look.context))
    template = look.context.template
    if own is None or template is None:
        return
    for number, text in look.written:
        found = _WRITTEN.search(without_code(text))
        if found is None or found[1] in own or found[1] in template.source:
            continue
        asked = (text_of(message) for message, role in zip(look.messages, look.roles) if role != "assistant")
        if not any(found[1] in said for said in asked):
            what = f"message {number} writes its call with {found[1]}, like {_FAMILIES[found[1]]}; the template writes"
            yield Fault(f"{what} {shown(own)}", shown(text[found.start() : found.start() + 80]), message=number)


def _before_calls(context: Context) -> str | None:
    """What the template writes before the name of a call; None where it writes no calls."""
    call = {**CALL, "tool_calls": [{**one, "id": "sftuicall"} for one in CALL["tool_calls"]]}
    text = context.render([{"role": "user", "content": FIRST_USER}, call], tools=[TOOL]) or ""
    before, name, _ = text.rpartition(FIRST_USER)[2].partition("get_weather")
    return before.strip().rpartition("\n")[2][-30:] if name else None


_FIRST = 4
"""Mappings of the tools of which one is printed, where the template prints them."""
_PRINTED = chatml("{% for c in m.tool_calls %}{{ c.function }}{% endfor %}{{ m.content }}<|im_end|>")
_CITY = {**CALL, "tool_calls": [{"function": {"name": "get_weather", "arguments": {"city": "Paris", "now": True}}}]}

TOO010 = major(
    "printed-by-python",
    "tool calls or tools are rendered as Python literals",
    "Single quotes, True and None are not JSON: the template prints a mapping without tojson. The model learns"
    " calls that nothing can parse.",
    data="write tools and arguments with tojson in the template",
    repair=("fill-content",),
    leads_to=Consequence.GARBLED,
    bad=case(chat("Weather?", _CITY), template=_PRINTED),
    good=case(chat("Weather?", _CITY), template=CALLING),
    more=(
        case(chat("Weather?", "Sunny.", tools=[TOOL]), template=chatml(before="{{ tools }}")),
        case(chat("Weather?", {**_CITY, "content": None}), template=CALLING, preset="verl@0.9"),
    ),
)


@row_check(
    CONVERSATION,
    TOO010,
    of=lambda shape: shape.rendered,
    shape=lambda shape, _: shape.tools or shape.manner.called,
    row=lambda look: any([sign in look.rendered.text for sign in ("{'", "True", "None")]),
    kinds=CHATS,
)
def printed_by_python(look: RowLook) -> Iterator[Fault]:
    """TOO010: the mapping of a tool, what a call is given or a null content, as `str` has it; a value behind its key in
    quotes."""
    text = look.rendered.text
    for number, message in enumerate(look.messages if "None" in text else ()):
        null = "content" in message.data and message.data["content"] is None
        at = text.find("None", *look.message_spans.get(number, (0, 0))) if null else -1
        if at >= 0 and "None" not in str(message.data.get("tool_calls")):
            what = f"message {number} has no content (null), and the template writes None"
            yield Fault(what, shown(text[max(0, at - 20) : at + 40]), message=number)
    for number, calls in look.calls.items():
        start, end = look.message_spans.get(number, (0, 0))
        for name, arguments, _ in calls:
            given, what = parsed(arguments), f"the call to {shown(name, 40)} in message {number}"
            printed = str(given) if given and "'" in str(given) else ""
            at = text.find(printed, start, end) if printed and printed not in look.spoken else -1
            for key, value in given.items() if at < 0 else ():
                if isinstance(value, (bool, type(None))):
                    at = max(at, text.find(f"{json.dumps(str(key))}: {value}", start, end))
            if at >= 0:
                yield Fault(
                    f"{what} is a Python literal in the rendered text", shown(text[at : at + 80]), message=number
                )
    for one in mappings(look.conversation.tools)[:_FIRST] if "{'" in text else ():
        if one and str(one) in text and str(one) not in look.spoken:
            yield Fault("the tools are Python literals in the rendered text", shown(str(one)))


_MARK = re.compile(r"\s*(<[^<>\s\d][^<>\s]{0,39}>|\[/?[A-Z_]{2,20}\])")
_LAST = re.compile(r"(<[^<>\s\d][^<>\s]{0,39}>|\[/?[A-Z_]{2,20}\])\s*\Z")
_AROUND = 60
"""Characters at the end of a message in which a mark is looked for."""

TPL024 = major(
    "mark-doubled",
    "a tag appears twice, once from the data and once from the template",
    "The message contains a tag, such as <think> or [INST], that the template also writes around it.",
    data="remove the tag from the data, or use a template without it",
    repair=(DROP,),
    leads_to=Consequence.GARBLED,
    bad=case(chat("Why?", "<think>\nWell.\n</think>\nSo."), template=chatml("<think>\n{{ m.content }}<|im_end|>")),
    good=case(chat("Why?", "<think>\nWell.\n</think>\nSo."), template=chatml()),
)


@row_check(CONVERSATION, TPL024, kinds=CHATS, signs=lambda *_: TAG, of=lambda shape: shape.rendered)
def doubled_mark(look: RowLook) -> Iterator[Fault]:
    """TPL024: what a message begins or ends with stands twice in a row where it is rendered; stops are EOS007's."""
    tokenizer, text = look.context.tools.tokenizer, look.rendered.text
    for number, message in enumerate(look.messages):
        said = text_of(message)
        bare = said.strip()
        if not bare or (bare[0] not in "<[" and bare[-1] not in ">]"):
            continue
        for found in filter(None, (_MARK.match(said), _LAST.search(said[-_AROUND:]))):
            twice = re.compile(rf"{re.escape(found[1])}\s*{re.escape(found[1])}")
            doubled = twice.search(text, *look.message_spans.get(number, (0, 0)))
            if doubled and not twice.search(said) and tokenizer.token_id(found[1]) not in look.context.stops:
                what = f"message {number} contains {shown(found[1])}, which the template also writes there"
                yield Fault(what, message=number, span=doubled.span())
