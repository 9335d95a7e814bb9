"""What a tokenizer's folder brings beside the tokenizer, where it is at hand."""

from __future__ import annotations

from pathlib import Path

from sftui.errors import SftuiError
from sftui.recipe import Recipe

PROCESSORS = ("processor_config.json", "preprocessor_config.json", "video_preprocessor_config.json")
"""What AutoProcessor takes for the files of a processor."""


def tokenizer_folder(name: str | None, revision: str | None) -> Path | None:
    """The folder of a recipe's tokenizer; None where there is none, or it is not at hand."""
    from sftui.tokens.loading.locate import locate

    try:
        return locate(name or "", revision).folder
    except SftuiError:
        return None


def brings_processor(recipe: Recipe) -> bool:
    """Whether the files of a processor, by which a trainer renders in its place, lie beside the tokenizer."""
    folder = tokenizer_folder(recipe.tokenizer.name, recipe.tokenizer.revision)
    return folder is not None and any((folder / name).is_file() for name in PROCESSORS)
