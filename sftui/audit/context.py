"""The context of the checks for a recipe and its loaded tools, with the model's own config files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sftui.errors import SftuiError
from sftui.findings import Context

if TYPE_CHECKING:
    from pathlib import Path

    from sftui.conversations import Detection
    from sftui.recipe import Recipe
    from sftui.trainers import Toolbox

LARGEST = 4 << 20
"""Bytes of a config file that are read; the real ones have a few thousand."""


def audit_context(recipe: Recipe, detected: Detection, tools: Toolbox) -> Context:
    """The context of `check_row`, with generation_config.json and config.json where the tokenizer's folder has them."""
    folder = _folder(recipe)
    return Context(
        recipe,
        tools.tokenizer.facts,
        tools.templates.get("default"),
        detected,
        tools,
        _read(folder, "generation_config.json"),
        _read(folder, "config.json"),
    )


def _folder(recipe: Recipe) -> Path | None:
    from sftui.tokens.loading.locate import locate

    try:
        return locate(recipe.tokenizer.name or "", recipe.tokenizer.revision).folder
    except SftuiError:
        return None


def _read(folder: Path | None, name: str) -> Mapping[str, Any] | None:
    """A JSON object of the folder; None where it is not there or is no object: the checks then abstain."""
    if folder is None:
        return None
    try:
        with open(folder / name, "rb") as file:
            found = json.loads(file.read(LARGEST))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
