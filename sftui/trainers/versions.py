"""Trainer versions as numbers, and which of the known rules a version follows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from sftui.errors import RecipeError
from sftui.recipe import Recipe
from sftui.trainers.declared import traits_of

Version = tuple[int, ...]
MOST_DIGITS = 9


@lru_cache(maxsize=64)
def parse(text: str, trainer: str) -> Version:
    """`1.16.0` → (1, 16, 0); RecipeError for anything else. A pre-release tail is left off."""
    numbers: list[int] = []
    for part in text.lstrip("v").split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))] if part else ""
        if not digits or len(digits) > MOST_DIGITS:
            if numbers and part[:3] in ("dev", "rc", "pos"):
                break
            raise RecipeError(
                f"`{text if len(text) <= 40 else text[:40] + '…'}` is no version of {trainer}",
                fix=f"say for example {trainer}@1.16",
            )
        numbers.append(int(digits))
        if digits != part:
            break
    return tuple(numbers)


def at_least(version: Version, floor: Version) -> bool:
    """Whether a version is `floor` or newer; missing numbers count as the floor's own.

    `1.16` is taken as some 1.16.x, so it is at least 1.16.0.
    """
    return version[: len(floor)] >= floor[: len(version)]


def newest(known: Sequence[str], trainer: str) -> Version:
    """The newest version whose rules are known."""
    return max(parse(text, trainer) for text in known)


def of(recipe: Recipe) -> Version:
    """The version of its trainer that a recipe names; the newest known where it names none."""
    if recipe.version:
        return parse(recipe.version, recipe.trainer)
    return newest(traits_of(recipe.trainer).versions, recipe.trainer)


def since(recipe: Recipe, first: Version) -> bool:
    """Whether a recipe follows the rules that its trainer has from version `first` on."""
    return at_least(of(recipe), first)


def unknown_newer(version: Version, known: Sequence[str], trainer: str) -> str | None:
    """A sentence for a version newer than the newest rules known, else None."""
    top = newest(known, trainer)
    if version[: len(top)] <= top[: len(version)]:
        return None
    shown = ".".join(map(str, version))
    return f"{trainer} {shown} is newer than the rules sftui knows: those of {'.'.join(map(str, top))} are shown"
