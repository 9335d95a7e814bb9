"""What the tests hold of each trainer that is real: a folder each, named as its folder in sftui, found by walking.

A new trainer adds files here and edits none elsewhere; `tests/unit/test_trainer_tables.py` says which each must have.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from sftui.trainer_names import TRAINERS

FOLDER = Path(__file__).parent


def folder_of(trainer: str) -> Path:
    """The folder of a trainer's name."""
    return FOLDER / trainer.replace("-", "_")


def having(name: str) -> tuple[str, ...]:
    """The trainers whose folder has a file of this name, in the order of sftui's."""
    return tuple(trainer for trainer in TRAINERS if (folder_of(trainer) / f"{name}.py").exists())


def module_of(trainer: str, name: str) -> Any:
    """That file, as a module."""
    return import_module(f"trainers.{folder_of(trainer).name}.{name}")
