"""Which version of transformers an export needs, told only where another one that the trainer runs with may not do."""

from __future__ import annotations

from sftui.recipe import Recipe
from sftui.tokens.facts import PROVISIONAL, TokenizerFacts
from sftui.tokens.loading import four
from sftui.tokens.loading.locate import Location, locate
from sftui.tokens.loading.releases import may_differ, recorded_versions
from sftui.trainers import traits_of
from sftui.trainers.versions import loads_by_transformers, pins_of, reference_version, running_version


def needed_version(recipe: Recipe, facts: TokenizerFacts | None) -> tuple[str, str] | None:
    """The version whose ids a recipe means and a note on it; None where every version that the trainer admits does.

    Told from the files of the tokenizer and from what its proof measured. A version that the trainer does not admit is
    no version to install (that it is not admitted is reported with the tokenizer).
    """
    pins = pins_of(recipe.preset)
    if facts is None or recipe.tokenizer.name is None or (pins is None and not traits_of(recipe.preset).by_hand):
        return None
    if not loads_by_transformers(recipe.preset):
        return None
    meant, shown = reference_version(recipe), facts.transformers or running_version()
    if pins is not None and not pins.admits("transformers", meant):
        return None
    known = recorded_versions()
    if facts.state != PROVISIONAL:  # what 4 makes of it is known by the proof alone
        known = (four.version(), *known)
    place = locate(recipe.tokenizer.name, recipe.tokenizer.revision, recipe.tokenizer.type or "")
    reasons = {
        version: reason
        for version in reversed(known)
        if pins is None or pins.admits("transformers", version)
        if (reason := _between(place, version, meant, shown, facts)) is not None
    }
    if not reasons:
        return None
    first = next(iter(reasons))
    others = " and ".join(", ".join(reasons).rsplit(", ", 1))
    return meant, (
        f"install transformers=={meant}, which produces these ids: {recipe.preset} also runs with {others}, where this"
        f" tokenizer may produce different ids ({meant} and {first}: {reasons[first]})"
    )


def version_notes(recipe: Recipe, facts: TokenizerFacts | None) -> tuple[str, ...]:
    """The note of `needed_version`, if there is one."""
    found = needed_version(recipe, facts)
    return () if found is None else found[1:]


def _between(place: Location, version: str, meant: str, shown: str, facts: TokenizerFacts) -> str | None:
    """Why two versions may give other ids, by way of the one that was measured: it is as both, or as one of them."""
    if version == meant:
        return None
    a, b = (may_differ(place, one, shown, facts.elsewhere) for one in (version, meant))
    if a is None and b is None:
        return None
    # What was measured against the shown version holds against one that is as it; what files tell is of two alone.
    one, other = (meant, version) if a is None else (version, meant)
    return may_differ(place, one, other, facts.elsewhere if a is None or b is None else None)
