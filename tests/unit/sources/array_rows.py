"""The rows of a file of arrays, for its tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sftui.sources import SourceSpec, open_source


def rows(path: Path, **more: Any) -> list[Any]:
    """The data of each row, or what is wrong with it."""
    source = open_source(SourceSpec((str(path),), **more))
    try:
        assert source.kind == "arrays" and source.count().exact
        return [row.data if row.problem is None else row.problem for row in source.rows()]
    finally:
        source.close()
