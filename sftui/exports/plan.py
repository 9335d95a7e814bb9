"""What an export would write: file by file with its diff, before anything is written."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from sftui.errors import ExportError
from sftui.exports.files import write_atomically
from sftui.exports.wording import correction_line
from sftui.recipe import Recipe

if TYPE_CHECKING:
    from sftui.conversations import Detected
    from sftui.tokens import TokenizerFacts
    from sftui.trainers.config import WrittenConfig

RECIPE_FILE = "recipe.yaml"
SCRIPT_FILE = "preprocess.py"
TARGETS = ("recipe", "preprocess")


@dataclass(frozen=True, slots=True)
class Prepared:
    """What an export needs to know beside the recipe.

    `detected` is how rows are read, `kind` the format of the source, `template_source` the chat
    template in force as text where it is not the tokenizer's own. Missing parts are None.
    """

    paths: tuple[str, ...]
    split: str | None = None
    subset: str | None = None
    data_revision: str | None = None
    kind: str = ""
    detected: Detected | None = None
    tokenizer: TokenizerFacts | None = None
    template_source: str | None = None


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """`diff` is a unified diff against the file that is there now; empty where it would not change."""

    path: Path
    content: str
    diff: str
    exists: bool


@dataclass(frozen=True, slots=True)
class ExportPlan:
    """`first_line` says what was corrected against the starting recipe, `notes` what the files cannot say."""

    files: tuple[PlannedFile, ...]
    first_line: str
    notes: tuple[str, ...] = ()

    @property
    def overwrites(self) -> tuple[Path, ...]:
        """Files that are there already and would change."""
        return tuple(f.path for f in self.files if f.exists and f.diff)

    def write(self, overwrite: bool = False) -> tuple[Path, ...]:
        """Write every file that differs, each whole or not at all, and return their paths.

        ExportError before the first one where any would be overwritten unasked.
        """
        if self.overwrites and not overwrite:
            raise ExportError(f"{self.overwrites[0]} is there already", fix="say so if it may be overwritten")
        changed = [f for f in self.files if f.diff or not f.exists]
        for file in changed:
            write_atomically(file.path, file.content.encode("utf-8"))
        return tuple(f.path for f in changed)


def check_target(to: str) -> None:
    """ExportError, with the nearest that there is, for something that cannot be exported to."""
    if to in TARGETS or to.partition("@")[0] in _trainers():
        return
    known = (*TARGETS, *_trainers())
    close = get_close_matches(to, known, n=1)
    fix = f"did you mean `{close[0]}`?" if close else f"there are {', '.join(known)}"
    raise ExportError(f"there is no export `{to}`", fix=fix)


def plan_export(to: str, folder: str, recipe: Recipe, base: Recipe, prepared: Prepared) -> ExportPlan:
    """Plan what `to` would write into `folder`; ExportError where it cannot be expressed.

    `recipe` is recipe.yaml alone; `preprocess`, and the two presets that are prepared by hand
    (hf-trainer, manual-shift), add the stand-alone script; another trainer's name adds its config.
    """
    check_target(to)
    line = correction_line(recipe, base)
    contents = {RECIPE_FILE: recipe_text(recipe, base)}
    if to == "preprocess" or to in HAND_WRITTEN:
        if to in HAND_WRITTEN and to != recipe.preset:
            raise ExportError(f"the recipe is for {recipe.preset}, not for {to}", fix=f"open it with --trainer {to}")
        from sftui.exports.preprocess import script

        contents = {SCRIPT_FILE: script(recipe, base, prepared), **contents}
    notes: tuple[str, ...] = ()
    if to != "recipe" and to not in (*HAND_WRITTEN, "preprocess"):
        config = _config_of(to, recipe, prepared)
        contents = {**_told(config, line), **contents}
        notes = (*config.losses, *config.notes)
    return ExportPlan(tuple(_planned(Path(folder) / name, text) for name, text in contents.items()), line, notes)


HAND_WRITTEN = ("hf-trainer", "manual-shift")


def recipe_text(recipe: Recipe, base: Recipe) -> str:
    """recipe.yaml: the corrections as its first line, then what differs from the preset."""
    from sftui.trainers import dump_recipe

    return dump_recipe(recipe, comment=correction_line(recipe, base))


def _planned(path: Path, content: str) -> PlannedFile:
    try:
        before = path.read_text(encoding="utf-8", errors="backslashreplace")
    except FileNotFoundError:
        return PlannedFile(path, content, "", False)
    except OSError as error:
        raise ExportError(f"{path} cannot be compared with what is there", why=(error.strerror or str(error)).lower()) from error
    lines = difflib.unified_diff(before.splitlines(True), content.splitlines(True), f"{path} (now)", f"{path} (new)")
    return PlannedFile(path, content, "".join(line if line.endswith("\n") else f"{line}\n" for line in lines), True)


def _trainers() -> tuple[str, ...]:
    from sftui.trainers import preset_names

    return tuple(dict.fromkeys(name.partition("@")[0] for name in preset_names()))


def _config_of(to: str, recipe: Recipe, prepared: Prepared) -> WrittenConfig:
    """The trainer's own config; RecipeError where sftui writes none for it."""
    from sftui.trainers import trainer_named

    if to.partition("@")[0] != recipe.preset.partition("@")[0]:
        raise ExportError(f"the recipe is for {recipe.preset}, not for {to}", fix=f"open it with --trainer {to}")
    facts = {
        "data": prepared.paths[0] if prepared.paths else None,
        "tokenizer": recipe.tokenizer.name,
        "format": prepared.detected.format if prepared.detected is not None else None,
        "template_source": prepared.template_source,
    }
    return trainer_named(to).write_config(recipe, None, facts)


def _told(config: WrittenConfig, line: str) -> dict[str, str]:
    """The files of a config, YAML ones with the corrections as their first line."""
    return {
        file.name: f"# {line}\n{file.content}" if file.name.endswith((".yaml", ".yml")) else file.content
        for file in config.files
    }
