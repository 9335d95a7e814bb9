"""Which files a path, a folder or a glob means, in the order in which `datasets` reads them."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from sftui.errors import SourceError
from sftui.nearest import did_you_mean
from sftui.sources.byte_file import is_url
from sftui.sources.formats import formats
from sftui.sources.slices import parts_of
from sftui.values import value_class

JSON = (".json", ".jsonl", ".ndjson")
PACKED = (".gz", ".zst")
NOT_DATA = frozenset({"README.md", "config.json", "dataset_info.json", "dataset_infos.json", "dataset_dict.json"})
"""datasets.data_files.FILES_TO_IGNORE, as far as they have a data ending."""
SPLIT_WORDS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "dev", "val"),
    "test": ("test", "testing", "eval", "evaluation"),
}
"""datasets.data_files.SPLIT_KEYWORDS."""
DOWNLOAD = "download the file and open it here"
"""What helps where a server does not give a file in parts."""


@value_class
class FolderFiles:
    """Files of one format in reading order; `splits` are all the splits the folder holds."""

    files: tuple[str, ...]
    title: str
    notes: tuple[str, ...] = ()


@cache
def kinds() -> Mapping[str, str]:
    """The format of each ending that folders are searched for."""
    return {ending: "json" for ending in JSON} | {end: one.kind for one in formats() for end in one.endings}


def format_of(path: str) -> str | None:
    """`json`, `csv` or `parquet` by the ending of the name, None for any other."""
    name = path.lower()
    for packed in PACKED:
        name = name.removesuffix(packed)
    return kinds().get(os.path.splitext(name)[1])


def is_data(path: str) -> bool:
    """Whether a file is data, by its name."""
    return format_of(path) is not None and os.path.basename(path) not in NOT_DATA


def is_named(path: str) -> bool:
    """Whether a name ends as those of data do, and of arrays."""
    alone = tuple(ending for one in formats() for ending in one.endings_alone)
    return format_of(path) is not None or path.lower().endswith(alone)


def known_endings() -> str:
    """What folders are searched for, in words."""
    *names, last = (ending[1:] for ending in kinds())
    return f"{', '.join(names)} or {last}, each also .gz or .zst"


def is_glob(path: str) -> bool:
    return not is_url(path) and any(sign in path for sign in "*?[") and not os.path.exists(path)


def find_glob(pattern: str) -> FolderFiles:
    """The data files a pattern matches, sorted by name."""
    matches = sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))
    files = tuple(filter(is_data, matches))
    if not files:
        raise none_of(pattern, len(matches))
    return FolderFiles(files, pattern)


def none_of(pattern: str, matches: int) -> SourceError:
    """The error for a pattern that matches so many files, none of which is data."""
    why = f"none of the {matches:,} files it matches is {known_endings()}" if matches else "no file matches it"
    return SourceError("matches nothing", where=pattern, why=why)


def find_folder(folder: Path, split: str | None) -> FolderFiles:
    """The data files of a folder that make one split, by the naming rules of `datasets`.

    Without `split` it is train, or the only one there is; of parts of splits the files of all that they are of.
    """
    notes, chosen = chosen_files(_walk(folder), split, str(folder))
    files = tuple(str(folder / path) for path in chosen)
    return FolderFiles(files, folder.resolve().name if str(folder) in {".", ".."} else folder.name, notes)


def chosen_files(found: Iterable[str], split: str | None, where: str) -> tuple[tuple[str, ...], list[str]]:
    """Of the data files in a folder, by their names in it, those of a split, and what is to be known of the choice."""
    paths = sorted(found)
    if not paths:
        raise SourceError(
            "contains no data",
            where=where,
            why=f"no file in it is {known_endings()}, and it is not a save_to_disk folder",
        )
    splits = _by_split(paths)
    wanted = dict.fromkeys(part.name for part in parts_of(split)) or [split]
    chosen = [choose_split(tuple(splits), one, where) for one in wanted]
    notes = (f"split {' and '.join(chosen)} of {', '.join(splits)}",) if len(splits) > 1 else ()
    return notes, [path for name in chosen for path in splits[name]]


def declares_data(folder: Path) -> bool:
    """Whether the card of a dataset repository (README.md) maps files to subsets and splits."""
    return re.search(r"^configs:", _card(folder), re.MULTILINE) is not None


def urls_of_card(folder: Path) -> tuple[str, ...]:
    """The URLs among the files that a card maps."""
    mapped = re.search(r"^configs:.*?(?=^\w|\Z)", _card(folder), re.MULTILINE | re.DOTALL)
    return tuple(re.findall(r"\w+://[^\s'\",\]]+", mapped[0])) if mapped else ()


def _card(folder: Path) -> str:
    """The settings at the head of a card."""
    try:
        with open(folder / "README.md", encoding="utf-8", errors="replace") as card:
            text = card.read(1 << 16)
    except OSError:
        return ""
    return text.split("\n---", 1)[0] if text.startswith("---") else ""


def choose_split(splits: tuple[str, ...], wanted: str | None, where: str) -> str:
    """The split to open; SourceError names the ones there are."""
    if wanted is None:
        return "train" if "train" in splits else splits[0]
    if wanted in splits:
        return wanted
    raise unknown("split", wanted, splits, where)


def unknown(what: str, name: str | None, known: tuple[str, ...], where: str) -> SourceError:
    """The error for a split or a subset that is none of those that are there."""
    why = f"its {what}s are {', '.join(known)}"
    return SourceError(f"has no {what} {name}", where=where, why=why, fix=did_you_mean(name or "", known, ""))


def missing(path: str) -> SourceError:
    """The error for a path that is not there, with the nearest name in its folder."""
    folder, name = os.path.split(path)
    try:
        neighbours = os.listdir(folder or ".")
    except OSError:
        return SourceError("does not exist", where=path, why=f"there is no folder {folder}")
    return SourceError("does not exist", where=path, fix=did_you_mean(name, neighbours, ""))


def one_format(files: Iterable[str]) -> str:
    """The format of all of them; SourceError where they are not of one."""
    kinds: dict[str, str] = {}
    for path in files:
        kinds.setdefault(format_of(path) or "json", path)
    if len(kinds) > 1:
        examples = ", ".join(os.path.basename(path) for path in kinds.values())
        raise SourceError(
            "the files have different formats", why=f"for example {examples}", fix="name files of one format"
        )
    return next(iter(kinds))


def _walk(folder: Path) -> Iterable[str]:
    for base, folders, names in os.walk(folder):
        # hidden and private folders are not data, as in datasets.data_files
        folders[:] = [name for name in folders if not name.startswith((".", "__"))]
        for name in names:
            if is_data(name) and not name.startswith((".", "__")):
                yield os.path.relpath(os.path.join(base, name), folder)


def _by_split(paths: list[str]) -> dict[str, list[str]]:
    """Paths per split: by sharded file names, else by folder names, else by file names, else all are train."""
    sharded: dict[str, list[str]] = {}
    for path in paths:
        if match := re.fullmatch(r"data/([^/]+?)-\d{5}-of-\d{5}[^/]*\.[^/]*", path):
            sharded.setdefault(match[1], []).append(path)
    if sharded:
        return _train_first(sharded)
    for part in (os.path.dirname, os.path.basename):
        found = {split: [path for path in paths if _names(part(path), words)] for split, words in SPLIT_WORDS.items()}
        if any(found.values()):
            return {split: members for split, members in found.items() if members}
    return {"train": paths}


def _train_first(splits: dict[str, list[str]]) -> dict[str, list[str]]:
    order = list(SPLIT_WORDS)
    return dict(sorted(splits.items(), key=lambda item: (order.index(item[0]) if item[0] in order else 9, item[0])))


def _names(text: str, words: tuple[str, ...]) -> bool:
    """Whether one of the words stands in a path between separators, as datasets.data_files matches."""
    return any(re.search(rf"(?:^|[-._ 0-9/]){word}(?:$|[-._ 0-9/])", text) for word in words)
