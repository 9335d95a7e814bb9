"""A Session ready to work, for the commands that need no screen."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
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
    tell_versions([session])
    if tell:
        tell_notes([session.recipe], (session.tools.notes or ()) if session.tools is not None else ())
    return session


def tell_versions(sessions: Iterable[Session]) -> None:
    """Whose ids are shown where that is not plain, each once, on stderr, with the command that verifies."""
    from sftui.trainers.pins import reference_version
    from sftui.workspace.versions import NOT_VERIFIED, version_notes

    for session in sessions:
        if session.tokenizer is None:
            continue
        for note in version_notes(session.tokenizer.facts):
            version = reference_version(session.recipe)
            asks = note.startswith(NOT_VERIFIED.format(version=version)) and "--transformers" not in sys.argv
            command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:], "--transformers", version])
            click.echo(f"sftui: {visible(note)}" + (f"; `{visible(command)}` verifies them" if asks else ""), err=True)
