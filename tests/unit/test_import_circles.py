"""No module imports one that imports it: not in a function, and not for its types alone."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "sftui"
DOOR = "sftui"
"""The package itself: its version, and the names of `api`, loaded when asked for (see `lint-imports`)."""

BACK = {("sftui.session.opened", "sftui.session.ready")}
"""What may look back, for a type alone: `OpenData.ready` gives the subclass that it becomes."""


def modules(package: Path) -> dict[str, Path]:
    """Every module below a package by its name."""
    found = {}
    for path in package.rglob("*.py"):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(path: Path, known: Mapping[str, Path]) -> set[str]:
    """What of the known modules a file imports anywhere in it, `if TYPE_CHECKING` too."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.update(
                whole if (whole := f"{node.module}.{one.name}") in known else node.module for one in node.names
            )
    return names & known.keys()


def circle(package: Path) -> list[str]:
    """Modules that import each other in a circle; none where there is none."""
    known = modules(package)
    graph = {
        name: {one for one in imported(path, known) - {name, DOOR} if (name, one) not in BACK}
        for name, path in known.items()
        if name != DOOR
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def test_nothing_imports_in_a_circle() -> None:
    assert circle(PACKAGE) == []


def test_a_circle_is_found_in_functions_and_types(tmp_path: Path) -> None:
    package = tmp_path / "made"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "a.py").write_text("def f():\n    from made.b import g\n")
    (package / "b.py").write_text("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from made import c\n")
    (package / "c.py").write_text("import made.a\n")
    assert set(circle(package)) == {"made.a", "made.b", "made.c"}
