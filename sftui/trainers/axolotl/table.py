"""Which keys of Axolotl's YAML say which knobs: those at the top, and those of the entry of `datasets` that is read.

Source: axolotl 0.19.0, utils/schemas/config.py and datasets.py, utils/config/__init__.py (normalize_config).

What the schema makes of the values of keys that decide labels, taken, converted or refused: the same and model.py
(SpecialTokensConfig), pydantic models, which take numbers and truth values that are written as text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sftui.conversations.detected import MESSAGE_KEYS
from sftui.errors import RecipeError
from sftui.model import SIDES
from sftui.recipe import Recipe
from sftui.trainers import table, versions
from sftui.trainers.axolotl import TRAIN_ON, AxolotlOptions
from sftui.trainers.axolotl.packing import varlen
from sftui.trainers.axolotl.settings import CHAT, ENTRY_KEYS, RECORD, TYPE_OF_FORMAT
from sftui.trainers.axolotl.templates import FALLBACK, JINJA, TOKENIZER

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


def unread_by_rl(config: Mapping[str, Any]) -> dict[str, str | None]:
    """The keys at which a run on preferences stops (axolotl 0.21.0, core/builders/rl.py build_collator, whose collator
    is for the columns of older releases of TRL)."""
    rl, found = config.get("rl"), dict[str, str | None]()
    if rl in ("dpo", "ipo") and config.get("pad_to_multiple_of"):
        found["pad_to_multiple_of"] = "KeyError: 'input_ids', at the first batch"
    if rl == "kto" and config.get("remove_unused_columns") is not False:  # utils/schemas/validation.py
        found["remove_unused_columns"] = "Set `remove_unused_columns: False` when using kto"
    return found


def padded_for_packing(config: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    """The checked keys, with pad_to_sequence_len on where Axolotl turns it on for `sample_packing: 'no'` as text.

    Source: utils/schemas/validation.py, hint_sample_packing_padding. It runs before values are converted, when every
    text counts as yes; the batches are then padded to sequence_len though nothing is packed.
    """
    mistaken = written.get("sample_packing") and not config.get("sample_packing")
    on = (mistaken or written.get("reward_model")) and written.get("pad_to_sequence_len") is None
    return {**config, "pad_to_sequence_len": True} if on else dict(config)


def _checked(key: str, value: Any, where: str) -> Any:
    wanted, number = "", number_of(value)
    if key in NUMBERS and not _is_number(value, whole=True):
        wanted = "an integer"
    elif key == "sequence_len" and number < 1:
        why = "Axolotl then drops every row, or cuts it to nothing"
        raise RecipeError(f"`{key}` cannot be {int(number)}", where=where, why=why, fix="give 1 or more")
    elif key in SHARES and not 0 <= number < math.inf:
        wanted = "a fraction below 1, or a number of rows"
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
        raise table.odd_value(key, value, where, "Axolotl's schema rejects it", f"say {wanted}")
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


def stopped(key: str, value: Any, known: table.KnownKeys, *, dataset: bool = False) -> str | None:
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


# The older flags in the order in which Axolotl asks for them.
FLAGS: Mapping[str, str] = RECORD["attention flags"]
SPECIAL = ("bos_token", "eos_token", "pad_token")
"""Special tokens that are knobs; the others are an option of its own."""
NO_EVALUATION = ("val_set_size", "eval_sample_packing", "seed")
"""Options that only say which rows are set aside."""


def _tokenizer(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    name = config.get("tokenizer_config") or config.get("base_model_config") or config.get("base_model")
    return {"tokenizer.name": str(name)} if name else {}


def _other_tokens(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    special = config.get("special_tokens") or {}
    rest = {name: token for name, token in special.items() if name not in SPECIAL and token is not None}
    return {"own.special_tokens": rest} if rest else {}


def _written_tokens(recipe: Recipe, path: str, value: Mapping[str, Any]) -> table.Keys:
    return {("special_tokens", name): token for name, token in value.items()}


def _aside(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    """Without val_set_size, and the `weight` of a dataset, these decide nothing else that is shown. A seed that is null
    becomes 42 (schemas/validation.py, set_default_seed), one that is absent stays None."""
    listed = config.get("datasets")
    weighed = isinstance(listed, list) and any(isinstance(one, Mapping) and one.get("weight") for one in listed)
    if not config.get("val_set_size") and not weighed:
        return {}
    given = {**config, "seed": 42} if config.get("seed", 42) is None else config
    return {f"own.{name}": given[name] for name in NO_EVALUATION if given.get(name) is not None}


def attention_of(config: table.Config) -> str | None:
    """The attention a config asks for, by attn_implementation or by one of the older flags."""
    stated = config.get("attn_implementation")
    if stated:
        return str(stated)
    return next((name for key, name in FLAGS.items() if config.get(key)), None)


def _packing(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    if not config.get("sample_packing"):
        return {}
    attention = attention_of(config)
    isolated = attention in ("sdpa", "eager") or varlen(attention or "")
    attends = "none" if isolated else "doc_ids"
    return {"pack.strategy": "multipack", "pack.isolate": isolated, "batch.attention": attends}


def _written_packing(recipe: Recipe, path: str, value: Any) -> table.Keys | table.Noted | None:
    if path == "pack.strategy":
        return {("sample_packing",): True} if value == "multipack" else None
    if recipe.pack.strategy == "multipack" and recipe.batch.attention == "none":
        return {}
    return {}, (
        "Axolotl has the effect of pack.isolate = True only with pack.strategy multipack and batch.attention none",
    )


def _padding(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    padded = config.get("pad_to_sequence_len")
    return {"batch.pad_to": "max"} if padded else {"batch.multiple": None} if padded is False else {}


def _written_padding(recipe: Recipe, path: str, value: Any) -> table.Keys:
    if path == "batch.pad_to":
        return {("pad_to_sequence_len",): True} if value == "max" else {}
    if value is not None:
        return {("pad_to_multiple_of",): value}
    return {} if recipe.batch.pad_to == "max" else {("pad_to_sequence_len",): False}


def _written_attention(recipe: Recipe, path: str, value: str) -> table.Keys | table.Noted:
    if path == "own.attn_implementation":
        return {("attn_implementation",): value} if value else {}
    if recipe.pack.strategy != "multipack" or AxolotlOptions.of(recipe).attn_implementation:
        return {}
    if value == "none":
        return {("attn_implementation",): "flash_attention_2"}
    return {}, (f"batch.attention = {value!r} follows from the model type in Axolotl",)


RL = {"ipo": "dpo", "dpo": "dpo", "kto": "kto", "orpo": "orpo", "simpo": "cpo"}
"""What `rl` asks for → the objective."""


def _objective(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    """`rl` wins over `reward_model` (axolotl 0.21.0, cli/train.py)."""
    named = RL.get(str(config.get("rl"))) or ("reward" if config.get("reward_model") else None)
    return {"loss.objective": named} if named else {}


def _written_rl(recipe: Recipe, path: str, value: str) -> table.Keys | None:
    if value == "reward":
        return {("reward_model",): True}
    named = next((name for name, objective in reversed(RL.items()) if objective == value), None)
    more: table.Keys = {("remove_unused_columns",): False} if value == "kto" else {}
    return {("rl",): named, **more} if named else None


TOP: tuple[table.KeyEntry, ...] = (
    table.rule(
        "tokenizer_config base_model_config base_model", "tokenizer.name", _tokenizer, table.as_is("tokenizer_config")
    ),
    table.same("revision_of_model", "tokenizer.revision", says=bool),
    table.same("sequence_len", "length.max", says=bool, write=table.limit("sequence_len", "Axolotl")),
    table.same("min_sample_len", "length.min_tokens", says=bool),
    table.same("sample_packing_group_size", "pack.group", says=bool),
    table.same("micro_batch_size", "batch.size", says=bool),
    table.words("excess_length_strategy", "length.over", {"truncate": "cut_right", "raise": "error"}),
    table.rule("rl reward_model", "loss.objective", _objective, _written_rl),
    table.flag("train_on_inputs", "mask.rule", "all", "it trains the content of turns"),
    table.same("tokenizer_type", "tokenizer.type", says=lambda named: bool(named) and named != "AutoTokenizer"),
    *(table.same(f"special_tokens.{name}", f"tokenizer.{name}", null=False, convert=str) for name in SPECIAL),
    table.rule("special_tokens", "own.special_tokens", _other_tokens, _written_tokens),
    *(table.same(name, f"own.{name}", null=False) for name in RECORD["own options"].split()),
    *(table.rule(name, f"own.{name}", table.nothing, table.as_is(name)) for name in NO_EVALUATION),
    table.rule(" ".join(NO_EVALUATION), "", _aside, table.needless),
    table.same("chat_template_kwargs", "render.kwargs", says=bool, convert=dict),
    table.rule("sample_packing", "pack.strategy pack.isolate", _packing, _written_packing),
    replace(table.same("pad_to_multiple_of", "batch.multiple", says=bool), knobs=()),
    table.rule("pad_to_sequence_len", "batch.pad_to batch.multiple", _padding, _written_padding),
    table.rule(
        "attn_implementation " + " ".join(FLAGS),
        "own.attn_implementation batch.attention",
        lambda config, recipe, where: {"own.attn_implementation": name} if (name := attention_of(config)) else {},
        _written_attention,
    ),
    table.silent("tokenizer.transformers"),
)


def _message_keys(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    """message_property_mappings and the older message_field_*; RecipeError where they contradict each other."""
    entry, keys = config["datasets"], {}
    mapping = {str(key): str(value) for key, value in (entry.get("message_property_mappings") or {}).items()}
    for ours in ("role", "content"):
        key, stated, mapped = f"message_field_{ours}", ours in mapping, mapping.pop(ours, ours)
        legacy = entry.get(key)
        # its validator asks whether the key is there, be it null (utils/schemas/utils.py)
        if key in entry and stated and mapped != legacy:
            what = f"{key} and message_property_mappings.{ours} have different values"
            raise RecipeError(what, where=where, fix="keep one of them")
        if (legacy or mapped) != ours:
            keys[ours] = str(legacy or mapped)
    keys |= {ours: str(entry[key]) for ours, key in FIELDS.items() if entry.get(key)}
    return {"data.message_keys": keys} | ({"own.message_property_mappings": mapping} if mapping else {})


FIELDS = {"train_flag": "message_field_training", "train_detail": "message_field_training_detail"}


def _dropped(recipe: Recipe) -> tuple[str, ...]:
    return ("Axolotl drops this key of a dataset's entry under `rl`",) * (recipe.loss.objective in ENTRY_KEYS)


def _written_message_keys(recipe: Recipe, path: str, value: Mapping[str, str]) -> table.Noted:
    mapped, flags = value, dict[str, str]()
    if path == "data.message_keys":
        mapped = {ours: value[ours] for ours in MESSAGE_KEYS if value.get(ours, ours) != ours}
        if "reasoning" in value:
            mapped[AxolotlOptions.of(recipe).template_thinking_key or "reasoning_content"] = value["reasoning"]
        flags = {key: value[ours] for ours, key in FIELDS.items() if ours in value}
    keys: table.Keys = {("datasets", "message_property_mappings", name): key for name, key in mapped.items()}
    return keys | {("datasets", key): name for key, name in flags.items()}, _dropped(recipe)


def _written_columns(recipe: Recipe, path: str, value: Mapping[str, str]) -> table.Keys:
    names = ("messages", *(SIDES if recipe.paired else ()))
    keys: table.Keys = {("datasets", f"field_{name}"): value[name] for name in names if value.get(name)}
    if value.get("text") and AxolotlOptions.of(recipe).field is None:
        keys["datasets", "field"] = value["text"]
    return keys


def _role_map(roles: Mapping[Any, Any]) -> dict[str, str]:
    return {str(source): str(role) for role, sources in roles.items() for source in sources}


def _written_roles(recipe: Recipe, path: str, value: Mapping[str, str]) -> table.Noted:
    sources: dict[str, list[str]] = {}
    for source, role in value.items():
        sources.setdefault(role, []).append(source)
    return {("datasets", "roles"): sources}, _dropped(recipe)


BY_ENDING = {".parquet": "parquet", ".arrow": "arrow", ".csv": "csv", ".txt": "text"}
"""What a name has in it → the loader of the file; that of any other is json (utils/data/shared.py,
get_dataset_type)."""


def loader_by_name(name: str) -> str:
    """The loader that Axolotl takes for a file whose entry has no ds_type."""
    return next((loader for ending, loader in BY_ENDING.items() if ending in name), "json")


def _ds_type(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    """What it says beyond the ending of the file's name."""
    block = config["datasets"]
    path, loader = str(block.get("path")), block.get("ds_type")
    usual = loader_by_name(path) if "." in path.rpartition("/")[2] else None
    return {} if loader in (None, usual) else {"own.ds_type": loader}


def _weight(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    """A share below 1, from 0.20 on (axolotl 0.20.0, utils/schemas/datasets.py SFTDataset); before, no key at all."""
    weight = config["datasets"].get("weight")
    if weight is None or not versions.since(recipe, (0, 20)):
        return {}
    share = number_of(weight)
    if not 0 < share <= 1:
        why = "Axolotl's schema rejects it"
        raise table.odd_value("weight", weight, where, why, "use a fraction above 0 and up to 1")
    return {"own.weight": share} if share < 1 else {}


def _written_weight(recipe: Recipe, path: str, value: float) -> table.Keys | table.Noted:
    if not versions.since(recipe, (0, 20)):
        return {}, (f"own.weight = {value!r} has no key in Axolotl's config before 0.20",)
    return {("datasets", "weight"): value}


def _format(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    """Without a type Axolotl takes prepared rows only."""
    return {} if config["datasets"].get("type") else {"data.format": "tokenized"}


def _written_format(recipe: Recipe, path: str, value: str) -> table.Keys:
    stated = AxolotlOptions.of(recipe).type is not None or value == "tokenized" or value not in TYPE_OF_FORMAT
    return {} if stated else {("datasets", "type"): TYPE_OF_FORMAT[value]}


def _written_terminator(recipe: Recipe, path: str, value: str) -> table.Keys:
    masked = value == "mask" and AxolotlOptions.of(recipe).train_on_eos is None
    return {("datasets", "train_on_eos"): "none"} if masked else {}


def _template(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    """render.template for a dataset, and the inline text that goes with it.

    The top-level choice replaces the tokenizer's own template, so a dataset that asks for the
    tokenizer's gets it too. A dataset's chat_template_jinja counts only with `chat_template: jinja`
    beside it: without, its schema says tokenizer_default first (SFTDataset.check_chat_template_config).
    """
    entry = config["datasets"]
    name, jinja = entry.get("chat_template"), entry.get("chat_template_jinja")
    if name is None or name == TOKENIZER or str(name).startswith(FALLBACK):
        more = config.get("chat_template_jinja")
        top = config.get("chat_template") or (JINJA if more else None)
        if top is not None:
            name, jinja = top, more
    if name is None or name == TOKENIZER or CHAT not in str(entry.get("type", CHAT)).split("."):
        return {"render.template": "tokenizer"}
    inline = jinja if name == JINJA and isinstance(jinja, str) else None
    if inline is not None and "{" not in inline:
        return {"render.template": f"file:{inline}"}
    return {"render.template": f"axolotl/{name}"} | ({} if inline is None else {"own.chat_template_jinja": inline})


def template_place(recipe: Recipe) -> tuple[str, ...]:
    """Where the keys of the template stand: in the dataset's entry, or at the top where Axolotl drops them there."""
    return () if recipe.loss.objective in ENTRY_KEYS else ("datasets",)


def _written_template(recipe: Recipe, path: str, value: str) -> table.Keys:
    template, under = recipe.render.template, template_place(recipe)
    place = (*under, "chat_template")
    if path != "render.template" or template == "tokenizer":
        return {}
    kind, _, name = template.partition("/")
    if kind == "axolotl" and name != JINJA:
        return {place: name}
    inline = AxolotlOptions.of(recipe).chat_template_jinja if kind == "axolotl" else template.partition(":")[2]
    return {place: JINJA, (*under, "chat_template_jinja"): inline}


def _columns(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    entry, names = config["datasets"], ("messages", *(SIDES if recipe.paired else ()))
    found = {name: str(entry[f"field_{name}"]) for name in names if entry.get(f"field_{name}")}
    return {"data.fields": found} if found else {}


DATASET: tuple[table.KeyEntry, ...] = (
    *(table.same(f"datasets.{name}", f"own.{name}", null=False) for name in RECORD["own options of datasets"].split()),
    table.rule("datasets.ds_type", "own.ds_type", _ds_type, table.as_is("datasets.ds_type")),
    table.rule("datasets.weight", "own.weight", _weight, _written_weight),
    table.rule("datasets.type", "data.format", _format, _written_format),
    table.rule(
        "datasets.field_messages datasets.field_chosen datasets.field_rejected",
        "data.fields",
        _columns,
        _written_columns,
    ),
    table.rule(
        "datasets.message_property_mappings datasets.message_field_role datasets.message_field_content",
        "data.message_keys own.message_property_mappings",
        _message_keys,
        _written_message_keys,
    ),
    table.same("datasets.roles_to_train", "mask.roles", null=False, convert=lambda roles: tuple(map(str, roles))),
    table.rule("datasets.train_on_eos", "mask.terminator", table.nothing, _written_terminator),
    table.same("datasets.roles", "data.role_map", says=bool, convert=_role_map, write=_written_roles),
    table.rule(
        "datasets.chat_template datasets.chat_template_jinja",
        "render.template own.chat_template_jinja",
        _template,
        _written_template,
    ),
)
