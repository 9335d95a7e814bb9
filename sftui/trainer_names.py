"""The names of the trainers that sftui has: those of the folders of `trainers/` that hold a trainer."""

from __future__ import annotations

from pathlib import Path

_FIRST = (
    *("hf-trainer", "manual-shift", "trl", "axolotl", "llamafactory", "llamafactory-v1", "unsloth", "torchtune"),
    *("mlx-lm", "verl"),
)


def _found() -> tuple[str, ...]:
    files = (Path(__file__).parent / "trainers").glob("*/trainer.py")
    names = {file.parent.name.replace("_", "-") for file in files}
    return (*(name for name in _FIRST if name in names), *sorted(names.difference(_FIRST)))


TRAINERS = _found()
"""Those that are asked for most come first, the others by name; the first is the one of a recipe that names none."""
