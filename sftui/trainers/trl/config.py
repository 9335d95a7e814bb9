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
from dataclasses import replace
from pathlib import Path
from typing import Any

from sftui.errors import RecipeError
from sftui.recipe import Recipe, changed
from sftui.recipe_io import parse_yaml, shown
from sftui.side_files import object_of
from sftui.trainers import table
from sftui.trainers.config import DatasetRef, KeyNote, KeyUse, OpenedConfig, ReadAgain, loaded, text_at, with_arguments
from sftui.trainers.table import Draft, Form, KeyRules, KnownKeys, Remark, anything
from sftui.trainers.yaml_edit import REMOVE

_TOLD = object_of(Path(__file__).with_name("keys.json"))
OWN_COLUMNS = {"template_kwargs": "chat_template_kwargs"}
"""Columns that TRL calls otherwise than sftui."""
TEMPLATES = (".jinja", ".j2")
FORMATS = ("auto", "messages", "sharegpt", "prompt_completion", "text", "tokenized")
"""How it may read rows (data.format)."""
ENTRY_UNSUPPORTED = tuple(
    Remark(key, why, lambda value: value is not None) for key, why in _TOLD["entry unsupported"].items()
)
"""Keys of a mixture's entry that decide rows or columns."""
NO_KNOB: frozenset[str] = frozenset(_TOLD["no knob"].split())
"""Keys about data that no knob says."""


def _is_file(name: Any) -> bool:
    return not isinstance(name, str) or name.endswith(TEMPLATES)


LAID_FLAT = "TRL flattens evaluation batches, because training rows are packed; sftui shows them padded"


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


def _written_columns(recipe: Recipe, path: str, value: Mapping[str, str]) -> table.Noted:
    """TRL names the column of plain text alone; every other has its name."""
    lost = tuple(
        f"data.fields {ours} = {theirs!r} has no key in TRL's config: rename the column to"
        f" `{OWN_COLUMNS.get(ours, ours)}`"
        for ours, theirs in value.items()
        if ours != "text" and theirs not in (OWN_COLUMNS.get(ours, ours), "conversations")
    )
    return ({("dataset_text_field",): value["text"]} if value.get("text", "text") != "text" else {}), lost


def _shuffled(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    """The seed decides nothing else that is shown."""
    said = {f"own.{name}": config[name] for name in ("shuffle_dataset", "seed") if name in config}
    return said if said.get("own.shuffle_dataset") else {}


OBJECTIVE_KEYS: Mapping[str, frozenset[str]] = {
    name: frozenset(keys.split()) for name, keys in _TOLD["objectives"].items()
}
"""Keys of configs that SFTConfig does not have, by the objective that they tell; others share DPO's."""


def objective_told(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    """Which command reads the config, as far as its keys tell; and of the losses the one that changes what is
    prepared."""
    loss = config.get("loss_type")
    named = {str(one) for one in (loss if isinstance(loss, list) else [loss])}
    said = {"own.loss_type": loss} if loss == "apo_zero_unpaired" else {}
    for objective, keys in OBJECTIVE_KEYS.items():
        if keys & config.keys() or named & {*_TOLD["losses"].get(objective, "").split()}:
            return {**said, "loss.objective": objective}
    return said


def _written_objective(recipe: Recipe, path: str, value: str) -> table.Keys:
    """The command says it, and to who reads the file a key that only its config has, with TRL's default: dpo_config.py,
    kto_config.py, reward_config.py, orpo_config.py and cpo_config.py of trl 1.16.0."""
    return {(key,): usual for key, usual in _TOLD["objective defaults"].get(value, {}).items()}


RENAMED = {"bfd-requeue": "bfd_split"}
PACKINGS = ("bfd", "bfd_split", "wrapped")


def sft_entries(
    flat: table.KeyEntry, beside: Callable[[table.Config], bool] = lambda config: False
) -> tuple[table.KeyEntry, ...]:
    """The entries of SFTConfig, for the table of TRL or of Unsloth, built on it; `flat` is that of padding_free.

    `beside`: whether something but assistant_only_loss says what is trained, so that completion_only_loss adds to it.
    """

    def trained(config: table.Config, recipe: Recipe, where: str) -> table.Said:
        completion, assistant = config.get("completion_only_loss"), bool(config.get("assistant_only_loss"))
        said: dict[str, Any] = {"mask.rule": "generation_tag"} if assistant else {}
        if completion is not None and (assistant or beside(config)):
            said["own.completion_only_loss"] = bool(completion)
        elif completion is not None:
            said["mask.rule"] = "completion" if completion else "all"
        return said

    return (
        table.same("eos_token", "tokenizer.eos_token"),
        table.same("pad_token", "tokenizer.pad_token"),
        table.same("per_device_train_batch_size", "batch.size"),
        table.same("dataset_text_field", "own.dataset_text_field", unless="text"),
        table.words("truncation_mode", "length.over", {"keep_end": "cut_left"}),
        table.rule(
            "completion_only_loss assistant_only_loss", "mask.rule own.completion_only_loss", trained, written_mask
        ),
        table.rule("", "batch.flatten pack.isolate", table.nothing, follows_packing),
        flat,
        table.rule("packing packing_strategy", "pack.strategy pack.isolate batch.flatten", packing, written_packing),
    )


def written_mask(recipe: Recipe, path: str, value: Any) -> table.Keys | None:
    if path == "own.completion_only_loss":
        return {("completion_only_loss",): value}
    if value in ("all", "completion"):
        return {("completion_only_loss",): value == "completion"}
    return {("assistant_only_loss",): True} if value == "generation_tag" else None


def packing(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    """With bfd documents are kept apart, and batches flat; wrapped does neither."""
    if not config.get("packing"):
        return {}
    named = config.get("packing_strategy", "bfd")
    strategy = RENAMED.get(named, named) if isinstance(named, str) else named
    apart = strategy != "wrapped"
    return {
        "pack.strategy": strategy,
        "pack.isolate": apart,
        "batch.flatten": apart or bool(config.get("padding_free")),
    }


def follows_packing(recipe: Recipe, path: str, value: Any) -> table.Keys | None:
    """Where documents are packed and kept apart, both knobs are said by that."""
    return {} if recipe.pack.strategy not in ("none", "wrapped") else None


def written_packing(recipe: Recipe, path: str, value: Any) -> table.Keys | None:
    if path != "pack.strategy" or value not in PACKINGS:
        return None
    return {("packing",): True} | ({} if value == "bfd" else {("packing_strategy",): value})


def template_entry(key: str, says: Callable[[Any], bool]) -> table.KeyEntry:
    """A template in a file stands under a key; others are told by what is written beside the config."""

    def write(recipe: Recipe, path: str, value: Any) -> table.Keys:
        return {(key,): value[5:]} if value.startswith("file:") else {}

    return table.same(key, "render.template", says=says, convert=lambda file: f"file:{file}", write=write)


TABLE = (
    table.same("max_length", "length.max"),
    table.same("pad_to_multiple_of", "batch.multiple", convert=_multiple),
    table.same("model_name_or_path", "tokenizer.name"),
    table.same("model_revision", "tokenizer.revision"),
    # argparse takes what is no text unconverted, and TRL asks whether it is true
    *sft_entries(flat=table.same("padding_free", "batch.flatten", convert=bool)),
    table.rule("dataset_text_field", "data.fields", table.nothing, _written_columns),
    table.rule("shuffle_dataset seed", "", _shuffled, table.needless),
    *(table.rule(name, f"own.{name}", table.nothing, table.as_is(name)) for name in ("shuffle_dataset", "seed")),
    table.keyless("data.format", "TRL reads messages, prompt and completion, text, or ids", *FORMATS),
    table.rule("loss_type", "own.loss_type", objective_told, table.as_is("loss_type")),
    table.rule("", "loss.objective", table.nothing, _written_objective),
    template_entry("chat_template_path", lambda file: isinstance(file, str) and _is_file(file)),
    table.silent("pack.group", "tokenizer.transformers"),
)
KEYS = table.keys_read(TABLE)


RULES = KeyRules(
    KEYS | NO_KNOB,
    (
        Remark("chat_template_path", "cloning another tokenizer's template", lambda file: not _is_file(file)),
        Remark("dataset_kwargs", "skip_prepare_dataset leaves the data to your own code"),
        Remark("test_split_size", "rows for evaluation are drawn without a seed; all are shown"),
        *(Remark(key, "", anything, KeyUse.PASSED) for key in _TOLD["no rows"].split()),
    ),
    passed=frozenset[str]().union(*OBJECTIVE_KEYS.values()),
    unread="passes it to `accelerate launch`, which stops at it",
    stops=True,
)


def read(path: str, text: str, preset: Recipe, known: KnownKeys) -> OpenedConfig:
    """A flat TRL YAML as recipes; RecipeError where TRL itself would stop."""
    config = given(dict(parse_yaml(text, path, "pyyaml")), known, path)
    notes: list[KeyNote] = []
    for key, value in config.items():
        notes.append(RULES.note(str(key), value, known, known.config))
        notes += _entry_notes(value, known) if key == "datasets" else ()
    recipe = table.read_into(with_arguments(preset), TABLE, config, path)
    return OpenedConfig(preset.trainer, path, text, _datasets(config, recipe, path), tuple(notes), config=config)


def evaluation(opened: OpenedConfig, read_again: ReadAgain) -> OpenedConfig | None:
    """The split `dataset_test_split` of the same data, where there is an evaluation: packed as `eval_packing` says,
    else cut to max_length, and both in batches of the one collator, which lays them flat where the rows that train are
    (trl 1.16.0, scripts/sft.py, trainer/sft_trainer.py __init__ and _prepare_dataset)."""
    config, batch = opened.config, opened.recipe.batch
    if config.get("eval_strategy", "no") in ("no", False) or config.get("datasets"):
        return None
    packs = config.get("packing", False) if config.get("eval_packing") is None else config["eval_packing"]
    rest = {key: value for key, value in config.items() if key not in ("dataset_test_split", "eval_packing")}
    held = read_again({**rest, "packing": packs, "dataset_train_split": config.get("dataset_test_split", "test")})
    refs = held.datasets
    if packs:
        refs = tuple(replace(one, recipe=_collated(one.recipe, batch.flatten)) for one in refs)
    unlike = batch.flatten and not held.recipe.batch.flatten
    return replace(held, datasets=refs, notes=(*held.notes, *[LAID_FLAT] * unlike))


def _collated(recipe: Recipe, flat: bool) -> Recipe:
    return changed(changed(recipe, "batch.flatten", flat), "pack.isolate", recipe.pack.isolate and flat)


def _entry_notes(entries: Any, known: KnownKeys) -> list[KeyNote]:
    """The keys of a mixture's entries (trl 1.16.0, scripts/utils.py DatasetConfig and get_dataset)."""
    rules = KeyRules(known.dataset, ENTRY_UNSUPPORTED, unread="stops at it", stops=True)
    return [
        rules.note(str(key), value, known, known.dataset, f"datasets[{number}].")
        for number, entry in enumerate(entries if isinstance(entries, list) else [])
        for key, value in (entry.items() if isinstance(entry, Mapping) else ())
    ]


def _datasets(config: Mapping[str, Any], recipe: Recipe, path: str) -> tuple[DatasetRef, ...]:
    split = str(config.get("dataset_train_split", "train"))
    mixture = config.get("datasets")
    if mixture:
        if not isinstance(mixture, list) or not all(isinstance(item, Mapping) and item.get("path") for item in mixture):
            raise RecipeError("`datasets` must be a list of entries with a `path`", where=path)
        return tuple(loaded(str(one["path"]), one, recipe, path, str(one.get("split") or "train")) for one in mixture)
    name = str(config.get("dataset_name") or "")
    if not name:
        raise RecipeError("the config names no dataset", where=path, fix="set dataset_name or datasets")
    part = None if os.path.exists(name) and split == "train" else split
    return (DatasetRef(name, (name,), recipe, part, text_at(config, "dataset_config", path)),)


def _rows(draft: Draft) -> table.Keys:
    facts = draft.facts
    if facts.format == "text" and facts.fields.get("text", "text") not in ("", "text"):
        draft.keys.setdefault(("dataset_text_field",), facts.fields["text"])
    if facts.loader:
        entry = {"path": facts.loader, "data_files": facts.data, "split": facts.split or "train"}
        return {("datasets",): [entry], ("max_length",): draft.recipe.length.max}  # by which it is known as TRL's
    named: table.Keys = {("dataset_name",): facts.data or "DATASET"}
    return named if facts.other_split is None else {**named, ("dataset_train_split",): facts.split}


def _more(draft: Draft) -> None:
    """A template's file; and what TRL stops at: assistant_only_loss with a template in which it finds no answers."""
    from sftui.trainers.trl.trainer import finds_answers

    if draft.recipe.render.template != "tokenizer":
        draft.template_file("chat_template_path")
    source = draft.facts.chat_template
    if draft.recipe.mask.rule == "generation_tag" and source and not finds_answers(source):
        draft.losses.append(
            "TRL would stop: assistant_only_loss needs {% generation %} tags, which the chat template does not have and"
            " TRL cannot put into it; sftui template --add-generation-tags puts them in"
        )


FORM = Form("TRL", "trl_sft.yaml", TABLE, _rows, usual=with_arguments, more=_more)
write, keys_of = FORM.write, FORM.keys_of


def naming(config: Any, data: str, number: int) -> table.Keys:
    """The changes by which dataset `number` is the JSON lines file `data`; empty where it is not named by itself."""
    entries, entry = config.get("datasets"), {"path": "json", "data_files": data, "split": "train"}
    if isinstance(entries, list) and len(entries) > number:
        changes = {**entry, **{key: REMOVE for key in ("data_dir", "name") if key in entries[number]}}
        return {("datasets", number, key): value for key, value in changes.items()}
    gone = [key for key in ("dataset_config", "dataset_train_split") if key in config]
    return {("dataset_name",): REMOVE, ("datasets",): [entry], **{(key,): REMOVE for key in gone}}


TRUTH = {**dict.fromkeys(("yes", "true", "t", "y", "1"), True), **dict.fromkeys(("no", "false", "f", "n", "0"), False)}
NONE = "none_or_"


def given(config: Mapping[str, Any], known: KnownKeys, where: str) -> dict[str, Any]:
    """The config as the parser gives it to SFTConfig; RecipeError for what it stops at."""
    kinds = {key: kind for kind, keys in known.types.items() for key in keys}
    if not isinstance(config.get("env", {}), Mapping):
        raise RecipeError("`env` is not a mapping", where=where, why="TRL sets its names as environment variables")
    for key, value in config.items():
        if key in known.choices and str(value) not in known.choices[key]:
            listed = ", ".join(sorted(known.choices[key]))
            raise _stopped(key, value, f"`accelerate launch` accepts {listed}", where)
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
    except (KeyError, ValueError):
        raise _stopped(key, value, f"argparse finds no {inner.replace('string_to_', '')} in it", where) from None


def _stopped(key: str, value: Any, why: str, where: str) -> RecipeError:
    return RecipeError(f"`{key}` cannot be {shown(value)}", where=where, why=f"TRL stops at it: {why}")


CONVERT: Mapping[str, Callable[[str], Any]] = {
    "int": int,
    "float": float,
    "string_to_bool": lambda text: TRUTH[text.lower()],
}
