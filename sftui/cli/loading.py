"""Open data ready to work, for the commands that need no screen, and say on stderr what is to be known of it."""

from __future__ import annotations

import contextlib
import os
import shlex
import stat
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from sftui.cli.terminal import LINE_WIDTH, clear_line, narrate, redraw
from sftui.errors import ConversationError, TokenizerError, without_secrets
from sftui.recipe import Recipe
from sftui.session import ready
from sftui.session.facets import matching
from sftui.session.inputs import data_files, size_of
from sftui.session.opened import AT_ONCE, OpenData
from sftui.session.options import OpenOptions
from sftui.session.ready import Ready, TokenizedData
from sftui.session.versions import NOT_VERIFIED, version_notes
from sftui.sources.byte_file import is_url
from sftui.sources.opening import hub_name
from sftui.text import clip, visible
from sftui.tokens.loading.locate import locate
from sftui.tokens.release import settle
from sftui.trainers.own_config import notes_of
from sftui.trainers.versions import reference_version

PROVISIONAL = "its first rows decide how all rows are read, so sftui does not know a column that only appears later"
PATIENCE = 1.0
"""Seconds after which it is said what is waited for."""
LOOK_BYTES = 4 << 20
"""Size of the files that are read through to find out whether they are whole, where not all is read anyway: counted in
bytes, so that it is always said or never."""
LOOK = 2.0
"""Seconds after which even these are left, should they unpack to very much more."""
EVERY = 0.5
"""Seconds between two looks at what has come from the Hub."""


def print_notes(recipes: Iterable[Recipe], more: Iterable[str] = ()) -> tuple[str, ...]:
    """What the trainers say of the recipes as a whole, e.g. that a version is newer than the rules known: each once, on
    stderr, and returned. `more` is what else is to be known, e.g. of the tokenizer as the trainer makes it."""
    notes = tuple(dict.fromkeys((*(note for recipe in recipes for note in notes_of(recipe)), *more)))
    narrate(*notes)
    return notes


def print_stops(sessions: Iterable[Ready]) -> bool:
    """Whether a run by one of the recipes stops before its first step, and why, on stderr: the command that shows what
    it makes all the same then ends with 2."""
    found = dict.fromkeys(stop for session in sessions for stop in session.stops(AT_ONCE))
    narrate(*(f"{stop}; nothing can be trained until that is fixed" for stop in found))
    return bool(found)


@contextlib.contextmanager
def note_waiting(paths: Iterable[str]) -> Iterator[None]:
    """Say after a second what is waited for: a pipe (a fifo) to which nobody may be writing yet, or a server."""
    waits = [f"rows from the pipe {path}" for path in paths if _is_pipe(path)]
    waits += [f"an answer from {without_secrets(path)}" for path in paths if is_url(path)]
    if not waits:
        yield
        return
    timer = threading.Timer(PATIENCE, narrate, [f"waiting for {waits[0]}; Ctrl-C stops"])
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


@contextlib.contextmanager
def download_progress(repo: str | None, kind: str) -> Iterator[None]:
    """Print on stderr how long a repository (kind `models` or `datasets`) of the Hub has been loading and how many
    bytes came; in a pipe once that it is being downloaded, unless it was said that it is looked up. None: nothing."""
    if repo is None:
        yield
        return
    from sftui.waiting import NAMES, loading_words, watched

    live, name, drawn = sys.stderr.isatty(), visible(repo), [False]

    def notify(seconds: float, came: int) -> None:
        if live and seconds >= 1:
            redraw(clip(loading_words(name, kind, seconds, came), LINE_WIDTH).ljust(LINE_WIDTH))
            drawn[0] = True
        elif not live and came and kind == "models" and not drawn[0]:
            narrate(f"downloading {NAMES[kind]} {name} from the Hub …")
            drawn[0] = True

    try:
        with watched(repo, kind, notify, EVERY):
            yield
    finally:
        if drawn[0]:
            clear_line()


def hub_tokenizer(name: str) -> str | None:
    """The Hub repository that a tokenizer is loaded from; None for what is on disk, or cannot be."""
    with contextlib.suppress(TokenizerError):
        return name if locate(name).kind == "hub" else None
    return None


def open_data(options: OpenOptions, recipe: Recipe | None = None, seconds: float | None = None) -> OpenData:
    """Open the data under a recipe (None: that of the options); a pipe that is waited for and what comes from the Hub
    are reported, and where `seconds` were too few to look through all of it."""
    with note_waiting(options.paths), download_progress(hub_name(options.paths), "datasets"):
        opened = ready.open_data(options, recipe, seconds=seconds)
    if not opened.stored.whole:
        narrate(f"{opened.source.title} is long: {PROVISIONAL}")
    return opened


def accept(opened: OpenData, *, unread: bool = False) -> None:
    """ConversationError for data that its trainer does not read (`unread`: but may, see `OpenData.accepted`), with what
    was tried and makes it read it."""
    try:
        opened.accepted(unread=unread)
    except ConversationError as error:
        from sftui.session.fixing import way_in

        if way := way_in(opened):
            error.fix = f"{way} (tried on the first rows)"
        raise


def load_tokenizer(opened: OpenData) -> OpenData:
    """Load the proven tokenizer and hold it against the first rows; what comes from the Hub is reported."""
    name = opened.recipe.tokenizer.name
    with download_progress(hub_tokenizer(name) if name is not None else None, "models"):
        loaded = ready.tokenized(opened)
    return ready.prove_rows(loaded)


def loaded_session(
    options: OpenOptions, *, notes: bool = True, unread: bool = False, seconds: float | None = None
) -> Ready:
    """Open the data, of which the rows that the options ask for are read, and load the proven tokenizer; SftuiError
    where either cannot be. `notes`: the trainer's notes, see `print_notes`; `unread`: also data that the trainer does
    not read; `seconds`: see `open_data`."""
    opened = open_data(options, seconds=seconds)
    accept(opened, unread=unread)
    session = load_tokenizer(opened).ready()
    settle()
    print_versions([session])
    if notes:
        print_notes([session.recipe], session.tools.notes or ())
    return matching(session)


def print_versions(sessions: Iterable[OpenData]) -> None:
    """Whose ids are shown where that is not plain, each once, on stderr, with the command that verifies."""
    for session in sessions:
        if not isinstance(session, TokenizedData):
            continue
        for note in version_notes(session.tokenizer.facts):
            version = reference_version(session.recipe)
            asks = note.startswith(NOT_VERIFIED.format(version=version)) and "--transformers" not in sys.argv
            command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:], "--transformers", version])
            narrate(note + f"; `{command}` verifies them" * asks)


def print_matches(session: OpenData) -> None:
    """How many rows match the expression that chose them, where one did, on stderr."""
    narrate(*(session.only.sentences() if session.only is not None else ()))


class DataNotes:
    """How rows are read, and what of the data cannot be: each sentence once, however often `print` is called.

    `others` are the same data under other recipes. `findings=True` leaves out what is a finding, too: damage, and roles
    that no row has.
    """

    def __init__(self, session: OpenData, *others: OpenData, findings: bool = False) -> None:
        self._session, self._sessions, self._findings = session, (session, *others), findings
        self._said: set[str] = set()

    def print(self) -> None:
        """What is known by now; call it again at the end, when more was read."""
        source, detected = self._session.source, self._session.detected
        lost = tuple(damage.sentence() for damage in source.damage) if not self._findings else ()
        of_recipe = () if self._findings else tuple(note for session in self._sessions for note in session.notes)
        notes = dict.fromkeys((*source.notes, *detected.notes, *of_recipe, *lost))
        narrate(*(note for note in notes if note not in self._said))
        self._said.update(notes)

    def look(self) -> None:
        """The same after a look for damage in files that are not large."""
        options = self._session.options
        files = data_files(options.paths, options.split) or self._session.source.cached
        if not self._findings and size_of(files) <= LOOK_BYTES:
            self._session.source.index_more(LOOK)
        self.print()
