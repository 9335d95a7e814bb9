"""Calls of tools that a template writes as JSON which nothing can read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache

from sftui.findings.checks import CHATS, LABELLED, Fault, row_check
from sftui.findings.look import RowLook, shown
from sftui.findings.model import Consequence
from sftui.findings.rule import CALL, CALLING, case, chat, chatml, major
from sftui.findings.rules.tools import parsed

_OPEN = r'\{\s*"[^"{}]{1,40}"\s*:\s*"%s"'
"""How JSON of a call begins, its name first or behind a brace of its own."""
_DECODER = json.JSONDecoder()
_QUOTED = chatml(
    '{{ m.content }}{% for c in m.tool_calls %}{{ \'{"name": "\' + c.function.name + \'", "arguments": \' +'
    " c.function.arguments + '\"}' }}{% endfor %}<|im_end|>"
)

TOO007 = major(
    "call-rendered-broken",
    "a tool call is rendered as invalid JSON",
    "It starts like JSON but does not parse: the template writes an extra quote or bracket, arguments as Python"
    " literals, or values without tojson. The inference server finds no tool call in it.",
    data="write the whole call with tojson in the template",
    leads_to=Consequence.GARBLED,
    bad=case(chat("Weather?", CALL), template=_QUOTED),
    good=case(chat("Weather?", CALL), template=CALLING),
)


@lru_cache(maxsize=200)
def _opening(name: str) -> re.Pattern[str]:
    return re.compile(_OPEN % re.escape(json.dumps(name, ensure_ascii=False)[1:-1]))


@row_check(LABELLED, TOO007, shape=lambda shape, _: shape.manner.called, kinds=CHATS)
def broken(look: RowLook) -> Iterator[Fault]:
    """TOO007: the first call that opens as JSON in its message's place and does not close so."""
    text = look.rendered.text
    for number, calls in look.calls.items():
        at, end = look.message_spans.get(number, (0, 0))
        for name, arguments, _ in calls:
            opened = _opening(name).search(text, at, end)
            if opened is None or (isinstance(arguments, str) and arguments and not parsed(arguments)):
                continue  # written in another way, or TOO006
            try:
                _, at = _DECODER.raw_decode(text, opened.start())
            except (ValueError, RecursionError) as error:
                wrong = error.pos if isinstance(error, json.JSONDecodeError) else opened.end()
                tail = shown(text[wrong : wrong + 12])
                what = f"the call to {shown(name, 40)} in message {number} stops being valid JSON at {tail}"
                yield Fault(what, shown(text[opened.start() : wrong + 12], 120), message=number)
