"""Which files a session reads: what must never be written over, by a command or by the inspector."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from sftui.errors import ExportError, SftuiError
from sftui.session.at_hand import is_saved
from sftui.values import value_class

if TYPE_CHECKING:
    from sftui.recipe import Recipe
    from sftui.session.options import OpenOptions

TOKENIZER_FILES = (
    "tokenizer*",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab*",
    "merges*",
    "*config.json",
    "chat_template*",
    "*.model",
    "*.tiktoken",
    "tekken.json",
)
"""What of a model's folder is read; the reports that lie there are not."""


@value_class
class Inputs:
    """The files that are read, and the folders and patterns in which any data file would be read the next time."""

    files: tuple[str, ...]
    places: tuple[str, ...] = ()

    def refuse(self, target: Path) -> None:
        """ExportError where `target` is one of the inputs, by whatever name, link or hard link, would become one, or is
        no file."""
        here = _identity(target)
        for file in self.files:
            if here is not None and here == _identity(file):
                other = f"it is {file}, and " if target != Path(file) else ""
                why = f"{other}sftui never writes in place"
                raise ExportError(f"{target} is one of the input files", why=why, fix="name another file")
        for place in self.places:
            if _would_read(place, target):
                what = f"{target} would be read as data next time"
                raise ExportError(what, why=f"it belongs to {place}", fix="name another folder")
        if target.exists() and not target.is_file():
            why = "it is a folder or a device, not a file"
            raise ExportError(f"{target} cannot be overwritten", why=why, fix="name another file")


def inputs_of(options: OpenOptions, *others: str | None, recipes: bool = True, used: Iterable[Recipe] = ()) -> Inputs:
    """Everything that is read; `others` are further data or files, e.g. of --eval, and `used` further recipes.

    `recipes=False` leaves out the recipe and the trainer's config themselves: an export writes them back with a diff.
    """
    named = [*options.paths, *(other for other in others if other is not None)]
    files = [*data_files(options.paths, options.split), *data_files(named[len(options.paths) :])]
    files += [options.edits] if options.edits is not None else []
    if recipes:
        files += [options.recipe_file] if options.recipe_file is not None else []
        files += [options.config.path] if options.config is not None else []
    if options.config is not None:
        values = [key.value for key in options.config.keys if isinstance(key.value, str)]
        brought = (file for value in values for file in (value, os.path.join(value, "dataset_info.json")))
        files += filter(os.path.isfile, brought)
    if options.serve is not None:
        files += served_files(options.serve)
    for recipe in (options.recipe, *used):
        files += recipe_files(recipe)
    return Inputs(tuple(dict.fromkeys(files)), tuple(one for one in named if not os.path.isfile(one)))


def data_files(paths: Iterable[str], split: str | None = None) -> tuple[str, ...]:
    """The local files behind what was named as data, in the order of reading; a name of the Hub has none.
    SourceError."""
    return tuple(dict.fromkeys(file for path in paths for file in _files_of(path, split)))


def size_of(files: Iterable[str]) -> int:
    """The bytes of files; of one that cannot be read none."""
    total = 0
    for file in files:
        with suppress(OSError):
            total += os.path.getsize(file)
    return total


def labels_of(files: Iterable[str]) -> dict[str, str]:
    """What a source of several files calls each of them (see `sources.opening`), and the file."""
    known = list(files)
    base = os.path.commonpath([os.path.dirname(os.path.abspath(file)) for file in known]) if known else ""
    return {os.path.relpath(file, base): file for file in known}


def recipe_files(recipe: Recipe) -> tuple[str, ...]:
    """The local files that a recipe names: its chat template, and those of its tokenizer."""
    template = recipe.render.template
    files = [os.path.expanduser(template.removeprefix("file:"))] if template.startswith("file:") else []
    return (*files, *_tokenizer_files(recipe.tokenizer.name or "", recipe.tokenizer.revision))


def served_files(name: str) -> tuple[str, ...]:
    """The local files of what a model will be served with: a template, a GGUF file, or those of a tokenizer."""
    path = os.path.expanduser(name)
    return (path,) if os.path.isfile(path) else _tokenizer_files(name, None)


def _tokenizer_files(name: str, revision: str | None) -> tuple[str, ...]:
    from sftui.tokens.loading.locate import locate

    try:
        place = locate(name, revision)
    except SftuiError:
        return ()
    if place.folder is None:
        return () if place.path is None else (str(place.path),)
    there = [*place.folder.glob("*"), *place.folder.glob("additional_chat_templates/*")]
    read = (file for file in there if any(fnmatchcase(file.name, form) for form in TOKENIZER_FILES))
    return tuple(str(file) for file in sorted(read) if file.is_file())


def _files_of(path: str, split: str | None) -> Iterator[str]:
    from sftui.sources.byte_file import is_url
    from sftui.sources.files import find_folder, find_glob, is_glob

    if is_url(path):
        return
    if os.path.isdir(path):
        if _whole(path):
            yield from sorted(str(one) for one in Path(path).rglob("*") if one.is_file())
        else:
            yield from find_folder(Path(path), split).files
    elif is_glob(path):
        yield from find_glob(path).files
    elif os.path.exists(path):
        yield path


def _whole(folder: str) -> bool:
    """Whether all of a folder belongs to its data: written by `save_to_disk`, or a dataset repository that says what it
    holds."""
    from sftui.sources.files import declares_data

    return declares_data(Path(folder)) or is_saved(Path(folder))


def _would_read(place: str, target: Path) -> bool:
    from sftui.sources.files import NOT_DATA, format_of, is_glob

    real, data = os.path.realpath(target), format_of(target.name) is not None and target.name not in NOT_DATA
    if os.path.isdir(place):
        inside = real.startswith(os.path.join(os.path.realpath(place), ""))
        return inside and (data or _whole(place))
    if not data or not is_glob(place):
        return False
    pattern = os.path.abspath(place)
    deep = "**" in pattern or pattern.count(os.sep) == real.count(os.sep)
    return deep and any(fnmatchcase(one, pattern) for one in (real, os.path.abspath(target)))


def _identity(path: str | Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
