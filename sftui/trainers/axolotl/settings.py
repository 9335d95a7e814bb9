"""What a recipe says in Axolotl's own terms: one entry of `datasets:` and the top-level keys beside it.

Source: axolotl 0.19.0 and 0.18.0, utils/schemas/datasets.py (SFTDataset) and prompt_strategies/
chat_template.py (StrategyLoader). Generic knobs stand for Axolotl's keys where they can; the rest
is in recipe.own under Axolotl's own names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sftui.conversations.detected import MESSAGE_KEYS
from sftui.errors import RecipeError
from sftui.recipe import Recipe
from sftui.side_files import object_of
from sftui.trainers.axolotl import AxolotlOptions
from sftui.trainers.remembering import last_asked

RECORD = object_of(Path(__file__).with_name("keys.json"))
"""Names of keys, templates and plugins, as they are recorded beside the code."""
CHAT = "chat_template"
DEFAULT, ARGILLA = f"{CHAT}.default", f"{CHAT}.argilla_chat"


def _written(columns: str) -> set[str]:
    return {f"{family}.{way}" for family in RECORD["pair turns"] for way in RECORD[columns]}


_PAIRS = {DEFAULT, ARGILLA, *_written("pair columns")}
TURNS = f"{CHAT}.argilla"
BRADLEY_TERRY = f"bradley_terry.{CHAT}"
PREFERENCE_TYPES = {
    "dpo": _PAIRS,
    "cpo": _PAIRS,
    "kto": _written("kto columns"),
    "orpo": {TURNS},
    "reward": {BRADLEY_TERRY},
}
"""Types of preferences that sftui models, by objective; those of DPO, CPO and KTO may describe themselves, too."""
ENTRY_KEYS = {objective: frozenset(names.split()) for objective, names in RECORD["entry keys"].items()}
"""What Axolotl keeps of a dataset's entry for an objective; every key where none is named (axolotl 0.21.0,
utils/config/__init__.py validate_config and utils/schemas/datasets.py DPODataset)."""
TOKENIZED = "tokenized"
PRETRAIN = "pretrain"
"""The type of texts of a `pretraining_dataset`."""
TYPE_OF_FORMAT = {
    "messages": CHAT,
    "sharegpt": CHAT,
    "alpaca": "alpaca",
    "text": "completion",
    "segments": "input_output",
    "tokenized": TOKENIZED,
}
FLAGS = {"training": "train_flag", "training_detail": "train_detail"}
"""What a turn holds of training, and the key of a message in data.message_keys."""


@dataclass(frozen=True, slots=True)
class DatasetSettings:
    """The dataset's keys with Axolotl's defaults filled in.

    `type` is a name, or the mapping of a user-defined type, or "" where the recipe leaves it to the columns. `mapping`
    is message_property_mappings, in which Axolotl's own validation always fills role and content; `flags` are the
    message's keys for what a turn holds of training.
    """

    type: str | Mapping[str, Any]
    field_messages: str
    field: str
    mapping: Mapping[str, str]
    roles: Mapping[str, str]
    roles_to_train: tuple[str, ...]
    train_on_inputs: bool
    train_on_eos: str
    train_on_eot: str
    thinking_key: str
    flags: Mapping[str, str]
    own: AxolotlOptions


def preference_type(kind: object, objective: str) -> str | Mapping[str, Any] | None:
    """A type of preferences by its full name (axolotl 0.21.0, prompt_strategies/base.py); None where sftui has none."""
    if isinstance(kind, Mapping):
        return None if objective in ("orpo", "reward") else kind
    name = str(kind) if "." in str(kind) else f"{kind}.default"
    return name if name in PREFERENCE_TYPES[objective] else None


@last_asked
def settings_of(recipe: Recipe) -> DatasetSettings:
    """The recipe in Axolotl's terms; RecipeError for a value that its schema refuses."""
    own, keys, fields = AxolotlOptions.of(recipe), recipe.data.message_keys, recipe.data.fields
    eos, roles = own.train_on_eos or ("none" if recipe.mask.terminator == "mask" else "turn"), recipe.data.role_map
    if recipe.mask.rule not in ("turn_content", "all", "auto"):
        raise RecipeError(
            f"Axolotl has no mask.rule `{recipe.mask.rule}`", fix="set it to turn_content, or all for train_on_inputs"
        )
    kind = own.type or ("" if recipe.data.format == "auto" else TYPE_OF_FORMAT.get(recipe.data.format))
    if kind is None:
        what = f"Axolotl has no dataset type for data.format {recipe.data.format}"
        raise RecipeError(what, fix="describe the columns with a user-defined type in own.type")
    thinking = own.template_thinking_key or "reasoning_content"
    names = {"role": "role", "content": "content", "reasoning": thinking}
    said = {theirs: keys[ours] for ours, theirs in names.items() if ours in keys}
    return DatasetSettings(
        type=kind,
        field_messages=fields.get("messages", "messages"),
        field=own.field or fields.get("text") or "text",
        mapping={**MESSAGE_KEYS, **own.message_property_mappings, **said},
        roles=roles,
        roles_to_train=tuple(roles.get(role, role) for role in recipe.mask.roles),
        train_on_inputs=recipe.mask.rule == "all",
        train_on_eos=eos,
        train_on_eot=own.train_on_eot or eos,
        thinking_key=thinking,
        flags={ours: keys[name] for ours, name in FLAGS.items() if name in keys},
        own=own,
    )


def ineffective(recipe: Recipe) -> tuple[str, ...]:
    """A sentence on each key of Axolotl's own that has no effect in it; "" for one that is not set so."""
    own = AxolotlOptions.of(recipe)
    tools = own.field_tools not in (None, "tools") or recipe.data.fields.get("tools", "tools") != "tools"
    thinking = own.field_thinking not in (None, "reasoning_content")
    return (
        "field_tools has no effect: Axolotl does not pass it to its prompter and reads the column `tools`" * tools,
        "field_thinking has no effect: Axolotl fills message_property_mappings first, which disables it" * thinking,
    )
