"""What a recipe says in Axolotl's own terms: one entry of `datasets:` and the top-level keys beside it.

Source: axolotl 0.19.0 and 0.18.0, utils/schemas/datasets.py (SFTDataset) and prompt_strategies/
chat_template.py (StrategyLoader). Generic knobs stand for Axolotl's keys where they can; the rest
is in mask.options under Axolotl's own names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sftui.errors import RecipeError
from sftui.recipe import Recipe

CHAT = "chat_template"
TOKENIZED = "tokenized"
TRAIN_ON = ("all", "turn", "last", "none")
TYPE_OF_FORMAT = {
    "messages": CHAT,
    "sharegpt": CHAT,
    "alpaca": "alpaca",
    "text": "completion",
    "segments": "input_output",
    "tokenized": TOKENIZED,
}
OPTIONS = (
    "type",
    "field",
    "train_on_eos",
    "train_on_eot",
    "eot_tokens",
    "drop_system_message",
    "split_thinking",
    "template_thinking_key",
    "field_thinking",
    "field_tools",
    "message_property_mappings",
    "chat_template_jinja",
    "special_tokens",
    "tokens",
    "added_tokens_overrides",
    "sample_packing_bin_size",
    "sample_packing_sequentially",
    "multipack_real_batches",
    "curriculum_sampling",
    "shuffle_merged_datasets",
    "dataset_exact_deduplication",
    "attn_implementation",
    "val_set_size",
    "eval_sample_packing",
    "seed",
)
DEFAULT_MAPPING: Mapping[str, str] = {"role": "role", "content": "content"}


@dataclass(frozen=True, slots=True)
class Settings:
    """The dataset's keys with Axolotl's defaults filled in.

    `type` is a name, or the mapping of a user-defined type, or "" where the recipe leaves it to
    the columns. `mapping` is message_property_mappings, in which Axolotl's own validation always
    fills role and content.
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
    eot_tokens: tuple[str, ...] | None
    training_key: str | None
    detail_key: str | None
    thinking_key: str
    split_thinking: bool
    drop_system_message: bool


def settings_of(recipe: Recipe) -> Settings:
    """The recipe in Axolotl's terms; RecipeError for a value that its schema refuses."""
    options, keys, fields = recipe.mask.options, recipe.data.message_keys, recipe.data.fields
    eos = options.get("train_on_eos") or ("none" if recipe.mask.terminator == "mask" else "turn")
    eot = options.get("train_on_eot") or eos
    for name, value in (("train_on_eos", eos), ("train_on_eot", eot)):
        if value not in TRAIN_ON:
            raise RecipeError(f"{name} is `{value}`", fix=f"say one of {', '.join(TRAIN_ON)}")
    if recipe.mask.rule not in ("turn_content", "all", "auto"):
        raise RecipeError(
            f"Axolotl has no mask.rule `{recipe.mask.rule}`", fix="set it to turn_content, or all for train_on_inputs"
        )
    thinking = str(options.get("template_thinking_key") or "reasoning_content")
    mapping = {**DEFAULT_MAPPING, **_strings(options.get("message_property_mappings"), "message_property_mappings")}
    for ours, theirs in (("role", "role"), ("content", "content"), ("reasoning", thinking)):
        if ours in keys:
            mapping[theirs] = keys[ours]
    eot_tokens = options.get("eot_tokens")
    roles = recipe.data.role_map
    return Settings(
        type=_type(recipe),
        field_messages=fields.get("messages", "messages"),
        field=str(options.get("field") or fields.get("text") or "text"),
        mapping=mapping,
        roles=roles,
        roles_to_train=tuple(roles.get(role, role) for role in recipe.mask.roles),
        train_on_inputs=recipe.mask.rule == "all",
        train_on_eos=eos,
        train_on_eot=eot,
        eot_tokens=None if eot_tokens is None else tuple(str(token) for token in eot_tokens),
        training_key=keys.get("train_flag"),
        detail_key=keys.get("train_detail"),
        thinking_key=thinking,
        split_thinking=bool(options.get("split_thinking")),
        drop_system_message=bool(options.get("drop_system_message")),
    )


def _type(recipe: Recipe) -> str | Mapping[str, Any]:
    stated = recipe.mask.options.get("type")
    if isinstance(stated, Mapping):
        return stated
    if stated:
        return str(stated)
    if recipe.data.format == "auto":
        return ""
    known = TYPE_OF_FORMAT.get(recipe.data.format)
    if known is None:
        raise RecipeError(
            f"Axolotl has no dataset type for data.format {recipe.data.format}",
            fix="describe the columns with a user-defined type in mask.options.type",
        )
    return known


def _strings(value: Any, name: str) -> Mapping[str, str]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise RecipeError(f"{name} must map names to names")
    return {str(key): str(item) for key, item in value.items()}


def ineffective(recipe: Recipe) -> tuple[str, ...]:
    """Keys of Axolotl's own that have no effect in it, in a sentence each."""
    options, found = recipe.mask.options, []
    if options.get("field_tools") not in (None, "tools") or recipe.data.fields.get("tools", "tools") != "tools":
        found.append("field_tools has no effect: Axolotl never hands it to its prompter and reads the column `tools`")
    if options.get("field_thinking") not in (None, "reasoning_content"):
        found.append(
            "field_thinking has no effect: Axolotl fills message_property_mappings first, which switches it off"
        )
    return tuple(found)
