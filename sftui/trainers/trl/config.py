"""TRL's own YAML config: read into recipes, and written back with the changed keys only.

Source: trl 1.16.0, trl/scripts/utils.py (TrlParser, ScriptArguments, DatasetMixtureConfig, get_dataset),
trl/trainer/sft_config.py. `trl sft --config x.yaml` reads a flat YAML; paths are relative to the working folder. Its
values become the defaults of argparse (TrlParser.set_defaults_with_config, scripts/_hf_argparser.py), which puts a
default that is text through the type of its argument, and leaves any other as it is; what belongs to `accelerate
launch` goes there as words.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sftui.errors import RecipeError
from sftui.recipe import Recipe
from sftui.recipe_io import parse_yaml, shown
from sftui.side_files import object_of
from sftui.trainers.config import (
    DatasetRef,
    KeyNote,
    KeyUse,
    OpenedConfig,
    WrittenConfig,
    WrittenFile,
    data_files,
    text_at,
    with_arguments,
)
from sftui.trainers.known import Known
from sftui.trainers.table import (
    Config,
    Keys,
    Noted,
    Said,
    as_is,
    changes_of,
    keyless,
    keys_read,
    needless,
    nothing,
    read_into,
    rule,
    same,
    silent,
    written,
)
from sftui.trainers.trl import sft
from sftui.trainers.yaml_edit import REMOVE, edit

_TOLD = object_of(Path(__file__).with_name("keys.json"))
OWN_COLUMNS = {"template_kwargs": "chat_template_kwargs"}
"""Columns that TRL calls otherwise than sftui."""
TEMPLATES = (".jinja", ".j2")
FORMATS = ("auto", "messages", "sharegpt", "prompt_completion", "text", "tokenized")
"""How it may read rows (data.format)."""
ENTRY_UNSUPPORTED: Mapping[str, str] = _TOLD["entry unsupported"]
"""Keys of a mixture's entry that decide rows or columns."""
NO_KNOB: frozenset[str] = frozenset(_TOLD["no knob"].split())
"""Keys about data that no knob says."""


def _multiple(value: Any) -> Any:
    """SFTConfig.__post_init__: `auto` is None but on Neuron, another text is a number or None."""
    if not isinstance(value, str):
        return value
    if value.lower() in ("auto", "none", "null"):
        return None
    try:
        return int(value)
    except ValueError:
        return value


def _written_columns(recipe: Recipe, path: str, value: Mapping[str, str]) -> Noted:
    """TRL names the column of plain text alone; every other has its name."""
    lost = tuple(
        f"data.fields {ours} = {theirs!r} has no key in TRL's config: rename the column to"
        f" `{OWN_COLUMNS.get(ours, ours)}`"
        for ours, theirs in value.items()
        if ours != "text" and theirs not in (OWN_COLUMNS.get(ours, ours), "conversations")
    )
    return ({("dataset_text_field",): value["text"]} if value.get("text", "text") != "text" else {}), lost


def _shuffled(config: Config, recipe: Recipe, where: str) -> Said:
    """The seed decides nothing else that is shown."""
    said = {f"own.{name}": config[name] for name in ("shuffle_dataset", "seed") if name in config}
    return said if said.get("own.shuffle_dataset") else {}


TABLE = (
    same("max_length", "length.max"),
    same("pad_to_multiple_of", "batch.multiple", convert=_multiple),
    same("eos_token", "tokenizer.eos_token"),
    same("pad_token", "tokenizer.pad_token"),
    same("per_device_train_batch_size", "batch.size"),
    same("model_name_or_path", "tokenizer.name"),
    same("model_revision", "tokenizer.revision"),
    # argparse takes what is no text unconverted, and TRL asks whether it is true
    *sft.entries(flat=same("padding_free", "batch.flatten", convert=bool)),
    same("dataset_text_field", "own.dataset_text_field", unless="text"),
    rule("dataset_text_field", "data.fields", nothing, _written_columns),
    rule("shuffle_dataset seed", "", _shuffled, needless),
    *(rule(name, f"own.{name}", nothing, as_is(name)) for name in ("shuffle_dataset", "seed")),
    keyless("data.format", "TRL", "TRL reads messages, prompt and completion, text, or ids", *FORMATS),
    same(
        "chat_template_path",
        "render.template",
        says=lambda file: isinstance(file, str) and file.endswith(TEMPLATES),
        convert=lambda file: f"file:{file}",
        write=sft.written_file("chat_template_path"),
    ),
    silent("pack.group", "tokenizer.transformers"),
)
KEYS = keys_read(TABLE)


def read(path: str, text: str, preset: Recipe, known: Known) -> OpenedConfig:
    """A flat TRL YAML as recipes; RecipeError where TRL itself would stop."""
    config = given(dict(parse_yaml(text, path, "pyyaml")), known, path)
    notes: list[KeyNote] = []
    for key, value in config.items():
        if key in KEYS or key in NO_KNOB:
            notes.append(_note(key, value))
            notes += _entry_notes(value, known) if key == "datasets" else ()
        elif key in known.config:
            notes.append(KeyNote(key, value, KeyUse.PASSED))
        else:
            told = "hands it to `accelerate launch`, which stops at it"
            notes.append(known.unknown(str(key), value, told, stops=True))
    recipe = read_into(with_arguments(preset), TABLE, config, path)
    return OpenedConfig(preset.trainer, path, text, _datasets(config, recipe, path), tuple(notes), config=config)


def _entry_notes(entries: Any, known: Known) -> list[KeyNote]:
    """The keys of a mixture's entries (trl 1.16.0, scripts/utils.py DatasetConfig and get_dataset)."""
    found = []
    for number, entry in enumerate(entries if isinstance(entries, list) else []):
        for key, value in entry.items() if isinstance(entry, Mapping) else ():
            path = f"datasets[{number}].{key}"
            if key in ENTRY_UNSUPPORTED and value is not None:
                found.append(KeyNote(path, value, KeyUse.UNSUPPORTED, ENTRY_UNSUPPORTED[key]))
            elif key in known.dataset:
                found.append(KeyNote(path, value, KeyUse.USED))
            else:
                found.append(known.unknown(path, value, "stops at it", stops=True))
    return found


def _note(key: str, value: Any) -> KeyNote:
    if key == "chat_template_path" and isinstance(value, str) and not value.endswith(TEMPLATES):
        return KeyNote(key, value, KeyUse.UNSUPPORTED, "cloning the template of another tokenizer")
    if key == "dataset_kwargs" and value:
        return KeyNote(key, value, KeyUse.UNSUPPORTED, "skip_prepare_dataset leaves the data to your own code")
    if key == "test_split_size" and value:
        return KeyNote(key, value, KeyUse.UNSUPPORTED, "rows for evaluation are drawn without a seed; all are shown")
    if key in ("eval_packing", "test_split_size", "dataset_streaming", "streaming", "trust_remote_code", "seed"):
        return KeyNote(key, value, KeyUse.PASSED)
    return KeyNote(key, value, KeyUse.USED)


def _datasets(config: Mapping[str, Any], recipe: Recipe, path: str) -> tuple[DatasetRef, ...]:
    split = str(config.get("dataset_train_split", "train"))
    mixture = config.get("datasets")
    if mixture:
        if not isinstance(mixture, list) or not all(isinstance(item, Mapping) and item.get("path") for item in mixture):
            raise RecipeError("`datasets` must be a list of entries with a `path`", where=path)
        return tuple(_mixture_entry(item, recipe, path) for item in mixture)
    name = config.get("dataset_name")
    if not name:
        raise RecipeError("the config names no dataset", where=path, fix="set dataset_name or datasets")
    subset = text_at(config, "dataset_config", path)
    return (
        DatasetRef(
            str(name), (str(name),), recipe, None if os.path.exists(str(name)) and split == "train" else split, subset
        ),
    )


def _mixture_entry(item: Mapping[str, Any], recipe: Recipe, path: str) -> DatasetRef:
    files = item.get("data_files")
    name = str(item["path"])
    paths: tuple[str, ...] = (name,)
    if files:
        paths = data_files(item, name, path)
    split = str(item.get("split") or "train")
    return DatasetRef(
        name if not files else ", ".join(paths),
        paths,
        recipe,
        None if files and split == "train" else split,
        text_at(item, "name", path),
    )


def write(recipe: Recipe, preset: Recipe, opened: OpenedConfig | None, facts: Mapping[str, Any]) -> WrittenConfig:
    """The config TRL needs to do what the recipe says, beside the template file it may need."""
    wanted, losses = keys_of(recipe, preset)
    files: list[WrittenFile] = []
    if facts.get("template_source") and recipe.render.template not in ("tokenizer",):
        files.append(WrittenFile("chat_template.jinja", str(facts["template_source"])))
        wanted[("chat_template_path",)] = "chat_template.jinja"
    if opened is not None:
        text = edit(opened.text, changes_of(wanted, keys_of(opened.recipe, preset)[0]), opened.path)
        name = Path(opened.path).name
    else:
        base: Keys = {}
        data = str(facts.get("data") or "")
        if data and Path(data).suffix:
            kind = Path(data.removesuffix(".gz").removesuffix(".zst")).suffix.lstrip(".")
            loader = {"jsonl": "json", "ndjson": "json", "tsv": "csv"}.get(kind, kind)
            base[("datasets",)] = [{"path": loader, "data_files": data, "split": facts.get("split") or "train"}]
        else:
            base[("dataset_name",)] = data or "DATASET"
            if facts.get("split") not in (None, "train"):
                base[("dataset_train_split",)] = facts["split"]
        text = str((facts.get("fields") or {}).get("text") or "text")
        if facts.get("format") == "text" and text != "text":
            wanted.setdefault(("dataset_text_field",), text)
        text = edit("", {**base, **wanted})
        name = "trl_sft.yaml"
    files.insert(0, WrittenFile(name, text))
    return WrittenConfig(tuple(files), (*losses, *_refused(recipe, facts)))


def _refused(recipe: Recipe, facts: Mapping[str, Any]) -> tuple[str, ...]:
    """What TRL stops at: assistant_only_loss with a chat template in which it cannot find the answers."""
    source = facts.get("chat_template")
    if recipe.mask.rule != "generation_tag" or not source:
        return ()
    from sftui.trainers.trl.training_templates import finds_answers

    if finds_answers(str(source)):
        return ()
    return (
        (
            "TRL would stop: assistant_only_loss needs {% generation %} tags, which the chat template does not have and"
            " TRL cannot put into it; sftui template --add-generation-tags puts them in"
        ),
    )


def keys_of(recipe: Recipe, preset: Recipe) -> tuple[Keys, list[str]]:
    """The TRL keys that differ from its defaults, and the knobs that TRL has no key for."""
    return written(recipe, with_arguments(preset), TABLE, "TRL")


def naming(config: Any, data: str, number: int) -> Keys:
    """The changes by which dataset `number` is the JSON lines file `data`; empty where it is not named by itself."""
    entries = config.get("datasets")
    if isinstance(entries, list) and len(entries) > number:
        place = ("datasets", number)
        gone = [key for key in ("data_dir", "name") if key in entries[number]]
        return {
            (*place, "path"): "json",
            (*place, "data_files"): data,
            (*place, "split"): "train",
            **{(*place, key): REMOVE for key in gone},
        }
    gone = [key for key in ("dataset_config", "dataset_train_split") if key in config]
    entry = {"path": "json", "data_files": data, "split": "train"}
    return {("dataset_name",): REMOVE, ("datasets",): [entry], **{(key,): REMOVE for key in gone}}


YES, NO = ("yes", "true", "t", "y", "1"), ("no", "false", "f", "n", "0")
NONE = "none_or_"


def given(config: Mapping[str, Any], known: Known, where: str) -> dict[str, Any]:
    """The config as the parser gives it to SFTConfig; RecipeError for what it stops at."""
    kinds = {key: kind for kind, keys in known.types.items() for key in keys}
    if not isinstance(config.get("env", {}), Mapping):
        raise RecipeError("`env` is no mapping", where=where, why="TRL sets its names as environment variables")
    for key, value in config.items():
        if key in known.choices and str(value) not in known.choices[key]:
            listed = ", ".join(sorted(known.choices[key]))
            raise _stopped(key, value, f"`accelerate launch` knows {listed}", where)
    return {key: _converted(key, value, kinds.get(key, ""), where) for key, value in config.items()}


def _converted(key: str, value: Any, kind: str, where: str) -> Any:
    inner = kind.removeprefix(NONE)
    if isinstance(value, bool) and inner == "int":
        return int(value)  # what python counts it as
    if not isinstance(value, str) or inner not in CONVERT:
        return value
    if kind != inner and value.lower() in ("none", "null"):
        return None
    try:
        return CONVERT[inner](value)
    except ValueError:
        raise _stopped(key, value, f"argparse finds no {inner.replace('string_to_', '')} in it", where) from None


def _truth(text: str) -> bool:
    if text.lower() in YES + NO:
        return text.lower() in YES
    raise ValueError(text)


def _stopped(key: str, value: Any, why: str, where: str) -> RecipeError:
    return RecipeError(f"`{key}` cannot be {shown(value)}", where=where, why=f"TRL stops at it: {why}")


CONVERT: Mapping[str, Callable[[str], Any]] = {"int": int, "float": float, "string_to_bool": _truth}
