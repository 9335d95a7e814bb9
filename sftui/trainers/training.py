"""Training settings of one trainer's config as another's keys, by one table a trainer: `training.json` in its folder.

A table says for each setting of `settings.json` the trainer's key, how it is written there, and the value that holds
where the key is absent (tests/parity/README.md lists what a table may say). Nothing is made up: what a source neither
says nor has a default for is left to the target, or is a placeholder at which the target's loader stops.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache
from operator import ge, ne
from pathlib import Path
from typing import Any

from sftui.recipe import Preset, Recipe
from sftui.recipe_io import parse_yaml
from sftui.side_files import object_of
from sftui.trainers.config import Facts, KeyUse, OpenedConfig, Training, TrainingSetting, WrittenConfig, WrittenFile
from sftui.trainers.declared import folder_of, traits_of
from sftui.trainers.table import Config, Keys, at, place_of
from sftui.trainers.versions import at_least, parse
from sftui.trainers.yaml_edit import REMOVE, commented, edit, put, scalar

HERE = Path(__file__).parent
Entry = Mapping[str, Any]
"""What a table says of one setting."""
TRAINING_ALONE = ("model", "model_revision", "tokenizer", "batch_size", "global_batch_size")
"""Settings whose keys a recipe's own table writes, too: here it is known whether they are known."""
UNKNOWN = {"unknown": "it depends on a value that is not known"}
UNTOLD = "no config was opened, so the training settings are not known: omitted ones have the defaults of {}"


@dataclass(slots=True)
class WrittenTraining:
    """Keys of the target's config, a comment for some, and sentences on what is not exported."""

    keys: Keys = field(default_factory=dict)
    comments: dict[tuple[str | int, ...], str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


class _UnsayableValue(Exception):
    """Why the target cannot be told a value."""


@cache
def settings() -> Mapping[str, Entry]:
    """Every setting in the order in which it is read and written: `says`, `when` it is in effect, `off`."""
    return object_of(HERE / "settings.json")


@cache
def table_of(preset: str) -> Mapping[str, Any]:
    """The table of a trainer's version, with what it has like others; an empty one where it has no config."""
    wanted = Preset.of(preset)
    version = wanted.version or "".join(traits_of(preset).versions[:1])
    table = object_of(folder_of(wanted.trainer) / "training.json") or {"of": "", "settings": {}}
    base = dict[str, Any]()
    for name in table.get("like", ()):
        base.update(object_of(HERE / f"training_{name}.json")["settings"])
    base.update(table["settings"])
    for name, entry in base.items():
        for first, before in (entry or {}).get("before", {}).items():
            if not at_least(parse(version, wanted.trainer), parse(first, wanted.trainer)):
                base[name] = before
    return {**table, "of": table["of"].format(version), "settings": {name: one for name, one in base.items() if one}}


def read_training(opened: OpenedConfig) -> Training:
    """What an opened config says of training, its trainer's defaults included."""
    table, found = table_of(opened.recipe.preset), dict[str, TrainingSetting]()
    for name in settings():
        if name in table["settings"]:
            found[name] = _read(table["settings"][name], opened.config, _values(found), table["of"])
    return Training(traits_of(opened.trainer).title, found, dict(_left(opened, table)))


def rows_of_step(recipe: Recipe, opened: OpenedConfig) -> int | None:
    """The rows, or packs, of an optimizer step of an opened config on one device, or on all of them where the trainer
    counts these; None where it is not known."""
    known = _values(read_training(opened).settings)
    whole, batches = known.get("global_batch_size"), known.get("accumulation")
    if isinstance(whole, int) and whole > 0:
        return whole
    return recipe.batch.size * batches if isinstance(batches, int) and batches > 0 else None


def with_training(written: WrittenConfig, preset: str, facts: Facts) -> WrittenConfig:
    """A config of rows and recipe with what is known of training."""
    main, *others = written.files
    if not main.name.endswith((".yaml", ".yml")):
        return written
    config = parse_yaml(main.content, main.name)
    entries = table_of(preset)["settings"]
    alone = [entries[name] for name in TRAINING_ALONE if facts.given is not None and "key" in entries.get(name, ())]
    own = [place for one in alone if "keep" not in one for place in [place_of(_keys(one)[0])] if at(config, place)[0]]
    gone: dict[tuple[str | int, ...], object] = {
        place if len(place) > 1 and len(config[place[0]]) > 1 else place[:1]: REMOVE for place in own
    }
    text = main.content
    if gone:
        text = edit(text, gone)
        config = parse_yaml(text, main.name)
    made = write_training(preset, config, facts)
    text = "".join(f"# {note}\n" for note in made.notes) + commented(edit(text, made.keys), made.comments)
    return replace(written, files=(WrittenFile(main.name, text), *others), notes=(*written.notes, *made.notes))


def stand_ins(recipe: Recipe) -> dict[str, TrainingSetting]:
    """What a trainer must be told of training to prepare rows (`Facts.given`), which nothing of it decides; the
    tokenizer's folder stands for the model."""
    said = {"model": recipe.tokenizer.name, "learning_rate": 1e-4, "epochs": 1, "batch_size": recipe.batch.size}
    return {name: TrainingSetting(value, name) for name, value in said.items() if value is not None}


def write_training(preset: str, config: Config, facts: Facts) -> WrittenTraining:
    """A trainer's keys for what is known of training; `config` is what is written already, which stays as it is."""
    source = facts.source
    table, title, made = table_of(preset)["settings"], traits_of(preset).title, WrittenTraining()
    known: Mapping[str, TrainingSetting] = {**(source.settings if source is not None else {}), **(facts.given or {})}
    if source is None and facts.given is not None:
        made.notes.append(UNTOLD.format(title))
    for name, about in settings().items():
        entry, setting, told = table.get(name, {}), known.get(name), None
        when = about.get("when", {})
        if setting is not None and "adapter" in when and "adapter" not in _values(known):
            setting = replace(setting, unknown="it is not known whether LoRA is trained")
        if not _fits(when, _values(known)):
            if not entry.get("required"):
                continue
            setting = None
        elif setting is None and source is not None and entry and "off" in about:
            setting = TrainingSetting(about["off"], name, f"{source.title} has none")
        try:
            told = _told(entry, about, setting, _values(known), _nested(config, made.keys)) if setting else None
        except (_UnsayableValue, ArithmeticError, TypeError, ValueError) as error:
            setting = setting or TrainingSetting(None, name)
            value = "" if setting.unknown else f": {scalar(setting.value)}"
            whose = f" ({setting.default})" if setting.default else ""
            why = entry.get("why") or str(error) or f"{title} has no key for {about['says']}"
            made.notes.append(f"not exported: {setting.key or name}{value}{whose}: {why}")
        needed = entry.get("required") or ("must" in entry and _fits(entry["must"], _values(known), unknown=False))
        if told is None and needed and not at(config, place := place_of(_keys(entry)[0]))[0]:
            told = {**_beside(entry), place: entry.get("placeholder", f"FILL_IN_{place[-1].upper()}")}
            setting = TrainingSetting(None, "", f"fill in {about['says']}, which sftui does not know")
        made.keys.update(told or {})
        if told and setting is not None and setting.default:
            made.comments.update(dict.fromkeys(told, setting.default))
    for key, says in table_of(preset).get("asks", {}).items():
        if not at(config, place := place_of(key))[0]:
            made.keys[place], made.comments[place] = f"FILL_IN_{place[-1].upper()}", f"fill in {says}"
    if source is not None:
        made.notes += [f"not exported: {key}: {scalar(value)}" for key, value in source.left.items()]
    return made


def _nested(config: Config, keys: Keys) -> dict[str, Any]:
    """A config with keys put into it."""
    whole = deepcopy(dict(config))
    for place, value in keys.items():
        put(whole, place, value)
    return whole


def _keys(entry: Entry) -> list[str]:
    named = entry.get("key", ())
    return [named] if isinstance(named, str) else [*named]


def _values(found: Mapping[str, TrainingSetting]) -> dict[str, Any]:
    return {name: one.value for name, one in found.items() if not one.unknown}


def _fits(
    wanted: Mapping[str, Any], values: Mapping[str, Any], config: Config | None = None, *, unknown: bool = True
) -> bool:
    """Whether settings, or keys of a config (`key:…`), are one of a list, `set`, `unset`, `not` a value, or `has` a
    word in it; `unknown`: whether a setting that is not known fits one of the last three."""
    for name, allowed in wanted.items():
        raw = name.startswith("key:")
        there, value = at(config or {}, place_of(name[4:])) if raw else (name in values, values.get(name))
        if isinstance(allowed, str):
            fits = (value not in (None, False, 0, "", [], {})) == (allowed == "set")
        elif not there and not raw:
            fits = unknown
        elif isinstance(allowed, Mapping):
            ((ask, than),) = allowed.items()
            compare: Callable[[Any, Any], Any] = {"least": ge, "not": ne}.get(ask, lambda a, b: b in str(a).lower())
            fits = value is not None and bool(compare(value, than))
        else:
            fits = value in allowed
        if not fits:
            return False
    return True


def _case(said: Any, values: Mapping[str, Any], config: Config | None = None) -> Any:
    """A value as a table says it: as it is, the first of several cases that fits, or another setting's."""
    if isinstance(said, list) and said and all(isinstance(one, Mapping) and "is" in one for one in said):
        said = next((one["is"] for one in said if _fits(one.get("if", {}), values, config, unknown=False)), UNKNOWN)
    if not isinstance(said, Mapping) or "of" not in said:
        return said
    if said["of"] not in values:
        return {"unknown": f"it depends on {said['of']}, which is not known"}
    value = values[said["of"]]
    if not isinstance(value, (int, float)) and ("into" in said or (value is not None and "times" in said)):
        return {"unknown": f"it depends on {said['of']}, which is not a number"}
    if "into" in said:
        return _whole(said["into"] / value)
    return value * said["times"] if "times" in said and value is not None else value


def _read(entry: Entry, config: Config, values: Mapping[str, Any], of: str) -> TrainingSetting:
    """A setting as the trainer takes it from a config."""
    default = ""
    try:
        value, key = _said(entry, config, values)
    except (ArithmeticError, TypeError, ValueError):
        value, key = {"unknown": "it is not a number"}, " ".join(_keys(entry))
    if not key:
        key = _keys(entry)[0] if "key" in entry else " ".join(entry["cases"][0][1]) if "cases" in entry else ""
        value, default = _case(entry.get("fixed", entry.get("default")), values, config), f"default of {of}"
        value = {"unknown": "the config does not set it"} if entry.get("required") else value
    if not _fits(entry.get("known", {}), values, config) or (default and "?" in config and "fixed" not in entry):
        value = {"unknown": config.get("?", entry.get("why"))}
    if isinstance(value, Mapping) and "unknown" in value:
        return TrainingSetting(None, key, default, value["unknown"])
    return TrainingSetting(value, key, default)


def _said(entry: Entry, config: Config, values: Mapping[str, Any]) -> tuple[Any, str]:
    """The neutral value that a config's own keys give, and which; no key where none does."""
    for case, keys, *_ in entry.get("cases", ()):
        if keys and all(_alike(at(config, place_of(key))[1], own) for key, own in keys.items()):
            return case, " ".join(keys)
    for key, how in {**entry.get("also", {}), **dict.fromkeys(filter(None, [entry.get("share")]), "same")}.items():
        own = at(config, place_of(key))[1]
        pairs = [pair[0] for pair in how if pair[1] == own] if isinstance(how, list) else []
        if own is None or (isinstance(how, list) and not pairs):
            continue
        how, _, other = how.partition(" ") if not pairs else ("", "", "")
        number = 0 if pairs else float(own)
        each = {"same": number, "over": float(f"{number / (values.get(other) or 1):.12g}")}
        each["per"] = 1 / ((number or 1) * values.get("epochs", 1))
        return (pairs[0] if pairs else _whole(each[how])), key
    for key in _keys(entry):
        there, own = at(config, place_of(key))
        if there and (own is not None or entry.get("null")):
            return _neutral(entry, own, values, config), key
    return None, ""


def _alike(one: Any, other: Any) -> bool:
    """Whether two values are the same; lists in any order."""
    if isinstance(one, list) and isinstance(other, list):
        return sorted(map(str, one)) == sorted(map(str, other))
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _neutral(entry: Entry, own: Any, values: Mapping[str, Any], config: Config) -> Any:
    """A key's own value as the neutral one; unknown for text that only the run fills in, or with wildcards."""
    if any(mark in str(own) for mark in entry.get("marks", "$")):
        return {"unknown": f"{scalar(own)} is known only at run time"}
    if "at" in entry:
        own = own[entry["at"]] if isinstance(own, (list, tuple)) and len(own) > entry["at"] else own
    own = _converted(entry.get("kind", ""), own)
    if "alone" in entry and isinstance(own, list) and len(own) == 1 and own not in (one[1] for one in entry["values"]):
        return {"unknown": entry["alone"]}
    for pair in entry.get("values", ()):
        if _alike(pair[1], own) and _fits(_about(pair, "key:"), values, config):
            return pair[0]
    if isinstance(own, Mapping):
        return {key: value for key, value in own.items() if key not in entry.get("without", ())}
    if isinstance(own, (int, float)) and ("times" in entry or "over" in entry):
        other = values.get(entry.get("times", entry.get("over")))
        if not other:
            return {"unknown": "its unit is not known"}
        own = float(f"{own / other if 'times' in entry else own * other:.12g}")
    return _whole(own)


def _about(pair: Sequence[Any], mark: str = "") -> dict[str, Any]:
    """What a pair or case asks of a config's keys (`key:`), which holds in reading; or of settings, in writing."""
    return {name: one for name, one in dict(*pair[2:]).items() if name.startswith("key:") == bool(mark)}


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _converted(kind: str, own: Any) -> Any:
    """A value as the loader converts it; as it is where it is nothing of the kind."""
    try:
        if kind in ("float", "int") and not isinstance(own, bool):
            return float(own) if kind == "float" else int(own)
        if kind == "mapping" and isinstance(own, str):
            return json.loads(own)
    except (ValueError, TypeError):
        return own
    if kind == "bool" and isinstance(own, str):
        return own.lower() in ("true", "yes", "on", "1", "y", "t")
    if kind in ("list", "commas") and isinstance(own, str):
        return [one.strip() for one in own.split(",")] if kind == "commas" else [own]
    return own


def _told(entry: Entry, about: Entry, setting: TrainingSetting, values: Mapping[str, Any], config: Config) -> Keys:
    """The keys that say a setting, none where nothing needs saying; _Unsayable where it cannot be said."""
    value, off = setting.value, about.get("off", REMOVE)
    if setting.unknown and not entry and "off" not in about:
        return {}
    if setting.unknown:
        raise _UnsayableValue(setting.unknown)
    if value is not None and value == values.get(about.get("same", "")):
        return {}
    if "key" not in entry and "cases" not in entry:
        held = _case(entry["fixed"], values) if entry else off
        if held == value:
            return {}
        if isinstance(held, Mapping) and "unknown" in held:
            raise _UnsayableValue(held["unknown"])
        raise _UnsayableValue(f"there it is {scalar(held)}" if entry else "")
    if value in entry.get("skip", ()):
        return {}
    usual = _case(entry.get("default"), values, config)
    needed = _fits(entry.get("needs", {}), values, config, unknown=False)
    if value == usual and (not needed or (value == off and "always" not in entry)):
        return {}
    if not needed:
        raise _UnsayableValue(f"it needs {', '.join(entry['needs']).replace('key:', '')}")
    said = _beside(entry)
    if "cases" in entry:
        cases = [
            one[1] for one in entry["cases"] if _alike(one[0], value) and _fits(_about(one), values, unknown=False)
        ]
        if cases:
            return {**said, **{place_of(key): own for key, own in cases[0].items()}}
        if "key" not in entry:
            raise _UnsayableValue
    key, own = _own(entry, value, values)
    there, held = at(config, place_of(key))
    if "at" in entry:
        listed = list(held) if isinstance(held, list) else []
        listed += [None] * (entry["at"] + 1 - len(listed))
        listed[entry["at"]] = own
        return {**said, place_of(key): listed}
    if there and held != own:
        raise _UnsayableValue(f"{key} is {scalar(held)} in that config, unlike in the recipe")
    return {} if there else {**said, place_of(key): own}


def _beside(entry: Entry) -> Keys:
    """The keys that are always written with a setting's own."""
    return {place_of(key): own for key, own in entry.get("sets", {}).items()}


def _own(entry: Entry, value: Any, values: Mapping[str, Any]) -> tuple[str, Any]:
    """The key and value by which a neutral value is said; _Unsayable where there are none."""
    key, own = _keys(entry)[0], value
    pairs = [
        one for one in entry.get("values", ()) if _alike(one[0], value) and _fits(_about(one), values, unknown=False)
    ]
    if not pairs and isinstance(value, (int, float)) and ("times" in entry or "over" in entry):
        other = values.get(entry.get("times", entry.get("over")))
        if not other:
            raise _UnsayableValue("its unit is not known")
        own = _whole(float(f"{value * other if 'times' in entry else value / other:.12g}"))
    own, only = pairs[0][1] if pairs else own, entry.get("only")
    if (not pairs and only is True) or (isinstance(only, list) and own not in only) or own in entry.get("never", ()):
        raise _UnsayableValue(f"{key} cannot express it")
    if "alone" in entry and isinstance(own, list) and len(own) == 1 and not pairs:
        raise _UnsayableValue(entry["alone"])
    if "share" in entry and isinstance(own, float) and 0 < own < 1:
        return str(entry["share"]), own
    if entry.get("kind") == "int" and isinstance(own, float):
        raise _UnsayableValue(f"{key} must be an integer")
    return key, ",".join(own) if entry.get("kind") == "commas" and isinstance(own, list) else own


def _left(opened: OpenedConfig, table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The keys that say something and that neither the recipe nor the table takes."""
    taken = [note.path for note in opened.keys if note.use is KeyUse.USED]
    taken += [*table.get("ignored", ()), *table.get("asks", ())]
    for entry in table["settings"].values():
        taken += [*_keys(entry), *entry.get("also", ()), *entry.get("sets", ()), *filter(None, [entry.get("share")])]
        taken += [key for case in entry.get("cases", ()) for key in case[1]]
    for path, value in leaves(opened.config):
        if value not in (None, [], {}, "") and not any(path == one or path.startswith(f"{one}.") for one in taken):
            yield path, value


def leaves(config: Config, below: str = "", whole: Collection[str] = ()) -> Iterator[tuple[str, Any]]:
    """Every value of a config that is no mapping, by its place, with `below` before it; a mapping at a place of `whole`
    is one value."""
    for key, value in config.items():
        if isinstance(value, Mapping) and value and f"{below}{key}" not in whole:
            yield from leaves(value, f"{below}{key}.", whole)
        else:
            yield f"{below}{key}", value
