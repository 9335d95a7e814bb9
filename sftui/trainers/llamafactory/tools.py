"""How LLaMA-Factory writes tools into the system text and function calls into an answer.

Source: llamafactory 0.9.5, data/tool_utils.py (the wordings are part of its format: `registry.PROMPTS`) and
data/formatter.py (ToolFormatter, FunctionFormatter).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

from sftui.errors import TemplateError
from sftui.trainers.llamafactory.registry import PLACEHOLDER, PROMPTS, SlotTemplate, stop

Call = tuple[str, Any]
"""A function call: its name and its arguments as JSON values."""

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def listed(tools: str, template: SlotTemplate, today: date) -> str:
    """The text of a tool list, given as JSON, in a template's format; TemplateError where LLaMA-Factory would stop."""
    if not template.tools_slots:
        return describe(tools, template.tools_format, today)
    first = template.tools_slots[0]
    return first.replace(PLACEHOLDER, tools, 1) if isinstance(first, str) else ""


def describe(tools: str, name: str, today: date) -> str:
    """The same in the format of a name; `today` is written by the llama3 format."""
    try:
        read = json.loads(tools)
    except (TypeError, ValueError) as error:
        raise no_json() from error
    try:
        return _DESCRIBE[name](read, today) if len(read) != 0 else ""
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        what, fix = "the tools cannot be written", "give each tool a name and parameters with properties"
        raise _unwritten(what, name, error, fix) from error


def no_json() -> TemplateError:
    """The error for a row whose tools are no JSON text."""
    why, fix = "its tools are not JSON text", "store the tools as a JSON string"
    return TemplateError("LLaMA-Factory stops the whole run at this row", why=why, fix=fix)


def call_text(content: str, name: str, thought: tuple[str, str] | None, wrapper: tuple[str, str] | None) -> str:
    """A function-call message as the assistant writes it; TemplateError where it is no JSON.

    Text around `<tool_call>…</tool_call>` stays in front; else a thought in front of bare JSON stays.
    """
    found = _between(wrapper, content)
    if found is not None:
        return content.replace(found[0], "") + _written(found[1], name)
    thinking = _between(thought, content)
    before = thinking[0] if thinking is not None else ""
    return before + _written(content.replace(before, ""), name)


def _between(words: tuple[str, str] | None, content: str) -> re.Match[str] | None:
    if words is None:
        return None
    return re.search(f"{re.escape(words[0])}(.*?){re.escape(words[1])}", content, re.DOTALL)


def calls_in(text: str) -> list[Call]:
    """The calls of a function-call message; ValueError, KeyError or TypeError where it is no JSON of calls."""
    value = json.loads(text)
    return [(call["name"], call["arguments"]) for call in (value if isinstance(value, list) else [value])]


def _written(text: str, name: str) -> str:
    try:
        calls = calls_in(text)
    except (ValueError, KeyError, TypeError) as error:
        raise stop(TemplateError, "a function call is not JSON with name and arguments") from error
    try:
        return _CALLS[name](calls)
    except (TypeError, AttributeError, ValueError, IndexError) as error:
        what, fix = "the function call cannot be written", "fix or remove the row, or set another tool_format"
        raise _unwritten(what, name, error, fix) from error


def _unwritten(what: str, name: str, error: Exception, fix: str) -> TemplateError:
    why = f"LLaMA-Factory stops with {type(error).__name__}: {error}"
    return TemplateError(f"{what} in tool_format {name}", why=why, fix=fix)


def _dump(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _wrapped(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    return tool if tool.get("type") == "function" else {"type": "function", "function": tool}


def _bare(tool: Mapping[str, Any], absent: Any = "") -> Any:
    """A tool without what is wrapped around it; `absent` where it says that it is wrapped and is not."""
    return tool.get("function", absent) if tool.get("type") == "function" else tool


def _prompt(name: str, tool_text: str, **more: str) -> str:
    return PROMPTS[name].format(tool_text=tool_text, **more)


def _describe_default(tools: Sequence[Mapping[str, Any]], today: date) -> str:
    text, names = "", []
    for entry in tools:
        tool = _bare(entry)
        lines = "".join(
            _parameter(name, one, tool["parameters"]) for name, one in tool["parameters"]["properties"].items()
        )
        text += f"> Tool Name: {tool['name']}\nTool Description: {tool.get('description', '')}\nTool Args:\n{lines}\n"
        names.append(tool["name"])
    return _prompt("default", text, tool_names=", ".join(names))


def _parameter(name: str, one: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    required = ", required" if name in parameters.get("required", []) else ""
    choices = f", should be one of [{', '.join(one['enum'])}]" if one.get("enum") else ""
    items = f", where each item should be {one['items'].get('type', '')}" if one.get("items") else ""
    return f"  - {name} ({one.get('type', '')}{required}): {one.get('description', '')}{choices}{items}\n"


def _declaration(tool: Mapping[str, Any]) -> str:
    text = f"declaration:{tool['name']}{{description:{_quoted(tool.get('description', ''))}"
    if parameters := tool.get("parameters"):
        said = _members(parameters, properties=_properties, required=_names, type=_kind)
        text += f",parameters:{{{said}}}"
    if response := tool.get("response"):
        kind = "OBJECT" if str(response.get("type", "")).upper() == "OBJECT" else ""
        said = _members({"description": response.get("description"), "type": kind}, description=_quoted, type=_quoted)
        text += f",response:{{{said}}}"
    return text + "}"


def _members(value: Mapping[str, Any], **write: Callable[[Any], str]) -> str:
    """Some keys of a mapping, of those that say something."""
    return ",".join(f"{key}:{put(value[key])}" for key, put in write.items() if value.get(key))


def _properties(properties: Mapping[str, Any]) -> str:
    shown = (f"{key}:{{{_members(one, description=_quoted, type=_kind)}}}" for key, one in properties.items())
    return f"{{{','.join(shown)}}}"


def _names(names: Any) -> str:
    return f"[{','.join(map(_quoted, names))}]"


def _kind(kind: Any) -> str:
    return _quoted(str(kind).upper())


def _quoted(text: Any) -> str:
    return f'<|"|>{text}<|"|>'


def _glm4(tool: Mapping[str, Any]) -> str:
    return f"\n\n## {tool['name']}\n\n{_dump(tool, 4)}\n在调用上述函数时，请使用 Json 格式表示调用的参数。"


def _describe_llama3(tools: Sequence[Mapping[str, Any]], today: date) -> str:
    text = "".join(_dump(_wrapped(tool), 4) + "\n\n" for tool in tools)
    return _prompt("llama3", text, date=f"{today.day:02} {_MONTHS[today.month - 1]} {today.year}")


def _wrapped_lines(tools: Sequence[Mapping[str, Any]]) -> str:
    return "".join("\n" + _dump(_wrapped(tool)) for tool in tools)


def _each(
    write: Callable[[str, Any], str], joint: str = "\n", head: str = "", tail: str = ""
) -> Callable[[Sequence[Call]], str]:
    """Calls written one by one, with what stands between, before and behind them."""
    return lambda calls: head + joint.join(write(*call) for call in calls) + tail


def _gemma4(arguments: Any) -> str:
    if isinstance(arguments, dict):
        return _gemma4_items(arguments)
    return arguments if isinstance(arguments, str) else _gemma4_value(arguments)


def _gemma4_items(items: Mapping[str, Any]) -> str:
    return ",".join(f"{key}:{_gemma4_value(items[key])}" for key in sorted(items))


def _gemma4_value(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, dict):
        return f"{{{_gemma4_items(value)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_gemma4_value, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)


def _calls_glm4(calls: Sequence[Call]) -> str:
    if len(calls) > 1:
        raise ValueError("GLM-4 does not support parallel functions.")
    name, arguments = calls[0]
    return f"{name}\n{_dump(arguments)}"


def _calls_llama3(calls: Sequence[Call]) -> str:
    made = [{"name": name, "parameters": arguments} for name, arguments in calls]
    return _dump(made[0] if len(made) == 1 else made)


def _named(name: str, arguments: Any) -> str:
    return _dump({"name": name, "arguments": arguments})


def _tagged(begin: str, each: str, end: str) -> Callable[[Sequence[Call]], str]:
    """Calls as tags: `begin` holds the name, `each` an argument and its value, a text as it is and all else as JSON."""

    def written(name: str, said: Any) -> str:
        values = ((key, value if isinstance(value, str) else _dump(value)) for key, value in said.items())
        return begin.format(name) + "".join(each.format(*value) for value in values) + end

    return _each(written)


def _call_lfm2(name: str, arguments: Any) -> str:
    values = ((key, f'"{value}"' if isinstance(value, str) else _dump(value)) for key, value in arguments.items())
    return f"{name}({', '.join(f'{key}={shown}' for key, shown in values)})"


_DESCRIBE: Mapping[str, Callable[[Sequence[Mapping[str, Any]], date], str]] = {
    "default": _describe_default,
    "gemma4": lambda tools, _: "\n".join(_declaration(_bare(tool, tool)) for tool in tools),
    "glm4": lambda tools, _: _prompt("glm4", "".join(_glm4(_bare(tool)) for tool in tools)),
    "glm4_moe": lambda tools, _: _prompt("glm4_moe", _wrapped_lines(tools)),
    "lfm2": lambda tools, _: _prompt("lfm2", _dump([_bare(tool, tool) for tool in tools])),
    "ling": lambda tools, _: _prompt("ling", _wrapped_lines(tools)) + "\ndetailed thinking off",
    "llama3": _describe_llama3,
    "minimax1": lambda tools, _: _prompt("minimax_m1", "".join(_dump(_bare(tool)) + "\n" for tool in tools)),
    "minimax2": lambda tools, _: _prompt(
        "minimax_m2", "".join(f"<tool>{_dump(_bare(tool))}</tool>\n" for tool in tools)
    ),
    "mistral": lambda tools, _: f"[AVAILABLE_TOOLS] {_dump([_wrapped(tool) for tool in tools])}[/AVAILABLE_TOOLS]",
    "qwen": lambda tools, _: _prompt("qwen", _wrapped_lines(tools)),
    "qwen3_5": lambda tools, _: _prompt("qwen35", "".join("\n" + _dump(_bare(tool, tool)) for tool in tools)),
    "seed_oss": lambda tools, _: _prompt("seed", "\n" + _dump(tools)),
}
_CALLS_OF_QWEN = _each(lambda *call: f"<tool_call>\n{_named(*call)}\n</tool_call>")
_CALLS: Mapping[str, Callable[[Sequence[Call]], str]] = {
    "default": _each(lambda name, arguments: f"Action: {name}\nAction Input: {_dump(arguments)}"),
    "gemma4": _each(lambda name, arguments: f"<|tool_call>call:{name}{{{_gemma4(arguments)}}}<tool_call|>", ""),
    "glm4": _calls_glm4,
    "glm4_moe": _tagged("\n<tool_call>{}", "\n<arg_key>{}</arg_key>\n<arg_value>{}</arg_value>", ""),
    "lfm2": _each(_call_lfm2, ", ", "<|tool_call_start|>[", "]<|tool_call_end|>"),
    "ling": _CALLS_OF_QWEN,
    "llama3": _calls_llama3,
    "minimax1": _each(_named, head="<tool_calls>\n", tail="\n</tool_calls>"),
    "minimax2": _tagged('<invoke name="{}">', '\n<parameter name="{}">{}</parameter>', "\n</invoke>"),
    "mistral": _each(_named, ", ", "[", "]"),
    "qwen": _CALLS_OF_QWEN,
    "qwen3_5": _tagged(
        "<tool_call>\n<function={}>", "\n<parameter={}>\n{}\n</parameter>", "\n</function>\n</tool_call>"
    ),
    "seed_oss": _tagged(
        "\n<seed:tool_call>\n<function={}", "\n<parameter={}>{}</parameter>", "\n</function>\n</seed:tool_call>"
    ),
}

FORMATS = tuple(_DESCRIBE)
"""The tool formats by LLaMA-Factory's own names."""
