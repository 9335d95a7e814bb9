"""Whether a tokenizer's folder brings a processor, by which a trainer renders in its place."""

from __future__ import annotations

from sftui.errors import SftuiError
from sftui.recipe import Recipe

FILES = ("processor_config.json", "preprocessor_config.json", "video_preprocessor_config.json")
"""What AutoProcessor takes for those of a processor."""


def brings_processor(recipe: Recipe) -> bool:
    """Whether such files lie beside the tokenizer, where its folder is at hand."""
    from sftui.tokens.locate import locate

    try:
        folder = locate(recipe.tokenizer.name or "", recipe.tokenizer.revision).folder
    except SftuiError:
        return False
    return folder is not None and any((folder / name).is_file() for name in FILES)
