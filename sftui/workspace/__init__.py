"""What is open now, without any user interface: `Workspace`, and the worker it talks to."""

from sftui.session.options import OpenOptions, SearchQuery
from sftui.workspace.workspace import Workspace

__all__ = ["OpenOptions", "SearchQuery", "Workspace"]
