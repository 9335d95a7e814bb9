"""The one way to a file that stands next to the data: a recipe, a config, a template, marks, a baseline.

Such a file may come with a dataset, and a config may name any path. So it must be a plain file of a bearable size:
a device may be read for ever, and a pipe without a writer is waited for in silence.
"""

from __future__ import annotations

import io
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sftui.errors import SftuiError

MOST_BYTES = 16 << 20
"""Of a side file; a chat template has up to some 100 kB, and marks 100 bytes a row."""


def read_side_file(path: str | Path, what: str, error: type[SftuiError], *, most: int = MOST_BYTES) -> str:
    """The UTF-8 text of a plain file, line ends as \\n; `error` says that `what` cannot be read, and why."""
    try:
        data = read_side_bytes(path, most)
    except OSError as problem:
        raise error(f"{what} cannot be read", where=str(path), why=reason(problem)) from problem
    try:
        return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8").read()
    except UnicodeDecodeError as problem:
        raise error(f"{what} cannot be read", where=str(path), why="it is not UTF-8 text") from problem


def read_side_bytes(path: str | Path, most: int = MOST_BYTES) -> bytes:
    """The bytes of a plain file; OSError where it is none, or has more than `most` bytes."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    except ValueError as problem:  # a NUL, or half a character, in the name
        raise OSError("its name is not a file name") from problem
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError("it is not a regular file")
        with open(handle, "rb", closefd=False) as file:
            data = file.read(most + 1)
    finally:
        os.close(handle)
    if len(data) > most:
        raise OSError(f"it has more than {most:,} bytes")
    return data


def object_of(path: str | Path) -> Mapping[str, Any]:
    """The JSON object of a plain file; empty where there is none."""
    try:
        value = parse_json(read_side_bytes(path))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def reason(problem: OSError) -> str:
    """Why the system refused, as a clause."""
    return (problem.strerror or str(problem)).lower() if problem.errno else str(problem)


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text; ValueError for whatever is none, nesting beyond what Python can recurse included."""
    try:
        return json.loads(text)
    except RecursionError as problem:
        raise ValueError("it is nested too deeply") from problem
