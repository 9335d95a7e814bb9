"""`sftui verify`: the real, installed trainer prepares some rows, and sftui's labels are held against it."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import click

from sftui.cli.loading import DataNotes, loaded_session
from sftui.cli.opening import arguments, open_options
from sftui.cli.terminal import narrate
from sftui.errors import RecipeError, SftuiError
from sftui.recipe import TODAY, Preset, Recipe, changed
from sftui.session.arguments import starting_recipe
from sftui.session.comparing import chosen_rows
from sftui.session.configs import recognised
from sftui.session.ready import Ready, open_data, tokenized
from sftui.session.verifying import RunnerAnswer, Verification
from sftui.session.verifying import verify as verify_session
from sftui.text import visible
from sftui.tokens.loading.environments import environment_at
from sftui.trainers.verify.session import ask, installed_version, read_result, verified
from sftui.trainers.versions import running_version

SHOWN = 20


def verify(python: str, rows: int, **given: Any) -> int:
    """Print where rows differ; 0 where nowhere, 1 where some row does."""
    trainer, version = _trainer(given)
    path, answers, causes = Path(python), list[RunnerAnswer](), list[str]()
    installed = installed_version(path, trainer)
    options = open_options({**given, "trainer": None if given["recipe_file"] else f"{trainer}@{version or installed}"})
    # The Python that prepares the rows is named to be run: it may load the tokenizer, too, where it has that version.
    session = loaded_session(
        options if options.env or not _transformers(path) else replace(options, env=python), unread=True
    )
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        try:
            _print_versions(session.recipe.preset, installed)
            DataNotes(session).look()
            numbers = [row.index for row in chosen_rows(session.source, None, rows)]
            named = visible(installed)
            narrate(f"{trainer} {named} is preparing {len(numbers)} rows; importing it takes a while")

            def ask(request: Mapping[str, Any]) -> RunnerAnswer:
                answers.append(_ask(path, trainer, request, errors))
                return answers[-1]

            found = verify_session(session, numbers, ask)
            if found.differences:
                causes += _causes(session, numbers, found, answers[-1], path)
        finally:
            session.close()
            if given["debug"]:
                errors.seek(0)
                click.echo(visible(errors.read()[-20_000:], newline="\n"), err=True)
    narrate(*found.notes)
    if found.refused is not None:
        click.echo(visible(f"both fail: {found.refused}"))
        return 0
    for sentence in found.sentences[:SHOWN]:
        click.echo(visible(sentence))
    left = len(found.sentences) - SHOWN
    if left > 0:
        click.echo(f"… and {left} more {found.unit}s")
    made = f": it makes {found.made[0]}, sftui {found.made[1]}" if found.made is not None else ""
    click.echo(
        f"{found.units - len(found.differences)} of {found.units} {found.unit}s equal to {trainer} {named}{made}"
    )
    for cause in causes:
        click.echo(visible(cause))
    return 1 if found.differences else 0


def _transformers(python: Path) -> str:
    """The transformers of a Python; empty where it has none, as torchtune's need not."""
    try:
        return environment_at(python, "--python").transformers
    except SftuiError:
        return ""


def _causes(
    session: Ready, numbers: Sequence[int], found: Verification, answer: RunnerAnswer, python: Path
) -> Iterator[str]:
    """How many of the differences go where sftui's rows write today, as the trainer's do, and how many where the
    trainer's own transformers loads the tokenizer.

    The trainer is not asked again: what it made of the rows is held against the rows prepared in this way.
    """
    recipe, theirs = session.recipe, _transformers(python)
    shown = session.tokenizer.facts.transformers or running_version()
    if recipe.render.date != TODAY:
        which = _which(session, changed(recipe, "render.date", TODAY), numbers, found, answer)
        if which:
            yield (
                f"{which} because the template writes the date: the trainer writes the date of its run, and sftui"
                f" writes render.date, {recipe.render.date}"
            )
    if theirs not in ("", shown):
        other = changed(recipe, "tokenizer.transformers", theirs)
        which = _which(session, other, numbers, found, answer, str(python))
        if which:
            yield (
                f"{which} because transformers {theirs} in that environment loads this tokenizer differently from"
                f" {shown}:"
                f" --env {python} shows its ids"
            )


def _which(
    session: Ready,
    recipe: Recipe,
    numbers: Sequence[int],
    found: Verification,
    answer: RunnerAnswer,
    env: str | None = None,
) -> str:
    """Which of the differences to what the trainer made go under another recipe; empty where none does, or where it
    cannot be shown."""
    options = replace(session.options, env=env or session.options.env, recipe=recipe)
    try:
        with contextlib.closing(open_data(options, recipe)) as again:
            made = verify_session(tokenized(again).ready(), numbers, lambda request: answer)
    except SftuiError:
        return ""
    left = len(made.differences)
    gone = len(found.differences) - left
    return "" if gone <= 0 else f"{gone} of them differ" if left else "They differ"


def _trainer(given: Mapping[str, Any]) -> tuple[str, str | None]:
    """The trainer to run and the version requested, from --trainer, the config or the recipe."""
    named = given["trainer"]
    path = arguments(given).config_file()
    if named is None and path is not None:
        named = recognised(path)
    elif named is None and given["recipe_file"] is not None:
        named = starting_recipe(given["recipe_file"], None).preset
    if named is None:
        names = verified()
        raise RecipeError(
            "no trainer was given to verify against", fix=f"name it: --trainer {', '.join(names[:-1])} or {names[-1]}"
        )
    meant = Preset.of(named)
    return meant.trainer, meant.version or None


def _print_versions(preset: str, installed: str) -> None:
    """Say so where the rules shown are those of another version than the one installed."""
    name, version = Preset.of(preset)
    named = visible(installed)
    if version and installed.split(".")[:2] != version.split(".")[:2]:
        narrate(
            f"{name} {named} is installed in that environment, but sftui applies the rules of {version}, so rows"
            " may differ"
        )


def _ask(python: Path, trainer: str, request: Mapping[str, Any], errors: IO[str]) -> RunnerAnswer:
    """One request to the trainer's runner; its result."""
    try:
        answer = next(iter(ask(python, trainer, [request], errors)))
    except OSError as error:
        raise SftuiError(f"{python} cannot be run", why=(error.strerror or str(error)).lower()) from error
    path = Path(request["output"])
    if path.exists():
        return read_result(path)
    errors.seek(0)
    last = errors.read().strip().splitlines()
    raised = answer.get("error") or {"type": "RunnerDied", "message": "the runner returned no result"}
    return {
        "trainer": trainer,
        "error": {**raised, "message": f"{raised['message']} ({last[-1]})" if last else raised["message"]},
    }, []
