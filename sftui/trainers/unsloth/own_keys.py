"""Which configs are Unsloth's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sftui.trainers.traits import keys_among
from sftui.trainers.trl.own_keys import claimed as of_trl

OWN = frozenset({"responses", "standardize", "text_from", "formatting", "formatting_func", "max_seq_length", "data"})
"""The options that sftui takes for its arguments, and that no other trainer has."""


def claimed(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of a parsed config that are those of no other trainer, and where there is one those of TRL's SFTConfig,
    which the rest of its options are."""
    found = keys_among(OWN, config)
    return (*found, *(key for key in of_trl(config) if not key.startswith("dataset_"))) if found else ()
