"""Trainer versions as numbers, and which of the known rules a version follows; what each preset's trainer asks of
transformers, tokenizers, datasets, pandas and trl, and which version of them is meant.

The record is the pins.json in a trainer's folder, written by tests/parity/record_pins.py from the metadata of the
trainer's packages; what a package does not ask itself is what those that it brings ask (LLaMA-Factory's pandas comes
of gradio).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from sftui.errors import RecipeError
from sftui.recipe import Preset, Recipe
from sftui.side_files import object_of
from sftui.trainers.declared import folder_of, traits_of
from sftui.values import value_class

if TYPE_CHECKING:
    from sftui.templates import Rendering

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
                f"`{text if len(text) <= 40 else text[:40] + '…'}` is not a version of {trainer}",
                fix=f"use, for example, {trainer}@1.16",
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
    return f"{trainer} {shown} is newer than the rules that sftui has: those of {'.'.join(map(str, top))} are shown"


RUNNING = "running"
"""The value of `tokenizer.transformers` that means the version that sftui itself runs on."""
_RECORD = "pins.json"


@value_class
class Pins:
    """What one release of a trainer asks.

    `package` and `version` name the release that was read. `asks` maps a library to what each package asks of it
    (`{"transformers": {"trl": ">=4.56.2"}}`); `newest` is the newest version of each library that all of them admit
    together, as pip resolved it into an empty environment on the day of the record.
    """

    package: str
    version: str
    newest: Mapping[str, str]
    asks: Mapping[str, Mapping[str, str]]

    def admits(self, library: str, version: str) -> bool:
        """Whether everything that asks something of a library takes this version; True where nothing asks."""
        return all(admits(asked, version) for asked in self.asks.get(library, {}).values())


def pins_of(preset: str) -> Pins | None:
    """The pins of a preset such as `trl@1.16`; None where it has none of its own (hf-trainer, manual-shift, torchtune's
    unreleased 0.7).

    A version between two recorded ones has those of the older, one without a version those of the newest.
    """
    trainer, text = Preset.of(preset)
    known = {parse(version, trainer): pins for version, pins in _record(trainer).items()}
    if not known:
        return None
    wanted = parse(text, trainer) if text else max(known)
    older = [version for version in known if version[: len(wanted)] <= wanted[: len(version)]]
    return known[max(older) if older else min(known)]


def rendering_by(recipe: Recipe) -> Rendering:
    """How chat templates are rendered: as by the transformers that the recipe means."""
    from sftui.templates import rendering_of

    return rendering_of(reference_version(recipe))


def loads_by_transformers(preset: str) -> bool:
    """Whether a trainer's tokenizer is that of transformers; torchtune has tokenizers of its own."""
    pins = pins_of(Preset.of(preset).trainer)
    return pins is None or "transformers" in pins.newest


@cache
def running_version() -> str:
    """The version of transformers that sftui itself runs on; empty where there is none."""
    from sftui.tokens.loading.environments import versions

    return versions().get("transformers", "")


def reference_version(recipe: Recipe) -> str:
    """The version of transformers whose ids and whose rendering a recipe means, as `5.16.1`.

    The one that `tokenizer.transformers` names (`--env` and `--transformers` set it); sftui's own for `running`; else
    the newest that the preset's trainer admits; sftui's own, too, where nothing is pinned (hf-trainer, manual-shift,
    torchtune, which has tokenizers of its own). Whether that version is at hand is another question: see
    `sftui.tokens.loading.environments`.
    """
    named = recipe.tokenizer.transformers
    if named == RUNNING:
        return running_version()
    if named is not None:
        return named
    pins = pins_of(recipe.preset)
    return (pins.newest.get("transformers") if pins is not None else None) or running_version()


def check_version(recipe: Recipe) -> None:
    """RecipeError where `tokenizer.transformers` is neither a version nor `running`."""
    named = recipe.tokenizer.transformers
    if named is None or named == RUNNING:
        return
    try:
        parse(named, "transformers")
    except RecipeError as error:
        raise RecipeError(
            f"tokenizer.transformers cannot be {named!r}", fix="name a version, such as 5.16.1, or running"
        ) from error


def admits(asked: str, version: str) -> bool:
    """Whether a requirement such as `!=4.53.0,<=5.6.0,>=4.55.0` takes a version (PEP 440, releases only)."""
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(asked).contains(".".join(map(str, parse(version, "a library"))))


@cache
def _record(trainer: str) -> dict[str, Pins]:
    """Release → its pins; empty for a trainer of which nothing is recorded."""
    record = object_of(folder_of(trainer) / _RECORD)
    return {
        version: Pins(pins["package"], pins["version"], pins["newest"], pins["asks"])
        for version, pins in record.get("releases", {}).items()
    }
