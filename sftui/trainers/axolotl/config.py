"""Axolotl's YAML as recipes, one for each entry of `datasets:`.

Source: axolotl 0.19.0, utils/schemas/config.py and datasets.py, utils/config/__init__.py
(normalize_config, normalize_cfg_datasets), utils/data/shared.py (load_dataset_with_config). Paths
are relative to the working folder, not to the config.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sftui.errors import RecipeError
from sftui.recipe import Recipe, changed
from sftui.recipe_io import parse_yaml
from sftui.trainers.axolotl import pretrain
from sftui.trainers.axolotl.formats import modelled
from sftui.trainers.axolotl.keys import OVERTAKEN, UNSUPPORTED, listed, note_in_dataset, note_of
from sftui.trainers.axolotl.schema import (
    MISTRAL_COMMON,
    by_mistral_common,
    checked,
    null_at_work,
    padded_for_packing,
    stopped,
)
from sftui.trainers.axolotl.table import DATASET, NO_EVALUATION, TOP
from sftui.trainers.axolotl.templates import JINJA
from sftui.trainers.config import DatasetRef, KeyNote, KeyUse, OpenedConfig, files_at, text_at
from sftui.trainers.known import Known
from sftui.trainers.table import Keys, read_into
from sftui.trainers.yaml_edit import REMOVE

LOADERS = {
    "json": "json",
    "jsonl": "json",
    "ndjson": "json",
    "csv": "csv",
    "tsv": "csv",
    "parquet": "parquet",
    "arrow": "arrow",
    "txt": "text",
}


def read(path: str, text: str, preset: Recipe, known: Known) -> OpenedConfig:
    """An Axolotl config; RecipeError where it names no dataset or says what Axolotl refuses."""
    config = dict(parse_yaml(text, path, "pyyaml"))
    _supervised(config, path)
    streams = bool(config.get("pretraining_dataset"))
    entries = [pretrain.entry_of(config, path)] if streams else config.get("datasets")
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
        raise RecipeError(
            "the config names no dataset to fine-tune on",
            where=path,
            why="Axolotl asks for datasets or pretraining_dataset",
            fix="list one under `datasets`",
        )
    plugins = listed(config.get("plugins"))
    mistral = by_mistral_common(config)
    refused = {**mistral, **null_at_work(config)}
    notes = [
        known.stops(str(key), value, error)
        if (error := refused.get(key) or stopped(OVERTAKEN.get(str(key), str(key)), value, known))
        else KeyNote(str(key), value, KeyUse.UNSUPPORTED, f"Magistral: {UNSUPPORTED[MISTRAL_COMMON]}")
        if key in mistral
        else note_of(str(key), value, plugins, known)
        for key, value in config.items()
        if key != "datasets" or streams
    ]
    written = {OVERTAKEN.get(str(key), str(key)): value for key, value in config.items()}
    config = padded_for_packing(checked(written, path), written)
    if config.get("max_packed_sequence_len"):
        raise RecipeError(
            "`max_packed_sequence_len` is no longer supported by Axolotl", where=path, fix="set sequence_len"
        )
    base = read_into(preset, TOP, config, path, stops=_stops(notes))
    if streams:  # nothing is set aside, and no row is left out for its labels
        none_aside = replace(base.own, **dict.fromkeys(NO_EVALUATION))
        base = changed(changed(base, "own", none_aside), "length.drop_unlabelled", False)
    refs: list[DatasetRef] = []
    for number, entry in enumerate(entries):
        if not isinstance(entry, Mapping) or not entry.get("path"):
            raise RecipeError(
                f"datasets[{number}] has no `path`", where=path, fix="name its file, folder or Hub dataset"
            )
        if not streams:
            notes += [_note(entry, f"datasets[{number}].{key}", str(key), value, known) for key, value in entry.items()]
        where = f"{path}, datasets[{number}]"
        stops = _stops(notes, f"datasets[{number}].")
        whole = {**config, "datasets": checked(entry, where)}
        recipe = read_into(base, DATASET, whole, where, under="datasets.", stops=stops)
        refs += _refs(entry, recipe, where)
    return OpenedConfig(preset.trainer, path, text, tuple(refs), tuple(notes), config=config)


def _supervised(config: Mapping[str, Any], path: str) -> None:
    """RecipeError for a config by which Axolotl trains on something else than single answers (utils/data/rl.py)."""
    for key in ("rl", "reward_model", "process_reward_model"):
        if config.get(key):
            said = f"`{key}: {config[key]}`" if key == "rl" else f"`{key}`"
            raise RecipeError(
                f"{said} is not supervised fine-tuning",
                where=path,
                why="Axolotl prepares preferences, rewards and prompts in other ways, which sftui does not show",
                fix="open a config without it",
            )


def _stops(notes: Sequence[KeyNote], before: str = "") -> frozenset[str]:
    """The keys at whose values the trainer is told to stop, of those whose paths begin so."""
    stopping = (note.path for note in notes if note.use.stops)
    return frozenset(path.removeprefix(before) for path in stopping if path.startswith(before))


def _note(entry: Mapping[str, Any], path: str, key: str, value: Any, known: Known) -> KeyNote:
    if key == "chat_template_jinja" and value and entry.get("chat_template") != JINJA:
        why = "Axolotl passes over it: a dataset needs `chat_template: jinja` beside it"
        return KeyNote(path, value, KeyUse.PASSED, why)
    error = stopped(key, value, known, dataset=True)
    if error is None and key == "type" and isinstance(value, str) and not modelled(value):
        return KeyNote(path, value, KeyUse.UNSUPPORTED, "sftui does not model this type")
    return known.stops(path, value, error) if error else note_in_dataset(path, key, value, known)


def _refs(entry: Mapping[str, Any], recipe: Recipe, where: str) -> list[DatasetRef]:
    """The sources of one entry: a list of names, as the Hub has subsets, gives one each."""
    path, files = str(entry["path"]), entry.get("data_files")
    paths: tuple[str, ...] = (path,)
    local = os.path.exists(path) or bool(Path(path.split("::")[0]).suffix)
    if files:
        listed = files_at(entry, "data_files", where)
        root = Path() if path in LOADERS.values() or os.path.isdir(path) else Path(path)
        paths, local = tuple(str(root / one) for one in listed), True
    split = text_at(entry, "split", where) or (None if local else "train")
    one = DatasetRef(
        path if not files else ", ".join(paths), paths, recipe, split, revision=text_at(entry, "revision", where)
    )
    names = entry.get("name")
    if isinstance(names, list):
        return [replace(one, subset=str(name), name=f"{one.name} ({name})") for name in names]
    return [replace(one, subset=str(names))] if names else [one]


def naming(config: Any, data: str, number: int) -> Keys:
    """The changes by which dataset `number` is the JSON lines file `data`; empty where it is not named by itself."""
    entries = config.get("datasets")
    if (
        not isinstance(entries, list)
        or len(entries) <= number
        or any(isinstance(one.get("name"), list) for one in entries)
    ):
        return {}
    place = ("datasets", number)
    gone = [key for key in ("data_files", "name", "split", "revision") if key in entries[number]]
    return {(*place, "path"): data, (*place, "ds_type"): "json", **{(*place, key): REMOVE for key in gone}}
