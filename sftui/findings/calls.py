"""What rows hold of tools: the calls of their messages, and the list of tools, which is the same in many rows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from sftui.conversations.identity import FunctionMemo, identity
from sftui.conversations.messages import parse_json, tool_calls_in
from sftui.findings.words import mappings, text_of, without_thoughts, words
from sftui.model import Message
from sftui.values import lazy, value_class

Call = tuple[str, Any, "str | None"]
"""Name, arguments and id of a call."""
_NULL_IN_SCHEMAS = {"default", "const", "example", "examples"}


@value_class
class Tools:
    """A list of tools, as the row has it (`listed`): their names, `known` as a set, the keys that are null where that
    says nothing (`empty`), and all texts in it, one under the other."""

    listed: Any
    names: tuple[str, ...]
    known: frozenset[str]
    empty: tuple[str, ...]
    text: str

    @lazy
    def schemas(self) -> Mapping[str, Mapping[str, Any]]:
        """The JSON schema of what each tool is given, by its name, where it names some properties."""
        found: dict[str, Mapping[str, Any]] = {}
        for function in _functions(self.listed):
            for schema in (function.get("parameters"), function.get("input_schema")):
                if isinstance(schema, Mapping) and isinstance(named := schema.get("properties"), Mapping) and named:
                    found[_name(function)] = schema
        return found

    @lazy
    def identity(self) -> bytes:
        """What tells it apart from others (see `identity`)."""
        return identity({"tools": self.listed}, ())


def calls_of(message: Message) -> list[Call]:
    """Name, arguments and id of each tool call of a message; what is no call is left out."""
    found = []
    calls = message.data.get("tool_calls")
    for call in calls if isinstance(calls, (list, tuple)) else ():
        function = call.get("function", call) if type(call) is dict or isinstance(call, Mapping) else None
        if (type(function) is dict or isinstance(function, Mapping)) and isinstance(function.get("name"), str):
            one = call.get("id")
            found.append((function["name"], function.get("arguments"), one if isinstance(one, str) else None))
    return found


def spoken_calls(message: Message) -> list[Call]:
    """The same of a message whose text is its calls, as JSON, behind a thought or not."""
    return calls_of(Message({"tool_calls": tool_calls_in(without_thoughts(text_of(message)))}))


def declared(tools: Any) -> Tools:
    """What a list of tools says; the same lists come again and again."""
    found = REPEATED.of(tools)
    return _declared(tools) if found is None else found


def _declared(tools: Any) -> Tools:
    names = [name for function in _functions(tools) if (name := _name(function))]
    empty = [
        str(key)
        for level in mappings(tools)
        for key, value in level.items()
        if value is None and key not in _NULL_IN_SCHEMAS
    ]
    return Tools(tools, tuple(names), frozenset(names), tuple(empty), "\n".join(words(tools)))


REPEATED = FunctionMemo(_declared)


def _functions(tools: Any) -> list[Mapping[str, Any]]:
    """What each tool of a list declares, or of the JSON text of one, as LLaMA-Factory has them."""
    found = _parsed(tools) if isinstance(tools, str) else tools
    entries = found if isinstance(found, (list, tuple)) else ()
    inner = [tool.get("function", tool) for tool in entries if isinstance(tool, Mapping)]
    return [function for function in inner if isinstance(function, Mapping)]


_parsed = lru_cache(maxsize=200)(parse_json)


def _name(function: Mapping[str, Any]) -> str:
    name = function.get("name")
    return name if isinstance(name, str) else ""
