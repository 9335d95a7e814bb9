"""NeMo Automodel's YAML recipes (`automodel FILE`): read into recipes, and written back with the changed keys only.

Source: nemo-automodel 0.7.0, components/config/loader.py (ConfigNode, translate_value, resolve_yaml_env_vars),
components/config/_arg_parser.py, recipes/_typed_config.py (RecipeConfig.dataloader), components/datasets/loader.py
(make_dataset_config) and the config classes of components/datasets/llm. Keys that nothing reads are taken without a
word but for those of datasets, packing and the dataloader, which stop the run. Words of a command line win over the
file: `--dataset.seq_length 512`. Paths are relative to the working folder.
"""

from __future__ import annotations

import ast
import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sftui.errors import RecipeError
from sftui.model import Problem
from sftui.recipe import Recipe, changed
from sftui.recipe_io import parse_yaml
from sftui.side_files import object_of
from sftui.trainers import table
from sftui.trainers.config import DatasetRef, KeyNote, KeyUse, OpenedConfig, ReadAgain, refuse, text_at, wrong_value
from sftui.trainers.nemo_automodel import NemoOptions
from sftui.trainers.nemo_automodel.formats import GUESSES, MAPPED
from sftui.trainers.table import Draft, Form, KeyRules, KnownKeys, Remark, anything
from sftui.trainers.yaml_edit import REMOVE

TITLE = "NeMo Automodel"
DATASETS = "nemo_automodel.components.datasets"
LLM = f"{DATASETS}.llm"
TARGETS = {
    "chat": f"{LLM}.chat_dataset.ChatDataset",
    "agent": f"{LLM}.agent_chat.make_agent_chat_dataset",
    "columns": f"{LLM}.column_mapped_text_instruction_dataset.ColumnMappedTextInstructionDataset",
    "squad": f"{LLM}.squad.make_squad_dataset",
    "xlam": f"{LLM}.xlam.make_xlam_dataset",
}
"""own.dataset → its `_target_`."""
ROWS_KEY = {"chat": "path_or_dataset_id", "columns": "path_or_dataset_id"}
"""own.dataset → the key that names its rows; `dataset_name` of the others, but an agent's `path`."""
COLLATER = f"{DATASETS}.utils.default_collater"
THD = f"{DATASETS}.utils.packed_sequence_thd_collater"
NEMO_TOKENIZER = "nemo_automodel.NeMoAutoTokenizer.from_pretrained"
HF_TOKENIZER = "transformers.AutoTokenizer.from_pretrained"
STRATEGIES = {"thd": "sequential", "neat": "neat"}
OFF = (False, None, "do_not_truncate")
"""Values of `truncation` that cut nothing."""
CUTS = (True, "longest_first", "only_first")
LIMIT = "dataset.limit_dataset_samples"


def entry(config: table.Config) -> Mapping[str, Any]:
    """The `dataset` block."""
    found = config.get("dataset")
    return found if isinstance(found, Mapping) else {}


def _length(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    """seq_length cuts with truncation alone; without, an agent's truncate_history goes by it, and padding."""
    block = entry(config)
    size, cut = block.get("seq_length"), block.get("truncation", False)
    if size is not None and (not isinstance(size, int) or isinstance(size, bool)):
        raise table.odd_value("dataset.seq_length", size, where, fix="use an integer")
    if cut not in OFF and cut not in CUTS:
        why = "transformers does not truncate single texts that way"
        raise table.odd_value("dataset.truncation", cut, where, why, "use true")
    if size is None:
        return {}
    filled = {"batch.pad_to": "max"} if block.get("padding") == "max_length" else {}
    return {"own.seq_length" if cut in OFF else "length.max": size, **filled}


def _written_length(recipe: Recipe, path: str, value: Any) -> table.Keys | None:
    if path == "length.max":
        return {("dataset", "seq_length"): value, ("dataset", "truncation"): True}
    if path == "own.seq_length":
        return {("dataset", "seq_length"): value} if recipe.length.max is None else None
    if value == "max" and (recipe.length.max or NemoOptions.of(recipe).seq_length) is not None:
        return {("dataset", "padding"): "max_length"}
    return None


def _of(made: table.KeyEntry, *datasets: str) -> table.KeyEntry:
    """A key of some datasets alone."""
    (knob,) = made.knobs

    def read(config: table.Config, recipe: Recipe, where: str) -> table.Said:
        return made.read(config, recipe, where) if NemoOptions.of(recipe).dataset in datasets else {}

    def write(recipe: Recipe, path: str, value: Any) -> table.Keys | table.Noted | str | None:
        dataset = NemoOptions.of(recipe).dataset
        if dataset in datasets:
            return made.write(recipe, path, value)
        lost = f"{knob} has no key with own.dataset {dataset}, but {datasets[0]} has one"
        return ({}, (lost,)) if knob.startswith("own.") else None

    return replace(made, read=read, write=write)


def _option(name: str, *datasets: str) -> table.KeyEntry:
    """An own option that is true or false, and a key of some datasets by the same name."""
    return _of(table.same(f"dataset.{name}", f"own.{name}", convert=bool, says=bool), *datasets)


def _written_rule(recipe: Recipe, path: str, value: str) -> table.Keys | None:
    return {("dataset", "answer_only_loss_mask"): False} if value == "all" else None


def _template(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    """A template by itself, or the name of a file that holds one (_resolve_chat_template).

    Of a file that is not there NeMo Automodel takes the name itself for the template: sftui says that it is missing.
    """
    value = entry(config).get("chat_template")
    if value is None or NemoOptions.of(recipe).dataset not in ("chat", "agent", "squad"):
        return {}
    text = str(value)
    if "{%" not in text and "{{" not in text and (os.path.exists(text) or text.endswith((".jinja", ".json"))):
        return {"render.template": f"file:{text}"}
    return {"render.template": "nemo-automodel/inline", "own.chat_template": text}


def _written_template(recipe: Recipe, path: str, value: str | None) -> table.Noted | None:
    if path == "own.chat_template":
        return {}, ()
    own, (kind, _, name) = NemoOptions.of(recipe), recipe.render.template.partition(":")
    if own.dataset not in ("chat", "agent", "squad"):
        why = "put the template into the model's folder, as chat_template.jinja"
        return {}, (f"render.template = {value!r} has no key with own.dataset {own.dataset}: {why}",)
    inline = own.chat_template if kind.startswith("nemo-automodel/") else None
    return {("dataset", "chat_template"): name if kind == "file" else inline or value}, ()


def _columns(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    mapping: Any = entry(config).get("column_mapping")
    if NemoOptions.of(recipe).dataset != "columns":
        return {}
    names = set(mapping) if isinstance(mapping, Mapping) else set()
    if "answer" not in names or not names <= set(MAPPED) or len(names) < 2:
        why = "NeMo Automodel stops: it needs an answer, with a question, a context or both"
        fix = "write {question: COLUMN, answer: COLUMN}"
        raise table.odd_value("dataset.column_mapping", mapping, where, why, fix)
    return {"data.fields": {ours: str(mapping[ours]) for ours in MAPPED if ours in names}}


def _written_columns(recipe: Recipe, path: str, value: Mapping[str, str]) -> table.Noted:
    named = {ours: column for ours, column in value.items() if ours in MAPPED}
    if NemoOptions.of(recipe).dataset == "columns" and len(named) == len(value):
        return {("dataset", "column_mapping"): named}, ()
    usual = {"tools": "tools", "messages": "messages"}
    lost = {ours: column for ours, column in value.items() if usual.get(ours) != column and ours not in named}
    return {("dataset", "column_mapping"): named} if named else {}, tuple(
        f"data.fields {ours} = {column!r} has no key in {TITLE}'s config: its datasets read columns by fixed names"
        for ours, column in lost.items()
    )


def _tokenizer(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    block, key = entry(config).get("tokenizer"), ("pretrained_model_name_or_path",)
    inner = table.at(config, ("model", "config"))[1]
    named = table.at(config, ("model", *key))[1] or (table.at(inner, key)[1] if isinstance(inner, Mapping) else inner)
    own = table.at(block, key)[1]
    named = own if isinstance(own, str) else named
    said: dict[str, Any] = {"tokenizer.name": named} if isinstance(named, str) else {}
    if not isinstance(block, Mapping):
        return said
    transformers = str(block.get("_target_", "")).startswith("transformers.")
    if transformers or block.get("force_hf") or block.get("tokenizer_backend") == "transformers_auto":
        said["own.tokenizer_backend"] = "transformers_auto"
    elif block.get("force_default") or block.get("tokenizer_backend") == "nemo_wrapped_auto":
        said["own.tokenizer_backend"] = "nemo_wrapped_auto"
    return said


def _written_tokenizer(recipe: Recipe, path: str, value: Any) -> table.Keys:
    if path == "tokenizer.name":
        return {("model", "pretrained_model_name_or_path"): value}
    return {
        ("dataset", "tokenizer", "pretrained_model_name_or_path"): recipe.tokenizer.name or "MODEL",
        ("dataset", "tokenizer", "tokenizer_backend"): value,
    }


def _batch(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    sizes = (
        table.at(config, place)[1] for place in (("dataloader", "batch_size"), ("step_scheduler", "local_batch_size"))
    )
    size = next((size for size in sizes if size is not None), None)
    return {"batch.size": size} if isinstance(size, int) and not isinstance(size, bool) else {}


def _collater(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    given = table.at(config, ("dataloader", "collate_fn"))[1]
    if _target(given).endswith("packed_sequence_thd_collater"):
        return {"batch.attention": "none"}
    multiple = table.at(given, ("pad_seq_len_divisible",))[1]
    return {"batch.multiple": multiple} if multiple else {}


def _written_collater(recipe: Recipe, path: str, value: Any) -> table.Keys | None:
    if path == "batch.attention":
        return {("dataloader", "collate_fn"): THD} if value == "none" and recipe.batch.multiple is None else None
    if recipe.batch.attention == "none":
        return None
    return {("dataloader", "collate_fn"): {"_target_": COLLATER, "pad_seq_len_divisible": value}}


def _packed(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    block = config.get("packed_sequence")
    if not isinstance(block, Mapping):
        return {}
    size = block.get("packed_sequence_size", 0)
    name = block.get("packing_strategy", "thd")
    if not isinstance(size, int) or size <= 0 or not name:
        return {}
    if str(name) not in STRATEGIES:
        key = "packed_sequence.packing_strategy"
        raise table.odd_value(key, name, where, "sftui supports thd and neat", "use one of them")
    said = {f"own.{key}": block[key] for key in ("pad_to_multiple_of", "max_packs") if block.get(key) is not None}
    if size % said.get("own.pad_to_multiple_of", 1):
        what = f"packed_sequence_size {size} is not a multiple of pad_to_multiple_of"
        why = "NeMo Automodel stops (ValueError: packed_sequence_size must be divisible by pad_to_multiple_of)"
        raise RecipeError(what, where=where, why=why, fix="use a multiple of it")
    return {"pack.strategy": STRATEGIES[name], "pack.isolate": True, "own.packed_sequence_size": size, **said}


def _written_packing(recipe: Recipe, path: str, value: Any) -> table.Keys | table.Noted | None:
    strategy, size = recipe.pack.strategy, NemoOptions.of(recipe).packed_sequence_size
    name = next((theirs for theirs, ours in STRATEGIES.items() if ours == strategy), None)
    if path == "pack.strategy":
        if name is None:
            return None
        keys: table.Keys = {("packed_sequence", "packing_strategy"): name}
        size = size or recipe.length.max
        return keys if size is None else {("packed_sequence", "packed_sequence_size"): size, **keys}
    if name is None:
        return {}, (f"{path} = {value!r} has no effect without pack.strategy",)
    key = path.removeprefix("own.")
    return {("packed_sequence", key): value} if key in ("pad_to_multiple_of", "max_packs") else {}


def _limit(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    """A split that is a slice has none beside it."""
    block = entry(config)
    most = block.get("limit_dataset_samples")
    return {"own.limit_dataset_samples": most} if most is not None and "[" not in str(block.get("split")) else {}


TABLE = (
    table.rule(
        "model.pretrained_model_name_or_path dataset.tokenizer.pretrained_model_name_or_path"
        " dataset.tokenizer.tokenizer_backend",
        "tokenizer.name own.tokenizer_backend",
        _tokenizer,
        _written_tokenizer,
    ),
    table.rule("step_scheduler.local_batch_size", "batch.size", _batch, table.as_is("step_scheduler.local_batch_size")),
    table.rule(
        "dataset.seq_length dataset.truncation dataset.padding",
        "length.max own.seq_length batch.pad_to",
        _length,
        _written_length,
    ),
    _of(table.flag("dataset.mask_history", "mask.turns", "last"), "chat"),
    _of(table.flag("dataset.train_on_last_turn_only", "mask.turns", "last"), "agent"),
    _of(
        table.keyed(
            "dataset.answer_only_loss_mask",
            "mask.rule",
            lambda value, where: table.NOTHING if value else "all",
            _written_rule,
        ),
        "columns",
    ),
    _option("mask_reasoning_content", "chat", "agent"),
    _option("mask_generation_prompt", "chat", "agent"),
    _option("use_hf_chat_template", "columns"),
    _option("skip_invalid_samples", "chat"),
    table.rule(LIMIT, "own.limit_dataset_samples", _limit, table.as_is(LIMIT)),
    *(
        _option(name, "agent")
        for name in (
            "drop_history_reasoning_content",
            "truncate_history",
            "trim_incomplete_last_turn",
            "filter_no_assistant",
        )
    ),
    table.rule("dataset.chat_template", "render.template own.chat_template", _template, _written_template),
    table.rule("dataset.column_mapping", "data.fields", _columns, _written_columns),
    table.keyless("data.format", "own.dataset determines how rows are read"),
    table.rule("dataset._target_", "own.dataset", table.nothing, table.needless),
    table.rule("dataloader.collate_fn", "batch.multiple batch.attention", _collater, _written_collater),
    table.rule(
        "packed_sequence.packing_strategy packed_sequence.packed_sequence_size packed_sequence.pad_to_multiple_of"
        " packed_sequence.max_packs",
        "pack.strategy pack.isolate own.packed_sequence_size own.pad_to_multiple_of own.max_packs",
        _packed,
        _written_packing,
    ),
    table.silent("tokenizer.transformers"),
)


RECIPE = "TrainFinetuneRecipeForNextTokenPrediction"
FINETUNES = (RECIPE, "KnowledgeDistillationRecipeForNextTokenPrediction")
"""Recipes that train on a dataset of these (cli/utils.py: by their last name)."""
_TOLD = object_of(Path(__file__).with_name("keys.json"))
NAMES: Mapping[str, str] = _TOLD["names"]
"""The last name of a dataset's `_target_` → own.dataset."""
REFUSED: Mapping[str, str] = _TOLD["refused"]
"""Datasets of NeMo Automodel that sftui does not show, and why."""
NOTHING: Mapping[str, str] = _TOLD["nothing"]
"""Keys of a dataset that change no row."""
IDLE: Mapping[str, str] = _TOLD["idle"]
"""Keys of a dataset that have no effect even where they are set."""
UNSUPPORTED: Mapping[str, str] = _TOLD["unsupported"]
LOADERS = frozenset({"dataset", "dataloader", "packed_sequence", "step_scheduler"})
LOADS = ("NeMoAutoTokenizer.from_pretrained", HF_TOKENIZER)
"""What loads a tokenizer as the rules have it."""
DATALOADERS = ("torch.utils.data.DataLoader", "torchdata.stateful_dataloader.StatefulDataLoader")
"""The `_target_`s that `dataloader` takes; its own class stands for either."""
PACKED = ("packed_sequence_size", "packing_strategy", "pad_to_multiple_of", "max_packs")
"""Keys of `packed_sequence` that are knobs."""
RULES = KeyRules(("model",))


def _target(value: Any) -> str:
    """What a block, or a word in its place, names."""
    return str(value.get("_target_") if isinstance(value, Mapping) else value)


def _other_collator(value: Any) -> bool:
    named = _target(value)
    return not (named.endswith((".default_collater", ".packed_sequence_thd_collater")) or named == "default")


ORDER = ("shuffle", "group_by_length", "shuffle_buffer_size")
LOADER_RULES = {
    "step_scheduler": KeyRules(("local_batch_size",)),
    "packed_sequence": KeyRules(PACKED, (Remark("prepacked", "sftui packs without it"),)),
    "dataloader": KeyRules(
        ("batch_size", "collate_fn"),
        (
            Remark("collate_fn", "a collator other than default_collater", _other_collator),
            *(Remark(key, "changes only the order of rows", anything, KeyUse.PASSED) for key in ORDER),
        ),
    ),
}
STRANGE = {"packed_sequence": "got unexpected packing", "dataloader": "Unexpected dataloader"}
"""What NeMo Automodel says of a key that a block's class does not take."""
KNOWN_WORDS = {"none": None, "None": None, "true": True, "True": True, "false": False, "False": False}


def read(path: str, text: str, preset: Recipe, known: KnownKeys) -> OpenedConfig:
    """The config as a recipe; RecipeError where NeMo Automodel stops, or for a dataset that sftui does not know."""
    config = {str(key): _translated(value) for key, value in parse_yaml(text, path, "pyyaml").items()}
    refuse(_unsupervised(config), path)
    block = entry(config)
    kind = _kind(block, path)
    refuse(_variables(block), path)
    recipe = changed(preset, "own.dataset", kind)
    notes = [note for key, value in config.items() for note in _notes(key, value, kind, known)]
    recipe = table.read_into(recipe, TABLE, config, path)
    reference = _reference(block, kind, recipe, path)
    return OpenedConfig(preset.trainer, path, text, (reference,), tuple(notes), config=config)


def evaluation(opened: OpenedConfig, read_again: ReadAgain) -> OpenedConfig | None:
    """`validation_dataset`, a dataset of its own that is not packed but for models whose attention (te, magi) asks for
    it, under the collater of `validation_dataloader` (NeMo Automodel 0.7.0, recipes/llm/train_ft.py
    _should_pack_validation)."""
    config = opened.config
    if not isinstance(config.get("validation_dataset"), Mapping):
        return None
    left = ("validation_dataset", "validation_dataloader", "packed_sequence", "dataloader")
    rest = {key: value for key, value in config.items() if key not in left}
    loader = {"dataloader": config["validation_dataloader"]} if config.get("validation_dataloader") else {}
    return read_again({**rest, **loader, "dataset": config["validation_dataset"]})


def _translated(value: Any) -> Any:
    """A value with its texts read as Python's literals (translate_value)."""
    if isinstance(value, Mapping):
        return {str(key): _translated(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_translated(one) for one in value]
    if not isinstance(value, str) or len(value) > 1000:
        return value
    if value in KNOWN_WORDS:
        return KNOWN_WORDS[value]
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return value


def _unsupervised(config: table.Config) -> Iterator[Problem]:
    """Why a config is none of NeMo Automodel's fine-tuning of language models."""
    last = _target(config.get("recipe")).rpartition(".")[2]
    if last not in (*FINETUNES, "None"):
        why = "sftui shows only the data for NeMo Automodel's LLM fine-tuning"
        yield Problem(f"the config is for the recipe {last}", why, f"open a config for {RECIPE}")
    if not isinstance(config.get("dataset"), Mapping):
        loader = config.get("dataloader")
        nested = isinstance(loader, Mapping) and "dataset" in loader
        yield Problem(
            "the config has no dataset" + " except inside `dataloader`" * nested,
            "NeMo Automodel's recipe stops without a top-level `dataset` block (AttributeError: dataset)",
            "move it to the top level" if nested else "add one, with a _target_",
        )


def _kind(block: Mapping[str, Any], path: str) -> str:
    """own.dataset for the class that a block names; RecipeError for one that sftui does not know."""
    target = str(block.get("_target_") or "")
    name = target.rpartition(".")[2].rpartition(":")[2]
    kind = NAMES.get(name)
    if kind is not None and target.startswith("nemo_automodel."):
        return kind
    why = REFUSED.get(name, "") if target.startswith("nemo_automodel.") else ""
    raise RecipeError(
        f"sftui does not model the dataset `{target}`" if target else "the dataset has no _target_",
        where=path,
        why=why or "it is not one of NeMo Automodel's chat or prompt/answer datasets",
        fix=f"use one of {', '.join(value.rpartition('.')[2] for value in TARGETS.values())}",
    )


def _variables(block: Mapping[str, Any]) -> Iterator[Problem]:
    for key, value in block.items():
        if isinstance(value, str) and "$" in value and key != "chat_template":
            why = "sftui does not read environment variables in a config"
            yield Problem(f"dataset.{key} takes `{value}` from the environment", why, "write the value itself")


def _notes(key: str, value: Any, kind: str, known: KnownKeys) -> list[KeyNote]:
    """What becomes of a key, and of those inside the blocks that data comes through."""
    if key == "dataset" and isinstance(value, Mapping):
        return [_dataset_note(str(name), one, value, kind, known) for name, one in value.items()]
    if key in LOADERS and isinstance(value, Mapping):
        return [_loader_note(key, str(name), one, known) for name, one in value.items()]
    if key == "distributed" and isinstance(value, Mapping) and (value.get("cp_size") or 1) != 1:
        return [
            KeyNote(f"{key}.cp_size", value["cp_size"], KeyUse.UNSUPPORTED, "THD packs then pad each row to a multiple")
        ]
    if key == "recipe":
        name = _target(value)
        ours = "." not in name or name.startswith("nemo_automodel.")
        told = "" if ours else "your own recipe may prepare rows differently; sftui does not run it"
        return [KeyNote(key, value, KeyUse.PASSED if ours else KeyUse.UNSUPPORTED, told)]
    return [RULES.note(key, value, known, known.config)]


def _dataset_note(name: str, value: Any, block: Mapping[str, Any], kind: str, known: KnownKeys) -> KeyNote:
    path = f"dataset.{name}"
    takes = known.components.get(str(block.get("_target_"))) or known.components.get(TARGETS[kind])
    if name not in ("_target_", "tokenizer") and takes is not None and name not in takes.takes:
        last = str(block.get("_target_")).rpartition(".")[2]
        return known.stops(path, value, f"TypeError: {last} got unexpected dataset config field(s): {name}")
    if name == "unshifted" and value:
        return known.stops(path, value, "KeyError: 'labels' (this recipe needs labels, but dLLM training has none)")
    if name == "seq_length" and block.get("truncation", False) in OFF:
        used = block.get("padding") == "max_length" or (kind == "agent" and block.get("truncate_history"))
        return KeyNote(path, value, KeyUse.USED if used else KeyUse.PASSED, "cuts nothing without truncation")
    if name == "filter_overlong" and value and block.get("seq_length") is None:
        return known.stops(path, value, "ValueError: `filter_overlong=True` requires `seq_length` to be set")
    if name == "shuffle_seed" and value is not None and "[" in str(block.get("split")):
        return KeyNote(
            path, value, KeyUse.UNSUPPORTED, "the slice is taken from shuffled rows; sftui takes it in order"
        )
    if name == "truncation" and value not in OFF and block.get("seq_length") is None:
        return KeyNote(path, value, KeyUse.UNSUPPORTED, "cuts at the tokenizer's model_max_length without seq_length")
    if name == "answer_only_loss_mask" and not value and block.get("use_hf_chat_template"):
        return KeyNote(path, value, KeyUse.USED, "a template with {% generation %} tags still decides")
    if name == "tokenizer" and isinstance(value, Mapping):
        odd = [one for one in ("add_bos_token", "add_eos_token", "trust_remote_code") if value.get(one)]
        if value.get("tokenizer_backend") == "tokenizers":
            odd.append("tokenizer_backend tokenizers")
        if not str(value.get("_target_", NEMO_TOKENIZER)).endswith(LOADS):
            odd.append(f"the tokenizer of {value['_target_']}")
        if odd:
            return KeyNote(path, value, KeyUse.UNSUPPORTED, f"sftui does not model {', '.join(odd)}")
    if name in IDLE:
        return KeyNote(path, value, KeyUse.IDLE if value else KeyUse.PASSED, IDLE[name])
    if name in NOTHING:
        return KeyNote(path, value, KeyUse.PASSED, NOTHING[name])
    if name in UNSUPPORTED and value:
        return KeyNote(path, value, KeyUse.UNSUPPORTED, UNSUPPORTED[name])
    return KeyNote(path, value, KeyUse.USED)


def _loader_note(block: str, name: str, value: Any, known: KnownKeys) -> KeyNote:
    takes = known.components.get(block) if block in STRANGE else None
    if takes is not None and name not in takes.takes:
        return known.stops(f"{block}.{name}", value, f"TypeError: {STRANGE[block]} config field(s): {name}")
    if (block, name) == ("dataloader", "_target_") and value not in (None, *DATALOADERS):
        return known.stops(f"{block}.{name}", value, f"ValueError: Unsupported dataloader _target_ {value!r}")
    return LOADER_RULES[block].note(name, value, known, (name,), f"{block}.")


def _reference(block: Mapping[str, Any], kind: str, recipe: Recipe, path: str) -> DatasetRef:
    key = "path" if kind == "agent" and block.get("path") is not None else ROWS_KEY.get(kind, "dataset_name")
    usual = {"squad": "squad", "xlam": "Salesforce/xlam-function-calling-60k"}.get(kind)
    given = block.get(key, usual)
    named = [given] if isinstance(given, str) else given
    if not isinstance(named, (list, tuple)) or not named or not all(isinstance(one, str) for one in named):
        raise wrong_value(f"dataset.{key}", given, "a path, or a name on the Hub", path)
    local = len(named) > 1 or os.path.exists(named[0]) or bool(Path(named[0]).suffix) or key == "path"
    split = text_at(block, "split", path) or ("train" if kind != "chat" else None)
    if kind in ("squad", "xlam") and local and os.path.isdir(named[0]):
        files = tuple(str(one) for one in sorted(Path(named[0]).glob("train.json*")))
        named = list(files) or named
    return DatasetRef(
        ", ".join(named),
        tuple(named),
        recipe,
        None if local else split or "train",
        text_at(block, "name", path),
        text_at(block, "revision", path),
    )


def _rows(draft: Draft) -> table.Keys:
    kind, facts = NemoOptions.of(draft.recipe).dataset, draft.facts
    if draft.keys:
        draft.notes.append(_by_words(FORM.name, draft.keys))
    data, local = facts.data or "DATA", facts.file
    key = "path" if kind == "agent" and local else ROWS_KEY.get(kind, "dataset_name")
    if kind in ("squad", "xlam") and local:
        data = str(Path(data).absolute().parent)
    base: table.Keys = {("recipe",): RECIPE, ("dataset", "_target_"): TARGETS[kind], ("dataset", key): data}
    base |= {} if local else {("dataset", "split"): facts.split or "train"}
    if kind == "columns" and ("dataset", "column_mapping") not in draft.keys:  # as far as the columns tell it
        found = {ours: facts.fields[ours] for ours in MAPPED if ours in facts.fields}
        base["dataset", "column_mapping"] = found or {ours: GUESSES[ours][0] for ours in ("question", "answer")}
    return base


def _changes(draft: Draft, opened: OpenedConfig, changes: table.Keys) -> table.Keys:
    kind = NemoOptions.of(draft.recipe).dataset
    if kind != NemoOptions.of(opened.recipe).dataset:
        changes = {**changes, ("dataset", "_target_"): TARGETS[kind]}
    if changes:
        draft.notes.append(_by_words(opened.path, changes))
    return changes


def _by_words(path: str, keys: Mapping[tuple[str | int, ...], Any]) -> str:
    """The same keys as words of a command line, which win over the file."""
    named = {".".join(map(str, place)): value for place, value in keys.items()}
    left = [name for name, value in named.items() if value is REMOVE or isinstance(value, Mapping)]
    words = [f"--{name} {shlex.quote(str(value))}" for name, value in named.items() if name not in left]
    said = f"as overrides: automodel {shlex.quote(Path(path).name)} {' '.join(words)}" if words else ""
    rest = f"{', '.join(left)} can only be set in the file" if left else ""
    return "; ".join(filter(None, (said, rest)))


def _with_builtin(draft: Draft) -> None:
    """Of a template of sftui's own the text stands in the config, since NeMo takes its name for the template itself."""
    if draft.recipe.render.template.startswith("builtin:"):
        table.inlined(("dataset", "chat_template"), "")(draft)


FORM = Form(TITLE, "automodel.yaml", TABLE, _rows, changes=_changes, more=_with_builtin)
write, keys_of = FORM.write, FORM.keys_of


def naming(config: Any, data: str, number: int) -> table.Keys:
    """The changes by which the config trains on a file of JSON lines."""
    held = config.get("dataset") if isinstance(config, Mapping) else None
    if not isinstance(held, Mapping):
        return {}
    kind = NAMES.get(str(held.get("_target_")).rpartition(".")[2])
    if kind in ROWS_KEY:
        return {("dataset", ROWS_KEY[kind]): data}
    if kind == "agent":
        gone: table.Keys = {("dataset", "dataset_name"): REMOVE} if "dataset_name" in held else {}
        return {("dataset", "path"): data, **gone}
    return {}
