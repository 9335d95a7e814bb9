"""A recipe of one trainer as the nearest recipe of another, and what gets lost on the way.

Knobs that mean the same everywhere are carried over; which tokens are trained is translated to the
other trainer's own rule for it. What the trainers do by themselves is not exported: it shows in the
labels, which are counted.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sftui.conversations import Detection
from sftui.errors import ExportError, SftuiError
from sftui.model import Conversation, Problem, Row
from sftui.pipeline import as_problem, detect, inspect_early
from sftui.recipe import Recipe, changed, diff, get, with_changes
from sftui.repairs.run import REPAIRS, layout_of
from sftui.trainers import Trainer, preset, trainer_named, trainer_of, traits_of
from sftui.trainers.config import WrittenConfig
from sftui.trainers.own_config import losses_of
from sftui.trainers.traits import Quirk
from sftui.trainers.yaml_edit import edit

ALWAYS = (
    "tokenizer.name",
    "tokenizer.revision",
    "tokenizer.eos_token",
    "tokenizer.pad_token",
    "tokenizer.bos_token",
    "data.format",
    "data.fields",
    "render.kwargs",
    "length.max",
    "length.over",
    "batch.size",
)
TRANSLATED = (
    "mask.rule",
    "mask.turns",
    "mask.prompt",
    "render.template",
    "pack.strategy",
    "pack.isolate",
    "batch.flatten",
    "batch.attention",
    "mask.instruction_marker",
    "mask.response_marker",
    "preset",
)
STANDARD = frozenset({"system", "user", "assistant", "tool", "developer", "observation", "function"})
"""Roles that templates and trainers know."""

EVERY_ASSISTANT = ("assistant", "generation_tag", "turn_content", "turn_full", "parts", "markers")


def convert(
    recipe: Recipe, to: str, data_format: str | None, detected: Detection | None = None
) -> tuple[Recipe, tuple[str, ...]]:
    """`recipe` for the preset `to`, before its config is written, and what that cannot say; `data_format` and
    `detected` are how the rows are read. RecipeError for an unknown preset.

    A knob that the other trainer cannot express stays as its preset has it, and is a loss.
    """
    target, source, trainer = preset(to), preset(recipe.preset), trainer_named(to)
    losses = []
    for path in ALWAYS:
        if path != "length.over" or recipe.length.max is not None:  # without a limit nothing is over it
            target = changed(target, path, get(recipe, path))
    kept = [change for change in diff(source, recipe) if change.path not in (*ALWAYS, *TRANSLATED)]
    target = with_changes(target, (one for one in kept if not one.path.startswith("own.")))
    for key, value in recipe.own.said().items():
        if (key, value) == ("type", "chat_template"):  # what every trainer does with messages
            continue
        losses.append(f"own.{key} = {value!r} is specific to {recipe.preset} and has no equivalent")
    template = recipe.render.template
    if template.startswith(("file:", "builtin:")):
        target = changed(target, "render.template", template)
    elif template != "tokenizer":
        losses.append(f"render.template {template} is specific to {recipe.preset}: the tokenizer's template is used")
    target, lost = _mask(recipe, target, trainer, data_format) if recipe.supervised else (target, [])
    losses += lost
    if recipe.pack.strategy != "none":
        strategy = trainer.traits.packing.usual
        target = changed(target, "pack.strategy", strategy)
        if strategy != recipe.pack.strategy:
            losses.append(f"pack.strategy {recipe.pack.strategy} becomes {strategy}: rows are packed differently")
    if detected is not None:
        target = trainer.after_script(target, detected)
    target, lost = _sayable(target)
    return target, (*losses, *lost)


def rebased(recipe: Recipe, to: str) -> Recipe:
    """The same corrections on another version of the same trainer, whose own rules hold for the rest."""
    changes = diff(preset(recipe.preset), recipe)
    target = with_changes(preset(to), (change for change in changes if change.path != "preset"))
    return replace(target, waivers=recipe.waivers)


def _sayable(target: Recipe) -> tuple[Recipe, list[str]]:
    """The recipe without the knobs that its trainer has no key for, and a sentence on each."""
    lost: list[str] = []
    for change in diff(preset(target.preset), target):
        without = changed(target, change.path, change.before)
        rest = losses_of(without)
        losses = [loss for loss in losses_of(target) if loss not in rest]
        if losses and all(loss.startswith(change.path) for loss in losses):
            target, lost = without, [*lost, *losses]
    return target, lost


def refuse_stopped(recipe: Recipe, rows: Sequence[Row], title: str) -> tuple[str, ...]:
    """ExportError where the trainer of a recipe would stop at the set or its first row; else where it would, in words.

    Asks the steps of the trainer that need no tokenizer: how it reads the set, a row, and what it makes of it.
    """
    readable = [row for row in rows if row.data is not None]
    if not readable:
        return ()
    try:
        found = detect(rows, recipe)
    except SftuiError as error:
        raise refused_export(title, as_problem(error)) from error
    if found.refused is not None:
        raise refused_export(title, found.refused)
    for row in readable:
        there = inspect_early(row, found, recipe)
        problem = there.problem
        if problem is None and there.conversation is not None:
            try:
                trainer_of(recipe).shape(there.conversation, recipe)
            except SftuiError as error:
                problem = as_problem(error)
        if problem is not None and row is readable[0]:
            raise refused_export(title, problem)
        if problem is not None:
            return (f"{title} would stop at row {row.index}: {problem.sentence()}",)
    return ()


def refused_export(title: str, problem: Problem) -> ExportError:
    """The refusal to write a config at which the trainer stops: why it does, and what to do."""
    why = f"{problem.what}, because {problem.why}" if problem.why else problem.what
    return ExportError(
        f"nothing was written: {title} would stop on this data with this recipe",
        why=why,
        fix=f"{problem.fix} (not tried)" if problem.fix else "run `sftui check` to see what helps",
    )


def unread(
    recipe: Recipe, rows: Sequence[Row], title: str, source: Recipe, detected: Detection | None
) -> tuple[str, ...]:
    """Which roles the trainer of a recipe would leave as they are; `detected`: how `source` reads them."""
    readable = next((row for row in rows if row.data is not None), None)
    if readable is None or detected is None or not source.supervised:
        return ()
    there = inspect_early(readable, detect(rows, recipe), recipe).conversation
    here = inspect_early(readable, detected, source).conversation
    foreign = sorted(_roles(there) - _roles(here) - STANDARD)
    if there is None or here is None or not foreign:
        return ()
    found = detect(rows, recipe)
    mapped, _ = REPAIRS["map-roles"].apply(readable.data or {}, layout_of(found))
    left = _roles(inspect_early(replace(readable, data=mapped), found, recipe).conversation) - STANDARD
    command = f"`sftui repair --trainer {recipe.trainer} --apply map-roles` maps them"
    mapping = "" if left & set(foreign) else f": {command} (tried on row {readable.index})"
    return (f"{title} keeps the roles {', '.join(foreign)} as they are in the data{mapping}",)


def _roles(conversation: Conversation | None) -> set[str]:
    return {message.role for message in conversation.messages} if conversation is not None else set()


def _mask(recipe: Recipe, target: Recipe, trainer: Trainer, data_format: str | None) -> tuple[Recipe, list[str]]:
    meant = _meant(recipe, data_format)
    rules = trainer.traits.rules
    own = rules.get("assistant") or rules["last"]
    if meant == "kept":
        return target, []
    if meant == "all":
        masked = trainer.masks_system(target) and data_format in ("messages", "sharegpt")
        lost = [f"{target.preset} never trains a system message"] if masked else []
        return changed(target, "mask.rule", "all"), lost
    if meant == "completion":
        return changed(target, "mask.rule", rules.get("completion", own)), []
    target = changed(target, "mask.rule", own)
    if "assistant" not in rules:
        every = f"{recipe.preset} trains more than the last message: {target.preset} trains only that one"
        return target, [] if meant == "last" else [every]
    if meant == "last":
        last = changed(target, "mask.turns", "last")
        if set(_sayable(last)[1]) <= set(_sayable(target)[1]):
            return last, []
        only = f"{recipe.preset} trains the last assistant message only"
        return target, [f"{only}; {target.preset} has no key for that and trains all of them"]
    if meant == "other":
        return target, [
            f"mask.rule {recipe.mask.rule} has no equivalent: {target.preset} trains every assistant message"
        ]
    return target, []


def _meant(recipe: Recipe, data_format: str | None) -> str:
    """What a recipe trains: all, completion, assistant (every turn), last (assistant turn), other; kept: what every
    trainer does."""
    mask = recipe.mask
    pairs = data_format in ("prompt_completion", "alpaca", "columns")
    if data_format in ("text", "tokenized", "segments"):  # a text is trained as a whole, stored labels as they stand
        return "kept"
    if mask.rule == "auto" and Quirk.AUTO_TRAINS_ANSWERS in traits_of(recipe.preset).quirks:
        return "all" if data_format == "alpaca" else "completion" if pairs else "assistant"
    if mask.rule == "all" or (mask.rule == "auto" and not pairs):
        return "all"
    if mask.rule in ("completion", "auto"):
        return "completion" if pairs or mask.prompt == "column" else "last"
    if mask.rule not in EVERY_ASSISTANT:
        return "other"
    return "completion" if pairs else "last" if mask.turns == "last" else "assistant"


def reread(recipe: Recipe, written: WrittenConfig) -> Recipe:
    """What the trainer does with a written config, by reading it back; `recipe` where it is no config file."""
    main = next((file for file in written.files if file.name.endswith((".yaml", ".yml"))), None)
    if main is None:
        return recipe
    with tempfile.TemporaryDirectory(prefix="sftui-export-") as folder:
        for file in written.files:
            Path(folder, file.name).write_text(file.content, encoding="utf-8")
        text = main.content
        if any(file.name == "dataset_info.json" for file in written.files):
            text = edit(text, {("dataset_dir",): folder})
        try:
            return _with_files(
                trainer_named(recipe.trainer).read_config(main.name, text, recipe.version or None).recipe, recipe
            )
        except SftuiError:
            return recipe


def _with_files(found: Recipe, recipe: Recipe) -> Recipe:
    """The recipe read back, its template named where it stands rather than next to the config, its tokenizer as
    named."""
    own = ("render.template",) if found.render.template.startswith("file:") else ()
    for path in ("tokenizer.name", "tokenizer.revision", "loss.objective", *own):
        found = changed(found, path, get(recipe, path))
    return found
