"""torchtune's OmegaConf YAML: components read into recipes, and written back with the changed keys only.

Source: torchtune 0.6.1 and main (0.7), recipes/configs/**, torchtune/config/_instantiate.py, torchtune/datasets/*,
torchtune/data/_messages.py and _collate.py. `${key.sub}` stands for another value of the file. Paths are relative to
the working folder. Every key of a block but `_component_` is a keyword argument of its component; a dataset builder
hands what it does not know to `datasets.load_dataset`, and that to the configuration of the kind of file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sftui.errors import RecipeError
from sftui.model import Problem
from sftui.recipe import Recipe, changed
from sftui.recipe_io import parse_yaml
from sftui.side_files import object_of
from sftui.trainers import table
from sftui.trainers.config import DatasetRef, KeyNote, KeyUse, OpenedConfig, ReadAgain, data_files, refuse, wrong_value
from sftui.trainers.table import Draft, Form, KeyRules, KnownKeys, Remark
from sftui.trainers.torchtune import gsm8k, sentencepieces
from sftui.trainers.torchtune.messages import COLUMNS, pair_of
from sftui.trainers.torchtune.models import JINJA, MODELS
from sftui.trainers.torchtune.prompt_templates import MODEL_TEMPLATES, TEMPLATES, short_name, unknown_template
from sftui.trainers.torchtune.trainer import MASK_RULES, newest, require_newest

OWN = "torchtune/"
"""Before the name of a model whose tokenizer renders by its own code."""
_TOLD = object_of(Path(__file__).with_name("keys.json"))
BUILDER_OF: Mapping[str, str] = _TOLD["builder of format"]
"""How rows are read → the builder that reads them so."""


def _multiple(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    multiple = config.get("pad_to_multiple_of")
    if multiple is None:
        return {}
    why = "padded_collate_sft has no pad_to_multiple_of before 0.7"
    require_newest(recipe, "cannot pad to a multiple", why, where=where)
    return {"batch.multiple": multiple}


def _folder(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    """The folder of the Hugging Face files beside vocab.json, tokenizer.model or original/tokenizer.model."""
    block = config["tokenizer"]
    path = block.get("path") or block.get("tokenizer_json_path")
    if not path:
        return {}
    file = Path(str(path))
    inner = file.parent.name == "original"
    said = {"tokenizer.name": str(file.parent.parent if inner else file.parent)}
    usual = file.name == sentencepieces.FILE and not inner
    return said if usual or not _of_pieces(recipe) else {**said, "own.tokenizer_path": str(path)}


def _written_folder(recipe: Recipe, path: str, value: Any) -> table.Keys | None:
    if path == "tokenizer.name":
        return {}
    return {("tokenizer", "path"): value} if _of_pieces(recipe) else None


def _of_pieces(recipe: Recipe) -> bool:
    """Whether the recipe's tokenizer is built of a SentencePiece model."""
    return recipe.render.template.removeprefix(OWN) in sentencepieces.MODELS


def _prompt_template(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    """A null is no template; no key is the tokenizer's own, which only some have."""
    there, value = table.at(config, table.place_of("tokenizer.prompt_template"))
    usual = recipe.render.template.removeprefix(OWN) in sentencepieces.USUAL
    return {"own.prompt_template": {} if value is None else value} if there and (value is not None or usual) else {}


def _since_newest(entry: table.KeyEntry) -> table.KeyEntry:
    """An entry whose keys only 0.7 has."""
    return replace(
        entry,
        read=lambda config, recipe, where: entry.read(config, recipe, where) if newest(recipe) else {},
        write=lambda recipe, path, value: entry.write(recipe, path, value) if newest(recipe) else None,
    )


def _written_template(recipe: Recipe, path: str, value: str) -> table.Keys | str:
    return {} if value.startswith(OWN) else "it renders messages in its own code"


TOP = (
    # written always: the recipes have no default for it
    table.same("batch_size", "batch.size", says=lambda size: isinstance(size, int), write=table.needless),
    table.rule("pad_to_multiple_of", "batch.multiple", _multiple, table.needless),
    table.rule(
        "tokenizer.path tokenizer.tokenizer_json_path", "tokenizer.name own.tokenizer_path", _folder, _written_folder
    ),
    table.same("tokenizer.max_seq_len", "length.max", null=False),
    _since_newest(table.words("tokenizer.truncation_type", "length.over", {"left": "cut_left"})),
    table.rule(
        "tokenizer.prompt_template", "own.prompt_template", _prompt_template, table.as_is("tokenizer.prompt_template")
    ),
    table.same("tokenizer.special_tokens_path", "own.special_tokens_path", null=False),
    table.rule("tokenizer._component_", "render.template", table.nothing, _written_template),
    table.silent("tokenizer.transformers"),
)


def _trained(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    """What is trained; the builder's own default is said outright: a conversion to another trainer needs to know it."""
    kind = recipe.data.format
    trained = config["dataset"].get("train_on_input", kind in ("alpaca", "text"))
    if trained is None:  # a null reaches the message transform, which then goes by its masking_strategy
        trained = kind == "alpaca" and newest(recipe)
    return {"mask.rule": "all" if trained else "turn_full", "mask.turns": "all"}


def _written_rule(recipe: Recipe, path: str, value: str) -> table.Keys | None:
    """What is trained is written by `always`; all of it is nothing to gsm8k_sft."""
    known = path == "mask.turns" or (value in MASK_RULES and not (value == "all" and gsm8k.chosen(recipe)))
    return {} if known else None


def _appended(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    never = recipe.data.format == "text" and config["dataset"].get("add_eos") is False
    return {"tokenize.append_eos": "never"} if never else {}


def _written_eos(recipe: Recipe, path: str, value: str) -> table.Keys | None:
    return {("dataset", "add_eos"): False} if value == "never" and recipe.data.format == "text" else None


def _packed(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    entry = config["dataset"]
    if not entry.get("packed"):
        return {}
    split = entry.get("split_across_pack", True) and recipe.data.format == "text"
    return {"pack.strategy": "sequential", "pack.isolate": True} | ({"own.split_across_pack": True} if split else {})


def _written_packing(recipe: Recipe, path: str, value: Any) -> table.Keys | None:
    if path != "pack.strategy":
        return {}
    return {("dataset", "packed"): True} if value == "sequential" and not gsm8k.chosen(recipe) else None


def _written_system(recipe: Recipe, path: str, value: str) -> table.Keys | None:
    reads = recipe.data.format != "alpaca" and not gsm8k.chosen(recipe)
    return {("dataset", "new_system_prompt"): value} if reads else None


def _partition(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    found = config["dataset"].get("partition") if gsm8k.chosen(recipe) else None
    return {"own.partition": found} if found else {}


def _written_partition(recipe: Recipe, path: str, value: str) -> table.Keys | table.Noted:
    lost = ("own.partition has no key in torchtune's config without own.builder gsm8k_sft",)
    return {("dataset", "partition"): value} if gsm8k.chosen(recipe) else ({}, lost)


def _written_columns(recipe: Recipe, path: str, value: Mapping[str, str]) -> table.Keys:
    builder = BUILDER_OF.get(recipe.data.format) if not gsm8k.chosen(recipe) else None
    return columns(builder, value) if builder else {}


def columns(builder: str, fields: Mapping[str, str]) -> table.Keys:
    """The keys that name the dataset's columns, where they are not the builder's own; `fields` by sftui's names."""
    if builder == "chat_dataset":
        return {("dataset", "conversation_column"): fields["messages"]} if "messages" in fields else {}
    if builder == "text_completion_dataset":
        return {("dataset", "column"): fields["text"]} if fields.get("text", "text") != "text" else {}
    pair = builder == "instruct_dataset"
    given = pair_of(fields) if pair else {name: fields.get(name) for name in COLUMNS["alpaca"]}
    named = {ours: theirs for ours, theirs in given.items() if theirs}
    if all(ours == theirs for ours, theirs in named.items()):
        return {}
    return {("dataset", "column_map"): {**{ours: ours for ours in given if ours != "input"}, **named}}


DATASET = (
    table.rule("dataset.train_on_input", "mask.rule mask.turns", _trained, _written_rule),
    table.same("dataset.new_system_prompt", "render.inject_system", null=False, write=_written_system),
    table.rule("dataset.add_eos", "tokenize.append_eos", _appended, _written_eos),
    table.rule(
        "dataset.packed dataset.split_across_pack",
        "pack.strategy pack.isolate own.split_across_pack",
        _packed,
        _written_packing,
    ),
    table.rule("dataset.partition", "own.partition", _partition, _written_partition),
    table.rule(
        "dataset.conversation_column dataset.column dataset.column_map", "data.fields", table.nothing, _written_columns
    ),
    table.silent("data.format", "own.builder"),  # the builder says both
)

TOKENIZER_KEYS: frozenset[str] = frozenset(_TOLD["tokenizer"].split())
DATASET_KEYS: frozenset[str] = frozenset(_TOLD["dataset"].split())
LOADED = ("data_files", "data_dir", "name", "revision")
"""Keys that a builder hands to load_dataset and that sftui reads."""
LENGTHLESS = "ValueError: PackedDataset requires a max_seq_len to be set on the tokenizer"
UNMODELLED = "sftui does not model it"
UNREAD = "passed to load_dataset; sftui reads rows without it"
BUILDERS: Mapping[str, tuple[str, str | None, Mapping[str, str]]] = {
    "chat_dataset": ("messages", None, {}),
    "instruct_dataset": ("columns", None, {}),
    "text_completion_dataset": ("text", None, {}),
    "alpaca_dataset": ("alpaca", "tatsu-lab/alpaca", {}),
    "alpaca_cleaned_dataset": ("alpaca", "yahma/alpaca-cleaned", {}),
    "slimorca_dataset": ("sharegpt", "Open-Orca/SlimOrca-Dedup", {}),
    "samsum_dataset": ("columns", "Samsung/samsum", {"input": "dialogue", "output": "summary"}),
    "grammar_dataset": ("columns", "liweili/c4_200m", {}),
    gsm8k.NAME: ("columns", gsm8k.SOURCE, gsm8k.FIELDS),
}
NEEDED = {"columns": ("input", "output"), "alpaca": ("instruction", "output"), "sharegpt": ("conversations",)}
"""What a column_map must name (data/_messages.py), by how rows are read."""
RENAMED = {("sharegpt", "conversations"): "messages"}
"""Columns that torchtune calls otherwise than sftui."""
OTHER_RECIPES: Mapping[str, str] = _TOLD["other recipes"]
"""Keys that one other recipe reads → that recipe (torchtune 0.6.1 and main, recipes/*.py)."""
WITHOUT_DATASET = ("tasks", "prompt", "datasets", "quantizer")
"""Those that tell another recipe only where there is no `dataset`."""
OTHER_DATA: Mapping[str, str] = _TOLD["other data"]


TABLE = (*TOP, *DATASET)
COLLATORS = ("padded_collate_sft", "padded_collate_packed")
RULES = KeyRules(
    ("batch_size", "pad_to_multiple_of", "collate_fn"),
    (Remark("collate_fn", "a collator other than padded_collate_sft", lambda name: not str(name).endswith(COLLATORS)),),
    passed=("packed",),  # stands at the top in some configs and is referred to from the dataset
    unread="has no recipe that reads it",
)


def read(path: str, text: str, preset: Recipe, known: KnownKeys) -> OpenedConfig:
    """The components of a torchtune config as recipes; RecipeError for what torchtune or sftui cannot do."""
    config = {str(key): value for key, value in parse_yaml(text, path, "omegaconf").items()}
    config = {key: table.resolved(value, config, path) for key, value in config.items()}
    entries = config.get("dataset")
    listed = entries if isinstance(entries, list) else [entries]
    refuse(_unsupervised(config, listed), path)
    notes: list[KeyNote] = []
    recipe = table.read_into(_tokenizer(preset, config.get("tokenizer"), notes, path, known), TOP, config, path)
    for key, value in config.items():
        if key not in ("tokenizer", "dataset"):
            other = key.startswith(("lora_", "val_", "profile_")) or f"${{{key}" in text
            notes.append(RULES.note(key, value, known, (key,) if other else known.config))
    if not entries or not all(isinstance(entry, Mapping) for entry in listed):
        raise RecipeError("the config names no dataset", where=path, fix="add a dataset block with a _component_")
    references = tuple(
        _dataset(entry, recipe, notes, "dataset" if len(listed) == 1 else f"dataset.{i}", path, known)
        for i, entry in enumerate(listed)
    )
    return OpenedConfig(preset.trainer, path, text, references, tuple(notes), config=config)


def evaluation(opened: OpenedConfig, read_again: ReadAgain) -> OpenedConfig | None:
    """`dataset_val`, a component of its own with its own `packed` and masks (torchtune 0.7, recipes
    full_finetune_distributed.py _setup_data)."""
    config = opened.config
    if not config.get("dataset_val"):
        return None
    rest = {key: value for key, value in config.items() if key != "dataset_val"}
    return read_again({**rest, "dataset": config["dataset_val"]})


def _unsupervised(config: Mapping[str, Any], entries: Sequence[Any]) -> Iterator[Problem]:
    """Why a config is of another recipe than fine-tuning, by what only that recipe reads."""
    for key, what in OTHER_RECIPES.items():
        if key in config and (key not in WITHOUT_DATASET or "dataset" not in config):
            fix = "open a config for a fine-tuning recipe"
            yield Problem(f"this is a config for torchtune's {what}", f"only that recipe reads `{key}`", fix)
    if "dataset" not in config:
        why, fix = "torchtune's fine-tuning recipes read cfg.dataset", "add a dataset block with a _component_"
        yield Problem("the config names no dataset", why, fix)
    for entry in entries:
        component = short_name(entry.get("_component_") if isinstance(entry, Mapping) else "")
        if component in OTHER_DATA:
            what = f"`{component}` is not supervised fine-tuning on text"
            yield Problem(what, OTHER_DATA[component], "open another")


def _tokenizer(recipe: Recipe, block: Any, notes: list[KeyNote], path: str, known: KnownKeys) -> Recipe:
    if not isinstance(block, Mapping) or not block.get("_component_"):
        raise RecipeError(
            "the config has no tokenizer component", where=path, fix="add a tokenizer block with a _component_"
        )
    component = str(block["_component_"]).rpartition(".")[2]
    model = component.removesuffix("_tokenizer").removesuffix("_transform")
    model = JINJA if model == "HuggingFaceModelTokenizer" else model
    recipe = changed(recipe, "render.template", f"torchtune/{model}")
    wrong = _refused_keys(block, "tokenizer", known)
    for key, value in block.items():
        note = "" if key in TOKENIZER_KEYS else UNMODELLED
        if key == "_component_" and model not in MODELS:
            note = f"sftui models the tokenizers {', '.join(MODELS)}"
        notes.append(wrong.pop(key) if key in wrong else _note(f"tokenizer.{key}", value, note))
    notes += wrong.values()
    template = block.get("prompt_template")
    choices = (*TEMPLATES, *(MODEL_TEMPLATES if model in sentencepieces.MODELS else ()))
    if isinstance(template, str) and template.startswith(ROOT) and short_name(template) not in choices:
        raise unknown_template(template, choices, path)
    return recipe


def _note(path: str, value: Any, why: str) -> KeyNote:
    """The note of a key that is used, or not, and why."""
    return KeyNote(path, value, KeyUse.UNSUPPORTED if why else KeyUse.USED, why)


def _dataset(
    entry: Mapping[str, Any], recipe: Recipe, notes: list[KeyNote], where: str, path: str, known: KnownKeys
) -> DatasetRef:
    component = str(entry.get("_component_") or "").rpartition(".")[2]
    takes = known.components.get(str(entry.get("_component_")))
    if component not in BUILDERS or takes is None:
        named = f"`{entry.get('_component_')}`" if entry.get("_component_") else "without _component_"
        raise RecipeError(
            f"sftui does not model torchtune's dataset {named}", where=path, fix=f"use one of {', '.join(BUILDERS)}"
        )
    kind, source, columns = BUILDERS[component]
    wrong = _refused_keys(entry, where, known)
    error = gsm8k.wrong_partition(entry.get("partition")) if component == gsm8k.NAME else None
    if error is not None:
        wrong["partition"] = known.stops(f"{where}.partition", entry["partition"], error)
    for key, value in entry.items():
        modelled = key in DATASET_KEYS or (key in LOADED and (key not in takes.takes or component == gsm8k.NAME))
        note = "" if modelled else UNMODELLED if key in takes.takes else UNREAD
        if key == "packed" and value and key not in wrong and recipe.length.max is None:
            notes.append(known.stops(f"{where}.{key}", value, LENGTHLESS))
        else:
            notes.append(wrong.get(key) or _note(f"{where}.{key}", value, note))
    notes += (note for key, note in wrong.items() if key not in entry)
    entry = {key: value for key, value in entry.items() if key not in wrong}
    for key in ("source", "split"):  # a null is no default: load_dataset(None) raises, and no split gives no rows
        value = entry.get(key, "train")
        if not isinstance(value, str) or not value:
            raise wrong_value(f"{where}.{key}", value, "its name as text", path)
    if component == "chat_dataset":
        style = entry.get("conversation_style")
        if style not in ("openai", "sharegpt") or not entry.get("conversation_column"):
            what = "chat_dataset needs conversation_column, and conversation_style openai or sharegpt"
            raise RecipeError(what, where=path)
        kind = "messages" if style == "openai" else "sharegpt"
        columns = {"messages": str(entry["conversation_column"])}
    elif component == gsm8k.NAME:
        entry = {"name": gsm8k.SUBSET, **entry}
        recipe = changed(recipe, "own.builder", gsm8k.NAME)
    elif kind == "text":
        columns = {"text": str(entry.get("column") or "text")}
    else:
        renamed = entry.get("column_map") or {}
        if not isinstance(renamed, Mapping):
            raise wrong_value("column_map", renamed, "a mapping of names to columns", path)
        for name in NEEDED.get(kind, ()) if renamed else ():
            if name not in renamed:
                why = f"torchtune stops: Expected a key of '{name}' in column_map"
                raise RecipeError(f"column_map names no `{name}`", where=path, why=why, fix="name all of the columns")
        renamed = {RENAMED.get((kind, str(ours)), str(ours)): theirs for ours, theirs in renamed.items()}
        columns = {**COLUMNS[kind], **columns, **renamed}
    recipe = changed(changed(recipe, "data.format", kind), "data.fields", columns)
    recipe = table.read_into(recipe, DATASET, {"dataset": entry}, path)
    return _reference(entry, recipe, str(entry.get("source") or source or ""), path)


def _reference(entry: Mapping[str, Any], recipe: Recipe, source: str, path: str) -> DatasetRef:
    if not source:
        raise RecipeError("the dataset has no source", where=path)
    split = str(entry.get("split") or "train")
    if entry.get("data_files"):
        paths = data_files(entry, source, path)
        return DatasetRef(", ".join(paths), paths, recipe, None if split == "train" else split)
    subset, revision = (str(entry[key]) if entry.get(key) else None for key in ("name", "revision"))
    return DatasetRef(source, (source,), recipe, split, subset, revision)


def _rows(draft: Draft) -> table.Keys:
    recipe, facts = draft.recipe, draft.facts
    kind = recipe.data.format if recipe.data.format in COLUMNS else facts.format or "messages"
    builder = BUILDER_OF.get(kind, "chat_dataset")
    model = recipe.render.template.partition("/")[2] or (
        "llama3" if "<|start_header_id|>" in str(facts.chat_template) else "qwen2_5"
    )
    folder = facts.tokenizer or recipe.tokenizer.name or "TOKENIZER_FOLDER"
    component = f"torchtune.models.{model}.{model}_tokenizer"
    if model == JINJA:
        component = "torchtune.modules.transforms.tokenizers.HuggingFaceModelTokenizer"
        files = {"tokenizer_json_path": "tokenizer.json", "tokenizer_config_json_path": "tokenizer_config.json"}
    elif model in sentencepieces.MODELS:
        component = sentencepieces.PHI3_COMPONENT if model == sentencepieces.PHI3 else component
        files = {"path": sentencepieces.FILE}
    elif model == "llama3":
        files = {"path": "original/tokenizer.model"}
    else:
        files = {"path": "vocab.json", "merges_file": "merges.txt"}
    base: table.Keys = {("tokenizer", "_component_"): component}
    base |= {("tokenizer", key): f"{folder}/{file}" for key, file in files.items()}
    reasons = gsm8k.chosen(recipe)
    base["dataset", "_component_"] = gsm8k.COMPONENT if reasons else f"torchtune.datasets.{builder}"
    base["dataset", "source"] = facts.loader or facts.data or "DATASET"
    if facts.loader:
        base["dataset", "data_files"] = facts.data
    if builder == "chat_dataset":
        base["dataset", "conversation_column"] = COLUMNS.get(kind, COLUMNS["messages"])["messages"]
        base["dataset", "conversation_style"] = "sharegpt" if kind == "sharegpt" else "openai"
    base["dataset", "split"] = facts.split or "train"
    if not reasons:
        base.update(columns(builder, {**facts.fields, **recipe.data.fields}))
    draft.keys.pop(("dataset", "column_map"), None)
    return base


def _changes(draft: Draft, opened: OpenedConfig, changes: table.Keys) -> table.Keys:
    if not isinstance(parse_yaml(opened.text, opened.path, "omegaconf").get("dataset"), list):
        return changes
    return {("dataset", 0, *key[1:]) if key[0] == "dataset" else key: value for key, value in changes.items()}


def _corrected(recipe: Recipe, keys: table.Keys, losses: list[str]) -> table.Keys:
    """With what is trained, which is always said, as is the size of a batch."""
    mask, reasons = recipe.mask, gsm8k.chosen(recipe)
    if mask.turns == "last" and mask.rule in ("auto", "all"):
        losses.append(f"mask.turns = 'last' has no effect under mask.rule {mask.rule}: set mask.rule to turn_full")
    if recipe.pack.isolate and recipe.pack.strategy != "sequential":
        losses.append("pack.isolate = True has no effect without pack.strategy sequential, which always isolates")
    if mask.rule in ("all", "turn_full", "assistant") and recipe.data.format != "text" and not reasons:
        # text has no such key: all is trained
        if mask.turns == "last" and mask.rule != "all":
            losses.append(
                "mask.turns = 'last' has no key in torchtune's config, which trains every answer: masking_strategy is"
                " an argument of the message transforms of 0.7, which no dataset builder passes on"
            )
        keys["dataset", "train_on_input"] = mask.rule == "all"
    return {("batch_size",): recipe.batch.size, **keys}


FORM = Form("torchtune", "torchtune.yaml", TABLE, _rows, corrected=_corrected, changes=_changes)
write, keys_of = FORM.write, FORM.keys_of


ROOT = "torchtune."


def _refused_keys(block: Mapping[str, Any], where: str, known: KnownKeys) -> dict[str, KeyNote]:
    """The keys of a block at which torchtune raises, each with what it raises, and those that are missing."""
    name = str(block.get("_component_"))
    component = known.components.get(name)
    home, _, short = name.rpartition(".")
    if component is None:  # and the record holds every builder of its module
        if not name.startswith(ROOT) or not any(path.rpartition(".")[0] == home for path in known.components):
            return {}
        note = known.stops(f"{where}._component_", name, f"InstantiationError: {home} has no attribute `{short}`")
        return {"_component_": note}
    found = {
        key: known.stops(f"{where}.{key}", None, f"TypeError: {short}() missing the required argument `{key}`")
        for key in sorted(component.required)
        if key not in block
    }
    for key, value in block.items():
        if key == "_component_" or key in component.takes:
            continue
        error = _at_load(key, block, known) if component.rest else f"{short}() got an unexpected keyword argument"
        if error:
            found[key] = known.stops(f"{where}.{key}", value, f"TypeError: {error} `{key}`")
    return found


def _at_load(key: str, block: Mapping[str, Any], known: KnownKeys) -> str | None:
    """What load_dataset says of a keyword; a set on the Hub may be of any kind of file."""
    source = str(block.get("source"))
    kind = source if source in known.load_dataset else "any"
    if not known.load_dataset or key in known.load_dataset[kind] or key == "trust_remote_code":
        return None
    return f"load_dataset of {source if kind != 'any' else 'any file'} got an unexpected keyword argument"
