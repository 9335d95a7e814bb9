"""NeMo Automodel's YAML recipes (`automodel FILE`): read into recipes, and written back with the changed keys only.

Source: nemo-automodel 0.7.0, components/config/loader.py (ConfigNode, translate_value, resolve_yaml_env_vars),
components/config/_arg_parser.py, recipes/_typed_config.py and components/datasets/loader.py (make_dataset_config). Keys
that nothing reads are taken without a word but for those of datasets, packing and the dataloader, which stop the run.
Words of a command line win over the file: `--dataset.seq_length 512`. Paths are relative to the working folder.
"""

from __future__ import annotations

import ast
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sftui.errors import RecipeError
from sftui.recipe import Recipe, changed
from sftui.recipe_io import parse_yaml
from sftui.side_files import object_of
from sftui.trainers.config import (
    DatasetRef,
    KeyNote,
    KeyUse,
    OpenedConfig,
    WrittenConfig,
    WrittenFile,
    text_at,
    wrong_value,
)
from sftui.trainers.known import Known
from sftui.trainers.nemo_automodel import NemoOptions
from sftui.trainers.nemo_automodel.formats import GUESSES, MAPPED
from sftui.trainers.nemo_automodel.table import HF_TOKENIZER, NEMO_TOKENIZER, OFF, TABLE, TARGETS, TITLE, entry
from sftui.trainers.table import Keys, changes_of, read_into, written
from sftui.trainers.yaml_edit import REMOVE, edit

FILE = "automodel.yaml"
RECIPE = "TrainFinetuneRecipeForNextTokenPrediction"
FINETUNES = (RECIPE, "KnowledgeDistillationRecipeForNextTokenPrediction")
"""Recipes that train on a dataset of these (cli/utils.py: by their last name)."""
_TOLD = object_of(Path(__file__).with_name("keys.json"))
NAMES: Mapping[str, str] = _TOLD["names"]
"""The last name of a dataset's `_target_` → own.dataset."""
REFUSED: Mapping[str, str] = _TOLD["refused"]
"""Datasets of NeMo Automodel that sftui does not show, and why."""
NEEDS_NO_KNOB = frozenset({"path_or_dataset_id", "path", "dataset_name", "split", "name", "revision", "tokenizer"})
NOTHING: Mapping[str, str] = _TOLD["nothing"]
"""Keys of a dataset that change no row."""
UNSUPPORTED: Mapping[str, str] = _TOLD["unsupported"]
LOADERS = frozenset({"dataset", "dataloader", "packed_sequence", "step_scheduler"})
LOADS = ("NeMoAutoTokenizer.from_pretrained", HF_TOKENIZER)
"""What loads a tokenizer as the rules have it."""
DATALOADERS = ("torch.utils.data.DataLoader", "torchdata.stateful_dataloader.StatefulDataLoader")
"""The `_target_`s that `dataloader` takes; its own class stands for either."""
PACKED = ("packed_sequence_size", "packing_strategy", "pad_to_multiple_of", "max_packs")
"""Keys of `packed_sequence` that are knobs."""
KNOWN_WORDS = {"none": None, "None": None, "true": True, "True": True, "false": False, "False": False}

__all__ = ["TABLE", "keys_of", "naming", "read", "write"]


def read(path: str, text: str, preset: Recipe, known: Known) -> OpenedConfig:
    """The config as a recipe; RecipeError where NeMo Automodel stops, or for a dataset that sftui does not know."""
    config = {str(key): _translated(value) for key, value in parse_yaml(text, path, "pyyaml").items()}
    _supervised(config, path)
    block = entry(config)
    kind = _kind(block, path)
    _no_variables(block, path)
    recipe = changed(preset, "own.dataset", kind)
    notes = [note for key, value in config.items() for note in _notes(key, value, kind, known)]
    recipe = read_into(recipe, TABLE, config, path)
    reference = _reference(block, kind, recipe, path)
    return OpenedConfig(preset.trainer, path, text, (reference,), tuple(notes), config=config)


def _translated(value: Any) -> Any:
    """A value with its texts read as Python's literals (translate_value)."""
    if isinstance(value, Mapping):
        return {str(key): _translated(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_translated(one) for one in value]
    if not isinstance(value, str):
        return value
    if value in KNOWN_WORDS:
        return KNOWN_WORDS[value]
    if len(value) > 1000:
        return value
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return value


def _supervised(config: Mapping[str, Any], path: str) -> None:
    given = config.get("recipe")
    name = given.get("_target_") if isinstance(given, Mapping) else given
    last = str(name).rpartition(".")[2]
    if name is not None and last not in FINETUNES:
        raise RecipeError(
            f"the config is for the recipe {last}",
            where=path,
            why="sftui shows the data of NeMo Automodel's fine-tuning of language models",
            fix=f"open a config of {RECIPE}",
        )
    if not isinstance(config.get("dataset"), Mapping):
        loader = config.get("dataloader")
        nested = isinstance(loader, Mapping) and "dataset" in loader
        raise RecipeError(
            "the config has no dataset" + " but inside `dataloader`" * nested,
            where=path,
            why="NeMo Automodel's recipe stops without the block `dataset` at the top (AttributeError: dataset)",
            fix="move it to the top" if nested else "add one, with a _target_",
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
        why=why or "it is none of NeMo Automodel's datasets of chats and answers",
        fix=f"it knows {', '.join(one.rpartition('.')[2] for one in TARGETS.values())}",
    )


def _no_variables(block: Mapping[str, Any], path: str) -> None:
    for key, value in block.items():
        if isinstance(value, str) and "$" in value and key != "chat_template":
            raise RecipeError(
                f"dataset.{key} takes `{value}` from the environment",
                where=path,
                why="sftui reads no environment variables for a config",
                fix="write the value itself",
            )


def _notes(key: str, value: Any, kind: str, known: Known) -> list[KeyNote]:
    """What becomes of a key, and of those inside the blocks that data comes through."""
    if key == "dataset" and isinstance(value, Mapping):
        return [_dataset_note(str(name), one, value, kind, known) for name, one in value.items()]
    if key in LOADERS and isinstance(value, Mapping):
        return [_loader_note(key, str(name), one, value, known) for name, one in value.items()]
    if key == "model":
        return [KeyNote(key, value, KeyUse.USED)]
    if key == "distributed" and isinstance(value, Mapping) and (value.get("cp_size") or 1) != 1:
        return [KeyNote(f"{key}.cp_size", value["cp_size"], KeyUse.UNSUPPORTED, "THD packs pad each row to a multiple")]
    if key == "recipe":
        name = str(value.get("_target_") if isinstance(value, Mapping) else value)
        ours = "." not in name or name.startswith("nemo_automodel.")
        told = "" if ours else "a recipe of yours may make other rows: sftui does not run it"
        return [KeyNote(key, value, KeyUse.PASSED if ours else KeyUse.UNSUPPORTED, told)]
    if key in known.config:
        return [KeyNote(key, value, KeyUse.PASSED)]
    return [known.unknown(key, value, "does not read it, and says nothing")]


def _dataset_note(name: str, value: Any, block: Mapping[str, Any], kind: str, known: Known) -> KeyNote:
    path = f"dataset.{name}"
    takes = known.components.get(str(block.get("_target_"))) or known.components.get(TARGETS[kind])
    if name not in ("_target_", "tokenizer") and takes is not None and name not in takes.takes:
        last = str(block.get("_target_")).rpartition(".")[2]
        return known.stops(path, value, f"TypeError: {last} got unexpected dataset config field(s): {name}")
    if name == "unshifted" and value:
        return known.stops(path, value, "KeyError: 'labels' (this recipe needs labels, which dLLM training has not)")
    if name == "seq_length" and block.get("truncation", False) in OFF:
        used = block.get("padding") == "max_length" or (kind == "agent" and block.get("truncate_history"))
        return KeyNote(path, value, KeyUse.USED if used else KeyUse.PASSED, "cuts nothing without truncation")
    if name == "filter_overlong" and value and block.get("seq_length") is None:
        return known.stops(path, value, "ValueError: `filter_overlong=True` requires `seq_length` to be set")
    if name == "shuffle_seed" and value is not None and "[" in str(block.get("split")):
        return KeyNote(path, value, KeyUse.UNSUPPORTED, "the slice is taken of shuffled rows: sftui takes it in order")
    if name == "truncation" and value not in OFF and block.get("seq_length") is None:
        return KeyNote(path, value, KeyUse.UNSUPPORTED, "cuts at the tokenizer's model_max_length without seq_length")
    if name == "answer_only_loss_mask" and not value and block.get("use_hf_chat_template"):
        return KeyNote(path, value, KeyUse.USED, "a template with {% generation %} tags decides all the same")
    if name == "tokenizer" and isinstance(value, Mapping):
        odd = [one for one in ("add_bos_token", "add_eos_token", "trust_remote_code") if value.get(one)]
        if value.get("tokenizer_backend") == "tokenizers":
            odd.append("tokenizer_backend tokenizers")
        if not str(value.get("_target_", NEMO_TOKENIZER)).endswith(LOADS):
            odd.append(f"the tokenizer of {value['_target_']}")
        if odd:
            return KeyNote(path, value, KeyUse.UNSUPPORTED, f"sftui does not model {', '.join(odd)}")
    if name in NOTHING:
        return KeyNote(path, value, KeyUse.PASSED, NOTHING[name])
    if name in UNSUPPORTED and value:
        return KeyNote(path, value, KeyUse.UNSUPPORTED, UNSUPPORTED[name])
    return KeyNote(path, value, KeyUse.USED)


def _loader_note(block: str, name: str, value: Any, held: Mapping[str, Any], known: Known) -> KeyNote:
    path = f"{block}.{name}"
    if block == "step_scheduler":
        used = name == "local_batch_size"
        return KeyNote(path, value, KeyUse.USED if used else KeyUse.PASSED)
    if block == "packed_sequence":
        if name in PACKED:
            return KeyNote(path, value, KeyUse.USED)
        if name == "prepacked" and value:
            return KeyNote(path, value, KeyUse.UNSUPPORTED, "sftui packs without it")
        takes = known.components.get("packed_sequence")
        if takes is not None and name not in takes.takes:
            return known.stops(path, value, f"TypeError: got unexpected packing config field(s): {name}")
        return KeyNote(path, value, KeyUse.PASSED)
    takes = known.components.get("dataloader")
    if takes is not None and name not in takes.takes:
        return known.stops(path, value, f"TypeError: Unexpected dataloader config field(s): {name}")
    if name == "_target_" and value not in (None, *DATALOADERS):
        return known.stops(path, value, f"ValueError: Unsupported dataloader _target_ {value!r}")
    if name == "collate_fn":
        named = str(value.get("_target_") if isinstance(value, Mapping) else value)
        usual = named.endswith((".default_collater", ".packed_sequence_thd_collater")) or named == "default"
        note = "" if usual else "another collator than default_collater"
        return KeyNote(path, value, KeyUse.USED if usual else KeyUse.UNSUPPORTED, note)
    if name in ("shuffle", "group_by_length", "shuffle_buffer_size"):
        return KeyNote(path, value, KeyUse.PASSED, "changes the order of rows alone")
    return KeyNote(path, value, KeyUse.USED if name == "batch_size" else KeyUse.PASSED)


def _reference(block: Mapping[str, Any], kind: str, recipe: Recipe, path: str) -> DatasetRef:
    if kind in ("chat", "columns"):
        key = "path_or_dataset_id"
    else:
        key = "path" if kind == "agent" and block.get("path") is not None else "dataset_name"
    usual = {"squad": "squad", "xlam": "Salesforce/xlam-function-calling-60k"}.get(kind)
    given = block.get(key, usual)
    named = [given] if isinstance(given, str) else given
    if not isinstance(named, (list, tuple)) or not named or not all(isinstance(one, str) for one in named):
        raise wrong_value(f"dataset.{key}", given, "a path, or a name on the Hub", path)
    local = len(named) > 1 or Path(named[0]).exists() or bool(Path(named[0]).suffix) or key == "path"
    split = text_at(block, "split", path) or ("train" if kind != "chat" else None)
    if kind in ("squad", "xlam") and local and Path(named[0]).is_dir():
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


def write(recipe: Recipe, preset: Recipe, opened: OpenedConfig | None, facts: Mapping[str, Any]) -> WrittenConfig:
    """The YAML that makes NeMo Automodel do what the recipe says."""
    wanted, losses = keys_of(recipe, preset)
    kind = NemoOptions.of(recipe).dataset
    if opened is not None:
        before = keys_of(opened.recipe, preset)[0]
        changes = changes_of(wanted, before)
        if kind != NemoOptions.of(opened.recipe).dataset:
            changes["dataset", "_target_"] = TARGETS[kind]
        text = edit(opened.text, changes, opened.path)
        notes = [_by_words(opened.path, changes)] if changes else []
        return WrittenConfig((WrittenFile(Path(opened.path).name, text),), tuple(losses), tuple(notes))
    data, split = str(facts.get("data") or "DATA"), facts.get("split")
    base: Keys = {
        ("recipe",): RECIPE,
        ("dataset", "_target_"): TARGETS[kind],
        **_data_keys(kind, data, split),
    }
    if kind == "columns" and ("dataset", "column_mapping") not in wanted:
        base["dataset", "column_mapping"] = _mapping(facts.get("fields") or {})
    text = edit("", {**base, **wanted})
    return WrittenConfig((WrittenFile(FILE, text),), tuple(losses), (_by_words(FILE, wanted),) if wanted else ())


def _data_keys(kind: str, data: str, split: Any) -> Keys:
    local = bool(Path(data).suffix)
    if kind == "agent":
        named: Keys = {("dataset", "path" if local else "dataset_name"): data}
    elif kind in ("squad", "xlam"):
        named = {("dataset", "dataset_name"): str(Path(data).absolute().parent) if local else data}
    else:
        named = {("dataset", "path_or_dataset_id"): data}
    return named if local else {**named, ("dataset", "split"): split or "train"}


def _mapping(fields: Mapping[str, str]) -> dict[str, str]:
    """column_mapping as far as the columns that were found tell it."""
    found = {ours: fields[ours] for ours in MAPPED if ours in fields}
    return found or {"question": GUESSES["question"][0], "answer": GUESSES["answer"][0]}


def _by_words(path: str, keys: Mapping[tuple[str | int, ...], Any]) -> str:
    """The same keys as words of a command line, which win over the file."""
    words: list[str] = []
    for place, value in keys.items():
        if value is REMOVE or isinstance(value, Mapping):
            continue
        words += [f"--{'.'.join(map(str, place))}", shlex.quote(str(value))]
    left = [".".join(map(str, place)) for place, value in keys.items() if value is REMOVE or isinstance(value, Mapping)]
    said = f"as overrides: automodel {shlex.quote(Path(path).name)} {' '.join(words)}" if words else ""
    rest = f"{', '.join(left)} can be said in the file alone" if left else ""
    return "; ".join(filter(None, (said, rest)))


def keys_of(recipe: Recipe, preset: Recipe) -> tuple[Keys, list[str]]:
    """The keys that differ from NeMo Automodel's defaults, and the knobs that it has no key for."""
    keys, losses = written(recipe, preset, TABLE, TITLE)
    return keys, losses


def naming(config: Any, data: str, number: int) -> Keys:
    """The changes by which the config trains on a file of JSON lines."""
    held = config.get("dataset") if isinstance(config, Mapping) else None
    if not isinstance(held, Mapping):
        return {}
    kind = NAMES.get(str(held.get("_target_")).rpartition(".")[2])
    if kind in ("chat", "columns"):
        return {("dataset", "path_or_dataset_id"): data}
    if kind == "agent":
        gone: Keys = {("dataset", "dataset_name"): REMOVE} if "dataset_name" in held else {}
        return {("dataset", "path"): data, **gone}
    return {}
