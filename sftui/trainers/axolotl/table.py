"""Which keys of Axolotl's YAML say which knobs: those at the top, and those of the entry of `datasets` that is read.

Source: axolotl 0.19.0, utils/schemas/config.py and datasets.py, utils/config/__init__.py (normalize_config).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sftui.errors import RecipeError
from sftui.recipe import Recipe
from sftui.trainers import table, versions
from sftui.trainers.axolotl import AxolotlOptions
from sftui.trainers.axolotl.packing import varlen
from sftui.trainers.axolotl.schema import number_of
from sftui.trainers.axolotl.settings import CHAT, DEFAULT_MAPPING, RECORD, TYPE_OF_FORMAT
from sftui.trainers.axolotl.templates import FALLBACK, JINJA, TOKENIZER

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
        "pack.isolate = True is what pack.strategy multipack with batch.attention none does in Axolotl, and nothing"
        " else",
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
            what = f"{key} and message_property_mappings.{ours} say different things"
            raise RecipeError(what, where=where, fix="keep one of them")
        if (legacy or mapped) != ours:
            keys[ours] = str(legacy or mapped)
    keys |= {ours: str(entry[key]) for ours, key in FIELDS.items() if entry.get(key)}
    return {"data.message_keys": keys} | ({"own.message_property_mappings": mapping} if mapping else {})


FIELDS = {"train_flag": "message_field_training", "train_detail": "message_field_training_detail"}


def _written_message_keys(recipe: Recipe, path: str, value: Mapping[str, str]) -> table.Keys:
    mapped, flags = value, dict[str, str]()
    if path == "data.message_keys":
        mapped = {ours: value[ours] for ours in DEFAULT_MAPPING if value.get(ours, ours) != ours}
        if "reasoning" in value:
            mapped[AxolotlOptions.of(recipe).template_thinking_key or "reasoning_content"] = value["reasoning"]
        flags = {key: value[ours] for ours, key in FIELDS.items() if ours in value}
    keys: table.Keys = {("datasets", "message_property_mappings", name): key for name, key in mapped.items()}
    return keys | {("datasets", key): name for key, name in flags.items()}


def _written_columns(recipe: Recipe, path: str, value: Mapping[str, str]) -> table.Keys:
    keys: table.Keys = {("datasets", "field_messages"): value["messages"]} if value.get("messages") else {}
    if value.get("text") and AxolotlOptions.of(recipe).field is None:
        keys["datasets", "field"] = value["text"]
    return keys


def _role_map(roles: Mapping[Any, Any]) -> dict[str, str]:
    return {str(source): str(role) for role, sources in roles.items() for source in sources}


def _written_roles(recipe: Recipe, path: str, value: Mapping[str, str]) -> table.Keys:
    sources: dict[str, list[str]] = {}
    for source, role in value.items():
        sources.setdefault(role, []).append(source)
    return {("datasets", "roles"): sources}


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
        why = "Axolotl's schema refuses it"
        raise RecipeError(f"weight is `{weight}`", where=where, why=why, fix="say a share above 0 and up to 1")
    return {"own.weight": share} if share < 1 else {}


def _written_weight(recipe: Recipe, path: str, value: float | None) -> table.Keys | table.Noted:
    if value is None:
        return {}
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
    if name is None or name == TOKENIZER or entry.get("type", CHAT) != CHAT:
        return {"render.template": "tokenizer"}
    inline = jinja if name == JINJA and isinstance(jinja, str) else None
    if inline is not None and "{" not in inline:
        return {"render.template": f"file:{inline}"}
    return {"render.template": f"axolotl/{name}"} | ({} if inline is None else {"own.chat_template_jinja": inline})


def _written_template(recipe: Recipe, path: str, value: str) -> table.Keys:
    template, place = recipe.render.template, ("datasets", "chat_template")
    if path != "render.template" or template == "tokenizer":
        return {}
    kind, _, name = template.partition("/")
    if kind == "axolotl" and name != JINJA:
        return {place: name}
    inline = AxolotlOptions.of(recipe).chat_template_jinja if kind == "axolotl" else template.partition(":")[2]
    return {place: JINJA, ("datasets", "chat_template_jinja"): inline}


DATASET: tuple[table.KeyEntry, ...] = (
    *(table.same(f"datasets.{name}", f"own.{name}", null=False) for name in RECORD["own options of datasets"].split()),
    table.rule("datasets.ds_type", "own.ds_type", _ds_type, table.as_is("datasets.ds_type")),
    table.rule("datasets.weight", "own.weight", _weight, _written_weight),
    table.rule("datasets.type", "data.format", _format, _written_format),
    table.same(
        "datasets.field_messages",
        "data.fields",
        says=bool,
        convert=lambda column: {"messages": str(column)},
        write=_written_columns,
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
