"""Exports of repaired data: everything that names the data names the new file, or says that there is none yet."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sftui.conversations import detect
from sftui.findings.rule import TO_MESSAGES
from sftui.recipe import Data
from sftui.recipe_io import parse_yaml
from sftui.sources.files import format_of
from sftui.trainers import trainer_named
from sftui.trainers.yaml_edit import edit

if TYPE_CHECKING:
    from sftui.exports.prepared import Prepared
    from sftui.recipe import Recipe
    from sftui.trainers.config import OpenedConfig, WrittenConfig


def over_repaired(prepared: Prepared) -> tuple[Prepared, tuple[str, ...]]:
    """What is exported with the repaired file as its data, and what there is to say where there is none."""
    if not prepared.repairs:
        return prepared, ()
    if prepared.repaired is None:
        count = len(prepared.repairs)
        number, which = ("s of the data are", "them") if count > 1 else (" of the data is", "it")
        note = (
            f"{count} repair{number} not saved yet, and what is written here names the data without {which}: export"
            " `data` first"
        )
        return prepared, (note,)
    kind = "parquet" if format_of(prepared.repaired) == "parquet" else "jsonl"
    made = replace(prepared, paths=(prepared.repaired,), split=None, subset=None, data_revision=None, kind=kind)
    return (replace(made, plainly=detect(made.sample, Data())) if TO_MESSAGES in made.repairs else made), ()


def reading(recipe: Recipe, prepared: Prepared) -> Recipe:
    """The recipe with which the file that is exported is read: rows that were converted are messages in it."""
    if prepared.repaired is None or TO_MESSAGES not in prepared.repairs:
        return recipe
    return trainer_named(recipe.preset).reading_messages(recipe)


def pointed_at(made: WrittenConfig, opened: OpenedConfig, data: str, number: int) -> WrittenConfig:
    """The user's own config with its dataset named `data`; a note where sftui cannot write that key."""
    first = made.files[0]
    changes = trainer_named(opened.trainer).naming(parse_yaml(first.content, first.name), data, number)
    if not changes:
        return replace(made, notes=(*made.notes, f"name the repaired data in it by hand: {data}"))
    return replace(made, files=(replace(first, content=edit(first.content, changes, first.name)), *made.files[1:]))
