"""Search: text, regex, token or id, across rows, cancelled by Esc, wrapping at the ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sftui.errors import SftuiError
from sftui.views import Action, Role
from sftui.workspace import SearchQuery
from sftui.workspace import events as ev

if TYPE_CHECKING:
    from sftui.tui.main_screen import MainScreen

PREFIXES = {"re:": "regex", "token:": "token", "id:": "id", "text:": "text", "finding:": "finding"}
FINDING = "finding"


def parse_query(text: str) -> SearchQuery:
    """`re:`, `token:`, `id:`, `finding:` and `text:` choose what is looked for; anything else is text."""
    for prefix, kind in PREFIXES.items():
        if text.startswith(prefix) and len(text) > len(prefix):
            return SearchQuery(kind, text[len(prefix) :])
    return SearchQuery("text", text)


class SearchCommands:
    """`/`, `n` and `N`: hits in the row first, then the next row that has one."""

    def __init__(self, screen: MainScreen) -> None:
        self.screen = screen
        self.query: SearchQuery | None = None
        self.ticket: int | None = None
        self._forward = True
        self._wrapped = False
        self._start = 0

    def handlers(self) -> dict[str, Callable[[int | None], None]]:
        return {
            "search": lambda n: self.screen.prompt.ask(
                "search: text, re:PATTERN, token:TEXT, id:NUMBER, finding:CODE", self._answer
            ),
            "search.next": lambda n: self.step(True, n or 1),
            "search.previous": lambda n: self.step(False, n or 1),
        }

    def _answer(self, text: str) -> str | None:
        if not text:
            return None
        from sftui.views import check_query

        query = parse_query(text)
        try:
            if query.kind != FINDING:
                check_query(query.kind, query.text)
        except SftuiError as error:
            return str(error)
        self.query = query
        self._search(self.screen.status.row, forward=True)
        return None

    def start(self, query: SearchQuery, forward: bool) -> None:
        """Look for something from the next row on (before); `n` and `N` go on."""
        self.query = query
        self._search(self.screen.status.row + (1 if forward else -1), forward)

    def step(self, forward: bool, count: int) -> None:
        """The next or previous hit; in this row while it has more."""
        screen = self.screen
        if self.query is None:
            screen.say("No search yet; press /", Role.DIM)
            return
        if screen.tokens.act(Action.NEXT_HIT if forward else Action.PREVIOUS_HIT, count):
            screen.update_detail()
            return
        start = screen.status.row + (1 if forward else -1)
        self._search(start, forward)

    def _search(self, start: int, forward: bool, wrapped: bool = False) -> None:
        screen = self.screen
        rows = screen.status.rows
        if not wrapped and rows and screen.status.exact and not 0 <= start < rows:
            start, wrapped = (0 if forward else rows - 1), True
        assert self.query is not None
        self._forward, self._wrapped, self._start = forward, wrapped, max(0, start)
        self.ticket = screen.workspace.request_search(self.query, self._start, forward)
        screen.say("searching … Esc cancels", Role.DIM)

    def cancel(self) -> bool:
        """Gives a running search up; False where none runs."""
        if self.ticket is None:
            return False
        self.screen.workspace.cancel(self.ticket)
        self.ticket = None
        self.screen.say("search cancelled", Role.DIM)
        return True

    def on_found(self, event: ev.SearchFound) -> None:
        screen = self.screen
        if event.ticket != self.ticket:
            return
        if event.problem is not None:
            self.ticket = None
            screen.say(event.problem.sentence(), Role.ERROR)
        elif event.row is not None:
            self.ticket = None
            n = len(event.positions)
            words = (
                f"{n} hit{'s' if n != 1 else ''} in row {event.row:,}"
                if n
                else f"row {event.row:,} has it, outside its tokens"
            )
            if self.query is not None and self.query.kind == FINDING:
                words = f"row {event.row:,} has findings" + (
                    "" if screen.look_commands.open_view == "findings" else ": f shows them"
                )
            screen.row_commands.go(event.row, hits=event.positions, backwards=not self._forward)
            screen.say(
                words + (", search began again at the other end" if self._wrapped else "") + " · n N", Role.PLAIN
            )
        elif not event.finished:
            screen.say(f"searching … {event.searched:,} rows, Esc cancels", Role.DIM)
        else:
            self._at_the_end(event.unread)

    def _at_the_end(self, unread: int) -> None:
        screen = self.screen
        self.ticket = None
        far = self._start > 0 if self._forward else self._start < screen.status.rows - 1
        if not self._wrapped and far:
            self._search(0 if self._forward else screen.status.rows - 1, self._forward, wrapped=True)
        else:
            assert self.query is not None
            what = (
                "an error or a warning"
                if self.query == SearchQuery(FINDING, "any")
                else f"{self.query.kind} {self.query.text}"
            )
            rest = (
                f" in what can be read; {unread:,} {'rows' if unread > 1 else 'row'} could not be"
                if unread
                else " in the rows that can be read"
                if "damaged" in screen.status.data
                else ""
            )
            screen.say(f"no {'other ' if self.query.kind == FINDING else ''}row has {what}{rest}", Role.WARNING)
