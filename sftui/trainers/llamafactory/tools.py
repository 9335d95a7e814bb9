"""How LLaMA-Factory writes tools into the system text and function calls into an answer.

Source: llamafactory 0.9.5, data/tool_utils.py (the wordings are part of its format) and
data/formatter.py (ToolFormatter, FunctionFormatter).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

from sftui.errors import TemplateError

Call = tuple[str, Any]
"""A function call: its name and its arguments as JSON values."""

FORMATS = ("default", "llama3", "mistral", "qwen")
"""The tool formats that sftui has, by LLaMA-Factory's own names."""

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def describe(tools: str, name: str, today: date) -> str:
    """The text of a tool list, given as JSON; TemplateError where LLaMA-Factory would stop.

    `today` is written by the llama3 format.
    """
    try:
        listed = json.loads(tools)
    except (TypeError, ValueError) as error:
        raise TemplateError(
            "LLaMA-Factory stops the whole run at this row",
            why="its tools are no JSON text",
            fix="store the tools as a JSON string",
        ) from error
    try:
        return _DESCRIBE[name](listed, today) if len(listed) != 0 else ""
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise TemplateError(
            f"the tools cannot be written in tool_format {name}",
            why=f"LLaMA-Factory stops with {type(error).__name__}: {error}",
            fix="give each tool a name and parameters with properties",
        ) from error


def call_text(content: str, name: str, thought: tuple[str, str] | None, wrapper: tuple[str, str] | None) -> str:
    """A function-call message as the assistant writes it; TemplateError where it is no JSON.

    Text around `<tool_call>…</tool_call>` stays in front; else a thought in front of bare JSON stays.
    """
    found = _between(wrapper, content)
    if found is not None:
        return content.replace(found.group(0), "") + _written(found.group(1), name)
    thinking = _between(thought, content)
    if thinking is None:
        return _written(content, name)
    return thinking.group(0) + _written(content.replace(thinking.group(0), ""), name)


def _between(words: tuple[str, str] | None, content: str) -> re.Match[str] | None:
    if words is None:
        return None
    return re.search(f"{re.escape(words[0])}(.*?){re.escape(words[1])}", content, re.DOTALL)


def _written(text: str, name: str) -> str:
    try:
        value = json.loads(text)
        calls = [(call["name"], call["arguments"]) for call in (value if isinstance(value, list) else [value])]
    except (ValueError, KeyError, TypeError) as error:
        raise TemplateError(
            "a function call is no JSON with name and arguments",
            why="LLaMA-Factory stops the whole run at such a row",
            fix="mend or remove the row",
        ) from error
    return _CALLS[name](calls)


def _dump(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _wrapped(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    return tool if tool.get("type") == "function" else {"type": "function", "function": tool}


def _describe_default(tools: Sequence[Mapping[str, Any]], today: date) -> str:
    text, names = "", []
    for entry in tools:
        tool = entry.get("function", "") if entry.get("type") == "function" else entry
        lines = "".join(
            _parameter(name, one, tool["parameters"]) for name, one in tool["parameters"]["properties"].items()
        )
        text += f"> Tool Name: {tool['name']}\nTool Description: {tool.get('description', '')}\nTool Args:\n{lines}\n"
        names.append(tool["name"])
    return (
        f"You have access to the following tools:\n{text}Use the following format if using a tool:\n```\n"
        f"Action: tool name (one of [{', '.join(names)}])\n"
        "Action Input: the input to the tool, in a JSON format representing the kwargs "
        '(e.g. ```{"input": "hello world", "num_beams": 5}```)\n```\n'
    )


def _parameter(name: str, one: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    required = ", required" if name in parameters.get("required", []) else ""
    choices = f", should be one of [{', '.join(one['enum'])}]" if one.get("enum") else ""
    items = f", where each item should be {one['items'].get('type', '')}" if one.get("items") else ""
    return f"  - {name} ({one.get('type', '')}{required}): {one.get('description', '')}{choices}{items}\n"


def _describe_llama3(tools: Sequence[Mapping[str, Any]], today: date) -> str:
    listed = "".join(_dump(_wrapped(tool), 4) + "\n\n" for tool in tools)
    return (
        f"Cutting Knowledge Date: December 2023\nToday Date: {today.day:02} {_MONTHS[today.month - 1]} {today.year}\n\n"
        "You have access to the following functions. To call a function, please respond with JSON for a function call. "
        'Respond in the format {"name": function name, "parameters": dictionary of argument name and its value}. '
        f"Do not use variables.\n\n{listed}"
    )


def _describe_mistral(tools: Sequence[Mapping[str, Any]], today: date) -> str:
    return f"[AVAILABLE_TOOLS] {_dump([_wrapped(tool) for tool in tools])}[/AVAILABLE_TOOLS]"


def _describe_qwen(tools: Sequence[Mapping[str, Any]], today: date) -> str:
    listed = "".join("\n" + _dump(_wrapped(tool)) for tool in tools)
    return (
        "\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
        f"You are provided with function signatures within <tools></tools> XML tags:\n<tools>{listed}\n</tools>\n\n"
        "For each function call, return a json object with function name and arguments within "
        '<tool_call></tool_call> XML tags:\n<tool_call>\n{"name": <function-name>, '
        '"arguments": <args-json-object>}\n</tool_call>'
    )


def _calls_default(calls: Sequence[Call]) -> str:
    return "\n".join(f"Action: {name}\nAction Input: {_dump(arguments)}" for name, arguments in calls)


def _calls_llama3(calls: Sequence[Call]) -> str:
    made = [{"name": name, "parameters": arguments} for name, arguments in calls]
    return _dump(made[0] if len(made) == 1 else made)


def _calls_mistral(calls: Sequence[Call]) -> str:
    return _dump([{"name": name, "arguments": arguments} for name, arguments in calls])


def _calls_qwen(calls: Sequence[Call]) -> str:
    return "\n".join(
        f"<tool_call>\n{_dump({'name': name, 'arguments': arguments})}\n</tool_call>" for name, arguments in calls
    )


_DESCRIBE: Mapping[str, Callable[[Sequence[Mapping[str, Any]], date], str]] = {
    "default": _describe_default,
    "llama3": _describe_llama3,
    "mistral": _describe_mistral,
    "qwen": _describe_qwen,
}
_CALLS: Mapping[str, Callable[[Sequence[Call]], str]] = {
    "default": _calls_default,
    "llama3": _calls_llama3,
    "mistral": _calls_mistral,
    "qwen": _calls_qwen,
}
