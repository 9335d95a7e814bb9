"""The options that say what to open, the same for every command, and what they come to."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sftui.cli.configs import config_file, open_config
from sftui.errors import RecipeError, SourceError
from sftui.nearest import did_you_mean
from sftui.text import visible

if TYPE_CHECKING:
    from sftui.recipe import Recipe
    from sftui.session.options import OpenOptions

F = TypeVar("F", bound=Callable[..., Any])


def _enable(context: click.Context, option: click.Parameter, packages: tuple[str, ...]) -> None:
    if packages:
        from sftui.trainers.outside import enable

        enable(packages)


OPENING: tuple[Callable[[Any], Any], ...] = (
    click.argument("data", nargs=-1, metavar="DATA|CONFIG…"),
    click.option("-t", "--tokenizer", metavar="NAME", help="Hub name, folder, tokenizer.json, .gguf or builtin:NAME"),
    click.option("--recipe", "recipe_file", metavar="FILE", help="a saved recipe"),
    click.option(
        "--trainer",
        metavar="NAME[@VERSION]",
        help=(
            "start from a trainer's preset, e.g. trl@1.16: hf-trainer (the default), manual-shift, trl, axolotl,"
            " llamafactory, unsloth or torchtune"
        ),
    ),
    click.option(
        "--trainers-from",
        multiple=True,
        metavar="PACKAGE",
        callback=_enable,
        expose_value=False,
        is_eager=True,
        help="also the trainers of this installed package, whose code is run",
    ),
    click.option(
        "--config", metavar="FILE", help="a trainer's own config: data, tokenizer and every knob are taken from it"
    ),
    click.option("--dataset", metavar="N|NAME", help="which dataset of the config, from 0"),
    click.option("--max-length", type=click.IntRange(min=1), metavar="N", help="longest row in tokens"),
    click.option("--template", metavar="NAME|FILE", help="another chat template: a built-in name or a file"),
    click.option("--split", metavar="NAME", help="the split of a Hub dataset or a saved folder"),
    click.option("--subset", metavar="NAME", help="the configuration of a Hub dataset"),
    click.option("--data-revision", metavar="REV", help="branch, tag or commit of a Hub dataset"),
    click.option("--tokenizer-revision", metavar="REV", help="branch, tag or commit of a Hub tokenizer"),
    click.option(
        "--env", metavar="PATH", help="the Python environment you train in: ids as its transformers makes them"
    ),
    click.option(
        "--transformers",
        metavar="VERSION",
        help="ids as this version makes them; a small environment is made for it where none is at hand",
    ),
    click.option("--rows-in", metavar="KEY", help="the key whose list holds the rows of a JSON file"),
    click.option(
        "--row-limit",
        type=click.IntRange(min=1),
        metavar="MB",
        help="longest row that is read, in megabytes; default 16",
    ),
    click.option(
        "--field",
        "fields",
        multiple=True,
        metavar="FIELD=COLUMN",
        help="map an sftui field to a column, e.g. prompt=question",
    ),
    click.option("--set", "knobs", multiple=True, metavar="PATH=VALUE", help="set one knob of the recipe"),
    click.option("--debug", is_flag=True, help="show a full trace when something fails"),
)


def opening_options(command: F) -> F:
    """Decorate a command with everything that says what to open."""
    return _decorated(command, "--format", "--data-format")


def opening_options_beside_format(command: F) -> F:
    """The same for a command whose own `--format` is that of its output."""
    return _decorated(command, "--data-format")


def _decorated(command: F, *names: str) -> F:
    for option in reversed(OPENING):
        command = option(command)
    data_format = click.option(
        *names, "data_format", metavar="FORMAT", help="how a row is read: messages, sharegpt, alpaca, text, …"
    )
    return data_format(command)


def open_options(given: Mapping[str, Any], row: int = 0) -> OpenOptions:
    """The options of a command line, see `_options`; says on stderr that the Hub will be asked, before it is."""
    options = _options(given, row)
    if any(map(os.path.exists, options.paths)):  # what is here needs no more of sftui loaded
        return options
    from sftui.sources.opening import hub_name

    name = hub_name(options.paths)
    if name is not None:
        click.echo(f"sftui: looking up {visible(name)} on the Hub …", err=True)
    return options


def _options(given: Mapping[str, Any], row: int) -> OpenOptions:
    """The options of a command line as OpenOptions; RecipeError and SourceError say what does not fit.

    What names the data, the tokenizer and the template sets the starting recipe up;
    `--max-length` and `--set` correct it, and exports tell so.
    """
    from sftui.session.options import OpenOptions

    path = config_file(given)
    if path is not None:
        return _from_config(path, given, row)
    if given["dataset"] is not None:
        raise RecipeError(
            "--dataset chooses among the datasets of a config, and no config is open",
            fix="give the trainer's YAML as DATA or with --config",
        )
    base = _set_up(starting_recipe(given["recipe_file"], given["trainer"]), given)
    return OpenOptions(
        paths=data_paths(given["data"]),
        recipe=_corrected(base, given),
        base=base,
        split=given["split"],
        subset=given["subset"],
        data_revision=given["data_revision"],
        row=row,
        debug=given["debug"],
        recipe_file=given["recipe_file"],
        **_reading(given),
    )


def _from_config(path: str, given: Mapping[str, Any], row: int) -> OpenOptions:
    """What a trainer's own config opens; the other options of the command line come on top."""
    from sftui.session.options import OpenOptions

    if given["recipe_file"] is not None:
        raise RecipeError("--recipe and a trainer's config both name a starting recipe", fix="give one of them")
    chosen = open_config(path, given["trainer"], given["dataset"])
    for sentence in chosen.told:
        click.echo(f"sftui: {visible(sentence)}", err=True)
    reference = chosen.reference
    return OpenOptions(
        paths=reference.paths,
        recipe=_corrected(_set_up(reference.recipe, given), given),
        base=reference.recipe,
        split=given["split"] or reference.split,
        subset=given["subset"] or reference.subset,
        data_revision=given["data_revision"] or reference.revision,
        row=row,
        debug=given["debug"],
        config=chosen.opened,
        dataset=chosen.dataset,
        notes=chosen.notes,
        **_reading(given),
    )


def _reading(given: Mapping[str, Any]) -> dict[str, Any]:
    """How the file is read, whatever names it."""
    limit = given["row_limit"]
    return {
        "rows_in": given["rows_in"],
        "row_limit": limit * 2**20 if limit is not None else None,
        "env": given["env"],
    }


def _of_version(recipe: Recipe, given: Mapping[str, Any]) -> Recipe:
    """The recipe with the version of transformers that `--env` or `--transformers` names; the latter makes an
    environment where there is none."""
    from sftui.recipe import changed

    if given["env"] is None and given["transformers"] is None:
        return recipe
    if given["env"] is not None and given["transformers"] is not None:
        raise RecipeError("--env and --transformers both say whose ids are shown", fix="give one of them")
    if given["env"] is not None:
        from sftui.tokens.environments import environment_at

        return changed(recipe, "tokenizer.transformers", environment_at(given["env"], "--env").transformers)
    from sftui.cli.envs import make_for
    from sftui.trainers.pins import check_version

    recipe = changed(recipe, "tokenizer.transformers", given["transformers"])
    check_version(recipe)
    make_for(given["transformers"])
    return recipe


def starting_recipe(file: str | None, trainer: str | None) -> Recipe:
    """The recipe of a file, of a trainer's preset, or the default one."""
    if file is not None and trainer is not None:
        raise RecipeError("--recipe and --trainer both name a starting recipe", fix="give one of them")
    if file is not None:
        from sftui.side_files import read_side_file
        from sftui.trainers import load_recipe

        return load_recipe(read_side_file(file, "the recipe", RecipeError), file)
    from sftui.trainers import preset

    return preset(trainer) if trainer else preset()


def _set_up(recipe: Recipe, given: Mapping[str, Any]) -> Recipe:
    from sftui.recipe import changed

    if given["tokenizer"] is not None:
        recipe = changed(recipe, "tokenizer.name", given["tokenizer"])
    if given["tokenizer_revision"] is not None:
        recipe = changed(recipe, "tokenizer.revision", given["tokenizer_revision"])
    recipe = _of_version(recipe, given)
    if given["template"] is not None:
        recipe = changed(recipe, "render.template", template_of(given["template"]))
    if given["data_format"] is not None:
        from sftui.recipe_io import parse_value

        recipe = changed(recipe, "data.format", parse_value("data.format", given["data_format"], recipe))
    if given["fields"]:
        fields = dict(recipe.data.fields)
        fields.update(_pair(text, "--field", "FIELD=COLUMN") for text in given["fields"])
        recipe = changed(recipe, "data.fields", fields)
    return recipe


def _corrected(recipe: Recipe, given: Mapping[str, Any]) -> Recipe:
    from sftui.recipe import changed

    if given["max_length"] is not None:
        recipe = changed(recipe, "length.max", given["max_length"])
    for text in given["knobs"]:
        path, value = _pair(text, "--set", "PATH=VALUE")
        recipe = set_knob(recipe, path, value)
    return recipe


def set_knob(recipe: Recipe, path: str, text: str) -> Recipe:
    """The recipe with one knob as typed; a third part of the path is one entry of a knob that holds several, and `own`
    takes several options of the trainer at once."""
    from sftui.recipe import changed, get
    from sftui.recipe_io import knob_at, parse_mapping, parse_value, parse_yaml, set_knob_to, today

    path = today(path)
    if path == "own":
        for name, value in parse_mapping(text, path).items():
            recipe = set_knob_to(recipe, f"own.{name}", value)
        return recipe
    holder, _, entry = path.rpartition(".")
    if "." in holder and (kind := knob_at(holder, recipe).type) in ("mapping", "names"):
        entered = text if kind == "names" else parse_yaml(f"value: {text}", path).get("value")
        return set_knob_to(recipe, holder, {**get(recipe, holder), entry: entered}, path)
    return changed(recipe, path, parse_value(path, text, recipe))


def template_of(text: str) -> str:
    """What --template means in a recipe: a file that is there, else a built-in name."""
    if text.startswith(("file:", "builtin:")) or text == "tokenizer":
        return text
    if os.path.exists(text) or text.endswith((".jinja", ".j2", ".txt", ".json")) or os.sep in text:
        return f"file:{text}"
    from sftui.templates import builtin_names

    names = builtin_names()
    if text not in names:
        fix = did_you_mean(text, names, f"built-in are {', '.join(names)}; a file needs its path")
        raise RecipeError(f"there is no template `{text}`", fix=fix)
    return f"builtin:{text}"


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
    return name.strip(), value.strip()
