"""mlx-lm's flat YAML (`mlx_lm.lora -c FILE`): read into recipes, and written back with the changed keys only.

Source: mlx-lm 0.32.2, lora.py (CONFIG_DEFAULTS, main) and tuner/datasets.py (load_dataset and what it calls). A flag of
the command line wins over the file, the file over the defaults, and a key that is null is as one that is not there.
Keys that nothing reads are taken without a word, values as they are: a number in quotes stops the run where it is
counted with (build_parser). `data` is a folder with train.jsonl, valid.jsonl and test.jsonl, or a dataset of the Hub;
`hf_dataset` takes its place, one mapping or a list of them. Paths are relative to the working folder.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sftui.errors import RecipeError
from sftui.recipe import Recipe
from sftui.recipe_io import parse_yaml
from sftui.trainers import table
from sftui.trainers.config import DatasetRef, KeyNote, KeyUse, OpenedConfig, ReadAgain, loaded, text_at, wrong_value
from sftui.trainers.mlx_lm import TRAITS
from sftui.trainers.mlx_lm.formats import FEATURES, FORMATS
from sftui.trainers.table import Draft, Form, KeyRules, KnownKeys, Remark, anything
from sftui.trainers.yaml_edit import REMOVE

TITLE = "mlx-lm"
FLAGS: Mapping[str, str] = {
    "max_seq_length": "--max-seq-length",
    "batch_size": "--batch-size",
    "model": "--model",
    "mask_prompt": "--mask-prompt",
}
"""The flags of mlx_lm.lora for keys of the table; `--mask-prompt` can only be set."""


_typed = partial(
    table.typed, null="nothing", why=f"{TITLE} does not convert YAML values, and stops where the type is wrong"
)


def _written_mask(recipe: Recipe, path: str, value: str) -> table.Keys | None:
    return {("mask_prompt",): value == "completion"} if value in ("completion", "all") else None


def _columns(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    named = {ours: text_at(config, key, where) for ours, key in FEATURES.items()}
    found = {ours: column for ours, column in named.items() if column is not None and column != ours}
    return {"data.fields": found} if found else {}


TOP = (
    _typed("max_seq_length", "length.max", int, write=table.limit("max_seq_length", TITLE)),
    _typed("batch_size", "batch.size", int),
    _typed("model", "tokenizer.name", str),
    # whatever Python holds for true, a text in quotes too
    table.same(
        "mask_prompt",
        "mask.rule",
        null=False,
        convert=lambda value: "completion" if value else "all",
        write=_written_mask,
    ),
    table.keyless("data.format", f"it reads {', '.join(FORMATS)}", *FORMATS),
    table.keyless("render.template", "put the template into the model's folder, as chat_template.jinja"),
    table.silent("tokenizer.transformers"),
)
DATASET = (
    table.rule(
        " ".join(FEATURES.values()),
        "data.fields",
        _columns,
        table.columns(FEATURES, TITLE, ": apart from these columns it reads only `tools`", ("tools", "tools")),
    ),
)
"""What stands at the top where `data` names the rows, and in each entry of `hf_dataset`."""
KEYS = table.keys_read((*TOP, *DATASET))


TRAIN = TRAITS.data_name
USUAL_DATA = "mlx-community/WikiSQL"
USUAL_SPLIT = "train[:80%]"
NO_KNOB = frozenset({"data", "hf_dataset", "train"})
"""Keys about data that no knob says."""
LOADED = ("name", "data_files", "data_dir", "split", "revision")
"""Keys of an entry's `config`, which goes to load_dataset, that sftui reads."""
RULES = KeyRules(KEYS | NO_KNOB, (Remark("trust_remote_code", "sftui runs no tokenizer code"),))
ENTRY_RULES = KeyRules(
    frozenset({"path", "train_split", "config", *FEATURES.values()}),
    (Remark("mask_prompt", "the config's mask_prompt overrides it", anything, KeyUse.PASSED),),
)
BESIDE_ENTRIES = dict.fromkeys(FEATURES.values(), "hf_dataset names columns itself") | {
    "data": "hf_dataset replaces it"
}
"""Keys that say nothing beside an hf_dataset, and why."""
TYPED = (
    "mlx-lm reads an hf_dataset with whatever version of `datasets` is installed: sftui does not show what that does"
    " to fields with values of several types"
)
TABLE = (*TOP, *DATASET)


def read(path: str, text: str, preset: Recipe, known: KnownKeys) -> OpenedConfig:
    """The config as one recipe a dataset; RecipeError where mlx-lm itself would stop."""
    config = {str(key): value for key, value in parse_yaml(text, path, "pyyaml").items() if value is not None}
    if not config:
        raise RecipeError("the config is empty", where=path, why=f"{TITLE} stops at an empty file")
    entries = _entries(config, path)
    notes = [note for key, value in config.items() for note in _notes(key, value, known, bool(entries))]
    recipe = table.read_into(preset, TOP, config, path)
    if not entries:
        return OpenedConfig(preset.trainer, path, text, (_of_data(config, recipe, path),), tuple(notes), config=config)
    places = ["hf_dataset"] if len(entries) == 1 else [f"hf_dataset[{number}]" for number in range(len(entries))]
    references = [_of_entry(entry, recipe, f"{path}: {place}") for entry, place in zip(entries, places)]
    remarks = (TYPED,) if any(table.at(entry, ("config", "data_files"))[1] for entry in entries) else ()
    return OpenedConfig(preset.trainer, path, text, tuple(references), tuple(notes), remarks, config=config)


def evaluation(opened: OpenedConfig, read_again: ReadAgain) -> OpenedConfig | None:
    """`valid.jsonl` of the folder, the split `valid` of a Hub dataset, or the `valid_split` of an entry, prepared as
    the rows that train (mlx-lm 0.32.2, tuner/datasets.py)."""
    held = []
    for number, one in enumerate(opened.datasets):
        entry = _entries(opened.config, opened.path)[number] if opened.config.get("hf_dataset") else {}
        if one.split is not None:
            held.append(replace(one, split=str(entry.get("valid_split") or "train[-10%:]") if entry else "valid"))
        elif os.path.isfile(file := str(Path(one.paths[0]).with_name("valid.jsonl"))):
            held.append(replace(one, paths=(file,)))
    return replace(opened, datasets=tuple(held)) if held else None


def _entries(config: Mapping[str, Any], path: str) -> list[Mapping[str, Any]]:
    """The datasets of the Hub, or of loaders, that take the place of `data`; none where it is asked."""
    given = config.get("hf_dataset")
    if not given:
        return []
    listed = [given] if isinstance(given, Mapping) else given
    if not isinstance(listed, list) or not all(isinstance(one, Mapping) for one in listed):
        raise wrong_value("hf_dataset", given, "a mapping with a path, or a list of them", path)
    if not all(one.get("path") for one in listed):
        raise RecipeError("an entry of hf_dataset has no path", where=path, why=f"{TITLE} stops (KeyError: 'path')")
    return listed


def _notes(key: str, value: Any, known: KnownKeys, entries: bool) -> list[KeyNote]:
    """What becomes of a key, and of those of its entries."""
    if key == "hf_dataset" and entries:
        listed = [value] if isinstance(value, Mapping) else value
        named = "hf_dataset" if isinstance(value, Mapping) else "hf_dataset[{}]"
        return [
            _entry_note(named.format(number), str(name), one, known)
            for number, entry in enumerate(listed)
            for name, one in entry.items()
        ]
    if key in BESIDE_ENTRIES and entries:
        return [KeyNote(key, value, KeyUse.PASSED, BESIDE_ENTRIES[key])]
    return [RULES.note(key, value, known, known.config)]


def _entry_note(under: str, key: str, value: Any, known: KnownKeys) -> KeyNote:
    if key == "config" and isinstance(value, Mapping):
        unread = [str(name) for name in value if name not in LOADED]
        if unread:
            note = f"{', '.join(unread)} is passed only to load_dataset"
            return KeyNote(f"{under}.{key}", value, KeyUse.UNSUPPORTED, note)
    return ENTRY_RULES.note(key, value, known, known.dataset, f"{under}.")


def _of_data(config: Mapping[str, Any], recipe: Recipe, path: str) -> DatasetRef:
    named = text_at(config, "data", path) or USUAL_DATA
    recipe = table.read_into(recipe, DATASET, config, path)
    if not os.path.exists(named):
        return DatasetRef(named, (named,), recipe, "train")
    if not os.path.isfile(f"{named}/{TRAIN}"):
        why = "mlx-lm stops: Training set not found or empty"
        raise RecipeError(
            f"there is no {TRAIN} in {named}", where=path, why=why, fix=f"name a folder that contains {TRAIN}"
        )
    return DatasetRef(named, (str(Path(named) / TRAIN),), recipe)


def _of_entry(entry: Mapping[str, Any], recipe: Recipe, where: str) -> DatasetRef:
    recipe = table.read_into(recipe, DATASET, entry, where)
    name = str(entry["path"])
    options = entry.get("config") or {}
    if not isinstance(options, Mapping):
        raise wrong_value("config", options, "a mapping", where)
    split = text_at(entry, "train_split", where) or USUAL_SPLIT
    return loaded(name, options, recipe, where, split, text_at(options, "revision", where))


def _rows(draft: Draft) -> table.Keys:
    facts, keys = draft.facts, draft.keys
    if keys:
        draft.notes.append(_by_flags(keys))
    for ours, key in FEATURES.items():  # what the rows' own columns are called
        if facts.fields.get(ours, ours) != ours:
            keys.setdefault((key,), facts.fields[ours])
    base: table.Keys = {("train",): True}
    if facts.file:
        if Path(facts.data).name != TRAIN:
            draft.notes.append(f"mlx-lm reads {TRAIN} in the folder `data`: write the rows there as JSON lines")
        return {**base, ("data",): str(Path(facts.data).absolute().parent)}
    if facts.other_split is not None and not os.path.exists(facts.data):
        features = {place[0]: keys.pop(place) for place in list(keys) if place[0] in FEATURES.values()}
        return {**base, ("hf_dataset",): {"path": facts.data, "train_split": facts.split, **features}}
    return {**base, ("data",): facts.data or "DATA"}


def _changes(draft: Draft, opened: OpenedConfig, changes: table.Keys) -> table.Keys:
    """The names of columns stand in the entry that is open, if there are entries."""
    entries = opened.config.get("hf_dataset")
    if not entries:
        return changes
    entry: table.Place = ("hf_dataset",) if isinstance(entries, Mapping) else ("hf_dataset", opened.chosen)
    return {(*entry, *place) if place[0] in FEATURES.values() else place: value for place, value in changes.items()}


def _by_flags(keys: table.Keys) -> str:
    """The same keys as a command line, as far as mlx_lm.lora has flags for them."""
    words: list[str] = []
    for place, value in keys.items():
        flag = FLAGS.get(str(place[0]))
        if flag is not None and value is not False:
            words += [flag] if value is True else [flag, shlex.quote(str(value))]
    named = [str(place[0]) for place in keys if str(place[0]) not in FLAGS]
    said = f"as flags: mlx_lm.lora {' '.join(words)}" if words else "mlx_lm.lora has no flags for it"
    return f"{said}; {', '.join(named)} can only be set in a config" if named and words else said


FORM = Form(TITLE, "mlx_lora.yaml", TABLE, _rows, changes=_changes)
write, keys_of = FORM.write, FORM.keys_of


def naming(config: Any, data: str, number: int) -> table.Keys:
    """The changes by which the config trains on a file of JSON lines; empty for one of another name than it reads."""
    if Path(data).name != TRAIN:
        return {}
    gone: table.Keys = {("hf_dataset",): REMOVE} if "hf_dataset" in config else {}
    return {("data",): str(Path(data).parent), **gone}
