"""What Axolotl's schema makes of the values of keys that decide labels: taken, converted, or refused.

Source: axolotl 0.19.0, utils/schemas/config.py, datasets.py (SFTDataset) and model.py (SpecialTokensConfig):
pydantic models, which take numbers and truth values that are written as text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sftui.errors import RecipeError
from sftui.trainers.axolotl import TRAIN_ON
from sftui.trainers.axolotl.settings import RECORD
from sftui.trainers.axolotl.templates import FALLBACK
from sftui.trainers.table import KnownKeys

NUMBERS: tuple[str, ...] = tuple(RECORD["numbers"].split())
SHARES = ("val_set_size",)
SWITCHES: tuple[str, ...] = tuple(RECORD["switches"].split())
MISTRAL_COMMON = "tokenizer_use_mistral_common"
LISTS = ("eot_tokens", "tokens", "roles_to_train")
"""Lists of texts."""
HANDED_OVER = ("capabilities", "env_capabilities")
"""Fields of the schema that Axolotl fills itself, whatever a config says."""
MAPPINGS = ("special_tokens", "chat_template_kwargs", "added_tokens_overrides", "roles", "message_property_mappings")
CHOICES = {
    "excess_length_strategy": ("drop", "truncate", "raise"),
    **dict.fromkeys(("train_on_eos", "train_on_eot"), tuple(TRAIN_ON)),
}
SPECIAL_TOKENS = ("bos_token", "eos_token", "pad_token", "unk_token", "additional_special_tokens")
KINDS: Mapping[str, type] = {"str": str, "list": list, "dict": Mapping}
WORDS: Mapping[str, str] = RECORD["pydantic words"]
"""The kinds of fields, as pydantic words what it wants."""
_YES, _NO = ("true", "t", "yes", "y", "on", "1"), ("false", "f", "no", "n", "off", "0")


def checked(keys: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The keys of a config, or of one dataset, as the schema leaves them; RecipeError for what it refuses."""
    return {key: value if value is None else _checked(key, value, where) for key, value in keys.items()}


def by_mistral_common(config: Mapping[str, Any]) -> dict[str, str | None]:
    """The key by which Axolotl finds out whether to tokenize with mistral-common, where the config does not say: that
    of a Magistral, or one at which it stops, with its error. Most configs have none.

    Source: utils/schemas/validation.py, check_tokenizer_use_mistral_common: it runs before the schema and looks into
    each name that is there, be it null.
    """
    if config.get(MISTRAL_COMMON) is not None:
        return {}
    for key in ("base_model", "base_model_config", "tokenizer_config"):
        name = config.get(key, "")
        if not isinstance(name, str):
            return {key: f"AttributeError: '{type(name).__name__}' object has no attribute 'lower'"}
        if "magistral" in name.lower():
            return {key: None}
    return {}


def null_at_work(config: Mapping[str, Any]) -> dict[str, str | None]:
    """The keys that the schema takes as null and at which Axolotl stops when it works with them.

    Source: utils/config/__init__.py, normalize_config; utils/data/sft.py, _handle_train_dataset_split.
    """
    given = config.get("batch_size") and config.get("gradient_accumulation_steps")
    found: dict[str, str | None] = {}
    if config.get("micro_batch_size", 1) is None and not given and not config.get("use_ray"):
        found["micro_batch_size"] = "TypeError: unsupported operand type(s): NoneType"
    if config.get("val_set_size", 0) is None and config.get("datasets"):
        found["val_set_size"] = "TypeError: '>' not supported between instances of 'NoneType' and 'int'"
    return found


def padded_for_packing(config: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    """The checked keys, with pad_to_sequence_len on where Axolotl turns it on for `sample_packing: 'no'` as text.

    Source: utils/schemas/validation.py, hint_sample_packing_padding. It runs before values are converted, when every
    text counts as yes; the batches are then padded to sequence_len though nothing is packed.
    """
    mistaken = written.get("sample_packing") and not config.get("sample_packing")
    on = mistaken and written.get("pad_to_sequence_len") is None
    return {**config, "pad_to_sequence_len": True} if on else dict(config)


def _checked(key: str, value: Any, where: str) -> Any:
    wanted, number = "", number_of(value)
    if key in NUMBERS and not _is_number(value, whole=True):
        wanted = "a whole number"
    elif key == "sequence_len" and number < 1:
        why = "Axolotl then drops every row, or cuts it to nothing"
        raise RecipeError(f"`{key}` cannot be {int(number)}", where=where, why=why, fix="give 1 or more")
    elif key in SHARES and not 0 <= number < math.inf:
        wanted = "a share below 1, or a number of rows"
    elif key in SWITCHES and not (isinstance(value, bool) or str(value).lower() in _YES + _NO):
        wanted = "true or false"
    elif key in LISTS and not isinstance(value, list):
        wanted = "a list"
    elif key in MAPPINGS and not isinstance(value, Mapping):
        wanted = "a mapping"
    elif key in CHOICES and value not in CHOICES[key]:
        wanted = f"one of {', '.join(CHOICES[key])}"
    elif key == "roles" and not all(isinstance(sources, list) for sources in value.values()):
        wanted = "a list for each role"
    if wanted:
        raise RecipeError(f"{key} is `{value}`", where=where, why="Axolotl's schema refuses it", fix=f"say {wanted}")
    if key == "special_tokens":
        return {name: token for name, token in value.items() if name in SPECIAL_TOKENS}  # it passes over any other name
    if key in SWITCHES:
        return str(value).lower() in _YES
    return int(number) if key in NUMBERS else number if key in SHARES else value


def number_of(value: Any) -> float:
    """A value as a number; NaN for what is none."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def stopped(key: str, value: Any, known: KnownKeys, *, dataset: bool = False) -> str | None:
    """What Axolotl raises for a key's value: by the type of the release's field, or for a key that it took out."""
    if key in known.removed and value and not dataset:
        return f"DeprecationWarning: `{key}` is no longer supported"
    if dataset and key == "type" and isinstance(value, str) and value.startswith("sharegpt"):
        return "`type: sharegpt.*` is deprecated; it asks for `type: chat_template`"  # utils/schemas/validation.py
    if key in HANDED_OVER and not dataset:
        return None
    if isinstance(value, list) and key in LISTS and not all(isinstance(one, str) for one in value):
        return "Input should be a valid list of valid strings"
    if key == "special_tokens" and isinstance(value, Mapping):
        return _special(value)
    if key == "chat_template" and not dataset and isinstance(value, str) and not value.startswith(FALLBACK):
        # at the top a text is one of the names; that of a dataset may be any
        return None if value in known.choices.get(key, (value,)) else _wanted("choice")
    types, choices = (known.dataset_types, known.dataset_choices) if dataset else (known.types, known.choices)
    kinds = next((kinds for kinds, keys in types.items() if key in keys), None)
    if kinds is None or any(_takes(kind, value, choices.get(key, frozenset())) for kind in kinds.split("|")):
        return None
    return _wanted(kinds)


def _special(tokens: Mapping[str, Any]) -> str | None:
    """The first of the named tokens that is no text; any other name is passed over."""
    for name in SPECIAL_TOKENS:
        kind, token = "str" if name != "additional_special_tokens" else "list", tokens.get(name)
        if token is not None and not _takes(kind, token, frozenset()):
            return f"{name}: {_wanted(kind)}"
        if kind == "list" and token is not None and not all(isinstance(one, str) for one in token):
            return f"{name}: Input should be a valid list of valid strings"
    return None


def _wanted(kinds: str) -> str:
    return f"Input should be {' or '.join(WORDS.get(kind, kind) for kind in kinds.split('|') if kind != 'null')}"


def _takes(kind: str, value: Any, choices: frozenset[str]) -> bool:
    """Whether pydantic takes a value of YAML for a kind of field, converting as it does by default."""
    if kind == "null":
        return value is None
    if kind == "bool":
        return isinstance(value, bool) or value in (0, 1) or (isinstance(value, str) and value.lower() in _YES + _NO)
    if kind in ("int", "float"):
        return _is_number(value, whole=kind == "int")
    if kind == "choice":
        return isinstance(value, (str, int, float)) and str(value) in choices
    return isinstance(value, KINDS[kind])


def _is_number(value: Any, *, whole: bool) -> bool:
    if not isinstance(value, (int, float, str)):
        return False
    try:
        number = float(value)
        return not whole or number == int(number)
    except (ValueError, OverflowError):
        return False
