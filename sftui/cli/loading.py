"""A Session ready to work, for the commands that need no screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from sftui.errors import ConversationError, SftuiError
from sftui.text import visible

if TYPE_CHECKING:
    from sftui.recipe import Recipe
    from sftui.workspace.options import OpenOptions
    from sftui.workspace.session import Session


def tell_notes(recipes: Iterable[Recipe], more: Iterable[str] = ()) -> tuple[str, ...]:
    """What the trainers say of the recipes as a whole, e.g. that a version is newer than the rules known: each once, on
    stderr, and returned. `more` is what is to be known beside, e.g. of the tokenizer as the trainer makes it."""
    from sftui.trainers import trainer_named

    notes = [note for recipe in recipes for note in trainer_named(recipe.preset).notes(recipe)]
    notes = list(dict.fromkeys((*notes, *more)))
    for note in notes:
        click.echo(f"sftui: {visible(note)}", err=True)
    return tuple(notes)


def loaded_session(options: OpenOptions, *, tell: bool = True) -> Session:
    """Open the data and load the proven tokenizer; SftuiError where either cannot be. `tell`: the trainer's notes, see
    `tell_notes`."""
    from sftui.workspace.session import Session

    session = Session(options, options.full_recipe())
    session.open()
    if session.refused is not None:
        problem = session.refused
        raise ConversationError(problem.what, why=problem.why, fix=problem.fix)
    session.load_tokenizer("proven")
    if session.tools_problem is not None:
        problem = session.tools_problem
        raise SftuiError(problem.what, why=problem.why, fix=problem.fix)
    if tell:
        tell_notes([session.recipe], (session.tools.notes or ()) if session.tools is not None else ())
    return session
