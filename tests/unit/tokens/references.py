"""The tokenizer that tests hold sftui's against: AutoTokenizer's own, in this process."""

from __future__ import annotations

import os
from typing import Any

from sftui.tokens.loading import autotokenizer
from sftui.tokens.loading.locate import Location
from sftui.tokens.loading.reference import load_request
from sftui.tokens.loading.refusal import explain


def load_reference(place: Location) -> Any:
    """The tokenizer object of our own transformers; TokenizerError with a sentence for each cause."""
    # transformers looks at this once, when it is imported; its advice about torch is not for us.
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    try:
        return autotokenizer.load(load_request(place))
    except Exception as error:
        raise explain(error, place) from error
