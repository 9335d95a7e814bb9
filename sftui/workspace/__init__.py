"""What is open now, without any user interface: `Workspace`, and the worker it talks to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sftui.session.options import OpenOptions, SearchQuery

if TYPE_CHECKING:
    from sftui.workspace.workspace import Workspace

__all__ = ["OpenOptions", "SearchQuery", "Workspace"]


def __getattr__(name: str) -> Any:
    """`Workspace`, loaded when requested: the worker has no use for it."""
    if name != "Workspace":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sftui.workspace.workspace import Workspace

    return Workspace
