"""The names of the trainers that sftui has: those of the folders of `trainers/` that hold a trainer."""

from __future__ import annotations

import os

_FIRST = (
    *("hf-trainer", "manual-shift", "trl", "axolotl", "llamafactory", "llamafactory-v1", "unsloth", "torchtune"),
    *("mlx-lm", "verl"),
)


def _found() -> tuple[str, ...]:
    folder = os.path.join(os.path.dirname(__file__), "trainers")
    held = (name for name in os.listdir(folder) if os.path.isfile(os.path.join(folder, name, "trainer.py")))
    names = {name.replace("_", "-") for name in held}
    return (*(name for name in _FIRST if name in names), *sorted(names.difference(_FIRST)))


TRAINERS = _found()
"""Those that are asked for most come first, the others by name; the first is the one of a recipe that names none."""
