"""The Textual app; nothing here is loaded before `run`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sftui.settings import UserSettings
    from sftui.workspace import Workspace


def run(workspace: Workspace, settings: UserSettings, *, theme: str | None = None, mouse: bool = True) -> int:
    """Opens the inspector on a started workspace; the exit code."""
    from sftui.tui.app import run_app

    return run_app(workspace, settings, theme=theme, mouse=mouse)
