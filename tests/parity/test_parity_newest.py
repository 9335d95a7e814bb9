"""Which releases are newer than the rules, told of an index that stands for the real one."""

from __future__ import annotations

from collections.abc import Mapping

import environments
import pytest

KNOWN: dict[str, str] = {}
for _trainer, _version in map(environments.split, environments.indexed()):
    KNOWN[_trainer] = max(KNOWN.get(_trainer, _version), _version, key=environments.numbers)


def index(**more: str | None) -> Mapping[str, str | None]:
    """The newest of every package as it is known, but for these."""
    own = {environments.distribution(trainer): version for trainer, version in KNOWN.items()}
    return {**own, "transformers": max(environments.TRANSFORMERS, key=environments.numbers), **more}


def test_nothing_is_newer_than_what_is_known() -> None:
    lines, found, silent = environments.newer(index().__getitem__)
    assert found == silent == []
    assert len(lines) == len(KNOWN) + 1 and all(line.endswith("is the newest") for line in lines)


@pytest.mark.parametrize(("latest", "is_newer"), [("1.100.0", True), ("1.2.0", False), ("99.0", True)])
def test_versions_are_compared_as_numbers(latest: str, is_newer: bool) -> None:
    lines, found, _ = environments.newer(index(trl=latest).__getitem__)
    assert found == ([f"trl@{latest}"] if is_newer else [])
    assert any(line.startswith("trl") and f"environments.py trl@{latest}" in line for line in lines) is is_newer


def test_an_index_that_is_silent_is_no_news() -> None:
    _, found, silent = environments.newer(index(trl=None, unsloth_zoo="3000.1").__getitem__)
    assert (found, silent) == (["unsloth@3000.1"], ["trl"])


def test_a_release_that_is_not_known_is_installed_as_it_comes() -> None:
    assert environments.split("unsloth@3000.1.1") == ("unsloth", "3000.1.1")
    assert environments.packages_of("unsloth", "3000.1.1") == ("unsloth_zoo==3000.1.1",)
    assert environments.packages_of("trl", KNOWN["trl"]) == environments.PACKAGES[f"trl@{KNOWN['trl']}"]
    with pytest.raises(SystemExit):
        environments.split("nobody@1.0")
