"""The keys of TRL's config that name the data."""

from __future__ import annotations

from typing import Any

from sftui.trainers.yaml_edit import REMOVE


def naming(config: Any, data: str, number: int) -> dict[tuple[str | int, ...], Any]:
    """The changes by which dataset `number` is the JSON lines file `data`; empty where it is not named by itself."""
    entries = config.get("datasets")
    if isinstance(entries, list) and len(entries) > number:
        place = ("datasets", number)
        gone = [key for key in ("data_dir", "name") if key in entries[number]]
        return {
            (*place, "path"): "json",
            (*place, "data_files"): data,
            (*place, "split"): "train",
            **{(*place, key): REMOVE for key in gone},
        }
    gone = [key for key in ("dataset_config", "dataset_train_split") if key in config]
    entry = {"path": "json", "data_files": data, "split": "train"}
    return {("dataset_name",): REMOVE, ("datasets",): [entry], **{(key,): REMOVE for key in gone}}
