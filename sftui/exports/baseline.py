"""The baseline: findings that are known already, so that only new ones fail a check."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sftui.audit.marks import mark
from sftui.errors import ExportError, RecipeError
from sftui.findings import CODES
from sftui.side_files import parse_json, read_side_bytes, reason

if TYPE_CHECKING:
    from sftui.audit import Found

VERSION = 2
"""2: findings of the set-up are recognised without their counts, those of the dataset part by part. Rows as in 1."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a baseline knows, and the codes of what it holds in an older form that is recognised no more."""

    known: frozenset[str]
    outdated: tuple[str, ...] = ()


def read_baseline(path: Path) -> Baseline:
    """A baseline file; RecipeError where it is none, or of a later version."""
    try:
        read = parse_json(read_side_bytes(path))
        codes, version = read["findings"], read["version"]
        if version not in range(1, VERSION + 1):
            raise RecipeError(
                "the baseline is of another version", where=str(path), fix="write it anew with --write-baseline"
            )
        outdated = (
            tuple(sorted(code for code, marks in codes.items() if _outdated(code, marks))) if version == 1 else ()
        )
        return Baseline(frozenset(str(mark) for marks in codes.values() for mark in marks), outdated)
    except OSError as error:
        raise RecipeError(
            "the baseline cannot be read",
            where=str(path),
            why=reason(error),
            fix="write it with --write-baseline",
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RecipeError(
            "this is no baseline of sftui", where=str(path), fix="write it anew with --write-baseline"
        ) from error


def _outdated(code: str, marks: Collection[str]) -> bool:
    """Whether version 1 knew something else than rows by this code: also a code of rows may be told of the set-up."""
    return (code in CODES and CODES[code].scope != "row") or mark(code) in marks


def may_replace(path: Path) -> None:
    """ExportError where something else than a baseline is at `path`; one of another version may go too."""
    if not os.path.exists(path):
        return
    try:
        read = parse_json(read_side_bytes(path))
        known = isinstance(read["version"], int) and isinstance(read["findings"], dict)
    except (OSError, ValueError, KeyError, TypeError):
        known = False
    if not known:
        raise ExportError(
            f"{path} is no baseline of sftui",
            why="a baseline is written over another baseline only",
            fix="name another file with --baseline",
        )


def baseline_text(found: Found) -> tuple[str, int]:
    """Every finding that stands, by code, as plain ASCII, and how many different ones there are."""
    codes = {code: sorted(marks) for code, marks in sorted(found.fingerprints.items())}
    return json.dumps({"version": VERSION, "findings": codes}, indent=1) + "\n", sum(map(len, codes.values()))
