"""Trainers that other packages bring, loaded only where the user enabled the package: loading one runs its code.

A package declares them as entry points of the group `sftui.trainers`, whose names are the trainers' and whose values
their `Traits`, as in `acme = "acme_sftui:TRAITS"`. It is enabled by `--trainers-from PACKAGE`, which sets the
environment variable SFTUI_TRAINERS_FROM for this process and those it starts, or by `trainers_from` in the user's
settings. Packages that are installed and not enabled are looked at by their metadata alone, to say so.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from sftui.errors import SftuiError
from sftui.trainers.traits import Traits

GROUP = "sftui.trainers"
OPTION = "--trainers-from"
VARIABLE = "SFTUI_TRAINERS_FROM"
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Outside:
    """A trainer of another package: what it declares, the folder of its code, and which release brings it."""

    traits: Traits
    folder: Path
    package: str
    version: str


def enable(packages: Sequence[str]) -> None:
    """Enable packages beside those of the settings, here and in every process started from now on; SftuiError where
    one brings nothing that can be loaded."""
    os.environ[VARIABLE] = ",".join(packages)
    outside_trainers.cache_clear()
    outside_trainers()


@cache
def outside_trainers() -> Mapping[str, Outside]:
    """The trainers of the enabled packages by name; SftuiError for a package that is missing, broken, or brings a name
    that is taken."""
    from sftui.trainer_names import TRAINERS

    found: dict[str, Outside] = {}
    for package, origin in _enabled().items():
        for outside in _brought(package, origin):
            name = outside.traits.name
            taken = "sftui itself" if name in TRAINERS else found[name].package if name in found else ""
            if taken:
                raise _refused(package, origin, f"it provides a trainer `{name}`, and so does {taken}")
            found[name] = outside
    return found


def not_enabled(name: str) -> str:
    """What enables the installed package that brings a trainer of that name; empty where none does. Runs no code."""

    for point in metadata.entry_points(group=GROUP):
        if point.name == name and point.dist is not None:
            return f"the package {point.dist.name} provides it; {OPTION} {point.dist.name} runs its code"
    return ""


def load_class(traits: Traits, kind: type) -> Any:
    """The class of an outside trainer, which is one of `kind`; SftuiError where its package has none that can be
    loaded."""
    package = outside_trainers()[traits.name].package
    module, _, name = traits.home.partition(":")
    try:
        found = getattr(__import__(module, fromlist=[name]), name)
    except Exception as error:
        raise _refused(package, "", f"{traits.home} cannot be loaded: {_reason(error)}") from error
    if not (isinstance(found, type) and issubclass(found, kind) and getattr(found, "traits", None) == traits):
        raise _refused(package, "", f"{traits.home} is not a Trainer with the `traits` that it declares")
    return found


def enabled() -> tuple[str, ...]:
    """The packages whose trainers the user enabled."""
    return tuple(_enabled())


def _enabled() -> dict[str, str]:
    """The packages that the user enabled, and where that is said."""
    from sftui.settings import load_settings

    settings = load_settings()
    found = dict.fromkeys(settings.trainers_from, f"trainers_from in {settings.file}")
    named = (name.strip() for name in os.environ.get(VARIABLE, "").split(","))
    return {**found, **dict.fromkeys(filter(None, named), OPTION)}


def _brought(package: str, origin: str) -> list[Outside]:
    """The trainers of one package, loaded."""

    try:
        distribution = metadata.distribution(package)
    except (metadata.PackageNotFoundError, ValueError) as error:
        raise _refused(package, origin, f"no such package is installed for {sys.executable}", "install it there") from (
            error
        )
    points = sorted(distribution.entry_points.select(group=GROUP), key=lambda point: point.name)
    if not points:
        raise _refused(package, origin, f"it has no entry point in the group {GROUP}")
    found = []
    for point in points:
        try:
            traits = point.load()
        except Exception as error:
            raise _refused(package, origin, f"{point.value} cannot be loaded: {_reason(error)}") from error
        if not isinstance(traits, Traits):
            raise _refused(package, origin, f"{point.value} is not an sftui.trainers.traits.Traits")
        if traits.name != point.name or not _NAME.fullmatch(traits.name):
            reason = f"its entry point `{point.name}` declares the name `{traits.name}`"
            raise _refused(
                package, origin, f"{reason}; both must be the same, of lowercase letters, digits and hyphens"
            )
        file = getattr(sys.modules[point.module], "__file__", None)
        folder = Path(file).parent if file else Path(os.devnull)
        found.append(Outside(traits, folder, distribution.name, distribution.version))
    return found


def _refused(package: str, origin: str, why: str, fix: str = "") -> SftuiError:
    said = f"or leave it out of {origin}" if origin else "or do not enable it"
    return SftuiError(
        f"the trainers of the package {package} cannot be used", why=why, fix=f"{fix or 'fix the package'}, {said}"
    )


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]
