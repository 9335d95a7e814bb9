"""The keys of Axolotl's config that name the data."""

from __future__ import annotations

from typing import Any

from sftui.trainers.yaml_edit import REMOVE


def naming(config: Any, data: str, number: int) -> dict[tuple[str | int, ...], Any]:
    """The changes by which dataset `number` is the JSON lines file `data`; empty where it is not named by itself."""
    entries = config.get("datasets")
    if (
        not isinstance(entries, list)
        or len(entries) <= number
        or any(isinstance(one.get("name"), list) for one in entries)
    ):
        return {}
    place = ("datasets", number)
    gone = [key for key in ("data_files", "name", "split", "revision") if key in entries[number]]
    return {(*place, "path"): data, (*place, "ds_type"): "json", **{(*place, key): REMOVE for key in gone}}
