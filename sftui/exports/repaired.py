"""Exports of repaired data: everything that names the data names the new file, or says that there is none yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sftui.recipe_io import parse_yaml
from sftui.trainers.yaml_edit import REMOVE, edit

if TYPE_CHECKING:
    from sftui.exports.prepared import Prepared
    from sftui.trainers.config import OpenedConfig, WrittenConfig


def over_repaired(prepared: Prepared) -> tuple[Prepared, tuple[str, ...]]:
    """What is exported with the repaired file as its data, and what there is to say where there is none."""
    if not prepared.repairs:
        return prepared, ()
    if prepared.repaired is None:
        count = len(prepared.repairs)
        told = (
            f"{count} repair{'s of the data are' if count > 1 else ' of the data is'} not saved yet, and what is"
            " written here names the data without: export `data` first"
        )
        return prepared, (told,)
    return replace(prepared, paths=(prepared.repaired,), split=None, subset=None, data_revision=None, kind="jsonl"), ()


def pointed_at(made: WrittenConfig, opened: OpenedConfig, data: str, number: int) -> WrittenConfig:
    """The user's own config with its dataset named `data`; a note where sftui cannot write that key."""
    first = made.files[0]
    find = _CHANGES.get(opened.trainer.partition("@")[0])
    changes = find(parse_yaml(first.content, first.name), data, number) if find is not None else {}
    if not changes:
        return replace(made, notes=(*made.notes, f"name the repaired data in it by hand: {data}"))
    return replace(made, files=(replace(first, content=edit(first.content, changes, first.name)), *made.files[1:]))


def _axolotl(config: Any, data: str, number: int) -> dict[tuple[str | int, ...], Any]:
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


def _trl(config: Any, data: str, number: int) -> dict[tuple[str | int, ...], Any]:
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


_CHANGES: Mapping[str, Callable[[Any, str, int], dict[tuple[str | int, ...], Any]]] = {"axolotl": _axolotl, "trl": _trl}
