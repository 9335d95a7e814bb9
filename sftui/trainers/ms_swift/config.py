"""ms-swift's flat YAML or JSON (`swift sft FILE`) and its command lines: read into recipes, and written back.

Source: ms-swift 4.6.0, cli/main.py (parse_yaml_args), arguments/ (SftArguments and RLHFArguments, read by transformers'
HfArgumentParser), dataset/dataset_syntax.py, loss_scale/mapping.py. Every value of a YAML becomes a word, null the word
`None`. Every key is a flag; one that no argument has stops the run. A config with rlhf_type is one of `swift rlhf`. A
command line is read from a script that holds `swift sft`, `swift pt` or `swift rlhf`. Paths are relative to the working
folder.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Container, Mapping
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

from sftui.errors import RecipeError
from sftui.recipe import Mask, Recipe, changed
from sftui.recipe_io import parse_yaml
from sftui.side_files import object_of, read_side_file
from sftui.trainers import table
from sftui.trainers.config import DatasetRef, KeyNote, KeyUse, OpenedConfig, ReadAgain, WrittenFile
from sftui.trainers.ms_swift import MsSwiftOptions
from sftui.trainers.ms_swift.registry import STRATEGIES, TITLE, model_of, prepares
from sftui.trainers.table import Draft, Form, KnownKeys, edited
from sftui.trainers.yaml_edit import edit

_TOLD = object_of(Path(__file__).with_name("keys.json"))
OWN = "ms-swift/"
OVER = {"delete": "drop", "left": "cut_left", "right": "cut_right", "split": "split"}
TRUE, FALSE = ("yes", "true", "t", "y", "1"), ("no", "false", "f", "n", "0")
COLUMNS: Mapping[str, str] = _TOLD["columns"]
"""Fields of sftui → what ms-swift calls their column."""


Parse = Callable[[str, str, str], Any]
"""What a word says, by the word, its key and the name of the config; RecipeError where the parser stops at it."""


def word(value: Any) -> str:
    """A value as the word that reaches the parser."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping) else str(value)


def _counted(kind: Callable[[str], float], wanted: str) -> Parse:
    def parse(text: str, key: str, where: str) -> float:
        try:
            return kind(text)
        except ValueError:
            raise _stops(key, text, wanted, where) from None

    return parse


whole, number = _counted(int, "an integer"), _counted(float, "a number")


def truth(text: str, key: str, where: str) -> bool:
    if text.lower() in TRUE:
        return True
    if text.lower() in FALSE:
        return False
    raise _stops(key, text, "true or false", where)


def plain(text: str, key: str, where: str) -> str:
    return text


def _stops(key: str, text: str, wanted: str, where: str) -> RecipeError:
    null = ": in a YAML file, null is read as the word None" if text == "None" else ""
    return table.odd_value(key, text, where, f"{TITLE} stops{null}", f"write {wanted}, or omit the key")


def one(config: table.Config, key: str, where: str) -> str | None:
    """The word of a key that takes one; None where it is absent."""
    return _only(config[key], key, where) if key in config else None


def _only(value: Any, key: str, where: str) -> str:
    if isinstance(value, list):
        if len(value) != 1:
            raise _stops(key, " ".join(map(str, value)), "one value", where)
        value = value[0]
    return word(value)


def _same(
    key: str, knob: str, read: Callable[[str, str, str], Any] = plain, write: table.Write | None = None
) -> table.KeyEntry:
    """A key that is one knob, converted as the parser does."""
    return table.keyed(key, knob, lambda value, where: read(_only(value, key, where), key, where), write)


def _choice(key: str, knob: str, choices: Mapping[str, str]) -> table.KeyEntry:
    """A key of which some words stand for choices of a knob; ms-swift stops at any other."""

    def chosen(text: str, key: str, where: str) -> str:
        if text not in choices:
            raise _stops(key, text, " or ".join(choices), where)
        return choices[text]

    return _same(key, knob, chosen, table.words(key, knob, choices).write)


OBJECTIVES = {"dpo": "dpo", "orpo": "orpo", "simpo": "cpo", "cpo": "cpo", "rm": "reward", "kto": "kto"}
"""rlhf_type → loss.objective, of those that are modelled; of two that are prepared alike the last one
is written."""


def _loss_scale(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    kind = one(config, "rlhf_type", where)
    if kind is not None and kind not in OBJECTIVES:
        why = f"it reads the types {', '.join(OBJECTIVES)}"
        raise RecipeError(f"sftui does not model rlhf_type `{kind}`", where=where, why=why, fix="open another config")
    said = {} if kind is None else {"loss.objective": OBJECTIVES[kind]}
    text = one(config, "loss_scale", where)
    if text is None:  # arguments/rlhf_args.py, _set_loss_scale
        return said if kind in (None, "orpo") else {**said, "mask.turns": "last"}
    first, _, rest = text.partition("+")
    if first not in STRATEGIES:
        first, rest = "default", text
    return said | {
        "mask.rule": "all" if first == "all" else "parts",
        "mask.turns": "last" if first == "last_round" else "all",
        "own.loss_scale": rest or None,
    }


def strategy_of(mask: Mask) -> str:
    """The base strategy of the loss scale."""
    return "all" if mask.rule == "all" else "last_round" if mask.turns == "last" else "default"


def _written_loss_scale(recipe: Recipe, path: str, value: Any) -> table.Keys | None:
    mask, more, objective = recipe.mask, getattr(recipe.own, "loss_scale", None), recipe.loss.objective
    if mask.rule not in ("parts", "all") or (mask.rule == "all" and mask.turns == "last"):
        return None
    first = strategy_of(mask)
    text = f"{first}+{more}" if more and first != "default" else more or first
    kinds = {ours: theirs for theirs, ours in OBJECTIVES.items()}
    said: table.Keys = {("rlhf_type",): kinds[objective]} if objective in kinds else {}
    return None if objective != "sft" and not said else {**said, ("loss_scale",): text}


def _written_template(recipe: Recipe, path: str, value: str) -> table.Keys | str:
    if value.startswith(OWN):
        return {("template",): value.removeprefix(OWN)}
    return {} if value == "tokenizer" else "it uses its own templates, by name"


def _with_breaks(text: str, key: str, where: str) -> str:
    return text.replace("\\n", "\n")


def _system(text: str, key: str, where: str) -> str:
    named = text.endswith(".txt")
    return read_side_file(text, "the system text", RecipeError) if named else _with_breaks(text, key, where)


def _written_system(recipe: Recipe, path: str, value: str) -> table.Noted:
    if value.endswith(".txt"):
        return {("system",): value}, ("render.inject_system ends with .txt, so ms-swift treats it as a file",)
    return _with_line_feeds("system", recipe, path, value)


def _with_line_feeds(key: str, recipe: Recipe, path: str, value: str) -> table.Noted:
    """A text in which ms-swift reads a backslash and an n as a line feed (template_args.py, __post_init__)."""
    lost = (f"ms-swift reads the \\n of {path} as a line feed",) if "\\n" in value else ()
    return {(key,): value}, lost


def _packing(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    text = one(config, "packing", where)
    if text is None or not truth(text, "packing", where):
        return {}
    strategy = one(config, "packing_strategy", where) or "binpack"
    if strategy not in ("binpack", "sequential"):
        raise _stops("packing_strategy", strategy, "binpack or sequential", where)
    return {"pack.strategy": strategy, "pack.isolate": True}


def _written_packing(recipe: Recipe, path: str, value: Any) -> table.Keys | str | None:
    strategy = recipe.pack.strategy
    if strategy not in ("none", "binpack", "sequential"):
        return None
    packs = strategy != "none"
    if path == "pack.isolate" and recipe.pack.isolate is not packs:
        return "it always keeps documents apart, by position ids" if packs else "it does not pack rows"
    if not packs:
        return {}
    return {("packing",): True, **({("packing_strategy",): strategy} if strategy == "sequential" else {})}


def _written_columns(recipe: Recipe, path: str, value: Any) -> table.Noted:
    """`columns` of the config, and the columns that data.fields names."""
    given = getattr(recipe.own, "columns", None)
    try:
        mapping: Any = json.loads(given) if given else {}
    except ValueError:
        mapping = None
    if not isinstance(mapping, dict):
        return {("columns",): given}, ()
    mapping |= {column: COLUMNS[ours] for ours, column in recipe.data.fields.items() if ours in COLUMNS}
    lost = tuple(
        f"data.fields {ours} = {column!r} is not one of {TITLE}'s columns"
        for ours, column in recipe.data.fields.items()
        if ours not in COLUMNS and path == "data.fields"
    )
    return ({("columns",): json.dumps(mapping, ensure_ascii=False)} if mapping else {}), lost


def _aside(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    """Beside a val_dataset none of the rows is set aside (arguments/base_args/data_args.py)."""
    share = _same("split_dataset_ratio", "own.split_dataset_ratio", number)
    return {} if config.get("val_dataset") else share.read(config, recipe, where)


PARSES: Mapping[str, Parse] = {"bool": truth, "int": whole, "float": number, "str": plain}
RULED = frozenset({"loss_scale", "columns", "response_prefix", "split_dataset_ratio", "dataset_sample"})
"""Options of its own that are no keys of their names, or are not read as they stand."""
TABLE = (
    _same("model", "tokenizer.name"),
    _same("model_revision", "tokenizer.revision"),
    _same("template", "render.template", lambda text, key, where: f"{OWN}{text}", _written_template),
    _same("system", "render.inject_system", _system, _written_system),
    _same("max_length", "length.max", whole),
    _choice("truncation_strategy", "length.over", OVER),
    table.rule(
        "loss_scale rlhf_type", "loss.objective mask.rule mask.turns own.loss_scale", _loss_scale, _written_loss_scale
    ),
    table.rule("packing packing_strategy", "pack.strategy pack.isolate", _packing, _written_packing),
    _same("per_device_train_batch_size", "batch.size", whole),
    _choice("padding_side", "batch.pad_side", {"left": "left", "right": "right"}),
    _same("padding_free", "batch.flatten", truth),
    table.rule("columns", "own.columns data.fields", _same("columns", "own.columns").read, _written_columns),
    _same("response_prefix", "own.response_prefix", _with_breaks, partial(_with_line_feeds, "response_prefix")),
    table.rule("split_dataset_ratio", "own.split_dataset_ratio", _aside, table.as_is("split_dataset_ratio")),
    *(
        _same(option.name, f"own.{option.name}", PARSES[str(option.type).removesuffix(" | None")])
        for option in fields(MsSwiftOptions)
        if option.name not in RULED
    ),
    table.keyless("data.format", "it decides by the column names", "messages", "alpaca", "columns"),
    table.silent("tokenizer.transformers", "own.dataset_sample"),
)


KEYS = table.keys_read(TABLE)


NO_KNOB = frozenset({"dataset"})
"""Keys about data that no knob says."""
PRETRAINING = {"use_chat_template": False, "loss_scale": "all"}
"""What `swift pt` has otherwise than `swift sft` (arguments/pretrain_args.py)."""
_COMMAND = re.compile(
    r"(?:^|[\s;&|])(?:(?:swift|megatron)\s+(?:sft|pt)|swift\s+rlhf)(?=\s|$)|swift/cli/(?:sft|pt|rlhf)\.py"
)
FILES = (".json", ".jsonl", ".csv", ".txt", ".parquet")
"""How the files of a dataset end."""
STOPS = ("&", "&&", "|", ";", ">", "2>", "2>&1", ">>")
"""Words of a shell that end a command."""
UNSUPPORTED: Mapping[str, str] = _TOLD["unsupported"]
"""Keys that decide rows or ids, and that sftui does not model; each by why, where it says something."""
ONLY = {"task_type": "causal_lm", "template_backend": "swift", "remove_unused_columns": "True"}
"""Keys of which sftui models one value."""


def read(path: str, text: str, preset: Recipe, known: KnownKeys) -> OpenedConfig:
    """The config as one recipe a dataset; RecipeError where ms-swift itself would stop."""
    config, notes = parsed(path, text)
    keys = [note for key, value in config.items() for note in _notes(key, value, config, known)]
    recipe = table.read_into(preset, TABLE, config, path)
    given = config.get("dataset")
    if given is None or given == []:
        raise RecipeError(
            "the config names no dataset", where=path, why="ms-swift stops: Please input the training dataset."
        )
    names = [word(one_) for one_ in given] if isinstance(given, list) else [word(given)]
    references = tuple(_reference(name, recipe) for name in names)
    return OpenedConfig(preset.trainer, path, text, references, tuple(keys), tuple(notes), config=config)


def evaluation(opened: OpenedConfig, read_again: ReadAgain) -> OpenedConfig | None:
    """The sets of `val_dataset`, prepared as those that train, in their order but for val_dataset_shuffle (ms-swift
    4.6.0, arguments/base_args/base_args.py load_dataset, pipelines/train/sft.py _post_process_datasets)."""
    config = opened.config
    if not config.get("val_dataset"):
        return None
    if config.get("predict_with_generate") not in (None, False, "false", "False"):
        why = "predict_with_generate leaves its rows unprepared"
        raise RecipeError("sftui does not show the evaluation set", where=opened.path, why=why)
    left = ("val_dataset", "val_dataset_shuffle", "split_dataset_ratio")
    rest = {key: value for key, value in config.items() if key not in left}
    shuffled = config.get("val_dataset_shuffle", False)
    return read_again({**rest, "dataset": config["val_dataset"], "dataset_shuffle": shuffled})


def parsed(path: str, text: str) -> tuple[dict[str, Any], list[str]]:
    """The keys of a config, or of the command line in a script, and what is to be told of it."""
    found = _COMMAND.search(text)
    if Path(path).suffix not in (".yaml", ".yml", ".json") and found is not None:
        config = _of_words(_words(text, found.end(), path))
        config.pop("config", None)
        if "rlhf" in found[0]:
            return {"rlhf_type": "dpo", **config}, []
        if re.search(r"\bpt\b", found[0]):
            note = "sftui reads it with the defaults of `swift pt`: no chat template, everything trained"
            return {**PRETRAINING, **config}, [note]
        return config, []
    if Path(path).suffix == ".json":
        try:
            value = json.loads(text)
        except ValueError as error:
            raise RecipeError("the config is not JSON", where=path, why=str(error)) from error
        config = dict(value) if isinstance(value, dict) else {}
    else:
        config = {str(key): value for key, value in parse_yaml(text, path, "pyyaml").items()}
    if not config:
        raise RecipeError("the config is empty", where=path, why="ms-swift stops: Please set --model")
    notes = ["the variables under ENV are not read"] if config.pop("ENV", None) else []
    return config, notes


def _words(text: str, start: int, path: str) -> list[str]:
    """The words behind a command, up to where it ends."""
    rest = re.sub(r"\\\r?\n", " ", text[start:]).split("\n", 1)[0]
    try:
        words = shlex.split(rest)
    except ValueError as error:
        raise RecipeError("the command cannot be read", where=path, why=str(error)) from error
    end = next((i for i, one_ in enumerate(words) if one_ in STOPS or one_.startswith("#")), len(words))
    return words[:end]


def _of_words(words: list[str]) -> dict[str, Any]:
    """Flags and their values: none is true, several are a list."""
    found: dict[str, list[str]] = {}
    key = ""
    for one_ in words:
        if one_.startswith("--") and len(one_) > 2:
            name, sign, value = one_[2:].partition("=")
            key = name.replace("-", "_")
            found[key] = [value] if sign else []
        elif key:
            found[key].append(one_)
    return {name: True if not values else values[0] if len(values) == 1 else values for name, values in found.items()}


def _notes(key: str, value: Any, config: Mapping[str, Any], known: KnownKeys) -> list[KeyNote]:
    """What becomes of a key."""
    if key in KEYS or key in NO_KNOB:
        if key == "dataset":
            return [_of_dataset(name, config) for name in (value if isinstance(value, list) else [value])]
        return [KeyNote(key, value, KeyUse.USED)]
    if key in ONLY and word(value).lower() != ONLY[key].lower():
        return [KeyNote(key, value, KeyUse.UNSUPPORTED, f"sftui supports only {ONLY[key]}")]
    if key in UNSUPPORTED and value not in (False, [], "false", "False"):
        return [KeyNote(key, value, KeyUse.UNSUPPORTED, UNSUPPORTED[key])]
    if key in known.config or ("rlhf_type" in config and key in known.plugins.get("rlhf", ())):
        return [KeyNote(key, value, KeyUse.PASSED)]
    return [known.stops(key, value, f"ValueError: remaining_argv: ['--{key}', …]")]


def _of_dataset(name: Any, config: Mapping[str, Any]) -> KeyNote:
    text = word(name)
    place, _ = _placed(text)
    told: list[str] = []
    if prepares(place):
        told.append("ms-swift prepares this dataset with its own code: sftui shows rows without it")
    by_name = not os.path.exists(place) and Path(place).suffix not in FILES
    if by_name and not text.lower().startswith("hf::") and word(config.get("use_hf", False)).lower() not in TRUE:
        told.append("ms-swift loads it from ModelScope unless use_hf is true; sftui reads the Hugging Face copy")
    return KeyNote("dataset", name, KeyUse.UNSUPPORTED if told else KeyUse.USED, "; ".join(told))


def _placed(name: str) -> tuple[str, str | None]:
    """The file, folder or name of a dataset, and its subset, of hub::NAME:SUBSET#ROWS (DatasetSyntax.parse)."""
    rest = name if os.path.exists(name) else name.partition("::")[2] or name
    if not os.path.exists(rest):
        rest = rest.rsplit("#", 1)[0]
    after = ""
    if not os.path.exists(rest):
        rest, _, after = rest.partition(":")
    return rest.strip(), after or None


def _reference(name: str, recipe: Recipe) -> DatasetRef:
    place, subset = _placed(name)
    count = "" if os.path.exists(name) else name.rpartition("#")[2] if "#" in name else ""
    if count.strip().isdecimal() and int(count):
        recipe = changed(recipe, "own.dataset_sample", int(count))
    return DatasetRef(name, (place,), recipe, None if os.path.exists(place) else "train", subset)


def _rows(draft: Draft) -> table.Keys:
    if draft.keys:
        draft.notes.append(_by_flags(draft.keys))
    if ("template",) not in draft.keys:
        draft.notes += _untold(draft.facts.tokenizer or "")
    most = MsSwiftOptions.of(draft.recipe).dataset_sample
    return {("dataset",): [(draft.facts.data or "DATA") + (f"#{most}" if most else "")]}


def _edited(draft: Draft, opened: OpenedConfig, changes: table.Keys) -> WrittenFile:
    """The user's own YAML; of a command line, or JSON, a YAML of the same keys."""
    if Path(opened.path).suffix in (".yaml", ".yml"):
        return edited(draft, opened, changes)
    draft.notes.append(f"the command line is written as a YAML: swift {_command(opened.config)} {FORM.name}")
    said = edit("", {(key,): value for key, value in opened.config.items()})
    return WrittenFile(FORM.name, edit(said, changes))


def _untold(model: str) -> list[str]:
    """What is to be told where the config leaves the template to the model, and ms-swift does not know that."""
    try:
        found = model_of(model, None, None)
    except RecipeError as error:
        return [str(error)]
    if found.stops is not None:
        return [found.stops.sentence()]
    return [] if found.template is not None else [f"set `template` to the model's template: {found.why}"]


def _command(keys: Container[str]) -> str:
    """The word behind `swift` under which a config with these keys is read."""
    return "rlhf" if "rlhf_type" in keys else "sft"


def _by_flags(keys: table.Keys) -> str:
    """The same keys as a command line."""
    words = [text for place, value in keys.items() for text in (f"--{place[0]}", shlex.quote(word(value)))]
    return f"as flags: swift {_command([str(place[0]) for place in keys])} {' '.join(words)}"


FORM = Form(TITLE, "ms_swift.yaml", TABLE, _rows, edited=_edited)
write, keys_of = FORM.write, FORM.keys_of


def naming(config: Any, data: str, number: int) -> table.Keys:
    """The changes by which the config trains on a file of JSON lines."""
    return {("dataset",): [data]} if isinstance(config, Mapping) else {}
