"""Axolotl's YAML as recipes, one for each entry of `datasets:`; and a recipe as the user's own file with the changed
keys only, or as one of its rows and recipe.

Source: axolotl 0.19.0, utils/schemas/config.py and datasets.py, utils/config/__init__.py
(normalize_config, normalize_cfg_datasets), utils/data/shared.py (load_dataset_with_config). Paths
are relative to the working folder, not to the config. Its keys: axolotl 0.18.0 to 0.21.0, utils/schemas/config.py
AxolotlInputConfig and datasets.py SFTDataset, of which known_keys.json holds the names, and integrations/*, whose
plugins bring keys of their own: Axolotl merges the models of the plugins that `plugins` lists and drops every key that
is in none (integrations/config.py).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sftui.conversations.detected import FROM_VALUE, MESSAGE_KEYS
from sftui.errors import RecipeError
from sftui.recipe import Recipe, changed
from sftui.recipe_io import parse_yaml
from sftui.trainers.axolotl import table
from sftui.trainers.axolotl.formats import modelled
from sftui.trainers.axolotl.instruct import alpaca_prompts
from sftui.trainers.axolotl.settings import (
    ARGILLA,
    BRADLEY_TERRY,
    CHAT,
    DEFAULT,
    ENTRY_KEYS,
    PRETRAIN,
    RECORD,
    TURNS,
    TYPE_OF_FORMAT,
    preference_type,
)
from sftui.trainers.axolotl.templates import JINJA
from sftui.trainers.config import DatasetRef, KeyNote, KeyUse, OpenedConfig, ReadAgain, files_at, text_at
from sftui.trainers.table import (
    TEMPLATE_FILE,
    Draft,
    Form,
    KeyRules,
    Keys,
    KnownKeys,
    Place,
    Remark,
    anything,
    odd_value,
    read_into,
    unmodelled,
)
from sftui.trainers.yaml_edit import REMOVE, put

LOADERS: Mapping[str, str] = RECORD["loaders"]
OVERTAKEN: Mapping[str, str] = RECORD["overtaken"]
"""Old names that Axolotl takes for the new ones (utils/schemas/deprecated.py RemappedParameters)."""
PLUGINS: Mapping[str, str] = RECORD["plugins"]
"""Plugins of Axolotl's own that change rows, labels or batches: those with a hook for data, collator or trainer."""
INTEGRATIONS = "axolotl.integrations."
STREAMED = "pretraining_dataset"
UNSUPPORTED: Mapping[str, str] = RECORD["unsupported"]
RULES = KeyRules(
    frozenset(RECORD["used"].split()),
    (
        # which picks the model's class, and by its name the side that a Mistral is padded on
        Remark("type_of_model", UNSUPPORTED["is_mistral_derived_model"], lambda name: "mistral" in str(name).lower()),
        Remark("type_of_model", "", anything, KeyUse.PASSED),
        Remark("tokenizer_use_fast", "", lambda value: value in (None, True), KeyUse.PASSED),
        Remark("tokenizer_use_fast", UNSUPPORTED["tokenizer_use_fast"], anything),
        *unmodelled(UNSUPPORTED, None, False, 0, 0.0, [], {}),
        Remark(
            "default_system_message",
            "it has no effect: Axolotl's chatml template has no default system message to replace",
            anything,
            KeyUse.PASSED,
        ),
    ),
    unread="ignores it",
    later=("balance_labels", "diffusion_lm"),  # axolotl 0.21.0, utils/schemas/config.py
)
DATASET_RULES = KeyRules(
    frozenset(RECORD["dataset used"].split()),
    (
        Remark("weight", "", lambda value: value == 1, KeyUse.PASSED),
        *unmodelled(RECORD["dataset unsupported"], None, False),
    ),
    passed=("trust_remote_code",),  # not in the record of every release
    unread="ignores it: an SFT dataset has no such key",
    later=("weight",),  # axolotl 0.20.0, utils/schemas/datasets.py SFTDataset
)


def read(path: str, text: str, preset: Recipe, known: KnownKeys) -> OpenedConfig:
    """An Axolotl config; RecipeError where it names no dataset or says what Axolotl refuses."""
    config = dict(parse_yaml(text, path, "pyyaml"))
    _supervised(config, path)
    streams = bool(config.get(STREAMED))
    entries = [_streamed_entry(config, path)] if streams else config.get("datasets")
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
        raise RecipeError(
            "the config names no dataset to fine-tune on",
            where=path,
            why="Axolotl requires datasets or pretraining_dataset",
            fix="list one under `datasets`",
        )
    mistral = table.by_mistral_common(config)
    refused = {**mistral, **table.null_at_work(config), **table.unread_by_rl(config)}
    magistral = f"Magistral: {UNSUPPORTED[table.MISTRAL_COMMON]}"
    notes = [
        known.stops(str(key), value, error)
        if (error := refused.get(key) or table.stopped(OVERTAKEN.get(str(key), str(key)), value, known))
        else KeyNote(str(key), value, KeyUse.UNSUPPORTED, magistral)
        if key in mistral
        else _note(str(key), value, config.get("plugins"), known)
        for key, value in config.items()
        if key != "datasets" or streams
    ]
    notes += [known.stops(key, None, error) for key, error in refused.items() if error and key not in config]
    notes += _unread_tokens(config.get("special_tokens"), known)
    written = {OVERTAKEN.get(str(key), str(key)): value for key, value in config.items()}
    config = table.padded_for_packing(table.checked(written, path), written)
    if config.get("max_packed_sequence_len"):
        what = "`max_packed_sequence_len` is no longer supported by Axolotl"
        raise RecipeError(what, where=path, fix="set sequence_len")
    base = read_into(preset, table.TOP, config, path, stops=_stops(notes))
    if streams:  # nothing is set aside, and no row is left out for its labels
        none_aside = replace(base.own, **dict.fromkeys(table.NO_EVALUATION))
        base = changed(changed(base, "own", none_aside), "length.drop_unlabelled", False)
    refs: list[DatasetRef] = []
    for number, entry in enumerate(entries):
        place = f"datasets[{number}]"
        if not isinstance(entry, Mapping) or not entry.get("path"):
            raise RecipeError(f"{place} has no `path`", where=path, fix="name its file, folder or Hub dataset")
        if not streams:
            notes += [_note_in(entry, f"{place}.", str(key), value, known, base) for key, value in entry.items()]
            kept = ENTRY_KEYS.get(base.loss.objective, entry)
            entry = {key: value for key, value in entry.items() if key in kept}
        where, stops = f"{path}, {place}", _stops(notes, f"{place}.")
        whole = {**config, "datasets": table.checked(entry, where)}
        recipe = read_into(base, table.DATASET, whole, where, under="datasets.", stops=stops)
        refs += _refs(entry, number, recipe, where)
    return OpenedConfig(preset.trainer, path, text, tuple(refs), tuple(notes), config=config)


HELD_KEYS = {"sequence_len": "eval_sequence_len", "sample_packing": "eval_sample_packing"}
"""Keys of its own that an evaluation set has, by those that they stand for."""


def evaluation(opened: OpenedConfig, read_again: ReadAgain) -> OpenedConfig | None:
    """`test_datasets`, each by its own entry, of the split `test` where it names none and is no single file, with
    `eval_sequence_len`, packed where neither sample_packing nor eval_sample_packing says otherwise (axolotl 0.19.0,
    utils/data/sft.py _load_raw_datasets, utils/data/shared.py and core/trainers/base.py _get_eval_sampler)."""
    config = dict(opened.config)
    entries = config.get("test_datasets")
    if not isinstance(entries, list) or not entries:
        return None
    packs = bool(config.get("sample_packing")) and config.get("eval_sample_packing") is not False
    length = config.get("eval_sequence_len") or config.get("sequence_len")
    held = {
        **{key: value for key, value in config.items() if key not in ("test_datasets", "val_set_size", STREAMED)},
        "datasets": [_test_entry(entry) for entry in entries],
        "sample_packing": packs,
        **({"sequence_len": length} if length else {}),
    }
    renamed = [f"`{key}` shows the value of `{own}`" for key, own in HELD_KEYS.items() if own in config]
    return replace(made := read_again(held), notes=(*made.notes, *renamed))


def _test_entry(entry: Any) -> Any:
    named = entry.get("path") if isinstance(entry, Mapping) else None
    split = {} if named is None or os.path.isfile(str(named)) else {"split": "test"}
    return {**split, **entry} if isinstance(entry, Mapping) else entry


def _streamed_entry(config: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The first entry of `pretraining_dataset` as one of `datasets`; Axolotl streams no other."""
    value = config[STREAMED]
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, str) and first is value:
        first = {"path": first}
    if not isinstance(first, Mapping) or not first.get("path"):
        raise odd_value(STREAMED, value, where, "Axolotl's schema rejects it", "give it a path")
    packs = bool(config.get("sample_packing"))
    if not packs and config.get("pretraining_sample_concatenation"):
        raise RecipeError(
            "sftui does not show pretraining_sample_concatenation",
            where=where,
            why="Axolotl concatenates the texts in a buffer into sequences before any other step",
            fix="set it to false, or sample_packing to true",
        )
    entry = {key: first[key] for key in ("path", "name", "split", "data_files") if first.get(key) is not None}
    kind = (first.get("type") or PRETRAIN) if packs else PRETRAIN
    return {"split": "train", **entry, "type": kind, "field": first.get("text_column") or "text"}


def _supervised(config: Mapping[str, Any], path: str) -> None:
    """RecipeError for a config by which Axolotl trains on something else than single answers (utils/data/rl.py)."""
    for key in ("rl", "process_reward_model"):
        if config.get(key) and not (key == "rl" and config[key] in table.RL):
            said = f"`{key}: {config[key]}`" if key == "rl" else f"`{key}`"
            raise RecipeError(
                f"{said} is not supervised fine-tuning",
                where=path,
                why="Axolotl prepares preference, reward and prompt data differently, and sftui does not show that",
                fix="remove the key, or open another config",
            )


def _stops(notes: Sequence[KeyNote], before: str = "") -> frozenset[str]:
    """The keys at whose values the trainer is told to stop, of those whose paths begin so."""
    stopping = (note.path for note in notes if note.use.stops)
    return frozenset(path.removeprefix(before) for path in stopping if path.startswith(before))


def _note(key: str, value: Any, listed: Any, known: KnownKeys) -> KeyNote:
    """What becomes of a top-level key, where the config's `plugins` are those listed."""
    paths = [str(path) for path in listed] if isinstance(listed, list) else []
    others = [path for path in paths if not path.startswith(INTEGRATIONS)]
    own = [path.rpartition(".")[2] for path in paths if path.startswith(INTEGRATIONS)]
    if key == "plugins":  # one that is in no record may do anything
        notes = [f"{name}: {PLUGINS[name]}" for name in own if name in PLUGINS]
        strange = [*(name for name in own if name not in known.plugins), *others]
        notes += [f"{name} is not known to sftui and may change data or batches" for name in strange]
        return KeyNote(key, value, KeyUse.UNSUPPORTED if notes else KeyUse.PASSED, "; ".join(notes))
    names = known.config.union(*(known.plugins[name] for name in own if name in known.plugins))
    note = replace(RULES.note(OVERTAKEN.get(key, key), value, known, names), path=key)
    if note.use not in (KeyUse.UNKNOWN, KeyUse.UNSURE):
        return note
    for plugin, keys in known.plugins.items():
        if key in keys:
            why = f"the plugin {plugin} reads it, but `plugins` does not list {plugin}"
            return KeyNote(key, value, KeyUse.UNKNOWN, why)
    return KeyNote(key, value, KeyUse.UNSURE, f"the plugin {others[0]} may read it") if others else note


def _unread_tokens(tokens: Any, known: KnownKeys) -> list[KeyNote]:
    """Keys inside special_tokens that the schema passes over (axolotl 0.21.0, utils/schemas/model.py)."""
    others = [key for key in tokens if key not in table.SPECIAL_TOKENS] if isinstance(tokens, Mapping) else ()
    why = "Axolotl ignores it there"
    return [
        KeyNote(
            f"special_tokens.{key}",
            tokens[key],
            KeyUse.IDLE,
            f"{why}; it reads {key} at the top of the config" if key in known.config else why,
        )
        for key in others
    ]


def _note_in(entry: Mapping[str, Any], under: str, key: str, value: Any, known: KnownKeys, base: Recipe) -> KeyNote:
    """What becomes of a key of a dataset's entry, which stands `under` a place of the config."""
    path, kept = f"{under}{key}", ENTRY_KEYS.get(base.loss.objective)
    if kept is not None and key not in kept:
        return KeyNote(path, value, KeyUse.IDLE, "Axolotl drops it: an entry of preferences has no such key")
    if kept is not None and key in ("field_chosen", "field_rejected"):
        return KeyNote(path, value, KeyUse.USED)
    if key == "chat_template_jinja" and value and entry.get("chat_template") != JINJA:
        why = "Axolotl ignores it: the dataset also needs `chat_template: jinja`"
        return KeyNote(path, value, KeyUse.PASSED, why)
    error = table.stopped(key, value, known, dataset=True)
    known_type = not isinstance(value, str) or modelled(value)
    if not base.supervised:
        known_type = preference_type(value, base.loss.objective) is not None
    if error is None and key == "type" and not known_type:
        return KeyNote(path, value, KeyUse.UNSUPPORTED, "sftui does not model this type")
    return known.stops(path, value, error) if error else DATASET_RULES.note(key, value, known, known.dataset, under)


def _refs(entry: Mapping[str, Any], number: int, recipe: Recipe, where: str) -> list[DatasetRef]:
    """The sources of one entry: a list of names, as the Hub has subsets, gives one each."""
    path, files = str(entry["path"]), entry.get("data_files")
    paths: tuple[str, ...] = (path,)
    local = os.path.exists(path) or bool(Path(path.split("::")[0]).suffix)
    if files:
        listed = files_at(entry, where)
        root = Path() if path in LOADERS.values() or os.path.isdir(path) else Path(path)
        paths, local = tuple(str(root / one) for one in listed), True
    split, revision = text_at(entry, "split", where) or (None if local else "train"), text_at(entry, "revision", where)
    whole = DatasetRef(", ".join(paths), paths, recipe, split, revision=revision, entry=number)
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


TABLE = (*table.TOP, *table.DATASET)
DATASETS = "datasets"
JINJA_TEXT = "chat_template_jinja"


def _more(draft: Draft) -> None:
    """A template's file, where it is none of Axolotl's own; the user's config names the one that it has."""
    template = draft.recipe.render.template
    if not draft.facts.template_source or template.startswith(("tokenizer", "axolotl/")):
        return
    place = (*table.template_place(draft.recipe), JINJA_TEXT)
    named = draft.keys[place]
    draft.template_file(*place)
    if draft.opened is not None and draft.opened.recipe.render.template == template:
        draft.keys[place] = named
    if not draft.facts.folder:
        why = "in any other folder it treats the file name as the template itself"
        draft.notes.append(f"start Axolotl in the folder that contains {TEMPLATE_FILE}: {why}")


def keys_of(recipe: Recipe, preset: Recipe) -> tuple[Keys, Keys, list[str]]:
    """Top-level keys, keys of the dataset entry, and what Axolotl has no key for; only what differs from its
    defaults."""
    keys, losses = FORM.keys_of(recipe, preset)
    top = {place: value for place, value in keys.items() if place[0] != DATASETS}
    return top, {place[1:]: value for place, value in keys.items() if place[0] == DATASETS}, losses


def _changes(draft: Draft, opened: OpenedConfig, changes: Keys) -> Keys:
    """At the places of the user's config: the entry that is open, older names, and what stands at the top."""
    config = parse_yaml(opened.text, opened.path, "pyyaml")
    streams = bool(config.get(STREAMED))
    entries: Any = config.get(STREAMED if streams else DATASETS)
    number = opened.datasets[opened.chosen].entry
    is_list = isinstance(entries, list)
    place: Place = (STREAMED if streams else DATASETS, *([number] if is_list else []))
    entry = entries[number] if is_list else entries
    placed: Keys = {}
    for (first, *rest), value in changes.items():
        if first != DATASETS:
            if first == "tokenizer_config" and not rest and first not in config and config.get("base_model_config"):
                first = "base_model_config"  # the tokenizer is the base model's where the config names no other
            placed |= {(first, *rest): value}
            continue
        if streams and rest != ["field"]:
            draft.losses.append(f"{'.'.join(map(str, rest))} is not supported in {STREAMED}")
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
    if draft.recipe.loss.objective == "kto":
        kind = {f"field_{ours}": named[ours] for ours in ("prompt", "completion", "label") if ours in named}
    elif draft.recipe.loss.objective == "reward":
        kind = BRADLEY_TERRY
    elif draft.recipe.paired:
        kind = DEFAULT if "prompt" in named else TURNS if draft.recipe.loss.objective == "orpo" else ARGILLA
        named = {**named, "messages": named["prompt"]} if kind == DEFAULT else named
    if kind == "alpaca" and any(ours != named.get(ours, ours) for ours in ("instruction", "input", "output")):
        kind = _renamed_alpaca(named)
    if ("type",) not in dataset and kind != "tokenized" and draft.recipe.data.format != "tokenized":
        entry["type"] = kind
    found = named or ({"messages": "conversations"} if sharegpt else {})
    for ours, key in (("messages", "field_messages"), ("text", "field")):
        if found.get(ours, ours) != ours and (key,) not in dataset:
            entry[key] = found[ours]
    keys = {**MESSAGE_KEYS, **(facts.message_keys or (FROM_VALUE if sharegpt else {}))}
    mapped = keys != MESSAGE_KEYS and not any(path[0] == "message_property_mappings" for path in dataset)
    if mapped and draft.recipe.loss.objective in ENTRY_KEYS:
        draft.losses.append("message_property_mappings has no effect on preferences in Axolotl: rename the keys")
    elif mapped:
        entry["message_property_mappings"] = {name: keys[name] for name in MESSAGE_KEYS}
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
