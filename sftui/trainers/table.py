"""Which keys of a trainer's config say which knobs: one table a trainer, for both ways.

Reading a config asks each entry what its keys say of the knobs; writing asks it which keys say a knob that is not as
the trainer has it anyway. A knob that no entry can say is a loss, told in words. What is no plain pair of key and knob
is a rule: two functions with a name, which stand together in the table.

What becomes of every other key: names recorded from a release's own schema, plugins and signatures, in
`TRAINER/known_keys.json`, which tests/parity/record_keys.py writes from the installed packages. A key is called unknown
to the trainer only where the release was read and someone said that it is the release in use; everywhere else it is not
known to sftui, because a newer release may read it.

How a config is written: the user's text with the changed keys only, or a new one of rows and recipe. One driver over
what each trainer says for itself: its table, what names the rows, and what it needs beside both (`Form`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from sftui.errors import RecipeError
from sftui.nearest import hint
from sftui.recipe import Recipe, changed, diff, get, knobs_of
from sftui.recipe_io import Misfit, check, knob_at, set_knob_to
from sftui.side_files import object_of
from sftui.trainers import versions
from sftui.trainers.config import Facts, KeyNote, KeyUse, OpenedConfig, WrittenConfig, WrittenFile, no_key, plain
from sftui.trainers.declared import folder_of, traits_of
from sftui.trainers.yaml_edit import REMOVE, edit

Config = Mapping[str, Any]
"""A config as it is parsed, with what the trainer converts converted."""
Said = Mapping[str, Any]
"""Knobs by their paths → the values that a config gives them."""
Place = tuple[str | int, ...]
"""The steps to a key of a config."""
Keys = dict[Place, Any]
"""Keys of a config by their places → their values."""
Noted = tuple[Keys, tuple[str, ...]]
"""Keys, and a sentence on each part of the value that they do not say."""
Read = Callable[[Config, Recipe, str], Said]
"""What the keys of an entry say of its knobs, nothing where they say nothing; the last argument names the config."""
Write = Callable[[Recipe, str, Any], "Keys | Noted | str | None"]
"""The keys that say a knob's value (none where it needs none); None, or why, where the trainer has nothing for it."""

NO_LIMIT = 1_000_000
"""What a trainer that must have a limit is told where there is none."""


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """Keys and the knobs they say. `keys` are places in the config, with dots between their steps."""

    keys: tuple[str, ...]
    knobs: tuple[str, ...]
    read: Read
    write: Write


def odd_value(key: str, value: Any, where: str, why: str = "", fix: str = "") -> RecipeError:
    """The error for a key with a value at which the trainer, or sftui, stops."""
    return RecipeError(f"{key} is `{value}`", where=where, why=why, fix=fix)


NOTHING = object()
"""What the value of a key that says nothing is read as."""


def keyed(key: str, knob: str, read: Callable[[Any, str], Any], write: Write | None = None) -> KeyEntry:
    """A key that is one knob, whose value `read` makes of the key's; its last argument names the config."""
    place = place_of(key)

    def read_key(config: Config, recipe: Recipe, where: str) -> Said:
        there, value = at(config, place)
        found = read(value, where) if there else NOTHING
        return {} if found is NOTHING else {knob: found}

    return KeyEntry((key,), (knob,), read_key, write or as_is(key))


def same(
    key: str,
    knob: str,
    *,
    convert: Callable[[Any], Any] | None = None,
    null: bool = True,
    unless: Any = None,
    says: Callable[[Any], bool] = lambda value: True,
    write: Write | None = None,
) -> KeyEntry:
    """A key that is one knob. `convert`: what the trainer makes of the value. `null`: whether a key that is there, but
    null, says something; `unless`: a value that says as little as no key; `says`: whether a value says something;
    `write`: how it is written, where that is not as it is."""

    def read(value: Any, where: str) -> Any:
        if (value is None and not null) or (unless is not None and value == unless) or not says(value):
            return NOTHING
        return convert(value) if convert is not None else value

    return keyed(key, knob, read, write)


def typed(
    key: str,
    knob: str,
    *kinds: type,
    null: Literal["nothing", "a value", "refused"],
    why: str = "",
    fix: str = "",
    convert: Callable[[Any], Any] = lambda value: value,
    write: Write | None = None,
) -> KeyEntry:
    """A key that is one knob, for a trainer that converts nothing and stops at a value of none of some types; true and
    false are no numbers. `null`: what a key that is there, but null, is; `why`: why the trainer stops.

    RecipeError where it does.
    """

    def read(value: Any, where: str) -> Any:
        if value is None and null == "nothing":
            return NOTHING
        fits = null == "a value" if value is None else isinstance(value, kinds) and not isinstance(value, bool)
        if not fits:
            usual = "write a number without quotes" if int in kinds else "write it as text"
            raise odd_value(key, value, where, why, fix or usual)
        return convert(value)

    return keyed(key, knob, read, write)


def words(key: str, knob: str, meaning: Mapping[Any, Any]) -> KeyEntry:
    """A key of which some values stand for choices of a knob (`meaning`: value → choice); no other choice has one."""
    place, back = place_of(key), {choice: value for value, choice in meaning.items()}

    def read(value: Any, where: str) -> Any:
        return meaning.get(value, NOTHING) if isinstance(value, (str, bool, int)) else NOTHING

    return keyed(key, knob, read, lambda recipe, path, value: {place: back[value]} if value in back else None)


def flag(key: str, knob: str, choice: Any, why: str = "") -> KeyEntry:
    """A key that, where it is true, sets a knob to a choice; no other choice has a key, and why."""

    def write(recipe: Recipe, path: str, value: Any) -> Keys | str | None:
        return {place_of(key): True} if value == choice else why or None

    return keyed(key, knob, lambda value, where: choice if value else NOTHING, write)


def inline_template(text: KeyEntry, name: str) -> KeyEntry:
    """A key that holds a template itself: `text` reads it into an option, and render.template is then `name`. The text
    of one that stands elsewhere is put in by whoever writes the file (see `inlined`)."""
    (key,), (option,) = text.keys, text.knobs

    def read(config: Config, recipe: Recipe, where: str) -> Said:
        said = text.read(config, recipe, where)
        return {"render.template": name, **said} if said else {}

    def write(recipe: Recipe, path: str, value: Any) -> Keys:
        return {place_of(key): get(recipe, option) or ""}

    return KeyEntry((key,), ("render.template", option), read, write)


def rule(keys: str, knobs: str, read: Read, write: Write) -> KeyEntry:
    """Keys that are read together, or say several knobs; names with spaces between them."""
    return KeyEntry(tuple(keys.split()), tuple(knobs.split()), read, write)


def nothing(config: Config, recipe: Recipe, where: str) -> Said:
    """What keys say of a knob that they are only written for."""
    return {}


def needless(recipe: Recipe, path: str, value: Any) -> Keys:
    """What is written for a knob that needs no key, or whose keys are written elsewhere."""
    return {}


def as_is(key: str) -> Write:
    """A knob that is written as it is, under one key."""
    place = place_of(key)
    return lambda recipe, path, value: {place: plain(value)}


def columns(keys: Mapping[str, str], title: str, why: str = "", *usual: tuple[str, str]) -> Write:
    """data.fields as a key a column (field → key); `usual` are fields and columns that need none."""

    def write(recipe: Recipe, path: str, value: Mapping[str, str]) -> Noted:
        said: Keys = {place_of(keys[ours]): theirs for ours, theirs in value.items() if ours in keys and ours != theirs}
        lost = [item for item in value.items() if item[0] not in keys and item not in usual]
        return said, tuple(f"{no_key(f'data.fields {ours}', theirs, title)}{why}" for ours, theirs in lost)

    return write


def limit(key: str, title: str) -> Write:
    """length.max under a key that must be a number."""
    place = place_of(key)

    def write(recipe: Recipe, path: str, value: int | None) -> Noted:
        if value is not None:
            return {place: value}, ()
        return {place: NO_LIMIT}, (f"{title} always has a limit: {key} {NO_LIMIT} means none",)

    return write


def silent(*knobs: str) -> KeyEntry:
    """Knobs that need no key: they follow from others, or the trainer has nothing to be told."""
    return KeyEntry((), knobs, nothing, needless)


def keyless(knob: str, why: str, *usual: Any) -> KeyEntry:
    """A knob that no key says, and why, but for values that the trainer has anyway."""
    return KeyEntry((), (knob,), nothing, lambda recipe, path, value: {} if value in usual else why)


def place_of(key: str) -> tuple[str, ...]:
    """`tokenizer.path` as the steps to it."""
    return tuple(key.split("."))


def at(config: Any, place: Sequence[str]) -> tuple[bool, Any]:
    """Whether a key is there, and what it says."""
    for step in place:
        if isinstance(config, list):
            config = {str(number): one for number, one in enumerate(config)}
        if not isinstance(config, Mapping) or step not in config:
            return False, None
        config = config[step]
    return True, config


def keys_read(table: Iterable[KeyEntry]) -> frozenset[str]:
    """Every key of a table."""
    return frozenset(key for entry in table for key in entry.keys)


def key_of(table: Iterable[KeyEntry], path: str) -> str:
    """The keys by which a knob is said, for a person to read; empty where there is none."""
    return ", ".join(dict.fromkeys(key for entry in table if path in entry.knobs for key in entry.keys))


def read_into(
    recipe: Recipe, table: Iterable[KeyEntry], config: Config, where: str, under: str = "", stops: Container[str] = ()
) -> Recipe:
    """The recipe with what a config says; RecipeError for an option of the trainer's own that cannot be so.

    `under`: what `where` says already of a key's place. `stops`: keys at which the trainer is told to stop, whose
    options stay as they are where they cannot be so.
    """
    for entry in table:
        for path, value in entry.read(config, recipe, where).items():
            if not path.startswith("own."):
                recipe = changed(recipe, path, value)
                continue
            name = path.removeprefix("own.")
            key = next((key for key in entry.keys if key.endswith(name)), entry.keys[0]).removeprefix(under)
            if key not in stops or not isinstance(check(knob_at(path, recipe), value), Misfit):
                recipe = set_knob_to(recipe, path, value, key, where)
    return recipe


_REFERENCE = re.compile(r"\$\{([\w.]+)\}")
"""A reference within a config, as OmegaConf writes it: `${section.key}`."""


def resolved(value: Any, config: Config, path: str, *, partly: bool = False, depth: int = 0) -> Any:
    """The value with every `${…}` replaced; a value that is one reference alone keeps its type.

    RecipeError for a reference to what the config does not hold; `partly`: it stays, since another file may hold it.
    """
    if depth > 20:
        raise RecipeError("the config's references are circular", where=path)
    if isinstance(value, Mapping):
        return {str(key): resolved(one, config, path, partly=partly, depth=depth) for key, one in value.items()}
    if isinstance(value, list):
        return [resolved(one, config, path, partly=partly, depth=depth) for one in value]
    if not isinstance(value, str):
        return value

    def found(reference: re.Match[str]) -> Any:
        there, said = at(config, place_of(reference.group(1)))
        if there:
            return resolved(said, config, path, partly=partly, depth=depth + 1)
        if partly:
            return reference.group()
        raise RecipeError(f"the config refers to {reference.group()}, which it does not contain", where=path)

    whole = _REFERENCE.fullmatch(value)
    return found(whole) if whole else _REFERENCE.sub(lambda one: str(found(one)), value)


TEMPLATE_FILE = "chat_template.jinja"


@dataclass(slots=True)
class Draft:
    """A config that is being written: the keys that say the recipe, the files beside it, and what is to be told."""

    recipe: Recipe
    opened: OpenedConfig | None
    facts: Facts
    keys: Keys
    losses: list[str]
    files: list[WrittenFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def template_file(self, *place: str) -> None:
        """Put a template that needs one, if there is any, into a file beside the config, named at `place`."""
        if self.facts.template_source:
            self.files.append(WrittenFile(TEMPLATE_FILE, self.facts.template_source))
            self.keys[place] = TEMPLATE_FILE


def inlined(place: Place, own: str) -> Callable[[Draft], None]:
    """Puts the text of a template that stands elsewhere where the trainer's one template, `own`, has its text."""

    def put(draft: Draft) -> None:
        if place in draft.keys and draft.recipe.render.template != own and draft.facts.template_source:
            draft.keys[place] = draft.facts.template_source

    return put


def edited(draft: Draft, opened: OpenedConfig, changes: Keys) -> WrittenFile:
    """The user's own text with the changed keys only."""
    return WrittenFile(Path(opened.path).name, edit(opened.text, changes, opened.path))


SET_UP = ("data", "tokenizer", "render")
"""Sections of the recipe of which a config says more than a knob does."""
EMPTY: tuple[Any, ...] = (None, "", (), {})


@dataclass(frozen=True, slots=True)
class Form:
    """How a trainer's config is written; `name` is the file of a new one."""

    title: str
    name: str
    table: Sequence[KeyEntry]
    rows: Callable[[Draft], Keys]
    """The keys of a new config that name the rows."""
    usual: Callable[[Recipe], Recipe] = lambda preset: preset
    """What a config that says nothing means."""
    corrected: Callable[[Recipe, Keys, list[str]], Keys] = lambda recipe, keys, losses: keys
    """The keys of a recipe, and its losses, as more than an entry of the table decides them."""
    more: Callable[[Draft], None] = lambda draft: None
    """What is needed beside the keys, for a new config and the user's."""
    changes: Callable[[Draft, OpenedConfig, Keys], Keys] = lambda draft, opened, changes: changes
    """The changes to the user's config, at their places there."""
    edited: Callable[[Draft, OpenedConfig, Keys], WrittenFile] = edited
    kind: str = "key"
    """What a knob's key is called."""
    in_its_order: bool = False
    """Whether keys are written in the order of the table, not of the knobs."""

    def keys_of(self, recipe: Recipe, preset: Recipe, chosen: frozenset[str] = frozenset()) -> tuple[Keys, list[str]]:
        """The keys that differ from the trainer's defaults, or say what was `chosen`, and a sentence on each knob that
        none says."""
        keys, losses = dict[Place, Any](), list[str]()
        values = [(change.path, change.after) for change in diff(self.usual(preset), recipe) if change.path != "preset"]
        usual = chosen.difference(path for path, _ in values)
        known = [(info.path, get(recipe, info.path)) for info in knobs_of(recipe) if info.path in usual]
        values += [one for one in known if one[0].partition(".")[0] not in SET_UP and one[1] not in EMPTY]
        if self.in_its_order:
            order = [path for entry in self.table for path in entry.knobs]
            values.sort(key=lambda value: order.index(value[0]) if value[0] in order else -1)
        for path, value in values:
            made = (entry.write(recipe, path, value) for entry in self.table if path in entry.knobs)
            found = next((keys for keys in made if keys is not None), "")
            if path in usual and (isinstance(found, str) or (isinstance(found, tuple) and found[1])):
                continue  # the trainer does it anyway, and no key says so
            if isinstance(found, str):
                found = {}, (no_key(path, value, self.title, self.kind) + f": {found}" * bool(found),)
            said, lost = found if isinstance(found, tuple) else (found, ())
            keys.update(said)
            losses += lost
        return self.corrected(recipe, keys, losses), losses

    def write(self, recipe: Recipe, preset: Recipe, opened: OpenedConfig | None, facts: Facts) -> WrittenConfig:
        """The config by which the trainer does what the recipe says, with the files that it needs beside it."""
        draft = Draft(recipe, opened, facts, *self.keys_of(recipe, preset, facts.chosen))
        self.more(draft)
        if opened is None:
            name = self.name.replace("_sft.", f"_{recipe.loss.objective}.")
            main = WrittenFile(name, edit("", {**self.rows(draft), **draft.keys}))
        else:
            before = self.keys_of(opened.recipe, preset)[0]
            places = (place for place in {**before, **draft.keys} if before.get(place) != draft.keys.get(place))
            changes = {place: draft.keys.get(place, REMOVE) for place in places}
            main = self.edited(draft, opened, self.changes(draft, opened, changes))
        return WrittenConfig((main, *draft.files), tuple(draft.losses), tuple(draft.notes))


KNOWN_KEYS = "known_keys.json"


@dataclass(frozen=True, slots=True)
class Component:
    """What a function or class takes by name: `rest` is the name under which it takes any other keyword."""

    takes: frozenset[str]
    required: frozenset[str]
    rest: str | None


@dataclass(frozen=True, slots=True)
class KnownKeys:
    """The keys of one release. `stated`: someone named this release, so that what is missing here is missing there."""

    title: str
    version: str
    stated: bool
    config: frozenset[str]
    dataset: frozenset[str] = frozenset()
    plugins: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The keys that each plugin of the trainer's reads."""
    components: Mapping[str, Component] = field(default_factory=dict)
    """By the path of a component."""
    load_dataset: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """What `datasets.load_dataset` takes for a kind of file; `any`: for whichever kind."""
    types: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """How a value that is text is converted → the keys of which it is."""
    choices: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The values of a key that has no others."""
    dataset_types: Mapping[str, frozenset[str]] = field(default_factory=dict)
    dataset_choices: Mapping[str, frozenset[str]] = field(default_factory=dict)
    removed: frozenset[str] = frozenset()
    """Keys that the release refuses whatever they are set to."""

    def stops(self, path: str, value: Any, error: str) -> KeyNote:
        """The note of a key at which the trainer raises `error`."""
        use = KeyUse.STOPS if self.stated else KeyUse.NEWEST_STOPS
        return KeyNote(path, value, use, f"{self.title} {self.version}: {error}")


def anything(value: Any) -> bool:
    """Holds for every value."""
    return True


@dataclass(frozen=True, slots=True)
class Remark:
    """What becomes of a key where it has one of the values that `when` holds for."""

    key: str
    note: str = ""
    when: Callable[[Any], Any] = bool
    use: KeyUse = KeyUse.UNSUPPORTED


def unmodelled(why: Mapping[str, str], *idle: Any) -> tuple[Remark, ...]:
    """Remarks on keys about data that sftui does not model, each by why; some values say nothing."""
    remarks = [Remark(key, "", lambda value: value in idle, KeyUse.PASSED) for key in why]
    return (*remarks, *(Remark(key, note, anything) for key, note in why.items()))


@dataclass(frozen=True, slots=True)
class KeyRules:
    """What becomes of the keys of a config, or of one kind of entry in it, as far as key and value decide it.

    `used` decide rows, ids or labels, `passed` nothing of them; `unread` is what the trainer does with one that it does
    not read, and `stops` whether it stops there. Remarks on keys that only `later` releases read hold where the record
    names these.
    """

    used: Container[str]
    remarks: Sequence[Remark] = ()
    passed: Container[str] = ()
    unread: str = "silently ignores it"
    stops: bool = False
    later: Container[str] = ()

    def note(self, key: str, value: Any, known: KnownKeys, names: Collection[str], under: str = "") -> KeyNote:
        """The note of a key; `names` are those of the record, `under` is where it stands."""
        path = f"{under}{key}"
        for remark in self.remarks:
            if remark.key == key and remark.when(value) and (key not in self.later or key in names):
                return KeyNote(path, value, remark.use, remark.note)
        if key in self.used:
            return KeyNote(path, value, KeyUse.USED)
        if key in self.passed or key in names:
            return KeyNote(path, value, KeyUse.PASSED)
        if not known.stated:
            return KeyNote(path, value, KeyUse.UNSURE, f"sftui supports {known.title} up to {known.version}")
        why = f"{known.title} {known.version} {self.unread}{hint(key, sorted(names))}"
        return KeyNote(path, value, KeyUse.UNKNOWN, why, self.stops)


def known_keys(trainer: str, title: str, asked: str | None) -> KnownKeys:
    """The record of the release that was asked for; of the newest one, not `stated`, for any other. Of a trainer
    without a record nothing is known."""
    recorded = _recorded(trainer)
    if not recorded:
        return KnownKeys(title, asked or "", False, _arguments(trainer))
    number = () if asked is None else versions.parse(asked, trainer)
    stated = [version for version in recorded if versions.parse(version, trainer)[: len(number)] == number and number]
    chosen = [*stated, *recorded][0]
    found = recorded[chosen]
    return KnownKeys(
        title,
        chosen,
        bool(stated),
        _arguments(trainer).union(*(_names(found.get(part, ())) for part in ("config", "asked before", "launch"))),
        _names(found.get("dataset", ())),
        {name: _names(plugin["keys"]) for name, plugin in found.get("plugins", {}).items()},
        {path: _component(_names(one)) for path, one in found.get("components", {}).items()},
        load_dataset=_listed(found, "load_dataset"),
        types=_listed(found, "types"),
        choices=_listed(found, "choices"),
        dataset_types=_listed(found, "dataset types"),
        dataset_choices=_listed(found, "dataset choices"),
        removed=_names(found.get("removed", ())),
    )


def _listed(found: Mapping[str, Any], part: str) -> Mapping[str, frozenset[str]]:
    return {name: _names(one) for name, one in found.get(part, {}).items()}


def _component(names: frozenset[str]) -> Component:
    """A signature as it is recorded: `name!` has no default, `**name` stands for any other keyword."""
    rest = next((name[2:] for name in names if name.startswith("**")), None)
    plain = frozenset(name for name in names if not name.startswith("**"))
    required = frozenset(name[:-1] for name in plain if name.endswith("!"))
    return Component(frozenset(name.rstrip("!") for name in plain), required, rest)


@cache
def _recorded(trainer: str) -> Mapping[str, Any]:
    """Release → what was recorded of it, newest first."""
    return object_of(folder_of(trainer) / KNOWN_KEYS)


@cache
def _arguments(trainer: str) -> frozenset[str]:
    """TrainingArguments of every transformers that a trainer of that class admits: its own environment decides."""
    below = traits_of(trainer).training_arguments
    if below is None:
        return frozenset()
    recorded = object_of(Path(__file__).with_name(KNOWN_KEYS))["TrainingArguments"]
    admitted = (one for version, one in recorded.items() if versions.parse(version, trainer) < below)
    return frozenset().union(*map(_names, admitted))


def _names(lines: Iterable[str]) -> frozenset[str]:
    return frozenset(name for line in lines for name in line.split())
