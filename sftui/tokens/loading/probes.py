"""The probe strings: what a serialised backend is compared on with AutoTokenizer.

They aim at where loaders differ: leading and repeated white space, new lines, digits, contractions,
scripts, bytes without a token, special tokens typed as text, and long input.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

SPECIALS_TRIED = 24
"""How many special tokens are tried at most; they come in families of hundreds of reserved ones."""


def probe_strings(special: Iterable[str]) -> tuple[str, ...]:
    """The probe strings for a tokenizer whose special or added tokens are `special`."""
    probes = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    tokens = [token for token in dict.fromkeys(special) if token][:SPECIALS_TRIED]
    end = tokens[-1] if tokens else ""
    typed = [form.format(token, end) for token in tokens for form in probes["forms"]]
    marked = [form.format(token, token) for token in probes["markers"] for form in probes["forms"][:4]]
    return tuple(dict.fromkeys([*probes["texts"], *typed, *marked]))
