"""`sftui export`: the recipe, a stand-alone script, or a trainer's config, written into a folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from sftui.cli.opening import open_options
from sftui.cli.writing import may_write
from sftui.errors import ConversationError, SftuiError
from sftui.text import visible


def export_files(given: Mapping[str, Any], to: str, folder: str, force: bool) -> int:
    """Plan, show what would change on stderr, ask, and write; the paths written go to stdout."""
    from sftui.exports.plan import check_target, plan_export
    from sftui.workspace.session import Session

    options = open_options(given)
    recipe = options.full_recipe()
    check_target(to)
    session = Session(options, recipe)
    try:
        session.open()
        if session.refused is not None and to != "recipe":
            problem = session.refused
            raise ConversationError(problem.what, why=problem.why, fix=problem.fix)
        if recipe.tokenizer.name is not None and to != "recipe":
            session.load_tokenizer("proven")
            if session.tools_problem is not None:
                problem = session.tools_problem
                raise SftuiError(problem.what, why=problem.why, fix=problem.fix)
        plan = plan_export(to, folder, recipe, options.base or recipe, session.prepared())
    finally:
        session.close()
    for line in (plan.first_line, *plan.notes):
        click.echo(visible(line), err=True)
    for file in plan.files:
        if file.exists and file.diff:
            click.echo("\n".join(visible(line) for line in file.diff.splitlines()), err=True)
    may_write(plan.overwrites, force)
    for path in plan.write(overwrite=True):
        click.echo(str(path))
    return 0
