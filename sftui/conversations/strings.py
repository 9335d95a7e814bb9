"""Rows of plain strings: the Alpaca prompt text, and strings as messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sftui.model import Conversation, Kind, Message

# PROMPT_DICT of Stanford Alpaca (tatsu-lab/stanford_alpaca, train.py): nothing follows "### Response:".
_WITH_INPUT = (
    "Below is an instruction that describes a task, paired with an input that provides further context. "
    "Write a response that appropriately completes the request.\n\n"
    "### Instruction:\n{instruction}\n\n### Input:\n{input}\n\n### Response:"
)
_WITHOUT_INPUT = (
    "Below is an instruction that describes a task. "
    "Write a response that appropriately completes the request.\n\n"
    "### Instruction:\n{instruction}\n\n### Response:"
)


def alpaca_prompt(instruction: str, given: str, style: str) -> str:
    """The user's content for one Alpaca row; `style` is the recipe's `data.alpaca_prompt`.

    newline joins the two as LLaMA-Factory does, blank_line with an empty line between; both give
    the instruction alone where there is no input.
    """
    if style == "stanford":
        text = _WITH_INPUT if given else _WITHOUT_INPUT
        return text.format(instruction=instruction, input=given)
    if not given:
        return instruction
    gap = "\n" if style == "newline" else "\n\n"
    return f"{instruction}{gap}{given}"


def as_chat(conversation: Conversation) -> Conversation:
    """STRINGS as a user and an assistant message, as the tutorials do; any other kind unchanged.

    Origins are the columns the strings came from (`extra["origins"]`).
    """
    if conversation.kind is not Kind.STRINGS:
        return conversation
    origins: Mapping[str, Any] = conversation.extra.get("origins", {})
    messages = (
        Message({"role": "user", "content": conversation.prompt}, str(origins.get("prompt", "prompt"))),
        Message(
            {"role": "assistant", "content": conversation.completion}, str(origins.get("completion", "completion"))
        ),
    )
    return Conversation(
        Kind.CHAT,
        conversation.format,
        messages,
        1,
        tools=conversation.tools,
        template_kwargs=conversation.template_kwargs,
        extra=conversation.extra,
        notes=conversation.notes,
    )
