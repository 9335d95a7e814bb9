"""How verl reads rows: a column of messages, and beside it tools, a switch for thoughts, images and videos.

Source: verl 0.9.1, utils/dataset/multiturn_sft_dataset.py (`_read_files_and_process`, `_build_messages`,
`__getitem__`). It reads Parquet with pandas (dtype_backend="pyarrow"): a null is None within a row, but pandas' NA
where a whole column is listed, as those of the tools and of enable_thinking are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sftui.conversations import Detection
from sftui.conversations.detected import MESSAGE_KEYS, NO_ROW, refusal, type_word
from sftui.errors import ConversationError
from sftui.model import Conversation, Kind, Message, Row
from sftui.recipe import Recipe
from sftui.trainers.verl import VerlOptions

STOPS = "verl stops at this row"
NO_TENSORS = "torch.cat(): expected a non-empty list of Tensors"
NO_INDICES = "TypeError: string indices must be integers, not 'str'"
FORMATS = ("auto", "messages")
"""How it may read rows (data.format)."""
NO_PARQUET = (
    "verl reads only Parquet: sftui shows these rows as pandas stores them (DataFrame.to_parquet), where all"
    " objects in the same place have the same keys, with null for missing ones"
)
MEDIA = {"images": "image_key", "videos": "video_key"}
CONVERT = "convert the rows to messages with `sftui convert`, or set data.messages_key to their column"


def detect(rows: Sequence[Row], recipe: Recipe) -> Detection:
    """verl's own reading of a dataset, or the refusal that its error amounts to."""
    read = [row for row in rows if isinstance(row.data, Mapping)]
    if not read:
        return NO_ROW
    columns = dict.fromkeys(key for row in read for key in row.data or {})
    fields = _fields(recipe)
    messages = fields["messages"]
    if messages not in columns:
        shown = ", ".join(f"`{name}`" for name in list(columns)[:6]) or "none"
        return refusal(
            f"verl stops at this dataset: it has no column `{messages}`",
            f"it looks for the column before it reads a row (KeyError: '{messages}'); the columns are {shown}",
            CONVERT,
        )
    if recipe.data.format not in FORMATS:
        what = f"data.format is {recipe.data.format}, but verl reads only messages"
        return refusal(what, fix="set data.format to auto")
    found = {ours: column for ours, column in fields.items() if column in columns}
    return Detection(
        "messages",
        {**found, "tools": found.get("tools", ""), "template_kwargs": "", "system": ""},
        MESSAGE_KEYS,
        {},
        f"verl: the column `{messages}`, as messages",
        notes=() if _of_parquet(rows) else (NO_PARQUET,),
        verbatim=True,
    )


def _fields(recipe: Recipe) -> dict[str, str]:
    """What each column is called."""
    own, named = VerlOptions.of(recipe), recipe.data.fields
    return {
        "messages": named.get("messages", "messages"),
        "tools": named.get("tools", "tools"),
        "enable_thinking": own.enable_thinking_key,
        "images": own.image_key,
        "videos": own.video_key,
    }


def _of_parquet(rows: Sequence[Row]) -> bool:
    """Whether rows are no file's of another kind, as far as they say."""
    return not any(" line " in row.where or " record " in row.where for row in rows)


def convert(row: Row, detected: Detection) -> Conversation:
    """One row as its messages; ConversationError where `__getitem__` stops before it renders any."""
    data, fields = row.data or {}, detected.fields
    column = fields["messages"]
    for name in (column, fields["tools"]):
        if name and name in row.json_text:
            raise _stop(
                f"`{name}` is stored as JSON text, at least in part",
                "a TypeError or a ValueError: pandas, with which verl reads Parquet, does not decode JSON",
                "write the rows with pandas' DataFrame.to_parquet: `datasets` keeps values whose keys differ as JSON",
            )
    messages = _messages(data.get(column), column)
    _refuse_media(data, fields, messages)
    kwargs: dict[str, Any] = {}
    if "enable_thinking" in fields:
        kwargs["enable_thinking"] = _thinking(data.get(fields["enable_thinking"]), fields["enable_thinking"])
    tools = _tools(data.get(fields["tools"]), fields["tools"]) if fields["tools"] else None
    if not messages:
        raise _stop("the row has no messages", NO_TENSORS)
    for number, message in enumerate(messages):
        if "role" not in message:
            raise _stop(f"{column}[{number}] has no role", "KeyError: 'role'")
    return Conversation(
        Kind.CHAT,
        "messages",
        tuple(Message(message, f"{column}[{number}]") for number, message in enumerate(messages)),
        tools=tools,
        template_kwargs=kwargs,
    )


def _stop(what: str, error: str, fix: str = "fix or remove the row") -> ConversationError:
    return ConversationError(f"{STOPS}: {what}", why=error, fix=fix)


def _messages(value: Any, column: str) -> Sequence[Mapping[str, Any]]:
    if not isinstance(value, (list, tuple)):
        raised = f"TypeError: '{type(value).__name__}' object is not iterable"
        if isinstance(value, (str, Mapping)):
            raised = NO_TENSORS if value == "" else NO_INDICES
        fix = "store the messages as a list of mappings with role and content"
        raise _stop(f"`{column}` is {type_word(value)}, not a list of messages", raised, fix)
    for number, message in enumerate(value):
        if isinstance(message, str):
            raise _stop(
                f"{column}[{number}] is text, not a message",
                NO_INDICES,
                "store the messages as structs: `datasets` stores them as JSON text where their keys differ, pandas"
                " does not",
            )
        if not isinstance(message, Mapping):
            raise _stop(f"{column}[{number}] is {type_word(message)}, not a message", "a TypeError")
        if "content" not in message:
            raise _stop(f"{column}[{number}] has no content", "KeyError: 'content'")
    return value


def _refuse_media(data: Mapping[str, Any], fields: Mapping[str, str], messages: Sequence[Mapping[str, Any]]) -> None:
    """ConversationError where there is a column of images or videos, which need a processor, or are counted."""
    there = [fields[name] for name in MEDIA if name in fields]
    if not there:
        return
    if any(isinstance(message["content"], str) for message in messages):
        raise _stop(
            f"there is a column `{there[0]}`",
            "AssertionError: processor is needed to process image and video",
            "remove the column, or train with a processor, which sftui does not model",
        )
    for name in there:
        held = data.get(name)
        if held is None:
            raise _stop(f"`{name}` is null", "TypeError: object of type 'NoneType' has no len()", "remove the column")
        if not hasattr(held, "__len__"):
            raise _stop(f"`{name}` is {type_word(held)}", "a TypeError: it has no len()", "remove the column")
        if len(held):
            raise _stop(
                f"`{name}` lists files that no text refers to", f"AssertionError: 0 != {len(held)}", "remove the column"
            )


def _thinking(value: Any, column: str) -> bool:
    if value is None:
        raise _stop(
            f"`{column}` is null",
            "TypeError: boolean value of NA is ambiguous",
            "set true or false in every row, or remove the column",
        )
    return bool(value)


TOOLS = (
    "ValueError: Tools should either be a JSON schema, or a callable function with type hints and a docstring suitable"
    " for auto-conversion to a schema."
)


def _tools(value: Any, column: str) -> list[Any]:
    """The tools as transformers goes through them."""
    if value is None:
        raise _stop(
            f"`{column}` is null, which pandas reads as NA",
            "TypeError: 'NAType' object is not iterable",
            "store an empty list if a row has no tools, as `sftui convert` does, or remove the column",
        )
    if isinstance(value, (str, Mapping)) and not value:
        return []
    if isinstance(value, (str, Mapping)):
        raise _stop(f"`{column}` is {type_word(value)}, not a list of tools", TOOLS, "store a list of JSON schemas")
    if not isinstance(value, (list, tuple)):
        raise _stop(f"`{column}` is {type_word(value)}, not a list of tools", "a TypeError: it is not iterable")
    for number, tool in enumerate(value):
        if not isinstance(tool, Mapping):
            raise _stop(f"{column}[{number}] is {type_word(tool)}", TOOLS, "store a list of JSON schemas")
    return list(value)


def unread(row: Row, detected: Detection, most: int) -> Conversation:
    """A row behind the `most` that are read, for the eye, with why."""
    extra = {DROPPED: f"train_max_samples {most}: verl reads no further rows"}
    try:
        return replace(convert(row, detected), extra=extra)
    except ConversationError:
        return Conversation(Kind.TEXT, "messages", text="", extra=extra)


DROPPED = "dropped"
