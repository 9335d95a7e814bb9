"""The options that say what to open, the same for every command, and what they come to."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sftui.cli.grouped import DATA, FINDINGS, RECIPE, TOKENIZER, USUAL, made_of, number_option, option, shared
from sftui.errors import RecipeError, SourceError
from sftui.text import visible

if TYPE_CHECKING:
    from sftui.session.arguments import Arguments
    from sftui.session.options import OpenOptions

F = TypeVar("F", bound=Callable[..., Any])


def _enable(context: click.Context, option: click.Parameter, packages: tuple[str, ...]) -> None:
    if packages:
        from sftui.trainers.outside import enable

        enable(packages)


TRAINERS_FROM = option(
    "--trainers-from",
    group=RECIPE,
    multiple=True,
    metavar="PACKAGE",
    callback=_enable,
    expose_value=False,
    is_eager=True,
    help="also the trainers of this installed package, whose code is run",
)
"""The option that lets a package bring trainers: what is declared after it knows them."""

OPENING: tuple[Callable[[Any], Any], ...] = (
    click.argument("data", nargs=-1, metavar="DATA|CONFIG…"),
    option(
        "-t", "--tokenizer", group=USUAL, metavar="NAME", help="Hub name, folder, tokenizer.json, .gguf or builtin:NAME"
    ),
    option(
        "--trainer",
        group=USUAL,
        metavar="NAME[@VERSION]",
        help=(
            "start from a trainer's preset, e.g. trl@1.16: hf-trainer (the default), manual-shift, trl, axolotl,"
            " llamafactory, llamafactory-v1, unsloth, torchtune, mlx-lm, verl, nemo-automodel or ms-swift"
        ),
    ),
    number_option("--max-length", group=USUAL, help="longest row in tokens"),
    option(
        "--set",
        "knobs",
        group=USUAL,
        multiple=True,
        metavar="KNOB=VALUE",
        help="set one knob of the recipe, e.g. mask.rule=assistant; `sftui knobs` lists them",
    ),
    option(
        "--data-format",
        group=DATA,
        metavar="FORMAT",
        help="how a row is read: messages, sharegpt, alpaca, text, …; default: found from the rows",
    ),
    option(
        "--field",
        "fields",
        group=DATA,
        multiple=True,
        metavar="FIELD=COLUMN",
        help="map an sftui field to a column, e.g. prompt=question",
    ),
    option("--split", group=DATA, metavar="NAME", help="the split of a Hub dataset or a saved folder"),
    option("--subset", group=DATA, metavar="NAME", help="the configuration of a Hub dataset"),
    option("--data-revision", group=DATA, metavar="REV", help="branch, tag or commit of a Hub dataset"),
    option("--rows-in", group=DATA, metavar="KEY", help="the key whose list holds the rows of a JSON file"),
    number_option("--row-limit", group=DATA, metavar="MB", help="longest row that is read, in megabytes; default 16"),
    option("--template", group=TOKENIZER, metavar="NAME|FILE", help="another chat template: a built-in name or a file"),
    option("--tokenizer-revision", group=TOKENIZER, metavar="REV", help="branch, tag or commit of a Hub tokenizer"),
    option(
        "--env",
        group=TOKENIZER,
        metavar="PATH",
        help="the Python environment you train in: ids as its transformers makes them",
    ),
    option(
        "--transformers",
        group=TOKENIZER,
        metavar="VERSION",
        help="ids as this version makes them; a small environment is made for it where none is at hand",
    ),
    option("--recipe", "recipe_file", group=RECIPE, metavar="FILE", help="a saved recipe"),
    option(
        "--config",
        group=RECIPE,
        metavar="FILE",
        help="a trainer's own config: data, tokenizer and every knob are taken from it",
    ),
    option("--dataset", group=RECIPE, metavar="N|NAME", help="which dataset of the config, from 0"),
    TRAINERS_FROM,
    option("--debug", is_flag=True, help="show a full trace when something fails"),
)


@cache
def _opening() -> tuple[click.Parameter, ...]:
    """The options themselves, made once for all commands: to make them for each took a sixth of `sftui --help`."""
    return made_of(OPENING)


def opening_options(command: F) -> F:
    """Decorate a command with everything that says what to open; its `--format`, if any, is that of its output."""
    return shared(command, _opening())


serving_option = option(
    "--serve",
    group=FINDINGS,
    metavar="FILE|NAME",
    help="what you will serve with: a template file, a tokenizer, a bundled name or a .gguf; prompts are compared",
)


def open_options(given: Mapping[str, Any], row: int = 0) -> OpenOptions:
    """The options of a command line, see `Asked.options`; says on stderr what there is to say about a config, and that
    the Hub will be queried, before it is."""
    wanted = arguments(given)
    options, notes = wanted.options(row, _made)
    if options.config is None:
        options = replace(options, paths=data_paths(wanted.data))
    for sentence in notes:
        click.echo(f"sftui: {visible(sentence)}", err=True)
    if any(map(os.path.exists, options.paths)):  # what is here needs no more of sftui loaded
        return options
    from sftui.sources.opening import hub_name

    name = hub_name(options.paths)
    if name is not None:
        _refuse_slip(name)
        click.echo(f"sftui: looking up {visible(name)} on the Hub …", err=True)
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


def arguments(given: Mapping[str, Any]) -> Arguments:
    """What a command line says, its options by name; RecipeError for a pair that is none."""
    from sftui.session.arguments import Arguments

    same = {one.name: given[one.name] for one in fields(Arguments) if one.name in given and one.name != "knobs"}
    same["fields"] = dict(_pair(text, "--field", "FIELD=COLUMN") for text in given["fields"])
    return Arguments(**same, knobs=tuple(_pair(text, "--set", "KNOB=VALUE") for text in given["knobs"]))


def data_paths(words: tuple[str, ...]) -> tuple[str, ...]:
    """The paths to open; `-` is stdin, spooled to a temporary file that goes when we do."""
    if not words:
        raise SourceError("no data was named", fix="name a file, a folder or a Hub dataset, or try `sftui demo`")
    return tuple(_spooled() if word == "-" else word for word in words)


def _spooled() -> str:
    """Everything on stdin as a file, because a pipe cannot be read twice nor at row 10,000."""
    if sys.stdin is None or sys.stdin.isatty():
        raise SourceError("`-` reads the data from a pipe, and there is none", fix="try `cat data.jsonl | sftui - …`")
    import atexit
    import shutil
    import tempfile

    folder = tempfile.mkdtemp(prefix="sftui-stdin-")
    owner = os.getpid()

    def take_away() -> None:
        if os.getpid() == owner:  # and not a process that was forked from it
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(take_away)
    path = os.path.join(folder, "stdin.jsonl")
    if sys.stderr.isatty():
        click.echo("sftui: reading stdin to its end …", err=True)
    try:
        with open(path, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
    except OSError as error:
        raise SourceError(
            "stdin cannot be kept in a temporary file",
            why=(error.strerror or str(error)).lower(),
            fix="set TMPDIR to a folder with room",
        ) from error
    return path


def _pair(text: str, option: str, form: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise RecipeError(f"{option} {text} is not {form}")
    return name.strip(), value
