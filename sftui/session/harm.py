"""Repairs that would do harm are refused: a row that the trainer took, and would take no more, or with a turn less.

Tried on the first rows, together as they are chosen: one that does harm alone may do none with another.
"""

from __future__ import annotations

from collections.abc import Sequence

from sftui.errors import RecipeError, SftuiError
from sftui.findings.rule import TO_MESSAGES
from sftui.model import Inspection
from sftui.repairs.catalogue import REPAIRS
from sftui.repairs.run import DROPPING
from sftui.session.opened import HEAVY, OpenData
from sftui.session.ready import under
from sftui.trainers import trainer_named

JOINING = "merge-neighbours"
"""The repair that makes one message of several, so that there are fewer."""


def refuse_harm(session: OpenData, chosen: Sequence[str]) -> None:
    """RecipeError where repairs would do harm to one of the first rows: which of them does, to which row, and what to
    add or to leave out."""
    made = [name for name in chosen if not name.startswith(DROPPING)]
    if not made:
        return
    light = (row for row in session.stored.sample if row.size <= HEAVY and row.data is not None)
    before = [session.inspect_row(row, spans=False) for row in light]
    harm = _harm(session, before, made)
    if not harm:
        return
    guilty = next((name for name in made if not _harm(session, before, [one for one in made if one != name])), made[0])
    others = (name for name in (TO_MESSAGES, *REPAIRS) if name not in made)
    other = next((name for name in others if not _harm(session, before, [*made, name], whole=True)), None)
    added = f"add {other}, with which it does none (--apply {','.join([*made, other])}), or " if other else ""
    raise RecipeError(
        f"{guilty} would do harm under {trainer_named(session.requested.preset).title}",
        why=harm,
        fix=f"{added}leave it out",
    )


def _harm(session: OpenData, before: Sequence[Inspection], repairs: Sequence[str], *, whole: bool = False) -> str:
    """What repairs would do to one of the first rows, which were so `before`, as a clause; "" where they do no harm.
    `whole`: nor may they be impossible on one, which stays as it is then."""
    if not repairs:
        return ""
    try:
        after = under(session, session.requested, tuple(repairs))
    except SftuiError as error:
        return str(error)
    for was in before:
        row = was.row
        now = after.inspect_row(after.over(row), spans=False)
        if whole and now.row.skipped is not None:
            return now.row.skipped
        if was.problem is not None or was.dropped is not None or now.row.left_out is not None:
            continue
        if now.problem is not None:
            return f"row {row.index} could no longer be prepared: {now.problem.sentence()}"
        if now.dropped is not None:
            return f"row {row.index} would be dropped: {now.dropped}"
        if JOINING not in repairs and _answers(now) < _answers(was):
            return f"row {row.index} would have {_answers(now)} answers in place of {_answers(was)}"
    return ""


def _answers(found: Inspection) -> int:
    """How many messages of a row are the assistant's, or call its tools."""
    messages = found.conversation.messages if found.conversation is not None else ()
    return sum(message.role in ("assistant", "function") for message in messages)
