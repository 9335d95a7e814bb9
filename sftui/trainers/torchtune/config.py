"""torchtune's OmegaConf YAML: components read into recipes, and written back with the changed keys only.

Source: torchtune 0.6.1, recipes/configs/**, torchtune/config/_instantiate.py, torchtune/datasets/*; 0.7.0. `${key.sub}`
stands for another value of the file. Paths are relative to the working folder. Every key of a block but `_component_`
is a keyword argument of its component; a dataset builder hands what it does not know to `datasets.load_dataset`, and
that to the configuration of the kind of file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sftui.errors import RecipeError
from sftui.recipe import Recipe, changed
from sftui.recipe_io import parse_yaml
from sftui.side_files import object_of
from sftui.trainers.config import LOADERS, DatasetRef, KeyNote, KeyUse, OpenedConfig, data_files, wrong_value
from sftui.trainers.form import Draft, Form
from sftui.trainers.known import KeyRules, KnownKeys, Remark
from sftui.trainers.table import Keys, read_into, resolved
from sftui.trainers.torchtune import gsm8k, sentencepieces
from sftui.trainers.torchtune.messages import COLUMNS
from sftui.trainers.torchtune.models import JINJA, MODELS
from sftui.trainers.torchtune.prompt_templates import MODEL_TEMPLATES, TEMPLATES, short_name, unknown_template
from sftui.trainers.torchtune.table import BUILDER_OF, DATASET, TOP
from sftui.trainers.torchtune.table import columns as columns_of

_TOLD = object_of(Path(__file__).with_name("keys.json"))
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
    (Remark("collate_fn", "another collator than padded_collate_sft", lambda name: not str(name).endswith(COLLATORS)),),
    passed=("packed",),  # stands at the top in some configs and is referred to from the dataset
    unread="has no recipe that reads it",
)


def read(path: str, text: str, preset: Recipe, known: KnownKeys) -> OpenedConfig:
    """The components of a torchtune config as recipes; RecipeError for what torchtune or sftui cannot do."""
    config = {str(key): value for key, value in parse_yaml(text, path, "omegaconf").items()}
    config = {key: resolved(value, config, path) for key, value in config.items()}
    entries = config.get("dataset")
    listed = entries if isinstance(entries, list) else [entries]
    _supervised(config, listed, path)
    notes: list[KeyNote] = []
    recipe = read_into(_tokenizer(preset, config.get("tokenizer"), notes, path, known), TOP, config, path)
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


def _supervised(config: Mapping[str, Any], entries: Sequence[Any], path: str) -> None:
    """RecipeError for a config of another recipe than fine-tuning, by what only that recipe reads."""
    for key, what in OTHER_RECIPES.items():
        if key in config and (key not in WITHOUT_DATASET or "dataset" not in config):
            raise RecipeError(
                f"this is a config of torchtune's {what}",
                where=path,
                why=f"only that reads `{key}`",
                fix="open a config of a fine-tuning recipe",
            )
    if "dataset" not in config:
        raise RecipeError(
            "the config names no dataset",
            where=path,
            why="torchtune's fine-tuning recipes read cfg.dataset",
            fix="add a dataset block with a _component_",
        )
    for entry in entries:
        component = short_name(entry.get("_component_") if isinstance(entry, Mapping) else "")
        if component in OTHER_DATA:
            what = f"`{component}` is not supervised fine-tuning on text"
            raise RecipeError(what, where=path, why=OTHER_DATA[component], fix="open another")


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
            f"sftui does not model torchtune's dataset {named}", where=path, fix=f"it knows {', '.join(BUILDERS)}"
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
                raise RecipeError(
                    f"column_map names no `{name}`",
                    where=path,
                    why=f"torchtune stops: Expected a key of '{name}' in column_map",
                    fix="name all of the columns",
                )
        renamed = {RENAMED.get((kind, str(ours)), str(ours)): theirs for ours, theirs in renamed.items()}
        columns = {**COLUMNS[kind], **columns, **renamed}
    recipe = changed(changed(recipe, "data.format", kind), "data.fields", columns)
    recipe = read_into(recipe, DATASET, {"dataset": entry}, path)
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


def _rows(draft: Draft) -> Keys:
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
    base: Keys = {("tokenizer", "_component_"): component}
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
        base.update(columns_of(builder, {**facts.fields, **recipe.data.fields}))
    draft.keys.pop(("dataset", "column_map"), None)
    return base


def _changes(draft: Draft, opened: OpenedConfig, changes: Keys) -> Keys:
    if not isinstance(parse_yaml(opened.text, opened.path, "omegaconf").get("dataset"), list):
        return changes
    return {("dataset", 0, *key[1:]) if key[0] == "dataset" else key: value for key, value in changes.items()}


def _corrected(recipe: Recipe, keys: Keys, losses: list[str]) -> Keys:
    """With what is trained, which is always said, as is the size of a batch."""
    mask, reasons = recipe.mask, gsm8k.chosen(recipe)
    if mask.turns == "last" and mask.rule in ("auto", "all"):
        losses.append(f"mask.turns = 'last' does nothing under mask.rule {mask.rule}: set that to turn_full")
    if recipe.pack.isolate and recipe.pack.strategy != "sequential":
        losses.append("pack.isolate = True does nothing without pack.strategy sequential, which always does it")
    if mask.rule in ("all", "turn_full", "assistant") and recipe.data.format != "text" and not reasons:
        # text has no such key: all is trained
        if mask.turns == "last" and mask.rule != "all":
            losses.append(
                "mask.turns = 'last' has no key in torchtune's config, which trains every answer: masking_strategy is"
                " an argument of the message transforms of 0.7, which no dataset builder hands on"
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
    kind = source if source in LOADERS else "any"
    if not known.load_dataset or key in known.load_dataset[kind] or key == "trust_remote_code":
        return None
    return f"load_dataset of {source if kind != 'any' else 'any file'} got an unexpected keyword argument"
