"""A plan of an export, with everything loaded that it needs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from sftui.cli.loading import loaded_session
from sftui.exports import copying
from sftui.exports.plan import ExportPlan, plan_export
from sftui.recipe import Recipe
from sftui.session.options import OpenOptions


@pytest.fixture
def plan_for(tmp_path: Path) -> Callable[..., ExportPlan]:
    """`plan_for(path, recipe, base, to)`."""

    def make(path: Path, recipe: Recipe, base: Recipe | None = None, to: str = "preprocess") -> ExportPlan:
        session = loaded_session(OpenOptions((str(path),), recipe=recipe))
        try:
            return plan_export(to, str(tmp_path / "export"), recipe, base or recipe, session.prepared())
        finally:
            session.close()

    return make


@pytest.fixture(autouse=True, scope="session")
def parts_filled_once() -> Iterator[None]:
    """A part of a script is looked through once for the same values of what it names."""
    filled, known = copying._filled, dict[tuple[str, ...], str]()

    def once(source: str, values: Mapping[str, Any]) -> str:
        names = [name.split(".") for name in sorted(set(re.findall(r"[A-Za-z_]\w*(?:\.\w+)*", source)))]
        named = [
            reduce(lambda one, part: getattr(one, part, None), rest, values[first])
            for first, *rest in names
            if first in values
        ]
        key = (source, *map(repr, values.items() if any(map(callable, named)) else named))
        if key not in known:
            known[key] = filled(source, values)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(copying, "_filled", once)
        yield
