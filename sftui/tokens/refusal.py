"""Why a tokenizer did not load, in one sentence for each cause."""

from __future__ import annotations

from sftui.errors import TokenizerError
from sftui.tokens.locate import Location


def explain(error: Exception, place: Location) -> TokenizerError:
    """The TokenizerError for whatever transformers, tokenizers or huggingface_hub raised."""
    return TokenizerError("the tokenizer cannot be loaded", where=place.name, why=str(error).splitlines()[0] if str(error) else type(error).__name__)
