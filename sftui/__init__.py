"""sftui: see exactly what the trainer trains on, before you spend a GPU hour."""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__: str
"""As the installed package says, from pyproject.toml alone; `0+unknown` where sftui runs without being installed."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> str:
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib.metadata import PackageNotFoundError, version  # 30 ms that nobody else needs at once

        try:
            return version("sftui")
        except PackageNotFoundError:
            return "0+unknown"
