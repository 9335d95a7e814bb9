"""Rows of another shape as messages: over the rows on screen first, then in a new file.

It is a repair of the data like others, so that `u` takes it back and `x` writes the config that reads the new file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sftui.tui.commands import repairs, writing
from sftui.tui.commands.command import command
from sftui.tui.inspector import Inspector
from sftui.tui.panes.token_pane import CONVERT

if TYPE_CHECKING:
    from sftui.model import Problem


@command("convert", "M", "make messages of the rows", "Recipe", was=())
def convert(here: Inspector, count: int | None) -> None:
    """Shows the rows as messages with tool_calls and tools; pressed again, it writes them to a new file."""
    from sftui.findings.rule import TO_MESSAGES

    if TO_MESSAGES in here.workspace.repairs:
        writing.ask(here, "messages")
        return
    repairs.apply(here, TO_MESSAGES)
    here.say("applied: the rows as messages · M writes them to a new file, u undoes it")


def refusal(problem: Problem) -> str:
    """Why the trainer does not read the rows, behind the key that helps where one does."""
    sentence = problem.sentence()
    return f"M makes messages of the rows · {sentence}" if CONVERT in problem.fix else sentence
