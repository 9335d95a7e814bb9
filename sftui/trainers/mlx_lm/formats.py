"""How mlx-lm reads rows: by the keys of the first one, whatever the later ones hold.

Source: mlx-lm 0.32.2, tuner/datasets.py (create_dataset and `process` of each dataset). What a row holds goes to the
chat template as it stands: a prompt and a completion become the contents of two messages whatever they are, messages
keep their keys and roles. Of a row nothing but `tools` is read beside them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sftui.conversations import Detection
from sftui.conversations.detected import MESSAGE_KEYS, NO_ROW, refusal, type_word
from sftui.errors import ConversationError
from sftui.model import Conversation, Kind, Message, Row
from sftui.recipe import Data

FEATURES = {
    "messages": "chat_feature",
    "prompt": "prompt_feature",
    "completion": "completion_feature",
    "text": "text_feature",
}
"""Fields of sftui → the key of the config that names their column."""
UNSUPPORTED = (
    "ValueError: Unsupported data format, check the supported formats here:"
    " https://github.com/ml-explore/mlx-lm/blob/main/mlx_lm/LORA.md#Data."
)
LIST = "the file is one JSON list: mlx-lm reads JSON lines, train.jsonl in a folder"
FORMATS = ("messages", "prompt_completion", "text")
"""How it may read rows (data.format)."""
NOBODY = {"tools": "tools", "template_kwargs": "", "system": ""}
"""The columns beside the messages: template variables and system texts are read of none."""


def detect(rows: Sequence[Row], data: Data) -> Detection:
    """mlx-lm's own reading of a dataset, or the refusal that its error amounts to."""
    first = next((row.data for row in rows if isinstance(row.data, Mapping)), None)
    if first is None:
        return NO_ROW
    named = {ours: data.fields.get(ours, ours) for ours in FEATURES}
    found = _of(first, named)
    if found is None:
        columns = ", ".join(f"`{name}`" for name in list(first)[:6]) or "none"
        wanted = f"`{named['prompt']}` with `{named['completion']}`, `{named['messages']}` or `{named['text']}`"
        return refusal(
            f"mlx-lm stops at this dataset: its first row has {columns}",
            f"it looks for {wanted} ({UNSUPPORTED})",
            "convert the rows to messages with `sftui convert`, or name the columns in the config (chat_feature, …)",
        )
    if data.format not in ("auto", found.format):
        return refusal(
            f"data.format is {data.format}, but mlx-lm reads these rows as {found.format}",
            "it decides by the first row's keys",
            "set data.format to auto",
        )
    if any(row.layout.startswith("one list") for row in rows):
        return replace(found, notes=(LIST,))
    return found


def _of(first: Mapping[str, Any], named: Mapping[str, str]) -> Detection | None:
    """The first dataset of create_dataset that fits a row."""
    if named["prompt"] in first and named["completion"] in first:
        fields = {"prompt": named["prompt"], "completion": named["completion"], **NOBODY}
        said = f"mlx-lm: `{named['prompt']}` and `{named['completion']}` in the first row, as question and answer"
        return Detection("prompt_completion", fields, {}, {}, said, verbatim=True)
    if named["messages"] in first:
        fields = {"messages": named["messages"], **NOBODY}
        said = f"mlx-lm: `{named['messages']}` in the first row, as messages"
        return Detection("messages", fields, MESSAGE_KEYS, {}, said, verbatim=True)
    if named["text"] in first:
        said = f"mlx-lm: `{named['text']}` in the first row, as text"
        return Detection("text", {"text": named["text"]}, reason=said)
    return None


def with_tools(row: Row) -> Row:
    """The row with its tools as transformers goes through them, an empty text or mapping being an empty list.

    ConversationError for tools that it goes through letter by letter or key by key, or cannot go through.
    """
    tools = row.data.get("tools") if row.data is not None else None
    if row.data is None or tools is None or isinstance(tools, (list, tuple)):
        return row
    if isinstance(tools, (str, Mapping)) and not tools:
        return replace(row, data={**row.data, "tools": []})
    raise ConversationError(
        f"mlx-lm stops at this row: its `tools` are {type_word(tools)}",
        why="it passes them unchanged to apply_chat_template, which expects a list of JSON schemas",
        fix="store a list, or null",
    )


def refuse_messages(value: Any, column: str) -> None:
    """ConversationError for messages that are text; an empty text has no letters at which transformers would stop."""
    if isinstance(value, str) and value:
        raise ConversationError(
            f"`{column}` is text, not a list of messages",
            why="mlx-lm does not parse JSON text, and transformers stops at it",
            fix="store the messages as a list",
        )


def pair(row: Mapping[str, Any], detected: Detection) -> Conversation:
    """A prompt and a completion as the two messages that CompletionsDataset makes of them."""
    columns = [detected.fields[name] for name in ("prompt", "completion")]
    for column in columns:
        if column not in row:
            raise ConversationError(
                f"mlx-lm stops at this row: it has no `{column}`",
                why="the first row has it, so every row must",
                fix="fill the column, or drop the row",
            )
    messages = tuple(
        Message({"role": role, "content": row[column]}, column) for role, column in zip(("user", "assistant"), columns)
    )
    return Conversation(Kind.CHAT, "prompt_completion", messages, 1, tools=row.get("tools"))
