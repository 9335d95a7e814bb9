"""A Session ready to work, for the commands that need no screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sftui.errors import ConversationError, SftuiError

if TYPE_CHECKING:
    from sftui.workspace.options import OpenOptions
    from sftui.workspace.session import Session


def loaded_session(options: OpenOptions) -> Session:
    """Open the data and load the proven tokenizer; SftuiError where either cannot be."""
    from sftui.workspace.session import Session

    session = Session(options, options.full_recipe())
    session.open()
    if session.refused is not None:
        problem = session.refused
        raise ConversationError(problem.what, why=problem.why, fix=problem.fix)
    session.load_tokenizer("proven")
    if session.tools_problem is not None:
        problem = session.tools_problem
        raise SftuiError(problem.what, why=problem.why, fix=problem.fix)
    return session
