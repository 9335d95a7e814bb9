"""What is open now, without any user interface: `Workspace`, and the worker it talks to."""

from sftui.session.options import SEARCH_KINDS, OpenOptions, SearchQuery
from sftui.workspace.workspace import Workspace

__all__ = ["SEARCH_KINDS", "OpenOptions", "SearchQuery", "Workspace"]
