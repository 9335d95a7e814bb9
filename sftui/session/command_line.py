"""What the inspector has, as a command of `sftui` for a shell: the same data, recipe, repairs, filter and row.

A command is made from the options that set up the same start, and what the recipe in force has besides; the options are
then read as a command line is, and what they do not say is said in words.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, fields, replace
from typing import Any

from sftui.errors import SftuiError, without_secrets
from sftui.recipe import Recipe, diff, get
from sftui.recipe_io import quoted
from sftui.session.arguments import MEGABYTE, Arguments, set_knob
from sftui.session.configs import EVALUATION
from sftui.session.declared import OptionDeclaration
from sftui.session.options import OpenOptions, file_next_to, is_spooled
from sftui.text import many
from sftui.trainers.outside import OPTION, VARIABLE
from sftui.values import value_class

OWN_OPTIONS = {"tokenizer.name": "tokenizer", "tokenizer.revision": "tokenizer_revision", "length.max": "max_length"}
"""Knobs that have an option of their own."""
COMMANDS = ("check", "encode", "repair", "show", "waste")
"""What else than the inspector may be offered."""
AS_OPENED = ("split", "subset", "data_revision", "rows_in", "env", "serve")


@value_class
class InForce:
    """What the inspector has: `repairs` by their names; `where` is the expression that the list is filtered by, `marks`
    the file of the review marks (None: there is none), `counts` how many rows have which mark, `view` what is open, and
    `gaps` what else no option says."""

    options: OpenOptions
    recipe: Recipe
    repairs: tuple[str, ...] = ()
    row: int = 0
    where: str = ""
    marks: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    view: str = ""
    gaps: tuple[str, ...] = ()


@value_class
class ShellCommand:
    """The words of a command behind `sftui`, and what of the inspector they do not say, a clause each."""

    words: tuple[str, ...]
    gaps: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What it is called; the inspector has no name of its own."""
        return self.words[0] if self.words[0] in COMMANDS else "sftui"

    @property
    def text(self) -> str:
        """As a shell reads it."""
        return shlex.join(("sftui", *self.words))


# — the options —


def opening_of(now: InForce) -> tuple[Arguments, tuple[str, ...]]:
    """The options that open the same under the same recipe and repairs, and what no option says; SftuiError where what
    was opened is no longer there."""
    options, gaps = now.options, list[str]()
    start = _start(options, now.recipe)
    if start is None:
        start = Arguments(data=_data(options.paths), trainer=now.recipe.preset)
        begun = options.config.path if options.config is not None else options.recipe_file
        if begun is not None:
            gaps.append(f"the config {begun}, which cannot be combined with {now.recipe.preset}")
    made = _read(start)
    carried = {name: getattr(options, name) for name in AS_OPENED if getattr(options, name) != getattr(made, name)}
    if options.row_limit != made.row_limit and options.row_limit is not None:
        carried["row_limit"] = options.row_limit // MEGABYTE
    start = replace(start, **carried)
    made = _read(start) if carried else made
    named: dict[str, Any] = {}
    knobs: list[tuple[str, Any]] = []
    for change in diff(made.recipe, now.recipe):
        path, value = change.path, change.after
        if path in OWN_OPTIONS and value is not None:
            named[OWN_OPTIONS[path]] = value
        elif path == "render.template" and value.startswith(("file:", "builtin:")):
            named["template"] = value
        else:
            knobs.append((path, value))
    from sftui.repairs.edits import is_edit

    edited = [name for name in now.repairs if is_edit(name)]
    if edited and now.marks is None:
        gaps.append(f"{many(len(edited), 'edit')}: edits of piped rows are not saved in a file")
    apply = tuple(name for name in now.repairs if not is_edit(name))
    found = replace(start, **named, knobs=tuple(knobs), apply=apply)
    return replace(found, edits=now.marks if edited else None, waivers=now.recipe.waivers or None), tuple(gaps)


def _start(options: OpenOptions, recipe: Recipe) -> Arguments | None:
    """The options that set up what the recipe was changed from; None where they set up another trainer's."""
    config = options.config
    if config is not None:
        kind, number = EVALUATION if config.evaluates else "", config.chosen
        dataset = ":".join(filter(None, (kind, str(number) if number else ""))) or None
        starts = [Arguments(data=(config.path,), dataset=dataset, trainer=name) for name in (None, recipe.preset)]
    elif options.recipe_file is not None:
        starts = [Arguments(data=_data(options.paths), recipe_file=options.recipe_file)]
    else:
        starts = [Arguments(data=_data(options.paths), trainer=recipe.preset)]
    for start in starts:
        try:
            if _read(start).recipe.preset == recipe.preset:
                return start
        except SftuiError:
            continue
    return None


def _read(arguments: Arguments) -> OpenOptions:
    return arguments.options()[0]


def _data(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple("-" if is_spooled(path) else path for path in paths)


# — in words —


def words_of(arguments: Arguments) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of a command line, and what they do not say of these options."""
    words, gaps = list[str](), list[str]()
    for word in arguments.data:
        words.append(f"./{word}" if word.startswith("-") and word != "-" else word)
    for one in fields(OptionDeclaration):
        option = next(iter(one.metadata["names"]), f"--{one.name.replace('_', '-')}")
        value = getattr(arguments, one.name)
        for text in _texts((",".join(value),) if one.name == "apply" and value else value):
            words += [f"{option}={text}"] if text.startswith("-") else [option, text]
    if packages := os.environ.get(VARIABLE):
        words += [OPTION, packages]
    shown = tuple(map(without_secrets, words))
    gaps += ["the password in a URL: fill it in"] if shown != tuple(words) else []
    gaps += ["the piped rows: pipe them in again"] if "-" in arguments.data else []
    if arguments.waivers:
        gaps.append(f"{many(len(arguments.waivers), 'waiver')}: no option sets one; x writes them to a recipe")
    return shown, tuple(gaps)


def _texts(value: Any) -> Iterator[str]:
    """What an option says, as often as it is given."""
    if isinstance(value, Mapping):
        yield from (f"{key}={text}" for key, text in value.items())
    elif isinstance(value, tuple):
        yield from (one if isinstance(one, str) else f"{one[0]}={one[1]}" for one in value)
    elif value is not None and value is not False:
        yield str(value)


def typed(arguments: Arguments, recipe: Recipe) -> tuple[Arguments, tuple[str, ...]]:
    """The same with its knobs as they are typed, without those that cannot be, which are named."""
    knobs, gaps = list[tuple[str, Any]](), list[str]()
    for path, value in arguments.knobs:
        text = quoted(value) if isinstance(value, str) else json.dumps(_plain(value), ensure_ascii=False, default=str)
        try:
            said = get(set_knob(recipe, path, text), path) == value
        except SftuiError:
            said = False
        if said:
            knobs.append((path, text))
        else:
            gaps.append(f"{path}: its value cannot be typed; x writes it to a recipe")
    return replace(arguments, knobs=tuple(knobs)), tuple(gaps)


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else list(value) if isinstance(value, tuple) else value


# — the commands —


def commands_of(now: InForce) -> tuple[ShellCommand, ...]:
    """The commands that do in a shell what the inspector has; first what belongs to what is open."""
    from sftui.repairs.edits import is_edit
    from sftui.repairs.run import DROPPING

    arguments, gaps = opening_of(now)
    arguments, untyped = typed(arguments, now.recipe)
    opened, unsaid = words_of(arguments)
    without, _ = words_of(replace(arguments, apply=(), edits=None))
    chosen = ("--where", now.where) if now.where else ()
    gaps = (*now.gaps, *gaps, *untyped, *unsaid)
    data = now.options.paths[0]
    row = ("--row", str(now.row))
    seen = (f"the open view ({now.view})",) if now.view else ()
    found = {
        "show": ShellCommand(("show", *opened, *row), gaps),
        "check": ShellCommand(("check", *opened, *chosen), gaps),
        "encode": ShellCommand(("encode", *opened, *chosen, "-o", file_next_to(data, "encoded")), gaps),
        "": ShellCommand((*opened, *chosen, *row), (*gaps, *seen)),
    }
    if now.view == "waste":
        found["waste"] = ShellCommand(("waste", *opened, *chosen), gaps)
    names = [name for name in now.repairs if not is_edit(name)]
    apply = [name for name in names if not name.startswith(DROPPING)]
    drop = [name.removeprefix(DROPPING) for name in names if name.startswith(DROPPING)]
    marked = now.marks is not None and (arguments.edits is not None or "drop" in now.counts)
    if apply or drop or marked:
        repairs = [("--apply", ",".join(apply)), ("--drop", ",".join(drop)), ("--marks", now.marks if marked else "")]
        words = [word for option, value in repairs if value for word in (option, value)]
        made = ("repair", *without, *chosen, *words, "-o", file_next_to(data, "repaired"))
        found = {"repair": ShellCommand(made, gaps), **found}
    first = BY_VIEW.get(now.view) or ("repair" if "repair" in found else "check" if now.where else "show")
    return tuple(found[name] for name in sorted(found, key=lambda name: name != first))


BY_VIEW: Mapping[str, str] = {
    "findings": "check",
    "figures": "check",
    "batch": "encode",
    "packs": "encode",
    "waste": "waste",
}
"""The command that belongs to a view."""
