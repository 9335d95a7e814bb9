"""Which keys of a `tokenizer:` or `dataset:` block its component takes, and what torchtune raises for the rest.

Source: torchtune 0.6.1 and 0.7.0, config/_instantiate.py: every key but `_component_` is a keyword argument. A dataset
builder hands what it does not know to `datasets.load_dataset`, and that to the configuration of the kind of file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sftui.trainers.config import KeyNote
from sftui.trainers.known import Component, Known

ROOT = "torchtune."
FILES = ("json", "csv", "parquet", "arrow", "text")


def component_of(block: Mapping[str, Any], known: Known) -> Component | None:
    """What the block's component takes; None where the record of the release does not have it."""
    return known.components.get(str(block.get("_component_")))


def refused(block: Mapping[str, Any], where: str, known: Known) -> dict[str, KeyNote]:
    """The keys of a block at which torchtune raises, each with what it raises, and those that are missing."""
    component, name = component_of(block, known), str(block.get("_component_"))
    short = name.rpartition(".")[2]
    if component is None:
        if not name.startswith(ROOT) or not _complete(name, known):
            return {}
        home = name.rpartition(".")[0]
        note = known.stops(f"{where}._component_", name, f"InstantiationError: {home} has no attribute `{short}`")
        return {"_component_": note}
    found = {
        key: known.stops(f"{where}.{key}", None, f"TypeError: {short}() missing the required argument `{key}`")
        for key in sorted(component.required)
        if key not in block
    }
    for key, value in block.items():
        if key == "_component_" or key in component.takes:
            continue
        error = _at_load(key, block, known) if component.rest else f"{short}() got an unexpected keyword argument"
        if error:
            found[key] = known.stops(f"{where}.{key}", value, f"TypeError: {error} `{key}`")
    return found


def _complete(name: str, known: Known) -> bool:
    """Whether the record holds every builder of the component's module."""
    home = name.rpartition(".")[0]
    return any(one.rpartition(".")[0] == home for one in known.components)


def _at_load(key: str, block: Mapping[str, Any], known: Known) -> str | None:
    """What load_dataset says of a keyword; a set on the Hub may be of any kind of file."""
    source = str(block.get("source"))
    kind = source if source in FILES else "any"
    if not known.load_dataset or key in known.load_dataset[kind] or key == "trust_remote_code":
        return None
    return f"load_dataset of {source if kind != 'any' else 'any file'} got an unexpected keyword argument"
