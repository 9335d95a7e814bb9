"""The pages of help over the panes: a list to pick from, and each page to read. Loaded when asked for."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from sftui.docs import markdown, topics
from sftui.docs import rendering as pages
from sftui.text import visible
from sftui.tui.dialogs import Dialog, Options
from sftui.views import Line, Role
from sftui.views.cells import LineBuilder

if TYPE_CHECKING:
    from sftui.tui.main_screen import MainScreen

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
    lines = []
    for runs in pages.page_lines(markdown(name), width):
        builder = LineBuilder()
        for run in runs:
            builder.add(visible(run.text), _ROLES.get(pages.meaning(run.style), Role.PLAIN))
        lines.append(builder.line())
    return tuple(lines)


def open_pages(screen: MainScreen, marked: int = 0) -> None:
    """The list of pages; Enter opens one, Esc in it comes back to the list."""
    found = topics()
    entries = Options([(one.title, one.line) for one in found])

    def picked(number: int | None) -> None:
        if number is not None:
            name = found[number].name
            dialog = Dialog(
                f"help: {name}", lambda width: page(name, width), screen.keymap, screen.look, leave="goes back"
            )
            screen.app.push_screen(dialog, lambda _: open_pages(screen, number))

    screen.app.push_screen(Dialog("help", entries, screen.keymap, screen.look, picking=True, marked=marked), picked)
