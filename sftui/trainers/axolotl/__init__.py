"""Axolotl: its dataset types, masks, multipack, templates and config."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sftui.trainers.traits import Finds, Traits, own_keys


def claimed(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of a parsed config that are Axolotl's alone; entries of `datasets` with a `type`, which TRL's mixture
    does not have, count first."""
    entries, found = config.get("datasets"), own_keys(__file__, config)
    typed = isinstance(entries, list) and any(isinstance(entry, Mapping) and "type" in entry for entry in entries)
    return ("datasets[].type", *found) if typed else found


TRAITS = Traits(
    name="axolotl",
    title="Axolotl",
    about="Axolotl, as its YAML says",
    home="sftui.trainers.axolotl.trainer:Axolotl",
    versions=("0.21", "0.20", "0.19", "0.18"),
    first=(0, 18),
    parses_json_text=True,
    named_keys_only=True,
    flag_by_key=True,
    placed=True,
    finds=Finds.DUMMY,
    assistant_rule="turn_content",
    packing="multipack",
    separates=("multipack",),
    separates_by_numbers=True,
    empty_stop="",  # not the same with and without sample_packing (utils/data/sft.py, utils/trainer.py)
    reads="sftui.trainers.axolotl.config",
    writes="sftui.trainers.axolotl.config",
    claims=claimed,
)
