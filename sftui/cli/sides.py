"""What `compare --with` names: another recipe for the same data."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass

from sftui.errors import RecipeError
from sftui.recipe import Recipe, changed
from sftui.recipe_io import parse_yaml
from sftui.session.arguments import set_knob, starting_recipe, template_of
from sftui.session.configs import config_text, open_config
from sftui.trainers import preset
from sftui.trainers.config import OpenedConfig
from sftui.trainers.recognise import is_config, is_script, recognise

SHORT = {"tokenizer": "tokenizer.name", "revision": "tokenizer.revision", "max_length": "length.max"}


@dataclass(frozen=True, slots=True)
class SideRecipe:
    """One side of a comparison: the name it is shown by, its recipe, and the trainer's config that this was read
    from."""

    name: str
    recipe: Recipe
    config: OpenedConfig | None = None


def other_side(text: str, base: SideRecipe) -> SideRecipe:
    """The recipe that one --with stands for; RecipeError where it names nothing.

    Words separated by spaces: at most one file (a recipe, a trainer's config) or preset, which
    starts anew but keeps the tokenizer, template and columns of `base`; then changes to it:
    tokenizer=NAME, template=NAME|FILE, or any knob=value.
    """
    if os.path.exists(text):
        words = [text]
    else:
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise RecipeError(f"--with {text} cannot be read", why=str(error).lower()) from error
    recipe, config, name = base.recipe, base.config, ""
    for number, word in enumerate(words):
        path, equals, value = word.partition("=")
        if equals and not os.path.exists(word):
            if path == "template":
                recipe = changed(recipe, "render.template", template_of(value))
            else:
                recipe = set_knob(recipe, SHORT.get(path, path), value)
        elif number == 0:
            recipe, config = _start(word, base.recipe)
            name = os.path.basename(word) if os.path.exists(word) else recipe.preset
        else:
            raise RecipeError(f"--with {text} names more than one start", fix="repeat --with for each side")
    changes = " ".join(word for word in words if "=" in word and not os.path.exists(word))
    return SideRecipe(" ".join(part for part in (name, changes) if part) or text, recipe, config)


def _start(word: str, base: Recipe) -> tuple[Recipe, OpenedConfig | None]:
    """A recipe file, a trainer's config (returned, too), or a preset on the tokenizer and the data of `base`."""
    if not is_config(word):
        return _onto(preset(word), base, data=True), None
    mapping = {} if is_script(word) else parse_yaml(config_text(word), word)
    if is_script(word) or ("preset" not in mapping and recognise(mapping).trainer is not None):
        chosen = open_config(word, None, None)
        return _onto(chosen.reference.recipe, base, data=False), chosen.opened
    return _onto(starting_recipe(word, None), base, data=False), None


def _onto(recipe: Recipe, base: Recipe, *, data: bool) -> Recipe:
    """What a starting recipe leaves open, from the recipe it is compared with."""
    if recipe.tokenizer.name is None:
        recipe = changed(
            changed(recipe, "tokenizer.name", base.tokenizer.name), "tokenizer.revision", base.tokenizer.revision
        )
    if recipe.render.template == "tokenizer" and base.render.template.startswith(("file:", "builtin:")):
        recipe = changed(recipe, "render.template", base.render.template)
    if data:
        for path in ("format", "fields"):
            recipe = changed(recipe, f"data.{path}", getattr(base.data, path))
    return recipe
