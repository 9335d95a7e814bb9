"""The pages of the docs as lines of cells; rich's Markdown is loaded with this module, a tenth of a second."""

from __future__ import annotations

from functools import lru_cache

from sftui.docs import markdown
from sftui.docs import rendering as pages
from sftui.text import visible
from sftui.views.cells import Line, LineBuilder, Role

_ROLES = {
    pages.TITLE: Role.TITLE,
    pages.CODE: Role.KEY,
    pages.LINK: Role.GOOD,
    pages.BORDER: Role.BORDER,
    pages.BULLET: Role.DIM,
    pages.STRONG: Role.TITLE,
}
_KEPT = 8
"""Pages of one width that are laid out at a time; the longest takes a third of a second."""


@lru_cache(_KEPT)
def page(name: str, width: int) -> tuple[Line, ...]:
    """A page as lines of cells. Nothing in it can be followed: links are their texts."""
    return laid_out(markdown(name), width)


def laid_out(text: str, width: int) -> tuple[Line, ...]:
    """Markdown as lines of cells."""
    lines = []
    for runs in pages.page_lines(text, width):
        builder = LineBuilder()
        for run in runs:
            builder.add(visible(run.text), _ROLES.get(pages.meaning(run.style), Role.PLAIN))
        lines.append(builder.line())
    return tuple(lines)
