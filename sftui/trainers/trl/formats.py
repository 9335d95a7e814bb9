"""How TRL reads columns: from the first row, by its own keys, and without mapping roles.

Source: trl 1.16.0, trl/data_utils.py (is_conversational, is_conversational_from_value,
maybe_convert_to_chatml) and trl/trainer/sft_trainer.py `_prepare_dataset`.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from sftui.conversations import Detection
from sftui.conversations.detected import NO_ROW, refusal
from sftui.model import Problem, Row
from sftui.recipe import Recipe

MESSAGE_KEYS = {"role": "role", "content": "content"}
ASKED = ("prompt", "completion", "chosen", "rejected", "messages")
"""The columns of which is_conversational pops one out of a set: the order is that of Python's hashes."""
PAIR = {"prompt": "prompt", "completion": "completion"}
BESIDE = {"tools": "tools", "template_kwargs": "chat_template_kwargs"}
CONVERT = "make messages of the rows with `sftui convert`"
"""What to do about rows of a shape that a trainer does not read."""
FROM_VALUE = {"role": "from", "content": "value"}


def detect(
    rows: Sequence[Row], text_field: str, *, assistant_only: bool = False, completion_only: bool | None = None
) -> Detection:
    """TRL's own reading of a dataset, or the refusal that its error amounts to.

    `assistant_only` and `completion_only` are the two loss settings of SFTConfig.
    """
    first = next((row.data for row in rows if isinstance(row.data, Mapping)), None)
    if first is None:
        return NO_ROW
    columns = dict.fromkeys(key for row in rows if isinstance(row.data, Mapping) for key in row.data)
    if "image" in columns or "images" in columns:
        why = "TRL prepares vision rows in its collator with a processor, which sftui does not model"
        return refusal("the dataset has images", why)
    chance = by_chance(first)
    if chance is not None and "input_ids" not in columns and not _from_value(first):
        return Detection("auto", refused=chance)
    if assistant_only and not any(is_messages(first.get(name)) for name in ASKED):
        return refusal(
            "TRL refuses assistant_only_loss here",
            "it looks for messages in the columns prompt, completion and messages of the first row, before it reads"
            " anything else",
            "set mask.rule to auto, or give messages",
        )
    if "input_ids" in columns:
        return prepared(columns, "TRL: a column `input_ids` is taken as prepared")
    taken = [name for name in ("labels", "assistant_masks", "completion_mask") if name in columns]
    if assistant_only and "assistant_masks" in taken:
        taken.remove("assistant_masks")  # TRL writes its own over it
    if "completion_mask" in taken and ("prompt" in columns or completion_only is not True):
        taken.remove("completion_mask")
    if taken:
        return refusal(
            f"there is a column `{taken[0]}` beside text that is still to be tokenized",
            "TRL takes it as the labels or the mask of the tokens it makes",
            "rename or remove the column",
        )
    if "chat_template_kwargs" in columns and any(
        isinstance(row.data, Mapping) and row.data.get("chat_template_kwargs") is None for row in rows
    ):
        return refusal(
            "some rows have chat_template_kwargs and others do not",
            "datasets fills the gaps with null and TRL stops there with a TypeError",
            "give every row a mapping, {} where there is nothing to say",
        )
    if _from_value(first):
        reason = "TRL: from/value is renamed to role/content, the roles keep their names"
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
        f"{CONVERT}, or give TRL a formatting_func",
    )


def prepared(columns: Container[str], reason: str) -> Detection:
    """Rows that hold ids, which are taken as they are."""
    fields = {name: name for name in ("input_ids", "labels", "attention_mask") if name in columns}
    return Detection("tokenized", fields, reason=reason, given_labels="unshifted")


def as_it_stands(
    shape: str,
    fields: Mapping[str, str],
    columns: Container[str],
    reason: str,
    keys: Mapping[str, str] = MESSAGE_KEYS,
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
        f"of the columns {' and '.join(f'`{name}`' for name in asked)} some hold messages and some do not",
        "TRL asks only one of them whether the rows are conversations, and which one changes from run to run",
        "remove the columns that are not trained",
    )


def _from_value(row: Mapping[str, Any]) -> bool:
    return is_messages(row.get("conversations"), "from", "value")


def is_messages(value: Any, *keys: str) -> bool:
    """Whether a value is a list of messages, with a role, or some other keys, in the first."""
    first = value[0] if isinstance(value, list) and value else None
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
