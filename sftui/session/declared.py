"""Every option that says what to open, declared here alone: its type, and its words on the command line and in the
help. Imported for every command, so it loads nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import field
from types import NoneType
from typing import TYPE_CHECKING, Any, TypedDict

from sftui.trainer_names import TRAINERS
from sftui.values import value_class

if TYPE_CHECKING:
    from sftui.recipe import Recipe

USUAL = "Usual options"
FINDINGS = "Findings"
DATA = "Data"
TOKENIZER = "Tokenizer and template"
RECIPE = "Trainer and recipe"
OTHER = "Other"


def option(
    group: str, metavar: str | None, text: str, *names: str, factory: type = NoneType, opens: bool = False, **more: Any
) -> Any:
    """A field that is an option in this group of the help; `names` where they are not `--` and the field's.

    It is what `factory` makes where it is not given. `opens`: `OpenOptions` has it under the same name. `more` is what
    `click.option` takes besides.
    """
    meta = {"words": (group, metavar, text), "names": names, "opens": opens, "click": more}
    return field(default_factory=factory, metadata=meta)


@value_class
class OptionDeclaration:
    """The options, in the order in which help and docs list them. `knobs` are paths of the recipe with values: a text
    is read as on the command line, anything else is set. `row_limit` is in megabytes."""

    tokenizer: str | None = option(
        USUAL, "NAME", "Hub name, folder, tokenizer.json, .gguf or builtin:NAME", "-t", "--tokenizer"
    )
    trainer: str | None = option(
        USUAL,
        "NAME[@VERSION]",
        f"start from a trainer's preset, e.g. trl@1.16: {TRAINERS[0]} (the default), {', '.join(TRAINERS[1:-1])} or"
        f" {TRAINERS[-1]}",
    )
    max_length: int | None = option(USUAL, "N", "length limit in tokens")
    knobs: tuple[tuple[str, Any], ...] = option(
        USUAL,
        "KNOB=VALUE",
        "set one knob of the recipe, e.g. mask.rule=assistant; `sftui knobs` lists them",
        "--set",
        "knobs",
        factory=tuple,
        multiple=True,
    )
    data_format: str | None = option(
        DATA, "FORMAT", "how to read a row: messages, sharegpt, alpaca, text, …; default: detected from the rows"
    )
    fields: Mapping[str, str] = option(
        DATA,
        "FIELD=COLUMN",
        "map an sftui field to a column, e.g. prompt=question",
        "--field",
        "fields",
        factory=dict,
        multiple=True,
    )
    split: str | None = option(DATA, "NAME", "split of a Hub dataset or a saved folder", opens=True)
    subset: str | None = option(DATA, "NAME", "configuration of a Hub dataset", opens=True)
    data_revision: str | None = option(DATA, "REV", "branch, tag or commit of a Hub dataset", opens=True)
    rows_in: str | None = option(DATA, "KEY", "the key that holds the list of rows in a JSON file", opens=True)
    row_limit: int | None = option(DATA, "MB", "longest row to read, in megabytes; default: 16")
    where: str | None = option(
        DATA,
        "EXPR",
        "only rows for which this is true, e.g. 'len(messages) > 4 and trained < 0.2'; see `sftui help where`",
        opens=True,
    )
    apply: tuple[str, ...] = option(
        DATA,
        "NAMES",
        "read the rows with these repairs applied, e.g. trim; the file stays unchanged; see `sftui repair --list`",
        factory=tuple,
        multiple=True,
    )
    edits: str | None = option(
        DATA, "FILE", "MARKS.jsonl from the inspector: read the rows with its edits applied", opens=True
    )
    template: str | None = option(TOKENIZER, "NAME|FILE", "use another chat template: a built-in name or a file")
    tokenizer_revision: str | None = option(TOKENIZER, "REV", "branch, tag or commit of a Hub tokenizer")
    env: str | None = option(
        TOKENIZER,
        "PATH",
        "the Python environment you train in: sftui shows the ids its transformers produces",
        opens=True,
    )
    transformers: str | None = option(
        TOKENIZER,
        "VERSION",
        "show the ids this version produces; sftui makes a small environment for it if none is available",
    )
    recipe_file: str | None = option(RECIPE, "FILE", "a saved recipe", "--recipe", "recipe_file", opens=True)
    config: str | None = option(
        RECIPE, "FILE", "a trainer's config; sftui takes the data, the tokenizer and every setting from it"
    )
    dataset: str | None = option(
        RECIPE,
        "N|NAME",
        "which dataset of the config to open: its number, from 0, or its name; eval: the one it evaluates on",
    )
    serve: str | None = option(
        FINDINGS,
        "FILE|NAME",
        "what you will serve with, to compare prompts: a template file, a tokenizer, a bundled name or a .gguf",
        opens=True,
    )
    debug: bool = option(
        OTHER, None, "show the full traceback when something fails", factory=bool, opens=True, is_flag=True
    )


class Opening(TypedDict, total=False):
    """What `open`, `encode` and `check` take besides the data; each is the option of that name of `sftui` commands.

    `tokenizer`: a Hub name, a folder, `builtin:NAME`, or a loaded tokenizer of transformers. `recipe`: the path of a
    saved recipe, a mapping, or a Recipe. `fields` maps sftui's fields to columns, `set` knobs of the recipe to values.
    """

    tokenizer: Any
    tokenizer_revision: str | None
    trainer: str | None
    recipe: str | os.PathLike[str] | Mapping[str, Any] | Recipe | None
    config: str | os.PathLike[str] | None
    dataset: str | int | None
    max_length: int | None
    template: str | os.PathLike[str] | None
    split: str | None
    subset: str | None
    data_revision: str | None
    env: str | os.PathLike[str] | None
    transformers: str | None
    rows_in: str | None
    row_limit: int | None
    where: str | None
    apply: Sequence[str]
    edits: str | os.PathLike[str] | None
    data_format: str | None
    serve: str | os.PathLike[str] | None
    fields: Mapping[str, str] | None
    set: Mapping[str, Any] | None
