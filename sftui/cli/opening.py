"""The options that say what to open, the same for every command, and what they come to."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import Field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sftui.cli.grouped import Option, completes, with_parameters
from sftui.cli.terminal import narrate
from sftui.errors import RecipeError, SftuiError, SourceError
from sftui.session.declared import RECIPE, OptionDeclaration

if TYPE_CHECKING:
    from sftui.session.arguments import Arguments
    from sftui.session.options import OpenOptions
    from sftui.session.session_file import SavedSession

F = TypeVar("F", bound=Callable[..., Any])


def _enable(context: click.Context, option: click.Parameter, packages: tuple[str, ...]) -> None:
    if packages:
        from sftui.trainers.outside import enable

        enable(packages)


TRAINERS_FROM = Option(
    RECIPE,
    "PACKAGE",
    "also load the trainers of this installed package; this runs its code",
    "--trainers-from",
    multiple=True,
    callback=_enable,
    expose_value=False,
    is_eager=True,
)
"""The option that lets a package bring trainers: what is declared after it knows them."""


def _declare(declared: Field[Any]) -> Option:
    names = declared.metadata["names"] or (f"--{declared.name.replace('_', '-')}",)
    number: dict[str, Any] = {"type": click.IntRange(min=1)} if declared.type == "int | None" else {}
    return Option(*declared.metadata["words"], *names, **{**declared.metadata["click"], **number})


_DECLARED = {field.name: _declare(field) for field in fields(OptionDeclaration)}
serving_option, where_option = _DECLARED.pop("serve"), _DECLARED.pop("where")
_OF_ROWS = where_option, _DECLARED.pop("apply"), _DECLARED.pop("edits")
_DEBUG = _DECLARED.pop("debug")
OPENING: tuple[click.Parameter, ...] = (
    click.Argument(["data"], nargs=-1, metavar="DATA|CONFIG…", shell_complete=completes),
    *_DECLARED.values(),
    TRAINERS_FROM,
    _DEBUG,
)


def opening_options(command: F) -> F:
    """Decorate a command with everything that says what to open; its `--format`, if any, is that of its output."""
    return with_parameters(command, *OPENING)


def row_options(command: F) -> F:
    """Decorate a command that reads rows with what chooses some and lays repairs over them."""
    return with_parameters(command, *_OF_ROWS)


def open_options(given: Mapping[str, Any], row: int = 0, screen: bool = False) -> OpenOptions:
    """The options of a command line, see `Arguments.options`; says on stderr what there is to say about a config, and
    that the Hub will be queried, before it is. `screen`: also where one was in a session that is opened."""
    wanted, saved = arguments(given, screen), _session(given)
    try:
        options, notes = wanted.options(row, _made)
    except SftuiError as error:
        raise error if saved is None else saved.placed(error) from None
    if screen and saved is not None:
        options = replace(options, row=row or saved.row, view=saved.view)
    if options.config is None:
        options = replace(options, paths=data_paths(wanted.data))
    narrate(*notes)
    if any(map(os.path.exists, options.paths)):  # what is here needs no more of sftui loaded
        return options
    from sftui.sources.opening import hub_name

    name = hub_name(options.paths)
    if name is not None:
        _refuse_slip(name)
        narrate(f"looking up {name} on the Hub …")
    return options


def _refuse_slip(name: str) -> None:
    """SourceError for a name that looks like a file's and is nearly that of one here: the Hub is not asked about it."""
    if not os.path.splitext(name)[1]:
        return
    from sftui.sources.files import missing

    error = missing(name)
    if error.fix:
        raise error


def _made(version: str) -> None:
    from sftui.cli.envs import make_for

    make_for(version)


def _session(given: Mapping[str, Any]) -> SavedSession | None:
    """The session that is named as the data."""
    if len(given["data"]) != 1 or not given["data"][0].lower().endswith((".yml", ".yaml")):
        return None
    from sftui.session.session_file import session_named

    return session_named(given["data"])


def arguments(given: Mapping[str, Any], screen: bool = False) -> Arguments:
    """What a command line says, its options by name, on top of a session where it opens one; RecipeError for a pair
    that is none. `screen`: the rows are filtered there."""
    from sftui.session.arguments import Arguments

    same = {one.name: given[one.name] for one in fields(Arguments) if one.name in given and one.name != "knobs"}
    same["fields"] = dict(_pair(text, "--field", "FIELD=COLUMN") for text in given["fields"])
    said = Arguments(**same, knobs=tuple(_pair(text, "--set", "KNOB=VALUE") for text in given["knobs"]))
    saved = _session(given)
    if saved is None:
        return said
    from sftui.session.facets import refuse_where
    from sftui.session.session_file import over

    found = over(saved, said)
    if screen:
        return found
    unknown = {name: getattr(found, name) for name in ("apply", "edits") if name not in given}
    refuse_where(unknown, f"the session {saved.path} changes the rows, but this command reads the file as it is")
    if found.where is not None and "where" not in given:
        narrate(f"the session's filter is not used here: {found.where}")
        return replace(found, where=None)
    return found


def opening_words(given: Mapping[str, Any]) -> tuple[str, ...]:
    """The words of a command line that open the same again, by the options that are given; none for what was read from
    stdin."""
    from sftui.trainers.outside import OPTION, VARIABLE

    words = list(given["data"])
    if "-" in words:
        return ()
    words += option_words((option.opts[0], given.get(name)) for name, option in _DECLARED.items())
    if packages := os.environ.get(VARIABLE):
        words += [OPTION, packages]
    return tuple(words)


def option_words(options: Iterable[tuple[str, Any]]) -> Iterator[str]:
    """Options with what they say, each as often as it says something."""
    for option, value in options:
        for one in value if isinstance(value, tuple) else (value,):
            if one is not None:
                yield from (option, str(one))


def data_paths(words: tuple[str, ...]) -> tuple[str, ...]:
    """The paths to open; `-` is stdin, spooled to a temporary file that goes when we do."""
    if not words:
        raise SourceError("no data was given", fix="give a file, a folder or a Hub dataset, or try `sftui demo`")
    return tuple(_spooled() if word == "-" else word for word in words)


def _spooled() -> str:
    """Everything on stdin as a file, because a pipe cannot be read twice nor at row 10,000."""
    if sys.stdin is None or sys.stdin.isatty():
        raise SourceError("`-` reads data from a pipe, but nothing is piped in", fix="try `cat data.jsonl | sftui - …`")
    import atexit
    import shutil
    import tempfile

    from sftui.session.options import SPOOLED

    folder = tempfile.mkdtemp(prefix=SPOOLED)
    owner = os.getpid()

    def take_away() -> None:
        if os.getpid() == owner:  # and not a process that was forked from it
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(take_away)
    path = os.path.join(folder, "stdin.jsonl")
    if sys.stderr.isatty():
        narrate("reading stdin to its end …")
    try:
        with open(path, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
    except OSError as error:
        raise SourceError(
            "stdin cannot be copied to a temporary file",
            why=(error.strerror or str(error)).lower(),
            fix="set TMPDIR to a folder with enough space",
        ) from error
    return path


def _pair(text: str, option: str, form: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise RecipeError(f"{option} {text} is not {form}")
    return name.strip(), value
