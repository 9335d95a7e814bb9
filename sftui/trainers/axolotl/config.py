"""Axolotl's YAML as recipes, one for each entry of `datasets:`; and a recipe as the user's own file with the changed
keys only, or as one of its rows and recipe.

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
from sftui.trainers.axolotl import pretrain, schema
from sftui.trainers.axolotl.formats import modelled
from sftui.trainers.axolotl.instruct import alpaca_prompts
from sftui.trainers.axolotl.keys import OVERTAKEN, UNSUPPORTED, listed, note_in_dataset, note_of
from sftui.trainers.axolotl.settings import CHAT, DEFAULT_MAPPING, RECORD, TYPE_OF_FORMAT
from sftui.trainers.axolotl.table import DATASET, NO_EVALUATION, TOP
from sftui.trainers.axolotl.templates import JINJA
from sftui.trainers.config import DatasetRef, KeyNote, KeyUse, OpenedConfig, files_at, text_at
from sftui.trainers.form import TEMPLATE_FILE, Draft, Form
from sftui.trainers.known import KnownKeys
from sftui.trainers.table import Keys, Place, read_into
from sftui.trainers.yaml_edit import REMOVE, put

LOADERS: Mapping[str, str] = RECORD["loaders"]


def read(path: str, text: str, preset: Recipe, known: KnownKeys) -> OpenedConfig:
    """An Axolotl config; RecipeError where it names no dataset or says what Axolotl refuses."""
    config = dict(parse_yaml(text, path, "pyyaml"))
    _supervised(config, path)
    streams = bool(config.get(pretrain.STREAMED))
    entries = [pretrain.entry_of(config, path)] if streams else config.get("datasets")
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
        raise RecipeError(
            "the config names no dataset to fine-tune on",
            where=path,
            why="Axolotl asks for datasets or pretraining_dataset",
            fix="list one under `datasets`",
        )
    plugins = listed(config.get("plugins"))
    mistral = schema.by_mistral_common(config)
    refused = {**mistral, **schema.null_at_work(config)}
    magistral = f"Magistral: {UNSUPPORTED[schema.MISTRAL_COMMON]}"
    notes = [
        known.stops(str(key), value, error)
        if (error := refused.get(key) or schema.stopped(OVERTAKEN.get(str(key), str(key)), value, known))
        else KeyNote(str(key), value, KeyUse.UNSUPPORTED, magistral)
        if key in mistral
        else note_of(str(key), value, plugins, known)
        for key, value in config.items()
        if key != "datasets" or streams
    ]
    written = {OVERTAKEN.get(str(key), str(key)): value for key, value in config.items()}
    config = schema.padded_for_packing(schema.checked(written, path), written)
    if config.get("max_packed_sequence_len"):
        what = "`max_packed_sequence_len` is no longer supported by Axolotl"
        raise RecipeError(what, where=path, fix="set sequence_len")
    base = read_into(preset, TOP, config, path, stops=_stops(notes))
    if streams:  # nothing is set aside, and no row is left out for its labels
        none_aside = replace(base.own, **dict.fromkeys(NO_EVALUATION))
        base = changed(changed(base, "own", none_aside), "length.drop_unlabelled", False)
    refs: list[DatasetRef] = []
    for number, entry in enumerate(entries):
        place = f"datasets[{number}]"
        if not isinstance(entry, Mapping) or not entry.get("path"):
            raise RecipeError(f"{place} has no `path`", where=path, fix="name its file, folder or Hub dataset")
        if not streams:
            notes += [_note(entry, f"{place}.{key}", str(key), value, known) for key, value in entry.items()]
        where, stops = f"{path}, {place}", _stops(notes, f"{place}.")
        whole = {**config, "datasets": schema.checked(entry, where)}
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


def _note(entry: Mapping[str, Any], path: str, key: str, value: Any, known: KnownKeys) -> KeyNote:
    if key == "chat_template_jinja" and value and entry.get("chat_template") != JINJA:
        why = "Axolotl passes over it: a dataset needs `chat_template: jinja` beside it"
        return KeyNote(path, value, KeyUse.PASSED, why)
    error = schema.stopped(key, value, known, dataset=True)
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
    split, revision = text_at(entry, "split", where) or (None if local else "train"), text_at(entry, "revision", where)
    whole = DatasetRef(", ".join(paths), paths, recipe, split, revision=revision)
    names = entry.get("name")
    if isinstance(names, list):
        return [replace(whole, subset=str(name), name=f"{whole.name} ({name})") for name in names]
    return [replace(whole, subset=str(names))] if names else [whole]


def naming(config: Any, data: str, number: int) -> Keys:
    """The changes by which dataset `number` is the JSON lines file `data`; empty where it is not named by itself."""
    entries = config.get("datasets")
    listed = entries if isinstance(entries, list) else []
    if len(listed) <= number or any(isinstance(entry.get("name"), list) for entry in listed):
        return {}
    place = ("datasets", number)
    gone = [key for key in ("data_files", "name", "split", "revision") if key in listed[number]]
    return {(*place, "path"): data, (*place, "ds_type"): "json", **{(*place, key): REMOVE for key in gone}}


TABLE = (*TOP, *DATASET)
DATASETS = "datasets"
JINJA_TEXT = "chat_template_jinja"


def _more(draft: Draft) -> None:
    """A template's file, where it is none of Axolotl's own; the user's config names the one that it has."""
    template = draft.recipe.render.template
    if not draft.facts.template_source or template.startswith(("tokenizer", "axolotl/")):
        return
    named = draft.keys[DATASETS, JINJA_TEXT]
    draft.template_file(DATASETS, JINJA_TEXT)
    if draft.opened is not None and draft.opened.recipe.render.template == template:
        draft.keys[DATASETS, JINJA_TEXT] = named
    if not draft.facts.folder:
        why = "elsewhere it takes the file's name for the template itself"
        draft.notes.append(f"start Axolotl in the folder of {TEMPLATE_FILE}: {why}")


def keys_of(recipe: Recipe, preset: Recipe) -> tuple[Keys, Keys, list[str]]:
    """Top-level keys, keys of the dataset entry, and what Axolotl has no key for; only what differs from its
    defaults."""
    keys, losses = FORM.keys_of(recipe, preset)
    top = {place: value for place, value in keys.items() if place[0] != DATASETS}
    return top, {place[1:]: value for place, value in keys.items() if place[0] == DATASETS}, losses


def _changes(draft: Draft, opened: OpenedConfig, changes: Keys) -> Keys:
    """At the places of the user's config: the entry that is open, older names, and what stands at the top."""
    config = parse_yaml(opened.text, opened.path, "pyyaml")
    streams = bool(config.get(pretrain.STREAMED))
    entries: Any = config.get(pretrain.STREAMED if streams else DATASETS)
    number = 0 if streams else _entry_of(config, opened.chosen)
    is_list = isinstance(entries, list)
    place: Place = (pretrain.STREAMED if streams else DATASETS, *([number] if is_list else []))
    entry = entries[number] if is_list else entries
    placed: Keys = {}
    for (first, *rest), value in changes.items():
        if first != DATASETS:
            if first == "tokenizer_config" and not rest and first not in config and config.get("base_model_config"):
                first = "base_model_config"  # the tokenizer is the base model's where the config names no other
            placed |= {(first, *rest): value}
            continue
        if streams and rest != ["field"]:
            draft.losses.append(f"{'.'.join(map(str, rest))} has no place in {pretrain.STREAMED}")
            continue
        if streams:
            key, named = "text_column", isinstance(entry, Mapping)
            placed[(*place, key) if named else place] = value if named else {"path": entry, key: value}
            continue
        legacy = f"message_field_{rest[-1]}"
        if rest[0] == "message_property_mappings" and legacy in entry:
            placed.update({(*place, legacy): REMOVE})
        at_top = rest[0] in ("chat_template", JINJA_TEXT) and rest[0] not in entry and rest[0] in config
        gone = value is REMOVE and rest[0] == "chat_template"
        placed[tuple(rest) if at_top else (*place, *rest)] = "tokenizer_default" if gone else value
    return placed


def _entry_of(config: Mapping[str, Any], number: int) -> int:
    """The entry a dataset comes from: one with a list of names makes several datasets."""
    at = 0
    for index, entry in enumerate(config.get("datasets") or []):
        at += len(entry["name"]) if isinstance(entry.get("name"), list) else 1
        if number < at:
            return index
    return 0


def _rows(draft: Draft) -> Keys:
    """The entry by which Axolotl reads the rows, with the keys of the recipe that stand in it."""
    facts, named = draft.facts, draft.facts.fields
    dataset = {place[1:]: draft.keys.pop(place) for place in [*draft.keys] if place[0] == DATASETS}
    sharegpt = facts.format == "sharegpt"
    split = {} if facts.other_split is None else {"split": facts.split}
    loader = {"ds_type": facts.loader} if facts.loader else {}
    entry: dict[str, Any] = {"path": facts.data or "DATASET", **split, **loader}
    kind: Any = TYPE_OF_FORMAT.get(str(facts.format), CHAT)
    if facts.format in ("prompt_completion", "columns") and {"prompt", "completion"} <= set(named):
        # A pair of texts has no type of its own: the prompt as it stands, the completion and EOS behind it.
        plain = {"format": "{instruction}", "no_input_format": "{instruction}"}
        kind = {"field_instruction": named["prompt"], "field_output": named["completion"], **plain}
    if kind == "alpaca" and any(ours != named.get(ours, ours) for ours in ("instruction", "input", "output")):
        kind = _renamed_alpaca(named)
    if ("type",) not in dataset and kind != "tokenized" and draft.recipe.data.format != "tokenized":
        entry["type"] = kind
    found = named or ({"messages": "conversations"} if sharegpt else {})
    for ours, key in (("messages", "field_messages"), ("text", "field")):
        if found.get(ours, ours) != ours and (key,) not in dataset:
            entry[key] = found[ours]
    keys = {**DEFAULT_MAPPING, **(facts.message_keys or ({"role": "from", "content": "value"} if sharegpt else {}))}
    if keys != DEFAULT_MAPPING and not any(path[0] == "message_property_mappings" for path in dataset):
        entry["message_property_mappings"] = {name: keys[name] for name in DEFAULT_MAPPING}
    for path, value in dataset.items():
        put(entry, path, value)
    return {(DATASETS,): [entry]}


def _renamed_alpaca(named: Mapping[str, str]) -> dict[str, str]:
    """A user-defined type with the prompts of type alpaca, which reads no columns but its own."""
    with_input, without = alpaca_prompts()
    columns = {f"field_{name}": named[name] for name in ("instruction", "input", "output") if name in named}
    return {**columns, "format": with_input, "no_input_format": without}


FORM = Form("Axolotl", "axolotl.yml", TABLE, _rows, more=_more, changes=_changes, in_its_order=True)
write = FORM.write
