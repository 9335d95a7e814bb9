"""A trainer's own config file as what to open: which trainer it is, its datasets, and what became of its keys."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sftui.errors import RecipeError, SourceError

EVALUATION = "eval"
"""The dataset of a config that is its evaluation set; `eval:1` the second one."""

if TYPE_CHECKING:
    from sftui.trainers.config import DatasetRef, OpenedConfig


@dataclass(frozen=True, slots=True)
class ChosenConfig:
    """An opened config, and the sentences to tell about it."""

    opened: OpenedConfig
    messages: tuple[str, ...]
    """For stderr: how it was recognised, its datasets, and what became of its keys."""

    notes: tuple[str, ...]
    """For the inspector: what of the config does not count."""

    @property
    def reference(self) -> DatasetRef:
        return self.opened.datasets[self.opened.chosen]


def open_config(path: str, trainer: str | None, dataset: str | None) -> ChosenConfig:
    """Read a config; RecipeError where it is not known whose it is, or it has no such dataset.

    `trainer` is NAME or NAME@VERSION, or None to tell it by its keys; `dataset` a number from 0 or a name, `eval` the
    set that it evaluates on, and `eval:1` or `eval:NAME` another one of those.
    """
    from sftui.recipe import Preset
    from sftui.sources.byte_file import is_url
    from sftui.sources.opening import requested_by
    from sftui.trainers import trainer_named
    from sftui.trainers.config import KeyUse
    from sftui.trainers.own_config import evaluated_in

    text = config_text(path)
    lines: list[str] = []
    if trainer is None:
        trainer, reason = _recognised(path, text)
        lines.append(f"{path} is read as a config for {trainer}, because {reason}")
    meant = Preset.of(trainer)
    kind, _, which = (dataset or "").partition(":")
    opened = trainer_named(meant.trainer).read_config(path, text, meant.version or None)
    held = kind == EVALUATION and dataset not in [reference.name for reference in opened.datasets]
    opened = evaluated_in(opened) if held else opened
    number = _number(opened, (which or None) if held else dataset)
    if len(opened.datasets) > 1:
        word = f"{EVALUATION}:N" if held else "N"
        lines.append(
            f"it names {len(opened.datasets)} datasets; {number} is open; --dataset {word} or NAME opens another:"
        )
        lines += [f"  {k}  {ref.name}" for k, ref in enumerate(opened.datasets)]
    left = [key for key in opened.keys if key.use not in (KeyUse.USED, KeyUse.PASSED)]
    held_out = [f"the evaluation set of {path} is open, prepared as {opened.trainer} prepares it"] if held else []
    notes = [f"{key.use.value}: {key.path}{f' ({key.note})' if key.note else ''}" for key in left]
    passed = sum(key.use is KeyUse.PASSED for key in opened.keys)
    if passed:
        lines.append(f"{passed} of its {len(opened.keys)} keys are not about data: exports copy or list them")
    chosen = ChosenConfig(
        replace(opened, chosen=number), (*lines, *held_out, *opened.notes, *notes), (*held_out, *opened.notes, *notes)
    )
    _check_paths(chosen)
    requested = requested_by([*filter(is_url, chosen.reference.paths)], path)
    return replace(chosen, messages=(*chosen.messages, *requested))


def recognised(path: str) -> str:
    """The trainer that a config file is for; RecipeError where its keys do not tell."""
    return _recognised(path, config_text(path))[0]


def _recognised(path: str, text: str) -> tuple[str, str]:
    from sftui.recipe_io import parse_yaml
    from sftui.text import visible
    from sftui.trainers.recognise import RECIPE, is_script, recognise, runs

    found = runs(text) if is_script(path) else recognise(parse_yaml(text, path))
    if found.trainer is None:
        if found is RECIPE:
            fix = f"open data with it, e.g. `sftui check DATA --recipe {visible(path)}`"
            raise RecipeError("this is an sftui recipe, not data or a trainer's config", where=path, fix=fix)
        fix = "say which trainer it is for: --trainer NAME"
        raise RecipeError("it is not clear which trainer this config is for", where=path, why=found.reason, fix=fix)
    return found.trainer, found.reason


def config_text(path: str) -> str:
    """The text of a config or recipe file; RecipeError where it cannot be read."""
    from sftui.side_files import read_side_file

    return read_side_file(path, "the config", RecipeError)


def _number(opened: OpenedConfig, wanted: str | None) -> int:
    """Which dataset `wanted` means: a number, a name, or the end of a path."""
    if wanted is None:
        return 0
    names = [ref.name for ref in opened.datasets]
    if wanted in names:
        return names.index(wanted)
    if wanted.isdecimal() and len(wanted) < 10 and int(wanted) < len(names):
        return int(wanted)
    ends = [k for k, name in enumerate(names) if Path(name).name == wanted]
    if len(ends) == 1:
        return ends[0]
    listed = ", ".join(f"{k} {name}" for k, name in enumerate(names))
    raise RecipeError(f"the config has no dataset `{wanted}`", where=opened.path, fix=f"it has {listed}")


def _check_paths(chosen: ChosenConfig) -> None:
    """SourceError that helps where a relative path is meant from another folder than this one."""
    folder = Path(chosen.opened.path).parent
    for path in chosen.reference.paths:
        if not os.path.isabs(path) and not os.path.exists(path) and os.path.exists(folder / path) and folder != Path():
            raise SourceError(
                f"{path} does not exist here",
                where=chosen.opened.path,
                why=f"{chosen.opened.trainer} resolves relative paths from the folder it is started in",
                fix=f"start sftui in {folder}, where that file is",
            )
