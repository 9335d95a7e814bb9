"""How TRL reads columns: from the first row, by its own keys, and without mapping roles; and what it stops at in a row.

Source: trl 1.16.0, trl/data_utils.py (is_conversational, is_conversational_from_value,
maybe_convert_to_chatml) and trl/trainer/sft_trainer.py `_prepare_dataset`. A row's chat_template_kwargs may be no
variables of the template but arguments of apply_chat_template itself: trl/trainer/sft_trainer.py `tokenize_fn`,
unsloth_zoo 2026.10.7, unsloth_zoo/dataset_utils.py `_tokenize_messages`, and transformers 5.23,
tokenization_utils_base.py `apply_chat_template`. Arrow gives every row all the names, null where a row does not have
one.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

from sftui.conversations import Detection
from sftui.conversations.detected import FROM_VALUE, MESSAGE_KEYS, NO_ROW, refusal
from sftui.errors import ConversationError, RecipeError
from sftui.model import Conversation, Kind, Problem, Row
from sftui.recipe import Recipe
from sftui.side_files import object_of

ASKED = ("prompt", "completion", "chosen", "rejected", "messages")
"""The columns of which is_conversational pops one out of a set: the order is that of Python's hashes."""
PAIR = {"prompt": "prompt", "completion": "completion"}
BESIDE = {"tools": "tools", "template_kwargs": "chat_template_kwargs"}
CONVERT = "convert the rows to messages with `sftui convert`"
"""What to do about rows of a shape that a trainer does not read."""

_TOLD = object_of(Path(__file__).with_name("keys.json"))
CLASHING: frozenset[str] = frozenset(_TOLD["clashing arguments"].split())
"""Given by the trainer as well, so that python stops at the second one whatever its value."""
ACTING: frozenset[str] = frozenset(_TOLD["acting arguments"].split())
"""These change the text or the ids wherever they hold anything."""


def detect(
    rows: Sequence[Row], text_field: str, *, assistant_only: bool = False, completion_only: bool | None = None
) -> Detection:
    """TRL's own reading of a dataset, or the refusal that its error amounts to.

    `assistant_only` and `completion_only` are the two loss settings of SFTConfig.
    """
    head = head_of(rows)
    if isinstance(head, Detection):
        return head
    first, columns = head
    chance = by_chance(first)
    if chance is not None and "input_ids" not in columns and not _from_value(first):
        return Detection("auto", refused=chance)
    if assistant_only and not any(is_messages(first.get(name)) for name in ASKED):
        return refusal(
            "TRL rejects assistant_only_loss here",
            "it looks for messages in the first row's columns prompt, completion and messages, before it reads"
            " anything else",
            "set mask.rule to auto, or use messages",
        )
    if "input_ids" in columns:
        return prepared(columns, "TRL: a column `input_ids` is used as prepared")
    taken = [name for name in ("labels", "assistant_masks", "completion_mask") if name in columns]
    if assistant_only and "assistant_masks" in taken:
        taken.remove("assistant_masks")  # TRL writes its own over it
    if "completion_mask" in taken and ("prompt" in columns or completion_only is not True):
        taken.remove("completion_mask")
    if taken:
        return refusal(
            f"the dataset has a column `{taken[0]}`, but its text is not tokenized yet",
            "TRL uses it as the labels or the mask for the tokens it produces",
            "rename or remove the column",
        )
    if (unread := unread_variables(rows, columns)) is not None:
        return Detection("auto", refused=unread)
    if _from_value(first):
        reason = "TRL: from/value is renamed to role/content; the roles keep their names"
        return as_it_stands("sharegpt", {"messages": "conversations"}, columns, reason, FROM_VALUE)
    if "prompt" in columns:
        if "completion" not in columns:
            what = "there is a column `prompt` but no `completion`: TRL raises KeyError: 'completion'"
            return refusal(what, fix=f"name the answers `completion`, or {CONVERT}")
        return as_it_stands("prompt_completion", PAIR, columns, "TRL: columns `prompt` and `completion`")
    if is_messages(first.get("messages")):
        return as_it_stands("messages", {"messages": "messages"}, columns, "TRL: a column `messages`")
    if text_field in columns:
        return Detection("text", {"text": text_field}, reason=f"TRL: the text column `{text_field}`")
    names = ", ".join(f"`{name}`" for name in list(columns)[:6])
    return refusal(
        f"TRL cannot read these columns ({names}): it raises KeyError: '{text_field}'",
        f"it looks for messages, prompt, or `{text_field}`",
        f"{CONVERT}, or pass TRL a formatting_func",
    )


def head_of(rows: Sequence[Row]) -> tuple[Mapping[str, Any], Mapping[str, None]] | Detection:
    """The first row, and all columns; or why there is nothing to read."""
    first = next((row.data for row in rows if isinstance(row.data, Mapping)), None)
    if first is None:
        return NO_ROW
    columns = dict.fromkeys(key for row in rows if isinstance(row.data, Mapping) for key in row.data)
    if "image" in columns or "images" in columns:
        why = "TRL prepares vision rows in its collator with a processor, which sftui does not model"
        return refusal("the dataset has images", why)
    return first, columns


def unread_variables(rows: Sequence[Row], columns: Container[str]) -> Problem | None:
    """Why TRL stops at the chat_template_kwargs of some rows, if it does."""
    variables = [row.data.get("chat_template_kwargs") for row in rows if isinstance(row.data, Mapping)]
    if "chat_template_kwargs" in columns and None in variables:
        return Problem(
            "some rows have chat_template_kwargs and others do not",
            "datasets fills the gaps with null, and TRL stops at those with a TypeError",
            "store a mapping in every row, {} if it is empty",
        )
    if any(isinstance(one, str) for one in variables):
        return Problem(
            "chat_template_kwargs is stored as text",
            "TRL unpacks it and stops with TypeError: 'str' object is not a mapping",
            "store it as a mapping",
        )
    return None


def prepared(columns: Container[str], reason: str) -> Detection:
    """Rows that hold ids, which are taken as they are."""
    fields = {name: name for name in ("input_ids", "labels", "attention_mask") if name in columns}
    return Detection("tokenized", fields, reason=reason, given_labels="unshifted")


def as_it_stands(
    shape: str, fields: Mapping[str, str], columns: Container[str], reason: str, keys: Mapping[str, str] = MESSAGE_KEYS
) -> Detection:
    """Rows whose messages reach the template as they are, with what is read beside them."""
    around = {ours: theirs for ours, theirs in BESIDE.items() if theirs in columns}
    return Detection(shape, {**fields, **around}, keys, {}, reason, verbatim=True)


def by_chance(first: Mapping[str, Any]) -> Problem | None:
    """Why it cannot be known whether is_conversational says yes of the first row, if it cannot."""
    asked = [name for name in ASKED if first.get(name) is not None]
    if len({is_messages(first[name]) for name in asked}) < 2:
        return None
    return Problem(
        f"some of the columns {' and '.join(f'`{name}`' for name in asked)} contain messages and some do not",
        "TRL checks only one of them to decide whether rows are conversations, and which one changes from run to run",
        "remove the columns that are not needed for training",
    )


def _from_value(row: Mapping[str, Any]) -> bool:
    return is_messages(row.get("conversations"), "from", "value")


def is_messages(value: Any, *keys: str) -> bool:
    """Whether a value is a list of messages, with a role, or some other keys, in the first."""
    first = value[0] if isinstance(value, list) and value else None
    if type(first) is dict and not keys:  # as in nearly every row
        return "role" in first
    return isinstance(first, Mapping) and first.keys() >= {*(keys or ("role",))}


def holds_no_ids(row: Row, detected: Detection, recipe: Recipe, *, takes_null: bool) -> bool:
    """Whether a row of ids has none, and so is no reason to stop. Null is none where it is packed: packing leaves the
    row out (data_utils.py, _pack_bfd, _pack_wrapped), as long as no labels are left without their ids."""
    if detected.format != "tokenized" or not isinstance(row.data, Mapping):
        return False
    ids, packing = row.data.get(detected.fields["input_ids"]), recipe.pack.strategy
    if ids is not None or packing == "none" or not takes_null:
        return ids == []
    return packing != "wrapped" or not row.data.get("labels")


def refuse_arguments(conversation: Conversation, trainer: str) -> None:
    """RecipeError where a row's kwargs do more than set variables of the template."""
    kwargs = conversation.template_kwargs
    unknown, fix = "sftui does not model `{}` in chat_template_kwargs", "leave it out"
    for name in kwargs:
        if name in CLASHING or (name == "add_generation_prompt" and conversation.prompt_messages is not None):
            why = "it already passes that argument to apply_chat_template"
            raise RecipeError(f"{trainer} stops at `{name}` in chat_template_kwargs", why=why, fix=fix)
    for name, value in kwargs.items():
        if name in ACTING and (value or (name in ("tools", "chat_template") and value is not None)):
            why = "it is an argument of apply_chat_template, not a template variable"
            raise RecipeError(unknown.format(name), why=why, fix=fix)
    if "tools" in kwargs and conversation.tools is not None:
        raise RecipeError(unknown.format("tools"), why="there, it replaces the tools column", fix=fix)


def refuse_empty_tools(row: Row, detected: Detection, conversation: Conversation, trainer: str) -> None:
    """ConversationError where a chat's tools are an empty text, which json.loads does not read."""
    tools = stored_tools(row, detected)
    if conversation.kind is Kind.CHAT and isinstance(tools, str) and not tools.strip():
        what, fix = f"{trainer} stops at this row: its tools are an empty string", "store null if there are no tools"
        raise ConversationError(what, why="it parses text as JSON", fix=fix)


def stored_tools(row: Row, detected: Detection) -> Any:
    """The tools as the row holds them, before anything is made of them."""
    return row.data.get(detected.fields.get("tools", "tools")) if isinstance(row.data, Mapping) else None
