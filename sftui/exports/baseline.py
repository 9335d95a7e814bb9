"""The baseline: findings that are known already, so that only new ones fail a check."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from sftui.errors import ExportError, RecipeError

if TYPE_CHECKING:
    from sftui.audit import Found

VERSION = 1


def read_baseline(path: Path) -> frozenset[str]:
    """The fingerprints of a baseline file; RecipeError where it is none."""
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        codes = read["findings"]
        if read["version"] != VERSION:
            raise RecipeError("the baseline is of another version", where=str(path), fix="write it anew with --write-baseline")
        return frozenset(str(mark) for marks in codes.values() for mark in marks)
    except OSError as error:
        raise RecipeError("the baseline cannot be read", where=str(path), why=(error.strerror or str(error)).lower(),
                          fix="write it with --write-baseline") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RecipeError("this is no baseline of sftui", where=str(path), fix="write it anew with --write-baseline") from error


def may_replace(path: Path) -> None:
    """ExportError where something else than a baseline is at `path`; one of another version may go too."""
    if not path.exists():
        return
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        known = isinstance(read["version"], int) and isinstance(read["findings"], dict)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        known = False
    if not known:
        raise ExportError(f"{path} is no baseline of sftui", why="a baseline is written over another baseline only", fix="name another file with --baseline")


def baseline_text(found: Found) -> tuple[str, int]:
    """Every finding that stands, by code, as plain ASCII, and how many different ones there are."""
    codes = {code: sorted(marks) for code, marks in sorted(found.fingerprints.items())}
    return json.dumps({"version": VERSION, "findings": codes}, indent=1) + "\n", sum(map(len, codes.values()))
