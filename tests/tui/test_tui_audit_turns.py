"""What the screen does for each event of an audit, counted: nothing while its figures are closed, one painting while
open."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sftui.tui.figures_commands import VIEW, FiguresCommands
from sftui.workspace.events import AuditReady


@pytest.mark.parametrize(("open_view", "paintings"), [("", 0), (VIEW, 50)])
def test_an_event_of_the_audit_costs_at_most_one_painting(open_view: str, paintings: int) -> None:
    shown: list[str] = []
    said: list[str] = []
    screen: Any = SimpleNamespace(
        look_commands=SimpleNamespace(open_view=open_view),
        figures=SimpleNamespace(show_owned=lambda view, *rest, **more: shown.append(view)),
        update_detail=lambda: None,
        say=lambda text, *rest: said.append(text),
    )
    commands = FiguresCommands(screen)
    commands.ticket = 7
    for rows in range(50):
        commands.on_audit(AuditReady(7, 1, rows))
    commands.on_audit(AuditReady(6, 1, 9))  # of an audit that nobody waits for any more
    assert (len(shown), said) == (paintings, [])
