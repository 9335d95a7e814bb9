"""A plan of an export, with everything loaded that it needs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sftui.cli.loading import loaded_session
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
