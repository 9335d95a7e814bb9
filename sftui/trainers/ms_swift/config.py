"""ms-swift's flat YAML or JSON (`swift sft FILE`) and its command lines: read into recipes, and written back.

Source: ms-swift 4.6.0, cli/main.py (parse_yaml_args), arguments/sft_args.py, dataset/dataset_syntax.py. Every key is a
flag; one that no argument has stops the run. A command line is read from a script that holds `swift sft` or `swift pt`.
Paths are relative to the working folder.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sftui.errors import RecipeError
from sftui.recipe import Recipe, changed
from sftui.recipe_io import parse_yaml
from sftui.side_files import object_of
from sftui.trainers.config import DatasetRef, KeyNote, KeyUse, OpenedConfig, WrittenConfig, WrittenFile
from sftui.trainers.known import Known
from sftui.trainers.ms_swift import MsSwiftOptions
from sftui.trainers.ms_swift.models import model_of, prepares
from sftui.trainers.ms_swift.registry import TITLE
from sftui.trainers.ms_swift.table import KEYS, TABLE, TRUE, word
from sftui.trainers.table import Keys, changes_of, read_into, written
from sftui.trainers.yaml_edit import edit

FILE = "ms_swift.yaml"
NO_KNOB = frozenset({"dataset"})
"""Keys about data that no knob says."""
PRETRAINING = {"use_chat_template": False, "loss_scale": "all"}
"""What `swift pt` has otherwise than `swift sft` (arguments/pretrain_args.py)."""
_COMMAND = re.compile(r"(?:^|[\s;&|])(?:swift|megatron)\s+(sft|pt)(?=\s|$)|swift/cli/(sft|pt)\.py")
FILES = (".json", ".jsonl", ".csv", ".txt", ".parquet")
"""How the files of a dataset end."""
STOPS = ("&", "&&", "|", ";", ">", "2>", "2>&1", ">>")
"""Words of a shell that end a command."""
_TOLD = object_of(Path(__file__).with_name("keys.json"))
UNSUPPORTED: Mapping[str, str] = _TOLD["unsupported"]
"""Keys that decide rows or ids, and that sftui does not model; each by why, where it says something."""
ONLY = {"task_type": "causal_lm", "template_backend": "swift", "remove_unused_columns": "True"}
"""Keys of which sftui models one value."""

__all__ = ["TABLE", "keys_of", "naming", "read", "write"]


def read(path: str, text: str, preset: Recipe, known: Known) -> OpenedConfig:
    """The config as one recipe a dataset; RecipeError where ms-swift itself would stop."""
    config, notes = parsed(path, text)
    keys = [note for key, value in config.items() for note in _notes(key, value, config, known)]
    recipe = read_into(preset, TABLE, config, path)
    given = config.get("dataset")
    if given is None or given == []:
        raise RecipeError(
            "the config names no dataset", where=path, why="ms-swift stops: Please input the training dataset."
        )
    names = [word(one_) for one_ in given] if isinstance(given, list) else [word(given)]
    references = tuple(_reference(name, recipe) for name in names)
    return OpenedConfig(preset.trainer, path, text, references, tuple(keys), tuple(notes), config=config)


def parsed(path: str, text: str) -> tuple[dict[str, Any], list[str]]:
    """The keys of a config, or of the command line in a script, and what is to be told of it."""
    found = _COMMAND.search(text)
    if Path(path).suffix not in (".yaml", ".yml", ".json") and found is not None:
        config = _of_words(_words(text, found.end(), path))
        if "config" in config:
            config.pop("config")
        kind = found[1] or found[2]
        if kind == "pt":
            return {**PRETRAINING, **config}, ["it is read as `swift pt` has it: no chat template, everything trained"]
        return config, []
    if Path(path).suffix == ".json":
        try:
            value = json.loads(text)
        except ValueError as error:
            raise RecipeError("the config is no JSON", where=path, why=str(error)) from error
        config = dict(value) if isinstance(value, dict) else {}
    else:
        config = {str(key): value for key, value in parse_yaml(text, path, "pyyaml").items()}
    if not config:
        raise RecipeError("the config says nothing", where=path, why="ms-swift stops: Please set --model")
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


def _notes(key: str, value: Any, config: Mapping[str, Any], known: Known) -> list[KeyNote]:
    """What becomes of a key."""
    if key in KEYS or key in NO_KNOB:
        if key == "dataset":
            return [_of_dataset(name, config) for name in (value if isinstance(value, list) else [value])]
        return [KeyNote(key, value, KeyUse.USED)]
    if key in ONLY and word(value).lower() != ONLY[key].lower():
        return [KeyNote(key, value, KeyUse.UNSUPPORTED, f"sftui knows {ONLY[key]} alone")]
    if key in UNSUPPORTED and value not in (False, [], "false", "False"):
        return [KeyNote(key, value, KeyUse.UNSUPPORTED, UNSUPPORTED[key])]
    if key in known.config:
        return [KeyNote(key, value, KeyUse.PASSED)]
    return [known.stops(key, value, f"ValueError: remaining_argv: ['--{key}', …]")]


def _of_dataset(name: Any, config: Mapping[str, Any]) -> KeyNote:
    text = word(name)
    place, _ = _placed(text)
    told: list[str] = []
    if prepares(place):
        told.append("ms-swift has a preparation of its own for this dataset: rows are shown as if it had none")
    by_name = not Path(place).exists() and Path(place).suffix not in FILES
    if by_name and not text.lower().startswith("hf::") and word(config.get("use_hf", False)).lower() not in TRUE:
        told.append("ms-swift takes it from ModelScope where use_hf is not true: sftui reads that of Hugging Face")
    return KeyNote("dataset", name, KeyUse.UNSUPPORTED if told else KeyUse.USED, "; ".join(told))


def _placed(name: str) -> tuple[str, str | None]:
    """The file, folder or name of a dataset, and its subset, of hub::NAME:SUBSET#ROWS (DatasetSyntax.parse)."""
    rest = name if Path(name).exists() else name.partition("::")[2] or name
    if not Path(rest).exists():
        rest = rest.rsplit("#", 1)[0]
    subset: str | None = None
    if not Path(rest).exists():
        rest, _, after = rest.partition(":")
        subset = after or None
    return rest.strip(), subset


def _reference(name: str, recipe: Recipe) -> DatasetRef:
    place, subset = _placed(name)
    count = "" if Path(name).exists() else name.rpartition("#")[2] if "#" in name else ""
    if count.strip().isdecimal() and int(count):
        recipe = changed(recipe, "own.dataset_sample", int(count))
    return DatasetRef(name, (place,), recipe, None if Path(place).exists() else "train", subset)


def write(recipe: Recipe, preset: Recipe, opened: OpenedConfig | None, facts: Mapping[str, Any]) -> WrittenConfig:
    """The YAML that makes ms-swift do what the recipe says."""
    wanted, losses = keys_of(recipe, preset)
    if opened is not None:
        before = keys_of(opened.recipe, preset)[0]
        changes = changes_of(wanted, before)
        if Path(opened.path).suffix in (".yaml", ".yml"):
            text = edit(opened.text, changes, opened.path)
            return WrittenConfig((WrittenFile(Path(opened.path).name, text),), tuple(losses))
        config, _ = parsed(opened.path, opened.text)
        text = edit(edit("", {(key,): value for key, value in config.items()}), changes)
        note = "the command line is written as a YAML: swift sft ms_swift.yaml"
        return WrittenConfig((WrittenFile(FILE, text),), tuple(losses), (note,))
    notes = [_by_flags(wanted)] if wanted else []
    most = MsSwiftOptions.of(recipe).dataset_sample
    data = str(facts.get("data") or "DATA") + (f"#{most}" if most else "")
    base: Keys = {("dataset",): [data]}
    if ("template",) not in wanted:
        notes += _untold(str(facts.get("tokenizer") or ""))
    return WrittenConfig((WrittenFile(FILE, edit("", {**base, **wanted})),), tuple(losses), tuple(notes))


def _untold(model: str) -> list[str]:
    """What is to be told where the config leaves the template to the model, and ms-swift does not know that."""
    try:
        found = model_of(model, None, None)
    except RecipeError as error:
        return [str(error)]
    if found.stops is not None:
        return [found.stops.sentence()]
    return [] if found.template is not None else [f"name the template of the model in `template`: {found.why}"]


def _by_flags(keys: Keys) -> str:
    """The same keys as a command line."""
    words = [text for place, value in keys.items() for text in (f"--{place[0]}", shlex.quote(word(value)))]
    return f"as flags: swift sft {' '.join(words)}"


def keys_of(recipe: Recipe, preset: Recipe) -> tuple[Keys, list[str]]:
    """The keys that differ from ms-swift's defaults, and the knobs that it has no key for."""
    return written(recipe, preset, TABLE, TITLE)


def naming(config: Any, data: str, number: int) -> Keys:
    """The changes by which the config trains on a file of JSON lines."""
    return {("dataset",): [data]} if isinstance(config, Mapping) else {}
