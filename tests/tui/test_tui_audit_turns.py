"""What the screen does for each event of an audit, counted: nothing while its figures are closed, one painting while
open."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sftui.model import Problem
from sftui.trainers import preset
from sftui.tui.commands import figures
from sftui.tui.contexts import FIGURES
from sftui.tui.hearing import VIEWS
from sftui.tui.panes.document_pane import FiguresPane
from sftui.tui.state import AuditState, Part, SessionState, State
from sftui.workspace.events import AuditReady


@pytest.mark.parametrize(("view", "paintings"), [(None, 0), (FIGURES, 50)])
def test_an_event_of_the_audit_costs_at_most_one_painting(view: str | None, paintings: int) -> None:
    shown: list[str] = []
    said: list[str] = []
    state = State(SessionState(preset()), audited=AuditState(ticket=7))
    pane = SimpleNamespace(show_owned=lambda view, *rest, **more: shown.append(view))
    here: Any = SimpleNamespace(
        state=state.put(state.open._replace(view=view)),
        panes=SimpleNamespace(figures=pane),
        say=lambda text, *rest: said.append(text),
    )

    def put(*parts: Part) -> None:
        here.state = here.state.put(*parts)

    def paint(name: str) -> None:
        if here.state.open.view == name:
            VIEWS[name].paint(here, name, True)

    here.put, here.paint_view = put, paint
    for rows in range(50):
        figures.on_audit(here, AuditReady(7, 1, None, rows))
    figures.on_audit(here, AuditReady(6, 1, None, 9))  # of an audit that nobody waits for any more
    assert (len(shown), said) == (paintings, [])


def test_of_a_set_that_was_not_looked_at_nobody_says_that_it_has_no_findings() -> None:
    for answer, words in (
        (AuditReady(7, 1, None, 9, done=True), [" no findings"]),
        (AuditReady(7, 1, Problem("sftui does not know which template ms-swift uses")), []),
    ):
        state = SimpleNamespace(audited=AuditState().answered(answer))
        here: Any = SimpleNamespace(state=state, panes=SimpleNamespace(figures=FiguresPane()))
        assert [span.text for span in figures.sentence(here)] == words
