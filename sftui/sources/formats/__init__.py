"""Formats of files besides JSON: each a file of this folder, found by walking it, with how it is known in `FORMATS`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from sftui.sources.byte_file import ByteFile
from sftui.sources.source import Source, SourceSpec
from sftui.values import value_class


@value_class
class Format:
    """How files of a format are known, and what opens them.

    `open` takes a file with its first bytes, where `fits` knows it by these and its name in small letters, else by one
    of its `endings`: folders are searched for these, and not for `endings_alone`, as of models. `open_path` opens a
    path of this disk and what to call it before its bytes are looked at; None where it is of another format.
    """

    kind: str
    open: Callable[[ByteFile, bytes, SourceSpec], Source] | None = None
    fits: Callable[[bytes, str], bool] | None = None
    endings: tuple[str, ...] = ()
    endings_alone: tuple[str, ...] = ()
    open_path: Callable[[str, str, SourceSpec], Source | None] | None = None


@cache
def formats() -> tuple[Format, ...]:
    """All of them."""
    names = sorted(module.name for module in iter_modules(__path__))
    return tuple(one for name in names for one in import_module(f"{__name__}.{name}").FORMATS)
