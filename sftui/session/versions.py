"""Whose tokenization a recipe means, and which Python at hand can give it.

A Python is named by `--env`, found among those that `--transformers` made, or is the user's active environment or the
one of their settings; never one that the data's or the config's folder brings, since to use it is to run it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sftui.errors import SftuiError, TokenizerError
from sftui.recipe import Recipe
from sftui.trainers.versions import (
    RUNNING,
    admits,
    check_version,
    loads_by_transformers,
    pins_of,
    reference_version,
    running_version,
)
from sftui.values import value_class

if TYPE_CHECKING:
    from sftui.session.options import OpenOptions
    from sftui.tokens import LoadedTokenizer, TokenizerFacts
    from sftui.tokens.loading.environments import Environment
    from sftui.tokens.loading.locate import Location

ACTIVE = ("VIRTUAL_ENV", "CONDA_PREFIX")


@value_class
class TransformersNeed:
    """The version of transformers that a recipe means, and the environment that has it (None: none is at hand).

    `refused` says which environment was not used, and why.
    """

    version: str
    environment: Environment | None
    refused: str = ""


def wanted_version(recipe: Recipe, options: OpenOptions) -> TransformersNeed:
    """The version and the environment for a recipe; SftuiError where `--env` names none that can be used."""
    from sftui.tokens.loading.environments import environment_at, inside_any, own_environment

    check_version(recipe)
    version = reference_version(recipe)
    if options.env is not None:
        named = environment_at(options.env, "--env")
        if named.transformers == version:
            return TransformersNeed(version, named)
    if version == running_version():
        return TransformersNeed(version, own_environment())
    from sftui.tokens.loading.made import made_environment

    made = made_environment(version)
    if made is not None:
        return TransformersNeed(version, made)
    refused = ""
    folders = brought_folders(options)
    for origin, path in _at_hand():
        if inside_any(path, folders):
            why = "is in the folder of the data or its config, and sftui never runs code from there"
            refused = refused or f"{origin} {why}"
            continue
        try:
            found = environment_at(path, origin)
        except SftuiError:
            continue  # an active environment without transformers is nothing to complain about
        if found.transformers == version:
            return TransformersNeed(version, found)
    return TransformersNeed(version, None, refused)


def brought_folders(options: OpenOptions) -> tuple[Path, ...]:
    """The folders that the data, the config and the recipe lie in: what stands there came with them."""
    names = (*options.paths, options.config.path if options.config is not None else None, options.recipe_file)
    paths = [Path(os.path.expanduser(name)) for name in names if name]
    folders = (path if path.is_dir() else path.parent for path in paths)
    return tuple(dict.fromkeys(folder for folder in folders if folder.is_dir()))


def tokenizer_key(recipe: Recipe) -> tuple[str | None, str | None, str | None, str]:
    """What decides which tokenizer is loaded: two recipes with equal keys share it."""
    named = recipe.tokenizer
    return named.name, named.revision, named.type, reference_version(recipe)


def named(recipe: Recipe) -> str:
    """The name of the recipe's tokenizer; TokenizerError where it has none."""
    if recipe.tokenizer.name is None:
        raise TokenizerError(
            "no tokenizer was given", fix="give one with -t NAME (a Hub name, a folder or builtin:chatml)"
        )
    return recipe.tokenizer.name


def load(recipe: Recipe, options: OpenOptions, mode: str = "proven") -> LoadedTokenizer:
    """The recipe's tokenizer as the transformers that it means loads it, there or as it is recorded to do.

    TokenizerError, also where it is not known which ids that makes; SftuiError where `--env` names nothing that can be
    used.
    """
    from sftui.tokens import load_tokenizer
    from sftui.tokens.facts import PROVISIONAL
    from sftui.tokens.loaded import LoadedTokenizer

    name, revision, loader = named(recipe), recipe.tokenizer.revision, recipe.tokenizer.type or ""
    wanted = wanted_version(recipe, options)
    kwargs: dict[str, Any] = {"revision": revision, "environment": wanted.environment}
    try:
        loaded = load_tokenizer(name, mode=mode, loader=loader, **kwargs)
        if (reason := _differs(recipe, wanted, loaded.facts)) is not None and loaded.facts.state == PROVISIONAL:
            loaded = load_tokenizer(name, loader=loader, **kwargs)  # its proof measures whether they do
            reason = _differs(recipe, wanted, loaded.facts)
        if reason is not None:
            loaded = _as_recorded(recipe, options, wanted, loaded, reason)
    except TokenizerError as error:
        if wanted.environment is None or wanted.environment.own:
            raise
        why = f"transformers {wanted.version} of {wanted.environment.python} rejects it: {error.why or error.what}"
        raise TokenizerError(error.what, where=error.where, why=why, fix=error.fix) from error
    notes = [note for note in (_kept(recipe), _not_admitted(recipe, wanted.version)) if note]
    return LoadedTokenizer(loaded.facts.noting(*notes), loaded.engine) if notes else loaded


def proven_on(recipe: Recipe, options: OpenOptions, loaded: LoadedTokenizer, texts: Sequence[str]) -> LoadedTokenizer:
    """A tokenizer of `load` compared with AutoTokenizer on texts of the user's rows (`tokens.loading.rows.prove_on`);
    SftuiError where `--env` names nothing that can be used."""
    from sftui.tokens.loading.locate import locate
    from sftui.tokens.loading.rows import prove_on

    if not texts or not loaded.facts.backend or not loads_by_transformers(recipe.preset):
        return loaded
    place = locate(recipe.tokenizer.name or "", recipe.tokenizer.revision, loaded_by(recipe, loaded.facts))
    return prove_on(loaded, place, texts, wanted_version(recipe, options).environment)


def _differs(recipe: Recipe, wanted: TransformersNeed, facts: TokenizerFacts) -> str | None:
    """Why the ids of the running release may not be those that are meant, where no environment has that version."""
    if wanted.environment is not None:
        return None
    from sftui.tokens.facts import PROVISIONAL
    from sftui.tokens.loading.releases import is_redone, may_differ

    if facts.state == PROVISIONAL and is_redone(wanted.version):
        return None  # the proof, which is on its way, knows
    return may_differ(_place(recipe), wanted.version, running_version(), facts.elsewhere)


def _as_recorded(
    recipe: Recipe, options: OpenOptions, wanted: TransformersNeed, loaded: LoadedTokenizer, reason: str
) -> LoadedTokenizer:
    """The tokenizer as the version that is meant is recorded to load it: by another class, which the running release
    has too, or as `four` redoes transformers 4. TokenizerError where that is not known."""
    from sftui.tokens import load_tokenizer
    from sftui.tokens.loaded import LoadedTokenizer
    from sftui.tokens.loading.four import redone
    from sftui.tokens.loading.raw import as_redone
    from sftui.tokens.loading.releases import class_of, is_recorded, is_redone

    place, version = _place(recipe), wanted.version
    kind = class_of(place, version, running_version())
    if kind is not None:
        made = load_tokenizer(place.name, revision=place.revision, loader=kind)
        facts = replace(made.facts, transformers=version, loader=kind)
        own = f"which {running_version()}, the version sftui runs with, would not choose by itself"
        note = f"{LIKE.format(version=version)}: with {kind}, {own}"
        return LoadedTokenizer(facts.noting(note), made.engine)
    if is_redone(version) and not place.loader and (four := redone(place)) is not None:
        note = f"{LIKE.format(version=version)}: sftui reimplements its classes from their source"
        return as_redone(replace(loaded.facts, transformers=version).noting(note), place, four)
    if not is_recorded(running_version()):
        who = "the recipe names" if recipe.tokenizer.transformers is not None else f"{recipe.preset} brings"
        note = f"{NOT_VERIFIED.format(version=version)}: {who} it, but those of {running_version()} are shown; {reason}"
        return LoadedTokenizer(loaded.facts.noting(note), loaded.engine)
    who = "which the recipe names" if recipe.tokenizer.transformers is not None else f"which {recipe.preset} brings"
    raise TokenizerError(
        f"the ids under transformers {version}, {who}, are not known",
        where=place.name,
        why=reason + (f"; {wanted.refused}" if wanted.refused else ""),
        fix=f"--transformers {version} installs it, or --env PATH uses an environment that has it; --set"
        f" tokenizer.transformers=running uses those of {running_version()}, which may differ",
    )


def _place(recipe: Recipe) -> Location:
    from sftui.tokens.loading.locate import locate

    return locate(named(recipe), recipe.tokenizer.revision, recipe.tokenizer.type or "")


LIKE = "the ids are those of transformers {version}, loaded as sftui recorded it"


def loaded_by(recipe: Recipe, facts: TokenizerFacts) -> str:
    """The class by which a tokenizer was loaded, where the recipe names one or another release takes it; empty where
    AutoTokenizer chose."""
    return facts.loader or recipe.tokenizer.type or ""


NOT_VERIFIED = "ids under transformers {version} are not verified"


def _kept(recipe: Recipe) -> str:
    """What a recipe that keeps to the running version says, where its trainer brings another one."""
    pins = pins_of(recipe.preset)
    brought = pins.newest.get("transformers") if pins is not None else None
    if recipe.tokenizer.transformers != RUNNING or brought in (None, running_version()):
        return ""
    return (
        f"the ids are those of transformers {running_version()}, the version sftui is running with: this recipe was"
        " saved before"
        f" recipes named a version; {recipe.preset} implies {brought}: --transformers {brought} shows its ids"
    )


def _not_admitted(recipe: Recipe, version: str) -> str:
    """What is said of a version that is requested and that the preset's trainer does not take."""
    pins = pins_of(recipe.preset)
    if recipe.tokenizer.transformers in (None, RUNNING) or pins is None or pins.admits("transformers", version):
        return ""
    ranges = ", ".join(
        f"{who} asks {what}" for who, what in pins.asks["transformers"].items() if not admits(what, version)
    )
    return f"{NOT_ADMITTED} {version}: {ranges}"


NOT_ADMITTED = "the trainer does not run with transformers"


def _at_hand() -> Iterator[tuple[str, Path]]:
    """The user's active environment and the one of their settings."""
    for variable in ACTIVE:
        if os.environ.get(variable):
            yield f"${variable}", Path(os.environ[variable])
    from sftui.settings import load_settings

    named = load_settings().environment
    if named is not None:
        yield "settings.yaml", Path(named)


def version_words(facts: TokenizerFacts) -> str:
    """Whose ids are shown, in a few words, where they are not those of the version that runs sftui; else empty."""
    for note in facts.notes:
        if note.startswith(NOT_VERIFIED.partition("{")[0]):
            return note.partition(":")[0]
    other = facts.transformers not in ("", running_version())
    return f"ids of transformers {facts.transformers}" if other else ""


def version_short(words: str) -> str:
    """What `version_words` says, for a status line."""
    return words.replace("ids under transformers ", "").replace(" are not", " not").replace("transformers ", "")


def version_notes(facts: TokenizerFacts) -> tuple[str, ...]:
    """The notes on the tokenizer that say whose ids are shown, as every command prints them once."""
    begins = (NOT_VERIFIED.partition("{")[0], "the ids are those of transformers", NOT_ADMITTED)
    return tuple(note for note in facts.notes if note.startswith(begins))
