"""How a set that its trainer does not read can be read: other columns, keys or formats, tried on its first rows."""

from __future__ import annotations

from sftui.conversations import Detection
from sftui.errors import SftuiError
from sftui.findings import Fix
from sftui.model import Inspection
from sftui.recipe import Recipe
from sftui.session.candidates import mappings
from sftui.session.opened import OpenData
from sftui.session.ready import under
from sftui.session.trial import can_be_told, fix_to
from sftui.trainers import trainer_of
from sftui.trainers.own_config import losses_of

MOST = 200
"""So many recipes are tried."""


def way_in(opened: OpenData) -> str:
    """What to set so that a set is read, in keys of the trainer's config, or in knobs where it has none; "" where
    nothing that was tried does."""
    fix = way_into(opened)
    keys = "" if fix is None else fix.trainer_keys[opened.requested.trainer]
    return keys if not keys or keys.startswith(("set ", "remove ")) else f"set {keys}"


def way_into(opened: OpenData) -> Fix | None:
    """The change of the recipe by which every row looked at is read and has an answer; None where none that was tried
    does."""
    recipe, rows = opened.requested, opened.sample
    said = set(losses_of(recipe))
    for _, other in zip(range(MOST), mappings(recipe, Detection("auto"), rows, lost=True)):
        if not said.issuperset(losses_of(other)) or not can_be_told(recipe, other):
            continue
        try:
            read = under(opened, other)
            early = (read.early(row) for row in rows if row.data is not None)
            if read.refused is None and all(_is_answered(row, other) for row in early):
                return fix_to(opened, other)
        except SftuiError:
            continue
    return None


def _is_answered(row: Inspection, recipe: Recipe) -> bool:
    """Whether a row is read, has an answer, and is not dropped before it is rendered."""
    conversation = row.conversation
    if row.problem is not None or conversation is None:
        return False
    trainer = trainer_of(recipe)
    if trainer.shape(conversation, recipe).dropped is not None:
        return False
    answering = trainer.traits.answering
    return bool(conversation.completion) or any(message.role in answering for message in conversation.messages)
