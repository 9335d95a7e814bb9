"""What sftui makes of a parity case: the trainer's own config is read, and every row goes through the pipeline.

The config is what a user would have: YAML text for a trainer with a config file, written beside
nothing, with the case's data and tokenizer in it. So a comparison also tests the config reader.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from case import Case, home
from places import made_once
from trainers import module_of

from sftui import pipeline
from sftui.conversations import Detection
from sftui.errors import SftuiError
from sftui.model import Example, Inspection, Pack, Row
from sftui.recipe import Recipe, changed
from sftui.session import verifying
from sftui.session.opened import stored
from sftui.session.options import OpenOptions
from sftui.sources import SourceSpec, open_source
from sftui.tokens import LoadedTokenizer, load_tokenizer
from sftui.tokens.loading.environments import Environment, environment_at
from sftui.tokens.shortcuts.bulk import Bulk
from sftui.trainers import Toolbox, trainer_named
from sftui.trainers.config import DatasetRef
from sftui.trainers.held_out import permuted
from sftui.trainers.verify.exchange import tokenizer_folder


@dataclass(frozen=True)
class Emulated:
    """What sftui says of a case: examples by row, packs, refusals by row, or one refusal for all."""

    rows: Mapping[int, tuple[Example, ...]] = field(default_factory=dict)
    packs: tuple[Pack, ...] = ()
    problems: Mapping[int, str] = field(default_factory=dict)
    refused: str | None = None
    recipe: Recipe | None = None
    tools: Toolbox | None = None


FEW = 100
"""Rows of a case for which gigatoken is not loaded."""

Way = Callable[[Sequence[Row], Detection, Recipe, Toolbox], Iterable[Inspection]]
"""How rows are prepared."""


def in_chunks(rows: Sequence[Row], detected: Detection, recipe: Recipe, tools: Toolbox) -> Iterable[Inspection]:
    """As `sftui encode` does; of more than a few rows with gigatoken after the first chunk already, which stays for the
    next case: loading it takes a second for a large vocabulary, which is most of what a small case takes."""
    return pipeline.inspect_all(rows, detected, recipe, tools, _bulk(tools.tokenizer, len(rows) > FEW))


@lru_cache(maxsize=4)
def _bulk(tokenizer: LoadedTokenizer, many: bool) -> Bulk:
    return Bulk("soon" if many else "never")


def emulate(trainer: str, version: str, case: Case, *, mode: str = "proven", way: Way = in_chunks) -> Emulated:
    """Every row of a case through sftui's rules of that trainer and version; `mode` as in load_tokenizer."""
    work = home() / "emulated" / f"{trainer}-{case.name}-{case.fingerprint()}"
    work.mkdir(parents=True, exist_ok=True)
    try:
        text, path = config_text(trainer, case, work)
        opened = trainer_named(trainer).read_config(str(path), text, short(version))
        reference = opened.datasets[0]
        recipe = reference.recipe
        if case.objective != "sft":
            recipe = changed(recipe, "loss.objective", case.objective)
        tokenizer = _loaded(folder_of(case), mode, trainer, version)
        source = open_source(SourceSpec(reference.paths, split=reference.split, subset=reference.subset))
        rows, decide = list(source.rows()), stored(OpenOptions(paths=reference.paths), source).sample
        source.close()
        detected = pipeline.detect(decide, recipe)
        tools = pipeline.survey(rows[0] if rows else None, detected, recipe, pipeline.make_toolbox(recipe, tokenizer))
        return through(trainer, drawn(rows, detected, recipe), detected, recipe, tools, way)
    except SftuiError as error:
        return Emulated(refused=error.sentence() if hasattr(error, "sentence") else str(error))


def drawn(rows: Sequence[Row], detected: Detection, recipe: Recipe) -> Sequence[Row]:
    """The rows that train, in the order of the draw; as they are where there is none, or no seed for it."""
    held = trainer_named(recipe.preset).held_out(recipe)
    if held is None or not held.drawn or held.doubt:
        return rows
    read = [r for r in rows if not (held.sifted and held.unreadable(pipeline.inspect_early(r, detected, recipe)))]
    return [read[place] for place in held.order(len(read))[0]]


@lru_cache(maxsize=8)  # of up to 300 MB each
def _loaded(folder: Path, mode: str, trainer: str, version: str) -> LoadedTokenizer:
    """A folder's name stands for what is in it, and a dozen cases share one."""
    return load_tokenizer(str(folder), mode=mode, environment=environment_of(trainer, version))


@lru_cache(maxsize=2)
def _by_itself(folder: Path) -> LoadedTokenizer:
    """A folder's tokenizer as sftui's own transformers loads it, once for the configs of a test."""
    return load_tokenizer(str(folder))


def environment_of(trainer: str, version: str) -> Environment | None:
    """The trainer's own environment, whose transformers makes the ids; None where it is not here, or has none."""
    try:
        return environment_at(home() / f"{trainer}-{version}", "parity")
    except SftuiError:
        return None


def rows_of(reference: DatasetRef) -> list[Row]:
    """The rows of one dataset of a config that was read."""
    source = open_source(SourceSpec(reference.paths))
    rows = list(source.rows())
    source.close()
    return rows


def of_config(trainer: str, rows: Sequence[Row], reference: DatasetRef, tokenizer: Path) -> Emulated:
    """What the recipe of that dataset makes of them."""
    detected = pipeline.detect(rows, reference.recipe)
    tools = pipeline.make_toolbox(reference.recipe, _by_itself(tokenizer))
    tools = pipeline.survey(rows[0], detected, reference.recipe, tools)
    return through(trainer, rows, detected, reference.recipe, tools)


def through(
    trainer: str, rows: Sequence[Row], detected: Detection, recipe: Recipe, tools: Toolbox, way: Way = in_chunks
) -> Emulated:
    """Rows through the pipeline, as `sftui verify` sends them through it."""
    found = verifying.through(way(rows, detected, recipe, tools), recipe, tools)
    numbers = [row.index for row in rows]
    held = trainer_named(trainer).held_out(recipe)
    if held is not None and held.packs_again and not held.doubt:
        found = replace(found, packs=tuple(found.packs[i] for i in permuted(held.seed, len(found.packs))))
    examples = {numbers[place]: made for place, made in found.examples.items()}
    problems = {numbers[place]: problem for place, problem in found.problems.items()}
    return Emulated(examples, found.packs, problems, None, recipe, tools)


def short(version: str) -> str:
    """`1.16.0` as the presets name it: without a patch number of zero, Unsloth's and others' as `2026.10`."""
    return ".".join(version.split(".")[:2])


def folder_of(case: Case) -> Path:
    """The case's tokenizer with its template and tokens, in a folder that stays, so that its proof stays."""
    asked = case.request(Path("/"))
    key = hashlib.sha256(
        json.dumps([asked["tokenizer"], asked["chat_template"], asked["tokens"]]).encode()
    ).hexdigest()[:16]

    def put(folder: Path) -> None:
        tokenizer_folder(asked, folder.parent)
        (folder.parent / "tokenizer").rename(folder)

    return made_once(home() / "tokenizers" / key / Path(asked["tokenizer"]).name, put)


def config_text(trainer: str, case: Case, work: Path) -> tuple[str, Path]:
    """The trainer's config file for a case, and where it stands; cases_<trainer> says how one looks."""
    import yaml

    config = module_of(trainer, "cases").config_of(case, str(folder_of(case)), work)
    path = work / "config.yml"
    text = str(yaml.safe_dump(config, allow_unicode=True, sort_keys=False))
    path.write_text(text, encoding="utf-8")
    return text, path
