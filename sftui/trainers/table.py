"""Which keys of a trainer's config say which knobs: one table a trainer, for both ways.

Reading a config asks each entry what its keys say of the knobs; writing asks it which keys say a knob that is not as
the trainer has it anyway. A knob that no entry can say is a loss, told in words. What is no plain pair of key and knob
is a rule: two functions with a name, which stand together in the table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sftui.errors import RecipeError
from sftui.recipe import Recipe, changed, get
from sftui.recipe_io import Misfit, check, knob_at, set_knob_to
from sftui.trainers.config import no_key, plain

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
            raise RecipeError(f"{key} is `{value}`", where=where, why=why, fix=fix or usual)
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
    of one that stands elsewhere is put in by whoever writes the file (see `form.inlined`)."""
    (key,), (option,) = text.keys, text.knobs

    def read(config: Config, recipe: Recipe, where: str) -> Said:
        said = text.read(config, recipe, where)
        return {"render.template": name, **said} if said else {}

    return KeyEntry(
        (key,),
        ("render.template", option),
        read,
        lambda recipe, path, value: {place_of(key): get(recipe, option) or ""},
    )


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
        return {place: NO_LIMIT}, (f"{title} always has a limit: {key} {NO_LIMIT} stands for none",)

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


def block_of(config: Config, key: str) -> Config:
    """The mapping under a key that is there."""
    block: Config = config[key]
    return block


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
        raise RecipeError("the config's references go in a circle", where=path)
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
        raise RecipeError(f"the config refers to {reference.group()}, which it does not hold", where=path)

    whole = _REFERENCE.fullmatch(value)
    return found(whole) if whole else _REFERENCE.sub(lambda one: str(found(one)), value)
