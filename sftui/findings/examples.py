"""Rows, templates and settings of which the examples of several findings are made."""

from __future__ import annotations

from typing import Any

from sftui.findings.rule import Case


def case(*data: Any, **more: Any) -> Case:
    """Rows with what is not as usual of a Case."""
    return Case(list(data), **more)


def stored_case(row: dict[str, Any], **more: Any) -> Case:
    """A row that brings its ids and labels, which are taken as they are."""
    return Case(
        [row], changes={"data.given_labels": "unshifted", "mask.rule": "given", **more.pop("changes", {})}, **more
    )


def chat(*turns: Any, **columns: Any) -> dict[str, Any]:
    """A row of messages: texts alternate user and assistant, pairs and mappings say their own role."""
    messages = []
    for number, turn in enumerate(turns):
        if isinstance(turn, str):
            messages.append({"role": ("user", "assistant")[number % 2], "content": turn})
        elif isinstance(turn, tuple):
            messages.append({"role": turn[0], "content": turn[1]})
        else:
            messages.append(dict(turn))
    return {"messages": messages, **columns}


def chatml(answer: str = "{{ m.content }}<|im_end|>", prompt: str = "", before: str = "") -> str:
    """ChatML with something else for the answer, behind the generation prompt or before everything."""
    return (
        before
        + "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}{% if m.role == 'assistant' %}"
        + answer
        + "{% else %}{{ m.content }}<|im_end|>{% endif %}{{ '\n' }}{% endfor %}{% if add_generation_prompt %}{{"
        " '<|im_start|>assistant\n' }}" + prompt + "{% endif %}"
    )


def tagged(end: str = "<|im_end|>", inside: bool = True, lead: str = "") -> str:
    """ChatML with generation tags around the answer, its turn end inside them or not."""
    tail = "{{ '" + end + "' }}"
    return (
        "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}{% if m.role == 'assistant' %}{% generation %}"
        + lead
        + "{{ m.content }}"
        + (tail + "{% endgeneration %}" if inside else "{% endgeneration %}" + tail)
        + "{% else %}{{ m.content }}"
        + tail
        + "{% endif %}{{ '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
    )


TEXT = {"text": "Paris is the capital of France."}
SYSTEM = chat(("system", "Be kind."), ("user", "hi"), ("assistant", "Hello."))
ROUNDS_OF = ("hi", "Hello.", "Bye.", "Bye!")
ROUNDS = chat(*ROUNDS_OF)
LONG = chat("Say it. " * 30, "It is said. " * 30)
IDS = [*range(300, 339), 3002]
"""39 plain tokens of the bundled ChatML tokenizer and its EOS."""
STORED = {"input_ids": IDS, "labels": [-100] * 4 + IDS[4:]}
CALL: dict[str, Any] = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}
    ],
}
CALLING = chatml(
    "{% for c in m.tool_calls %}{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}{% endfor"
    " %}{{ m.content }}<|im_end|>",
    before="{% if tools %}{{ tools | tojson }}{% endif %}",
)
TOOL = {"type": "function", "function": {"name": "get_weather", "description": "The weather.", "parameters": {}}}
GENERATION = {"mask.rule": "generation_tag"}
