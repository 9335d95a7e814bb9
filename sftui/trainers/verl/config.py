"""verl's config: a YAML over its own (`--config-path`, `--config-name`), or the script whose words override it.

Source: verl 0.9.1, trainer/sft_trainer.py (main, create_sft_dataset), trainer/config/sft_trainer_engine.yaml,
trainer/config/model/hf_model.yaml, utils/dataset/multiturn_sft_dataset.py; hydra-core 1.3. What neither file nor script
says is as in the trainer's own config. Paths are relative to the working folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sftui.errors import RecipeError
from sftui.recipe import Recipe
from sftui.recipe_io import parse_yaml
from sftui.trainers import table
from sftui.trainers.config import DatasetRef, KeyNote, KeyUse, OpenedConfig, ReadAgain, WrittenFile, wrong_value
from sftui.trainers.table import Draft, Form, KeyRules, KnownKeys, Remark, edited, inlined
from sftui.trainers.training import leaves
from sftui.trainers.verl import VerlOptions, script
from sftui.trainers.verl.alone import ACTING, GIVEN
from sftui.trainers.verl.formats import FORMATS
from sftui.trainers.yaml_edit import REMOVE

TITLE = "verl"
CUSTOM = "verl/custom"
"""The one template of its own: what `model.custom_chat_template` holds."""
TRUNCATION = {"error": "error", "right": "cut_right", "left": "cut_left"}
COLUMNS = {"messages": "data.messages_key", "tools": "data.tools_key"}
PAD_MODES = ("no_padding", "right")


def _typed(key: str, knob: str, kind: type, write: table.Write | None = None) -> table.KeyEntry:
    """Where a number is null, verl stops; of a text, that says nothing."""
    why = f"{TITLE} does not convert values, and stops where the type is wrong"
    return table.typed(key, knob, kind, null="nothing" if kind is str else "refused", why=why, write=write)


def _chosen(config: table.Config, key: str, choices: tuple[str, ...], usual: str, where: str) -> str:
    there, value = table.at(config, table.place_of(key))
    value = value if there else usual
    if value not in choices:  # a mapping has no hash
        raise table.odd_value(key, value, where, f"{TITLE} stops (AssertionError)", f"set {', '.join(choices)}")
    return str(value)


def _length(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    """With pad_mode no_padding the end is cut whatever truncation says, unless that is `error`."""
    over = TRUNCATION[_chosen(config, "data.truncation", tuple(TRUNCATION), "error", where)]
    padded = _chosen(config, "data.pad_mode", PAD_MODES, "no_padding", where) == "right"
    return {"length.over": "cut_right" if over == "cut_left" and not padded else over}


def _written_over(recipe: Recipe, path: str, value: str) -> table.Keys | str | None:
    back = {choice: word for word, choice in TRUNCATION.items()}
    if value not in back:
        return None
    if value == "cut_left" and recipe.batch.flatten:
        return "with pad_mode no_padding it cuts the end"
    return {("data", "truncation"): back[value]}


def _padding(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    padded = _chosen(config, "data.pad_mode", PAD_MODES, "no_padding", where) == "right"
    return {"batch.flatten": False, "batch.pad_to": "max"} if padded else {}


def _written_padding(recipe: Recipe, path: str, value: Any) -> table.Keys | table.Noted | None:
    padded = not recipe.batch.flatten
    if (recipe.batch.pad_to == "max") is not padded:
        note = "batch.flatten false and batch.pad_to max go together in verl's config, as data.pad_mode right"
        return {}, (note,)
    return {("data", "pad_mode"): "right" if padded else "no_padding"}


def _columns(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    found: dict[str, str] = {}
    for ours, key in COLUMNS.items():
        there, value = table.at(config, table.place_of(key))
        if there and not isinstance(value, str):
            raise table.odd_value(key, value, where, fix="use a column name")
        if there and value != ours:
            found[ours] = value
    return {"data.fields": found} if found else {}


def _tokenizer(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    """tokenizer_path, where it is there, takes the place of the model's own."""
    for key in ("tokenizer_path", "path"):
        value = table.at(config, ("model", key))[1]
        if value is not None:
            if not isinstance(value, str):
                raise table.odd_value(f"model.{key}", value, where, fix="use a folder or a name")
            return {"tokenizer.name": value}
    return {}


def _own(key: str) -> table.KeyEntry:
    return _typed(key, f"own.{key.rpartition('.')[2]}", str)


TABLE = (
    _typed("data.max_length", "length.max", int, table.limit("data.max_length", TITLE)),
    table.rule("data.truncation data.pad_mode", "length.over", _length, _written_over),
    table.rule("data.pad_mode", "batch.flatten batch.pad_to", _padding, _written_padding),
    _typed("data.train_batch_size", "batch.size", int),
    table.rule("data.messages_key data.tools_key", "data.fields", _columns, table.columns(COLUMNS, TITLE)),
    table.typed(
        "data.apply_chat_template_kwargs",
        "render.kwargs",
        Mapping,
        null="refused",
        why="verl stops (TypeError)",
        fix="set {}",
        convert=lambda kwargs: {str(key): value for key, value in kwargs.items()},
    ),
    table.same("data.ignore_input_ids_mismatch", "own.ignore_input_ids_mismatch", convert=bool),
    _own("data.enable_thinking_key"),
    # whatever Python holds for true: the text `none`, too, which is verl's default
    table.same(
        "data.enable_thinking_default",
        "own.enable_thinking_default",
        convert=lambda value: None if value is None else bool(value),
    ),
    _own("data.image_key"),
    _own("data.video_key"),
    table.typed(
        "data.train_max_samples",
        "own.train_max_samples",
        int,
        null="refused",
        fix="use an integer, or -1 for all",
        convert=lambda most: most if most > 0 else None,
    ),
    table.same("data.shuffle", "own.shuffle", convert=bool),
    table.same("data.seed", "own.seed", says=lambda seed: isinstance(seed, int)),
    table.rule("model.tokenizer_path model.path", "tokenizer.name", _tokenizer, table.as_is("model.tokenizer_path")),
    table.inline_template(
        table.typed(
            "model.custom_chat_template",
            "own.custom_chat_template",
            str,
            null="nothing",
            fix="give the template as text",
        ),
        CUSTOM,
    ),
    table.keyless("data.format", "it reads only messages", *FORMATS),
    table.silent("tokenizer.transformers"),
)
KEYS = table.keys_read(TABLE)
APPENDED = frozenset({"data.image_key", "data.video_key", "data.shuffle", "data.seed", "data.image_patch_size"})
"""Keys that the dataset asks for and the config does not hold: on a command line they need a `+`."""


OWN_CONFIG = "sft_trainer_engine"
MODULE = "verl.trainer.sft_trainer"
USUAL_DATA = "~/data/gsm8k/train.parquet"
NO_KNOB = frozenset({"data.train_files"})
"""Keys about data that no knob says."""
CODE = ("data.custom_cls.path", "model.external_lib")
RULES = KeyRules(
    KEYS | NO_KNOB,
    (
        Remark("model.trust_remote_code", "sftui runs no tokenizer code"),
        *(Remark(key, "sftui does not run your code: the rows may differ") for key in CODE),
    ),
    unread="does not read it",
)
WHOLE = frozenset({"data.apply_chat_template_kwargs"})
"""Keys whose mapping is one value."""
OWN = (OWN_CONFIG, "hf_model", "_self_", None)
"""What a `defaults` list names of its own configs, and nothing else."""
GROUPS = frozenset({"engine", "optim", "profiler"})
"""Groups of its own configs that decide no row, whichever a `defaults` list names."""
UNSET = frozenset({"model.tokenizer_path", "model.custom_chat_template"})
"""Keys that are null in its own config, to which Hydra takes a `+`, too."""
CUT = "with pad_mode no_padding verl cuts the end, whatever side truncation names"
OLD = "verl 0.9 has no fsdp_sft_trainer: the script is read as one of verl.trainer.sft_trainer"


def read(path: str, text: str, preset: Recipe, known: KnownKeys) -> OpenedConfig:
    """The config as one recipe; RecipeError where verl or Hydra would stop."""
    if script.is_script(text):
        return _of_script(path, text, preset, known)
    config = {str(key): value for key, value in parse_yaml(text, path, "omegaconf").items()}
    base = config.get("defaults")
    config = {
        key: table.resolved(value, config, path, partly=True)
        for key, value in config.items()
        if key not in ("defaults", "hydra")
    }
    notes = [*_bases(base), *(_note(key, value, known, config) for key, value in leaves(config, whole=WHOLE))]
    named = [one for one in base if isinstance(one, Mapping)] if isinstance(base, list) else []
    chosen = {_group(key): name for one in named for key, name in one.items()}
    recipe = table.read_into(preset, TABLE, config, path)
    whole = {**config, "defaults": chosen}
    return OpenedConfig(preset.trainer, path, text, (_dataset(config, recipe, path),), tuple(notes), config=whole)


def evaluation(opened: OpenedConfig, read_again: ReadAgain) -> OpenedConfig | None:
    """The files of `data.val_files`, prepared as those that train, with val_max_samples (verl 0.9.1,
    trainer/sft_trainer.py _build_dataset)."""
    config = opened.config
    data = config.get("data") or {}
    if not isinstance(data, Mapping) or not data.get("val_files"):
        return None
    rest = {key: value for key, value in data.items() if key not in ("val_files", "val_max_samples")}
    most = {"train_max_samples": data.get("val_max_samples", -1)}
    return read_again({**config, "data": {**rest, **most, "train_files": data["val_files"]}})


def _bases(listed: Any) -> Iterator[KeyNote]:
    """Notes of the configs of a `defaults` list that are not the trainer's own: their keys are not read."""
    for one in listed if isinstance(listed, list) else [] if listed is None else [listed]:
        group, name = next(iter(one.items()), ("", None)) if isinstance(one, Mapping) else ("", one)
        if name not in OWN and _group(str(group)) not in GROUPS:
            told = f"the keys in `{name}` are not read: write its data and model keys into this file"
            yield KeyNote("defaults", one, KeyUse.UNSUPPORTED, told)


def _group(said: str) -> str:
    """`override /optim@optim` as the group's name."""
    return "".join(said.split()[-1:]).strip("/").partition("@")[0]


def _of_script(path: str, text: str, preset: Recipe, known: KnownKeys) -> OpenedConfig:
    command = script.read(text, path)
    config: dict[str, Any] = {}
    notes: list[KeyNote] = []
    for one in command.overrides:
        if one.sign == "~":
            notes.append(KeyNote(one.key, None, KeyUse.UNSUPPORTED, "removed from the config: sftui does not model it"))
            continue
        if one.open and (one.key in KEYS or one.key in NO_KNOB):
            given = "the script receives it as an argument when it runs"
            if one.key == "data.train_files":
                fix = "write the path into the script, or open the data with --trainer verl"
                raise RecipeError(f"sftui does not know which file `{one.value}` is", where=path, why=given, fix=fix)
            notes.append(KeyNote(one.key, one.value, KeyUse.UNSUPPORTED, given))
            continue
        wrong = _sign(one, known)
        if wrong is not None:
            notes.append(wrong)
            continue
        _put(config, f"defaults.{one.key}" if one.key in GROUPS else one.key, one.value)
    notes += [_note(key, value, known, config) for key, value in leaves(config, whole=WHOLE)]
    notes += [
        KeyNote(word, None, KeyUse.UNSUPPORTED, "arguments that the script receives when it runs")
        for word in command.others
        if word.startswith("$")
    ]
    remarks = (OLD,) if command.module.startswith("fsdp") else ()
    if {"--config-path", "--config-name", "-cp", "-cn"}.intersection(other.split("=")[0] for other in command.others):
        remarks = (*remarks, "the script names its own config, which is not read: open that file instead")
    dataset = _dataset(config, table.read_into(preset, TABLE, config, path), path)
    if any("$" in one and not one.startswith(("$@", "$*", "${@", "${*")) for one in command.others):
        config["?"] = "the script receives arguments when it runs"
    return OpenedConfig(preset.trainer, path, text, (dataset,), tuple(notes), remarks, config=config)


def _sign(one: script.Override, known: KnownKeys) -> KeyNote | None:
    """The note of an override that Hydra refuses for its sign."""
    if not known.config:
        return None
    held = one.key in known.config or any(key.startswith(f"{one.key}.") for key in known.config)
    held = held and one.key not in APPENDED
    filled = one.key in WHOLE and isinstance(one.value, Mapping) and one.value
    if one.sign == "" and (not held or filled):
        error = f"Could not override '{one.key}'. To append to your config use +{one.key}"
        return known.stops(one.key, one.value, error)
    if one.sign == "+" and held and one.key in KEYS.difference(UNSET) and not isinstance(one.value, (dict, list)):
        return known.stops(one.key, one.value, f"Could not append to config. An item is already at '{one.key}'.")
    return None


def _put(config: dict[str, Any], key: str, value: Any) -> None:
    *steps, last = key.split(".")
    for step in steps:
        inner = config.setdefault(step, {})
        config = inner if isinstance(inner, dict) else {}
    config[last] = value


def _note(key: str, value: Any, known: KnownKeys, config: Mapping[str, Any]) -> KeyNote:
    """What becomes of a key."""
    if key == "data.apply_chat_template_kwargs" and isinstance(value, Mapping):
        given = next((name for name in value if name in GIVEN), None)
        if given is not None:
            return known.stops(f"{key}.{given}", value[given], f"TypeError: got multiple values for `{given}`")
        acting = [str(name) for name in value if name in ACTING]
        if acting:
            return KeyNote(key, value, KeyUse.UNSUPPORTED, f"{', '.join(acting)} is not a template variable")
    if key == "data.train_files" and not _own_class(config):
        files = [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]
        text = next((one for one in files if Path(one).suffix in (".json", ".jsonl", ".csv")), None)
        if text is not None:  # utils/dataset/multiturn_sft_dataset.py, pandas.read_parquet
            error = "ArrowInvalid: Parquet magic bytes not found in footer"
            return known.stops(key, value, f"{error}; store it as Parquet with `sftui convert {text} -o OUT.parquet`")
    if key == "data.truncation" and value == "left" and (config.get("data") or {}).get("pad_mode") != "right":
        return KeyNote(key, value, KeyUse.USED, CUT)
    other = key.partition(".")[0] not in ("data", "model") or key.startswith("model.override_config.")
    return RULES.note(key, value, known, (key,) if other else known.config)


def _own_class(config: Mapping[str, Any]) -> bool:
    """Whether a dataset class of the user's reads the files."""
    named = (config.get("data") or {}).get("custom_cls")
    return isinstance(named, Mapping) and bool(named.get("path"))


def _dataset(config: Mapping[str, Any], recipe: Recipe, path: str) -> DatasetRef:
    data = config.get("data")
    if data is not None and not isinstance(data, Mapping):
        raise wrong_value("data", data, "a mapping", path)
    given = (data or {}).get("train_files", USUAL_DATA)
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, list) or not listed or not all(isinstance(one, str) for one in listed):
        raise wrong_value("data.train_files", given, "a Parquet file, or a list of them", path)
    remote = next((one for one in listed if "://" in one), None)
    if remote is not None:
        raise RecipeError(f"sftui does not fetch {remote}", where=path, fix="copy the file here, and use that path")
    paths = tuple(os.path.expanduser(one) for one in listed)
    return DatasetRef(", ".join(listed), paths, recipe)


def _rows(draft: Draft) -> table.Keys:
    facts, keys = draft.facts, draft.keys
    draft.notes.append(f"run python -m {MODULE} --config-path THIS_FOLDER --config-name {Path(FORM.name).stem}")
    if keys:
        draft.notes.append(f"as overrides: {' '.join(_words(keys))}")
    data = facts.data or "DATA.parquet"
    if facts.file and facts.loader != "parquet":
        draft.notes.append(
            "verl reads only Parquet: write the rows with `sftui convert DATA -o OUT.parquet`, and use that file"
        )
    for ours, key in COLUMNS.items():  # what the rows' own columns are called
        if facts.fields.get(ours, ours) not in ("", ours):
            keys.setdefault(table.place_of(key), facts.fields[ours])
    return {
        ("hydra", "searchpath"): ["pkg://verl.trainer.config"],
        ("defaults",): [OWN_CONFIG, "_self_"],
        ("data", "train_files"): str(Path(data).absolute()) if facts.file or not facts.data else data,
    }


def _words(keys: table.Keys) -> list[str]:
    """Keys as the words of a command line."""
    named = {".".join(map(str, place)): value for place, value in keys.items()}
    return [script.override(f"{_needed(key, value)}{key}", value) for key, value in named.items()]


def _needed(key: str, value: Any) -> str:
    """The sign with which Hydra takes a key that is not there, or keys within a mapping that are not."""
    return "+" if key in APPENDED else "++" if isinstance(value, Mapping) else ""


def _edited(draft: Draft, opened: OpenedConfig, changes: table.Keys) -> WrittenFile:
    """The user's own YAML or script with the changed keys only."""
    if not script.is_script(opened.text):
        return edited(draft, opened, changes)
    said = {override.key for override in script.read(opened.text, opened.path).overrides}
    named = {".".join(map(str, place)): value for place, value in changes.items()}
    put = {
        key if key in said else f"{_needed(key, value)}{key}": value
        for key, value in named.items()
        if value is not REMOVE
    }
    gone = frozenset(key for key, value in named.items() if value is REMOVE)
    return WrittenFile(Path(opened.path).name, script.edited(opened.text, put, gone, opened.path))


def _corrected(recipe: Recipe, keys: table.Keys, losses: list[str]) -> table.Keys:
    if VerlOptions.of(recipe).custom_chat_template and recipe.render.template == "tokenizer":
        keys.pop(("model", "custom_chat_template"), None)
    return keys


FORM = Form(
    TITLE,
    "verl_sft.yaml",
    TABLE,
    _rows,
    corrected=_corrected,
    more=inlined(("model", "custom_chat_template"), CUSTOM),
    edited=_edited,
)
write, keys_of = FORM.write, FORM.keys_of


def naming(config: Any, data: str, number: int) -> table.Keys:
    """The changes by which the config trains on a file; empty for one that is no Parquet."""
    return {("data", "train_files"): data} if Path(data).suffix == ".parquet" else {}
