"""What repairs a finding: changes of the recipe, and the keys of each trainer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from sftui import trainers
from sftui.findings.context import Context
from sftui.findings.model import GENERATION_TAGS, Fix
from sftui.findings.rule import Rule
from sftui.model import RecipeChange, RenderedText
from sftui.recipe import diff, get, with_changes
from sftui.text import visible
from sftui.trainers.own_config import losses_of


def fix_of(
    context: Context, rule: Rule, changes: Iterable[tuple[str, Any]], title: str = "", template: str | None = None
) -> Fix | None:
    """The fix of a finding: recipe changes from (knob, value) pairs, and the keys of each trainer.

    Knobs are offered where the trainer's own config can say them all, and where they change something.
    """
    pairs = list(changes)
    if not (pairs or title or template):  # the same for every row
        return context.once(("fix", rule.code), lambda: _worded(context, rule))
    wanted = tuple(
        RecipeChange(path, before, value) for path, value in pairs if (before := get(context.recipe, path)) != value
    )
    made = wanted if context.once(("sayable", str(wanted)), lambda: _sayable(context, wanted)) else ()
    if pairs and not made:
        title, template = "", None
    if not title:
        title = ", ".join(map(_change_text, made)) or rule.fix_text(context.trainer, not context.recipe.supervised)
    return rule_fix(rule, made, title, template)


def _worded(context: Context, rule: Rule) -> Fix | None:
    prefers = not context.recipe.supervised
    fix = rule_fix(rule, (), rule.fix_text(context.trainer, prefers))
    other = prefers and rule.pairs
    return replace(fix, trainer_keys={context.trainer: rule.pairs}) if fix is not None and other else fix


def rule_fix(rule: Rule, changes: tuple[RecipeChange, ...], title: str, template: str | None = None) -> Fix | None:
    """A fix with the keys of each trainer; None where there is nothing to say."""
    if not title and not template:
        return None
    return Fix(visible(title), changes, template, trainer_keys=rule.fixes)


def _sayable(context: Context, changes: tuple[RecipeChange, ...]) -> bool:
    """Whether the changed recipe goes into the trainer's config without a loss that it did not have."""
    return set(losses_of(with_changes(context.recipe, changes))) <= set(losses_of(context.recipe))


def tight_tags(context: Context, rule: Rule, rendered: RenderedText) -> Fix | None:
    """Generation tags put anew, where the mask is drawn from those of the template and they are the fault."""
    if context.recipe.mask.rule != "generation_tag" or not rendered.has_generation_tag:
        return None
    return fix_of(
        context,
        rule,
        (),
        "re-insert the generation tags so that they enclose only the answers and their end tokens",
        GENERATION_TAGS,
    )


def common_boundary(context: Context) -> list[tuple[str, Any]]:
    """What masks the prompt up to where its tokens part from the row's, if it is masked by its length."""
    return [("mask.boundary", "common_prefix")] if context.recipe.mask.boundary == "prompt_length" else []


def newer(context: Context) -> list[tuple[str, Any]]:
    """What moves a recipe to the newest version of its trainer: the preset, and each default of the old one that the
    new one has not."""
    preset = f"{context.trainer}@{context.traits.versions[0]}"
    old, new = trainers.preset(context.recipe.preset), trainers.preset(preset)
    moved = [
        (change.path, change.after)
        for change in diff(old, new)
        if change.path != "preset" and get(context.recipe, change.path) == change.before
    ]
    return [("preset", preset), *moved]


def _change_text(change: RecipeChange) -> str:
    """A change in words; of a mapping only the entries that are new."""
    if isinstance(change.after, Mapping) and isinstance(change.before, Mapping):
        new = [f"{key}: {_value(value)}" for key, value in change.after.items() if change.before.get(key) != value]
        return f"add {', '.join(new)} to {change.path}"
    return f"set {change.path} to {_value(change.after)}"


def _value(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f"[{', '.join(map(str, value))}]" if isinstance(value, (list, tuple)) else str(value)
