"""Which keys a trainer's release reads: names recorded from its own schema, plugins and signatures.

`TRAINER/known_keys.json` is written by tests/parity/record_keys.py from the installed packages. A key is called
unknown to the trainer only where the release was read and someone said that it is the release in use; everywhere
else it is not known to sftui, because a newer release may read it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from sftui.side_files import object_of
from sftui.trainers import versions
from sftui.trainers.config import KeyNote, KeyUse
from sftui.trainers.declared import folder_of, traits_of

FILE = "known_keys.json"


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

    def unknown(self, path: str, value: Any, then: str, stops: bool = False) -> KeyNote:
        """The note of a key that the record does not hold; `then` is what the trainer does with such a key."""
        if self.stated:
            return KeyNote(path, value, KeyUse.UNKNOWN, f"{self.title} {self.version} {then}", stops)
        return KeyNote(path, value, KeyUse.UNSURE, f"sftui knows {self.title} up to {self.version}")

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
    unread: str = "does not read it, and says nothing"
    stops: bool = False
    later: Container[str] = ()

    def note(self, key: str, value: Any, known: KnownKeys, names: Container[str], under: str = "") -> KeyNote:
        """The note of a key; `names` are those of the record, `under` is where it stands."""
        path = f"{under}{key}"
        for remark in self.remarks:
            if remark.key == key and remark.when(value) and (key not in self.later or key in names):
                return KeyNote(path, value, remark.use, remark.note)
        if key in self.used:
            return KeyNote(path, value, KeyUse.USED)
        if key in self.passed or key in names:
            return KeyNote(path, value, KeyUse.PASSED)
        return known.unknown(path, value, self.unread, self.stops)


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
    return object_of(folder_of(trainer) / FILE)


@cache
def _arguments(trainer: str) -> frozenset[str]:
    """TrainingArguments of every transformers that a trainer of that class admits: its own environment decides."""
    below = traits_of(trainer).training_arguments
    if below is None:
        return frozenset()
    recorded = object_of(Path(__file__).with_name(FILE))["TrainingArguments"]
    admitted = (one for version, one in recorded.items() if versions.parse(version, trainer) < below)
    return frozenset().union(*map(_names, admitted))


def _names(lines: Iterable[str]) -> frozenset[str]:
    return frozenset(name for line in lines for name in line.split())
