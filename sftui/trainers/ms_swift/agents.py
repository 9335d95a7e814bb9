"""How ms-swift writes tools, calls and their results: its agent templates.

Source: ms-swift 4.6.0, agent_template/ (base, react, qwen, hermes, llama, mistral, glm4, deepseek_v3_1, toolbench,
extra); what stands around a list of tools is recorded (templates.json). A call is JSON text with a name and arguments,
or Python's; where one cannot be written the row is left out.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from sftui.errors import TemplateError
from sftui.model import NOWHERE, Part
from sftui.nearest import did_you_mean
from sftui.trainers.ms_swift.registry import AGENTS, OTHER_AGENTS, RELEASE, TITLE, Template
from sftui.trainers.ms_swift.rows import DroppedRow
from sftui.trainers.ms_swift.texts import Run, Text, filled, said, written

QUERY = "{{QUERY}}"
LEAVES_SYSTEM = frozenset({"react_en", "react_zh", "react_grpo", "toolbench", "chatglm4", "glm4"})
"""Agent templates whose list of tools takes the place of the system text."""
HERMES = frozenset({"hermes", "hunyuan_hermes"})
LLAMA = {
    "llama3": ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
    "llama4": ("<|header_start|>", "<|header_end|>", "<|eot|>"),
}
"""What begins and ends a header, and ends a turn."""
GLM4 = frozenset({"chatglm4", "glm4"})
GLM4_5 = frozenset({"glm4_5", "glm4_7", "glm5_1"})
REACT = ("Action:", "Action Input:", "Observation:")
FLOWERS = ("✿FUNCTION✿:", "✿ARGS✿:", "✿RESULT✿:")

Slotted = list["Text | tuple[int | str, ...]"]
"""Contexts, of which some are slots of ids of the template."""


class AgentText(NamedTuple):
    """What a message says, and where it stands among the messages."""

    text: str
    message: int


def agent_of(name: str | None, template: Template) -> str:
    """The agent template of a row with tools; Left where there is none of the name, or none is named, TemplateError for
    one without rules here."""
    wanted = name or template.agent_template
    if wanted is None:
        raise DroppedRow(
            f"the template {template.name} says nothing of tools: name one with `agent_template`, such as hermes"
            " (ValueError: Failed to automatically match an agent_template)"
        )
    if wanted in AGENTS:
        return wanted
    if wanted in OTHER_AGENTS:
        raise TemplateError(
            f"sftui does not model the agent_template `{wanted}` of {TITLE} {RELEASE}",
            fix=f"it has the rules of {', '.join(sorted(AGENTS))}",
        )
    others = did_you_mean(wanted, sorted({*AGENTS, *OTHER_AGENTS}))
    raise DroppedRow(f"{TITLE} {RELEASE} has no agent_template `{wanted}` (KeyError: '{wanted}'); {others}")


def read(text: Any) -> Any:
    """JSON, or Python's own writing, as what it says; None where it is neither."""
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        pass
    try:
        return ast.literal_eval(text)
    except Exception:
        return None


def wrapped(tools: Sequence[Any]) -> list[Any]:
    """The tools of a row as functions (_preprocess_tools)."""
    found = []
    for tool in map(read, tools):
        if not isinstance(tool, Mapping):
            raise DroppedRow("a tool is no mapping (AssertionError)")
        found.append({"type": "function", "function": tool} if "type" not in tool and "function" not in tool else tool)
    return found


def _unwrapped(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = tool["function"] if "type" in tool and "function" in tool else tool
    if not isinstance(inner, Mapping):
        raise DroppedRow("the function of a tool is no mapping (AttributeError)")
    return inner


def _name(tool: Mapping[str, Any]) -> Any:
    return tool.get("name_for_model") or tool.get("name")


def _dumped(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def listing(agent: str, tools: Sequence[Mapping[str, Any]], system: Text | None, owner: int) -> tuple[Text, str]:
    """The system text with the tools, and what is put before the first message, or ""."""
    texts = AGENTS[agent]
    if agent in HERMES:
        shown = "\n".join(_dumped(tool) for tool in tools)
        around = texts["tools"]
        if not (system and said(system)) and agent == "hunyuan_hermes":
            around = around.replace("{{system}}\n\n", "", 1)
    elif agent in LLAMA:
        shown = "\n\n".join(_dumped(tool, 4) for tool in tools)
        head, _, tail = texts["tools"].removesuffix("{{query}}").partition("{{tools}}")
        return system or (), head + shown + tail
    elif agent in GLM4:
        inner = [_unwrapped(tool) for tool in tools]
        shown = "\n".join(_glm4(texts["tool"], tool) for tool in inner)
        around = texts["tools"]
    elif agent in GLM4_5:
        shown = "\n".join(_dumped(_unwrapped(tool) if agent == "glm5_1" else tool) for tool in tools)
        text = said(system).strip() if system else ""
        around = texts["tools"] if text else texts["alone"]
        system = written(text, system[0].message, system[0].part) if system and text else None
    elif agent == "deepseek_v3_1":
        shown = "\n\n".join(_deepseek(_unwrapped(tool)) for tool in tools)
        around = texts["tools"]
    elif agent == "minimax_m2":
        shown = "\n".join(f"<tool>{_dumped(_unwrapped(tool))}</tool>" for tool in tools)
        around = texts["tools"]
    elif agent == "mistral":
        shown, around = " ".join(_dumped(tool) for tool in tools), texts["tools"]
    elif agent == "toolbench":
        shown, around = _dumped([_unwrapped(tool) for tool in tools]), texts["tools"]
    else:
        descriptions = [_described(texts["tool"], _unwrapped(tool)) for tool in tools]
        shown = "\n\n".join(text for text, _ in descriptions)
        around = texts["tools"].replace("{{names}}", ",".join(name for _, name in descriptions), 1)
    return _around(around, shown, system, owner), ""


def _around(around: str, shown: str, system: Text | None, owner: int) -> Text:
    """A wording with the system text and the tools put in, neither of which is looked into."""
    found: list[Run] = []
    head, _, rest = around.partition("{{system}}") if "{{system}}" in around else ("", "", around)
    before, _, behind = rest.partition("{{tools}}")
    found.append(Run(head, owner, Part.INJECTED))
    if "{{system}}" in around:
        found += system or ()
    if "{{system}}" in around and "{{tools}}" in head:  # the system text stands behind the tools
        one, _, two = head.partition("{{tools}}")
        return _some([Run(one + shown + two, owner, Part.INJECTED), *(system or ()), Run(rest, owner, Part.INJECTED)])
    return _some([*found, Run(before + shown + behind, owner, Part.INJECTED)])


def _some(runs: Sequence[Run]) -> Text:
    return tuple(run for run in runs if run.text)


def _glm4(around: str, tool: Mapping[str, Any]) -> str:
    head, _, tail = around.partition("{{parameters}}")
    return f"{head.replace('{{name}}', str(_name(tool)))}{_dumped(tool, 4)}{tail}"


def _deepseek(tool: Mapping[str, Any]) -> str:
    return (
        f"### {_name(tool)}\nDescription: {tool.get('description', '')}\n\n"
        f"Parameters: {_dumped(tool.get('parameters', {}))}"
    )


def _described(around: str, tool: Mapping[str, Any]) -> tuple[str, str]:
    """A tool in words, and its name (_parse_tool)."""
    name = _name(tool)
    description = tool.get("description")
    if description is None:
        description = tool.get("description_for_model")
    if name is None or description is None:
        raise DroppedRow("a tool has no name or no description (AssertionError)")
    if not isinstance(name, str):
        raise DroppedRow("the name of a tool is no text (TypeError)")
    given = tool.get("parameters") or {}
    values = {
        "{{human}}": str(tool.get("name_for_human") or name),
        "{{name}}": name,
        "{{description}}": str(description),
        "{{parameters}}": given if isinstance(given, str) else _dumped(given),
    }
    found: list[str] = []
    rest = around
    while rest:
        places = [(rest.find(place), place) for place in values if place in rest]
        if not places:
            break
        at, place = min(places)
        found += [rest[:at], values[place]]
        rest = rest[at + len(place) :]
    return "".join([*found, rest]), name


def calls(agent: str, messages: Sequence[AgentText], before: str | None) -> tuple[Text, bool]:
    """Calls that follow each other as an assistant's text, and whether the text before is stripped.

    `before` is what the assistant said just before, None where something else stands there.
    """
    made = [_call(one.text) for one in messages]
    if agent in HERMES:
        each = [f"<tool_call>\n{_dumped({'name': name, 'arguments': given})}\n</tool_call>" for name, given in made]
        head, joint, tail = ("<tool_calls>\n", "\n", "\n</tool_calls>") if agent != "hermes" else ("", "\n", "")
    elif agent in LLAMA:
        each = [_dumped({"name": name, "parameters": given}) for name, given in made]
        head, joint, tail = "", "\n", ""
    elif agent in GLM4:
        each = [f"{name}\n{given}" for name, given in made]
        head, joint, tail = "", "<|assistant|>", "<|observation|>"
    elif agent in GLM4_5:
        sep = "\n" if agent == "glm4_5" else ""
        each = [sep.join(_tagged(name, given)) for name, given in made]
        strips = agent == "glm4_5" and before is not None and bool(before.strip())
        head, joint, tail = "\n" * strips, sep, "<|observation|>"
        return _joined(each, messages, head, joint, tail), strips
    elif agent == "deepseek_v3_1":
        each = [f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{_dumped(given)}<｜tool▁call▁end｜>" for name, given in made]
        head, joint, tail = "<｜tool▁calls▁begin｜>", "", "<｜tool▁calls▁end｜>"
    elif agent == "minimax_m2":
        each = [_invoked(name, given) for name, given in made]
        head, joint, tail = "<minimax:tool_call>\n", "\n", "\n</minimax:tool_call>"
    elif agent == "mistral":
        each = [_dumped({"name": name, "arguments": given}) for name, given in made]
        head, joint, tail = "[TOOL_CALLS][\n", "\n", "\n]</s>"
    else:
        action, given_by, observed = keywords(agent)
        each = [f"{action} {name}\n{given_by} {given}\n" for name, given in made]
        head, joint, tail = "", "", observed
    return _joined(each, messages, head, joint, tail), False


def _joined(each: Sequence[str], messages: Sequence[AgentText], head: str, joint: str, tail: str) -> Text:
    found: list[Run] = [Run(head, messages[0].message, Part.INJECTED)]
    for number, (text, one) in enumerate(zip(each, messages)):
        found.append(Run(joint * bool(number) + text, one.message, Part.CONTENT))
    found.append(Run(tail, messages[-1].message, Part.INJECTED))
    return _some(found)


def _invoked(name: Any, given: Any) -> str:
    if not isinstance(given, Mapping):
        raise DroppedRow("the arguments of a call are no mapping (AttributeError)")
    said_so = ((key, value if isinstance(value, str) else _dumped(value)) for key, value in given.items())
    shown = "\n".join(f'<parameter name="{key}">{value}</parameter>' for key, value in said_so)
    return f'<invoke name="{name}">\n{shown}\n</invoke>'


def _tagged(name: Any, given: Any) -> list[str]:
    if not isinstance(given, Mapping):
        raise DroppedRow("the arguments of a call are no mapping (AttributeError)")
    found = [f"<tool_call>{name}"]
    for key, value in given.items():
        shown = value if isinstance(value, str) else _dumped(value)
        found += [f"<arg_key>{key}</arg_key>", f"<arg_value>{shown}</arg_value>"]
    return [*found, "</tool_call>"]


def _call(text: str) -> tuple[Any, Any]:
    """Name and arguments of a call (_parse_tool_call)."""
    made = read(text)
    if not isinstance(made, Mapping) or "name" not in made:
        raise DroppedRow("a call is no JSON with a name and arguments")
    given = made.get("arguments")
    if given is None:
        given = made.get("parameters")
    given = read(given)
    if given is None:
        raise DroppedRow("a call has no arguments, or they are no JSON (AssertionError)")
    return made["name"], given


def keywords(agent: str) -> tuple[str, str, str]:
    """What an agent template writes before a call's name, its arguments and its result."""
    return FLOWERS if agent.startswith("qwen_") else REACT


def results(agent: str, answer: Text | None, tools: Sequence[AgentText], template: Template) -> tuple[Text, Slotted]:
    """What is put behind the assistant's text, and the contexts of the results.

    `answer` is the assistant's text, None where it is several texts of which `last` is asked by the caller.
    """
    action, given_by, observed = keywords(agent)
    text = said(answer) if answer is not None else ""
    acts = action in text and given_by in text
    plain = agent not in {*HERMES, *LLAMA, *GLM4, *GLM4_5, "deepseek_v3_1", "mistral", "minimax_m2"}
    if plain or (acts and agent != "mistral"):
        return _react(acts, text, tools, observed)
    if agent in HERMES:
        return (), [*_copied(template.chat_sep), *_prompt(template, _responses(agent, tools))]
    if agent == "minimax_m2":
        parts = [(f"<response>{one.text}</response>", one.message) for one in tools]
        slots = tuple(slot.replace("user", "tool") if isinstance(slot, str) else slot for slot in template.prompt)
        return (), [*_copied(template.chat_sep), *_prompt(replace(template, prompt=slots), _lines(parts))]
    if agent == "mistral":
        parts = [(f"[TOOL_RESULTS]{_dumped({'content': one.text})}[/TOOL_RESULTS]", one.message) for one in tools]
        return (), [*_copied(template.chat_sep), *_prompt(template, _lines(parts))]
    found: Slotted = []
    if agent in LLAMA:
        start, end_of, eot = LLAMA[agent]
        found.append(written(eot, tools[0].message - 1, Part.TERMINATOR))
        for one in tools:
            head = Run(f"{start}tool{end_of}\n\n", one.message, Part.HEADER)
            end = Run(eot, one.message, Part.TERMINATOR)
            found.append(_some([head, Run(one.text, one.message, Part.CONTENT), end]))
        found.append(written(f"{start}assistant{end_of}\n\n", tools[-1].message + 1, Part.HEADER))
    elif agent in GLM4:
        found.append(written("\n", tools[0].message, Part.HEADER))
        for number, one in enumerate(tools):
            if number:
                found.append(written("<|observation|>\n", one.message, Part.HEADER))
            found.append(written(one.text, one.message))
        found.append(written("<|assistant|>\n", tools[-1].message + 1, Part.HEADER))
    elif agent in GLM4_5:
        for one in tools:
            found.append(_glm4_5(agent, one))
        ending = "<|assistant|>\n" if agent == "glm4_5" else "<|assistant|>"
        found.append(written(ending, tools[-1].message + 1, Part.HEADER))
    else:
        found.append(written("<｜end▁of▁sentence｜>", tools[0].message - 1, Part.TERMINATOR))
        shown = [
            run
            for one in tools
            for run in (
                Run("<｜tool▁output▁begin｜>", one.message, Part.HEADER),
                Run(one.text, one.message, Part.CONTENT),
                Run("<｜tool▁output▁end｜>", one.message, Part.TERMINATOR),
            )
        ]
        found.append(_some(shown))
    return (), found


def _glm4_5(agent: str, one: AgentText) -> Text:
    head, tail = ("\n<tool_response>\n", "\n</tool_response>") if agent == "glm4_5" else ("<tool_response>", None)
    end = "</tool_response>" if tail is None else tail
    return _some(
        [
            Run(head, one.message, Part.HEADER),
            Run(one.text, one.message, Part.CONTENT),
            Run(end, one.message, Part.TERMINATOR),
        ]
    )


def _react(acts: bool, text: str, tools: Sequence[AgentText], observed: str) -> tuple[Text, Slotted]:
    """Results as ReactCompatMixin writes them."""
    if not acts:
        return (), [written(one.text, one.message) for one in tools]
    more = ""
    if not text.endswith(observed):
        more = ("" if text.endswith("\n") else "\n") + observed
    found: Slotted = []
    for number, one in enumerate(tools):
        if number:
            found.append(written(observed, one.message, Part.HEADER))
        found.append(written(one.text, one.message))
        if not one.text.endswith("\n"):
            found.append(written("\n", one.message, Part.SEPARATOR))
    return (written(more, tools[0].message - 1, Part.INJECTED) if more else ()), found


def _copied(slots: Any) -> Slotted:
    """The slots that end an answer; Left where the template has none."""
    if slots is None:
        raise DroppedRow(
            "the template takes one round alone, and its agent_template asks for what stands between rounds"
        )
    return [slot if not isinstance(slot, str) else written(slot, NOWHERE, Part.SEPARATOR) for slot in slots]


def _responses(agent: str, tools: Sequence[AgentText]) -> Text:
    """The results as text, each between tags."""
    if agent == "hermes":
        parts = [(f"<tool_response>\n{one.text}\n</tool_response>", one.message) for one in tools]
        return _lines(parts)
    parts = [(f"<tool_response>{one.text}</tool_response>", one.message) for one in tools]
    first, last = Run("<tool_responses>", tools[0].message, Part.HEADER), tools[-1].message
    return (first, *_lines(parts), Run("</tool_responses>", last, Part.TERMINATOR))


def _lines(parts: Sequence[tuple[str, int]]) -> Text:
    return tuple(Run("\n" * bool(i) + text, message, Part.CONTENT) for i, (text, message) in enumerate(parts))


def _prompt(template: Template, query: Text) -> Slotted:
    """The template's question with the results in it."""
    found: Slotted = []
    for slot in template.prompt:
        if isinstance(slot, str):
            found.append(filled(written(slot, query[0].message, Part.HEADER), QUERY, query))
        else:
            found.append(slot)
    return found


def standalone(agent: str, tools: Sequence[AgentText], template: Template) -> Text:
    """Results that no call stands before, as they are put behind the question; Left where there is no way."""
    if agent in ("react_en", "react_zh"):
        observed = keywords(agent)[2]
        return _some(
            [Run(text, one.message, Part.CONTENT) for one in tools for text in ("\n", observed, "\n", one.text)]
        )
    if agent in HERMES:
        found: list[Run] = []
        for slot in template.chat_sep or ():
            if not isinstance(slot, str):
                raise DroppedRow("a result follows a question, and the template ends rounds by ids (ValueError)")
            found.append(Run(slot, tools[0].message, Part.HEADER))
        for slot in template.prompt:
            if not isinstance(slot, str):
                raise DroppedRow("a result follows a question, and the template begins rounds by ids (ValueError)")
            if QUERY in slot:
                found.append(Run(slot.partition(QUERY)[0], tools[0].message, Part.HEADER))
                return _some([*found, *_responses(agent, tools)])
            found.append(Run(slot, tools[0].message, Part.HEADER))
        raise DroppedRow("a result follows a question, and the template has no place for questions (ValueError)")
    if agent in GLM4:
        return _some(
            [Run(text, one.message, Part.CONTENT) for one in tools for text in ("<|observation|>\n", one.text)]
        )
    if agent in GLM4_5:
        return (
            Run("<|observation|>", tools[0].message, Part.HEADER),
            *(run for one in tools for run in _glm4_5(agent, one)),
        )
    raise DroppedRow(
        f"a result follows a question, which the agent_template {agent} does not write (NotImplementedError)"
    )
