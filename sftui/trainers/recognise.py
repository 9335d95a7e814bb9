"""Which trainer a config file is for, told by its keys (see `Traits.claims`).

A key counts for a trainer if no other trainer has it; keys that several have decide nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sftui.trainers import trainer_names, traits_of

SHOWN = 4
CONFIGS = (".yaml", ".yml", ".sh")
"""How a trainer's config is named, or the script that is one."""
LARGEST_JSON = 256 << 10


@dataclass(frozen=True, slots=True)
class Recognition:
    """The trainer (None: not decided), and why."""

    trainer: str | None
    reason: str


RECIPE = Recognition(None, "it is an sftui recipe")


def recognise(config: Mapping[str, Any]) -> Recognition:
    """The trainer whose own keys a parsed config has; where that is undecided, the reason says why."""
    if "preset" in config:
        return RECIPE
    found = {name: traits_of(name).claims(config) for name in trainer_names()}
    ranked = sorted((name for name in found if found[name]), key=lambda name: (-len(found[name]), name))
    if not ranked:
        return Recognition(None, "none of its keys belongs to only one trainer")
    best = ranked[0]
    if len(ranked) > 1 and len(found[ranked[1]]) == len(found[best]):
        tied = [name for name in ranked if len(found[name]) == len(found[best])]
        counts = ", ".join(f"{_keys(found[name])} of {name}" for name in tied)
        return Recognition(None, f"it has equally many keys of several trainers: {counts}")
    return Recognition(best, f"it has {_keys(found[best])}")


def is_config(name: str, trainer: str | None = None) -> bool:
    """Whether a word names a config: by its ending, or a JSON file that is an object of which the trainer, or any one
    where none is named, claims two keys or more, or one inside of another. Rows have other keys."""
    if name.lower().endswith(CONFIGS):
        return True
    path = Path(name)
    try:
        if path.suffix.lower() != ".json" or path.stat().st_size > LARGEST_JSON:
            return False
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    if not isinstance(found, Mapping):
        return False
    meant = trainer.partition("@")[0] if trainer is not None else recognise(found).trainer
    claimed = traits_of(meant).claims(found) if meant in trainer_names() else ()
    return len(claimed) > 1 or "." in "".join(claimed)


def is_script(name: str) -> bool:
    """Whether a config of this name is a shell script."""
    return name.lower().endswith(".sh")


def runs(text: str) -> Recognition:
    """The trainer that a shell script runs, of those whose config is such a script."""
    for name in trainer_names():
        command = traits_of(name).script
        if command and command in text:
            return Recognition(name, f"it runs {command}")
    return Recognition(None, "it runs no trainer whose scripts sftui reads")


def _keys(keys: tuple[str, ...]) -> str:
    more = f" and {len(keys) - SHOWN} more" if len(keys) > SHOWN else ""
    return ", ".join(f"`{key}`" for key in keys[:SHOWN]) + more
