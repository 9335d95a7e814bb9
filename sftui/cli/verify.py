"""`sftui verify`: the real, installed trainer prepares some rows, and sftui's labels are held against it."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from sftui.cli.data_notes import DataNotes
from sftui.cli.loading import loaded_session
from sftui.cli.opening import open_options
from sftui.errors import RecipeError, SftuiError
from sftui.recipe import Preset
from sftui.text import visible

if TYPE_CHECKING:
    from sftui.recipe import Recipe
    from sftui.session.ready import Ready
    from sftui.session.verifying import Verification

SHOWN = 20


def verify_rows(python: str, rows: int, **given: Any) -> int:
    """Print where rows differ; 0 where nowhere, 1 where some row does."""
    from sftui.session.comparing import chosen_rows
    from sftui.session.verifying import verify
    from sftui.trainers.verify.installed import installed_version

    trainer, version = _trainer(given)
    installed = installed_version(Path(python), trainer)
    options = open_options({**given, "trainer": None if given["recipe_file"] else f"{trainer}@{version or installed}"})
    # The Python that prepares the rows is named to be run: it may load the tokenizer, too, where it has that version.
    session = loaded_session(
        options if options.env or not _loads(python) else replace(options, env=python), unread=True
    )
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        try:
            _print_versions(session.recipe.preset, installed)
            DataNotes(session).look()
            numbers = [row.index for row in chosen_rows(session.source, None, rows)]
            named = visible(installed)
            click.echo(f"sftui: {trainer} {named} prepares {len(numbers)} rows; importing it takes a while", err=True)
            answers: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []

            def ask(request: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
                answers.append(_ask(Path(python), trainer, request, errors))
                return answers[-1]

            found = verify(session, numbers, ask)
            causes = (
                [
                    _by_date(session, numbers, found, answers),
                    _by_version(session, numbers, found, answers, Path(python)),
                ]
                if found.differences
                else []
            )
        finally:
            session.close()
            if given["debug"]:
                errors.seek(0)
                click.echo(visible(errors.read()[-20_000:], newline="\n"), err=True)
    for note in found.notes:
        click.echo(f"sftui: {visible(note)}", err=True)
    if found.refused is not None:
        click.echo(visible(f"both stop: {found.refused}"))
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
    for cause in filter(None, causes):
        click.echo(visible(cause))
    return 1 if found.differences else 0


def _loads(python: str) -> bool:
    """Whether a Python has transformers; torchtune's need not."""
    from sftui.tokens.loading.environments import environment_at

    try:
        return bool(environment_at(python, "--python").transformers)
    except SftuiError:
        return False


def _by_date(
    session: Ready,
    numbers: Sequence[int],
    found: Verification,
    answers: Sequence[tuple[dict[str, Any], list[dict[str, Any]]]],
) -> str:
    """How many of the differences go where sftui's rows write today, as the trainer's do; empty where none does."""
    from sftui.recipe import TODAY, changed

    if session.recipe.render.date == TODAY or not answers:
        return ""
    pinned = session.recipe
    which = _which(found, _left(session, changed(pinned, "render.date", TODAY), numbers, answers[-1]))
    return which and (
        f"{which} because the template writes the day: the trainer that of its run, sftui that of render.date,"
        f" {pinned.render.date}"
    )


def _left(
    session: Ready,
    recipe: Recipe,
    numbers: Sequence[int],
    answer: tuple[dict[str, Any], list[dict[str, Any]]],
    env: str | None = None,
) -> int | None:
    """How many differences to what the trainer made are left under another recipe; None where it cannot be shown."""
    from sftui.session.ready import open_data, tokenized
    from sftui.session.verifying import verify

    options = replace(session.options, env=env or session.options.env, recipe=recipe)
    try:
        with contextlib.closing(open_data(options, recipe)) as again:
            made = verify(tokenized(again).ready(), numbers, lambda request: answer)
    except SftuiError:
        return None
    return len(made.differences)


def _which(found: Verification, left: int | None) -> str:
    """Which of the differences have a cause without which so many are left; empty where none has."""
    gone = len(found.differences) - left if left is not None else 0
    if gone <= 0:
        return ""
    return f"{gone} of them differ" if left else "They differ"


def _by_version(
    session: Ready,
    numbers: Sequence[int],
    found: Verification,
    answers: Sequence[tuple[dict[str, Any], list[dict[str, Any]]]],
    python: Path,
) -> str:
    """How many of the differences go where the trainer's own transformers loads the tokenizer; empty where none does.

    The trainer is not asked again: what it made of the rows is held against the rows under its own transformers.
    """
    from sftui.recipe import changed
    from sftui.tokens.loading.environments import environment_at
    from sftui.trainers.pins import running_version

    try:
        theirs = environment_at(python, "--python").transformers
    except SftuiError:
        return ""  # torchtune has no transformers
    shown = session.tokenizer.facts.transformers
    if not answers or not theirs or theirs == (shown or running_version()):
        return ""
    recipe = changed(session.recipe, "tokenizer.transformers", theirs)
    which = _which(found, _left(session, recipe, numbers, answers[-1], str(python)))
    return which and (
        f"{which} because transformers {theirs}, which runs there, loads this tokenizer differently from"
        f" {shown or running_version()}: --env {python} shows its ids"
    )


def _trainer(given: Mapping[str, Any]) -> tuple[str, str | None]:
    """The trainer to run and the version requested, from --trainer, the config or the recipe."""
    from sftui.cli.opening import arguments
    from sftui.session.arguments import starting_recipe

    named = given["trainer"]
    path = arguments(given).config_file()
    if named is None and path is not None:
        from sftui.session.configs import recognised

        named = recognised(path)
    elif named is None and given["recipe_file"] is not None:
        named = starting_recipe(given["recipe_file"], None).preset
    if named is None:
        from sftui.trainers.verify.installed import verified

        names = verified()
        raise RecipeError(
            "which trainer to verify against is not given",
            fix=f"name it: --trainer {', '.join(names[:-1])} or {names[-1]}",
        )
    meant = Preset.of(named)
    return meant.trainer, meant.version or None


def _print_versions(preset: str, installed: str) -> None:
    """Say so where the rules shown are those of another version than the one installed."""
    name, version = Preset.of(preset)
    named = visible(installed)
    if version and installed.split(".")[:2] != version.split(".")[:2]:
        click.echo(
            f"sftui: {name} {named} is installed there, and the rules are those of {version}: rows may differ for that",
            err=True,
        )


def _ask(
    python: Path, trainer: str, request: Mapping[str, Any], errors: IO[str]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """One request to the trainer's runner; its result."""
    from sftui.trainers.verify.session import ask, read_result

    try:
        answer = next(iter(ask(python, trainer, [request], errors)))
    except OSError as error:
        raise SftuiError(f"{python} cannot be run", why=(error.strerror or str(error)).lower()) from error
    path = Path(request["output"])
    if path.exists():
        return read_result(path)
    errors.seek(0)
    last = errors.read().strip().splitlines()
    raised = answer.get("error") or {"type": "RunnerDied", "message": "the runner gave no result"}
    return {
        "trainer": trainer,
        "error": {**raised, "message": f"{raised['message']} ({last[-1]})" if last else raised["message"]},
    }, []
