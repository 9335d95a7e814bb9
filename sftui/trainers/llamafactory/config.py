"""LLaMA-Factory's flat YAML and its dataset_info.json, read into recipes and written back.

Source: llamafactory 0.9.5, hparams/data_args.py and model_args.py (a dataclass takes a YAML's values as they are),
data/parser.py (get_dataset_list, DatasetAttr.join) and data/loader.py. `dataset_dir` is relative to the working folder,
whatever the YAML's own place. Where the user opened a config, the YAML is theirs with the changed keys only, and what
describes the dataset is written only if what it says of the data changed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from sftui.conversations.detected import FROM_VALUE, MESSAGE_KEYS
from sftui.errors import RecipeError
from sftui.model import Problem
from sftui.nearest import hint
from sftui.recipe import Data, Recipe, changed, get
from sftui.recipe_io import parse_yaml
from sftui.side_files import object_of, parse_json, read_side_bytes, reason
from sftui.trainers import table
from sftui.trainers.config import (
    DatasetRef,
    Facts,
    KeyNote,
    KeyUse,
    OpenedConfig,
    ReadAgain,
    WrittenFile,
    refuse,
    text_at,
    with_arguments,
    wrong_value,
)
from sftui.trainers.llamafactory import LlamaFactoryOptions, formats
from sftui.trainers.llamafactory.pretrain import STAGE, bos_setting, is_pretraining
from sftui.trainers.llamafactory.registry import NAMES, RELEASE, TEMPLATES
from sftui.trainers.llamafactory.tools import FORMATS
from sftui.trainers.table import Draft, Form, KeyRules, KnownKeys, Remark, unmodelled

OWN = "llamafactory/"
"""Before the name of a template of its registry."""
LEAST = 1e-6
"""The smallest val_size that splits."""
KWARGS = ("enable_thinking", "preserve_thinking")
"""Keys that stand in render.kwargs."""
LISTED = ("add_tokens", "add_special_tokens")
"""Texts with commas, which it splits (hparams/model_args.py)."""
OBJECTIVES = {"dpo": "dpo", "rm": "reward", "kto": "kto"}
"""Stages, to what is learned from preferences in each."""
FORMATTING = {"alpaca": "alpaca", "sharegpt": "sharegpt", "openai": "messages"}


_own = LlamaFactoryOptions.of


def number_of(value: Any) -> float:
    """A number as YAML has it; what is none counts as 0, because LLaMA-Factory compares it first and stops there."""
    return float(value) if isinstance(value, (int, float)) and abs(value) < 1e300 else 0.0


_typed = partial(
    table.typed,
    null="a value",
    why="LLaMA-Factory does not convert YAML values, and stops at the first row where the type is wrong",
)


def _aside(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    """val_size and seed: neither means anything without the other's value."""
    if number_of(config.get("val_size")) <= LEAST:
        return {}
    seed = {"own.seed": config["seed"]} if isinstance(config.get("seed"), int) else {}
    return {"own.val_size": config["val_size"], **seed}


def _own_key(recipe: Recipe, path: str, value: Any) -> table.Keys:
    return {(path.removeprefix("own."),): value}


def _kwargs(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    kwargs = {key: config[key] for key in config if key in KWARGS}
    return {"render.kwargs": {**recipe.render.kwargs, **kwargs}} if kwargs else {}


def _written_kwargs(recipe: Recipe, path: str, value: table.Config) -> table.Noted:
    lost = tuple(f"render.kwargs {key} has no key in LLaMA-Factory's config" for key in value if key not in KWARGS)
    return {(key,): value[key] for key in KWARGS if key in value}, lost


def _written_template(recipe: Recipe, path: str, value: str) -> table.Noted:
    if value.startswith(OWN):
        return {("template",): value.removeprefix(OWN)}, ()
    return {}, (
        f"LLaMA-Factory does not read {value}: put that chat template into the tokenizer's folder and omit `template`",
    )


def _stage(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    """How texts are packed: in stage pt always, but for `packing: false`, which is told from no `packing`."""
    packing = config.get("packing")
    if config.get("stage") == STAGE:
        return {
            "own.stage": STAGE,
            "own.add_bos_token": bos_setting(recipe.tokenizer.name, recipe.tokenizer.revision),
            "own.packing": True if packing else None,
            "batch.multiple": None,
            "pack.strategy": "none" if packing is False else "wrapped",
        }
    if (objective := OBJECTIVES.get(str(config.get("stage")))) is not None:
        return {"loss.objective": objective, **({"own.packing": True} if packing else {})}
    if config.get("neat_packing"):
        flash = {"batch.attention": "none"} if config.get("flash_attn") == "fa2" else {}
        return {"pack.strategy": "neat", "pack.isolate": True, **flash}
    return {"pack.strategy": "knapsack"} if packing else {}


def _written_stage(recipe: Recipe, path: str, value: Any) -> table.Keys | None:
    if path == "loss.objective":
        stages: list[table.Keys] = [{("stage",): stage} for stage, one in OBJECTIVES.items() if one == value]
        return stages[0] if stages else None
    if path in ("own.stage", "own.packing"):
        return _own_key(recipe, path, value)
    if path == "own.add_bos_token":
        return {}  # the tokenizer's own files say it
    if path == "pack.strategy" and value in ("knapsack", "neat"):
        return {("packing" if value == "knapsack" else "neat_packing",): True}
    if (path, value) == ("batch.attention", "none") and recipe.pack.strategy == "neat":
        return {("flash_attn",): "fa2"}
    follows = (path, value) in (("pack.strategy", "wrapped"), ("batch.multiple", None))
    if (is_pretraining(recipe) and follows) or (path == "pack.isolate" and value == (recipe.pack.strategy == "neat")):
        return {}
    return None


def _in_entry(recipe: Recipe, path: str, value: Any) -> table.Noted:
    """What dataset_info.json says of the data, and what it cannot say."""
    if path == "data.format" and value not in ("auto", *FORMATTING.values(), "prompt_completion", "columns"):
        return {}, (f"LLaMA-Factory has no formatting for `{value}` rows",)
    if path == "data.role_map":
        seen = list(value.values())
        twice = sorted({role for role in seen if seen.count(role) > 1})
        return {}, tuple(f"LLaMA-Factory supports one tag per role: {role} has several" for role in twice)
    return {}, ()


TABLE = (
    _typed("cutoff_len", "length.max", int, float, write=table.limit("cutoff_len", "LLaMA-Factory")),
    _typed("preprocessing_batch_size", "pack.group", int, float),
    _typed("default_system", "render.inject_system", str),
    _typed("model_name_or_path", "tokenizer.name", object),
    _typed("model_revision", "tokenizer.revision", object),
    _typed("per_device_train_batch_size", "batch.size", int, float),
    table.same("tool_format", "own.tool_format"),
    table.same("max_samples", "own.max_samples"),
    table.same("preprocessing_num_workers", "own.preprocessing_num_workers"),
    # a dataclass takes any value for a flag, and only asks whether it is true
    table.same("ignore_pad_token_for_loss", "own.ignore_pad_token_for_loss", convert=bool),
    # texts with commas, which it splits; it stops at anything else, which the notes say
    *(table.same(key, f"own.{key}", says=lambda text: isinstance(text, str)) for key in LISTED),
    table.rule(" ".join(KWARGS), "render.kwargs", _kwargs, _written_kwargs),
    table.same("template", "render.template", null=False, convert=lambda name: f"{OWN}{name}", write=_written_template),
    table.flag("train_on_prompt", "mask.rule", "all"),
    table.flag("mask_history", "mask.turns", "last"),
    table.rule("val_size seed", "own.val_size own.seed", _aside, _own_key),
    table.rule(
        "stage packing neat_packing flash_attn",
        "loss.objective own.stage own.packing own.add_bos_token pack.strategy pack.isolate batch.multiple"
        " batch.attention",
        _stage,
        _written_stage,
    ),
    table.rule("", "data.format data.fields data.message_keys data.role_map", table.nothing, _in_entry),
    table.silent("own.formatting", "tokenizer.transformers"),
)
KEYS = table.keys_read(TABLE)


INFO = "dataset_info.json"
METHODS = ("lora", "oft", "freeze", "full")
"""hparams/finetuning_args.py."""
NO_KNOB = frozenset({"dataset", "dataset_dir", "do_train"})
"""Keys that say which data is read, and that it is trained on."""
_TOLD = object_of(Path(__file__).with_name("keys.json"))
UNSUPPORTED: Mapping[str, str] = _TOLD["unsupported"]
"""Keys about data that sftui does not model, and why, where they are set to something; what the dataclasses of
hparams/parser.py `_TRAIN_ARGS` have beside (known_keys.json) decides neither rows nor ids nor labels."""
RULES = KeyRules(
    (KEYS | NO_KNOB) - {"seed"},
    (
        Remark(
            "tool_format",
            f"LLaMA-Factory {RELEASE} has {', '.join(FORMATS)}",
            lambda name: name is not None and str(name) not in FORMATS,
        ),
        Remark(
            "template",
            f"LLaMA-Factory {RELEASE} has no such template",
            lambda name: name is not None and str(name) not in NAMES,
        ),
        Remark("use_fast_tokenizer", "", lambda fast: fast is True, KeyUse.PASSED),
        *unmodelled(UNSUPPORTED, None, False, 0, 0.0, "concat"),
    ),
    passed=KEYS,
    unread="stops at it",
    stops=True,
)
COLUMNS: Mapping[str, str] = _TOLD["columns"]
"""Columns of an entry, by LLaMA-Factory's name, to ours."""

TAGS: Mapping[str, str] = _TOLD["tags"]
MESSAGE_TAGS = {"role_tag": "role", "content_tag": "content"}
STAGES: Mapping[str, str] = _TOLD["stages"]
"""What LLaMA-Factory's other stages train on."""
MEDIA = ("images", "videos", "audios")
ELSEWHERE: Mapping[str, str] = _TOLD["elsewhere"]
ENTRY_KEYS = frozenset((*_TOLD["entry"].split(), *ELSEWHERE))
LOCATION = ("file_name", "hf_hub_url", "subset", "split", "folder")
"""Keys of an entry that say where its rows are."""


def read(path: str, text: str, preset: Recipe, known: KnownKeys) -> OpenedConfig:
    """The config as one recipe a dataset; RecipeError where LLaMA-Factory itself would stop."""
    config = dict(parse_yaml(text, path, "omegaconf"))
    refuse(_problems(config, known), path)
    notes = [_note(str(key), value, known) for key, value in config.items()]
    recipe = table.read_into(with_arguments(preset), TABLE, config, path)
    names = _names(config.get("dataset"))
    if not names:
        why, fix = "LLaMA-Factory requires one for training", "set dataset to names from dataset_info.json"
        raise RecipeError("the config names no dataset", where=path, why=why, fix=fix)
    references = []
    folder = config.get("dataset_dir", "data")
    info = None if folder == "ONLINE" else read_info(folder, path)
    for name in names:
        entry = {"hf_hub_url": name} if info is None else info.get(name)
        if not isinstance(entry, Mapping):
            fix = f"add it to {Path(str(folder)) / INFO}"
            raise RecipeError(f"Undefined dataset {name} in {INFO}", where=path, fix=fix)
        references.append(_reference(name, entry, Path(str(folder)), recipe, path))
        notes += [_entry_note(name, str(key), value) for key, value in entry.items()]
    return OpenedConfig(preset.trainer, path, text, tuple(references), tuple(notes), config=config)


def evaluation(opened: OpenedConfig, read_again: ReadAgain) -> OpenedConfig | None:
    """The sets of `eval_dataset`, by their own entries of dataset_info.json and else as those that train: also cut and
    packed (LLaMA-Factory 0.9.5, data/loader.py get_dataset); RecipeError where they are prepared for generation."""
    config = opened.config
    if not config.get("eval_dataset"):
        return None
    if config.get("predict_with_generate"):
        why = "predict_with_generate prepares evaluation rows without labels"
        raise RecipeError("sftui does not show the evaluation set", where=opened.path, why=why)
    rest = {key: value for key, value in config.items() if key not in ("eval_dataset", "val_size")}
    return read_again({**rest, "dataset": config["eval_dataset"]})


def read_info(folder: Any, where: str) -> Mapping[str, Any]:
    """dataset_info.json of a dataset_dir; RecipeError that names the file where it cannot be read."""
    if isinstance(folder, Mapping):
        return folder
    if str(folder).startswith("REMOTE:"):
        why = "sftui does not download configs"
        fix = "download its dataset_info.json and point dataset_dir at its folder"
        raise RecipeError(f"dataset_dir `{folder}` is on the Hub", where=where, why=why, fix=fix)
    file = Path(str(folder)) / INFO
    try:
        value = parse_json(read_side_bytes(file))
    except OSError as error:
        why = f"{reason(error)}; dataset_dir is relative to the working folder {Path.cwd()}"
        fix = "start sftui where you start llamafactory-cli, or give an absolute dataset_dir"
        raise RecipeError(f"cannot open {file}", where=where, why=why, fix=fix) from error
    except ValueError as error:
        raise RecipeError(f"{file} is not valid JSON", where=where, why=str(error), fix="fix the file") from error
    if not isinstance(value, Mapping):
        raise RecipeError(f"{file} is not a mapping of datasets", where=where)
    return value


def _problems(config: table.Config, known: KnownKeys) -> Iterator[Problem]:
    """Why LLaMA-Factory's own train command stops at a file, in the words of what that is for; the combinations that it
    refuses; and the stages that sftui has no rules for."""
    strange = [str(key) for key in config if str(key) not in known.config]
    stops = f"`llamafactory-cli train` stops at {', '.join(f'`{key}`' for key in strange[:3])}"
    if "compute_environment" in config or "distributed_type" in config:
        yield Problem("this is a config for `accelerate launch`", stops, "open the config it launches")
    if "model_name_or_path" not in config and ("train_dataset" in config or "model" in config):
        what = "this is a config for LLaMA-Factory's v1 engine (USE_V1=1)"
        yield Problem(what, f"without it {stops}", "open it with --trainer llamafactory-v1")
    if config and len(strange) == len(config):
        yield Problem("none of its keys belongs to LLaMA-Factory", stops, "open a training config")
    stage, stages = config.get("stage", "sft"), ("sft", STAGE, *OBJECTIVES)
    if not config.get("dataset") and not config.get("do_train") and stage in stages:
        use = "it has no do_train either, like configs for chat and api"
        if config.get("export_dir") or config.get("eval_dataset"):
            use = "it merges a model (export_dir)" if config.get("export_dir") else "it predicts on eval_dataset"
        yield Problem("the config names no dataset and trains on nothing", use, "open a config with a dataset")
    if stage not in stages:
        why = f"it trains on {STAGES.get(str(stage), 'other data')}; sftui supports the stages {', '.join(stages)}"
        yield Problem(f"sftui does not model stage `{stage}`", why, "open a config with stage: sft")
    for key in ("neat_packing", "train_on_prompt", "mask_history"):
        if stage != "sft" and config.get(key):
            yield Problem(f"`{key}` cannot be set as True except SFT", fix="set it to false")
    if config.get("mask_history") and config.get("train_on_prompt"):
        yield Problem("`mask_history` is incompatible with `train_on_prompt`", fix="set one of them to false")
    template = TEMPLATES.get(str(config.get("template")))
    if config.get("train_on_prompt") and template is not None and template.efficient_eos:
        yield Problem(f"the template {template.name} does not support `train_on_prompt`", fix="set it to false")
    for wrong in _wrong_method(config):
        yield Problem(wrong, "LLaMA-Factory stops there", "remove one of the two keys")
    if config.get("eval_dataset") and number_of(config.get("val_size")) > LEAST:
        yield Problem("Cannot specify `val_size` if `eval_dataset` is not None", fix="set one of them")


def _wrong_method(config: table.Config) -> Iterator[str]:
    """The model's keys that do not go together, as LLaMA-Factory says it (hparams/parser.py, _verify_model_args)."""
    method, adapters = config.get("finetuning_type", "lora"), config.get("adapter_name_or_path")
    if adapters is not None and method != "lora":
        yield "Adapter is only valid for the LoRA method."
    if config.get("quantization_bit") is None:
        return
    if method not in ("lora", "oft"):
        yield "Quantization is only compatible with the LoRA or OFT method."
    if config.get("pissa_init"):
        yield "Please use scripts/pissa_init.py to initialize PiSSA for a quantized model."
    if config.get("resize_vocab"):
        yield "Cannot resize embedding layers of a quantized model."
    if adapters is not None and config.get("create_new_adapter"):
        yield "Cannot create new adapter upon a quantized model."
    if isinstance(adapters, str) and len(adapters.split(",")) != 1:
        yield "Quantized model only accepts a single adapter. Merge them first."


def _note(key: str, value: Any, known: KnownKeys) -> KeyNote:
    """What becomes of a key."""
    if key in LISTED and value is not None and not isinstance(value, str):
        return known.stops(key, value, f"AttributeError: {type(value).__name__!r} object has no attribute 'split'")
    if key == "finetuning_type" and value not in METHODS:
        return known.stops(key, value, "AssertionError: Invalid fine-tuning method.")
    return RULES.note(key, value, known, known.config)


def _names(value: Any) -> list[str]:
    listed = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    return [str(name).strip() for name in listed]


def _reference(name: str, entry: Mapping[str, Any], folder: Path, recipe: Recipe, path: str) -> DatasetRef:
    where = f"{path}: {INFO} `{name}`"
    refuse(_entry_problems(entry, where, recipe.paired), where)
    recipe = _data(entry, recipe)
    split = str(entry.get("split") or "train")
    if "hf_hub_url" in entry:
        return DatasetRef(name, (str(entry["hf_hub_url"]),), recipe, split, text_at(entry, "subset", where))
    return DatasetRef(name, (str(folder / str(entry["file_name"])),), recipe, None if split == "train" else split)


def _entry_problems(entry: Mapping[str, Any], where: str, paired: bool) -> Iterator[Problem]:
    """Why LLaMA-Factory does not read an entry, or sftui does not."""
    what = "The dataset is not applicable in the current training stage"
    if entry.get("ranking") and not paired:
        yield Problem(what, "it is a preference set (ranking)", "choose another dataset, or set stage to dpo or rm")
    if paired and entry.get("ranking") is not True:
        yield Problem(what, "it is not a preference set", "choose another dataset, or add `ranking: true` to the entry")
    formatting, tags = entry.get("formatting", "alpaca"), entry.get("tags")
    if not isinstance(formatting, str) or formatting not in FORMATTING:
        fix = f"set formatting to {', '.join(FORMATTING)}"
        yield Problem(f"Dataset converter {formatting} not found", fix=fix)
    for key in ("columns", "tags"):
        if entry.get(key) is not None and not isinstance(entry[key], Mapping):
            raise wrong_value(key, entry[key], "a mapping of names", where)
    if isinstance(tags, Mapping) and formatting != "alpaca" and not all(map(tags.get, MESSAGE_TAGS)):
        why = "setting `tags` clears those that it does not name"
        yield Problem("the tags lack a role_tag or a content_tag", why, "add them to the tags")
    if "hf_hub_url" in entry:
        return
    for key, place in ELSEWHERE.items():
        if key in entry:
            what = f"the dataset comes from {place} ({key})"
            yield Problem(what, "sftui does not read from there", "download it and set file_name to it")
    if not entry.get("file_name"):
        yield Problem("the entry names no file", fix="set file_name or hf_hub_url")


def _data(entry: Mapping[str, Any], recipe: Recipe) -> Recipe:
    """`data.*` of an entry; giving columns or tags leaves the ones not named without a value."""
    formatting = entry.get("formatting", "alpaca")
    recipe = changed(recipe, "data.format", FORMATTING[formatting])
    if formatting == "openai":
        recipe = changed(recipe, "own.formatting", formatting)
    columns, tags = entry.get("columns"), entry.get("tags")
    if isinstance(columns, Mapping):
        fields = {COLUMNS[key]: value for key, value in columns.items() if key in COLUMNS and value}
        recipe = changed(recipe, "data.fields", fields)
    if isinstance(tags, Mapping):
        named = {ours: str(tags[key]) for key, ours in MESSAGE_TAGS.items() if tags.get(key)}
        recipe = changed(recipe, "data.message_keys", named)
        recipe = changed(recipe, "data.role_map", {str(tags[key]): ours for key, ours in TAGS.items() if tags.get(key)})
    return recipe


def _entry_note(name: str, key: str, value: Any) -> KeyNote:
    path = f"dataset_info.{name}.{key}"
    if key == "num_samples" and value is not None:
        return KeyNote(path, value, KeyUse.UNSUPPORTED, "rows are drawn at random: sftui shows all rows")
    if key == "folder" and value is not None:
        return KeyNote(path, value, KeyUse.UNSUPPORTED, "a folder inside a Hub dataset")
    if key == "columns" and isinstance(value, Mapping) and any(value.get(media) for media in MEDIA):
        return KeyNote(path, value, KeyUse.UNSUPPORTED, "sftui does not model images, video or audio")
    if key in ENTRY_KEYS:
        return KeyNote(path, value, KeyUse.USED)
    return KeyNote(path, value, KeyUse.UNKNOWN, f"LLaMA-Factory never reads it{hint(key, sorted(ENTRY_KEYS))}")


def _rows(draft: Draft) -> table.Keys:
    recipe, facts = draft.recipe, draft.facts
    data = facts.data or "DATA"
    name = Path(data.rstrip("/")).name.split(".")[0] or "data"
    entry = {"file_name": str(Path(data).absolute())} if facts.local else {"hf_hub_url": data}
    if facts.other_split is not None:
        entry["split"] = facts.other_split
    described = json.dumps({name: {**entry, **entry_of(recipe, facts)}}, ensure_ascii=False, indent=2)
    draft.files.append(WrittenFile(INFO, described + "\n"))
    if not facts.folder:
        draft.notes.append(
            f"run llamafactory-cli train {FORM.name} in this folder: dataset_dir is relative to it ({INFO} is here)"
        )
    if recipe.render.template == "tokenizer":
        draft.notes.append("template is not set: LLaMA-Factory parses the tokenizer's own chat template")
    return {("stage",): "sft", ("do_train",): True, ("dataset",): name, ("dataset_dir",): facts.folder or "."}


def _changes(draft: Draft, opened: OpenedConfig, changes: table.Keys) -> table.Keys:
    """With `packing` and `neat_packing` set where the user's text has them, since either alone turns packing on; what
    describes the dataset is written where what it says changed, and named where it stands elsewhere."""
    recipe, before, folder = draft.recipe, opened.recipe, draft.facts.folder
    read = any(get(recipe, path) != get(before, path) for path in ("data", "own.formatting", "loss.objective"))
    if read or opened.moved_to(draft.facts):
        draft.files.append(_changed_info(recipe, opened, draft.facts))
        if folder and os.path.realpath(folder) != os.path.realpath(str(opened.config.get("dataset_dir", "data"))):
            changes = {**changes, ("dataset_dir",): folder}
    strategy = recipe.pack.strategy
    if strategy == before.pack.strategy:
        return changes
    packing = {"packing": strategy in ("knapsack", "neat", "wrapped"), "neat_packing": strategy == "neat"}
    return {**changes, **{(key,): on for key, on in packing.items() if key in opened.config}}


def _corrected(recipe: Recipe, keys: table.Keys, losses: list[str]) -> table.Keys:
    return {**keys, ("packing",): False} if is_pretraining(recipe) and recipe.pack.strategy == "none" else keys


FORM = Form(
    "LLaMA-Factory", "llamafactory_sft.yaml", TABLE, _rows, usual=with_arguments, corrected=_corrected, changes=_changes
)
write, keys_of = FORM.write, FORM.keys_of


def entry_of(recipe: Recipe, facts: Facts) -> dict[str, Any]:
    """What dataset_info.json says of the data, as `facts` have it where the recipe leaves the format open."""
    data = recipe.data
    kind, fields, names, roles = data.format, data.fields, data.message_keys, data.role_map
    openai = _own(recipe).formatting == "openai"
    if kind == "auto":
        kind, fields = facts.format or "alpaca", facts.fields or fields
        names, roles = facts.message_keys or names, facts.role_map or roles
    roles = {theirs: "observation" if ours == "tool" else ours for theirs, ours in roles.items()}
    unnamed = roles == Data().role_map or formats.ROLES.keys() <= roles.keys()
    roles = dict(formats.ROLES) if unnamed else roles  # nobody chose names: they are those of the format
    if kind == "messages" and not openai:  # role and content: sharegpt with tags to LLaMA-Factory
        kind, names, fields = "sharegpt", names or MESSAGE_KEYS, fields or {"messages": "messages"}
        roles = dict(formats.CHAT_ROLES) if roles == formats.ROLES else roles
    elif kind in ("prompt_completion", "columns"):
        columns = {"instruction": "prompt", **({} if recipe.paired else {"output": "completion"})}
        kind, fields = "alpaca", {ours: fields.get(name, name) for ours, name in columns.items()}
    formatting = next((name for name, ours in FORMATTING.items() if ours == kind), "alpaca")
    entry: dict[str, Any] = {} if formatting == "alpaca" else {"formatting": formatting}
    answers = formats.answers_of(recipe.loss.objective)
    default = formats.ALPACA_FIELDS if formatting == "alpaca" else formats.MESSAGE_FIELDS
    if answers:
        fields = fields or (formats.alpaca_fields(answers) if formatting == "alpaca" else {**default, **answers})
        entry.update({"ranking": True} if recipe.paired else {})
    if fields and dict(fields) != default:
        entry["columns"] = {theirs: fields[ours] for theirs, ours in COLUMNS.items() if ours in fields}
    if formatting != "alpaca" and (dict(names or FROM_VALUE), roles) != (FROM_VALUE, formats.ROLES):
        named = names or FROM_VALUE
        tags = {theirs: named[ours] for theirs, ours in MESSAGE_TAGS.items() if ours in named}
        back = {ours: theirs for theirs, ours in reversed(list(roles.items()))}
        entry["tags"] = {**tags, **{theirs: back[ours] for theirs, ours in TAGS.items() if ours in back}}
    return entry


def row_keys(recipe: Recipe) -> dict[str, Any]:
    """What dataset_info.json says of the rows, by the places of its keys."""
    return {
        f"{INFO} {name}" + (f".{key}" if key else ""): said
        for name, value in entry_of(recipe, Facts()).items()
        for key, said in (value.items() if isinstance(value, dict) else (("", value),))
    }


def _changed_info(recipe: Recipe, opened: OpenedConfig, facts: Facts) -> WrittenFile:
    """The user's dataset_info.json with the entry of the open dataset changed, which names the file of its rows; files
    are named by their whole paths, from wherever it stands."""
    held = opened.config.get("dataset_dir", "data")
    info = {} if held == "ONLINE" else dict(read_info(held, opened.path))
    for other, entry in info.items() if facts.folder else ():
        if isinstance(entry, Mapping) and isinstance(entry.get("file_name"), str):
            info[other] = {**entry, "file_name": os.path.abspath(os.path.join(str(held), entry["file_name"]))}
    name, moved = opened.datasets[opened.chosen].name, opened.moved_to(facts)
    said = info.get(name, {"hf_hub_url": name})
    gone = {"formatting", "columns", "tags", "ranking", *((*LOCATION, *ELSEWHERE) if moved else ())}
    media = {key: value for key, value in (said.get("columns") or {}).items() if key not in COLUMNS}
    entry = entry_of(recipe, facts)
    if media:
        entry["columns"] = {**entry.get("columns", {}), **media}
    file = {"file_name": moved} if moved else {}
    info[name] = {**file, **{key: value for key, value in said.items() if key not in gone}, **entry}
    return WrittenFile(INFO, json.dumps(info, ensure_ascii=False, indent=2) + "\n")
