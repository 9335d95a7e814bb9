"""Open data ready to work, for the commands that need no screen."""

from __future__ import annotations

import contextlib
import os
import shlex
import stat
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sftui.errors import without_secrets
from sftui.sources.files import is_url
from sftui.text import visible

if TYPE_CHECKING:
    from sftui.recipe import Recipe
    from sftui.session.opened import OpenData
    from sftui.session.options import OpenOptions
    from sftui.session.ready import Ready

PROVISIONAL = "its first rows decide how all are read, and a column that comes later is not known"
PATIENCE = 1.0
"""Seconds after which it is said what is waited for."""


def print_notes(recipes: Iterable[Recipe], more: Iterable[str] = ()) -> tuple[str, ...]:
    """What the trainers say of the recipes as a whole, e.g. that a version is newer than the rules known: each once, on
    stderr, and returned. `more` is what else is to be known, e.g. of the tokenizer as the trainer makes it."""
    from sftui.trainers.own_config import notes_of

    notes = [note for recipe in recipes for note in notes_of(recipe)]
    notes = list(dict.fromkeys((*notes, *more)))
    for note in notes:
        click.echo(f"sftui: {visible(note)}", err=True)
    return tuple(notes)


def print_stops(sessions: Iterable[Ready]) -> bool:
    """Whether a run by one of the recipes stops before its first step, and why, on stderr: the command that shows what
    it makes all the same then ends with 2."""
    from sftui.session.opened import AT_ONCE

    found = dict.fromkeys(stop for session in sessions for stop in session.stops(AT_ONCE))
    for stop in found:
        click.echo(f"sftui: {visible(stop)}; nothing is trained while it stands", err=True)
    return bool(found)


@contextlib.contextmanager
def note_waiting(paths: Iterable[str]) -> Iterator[None]:
    """Say after a second what is waited for: a pipe (a fifo) to which nobody may be writing yet, or a server."""
    waits = [f"rows from the pipe {path}" for path in paths if _is_pipe(path)]
    waits += [f"an answer from {without_secrets(path)}" for path in paths if is_url(path)]
    if not waits:
        yield
        return
    sentence = f"sftui: waits for {visible(waits[0])}; Ctrl-C stops"
    timer = threading.Timer(PATIENCE, click.echo, [sentence], {"err": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _is_pipe(path: str) -> bool:
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def open_data(options: OpenOptions, recipe: Recipe | None = None, seconds: float | None = None) -> OpenData:
    """Open the data under a recipe (None: that of the options); a pipe that is waited for and what comes from the Hub
    are reported, and where `seconds` were too few to look through all of it."""
    from sftui.cli.downloading import download_progress
    from sftui.session import ready
    from sftui.sources.opening import hub_name

    with note_waiting(options.paths), download_progress(hub_name(options.paths), "datasets"):
        opened = ready.open_data(options, recipe, seconds=seconds)
    if not opened.stored.whole:
        click.echo(f"sftui: {visible(opened.source.title)} is long: {PROVISIONAL}", err=True)
    return opened


def load_tokenizer(opened: OpenData) -> OpenData:
    """Load the proven tokenizer and hold it against the first rows; what comes from the Hub is reported."""
    from sftui.cli.downloading import download_progress, hub_tokenizer
    from sftui.session import ready

    name = opened.recipe.tokenizer.name
    with download_progress(hub_tokenizer(name) if name is not None else None, "models"):
        loaded = ready.tokenized(opened)
    return ready.prove_rows(loaded)


def loaded_session(
    options: OpenOptions, *, notes: bool = True, unread: bool = False, seconds: float | None = None
) -> Ready:
    """Open the data and load the proven tokenizer; SftuiError where either cannot be. `notes`: the trainer's notes, see
    `print_notes`; `unread`: also data that the trainer does not read; `seconds`: see `open_data`."""
    from sftui.tokens.release import settle

    opened = open_data(options, seconds=seconds)
    opened.accepted(unread=unread)
    session = load_tokenizer(opened).ready()
    settle()
    print_versions([session])
    if notes:
        print_notes([session.recipe], session.tools.notes or ())
    return session


def print_versions(sessions: Iterable[OpenData]) -> None:
    """Whose ids are shown where that is not plain, each once, on stderr, with the command that verifies."""
    from sftui.session.ready import TokenizedData
    from sftui.session.versions import NOT_VERIFIED, version_notes
    from sftui.trainers.pins import reference_version

    for session in sessions:
        if not isinstance(session, TokenizedData):
            continue
        for note in version_notes(session.tokenizer.facts):
            version = reference_version(session.recipe)
            asks = note.startswith(NOT_VERIFIED.format(version=version)) and "--transformers" not in sys.argv
            command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:], "--transformers", version])
            click.echo(f"sftui: {visible(note)}" + (f"; `{visible(command)}` verifies them" if asks else ""), err=True)
