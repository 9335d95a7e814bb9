"""How ms-swift writes tools, calls and their results: its agent templates.

Source: ms-swift 4.6.0, agent_template/ (base, react, qwen, hermes, llama, mistral, glm4, deepseek_v3_1, toolbench,
extra); what stands around a list of tools is recorded (templates.json). A call is JSON text with a name and arguments,
or Python's; where one cannot be written the row is left out.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from sftui.errors import TemplateError
from sftui.model import NOWHERE, Part
from sftui.nearest import did_you_mean
from sftui.trainers.ms_swift.registry import AGENTS, OTHER_AGENTS, RELEASE, TITLE, Template
from sftui.trainers.ms_swift.rows import DroppedRow
from sftui.trainers.pieces import Run, Text, filled, said, written

QUERY = "{{QUERY}}"
LEAVES_SYSTEM = frozenset({"react_en", "react_zh", "react_grpo", "toolbench", "chatglm4", "glm4"})
"""Agent templates whose list of tools takes the place of the system text."""
HERMES = frozenset({"hermes", "hunyuan_hermes"})
LLAMA = frozenset({"llama3", "llama4"})
GLM4 = frozenset({"chatglm4", "glm4"})
GLM4_5 = frozenset({"glm4_5", "glm4_7", "glm5_1"})
WHOLE = HERMES | LLAMA | {"glm4_5", "glm4_7", "mistral"}
"""Those that write a tool with what is wrapped around it."""
LINES: Mapping[str, str] = {
    "hermes": "<tool_response>\n{}\n</tool_response>",
    "hunyuan_hermes": "<tool_response>{}</tool_response>",
    "minimax_m2": "<response>{}</response>",
    "mistral": "[TOOL_RESULTS]{}[/TOOL_RESULTS]",
}
"""Those that write results into the template's question, and how."""
_OF_GLM = ("", "<tool_response>", "</tool_response>", "<|assistant|>")
RESULTS: Mapping[str, tuple[str, str, str, str]] = {
    "llama3": (
        "<|eot_id|>",
        "<|start_header_id|>tool<|end_header_id|>\n\n",
        "<|eot_id|>",
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
    ),
    "llama4": (
        "<|eot|>",
        "<|header_start|>tool<|header_end|>\n\n",
        "<|eot|>",
        "<|header_start|>assistant<|header_end|>\n\n",
    ),
    **dict.fromkeys(GLM4, ("\n", "<|observation|>\n", "", "<|assistant|>\n")),
    "glm4_5": ("", "\n<tool_response>\n", "\n</tool_response>", "<|assistant|>\n"),
    "glm4_7": _OF_GLM,
    "glm5_1": _OF_GLM,
    "deepseek_v3_1": ("<｜end▁of▁sentence｜>", "<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>", ""),
}
"""What the others write: before all results, before and behind each, and behind all; GLM4 the first in place of the
second, before its first result."""
REACT = ("Action:", "Action Input:", "Observation:")
FLOWERS = ("✿FUNCTION✿:", "✿ARGS✿:", "✿RESULT✿:")

Slotted = list["Text | tuple[int | str, ...]"]
"""Contexts, of which some are slots of ids of the template."""


def agent_of(name: str | None, template: Template) -> str:
    """The agent template of a row with tools; DroppedRow where there is none of the name, or none is named,
    TemplateError for one without rules here."""
    wanted = name or template.agent_template
    if wanted is None:
        raise DroppedRow(
            f"the template {template.name} does not support tools: name one with `agent_template`, such as"
            " hermes (ValueError: Failed to automatically match an agent_template)"
        )
    if wanted in AGENTS:
        return wanted
    if wanted in OTHER_AGENTS:
        raise TemplateError(
            f"sftui does not model the agent_template `{wanted}` of {TITLE} {RELEASE}",
            fix=f"it has the rules for {', '.join(sorted(AGENTS))}",
        )
    others = did_you_mean(wanted, sorted({*AGENTS, *OTHER_AGENTS}))
    raise DroppedRow(f"{TITLE} {RELEASE} has no agent_template `{wanted}` (KeyError: '{wanted}'); {others}")


def read(text: Any) -> Any:
    """JSON, or Python's own writing, as what it says; None where it is neither."""
    if not isinstance(text, str):
        return text
    with suppress(json.JSONDecodeError, RecursionError):
        return json.loads(text)
    with suppress(Exception):
        return ast.literal_eval(text)
    return None


def wrapped(tools: Sequence[Any]) -> list[Any]:
    """The tools of a row as functions (_preprocess_tools)."""
    found = []
    for tool in map(read, tools):
        if not isinstance(tool, Mapping):
            raise DroppedRow("a tool is not a mapping (AssertionError)")
        found.append({"type": "function", "function": tool} if "type" not in tool and "function" not in tool else tool)
    return found


def _unwrapped(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = tool["function"] if "type" in tool and "function" in tool else tool
    if not isinstance(inner, Mapping):
        raise DroppedRow("a tool's function is not a mapping (AttributeError)")
    return inner


def _name(tool: Mapping[str, Any]) -> Any:
    return tool.get("name_for_model") or tool.get("name")


def _dumped(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def listing(agent: str, tools: Sequence[Mapping[str, Any]], system: Text | None, owner: int) -> tuple[Text, str]:
    """The system text with the tools, and what is put before the first message, or ""."""
    texts = AGENTS[agent]
    around, shown = texts["tools"], _shown(agent, tools, texts)
    if agent in LLAMA:
        head, _, tail = around.removesuffix("{{query}}").partition("{{tools}}")
        return system or (), head + shown + tail
    if agent == "hunyuan_hermes" and not (system and said(system)):
        around = around.replace("{{system}}\n\n", "", 1)
    elif agent in GLM4_5:
        text = said(system).strip() if system else ""
        around = around if text else texts["alone"]
        system = written(text, system[0].message, system[0].part) if system and text else None
    elif "{{names}}" in around:
        around = around.replace("{{names}}", ",".join(_name(_unwrapped(tool)) for tool in tools), 1)
    return _around(around, shown, system, owner), ""


def _shown(agent: str, tools: Sequence[Mapping[str, Any]], texts: Mapping[str, str]) -> str:
    """The list of tools by itself."""
    each = iter(tools) if agent in WHOLE else map(_unwrapped, tools)
    if agent == "toolbench":
        return _dumped([*each])
    if agent in GLM4:
        return "\n".join(_glm4(texts["tool"], tool) for tool in each)
    if agent == "minimax_m2":
        return "\n".join(f"<tool>{_dumped(tool)}</tool>" for tool in each)
    if agent in WHOLE or agent in GLM4_5:
        joint = " " if agent == "mistral" else "\n\n" if agent in LLAMA else "\n"
        return joint.join(_dumped(tool, 4 if agent in LLAMA else None) for tool in each)
    write = _deepseek if agent == "deepseek_v3_1" else partial(_described, texts["tool"])
    return "\n\n".join(map(write, each))


def _around(around: str, shown: str, system: Text | None, owner: int) -> Text:
    """A wording with the system text and the tools put in, neither of which is looked into."""
    head, place, tail = around.partition("{{system}}") if "{{system}}" in around else ("", "", around)
    if "{{tools}}" in head:  # the system text stands behind the tools
        head = head.replace("{{tools}}", shown, 1)
    else:
        tail = tail.replace("{{tools}}", shown, 1)
    inner = system if place and system else ()
    return _some([Run(head, owner, Part.INJECTED), *inner, Run(tail, owner, Part.INJECTED)])


def _some(runs: Sequence[Run]) -> Text:
    return tuple(run for run in runs if run.text)


def _glm4(around: str, tool: Mapping[str, Any]) -> str:
    head, _, tail = around.partition("{{parameters}}")
    return f"{head.replace('{{name}}', str(_name(tool)))}{_dumped(tool, 4)}{tail}"


def _deepseek(tool: Mapping[str, Any]) -> str:
    described = f"### {_name(tool)}\nDescription: {tool.get('description', '')}"
    return f"{described}\n\nParameters: {_dumped(tool.get('parameters', {}))}"


def _described(around: str, tool: Mapping[str, Any]) -> str:
    """A tool in words (_parse_tool)."""
    name = _name(tool)
    said_of_it = (tool.get(key) for key in ("description", "description_for_model"))
    description = next((text for text in said_of_it if text is not None), None)
    if name is None or description is None:
        raise DroppedRow("a tool has no name or no description (AssertionError)")
    if not isinstance(name, str):
        raise DroppedRow("a tool's name is not text (TypeError)")
    given = tool.get("parameters") or {}
    values = {
        "{{human}}": str(tool.get("name_for_human") or name),
        "{{name}}": name,
        "{{description}}": str(description),
        "{{parameters}}": given if isinstance(given, str) else _dumped(given),
    }
    return re.sub("|".join(map(re.escape, values)), lambda found: values[found[0]], around)


def calls(agent: str, messages: Sequence[Run], before: str | None) -> tuple[Text, bool]:
    """Calls that follow each other as an assistant's text, and whether the text before is stripped.

    `before` is what the assistant said just before, None where something else stands there.
    """
    style, strips = CALLS.get(agent) or _in_words(agent), agent == "glm4_5" and bool((before or "").strip())
    each = [style.each(*call) for call in [_call(run.text) for run in messages]]
    texts = [text if number == 0 else style.joint + text for number, text in enumerate(each)]
    inner = (Run(text, run.message, Part.CONTENT) for text, run in zip(texts, messages))
    first = Run("\n" if strips else style.head, messages[0].message, Part.INJECTED)
    return _some([first, *inner, Run(style.tail, messages[-1].message, Part.INJECTED)]), strips


def _arguments(given: Any, around: str) -> list[str]:
    """Each argument in its wording, texts as they are and all else as JSON."""
    if not isinstance(given, Mapping):
        raise DroppedRow("a tool call's arguments are not a mapping (AttributeError)")
    return [around.format(key, value if isinstance(value, str) else _dumped(value)) for key, value in given.items()]


def _invoked(name: Any, given: Any) -> str:
    shown = "\n".join(_arguments(given, '<parameter name="{}">{}</parameter>'))
    return f'<invoke name="{name}">\n{shown}\n</invoke>'


def _tagged(sep: str, name: Any, given: Any) -> str:
    found = _arguments(given, f"<arg_key>{{}}</arg_key>{sep}<arg_value>{{}}</arg_value>")
    return sep.join([f"<tool_call>{name}", *found, "</tool_call>"])


class CallStyle(NamedTuple):
    """How an agent template writes calls: each by its name and arguments, and what stands before, between and behind
    them."""

    each: Callable[[Any, Any], str]
    head: str
    joint: str
    tail: str


def _hermes(name: Any, given: Any) -> str:
    return f"<tool_call>\n{_dumped({'name': name, 'arguments': given})}\n</tool_call>"


CALLS: Mapping[str, CallStyle] = {
    "hermes": CallStyle(_hermes, "", "\n", ""),
    "hunyuan_hermes": CallStyle(_hermes, "<tool_calls>\n", "\n", "\n</tool_calls>"),
    **dict.fromkeys(LLAMA, CallStyle(lambda name, given: _dumped({"name": name, "parameters": given}), "", "\n", "")),
    **dict.fromkeys(GLM4, CallStyle(lambda name, given: f"{name}\n{given}", "", "<|assistant|>", "<|observation|>")),
    "glm4_5": CallStyle(partial(_tagged, "\n"), "", "\n", "<|observation|>"),
    **dict.fromkeys(GLM4_5 - {"glm4_5"}, CallStyle(partial(_tagged, ""), "", "", "<|observation|>")),
    "deepseek_v3_1": CallStyle(
        lambda name, given: f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{_dumped(given)}<｜tool▁call▁end｜>",
        "<｜tool▁calls▁begin｜>",
        "",
        "<｜tool▁calls▁end｜>",
    ),
    "minimax_m2": CallStyle(_invoked, "<minimax:tool_call>\n", "\n", "\n</minimax:tool_call>"),
    "mistral": CallStyle(
        lambda name, given: _dumped({"name": name, "arguments": given}), "[TOOL_CALLS][\n", "\n", "\n]</s>"
    ),
}
"""Agent templates that write no words before a call."""


def _in_words(agent: str) -> CallStyle:
    action, given_by, observed = keywords(agent)
    return CallStyle(lambda name, given: f"{action} {name}\n{given_by} {given}\n", "", "", observed)


def _call(text: str) -> tuple[Any, Any]:
    """Name and arguments of a call (_parse_tool_call)."""
    made = read(text)
    if not isinstance(made, Mapping) or "name" not in made:
        raise DroppedRow("a tool call is not JSON with a name and arguments")
    arguments = made.get("arguments")
    given = read(made.get("parameters") if arguments is None else arguments)
    if given is None:
        raise DroppedRow("a tool call has no arguments, or they are not JSON (AssertionError)")
    return made["name"], given


def keywords(agent: str) -> tuple[str, str, str]:
    """What an agent template writes before a call's name, its arguments and its result."""
    return FLOWERS if agent.startswith("qwen_") else REACT


def results(agent: str, answer: Text | None, tools: Sequence[Run], template: Template) -> tuple[Text, Slotted]:
    """What is put behind the assistant's text, and the contexts of the results.

    `answer` is the assistant's text, None where it is several texts of which `last` is asked by the caller.
    """
    action, given_by, observed = keywords(agent)
    text = said(answer) if answer is not None else ""
    acts = action in text and given_by in text
    if agent not in CALLS or (acts and agent != "mistral"):
        return _react(acts, text, tools, observed)
    if agent in LINES:
        if agent == "minimax_m2":
            slots = tuple(slot.replace("user", "tool") if isinstance(slot, str) else slot for slot in template.prompt)
            template = replace(template, prompt=slots)
        return (), [*_copied(template.chat_sep), *_prompt(template, _responses(agent, tools))]
    first, begin, _, last = RESULTS[agent]
    texts: list[Text] = []
    if agent in GLM4:
        for number, result in enumerate(tools):
            texts += [written(begin if number else first, result.message, Part.HEADER), (result,)]
    else:
        texts += [_enclosed(agent, result) for result in tools]
    if agent == "deepseek_v3_1":  # all of them are one text
        texts = [tuple(run for text in texts for run in text)]
    if first and agent not in GLM4:
        texts.insert(0, written(first, tools[0].message - 1, Part.TERMINATOR))
    return (), [*texts, *([written(last, tools[-1].message + 1, Part.HEADER)] if last else ())]


def _enclosed(agent: str, result: Run) -> Text:
    """A result between what its agent template writes around each."""
    _, begin, end, _ = RESULTS[agent]
    return _some([Run(begin, result.message, Part.HEADER), result, Run(end, result.message, Part.TERMINATOR)])


def _react(acts: bool, text: str, tools: Sequence[Run], observed: str) -> tuple[Text, Slotted]:
    """Results as ReactCompatMixin writes them."""
    if not acts:
        return (), [(run,) for run in tools]
    more = ""
    if not text.endswith(observed):
        more = ("" if text.endswith("\n") else "\n") + observed
    found: Slotted = []
    for number, run in enumerate(tools):
        if number:
            found.append(written(observed, run.message, Part.HEADER))
        found.append((run,))
        if not run.text.endswith("\n"):
            found.append(written("\n", run.message, Part.SEPARATOR))
    return (written(more, tools[0].message - 1, Part.INJECTED) if more else ()), found


def _copied(slots: Any) -> Slotted:
    """The slots that end an answer; DroppedRow where the template has none."""
    if slots is None:
        what = "the template supports a single round, but its agent_template needs the separator between rounds"
        raise DroppedRow(what)
    return [slot if not isinstance(slot, str) else written(slot, NOWHERE, Part.SEPARATOR) for slot in slots]


def _responses(agent: str, tools: Sequence[Run]) -> Text:
    """The results as lines, each between tags."""
    texts = (_dumped({"content": run.text}) if agent == "mistral" else run.text for run in tools)
    tagged = [LINES[agent].format(text) for text in texts]
    lines = [run._replace(text="\n" * bool(i) + tagged[i]) for i, run in enumerate(tools)]
    if agent != "hunyuan_hermes":
        return tuple(lines)
    first, last = Run("<tool_responses>", lines[0].message, Part.HEADER), lines[-1].message
    return (first, *lines, Run("</tool_responses>", last, Part.TERMINATOR))


def _prompt(template: Template, query: Text) -> Slotted:
    """The template's question with the results in it."""
    owner = query[0].message
    return [
        filled(written(slot, owner, Part.HEADER), QUERY, query) if isinstance(slot, str) else slot
        for slot in template.prompt
    ]


def standalone(agent: str, tools: Sequence[Run], template: Template) -> Text:
    """Results that no call stands before, as they are put behind the question; DroppedRow where there is no way."""
    begins: dict[str, tuple[str, ...]] = dict.fromkeys(GLM4, ("<|observation|>\n",))
    begins |= dict.fromkeys(("react_en", "react_zh"), ("\n", REACT[2], "\n"))
    if agent in begins:
        return _some([Run(text, run.message, Part.CONTENT) for run in tools for text in (*begins[agent], run.text)])
    owner = tools[0].message
    if agent in GLM4_5:
        first = Run("<|observation|>", owner, Part.HEADER)
        return (first, *(part for result in tools for part in _enclosed(agent, result)))
    if agent in HERMES:
        found: list[Run] = []
        for does, slots in (("ends", template.chat_sep or ()), ("begins", template.prompt)):
            for slot in slots:
                if not isinstance(slot, str):
                    raise DroppedRow(
                        f"a tool result follows a question, and the template {does} rounds with ids (ValueError)"
                    )
                before, place, _ = slot.partition(QUERY)
                found.append(Run(before, owner, Part.HEADER))
                if place:
                    return _some([*found, *_responses(agent, tools)])
        raise DroppedRow("a tool result follows a question, and the template has no place for questions (ValueError)")
    raise DroppedRow(
        f"a tool result follows a question, which the agent_template {agent} does not write (NotImplementedError)"
    )
