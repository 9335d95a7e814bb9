"""Tool calls: arguments, lost calls and results, and whether they fit together."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sftui.conversations.detected import type_word
from sftui.conversations.messages import is_missing, parse_json
from sftui.findings.calls import Call, calls_of
from sftui.findings.checks import CONVERSATION, STOPPED, Fault, row_check
from sftui.findings.context import Context
from sftui.findings.look import RowLook, shown
from sftui.findings.model import Consequence, Severity
from sftui.findings.rule import CALL, CALLING, DROP, TOOL, case, chat, fatal, loud, major
from sftui.findings.rules.roles import raw_message
from sftui.findings.shapes import RowShape
from sftui.findings.words import TextIndex, all_texts, mappings, text_of, walk
from sftui.model import Message, Stage
from sftui.trainers.traits import MessageKind, Quirk

_CALL_MARKS = ("{", "<tool_call", "Action:", "<function", "<|python_tag|>", "(")
_NOT_BARE = re.compile(r"[\W_]+")


def _calls(look: RowLook) -> Iterator[tuple[int, Call]]:
    """Each tool call of the row, with the number of its message."""
    return ((number, call) for number, calls in look.calls.items() for call in calls)


def tooled(shape: RowShape, context: Context) -> bool:
    """Whether there are calls or results of tools."""
    kinds = map(context.traits.kind_of, shape.roles)
    return shape.manner.called or not {MessageKind.CALL, MessageKind.RESULT}.isdisjoint(kinds)


def unread_calls(look: RowLook, number: int) -> list[Call]:
    """The calls that the row holds of a message, where the trainer leaves them behind."""
    if Quirk.DROPS_TOOL_CALLS not in look.context.traits.quirks or look.messages[number].data.get("tool_calls"):
        return []
    return calls_of(Message(raw_message(look, number)))


def _weather(call: Mapping[str, Any]) -> dict[str, Any]:
    return chat("Weather?", call, ("tool", "sunny and warm"), ("assistant", "It is sunny."))


def _calling(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {**CALL, "tool_calls": [{"function": {"name": name, "arguments": arguments}}]}


_WEATHER, _PARIS = _weather(CALL), _calling("get_weather", {"city": "Paris"})

TOO001 = major(
    "tool-arguments-double-encoded",
    "tool arguments are JSON text and get encoded again",
    "OpenAI stores arguments as JSON text, but Hugging Face templates expect an object and escape the text once more,"
    " so the model learns arguments full of backslashes. Axolotl parses the arguments itself.",
    data="parse the arguments of every tool call with json.loads",
    repair=("parse-json", DROP),
    leads_to=Consequence.GARBLED,
    bad=case(_WEATHER, template=CALLING),
    good=case(_weather(_PARIS), template=CALLING),
)


@row_check(CONVERSATION, TOO001, of=lambda shape: shape.rendered, shape=tooled)
def double_encoded(look: RowLook) -> Iterator[Fault]:
    """TOO001: argument text that stands in the rendering with its quotes escaped."""
    text = look.rendered.text
    standing, plain = TextIndex(text), TextIndex(text)
    for number, (name, arguments, _) in _calls(look):
        quotes = isinstance(arguments, str) and '"' in arguments
        escaped = json.dumps(arguments, ensure_ascii=False)[1:-1] if quotes else ""
        if not quotes or escaped not in standing or arguments in plain:
            continue
        at = text.find(escaped)
        if at >= 0:
            what = (
                f"the arguments of {shown(name, 40)} in message {number} are JSON text and were encoded a second time"
            )
            yield Fault(what, message=number, span=(at, at + len(escaped)))


TOO002 = fatal(
    "tool-call-dropped",
    "a tool call or a tool result is missing from the rendered text",
    "The template never prints it, or the trainer does not read it, so the turn becomes an empty answer.",
    data="use a template that prints tool calls, or move them into the content",
    leads_to=Consequence.LOST,
    bad=case(_WEATHER),
    good=case(_WEATHER, template=CALLING),
)


@row_check(
    CONVERSATION,
    TOO002,
    of=lambda shape: shape.rendered,
    shape=lambda shape, context: tooled(shape, context) or Quirk.DROPS_TOOL_CALLS in context.traits.quirks,
)
def dropped(look: RowLook) -> Iterator[Fault]:
    """TOO002: the name of a call, the keys or the values it gives, or the text of a result are nowhere in the
    rendering."""
    whole = look.rendered.text
    standing = TextIndex(whole)
    bare: TextIndex | None = None
    for number, (message, role) in enumerate(zip(look.messages, look.roles)):
        unread = unread_calls(look, number)
        if unread and not any(_named(name, text_of(message)) for name, _, _ in unread):  # tools name it as well
            yield Fault(
                f"LLaMA-Factory does not read the `tool_calls` in message {number}: only `formatting: openai` does",
                shown(", ".join(name for name, _, _ in unread)),
                message=number,
            )
        place = whole[slice(*look.message_spans.get(number, (0, 0)))]
        for name, arguments, _ in look.calls.get(number, ()):
            lost = _lost(name, arguments, whole, place)
            if lost:
                escaped = ", which escapes it as HTML does" if _ESCAPE.search(place) else ""
                what = f"{lost} of message {number} is missing from the rendered text{escaped}"
                yield Fault(what, shown(name), message=number)
        if look.context.traits.kind_of(role) is MessageKind.RESULT:
            text = text_of(message).strip()
            if not text or text in standing:
                continue
            bare = bare or TextIndex(_bare(whole))
            if _bare(text) not in bare:
                what = f"the tool result in message {number} is missing from the rendered text"
                yield Fault(what, shown(text), message=number)


_ESCAPE = re.compile(r"&(?:#\d+|#x\w+|quot|lt|gt|amp);|\\u00(?:26|27|3c|3e)")


def _lost(name: str, arguments: Any, text: str, place: str) -> str:
    """What is missing of a call: by its place where that is known, since the list of tools names its name and keys as
    well."""
    if not _named(name, place or text):
        return f"the tool call {shown(name, 40)}"
    given = parsed(arguments)
    if not place or not given:
        return ""
    keys = [key for key in map(str, given) if key]
    if keys and not any(_named(key, place) for key in keys):
        return f"the arguments of the tool call {shown(name, 40)}"
    # Numbers may be written in more than one way.
    said = [one for one in walk(list(given.values())) if isinstance(one, str)]
    if any(one in place and _says(one) for one in said):
        return ""
    values, bare = [one for one in said if _says(one)], _bare(place)
    if values and not any(_bare(value) in bare or _bare(json.dumps(value)[1:-1]) in bare for value in values):
        return f"the value of `{shown(keys[0], 40)}` in the tool call {shown(name, 40)}"
    return ""


def _says(text: str) -> bool:
    """Whether a text has more than one letter or digit."""
    return len(text) > 1 and (text.isalnum() or len(_bare(text)) > 1)


def parsed(arguments: Any) -> Mapping[str, Any]:
    """Arguments as a mapping, from JSON text too; empty where they are none."""
    found = parse_json(arguments) if isinstance(arguments, str) else arguments
    return found if isinstance(found, Mapping) else {}


def _named(name: str, text: str) -> bool:
    """Whether a tool or key is named as a whole word: short names stand inside many words."""
    if not name:
        return re.search(r"(?<!\w)(?!\w)", text) is not None
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if not (_in_word(text[at - 1 : at]) or _in_word(text[end : end + 1])):
            return True
        at = text.find(name, at + 1)
    return False


def _in_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _bare(text: str) -> str:
    """Letters and digits alone: templates encode results as JSON, with other blanks and escapes."""
    return _NOT_BARE.sub("", text.replace("\\n", "").replace("\\u", ""))


TOO003 = major(
    "tools-not-passed",
    "the row's tools are missing from the rendered text",
    "The template or the trainer leaves out the tool list: the model learns to call tools it was never told about.",
    data="pass tools=row['tools'] and use a template that prints them",
    leads_to=Consequence.LOST,
    bad=case(chat("Weather?", "Sunny.", tools=[TOOL])),
    good=case(chat("Weather?", "Sunny.", tools=[TOOL]), template=CALLING),
)


@row_check(CONVERSATION, TOO003, of=lambda shape: shape.rendered and shape.tools)
def tools_missing(look: RowLook) -> Iterator[Fault]:
    """TOO003: not one of the row's tools is named in the rendering."""
    labels = look.inspection.labels
    if labels is not None and labels.dropped is not None:
        return  # nothing of the row is trained, its tools included
    names, text, template = look.tools.names, look.rendered.text, look.context.template
    unread = look.chat and template is not None and look.rendered.pieces is None and "tools" not in template.source
    named = not unread and any(name in text for name in names)
    if names and not named and not all(_schema_stands(name, text) for name in names):
        what = f"the rendered text does not describe the row's {len(names)} tool{'s' if len(names) > 1 else ''}"
        yield Fault(what, shown(", ".join(names)))


def _schema_stands(name: str, text: str) -> bool:
    """Whether the text describes the tool and does not only call it: its name stands as a JSON value next to a
    description."""
    return re.search(rf'"name":\s*"{re.escape(name)}",\s*"(?:description|parameters)"', text) is not None


TOO005 = loud(
    "several-calls-unsupported",
    "the template rejects several tool calls in one turn",
    "Llama 3.1 and 3.2 allow one call per turn.",
    data="split the turn so that each has one call, or use another template",
    repair=(DROP,),
    bad=case(
        chat("Weather?", {**CALL, "tool_calls": CALL["tool_calls"] * 2}),
        template=(
            "{% for m in messages if m.tool_calls and m.tool_calls | length > 1 %}{{ raise_exception('This model"
            " only supports single tool-calls at once!') }}{% endfor %}"
        )
        + CALLING,
    ),
    good=case(_WEATHER, template=CALLING),
)


@row_check(STOPPED, TOO005, of=lambda shape: shape.stopped is Stage.RENDERED and shape.manner.called)
def several_calls(look: RowLook) -> Iterator[Fault]:
    """TOO005: the template raises, and says that it takes one call a turn."""
    if "single tool" in look.refusal.lower():
        for number, calls in look.calls.items():
            if len(calls) > 1:
                names = shown(", ".join(name for name, _, _ in calls))
                what = f"message {number} makes {len(calls)} tool calls but the template accepts one"
                yield Fault(what, names, message=number)


TOO006 = major(
    "tool-graph-broken",
    "tool calls and results do not match",
    "Arguments that are not JSON, a result without a call, a call without a result, or ids that do not match.",
    data="correct the calls",
    repair=("parse-json", DROP),
    bad=case(chat("hi", ("tool", "{}"), ("assistant", "Hello."))),
    more=(case(chat("Weather?", {**_PARIS, "tool_calls": json.dumps(_PARIS["tool_calls"])}), template=CALLING),),
)


@row_check(CONVERSATION, TOO006, shape=tooled)
def graph(look: RowLook) -> Iterator[Fault]:
    """TOO006: the first of malformed calls, calls of no tool and results without a call; else a call without a
    result."""
    known = look.tools.known
    # Calls that wait for their result by their number, and those numbers by the id: one look-up for each result.
    open_calls: dict[int, Call] = {}
    by_id: dict[str, int] = {}
    made: set[str] = set()
    called_at, unanswered = -1, None
    first_text: int | None = None

    def reported(what: str, number: int, evidence: str, severity: Severity | None = None) -> Fault:
        return Fault(what, shown(evidence), message=number, severity=severity)

    for number, (message, role) in enumerate(zip(look.messages, look.roles)):
        calls, kind = look.calls.get(number, ()), look.context.traits.kind_of(role)
        wrong = _malformed(message, number, calls, known) if calls or "tool_calls" in message.data else None
        if wrong is not None:
            yield reported(wrong[0], number, wrong[1])
        if role == "tool" or (kind is MessageKind.RESULT and role in look.context.traits.own_roles):
            call_id = message.data.get("tool_call_id")
            if not open_calls and called_at < 0:
                first_text = _first_call_in_text(look) if first_text is None else first_text
                if first_text >= number:
                    what = f"message {number} is a tool result, but no tool was called before it"
                    yield reported(what, number, text_of(message))
            if isinstance(call_id, str) and made:
                what = f"the result in message {number} answers the call {shown(call_id, 40)}"
                if call_id not in made:
                    yield reported(f"{what}, which was never made", number, call_id)
                if call_id not in by_id:
                    yield reported(f"{what} a second time", number, call_id)
            if by_id and call_id is not None:
                open_calls.pop(by_id.pop(call_id, -1) if isinstance(call_id, str) else -1, None)
            elif open_calls:
                _, _, one = open_calls.pop(next(iter(open_calls)))
                by_id.pop(one or "", None)
        elif open_calls and role in ("user", "assistant"):
            name, _, _ = next(iter(open_calls.values()))
            what = f"the call to {shown(name, 40)} in message {called_at} has no result"
            unanswered = unanswered or reported(what, called_at, name, Severity.INFO)
            open_calls, by_id = {}, {}
        if kind is MessageKind.CALL:  # several follow each other, and one result answers all calls of a message
            open_calls |= {number: calls[0]} if calls else {}
            called_at = number
        elif calls:
            open_calls = dict(enumerate(calls))
            by_id = {one: at for at, (_, _, one) in enumerate(calls) if one is not None}
            called_at = number
            made.update(by_id)
    if unanswered is not None:
        yield unanswered


def _malformed(message: Message, number: int, calls: Sequence[Call], known: frozenset[str]) -> tuple[str, str] | None:
    """What is wrong with the calls of one message, and the text that shows it."""
    raw = message.data.get("tool_calls")
    if isinstance(raw, str) and raw.strip():
        return f"the tool calls in message {number} are text, not a list", raw
    if isinstance(raw, (list, tuple)) and len(calls) < len(raw):
        return f"a tool call in message {number} names no function", str(raw)
    for name, arguments, _ in calls:
        what = f"the arguments of {shown(name, 40)} in message {number}"
        if isinstance(arguments, str) and arguments.strip():
            text, arguments = arguments, parse_json(arguments)
            if is_missing(arguments):
                return f"{what} are not JSON", text
        if arguments and type(arguments) is not dict and not isinstance(arguments, (str, Mapping)):
            return f"{what} are {type_word(arguments)}, not an object", str(arguments)
        if isinstance(arguments, str) and arguments.strip():
            return f"{what} are JSON text inside JSON text", arguments
        if known and name not in known:
            return f"message {number} calls {shown(name, 40)}, which is not one of the row's tools", name
    ids = Counter([one for _, _, one in calls if one])
    twice = next((one for one, count in ids.items() if count > 1), None)
    return None if twice is None else (f"two calls in message {number} have the same id", twice)


def _first_call_in_text(look: RowLook) -> int:
    """The first message that writes its call as text, as ShareGPT sets and ReAct prompts do, or has one in the row that
    the trainer leaves behind; their number where none does."""
    for number, message in enumerate(look.messages):
        text = str(message.content) if message.role == "assistant" else ""
        if raw_message(look, number).get("tool_calls") or any(mark in text for mark in _CALL_MARKS):
            return number
    return len(look.messages)


CON009 = major(
    "none-keys-of-arrow",
    "tools have null keys",
    "Arrow merges the arguments of all calls into one struct, so every call gets all keys, with null for those it"
    " lacks.",
    data="remove the null keys, or store JSON text",
    bad=case(chat("hi", _calling("f", {"a": 1, "b": None, "c": None}))),
)


@row_check(CONVERSATION, CON009, shape=lambda shape, _: shape.manner.called or shape.tools)
def null_keys(look: RowLook) -> Iterator[Fault]:
    """CON009: keys that are null in tool arguments or schemas, which Arrow adds so that all rows have the same."""
    for number, (_, arguments, _) in _calls(look):
        if all_texts(arguments) or "tool_calls" not in look.messages[number].data:  # a text of calls is none of Arrow's
            continue
        for level in mappings(arguments):
            empty = [str(key) for key, value in level.items() if value is None]
            # One null may be meant, several among others are Arrow's.
            if len(empty) > 1 and len(empty) * 2 >= len(level):
                what = f"{len(empty)} of {len(level)} keys in the arguments of a call in message {number} are null"
                yield Fault(what, shown(", ".join(empty)), message=number)
    # A schema says null in few places; a property that is null, or several keys, say nothing to a model.
    null = look.tools.empty
    if len(null) > 1:
        yield Fault(f"{len(null)} keys in the row's tools are null", shown(", ".join(dict.fromkeys(null))))
