"""The baseline: findings that are known already, so that only new ones fail a check."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from sftui.errors import RecipeError
from sftui.exports.files import write_atomically

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


def write_baseline_file(path: Path, found: Found) -> int:
    """Write every finding that stands, by code; how many different ones there are."""
    codes = {code: sorted(marks) for code, marks in sorted(found.fingerprints.items())}
    write_atomically(path, (json.dumps({"version": VERSION, "findings": codes}, indent=1) + "\n").encode("ascii"))
    return sum(map(len, codes.values()))
