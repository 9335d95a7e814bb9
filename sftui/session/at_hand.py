"""What there is to open: data and configs in a folder, tokenizers on this disk, trainers. The Hub is not queried.

Only names, sizes and the heads of small YAML files are looked at; nothing here opens data or loads a tokenizer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import NamedTuple

MOST = 200
"""Names of a folder, and of the tokenizers of a cache, that are offered."""
MOST_LOOKED_AT = 5_000
"""Entries of a folder that are looked at."""
LARGEST_CONFIG = 256 << 10
"""A larger YAML is no trainer's config."""
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "tokenizer.model", "vocab.json")


class Choice(NamedTuple):
    """What may be picked, as a command line would name it, and what it is."""

    value: str
    about: str


def data_in(folder: Path) -> tuple[Choice, ...]:
    """The data files, saved datasets and trainers' configs of a folder and of the folders in it, those here first."""
    here = list(_openable(folder, ""))
    below = [
        choice
        for name in _names(folder, os.DirEntry.is_dir)
        if not is_saved(folder / name)
        for choice in _openable(folder / name, f"{name}/")
    ]
    return tuple([*here, *below][:MOST])


MOST_LEFT, WIDEST = 5, 40
"""Datasets that are offered because they were open, and cells of their names, which are cut in front."""


def left_before() -> dict[str, tuple[str, Choice]]:
    """The datasets that were open last, where one was in them, and the sessions that go on there, by their names."""
    from sftui.session.session_file import last_sessions

    found = {}
    for saved in last_sessions(MOST_LEFT):
        said, home = saved.arguments, os.path.expanduser("~")
        name = said.data[0]
        name = f"~{name.removeprefix(home)}" if name.startswith(home + os.sep) else name
        name = name if len(name) <= WIDEST else f"…{name[1 - WIDEST :]}"
        parts = (f"go on at row {saved.row:,}", said.trainer, said.tokenizer, ", ".join(said.apply))
        found[name] = saved.path, Choice(name, " · ".join(filter(None, parts)))
    return found


def _openable(folder: Path, before: str) -> Iterator[Choice]:
    from sftui.session.session_file import is_session
    from sftui.sources.files import NOT_DATA, format_of
    from sftui.trainers.recognise import is_config

    for name in _names(folder):
        path = folder / name
        if is_session(str(path)):
            yield Choice(before + name, "session: its data, recipe and row")
        elif is_config(str(path)):
            trainer = _trainer_of(path)
            if trainer:
                yield Choice(before + name, f"config of {trainer}: its data, tokenizer and settings")
        elif path.is_dir():
            if is_saved(path):
                yield Choice(before + name, "dataset saved by datasets")
        elif format_of(name) and name not in NOT_DATA and name not in TOKENIZER_FILES and path.is_file():
            yield Choice(before + name, size_of(path))


def is_saved(folder: Path) -> bool:
    """Whether `save_to_disk` wrote this folder."""
    from sftui.sources.formats.saved import SPLITS, STATE

    return any(os.path.isfile(folder / name) for name in (STATE, SPLITS))  # False, too, where nobody may look


def _trainer_of(path: Path) -> str:
    """The title of the trainer whose config this is; empty for any other YAML."""
    from sftui.safe_yaml import YamlProblem, load_yaml
    from sftui.trainers import traits_of
    from sftui.trainers.recognise import is_script, recognise, runs

    try:
        if path.stat().st_size > LARGEST_CONFIG:
            return ""
        text = path.read_text(encoding="utf-8")
        parsed = load_yaml(text) if not is_script(path.name) else None
    except (OSError, ValueError, YamlProblem):
        return ""
    recognised = runs(text) if parsed is None else recognise(parsed) if isinstance(parsed, Mapping) else None
    found = recognised.trainer if recognised is not None else None
    return traits_of(found).title if found else ""


def tokenizers_at_hand(folders: Iterable[Path], cache: Path | None) -> tuple[Choice, ...]:
    """The tokenizers in and next to these folders, those of the Hub cache, and the built-in ones."""
    from sftui.tokens import builtin

    found: dict[str, str] = {}
    for folder in folders:
        for name in ("", *_names(folder, os.DirEntry.is_dir)):
            if _is_tokenizer(folder / name):
                found[str(folder / name)] = "on this disk"
    if cache is not None:
        found.update({name: "in the Hub cache" for name in _cached(cache)})
    found.update({f"{builtin.PREFIX}{name}": "built in, small, for trying things" for name in builtin.NAMES})
    return tuple(Choice(name, note) for name, note in found.items())


def hub_cache() -> Path:
    """The folder of the Hub's client; HF_HOME and HF_HUB_CACHE move it."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE)


def _cached(cache: Path) -> list[str]:
    """The models of a Hub cache that have a tokenizer in any revision there."""
    names = []
    for folder in _names(cache):
        kind, *parts = folder.split("--")
        if kind == "models" and parts:
            snapshots = cache / folder / "snapshots"
            if any(_is_tokenizer(snapshots / revision) for revision in _names(snapshots)):
                names.append("/".join(parts))
    return names[:MOST]


def _is_tokenizer(folder: Path) -> bool:
    return any((folder / name).is_file() for name in TOKENIZER_FILES)


def trainers_at_hand() -> tuple[Choice, ...]:
    """The newest preset of each trainer."""
    from sftui.trainers import trainer_names, traits_of

    known = ((name, traits_of(name)) for name in trainer_names())
    return tuple(
        Choice(f"{name}@{traits.versions[0]}" if traits.versions else name, traits.about or traits.title)
        for name, traits in known
    )


def size_of(path: Path) -> str:
    """How large a file is, as `4.2 MB`; empty where it is not known."""
    try:
        size = float(path.stat().st_size)
    except OSError:
        return ""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 10 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def _names(folder: Path, wanted: Callable[[os.DirEntry[str]], bool] = lambda entry: True) -> list[str]:
    """The names in a folder, sorted, hidden ones left out; none where it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            some = islice(entries, MOST_LOOKED_AT)
            return sorted(entry.name for entry in some if not entry.name.startswith(".") and wanted(entry))
    except OSError:
        return []
