"""Opening the inspector: the worker starts first and loads while Textual is being imported."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import click

import sftui
from sftui.cli.terminal import narrate
from sftui.errors import SftuiError, SourceError
from sftui.nearest import did_you_mean, nearest
from sftui.recipe import changed
from sftui.session.options import OpenOptions
from sftui.settings import UserSettings, load_settings
from sftui.starting import IdleWorker
from sftui.trainers import preset


class ScreenOptions(NamedTuple):
    """How the screen is opened: `started` is the worker that it may take, and it `follows` a file that grows."""

    theme: str | None
    mouse: bool
    started: IdleWorker | None = None
    follows: bool = False


def open_inspector(given: Mapping[str, Any], row: int, screen: ScreenOptions, commands: Collection[str]) -> int:
    """Open what the command line names; 2 where it cannot be opened. `commands` are the names that a slip of the keys
    may have meant."""
    from sftui.cli.opening import arguments, open_options

    piped = "-" in given["data"]
    refuse_slips([word for word in given["data"] if word != "-"], commands)  # a slip is the same slip in a script
    named = arguments(given, screen=True)
    if named.where is not None:
        from sftui.where import Filter

        Filter(named.where)  # which refuses what is none
    if not on_terminal():
        raise SftuiError(
            "the inspector needs a terminal", fix="use `sftui show` or `sftui encode` in pipes and scripts"
        )
    missing = [what for what in ("tokenizer", "trainer") if not getattr(named, what) and not named.recipe_file]
    if not named.data and named.config is None:
        missing = ["data", *missing]
    elif named.tokenizer or named.config_file():
        missing = []  # what names a tokenizer may do so by leaving the trainer to the default
    captured = named.captured_run() if missing and not piped else None
    if captured is not None:  # it is of no trainer any more, and may name its tokenizer itself
        missing = [] if (captured.get("tokenizer") or {}).get("name") else ["tokenizer"]
    if missing and not piped and not can_pick():
        missing = []
    if missing:
        picked = _picked(missing, given, screen, piped)
        if picked is None:
            return 0
        if picked.get("data") == DEMO:
            return open_demo(None, given["tokenizer"], bool(given["debug"]), screen)
        given = {**given, **{what: said or None for what, said in picked.items()}}
        if "data" in missing:
            given["data"] = (picked["data"],)
    options = open_options(given, row, screen=True)
    refuse_slips(options.paths, commands)
    if screen.follows:
        _begun(options.paths)
    if piped and not missing:
        _keys_from_terminal()
    return run(replace(options, where=None), screen, where=options.where)


def _begun(paths: Sequence[str]) -> None:
    """Waits until the file that is to be followed has its first line; SftuiError for what cannot be followed."""
    if len(paths) != 1 or not paths[0].lower().endswith(FOLLOWED):
        raise SftuiError("-f follows one JSON Lines file", where=", ".join(paths), fix="name a .jsonl file, or omit -f")
    path, waiting = Path(paths[0]), False
    while path.is_file() and path.stat().st_size < FIRST_LINE and b"\n" not in path.read_bytes():
        if not waiting:
            narrate(f"waiting for the first row of {path}; Ctrl-C stops")
        waiting = True
        time.sleep(0.2)


WEB_DRIVER = "textual.drivers.web_driver:WebDriver"
"""What TEXTUAL_DRIVER says where textual-serve shows the screen in a browser."""
DEFAULT_SAMPLE = "defects"
DEFAULT_TOKENIZER = "builtin:chatml"
FOLLOWED = (".jsonl", ".ndjson")
"""Files whose rows are complete line by line, so that they can be read while they are written."""
FIRST_LINE = 1 << 20
"""Bytes of a file that is not waited for, whatever it begins with."""
SUFFIXES = (".jsonl", ".json", ".csv", ".parquet")
DEMO = "sftui demo"
"""What the first screen calls the demo, as a command line does (see `tui.picking`)."""


def on_terminal() -> bool:
    """Whether what is drawn reaches a terminal, or the browser of `sftui serve`."""
    return sys.stdout.isatty() or os.environ.get("TEXTUAL_DRIVER") == WEB_DRIVER


def can_pick() -> bool:
    """Whether somebody is there to pick from lists."""
    return on_terminal() and sys.stdin is not None and sys.stdin.isatty()


def _picked(
    missing: Sequence[str], given: Mapping[str, Any], screen: ScreenOptions, piped: bool
) -> dict[str, str] | None:
    """What the user picks of what no option says; None where they left."""
    require_utf8()
    if piped:
        _keys_from_terminal()
    from sftui.tui.app import pick

    known = {"data": given["data"][0]} if given["data"] else {}
    picked = pick(missing, known, _settings(screen))
    return {what: picked[what] for what in missing if what in picked} if picked is not None else None


def _settings(screen: ScreenOptions) -> UserSettings:
    """The user's, and before them what the command line says; SftuiError for some that cannot be used, each problem
    printed."""
    settings = load_settings()
    if settings.problems:
        *others, last = settings.problems
        narrate(*others)
        raise SftuiError(last)
    return replace(settings, mouse=screen.mouse and settings.mouse, theme=screen.theme or settings.theme)


def refuse_slips(paths: Sequence[str], commands: Collection[str]) -> None:
    """SourceError for a path that is not there and whose name is nearly a command's or that of a file next to it: the
    screen could show nothing of it."""
    for number, path in enumerate(paths):
        if os.path.exists(path) or ("/" in path and not os.path.isdir(os.path.dirname(path))):
            continue
        from sftui.sources.files import missing

        command = nearest(path, commands, 0.7) if number == 0 else None
        problem = missing(path)
        if command == path:
            raise SourceError("does not exist", where=path, fix=f"put the command first: sftui {command} …")
        if command:
            raise SourceError("does not exist", where=path, fix=f"did you mean `sftui {command}`?")
        if problem.fix:
            raise problem


def sample_folder() -> Path:
    """Where the sample data is; SourceError where the installation lacks it."""
    package = Path(sftui.__file__).parent
    for folder in (package / "_sample_data", package.parent / "sample_data"):
        if folder.is_dir():
            return folder
    raise SourceError("this installation does not include the sample data", fix="reinstall sftui")


def samples() -> dict[str, Path]:
    """Every bundled sample by name."""
    return {path.stem: path for path in sorted(sample_folder().iterdir()) if path.suffix in SUFFIXES}


def demo_options(name: str | None, tokenizer: str | None, debug: bool = False) -> OpenOptions:
    """What `sftui demo NAME` opens; SourceError names the samples there are."""
    found = samples()
    wanted = name if name is not None else DEFAULT_SAMPLE
    if wanted not in found:
        raise SourceError(f"there is no sample `{wanted}`", fix=did_you_mean(wanted, found))
    recipe = changed(preset(), "tokenizer.name", tokenizer or DEFAULT_TOKENIZER)
    return OpenOptions(paths=(str(found[wanted]),), recipe=recipe, debug=debug)


@click.pass_obj
def demo(started: IdleWorker | None, /, theme: str | None, no_mouse: bool, **given: Any) -> int:
    """Open what `sftui demo` names."""
    return open_demo(**given, screen=ScreenOptions(theme, not no_mouse, started))


def open_demo(name: str | None, tokenizer: str | None, debug: bool, screen: ScreenOptions) -> int:
    """Open bundled sample data; `name` picks one of its files, without one a tour leads through rows with defects."""
    options = demo_options(name, tokenizer, debug)
    if not on_terminal():
        raise SftuiError("the demo needs a terminal", fix=f"its data is in {Path(options.paths[0]).parent}")
    return run(options, screen, tour=name is None)


def run(options: OpenOptions, screen: ScreenOptions, *, tour: bool = False, where: str | None = None) -> int:
    """Start the worker, then the screen, and leave nothing behind; `where` is what the row list is filtered by."""
    require_utf8()
    # Imports make nothing but what stays: 74 collections would look through it before the first paint
    # (8 of 220 ms CPU) and find nothing; the app collects from then on.
    gc.disable()
    from sftui.workspace import Workspace

    workspace = Workspace(options, started=screen.started)
    workspace.start()
    try:
        from sftui.tui.app import run_app

        settings = _settings(screen)
        source = workspace.source
        if source is not None and source.refused is not None and not source.unread:
            raise SourceError(source.refused.sentence())
        return run_app(workspace, settings, tour=tour, where=where, follows=screen.follows)
    finally:
        log = workspace.log_tail() if options.debug else ""
        workspace.close()
        gc.enable()
        if log:
            click.echo(log, err=True)


def require_utf8() -> None:
    """SftuiError where the terminal's encoding has no signs for bars, blanks and tokens: escapes in their place would
    push every line out of its columns."""
    encoding = getattr(sys.__stderr__, "encoding", None) or "utf-8"  # Textual draws on stderr
    try:
        "█░·␣⏎│▸".encode(encoding)
    except (UnicodeEncodeError, LookupError) as error:
        raise SftuiError(
            f"the terminal's encoding {encoding} cannot draw the screen",
            why="it lacks the characters for spaces and bars",
            fix="set LC_ALL=C.UTF-8 and unset PYTHONIOENCODING; `sftui show` and `sftui check` work without a screen",
        ) from error


def _keys_from_terminal() -> None:
    """The data came through stdin; keys must come from the terminal itself."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY)
    except OSError as error:
        raise SourceError("there is no terminal to read keys from", fix="use `sftui show -` instead") from error
    os.dup2(terminal, 0)
    os.close(terminal)
    with contextlib.suppress(OSError, ValueError):
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - stays open as stdin
