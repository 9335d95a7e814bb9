"""Which columns Unsloth trains on, decided from the first row, and what it refuses.

Source: unsloth_zoo 2026.10.7 and 2026.8.13, unsloth_zoo/dataset_utils.py `sft_prepare_dataset` and
`standardize_data_formats`. Its scripts render messages to a text column themselves; the option
`text_from` names the column of messages for which sftui does the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sftui.conversations import Detection
from sftui.conversations.detected import MESSAGE_KEYS, NO_ROW, refusal
from sftui.model import Row
from sftui.recipe import Recipe, changed
from sftui.trainers.trl.formats import CONVERT, PAIR, as_it_stands, by_chance, is_messages, prepared
from sftui.trainers.unsloth import UnslothOptions

ALIASES = {
    **{"system": "system", "user": "user", "human": "user", "input": "user"},
    **dict.fromkeys(("gpt", "assistant", "output"), "assistant"),
}
LOOKED_AT = 10
"""Rows that standardize_data_formats looks at."""


TEXTS: Mapping[str, str] = {}
"""The message keys of rows of which the first holds texts: Unsloth then reads every row as texts."""


def goes_for_messages(own: UnslothOptions, *, assistant_only: bool, newest: bool) -> bool:
    """Whether assistant_only_loss reads `messages` itself, though a script has put their text beside them."""
    return assistant_only and newest and own.text_from == "messages" and not own.formatting_func


def detect(rows: Sequence[Row], own: UnslothOptions, *, assistant_only: bool, newest: bool) -> Detection:
    """How the rows are read; `newest`: the rules since 2026.10."""
    data = [row.data for row in rows if isinstance(row.data, Mapping)]
    if not data:
        return NO_ROW
    columns = dict.fromkeys(key for row in data for key in row)
    column, text_field = own.text_from, own.dataset_text_field or "text"
    if column is not None and not any(isinstance(row.get(column), list) for row in data):
        what = f"`text_from` names `{column}`, which does not contain a list of messages"
        return refusal(what, fix="name the messages column")
    chat = is_messages(data[0].get("messages"))
    itself = chat and goes_for_messages(own, assistant_only=assistant_only, newest=newest)
    # what a script leaves in place beside the text it adds goes before that text
    ready = not {"labels", "input_ids"}.isdisjoint(columns) or {"prompt", "completion"} <= columns.keys()
    if "images" in columns or "image" in columns:
        return refusal("the dataset has images", "Unsloth's vision collator prepares them, which sftui does not model")
    if column is not None and not itself and not ready:
        return _rendered(column, data, own, newest)
    if own.formatting_func and column is None:
        return refusal(
            "sftui cannot know what a formatting_func returns for a row",
            "it is your own Python code",
            "store its result in a text column, or set text_from to the messages column it renders",
        )
    if "labels" in columns or "input_ids" in columns:
        if "input_ids" not in columns:
            why = "Unsloth treats the rows as prepared and the collator fails"
            return refusal("there is a column `labels` but no `input_ids`", why)
        return prepared(columns, "Unsloth: the rows contain ids and are used as prepared")
    if "prompt" in columns and "completion" in columns:
        chance = by_chance(data[0])
        if chance is not None:
            return Detection("auto", refused=chance)
        keys = MESSAGE_KEYS if is_messages(data[0].get("prompt")) else TEXTS
        return as_it_stands("prompt_completion", PAIR, columns, "Unsloth: columns `prompt` and `completion`", keys)
    if newest and (text_field not in columns or assistant_only) and chat:
        return as_it_stands("messages", {"messages": "messages"}, columns, "Unsloth: a column `messages`")
    if text_field in columns:
        reason = f"Unsloth: the text column `{text_field}`; no EOS is appended"
        return Detection("text", {"text": text_field}, reason=reason)
    raises = ": it raises RuntimeError: Unsloth: You must specify a `formatting_func`" if newest else ""
    return refusal(
        f"Unsloth stops: there is no column `{text_field}` and no formatting_func{raises}",
        "it reads ids, prompt and completion, " + ("messages " if newest else "") + f"or `{text_field}`",
        f"{CONVERT}; if your script renders messages with the chat template, set own.text_from to its column",
    )


def _rendered(column: str, data: Sequence[Mapping[str, Any]], own: UnslothOptions, newest: bool) -> Detection:
    reason = f"Unsloth: `{column}` rendered to a text column by the script (text_from)"
    if not own.standardize:
        untouched = {"messages": column, "tools": "", "template_kwargs": ""}  # the script renders the messages alone
        return Detection("messages", untouched, MESSAGE_KEYS, {}, reason, verbatim=True)
    if column != "conversations":
        what = "standardize_data_formats reads only the column `conversations`"
        return refusal(what, f"text_from is `{column}`", "set text_from to conversations")
    values: dict[str, list[Any]] = {}
    for row in data[:LOOKED_AT]:
        for message in row.get(column) or ():
            for key, value in message.items() if isinstance(message, Mapping) else ():
                values.setdefault(str(key), []).append(value)
    if len(values) != 2 or any(not isinstance(value, str) for found in values.values() for value in found):
        why = f"messages have the keys {', '.join(values)} but Unsloth expects exactly two, both text"
        return refusal("standardize_data_formats stops", why)
    role, content = role_key(values, newest)
    unknown = sorted({value for value in values[role] if standard_role(value, newest) is None})
    if unknown:
        what = f"standardize_data_formats stops at the role {unknown[0]!r}"
        return refusal(what, "it is not one of its aliases", "rename the role")
    reason += f", its roles from `{role}` standardized"
    return Detection("sharegpt", {"messages": column}, {"role": role, "content": content}, {}, reason)


def role_key(values: Mapping[str, Sequence[str]], newest: bool) -> tuple[str, str]:
    """(key of the role, key of the content) of messages with two keys; before 2026.10 the one with fewer values."""
    first, second = values
    roles = [key for key in values if all(value.strip().lower() in ALIASES for value in values[key])]
    named = [key for key in values if key.strip().lower() in ("role", "from")]
    if newest and len(roles) == 1:
        chosen = roles[0]
    elif newest and len(roles) == 2 and len(named) == 1:
        chosen = named[0]
    else:
        chosen = first if len(set(values[first])) < len(set(values[second])) else second
    return chosen, second if chosen == first else first


def standard_role(role: str, newest: bool) -> str | None:
    """The role after standardize_data_formats, None where it knows no such alias; letter case counts before 2026.10."""
    return ALIASES.get(role.strip().lower() if newest else role)


def by_script(recipe: Recipe, detected: Detection) -> Recipe:
    """What the user's script does before Unsloth reads the rows: it names the text column, renders messages, renames a
    pair's columns."""
    fields, shape = dict(detected.fields), detected.format
    column = fields.get("messages")
    if shape == "text" and fields.get("text", "text") != "text":
        recipe = changed(recipe, "own.dataset_text_field", fields["text"])
    elif shape == "sharegpt":
        recipe = changed(changed(recipe, "own.text_from", column), "own.standardize", True)
    elif shape == "messages" and column != "messages":
        recipe = changed(recipe, "own.text_from", column)
    elif shape in ("columns", "prompt_completion") and fields.keys() >= PAIR.keys() and fields["prompt"] != "prompt":
        recipe = changed(recipe, "data.fields", {name: fields[name] for name in PAIR})
    return recipe
