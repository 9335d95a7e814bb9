"""The three functions of the package: what a call asks for, as open data."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, overload

from sftui.api.dataset import EncodedTable, OpenDataset
from sftui.api.report import Report, limits_of
from sftui.api.row import PreparedRow
from sftui.errors import RecipeError, SftuiError
from sftui.nearest import did_you_mean
from sftui.recipe import Recipe, changed
from sftui.recipe_io import from_mapping, quoted
from sftui.session.arguments import Arguments, codes_of
from sftui.session.declared import Opening
from sftui.session.facets import matching
from sftui.session.opened import OpenData, source_spec, stored
from sftui.session.ready import Ready, open_data, opened_from, prove_rows, row_texts, tokenized, under, with_tokenizer
from sftui.sources.memory import is_row, source_in_memory
from sftui.tokens.loading.made import make
from sftui.trainers import preset
from sftui.trainers.versions import RUNNING

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from sftui.exports.report_model import AuditReport
    from sftui.tokens.loading.given import LocalTokenizer


def open(data: Any = None, **opening: Unpack[Opening]) -> OpenDataset:  # noqa: A001 - it is sftui.open
    """Open data with its tokenizer under a trainer's recipe, as the commands do; to be closed, or used in a `with`.

    `data`: a path (file, folder, glob), several, the name of a Hub dataset, a trainer's config, or rows in memory:
    dicts, a `datasets.Dataset`, an Arrow table. It is looked through for what decides how its rows are read.
    Options, each as on the command line: tokenizer (its name, or a loaded one), tokenizer_revision, trainer, recipe,
    config, dataset, max_length, template, split, subset, data_revision, env, transformers, rows_in, row_limit,
    data_format, where, apply, edits, serve, fields, set. SftuiError.
    """
    ready, notes, given = prepared(data, opening)
    try:
        return OpenDataset(matching(ready), notes, given)
    except BaseException:
        ready.close()
        raise


def prepared(data: Any, opening: Opening) -> tuple[Ready, tuple[str, ...], LocalTokenizer | None]:
    """The session that `open` opens, what is to be known of it, and the tokenizer where a loaded one is given."""
    paths, rows = _data_of(data)
    request, given = _request(paths, opening)
    if rows is not None and request.config is not None:
        raise RecipeError("both config and rows name data", fix="use one of them")
    if rows is None and not paths and request.config is None:
        raise SftuiError("no data was given", fix="give a path, a Hub dataset, rows, or config=")
    options, notes = request.options(make=make)
    if rows is None:
        opened = open_data(options)
    else:
        opened = opened_from(stored(options, source_in_memory(rows, source_spec(options))))
    try:
        opened.accepted(unread=True)
        ready = (prove_rows(tokenized(opened)) if given is None else _with_given(opened, given)).ready()
    except BaseException:
        opened.close()
        raise
    return ready, notes, given


@overload
def encode(
    data: Mapping[str, Any], *, explain: bool = False, unpacked: bool = False, **opening: Unpack[Opening]
) -> PreparedRow: ...
@overload
def encode(
    data: Any = None, *, explain: bool = False, unpacked: bool = False, **opening: Unpack[Opening]
) -> EncodedTable: ...
def encode(
    data: Any = None, *, explain: bool = False, unpacked: bool = False, **opening: Unpack[Opening]
) -> PreparedRow | EncodedTable:
    """What the trainer would receive: of one row (a dict) that row, of a dataset a table that is made as it is read.

    Everything is opened anew for each call: for row after row open the data once, or encode a list. SftuiError.
    """
    if is_row(data):
        with open([data], **opening) as opened:
            return opened[0]
    return open(data, **opening).encode(explain=explain, unpacked=unpacked)


def check(
    data: Any = None,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    max_rows: int | None = None,
    sample: int | None = None,
    evaluation: str | os.PathLike[str] | None = None,
    jobs: int = 1,
    near_duplicates: float | None = None,
    max_rate: Mapping[str, float | str] | None = None,
    fix: str | os.PathLike[str] | None = None,
    drop: Sequence[str] = (),
    overwrite: bool = False,
    **opening: Unpack[Opening],
) -> Report:
    """What is wrong in the set-up, the dataset and its rows, with the figures; see `OpenDataset.check`. SftuiError.

    `fix` is a folder: what was tried and helps is put in force there, as new data and a new config, and checked again
    (`Report.fix`, `Report.after`). `drop` are codes and reasons of rows to leave out then.
    """
    from sftui.audit.found import Filter

    wanted, limits = Filter(codes_of(select, "select"), codes_of(ignore, "ignore")), limits_of(max_rate)
    work = (max_rows, sample, evaluation, jobs, near_duplicates)
    with open(data, **opening) as opened:
        found = opened._checked(wanted, *work)
        if fix is None:
            return Report(found, limits)
        from sftui.api.fixing import fixed

        def again(written: Any, more: Mapping[str, Any]) -> AuditReport:
            with open(written, **{**opening, **more}) as other:
                return other._checked(wanted, *work)

        with opened._using() as ready:
            named = opened._given is None
            mended = fixed(ready, found, os.fspath(fix), drop, overwrite, named, again)
            return Report(replace(found, fix=mended), limits)


def _data_of(data: Any) -> tuple[tuple[str, ...], Any]:
    """The paths that are named, or the rows that are given (None: none are)."""
    if data is None:
        return (), None
    if isinstance(data, (str, os.PathLike)):
        return (os.fspath(data),), None
    if isinstance(data, (list, tuple)) and data and all(isinstance(one, (str, os.PathLike)) for one in data):
        return tuple(os.fspath(one) for one in data), None
    return (), data


def _request(paths: tuple[str, ...], opening: Opening) -> tuple[Arguments, LocalTokenizer | None]:
    """The call in the words of `Arguments`; RecipeError for what it does not know, TokenizerError for no tokenizer."""
    for name in opening:
        if name not in Opening.__annotations__:
            fix = did_you_mean(name, Opening.__annotations__, "see help(sftui.open)")
            raise RecipeError(f"there is no option {name}=", fix=fix)
    tokenizer, recipe = opening.get("tokenizer"), opening.get("recipe")
    given: LocalTokenizer | None = None
    more: dict[str, Any] = {}
    if tokenizer is not None and not isinstance(tokenizer, (str, os.PathLike)):
        from sftui.tokens.loading.given import LocalTokenizer

        for name in ("env", "transformers", "tokenizer_revision"):
            if opening.get(name) is not None:
                why = "a loaded tokenizer is used as it is, with the transformers that loaded it"
                raise RecipeError(f"{name}= sets how the tokenizer is loaded", why=why, fix="give its name instead")
        given, tokenizer = LocalTokenizer(tokenizer), None
    if isinstance(recipe, (str, os.PathLike)):
        more["recipe_file"] = os.fspath(recipe)
    elif recipe is not None:
        more["recipe"] = recipe if isinstance(recipe, Recipe) else from_mapping(recipe, "recipe=", preset)
    same = {field.name for field in fields(Arguments)} - {"data", "knobs", "debug", "fields", "recipe", "recipe_file"}
    words: dict[str, Any] = {name: value for name, value in opening.items() if name in same and value is not None}
    words.update((name, os.fspath(value)) for name, value in words.items() if isinstance(value, os.PathLike))
    if "dataset" in words:
        words["dataset"] = str(words["dataset"])
    made = Arguments(
        data=paths,
        **{**words, "tokenizer": None if tokenizer is None else os.fspath(tokenizer)},
        **more,
        fields=dict(opening.get("fields") or {}),
        knobs=tuple((path, _as_typed(value)) for path, value in (opening.get("set") or {}).items()),
    )
    return made, given


def _as_typed(value: Any) -> Any:
    """A knob's value; a text that a command line would take otherwise, as it has to be typed there."""
    text = isinstance(value, str) and (value != value.strip() or value[:1] in ("'", '"'))
    return quoted(value) if text and value.strip() else value


def _with_given(opened: OpenData, given: LocalTokenizer) -> OpenData:
    """The data with a tokenizer that was given, held against the first rows."""
    recipe = changed(changed(opened.recipe, "tokenizer.name", None), "tokenizer.transformers", RUNNING)
    loaded = given.load()
    ready = with_tokenizer(under(opened, recipe), loaded)
    proven = given.proven_on(loaded, row_texts(ready))
    return ready if proven is loaded else with_tokenizer(ready, proven)
