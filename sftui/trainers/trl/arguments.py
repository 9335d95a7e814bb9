"""A row's chat_template_kwargs that are no template variables but arguments of apply_chat_template itself.

Source: trl 1.16.0, trl/trainer/sft_trainer.py `tokenize_fn`, unsloth_zoo 2026.10.7, unsloth_zoo/dataset_utils.py
`_tokenize_messages`, and transformers 5.23, tokenization_utils_base.py `apply_chat_template`. Arrow gives every row all
the names, null where a row does not have one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sftui.conversations import Detection
from sftui.errors import ConversationError, RecipeError
from sftui.model import Conversation, Kind, Row
from sftui.side_files import object_of

_TOLD = object_of(Path(__file__).with_name("keys.json"))
CLASHING: frozenset[str] = frozenset(_TOLD["clashing arguments"].split())
"""Given by the trainer as well, so that python stops at the second one whatever its value."""
ACTING: frozenset[str] = frozenset(_TOLD["acting arguments"].split())
"""These change the text or the ids wherever they hold anything."""


def refuse_arguments(conversation: Conversation, trainer: str) -> None:
    """RecipeError where a row's kwargs do more than set variables of the template."""
    kwargs = conversation.template_kwargs
    clashing = [
        name
        for name in kwargs
        if name in CLASHING or (name == "add_generation_prompt" and conversation.prompt_messages is not None)
    ]
    if clashing:
        raise RecipeError(
            f"{trainer} stops at `{clashing[0]}` in chat_template_kwargs",
            why="it gives apply_chat_template that argument itself",
            fix="leave it out",
        )
    acting = [
        name
        for name in kwargs
        if name in ACTING and (kwargs[name] or (name in ("tools", "chat_template") and kwargs[name] is not None))
    ]
    if acting:
        raise RecipeError(
            f"sftui does not model `{acting[0]}` in chat_template_kwargs",
            why="it is an argument of apply_chat_template, no variable of the template",
            fix="leave it out",
        )
    if "tools" in kwargs and conversation.tools is not None:
        raise RecipeError(
            "sftui does not model `tools` in chat_template_kwargs",
            why="there they take the place of the tools column",
            fix="leave it out",
        )


def refuse_empty_tools(row: Row, detected: Detection, conversation: Conversation, trainer: str) -> None:
    """ConversationError where a chat's tools are an empty text, which json.loads does not read."""
    tools = stored_tools(row, detected)
    if conversation.kind is Kind.CHAT and isinstance(tools, str) and not tools.strip():
        raise ConversationError(
            f"{trainer} stops at this row: its tools are an empty text",
            why="it reads a text as JSON",
            fix="store null where there are no tools",
        )


def stored_tools(row: Row, detected: Detection) -> Any:
    """The tools as the row holds them, before anything is made of them."""
    return row.data.get(detected.fields.get("tools", "tools")) if isinstance(row.data, Mapping) else None
