"""What an export would write: file by file with its diff, before anything is written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sftui.errors import ExportError
from sftui.exports.files import write_atomically
from sftui.recipe import Recipe, diff

if TYPE_CHECKING:
    from sftui.conversations import Detected


@dataclass(frozen=True, slots=True)
class Prepared:
    """What an export needs to know beside the recipe.

    `detected` is how rows are read, `tokenizer` the `TokenizerFacts`, `template_source` the chat
    template in force as text where it is not the tokenizer's own. Missing parts are None.
    """

    paths: tuple[str, ...]
    split: str | None = None
    subset: str | None = None
    data_revision: str | None = None
    detected: Detected | None = None
    tokenizer: Any = None
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
    """`first_line` says what was corrected against the starting recipe."""

    files: tuple[PlannedFile, ...]
    first_line: str

    @property
    def overwrites(self) -> tuple[Path, ...]:
        """Files that are there already and would change."""
        return tuple(f.path for f in self.files if f.exists and f.diff)

    def write(self, overwrite: bool = False) -> tuple[Path, ...]:
        """Write every file that differs, each atomically; ExportError before the first one if any would be overwritten unasked."""
        if self.overwrites and not overwrite:
            raise ExportError(f"{self.overwrites[0]} is there already", fix="say so if it may be overwritten")
        changed = [f for f in self.files if f.diff or not f.exists]
        for file in changed:
            write_atomically(file.path, file.content.encode("utf-8"))
        return tuple(f.path for f in changed)


def correction_line(recipe: Recipe, base: Recipe) -> str:
    """One line: what was corrected against the starting recipe."""
    changes = diff(base, recipe)
    if not changes:
        return "sftui: nothing was corrected against the starting recipe"
    told = ", ".join(f"{c.path} {_short(c.before)} → {_short(c.after)}" for c in changes)
    return f"sftui: corrected against the starting recipe: {told}"


def plan_export(to: str, folder: str, recipe: Recipe, base: Recipe, prepared: Prepared) -> ExportPlan:
    """Plan what `to` (recipe, preprocess or a trainer's name) would write into `folder`."""
    raise ExportError(f"there is no export named {to}")


def _short(value: Any) -> str:
    text = " ".join(("null" if value is None else str(value)).split())
    return text if len(text) <= 60 else text[:59] + "…"
