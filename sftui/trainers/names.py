"""The names of the trainers that sftui has."""

from __future__ import annotations

TRAINERS = (
    *("hf-trainer", "manual-shift", "trl", "axolotl", "llamafactory", "llamafactory-v1", "unsloth", "torchtune"),
    "mlx-lm",
    "verl",
    "ms-swift",
    "nemo-automodel",
)
"""The trainers that sftui has, each in the package of its name (see `traits`); the first is the one of a recipe that
names none."""
