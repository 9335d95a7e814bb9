"""Which columns of a dataset Axolotl reads for the type it is given, and a row read by it.

Source: axolotl 0.19.0, utils/data/wrappers.py (get_dataset_wrapper) and prompt_strategies/. Axolotl
never guesses a type from columns; where the recipe names none, sftui takes the one that fits and
says so, and a written config names it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sftui.conversations import Detection, convert
from sftui.conversations.detected import FROM_VALUE, MESSAGE_KEYS, NO_ROW, refusal
from sftui.conversations.tokenized import EMPTY
from sftui.errors import ConversationError, RecipeError
from sftui.model import Conversation, Kind, Row
from sftui.recipe import Recipe
from sftui.trainers.axolotl.instruct import instruct_type, read_instruct
from sftui.trainers.axolotl.settings import CHAT, PRETRAIN, TOKENIZED, DatasetSettings, settings_of
from sftui.trainers.axolotl.turns import STOPS, read_turns
from sftui.trainers.remembering import last_asked

PREPARED = ("input_ids", "attention_mask", "labels")
NOT_GUESSED = "Axolotl never guesses: a config must set"


def modelled(kind: str) -> bool:
    """Whether sftui has the rules of a `type`; an empty one stands for prepared rows."""
    return kind in ("", CHAT, "completion", PRETRAIN, "input_output", TOKENIZED) or instruct_type(kind) is not None


def detect(rows: Sequence[Row], recipe: Recipe) -> Detection:
    """How the rows are read; `format` is sftui's word for it, `reason` names Axolotl's type."""
    settings = settings_of(recipe)
    columns = dict.fromkeys(str(key) for row in rows if isinstance(row.data, Mapping) for key in row.data)
    if not columns:
        return NO_ROW
    if all(name in columns for name in PREPARED):
        return Detection(
            "tokenized",
            {name: name for name in PREPARED},
            given_labels="unshifted",
            reason="Axolotl: input_ids, attention_mask and labels are used as prepared",
        )
    kind, reason = settings.type, "Axolotl: the type in the config"
    if not kind:
        kind, settings = _fitting(rows, columns, settings)
        reason = f"{NOT_GUESSED} `type: {kind}`, which fits the columns"
    if kind == TOKENIZED:
        return refusal("the dataset is not prepared", f"Axolotl needs all of {', '.join(PREPARED)}")
    if kind == CHAT:
        return _chat(columns, settings, reason)
    if kind in ("completion", PRETRAIN):
        return _needs((settings.field,), columns, "text", {"text": settings.field}, f"{reason}, {kind}")
    if kind == "input_output":
        return _needs(("segments",), columns, "segments", {"segments": "segments"}, f"{reason}, input_output")
    found = instruct_type(kind)
    if found is None:
        return refusal(
            f"sftui does not model the Axolotl type `{kind}`",
            "its own code decides what is read and trained",
            "choose another type",
        )
    name = "user-defined" if isinstance(kind, Mapping) else str(kind)
    used = {column: column for column in (*found.columns, "input", "system") if column in columns}
    ours = "alpaca" if name.partition(":")[0] == "alpaca" else "columns"
    return _needs(found.columns, columns, ours, used, f"{reason}, {name}")


def read_row(row: Row, detected: Detection, recipe: Recipe) -> Conversation:
    """One row by the detected type; ConversationError where Axolotl's own code would raise."""
    prepared = detected.format == "tokenized"
    if prepared and isinstance(row.data, Mapping) and all(row.data.get(name) == [] for name in PREPARED):
        return EMPTY  # too short: it is dropped
    if prepared or not isinstance(row.data, Mapping):
        return convert(row, detected, recipe.data)
    where, shape = row.where or f"row {row.index}", detected.format
    # A column that some row has is there, as null, in every row of the loaded dataset.
    data = {**dict.fromkeys(detected.fields.values()), **row.data}
    settings = settings_of(recipe)
    if shape in ("messages", "sharegpt"):
        settings = with_fields(settings, detected.fields["messages"], detected.message_keys)
        return read_turns(data, settings, "system" in data, where)
    if shape == "text":
        value = data.get(detected.fields["text"])
        if value and not isinstance(value, str):
            raise ConversationError(f"{STOPS}: `{detected.fields['text']}` is not text", where=where)
        return Conversation(Kind.TEXT, "text", text=value or "")
    if shape == "segments":
        return _segments(data.get("segments"), where)
    kind = settings.type or "alpaca"
    found = instruct_type(kind)
    if found is None:
        raise RecipeError(f"sftui does not model the Axolotl type `{kind}`")
    return read_instruct(data, found, where)


@last_asked
def with_fields(settings: DatasetSettings, column: str, keys: Mapping[str, str]) -> DatasetSettings:
    """The settings with the column and the keys of messages that the data has."""
    return replace(settings, field_messages=column, mapping={**settings.mapping, **keys})


def _chat(columns: Mapping[str, Any], settings: DatasetSettings, reason: str) -> Detection:
    column = settings.field_messages
    if column not in columns:
        names = ", ".join(f"`{name}`" for name in list(columns)[:6])
        return refusal(
            f"there is no column `{column}`",
            f"type chat_template reads it (field_messages), finds {names} and raises ValueError: Messages is null."
            " Please check `field_messages`.",
            "set field_messages, or another type, or convert the rows to messages with `sftui convert`",
        )
    used = {"messages": column, **{name: name for name in ("system", "tools") if name in columns}}
    keys = {name: settings.mapping[name] for name in ("role", "content")}
    format_ = "sharegpt" if keys == FROM_VALUE else "messages"
    return Detection(format_, used, keys, dict(settings.roles), f"{reason}, chat_template")


def _fitting(rows: Sequence[Row], columns: Mapping[str, Any], settings: DatasetSettings) -> tuple[str, DatasetSettings]:
    """The type that fits the columns, and the settings that go with it."""
    for column in (settings.field_messages, "conversations"):
        if column in columns:
            return CHAT, replace(settings, field_messages=column, mapping=_mapping_of(rows, column, settings))
    if "segments" in columns:
        return "input_output", settings
    if "instruction" in columns and "output" in columns:
        return "alpaca", settings
    return "completion" if settings.field in columns else CHAT, settings


def _mapping_of(rows: Sequence[Row], column: str, settings: DatasetSettings) -> Mapping[str, str]:
    """from and value where the messages have them and the recipe names no keys of its own."""
    if settings.mapping == MESSAGE_KEYS:
        for row in rows:
            value = row.data.get(column) if isinstance(row.data, Mapping) else None
            first = value[0] if isinstance(value, list) and value else None
            if isinstance(first, Mapping):
                return FROM_VALUE if "from" in first and "role" not in first else settings.mapping
    return settings.mapping


def _segments(value: Any, where: str) -> Conversation:
    listed: Sequence[Any] = value if isinstance(value, (list, tuple)) else [None]
    if not all(isinstance(one, Mapping) and {"label", "text"} <= set(one) for one in listed):
        raise ConversationError(f"{STOPS}: `segments` is not a list of mappings with label and text", where=where)
    if not all(isinstance(one["text"], str) for one in listed):
        raise ConversationError(f"{STOPS}: a segment's text is not a string", where=where)
    segments = tuple((one["text"], bool(one["label"])) for one in listed)
    return Conversation(Kind.TEXT, "segments", text="".join(text for text, _ in segments), extra={"segments": segments})


def _needs(
    needed: Sequence[str], columns: Mapping[str, Any], format_: str, fields: Mapping[str, str], reason: str
) -> Detection:
    fix = "name the type that fits the columns"
    for name in needed:
        if name not in columns:
            return refusal(f"there is no column `{name}`", f"{reason}, reads it and raises KeyError", fix)
    return Detection(format_, fields, reason=reason, given_labels="")
