"""Which cases a release is asked: one that the rules do not know yet, all that the newest known one is."""

from __future__ import annotations

import environments
from case import Case

KNOWN = [environments.split(name)[1] for name in environments.PACKAGES if name.startswith("trl@")]
NEWEST, OLDEST = KNOWN[0], KNOWN[-1]


def case(*only: str) -> Case:
    return Case("one", "wikisql", "qwen2.5", only=only)


def test_a_release_is_asked_what_it_has() -> None:
    assert all(case().asked_of("trl", version) for version in (NEWEST, OLDEST, "3000.1"))
    assert [case(NEWEST).asked_of("trl", version) for version in (NEWEST, OLDEST, "3000.1")] == [True, False, True]
    assert [case(OLDEST).asked_of("trl", version) for version in (NEWEST, OLDEST, "3000.1")] == [False, True, False]
