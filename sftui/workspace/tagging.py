"""Generation tags for the chat template in force, proven on the first rows: the fix that no knob can make."""

from __future__ import annotations

from collections.abc import Iterator

from sftui.errors import SftuiError
from sftui.model import Conversation, Problem
from sftui.session.opened import HEAVY, OpenData
from sftui.workspace.events import TagsReady
from sftui.workspace.requests import TagsRequest

MOST_ROWS = 300
MOST_BYTES = 500_000
"""How much of the rows is gathered; the proof takes about half a second then, and a row requested meanwhile waits."""


def tags(session: OpenData, request: TagsRequest, version: int) -> Iterator[TagsReady | None]:
    """The tagged template with its diff; SftuiError where there is none."""
    tools = session.ready().checks().tools
    template = tools.templates.get("default") or next(iter(tools.templates.values()), None)
    if template is None:
        raise SftuiError("there is no chat template to put tags into", fix="pick one with T")
    from sftui.templates.surgery import add_generation_tags

    chats: list[Conversation] = []
    size = 0
    for number, row in enumerate(session.source.rows()):
        if number >= MOST_ROWS or size > MOST_BYTES:
            break
        size += row.size
        found = session.early(row).conversation if row.size <= HEAVY else None
        if found is not None:
            chats.append(found)
        yield None
    done = add_generation_tags(
        template.source,
        template.name,
        dict(tools.special_tokens),
        chats,
        options=session.recipe.render,
        rendering=template.rendering,
    )
    refused = Problem(f"no tags were added to {template.name}", done.refused) if done.refused is not None else None
    yield TagsReady(request.ticket, version, template.name, done.source, done.diff, done.proven, refused)
