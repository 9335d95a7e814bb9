"""A trainer's own config file, opened: what it means as a recipe, and what sftui did with each key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from enum import Enum
from pathlib import Path
from typing import Any

from sftui.errors import RecipeError
from sftui.model import Problem
from sftui.recipe import Recipe, changed, get, knobs_of
from sftui.recipe_io import Misfit, check, shown
from sftui.sources.files import format_of
from sftui.sources.source import Loading
from sftui.trainers.declared import traits_of
from sftui.values import value_class


class KeyUse(str, Enum):
    """What became of a key of the config."""

    USED = "used"
    PASSED = "not about data"
    IDLE = "without effect"
    UNSUPPORTED = "about data, but sftui does not model it"
    UNKNOWN = "not a key of this trainer version"
    UNSURE = "key not known to sftui"
    STOPS = "the trainer stops here"
    NEWEST_STOPS = "the newest release that sftui knows stops here"

    @property
    def stops(self) -> bool:
        """Whether it is one of the two."""
        return self in (KeyUse.STOPS, KeyUse.NEWEST_STOPS)


@value_class
class KeyNote:
    """One key of the config (dotted path), what it says, and what became of it."""

    path: str
    value: Any
    use: KeyUse
    note: str = ""
    fatal: bool = False
    """Whether the trainer stops at a key that it does not know."""


@value_class
class DatasetRef:
    """One dataset that a config names, as `sources` takes it, with the recipe that holds for it.

    Several datasets of one config may differ in format, roles and mask, so each has its recipe.
    `paths` are local paths resolved as the trainer resolves them, or one Hub name.
    """

    name: str
    paths: tuple[str, ...]
    recipe: Recipe
    split: str | None = None
    subset: str | None = None
    revision: str | None = None
    entry: int = 0
    """The number of its entry, where one entry may name several."""


@value_class
class OpenedConfig:
    """A config file as read: its text as it stands, its datasets, and a note for every key.

    `chosen` is the number of the dataset that is open; a corrected config changes what holds for it. `config` is the
    mapping as the trainer parses it. `evaluates`: what is open are the sets that the config evaluates on, each with the
    recipe by which the trainer prepares it; such a config is not written anew.
    """

    trainer: str
    path: str
    text: str
    datasets: tuple[DatasetRef, ...]
    keys: tuple[KeyNote, ...] = ()
    notes: tuple[str, ...] = ()
    chosen: int = 0
    config: Mapping[str, Any] = field(default_factory=dict)
    evaluates: bool = False

    def __post_init__(self) -> None:
        """RecipeError where a key holds what its knob cannot take, e.g. a list where a number belongs."""
        if not self.datasets:
            raise RecipeError(
                "the config names no dataset that can be opened", where=self.path, fix="give each dataset its path"
            )
        for reference in self.datasets:
            for info in knobs_of(reference.recipe):
                value = get(reference.recipe, info.path)
                if value == info.default or not isinstance(wrong := check(info, value), Misfit):
                    continue
                key = next((note.path for note in self.keys if note.value == value), info.path)
                raise RecipeError(f"`{key}` {wrong.why}", where=self.path, fix=wrong.fix)

    @property
    def recipe(self) -> Recipe:
        """The recipe of the dataset that is open."""
        return self.datasets[self.chosen].recipe

    def moved_to(self, facts: Facts) -> str:
        """The file that is the open dataset now, where it is another one than the config names; "" where it is not."""
        named = self.datasets[self.chosen].paths[0]
        return "" if facts.data in ("", named, str(Path(named).absolute())) else facts.data

    def stops(self, recipe: Recipe) -> tuple[str, ...]:
        """Why a run by a recipe stops at keys of the config, a sentence each; of a release whose keys were not read
        these are not known."""
        if recipe.trainer != self.trainer:
            return ()
        traits = traits_of(self.trainer)
        read = recipe.version == traits.versions[0]
        return tuple(
            f"{traits.title} stops at `{key.path}` of {self.path}: {key.note.partition(': ')[2] or key.note}"
            for key in self.keys
            if key.use is KeyUse.STOPS or key.fatal or (key.use is KeyUse.NEWEST_STOPS and read)
        )


ReadAgain = Callable[[Mapping[str, Any]], OpenedConfig]
"""How a trainer's config reads another mapping in the place of its own."""


@value_class
class TrainingSetting:
    """A setting of training, its neutral value in effect: `key` says it, `default` whose default it is (empty: it is
    said), `unknown` why the value cannot be told."""

    value: Any
    key: str
    default: str = ""
    unknown: str = ""


@value_class
class Training:
    """What a config says of training: its settings, and the keys that no table knows, with their values."""

    title: str
    settings: Mapping[str, TrainingSetting]
    left: Mapping[str, Any]


@value_class
class Facts:
    """What a written config says beside the recipe: the rows, how they are read, and what is known of training.

    `data` is a path or a name of the Hub, `loading` how its source says that it is loaded (None: by its name),
    `tokenizer` a folder or a name, `folder` where the config will stand;
    `template_source` is a template that needs a file of its own, `chat_template` the one that renders; `format`
    to `role_map` are those of `conversations.Detection`. `source` is what another config says of training, `given` what
    is known beside it; None: nothing is to be written of training. `chosen` are knobs that the user set: their keys are
    written also where the trainer does the same without.
    """

    data: str = ""
    loading: Loading | None = None
    tokenizer: str | None = None
    folder: str | None = None
    template_source: str | None = None
    chat_template: str | None = None
    split: str | None = None
    format: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    message_keys: Mapping[str, str] = field(default_factory=dict)
    role_map: Mapping[str, str] = field(default_factory=dict)
    source: Training | None = None
    given: Mapping[str, TrainingSetting] | None = None
    chosen: frozenset[str] = frozenset()

    @property
    def other_split(self) -> str | None:
        """The split, where it is not the one that is taken anyway."""
        return None if self.split == "train" else self.split

    @property
    def file(self) -> bool:
        """Whether the data is files, and no set of the Hub or folder."""
        return bool(Path(self.data).suffix) if self.loading is None else self.loading.loader is not None

    @property
    def local(self) -> bool:
        """Whether the data is named by a path."""
        return self.file or self.data.startswith((".", "/"))

    @property
    def loader(self) -> str:
        """The loader of `datasets` for the data's files; empty for no file, and where it has none."""
        return (format_of(self.data) if self.loading is None else self.loading.loader) or ""


@value_class
class WrittenFile:
    """One file of an export: its name inside the target folder and its content."""

    name: str
    content: str


@value_class
class WrittenConfig:
    """A corrected config and whatever it needs beside it; `losses` are knobs without an equal there."""

    files: tuple[WrittenFile, ...]
    losses: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def plain(value: Any) -> Any:
    """A knob's value as a config holds it: a tuple is a list there."""
    return list(value) if isinstance(value, tuple) else value


def text_at(config: Mapping[str, Any], key: str, where: str) -> str | None:
    """What a key says that must be text, None where it is absent or null; RecipeError for anything else."""
    value = config.get(key)
    if value is None or isinstance(value, str):
        return value
    raise wrong_value(key, value, "text", where)


def files_at(config: Mapping[str, Any], where: str) -> tuple[str, ...]:
    """The file names of `data_files`: one, a list, or a mapping of splits to either; RecipeError else."""
    value: Any = config.get("data_files")
    listed = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else [value]
    names = [name for one in listed for name in (one if isinstance(one, (list, tuple)) else [one])]
    if not all(isinstance(name, str) for name in names):
        raise wrong_value("data_files", value, "a file name or a list of them", where)
    return tuple(names)


LOADERS = ("json", "csv", "parquet", "text", "arrow")
"""The loaders of `datasets` for files of a kind."""


def data_files(entry: Mapping[str, Any], name: str, where: str) -> tuple[str, ...]:
    """The paths of `data_files`: in `data_dir` for a loader of `datasets`, else in the folder `name`; RecipeError as of
    `files_at`."""
    root = Path(str(entry.get("data_dir") or "")) if name in LOADERS else Path(name)
    return tuple(str(root / one) for one in files_at(entry, where))


def loaded(
    name: str, options: Mapping[str, Any], recipe: Recipe, where: str, split: str, revision: str | None = None
) -> DatasetRef:
    """What load_dataset reads by a name and its options: the files of them, else a folder or a set of the Hub."""
    files = bool(options.get("data_files"))
    paths = data_files(options, name, where) if files else (name,)
    place = None if files and split == "train" else split
    return DatasetRef(", ".join(paths), paths, recipe, place, text_at(options, "name", where), revision)


def refuse(problems: Iterable[Problem], where: str) -> None:
    """RecipeError for the first problem, if there is one; none behind it is looked for."""
    for problem in problems:
        raise RecipeError(problem.what, where=where, why=problem.why, fix=problem.fix)


def wrong_value(key: str, value: Any, wanted: str, where: str) -> RecipeError:
    """The error for a key that holds another kind of value than `wanted`."""
    return RecipeError(f"`{key}` cannot be {shown(value)}", where=where, fix=f"give {wanted}")


def with_arguments(preset: Recipe) -> Recipe:
    """A preset as a config that says nothing means it: per_device_train_batch_size of TrainingArguments is 8."""
    return changed(preset, "batch.size", 8)


def no_key(path: str, value: Any, title: str, kind: str = "key") -> str:
    """What is said of a knob that the trainer's config has nothing for."""
    home = f"{title}'s config" if kind == "key" else title
    why = f": {title} inserts the date of its run" if path == "render.date" else ""
    return f"{path} = {value!r} has no {kind} in {home}{why}"
