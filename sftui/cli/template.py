"""`sftui template`: the chat template in use, and the same with generation tags that are proven to change nothing
else."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import islice
from typing import Any

import click

from sftui.cli.loading import DataNotes, loaded_session
from sftui.cli.opening import open_options
from sftui.cli.terminal import narrate
from sftui.cli.writing import targets
from sftui.errors import RecipeError, TemplateError
from sftui.model import Conversation
from sftui.session.inputs import inputs_of
from sftui.session.opened import OpenData
from sftui.templates.tags.surgery import add_generation_tags
from sftui.text import visible


class Conversations:
    """The conversations of a session's rows, as often as they are requested; rows that hold none are left out."""

    def __init__(self, session: OpenData, most: int | None) -> None:
        self._session = session
        self._most = most

    def __iter__(self) -> Iterator[Conversation]:
        for row in islice(self._session.rows(), self._most):
            conversation = self._session.early(row).conversation
            if conversation is not None:
                yield conversation


def template(tags: bool, probe: bool, shown: str | None, out: str | None, **given: Any) -> int:
    """Probe the template (all of it, or the shape that is `shown`), else print or write it."""
    if not probe and shown is None:
        return write_template(tags, out, **given)
    if tags or out is not None:
        raise RecipeError("--probe writes no template", fix="omit --add-generation-tags and -o")
    from sftui.cli.probing import probe_template

    return probe_template(shown, **given)


def write_template(tags: bool, out: str | None, force: bool, max_rows: int | None, **given: Any) -> int:
    """Print the template, or with `tags` what they change; write it where `out` says. 1 where tags cannot be proven."""
    options = open_options(given)
    (target,) = targets(inputs_of(options), force, out)
    with contextlib.closing(loaded_session(options)) as session:
        notes = DataNotes(session)
        notes.look()
        template = session.tools.default_template
        if template is None:
            raise TemplateError(
                "there is no chat template to print or tag", fix="choose one with --template NAME or --template FILE"
            )
        source, proof = template.source, ""
        if tags:
            done = add_generation_tags(
                source,
                template.name,
                dict(session.tools.special_tokens),
                Conversations(session, max_rows),
                options=session.recipe.render,
                rendering=template.rendering,
            )
            if done.refused is not None:
                narrate(f"no tags were added to {template.name}: {done.refused}")
                return 1
            click.echo("\n".join(map(visible, done.diff.splitlines())), err=target is not None and target.path is None)
            source, proof = done.source, _proof(done.proven, done.unproven, done.raised)
        elif target is None:
            click.echo(source, color=True)  # click would take escape sequences out of a pipe
        notes.print()
    if proof:
        narrate(proof)
    if target is not None:
        target.write(source)
    return 0


def _proof(proven: int, unproven: int, raised: int) -> str:
    parts = [
        f"{proven:,} conversations (the data's, and sftui's own probes) render byte for byte the same, and the"
        " mask covers exactly the answers and their end tokens"
    ]
    if unproven:
        parts.append(f"{unproven:,} render the same, but the position of their answers is uncertain")
    if raised:
        parts.append(f"both templates reject {raised:,}")
    return "; ".join(parts)
