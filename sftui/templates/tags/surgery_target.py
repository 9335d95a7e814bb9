"""What generation tags must cover, known without any tag: the answers and what ends them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sftui.model import Conversation, Kind, Message, Part, RenderedText, common_prefix
from sftui.templates.rendering.marks import make_mark, slots_of

Range = tuple[int, int]
Draw = Callable[..., "str | None"]
"""Messages (and `prompt`: with the generation prompt) → text, None where the template refuses them."""

# The looks of control tokens, for a second one right behind the first.
_SPECIAL = re.compile(r"<\|[^|<>\s]{1,60}\|>|<｜[^｜<>\s]{1,60}｜>|</s>|<eos>")
_BLANK_THOUGHT = re.compile(r"\s*<think>\s*</think>")
_BLANK_THOUGHT_END = re.compile(r"<think>\s*</think>\s*\Z")
_CALL = {"type": "function", "id": "call00001", "function": {"name": "lookup", "arguments": {"city": "Ulm", "days": 2}}}
_SECOND = {"type": "function", "id": "call00002", "function": {"name": "measure", "arguments": {"depth": "three"}}}
_TEXT_CALL = {"type": "function", "id": "call00003", "function": {"name": "lookup", "arguments": '{"city": "Bonn"}'}}
_TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "lookup",
            "description": "finds it",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]


def targets(rendered: RenderedText, messages: Sequence[Mapping[str, Any]], draw: Draw) -> tuple[Range, ...] | None:
    """Content and terminator of every assistant message in a rendered text, in order; None where they are not proven.

    What the template writes by itself (an empty think block) is no answer. What the header says beyond the generation
    prompt is (gpt-oss's channel): at inference the model has to say it. A turn of tool calls begins where a plain
    answer in its place would: the spans count the opening of a call as header, but the model has to say it; so it
    does the line breaks that are left of a thought.
    """
    if not rendered.exact:
        return None
    found: list[Range] = []
    usual = _generation_prompt([{"role": "user", "content": make_mark(rendered.text, "u")}], draw).lstrip()
    for number, message in enumerate(messages):
        if message.get("role") != "assistant":
            continue
        mine = [
            span for span in rendered.spans if span.message == number and span.part in (Part.CONTENT, Part.TERMINATOR)
        ]
        content = message.get("content")
        if isinstance(content, (list, tuple)) and repr(content) in rendered.text:
            return None  # printed as Python writes a list: a fault of the data, and no answer
        if slots_of(message).says_something and not any(span.part is Part.CONTENT for span in mine):
            return None
        if len(mine) > 1 and mine[-1].part is Part.TERMINATOR and number + 1 < len(messages):
            # Where the turn alone has no end, the next turn's header is what ends it (GLM): no tag in this one can hold
            # it.
            alone, said = draw(messages[: number + 1]), rendered.text[mine[-2].start : mine[-2].end].rstrip()
            if alone is not None and said and alone.rstrip().endswith(said):
                mine.pop()
        if (
            len(mine) > 1
            and mine[-1].part is Part.TERMINATOR
            and usual.strip()
            and rendered.text.startswith(usual, mine[-1].start)
        ):
            mine.pop()  # nothing ends the turn: this opens the next (an answer in the midst of calls, Gemma 4)
        if not mine:
            continue
        again = _SPECIAL.match(rendered.text, mine[-1].end)
        if again is not None and mine[-1].part is Part.TERMINATOR:
            # Two tokens may end a turn (Cohere's response and turn), where the turn alone has both.
            alone = draw(messages[: number + 1])
            if alone is not None and alone.rstrip().endswith(rendered.text[mine[0].start : again.end()]):
                found.append(again.span())
        found += [(span.start, span.end) for span in mine]
        found += _said_before(rendered, messages, number, usual, draw)
        calls = bool(message.get("tool_calls"))
        if isinstance(content, str) and _BLANK_THOUGHT.match(content):
            # An empty thought that the message brings is its own, however the template writes it anew.
            blank = _BLANK_THOUGHT_END.search(rendered.text, 0, mine[0].start)
            if blank is not None:
                found.append((blank.start(), mine[0].start))
        elif isinstance(content, str) and "</think>" in content:
            # The opening tag of a thought that the message brings is its own, also behind one of the template.
            whole = rendered.text.rfind(content.strip(), 0, mine[0].end + len(content))
            if 0 <= whole < mine[0].start < whole + len(content.strip()):
                found.append((whole, mine[0].start))
        if calls or "</think>" in str(content):
            start = _plain_start(rendered.text, messages, number, draw)
            if start is None:
                return None
            if start < mine[0].start and (calls or not rendered.text[start : mine[0].start].strip()):
                found.append((start, mine[0].start))
    return joined(found)


def _generation_prompt(messages: Sequence[Mapping[str, Any]], draw: Draw) -> str:
    """The generation prompt after some messages; "" where it does not stand behind them."""
    before, prompt = draw(messages), draw(messages, prompt=True)
    return "" if before is None or prompt is None or not prompt.startswith(before) else prompt[len(before) :]


def _said_before(
    rendered: RenderedText, messages: Sequence[Mapping[str, Any]], number: int, usual: str, draw: Draw
) -> list[Range]:
    """What of a turn's header the generation prompt leaves to the model."""
    header = next((span for span in rendered.spans if span.message == number and span.part is Part.HEADER), None)
    if header is None:
        return []
    text = rendered.text[header.start : header.end]
    for header_text in (_generation_prompt(messages[:number], draw).lstrip(), usual):
        if header_text.strip() and header_text in text:
            start = header.start + text.rindex(header_text) + len(header_text)
            return [(start, header.end)] if rendered.text[start : header.end].strip() else []
    return []


def _plain_start(text: str, messages: Sequence[Mapping[str, Any]], number: int, draw: Draw) -> int | None:
    mark = make_mark(text, "s")
    other = draw([*messages[:number], {"role": "assistant", "content": mark}, *messages[number + 1 :]])
    if other is None or mark not in other:
        return None
    common = common_prefix(other.partition(mark)[0], text)
    cut = next((one for one in _SPECIAL.finditer(text, max(0, common - 64)) if one.start() < common < one.end()), None)
    return common if cut is None else cut.start()


def joined(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """The same characters in order, neighbours joined, empty ranges left out."""
    out: list[Range] = []
    for start, end in sorted(ranges):
        if start >= end:
            continue
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return tuple(out)


def probes() -> list[Conversation]:
    """Conversations of every kind that templates tell apart; a template need not take all of them."""

    def said(role: str, content: Any, **more: Any) -> dict[str, Any]:
        return {"role": role, "content": content, **more}

    def answer(content: Any, **more: Any) -> dict[str, Any]:
        return said("assistant", content, **more)

    def call(*calls: Any, content: str | None = "") -> dict[str, Any]:
        return answer(content, tool_calls=list(calls))

    def parts(role: str, *texts: str) -> dict[str, Any]:
        return said(role, [{"type": "text", "text": text} for text in texts])

    user, other, system = said("user", "What is red?"), said("user", "And what is blue?"), said("system", "Be brief.")
    first, second, empty = answer("A rose is."), answer("The sea\nis."), answer("")
    result = {"role": "tool", "name": "lookup", "tool_call_id": "call00001", "content": "12 C"}
    thought = {**first, "reasoning_content": "I think of flowers."}
    inline = answer("<think>\nOf flowers.\n</think>\n\nA rose is.")
    blank, blank_lines = "<think></think>", "<think>\n\n</think>\n\n"
    chats: list[list[dict[str, Any]]] = [
        [user, first],
        [system, user, first],
        [user, first, other, second],
        [system, user, first, other, second, user, first],
        [user],
        [user, first, other],
        [user, empty],
        [user, empty, other, second],
        [user, thought],
        [user, thought, other, {**second, "reasoning_content": "Of water."}],
        [user, inline],
        [user, inline, other, answer("<think>\nOf water.\n</think>\n\nThe sea is.")],
        [user, inline, other, second],
        [user, answer(f"{blank_lines}A rose is."), other, answer(f"{blank}The sea is.")],
        [user, answer(f"{blank}A rose is."), other, answer(f"{blank_lines}The sea is.")],
        [user, answer("  A rose \n"), other, answer("\n\nThe sea ")],
        [user, call(_CALL), result, first],
        [user, call(_CALL), result, first, other, second],
        [user, call(_CALL)],
        [user, call(_CALL), result],
        [user, call(_CALL, content="Let me see."), result, first],
        [user, call(_CALL, _SECOND), result, {**result, "content": "4 m"}, first],
        [user, call(_CALL, _SECOND, content="Both."), result, first],
        [user, call(_CALL, content=None), result, first],
        [user, call(_TEXT_CALL), result, first],
        [user, call(_TEXT_CALL, content=None), result, first, other, second],
        [user, {**call(_CALL), "reasoning_content": "I must look."}, result, thought],
        [user, first, second],
        [user, first, other, call(_CALL), result, second],
        [parts("user", "What is red?"), parts("assistant", "A rose is.")],
        [user, first, user, first, other],
        [
            parts("system", "Be brief."),
            parts("user", "What", "is red?"),
            parts("assistant", "A rose", " is."),
            parts("user", "And blue?"),
            parts("assistant", "The sea."),
        ],
    ]
    return [_chat(chat, tools) for chat in chats for tools in (None, _TOOLS)]


def _chat(messages: Sequence[Mapping[str, Any]], tools: Any) -> Conversation:
    return Conversation(Kind.CHAT, "messages", messages=tuple(Message(message) for message in messages), tools=tools)
