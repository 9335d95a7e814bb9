"""Search: text, regex, token or id, across rows, cancelled by Esc, wrapping at the ends."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from sftui.errors import SftuiError
from sftui.text import many
from sftui.views import Action, Role
from sftui.views.grid import hit_starts
from sftui.workspace import SearchQuery
from sftui.workspace import events as ev
from sftui.workspace import requests as rq

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


class Hits:
    """The hits of one query in the rows from the first up to `searched`; several a row, or one."""

    def __init__(self, query: SearchQuery | None = None) -> None:
        self.query = query
        self.searched = 0
        self.done = False
        self._rows = array("L")
        self._up_to = array("Q")

    def add(self, event: ev.HitsCounted) -> None:
        """Those of further rows."""
        before = self._up_to[-1] if self._up_to else 0
        self._rows.extend(event.rows)
        self._up_to.extend(before + count for count in accumulate(event.hits))
        self.searched, self.done = event.searched, event.done

    def place(self, row: int, nth: int) -> str:
        """`3 of 57` for the `nth` hit of a row, from 0; empty where its row was not counted yet."""
        at = bisect_left(self._rows, row)
        if at == len(self._rows) or self._rows[at] != row:
            return ""
        before = self._up_to[at - 1] if at else 0
        return f"{before + nth + 1:,} of {self._up_to[-1]:,}{'' if self.done else ' so far'}"


class _Search(NamedTuple):
    """What is looked for, from which row on; `wrapped`: it began behind the last one again."""

    query: SearchQuery
    start: int
    forward: bool
    wrapped: bool


class _Hit(NamedTuple):
    """A row that has some hits, and where: the tokens that they touch."""

    search: _Search
    row: int
    positions: tuple[int, ...]


class SearchCommands:
    """`/`, `n` and `N`: hits in the row first, then the next row that has one."""

    def __init__(self, screen: MainScreen) -> None:
        self.screen = screen
        self.query: SearchQuery | None = None
        self.ticket: int | None = None
        self.hits = Hits()
        self._counting: int | None = None
        self._running: _Search | None = None
        self._found: _Hit | None = None
        self._told = ""

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
        self._search(query, self.screen.status.row, forward=True)
        return None

    def start(self, query: SearchQuery, forward: bool) -> None:
        """Look for something from the next row on (before); `n` and `N` go on."""
        self.query = query
        self._search(query, self.screen.status.row + (1 if forward else -1), forward)

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
        self._search(self.query, start, forward)

    def _search(self, query: SearchQuery, start: int, forward: bool, wrapped: bool = False) -> None:
        screen = self.screen
        rows = screen.status.rows
        if not wrapped and rows and screen.status.exact and not 0 <= start < rows:
            start, wrapped = (0 if forward else rows - 1), True
        self._running = _Search(query, max(0, start), forward, wrapped)
        self.ticket = screen.workspace.ask(rq.SearchRequest, query, max(0, start), forward)
        screen.say("searching … Esc cancels", Role.DIM)

    def cancel(self) -> bool:
        """Gives a running search up, and the counting of its hits; False where no search runs."""
        self._stop_counting()
        if self.ticket is None:
            return False
        self.screen.workspace.cancel(self.ticket)
        self.ticket = None
        self.screen.say("search cancelled", Role.DIM)
        return True

    def on_found(self, event: ev.SearchFound) -> None:
        screen, search = self.screen, self._running
        if event.ticket != self.ticket or search is None:
            return
        if event.problem is not None:
            self.ticket = None
            screen.say(event.problem.sentence(), Role.ERROR)
        elif event.row is not None:
            self.ticket, self._found = None, _Hit(search, event.row, event.positions)
            self._count()
            screen.row_commands.go(event.row, hits=event.positions, backwards=not search.forward)
            self._tell(self._found)
        elif not event.finished:
            screen.say(f"searching … {event.searched:,} rows, Esc cancels", Role.DIM)
        else:
            self._at_the_end(search, event.unread)

    # — how many hits there are —

    def _count(self) -> None:
        """Counts the hits of the query over all rows, behind everything else; once."""
        if self.query is not None and self.query != self.hits.query:
            self._stop_counting()
            self.hits = Hits(self.query)
            self._counting = self.screen.workspace.ask(rq.HitsRequest, self.query)

    def _stop_counting(self) -> None:
        if self._counting is not None:
            self.screen.workspace.cancel(self._counting)
            self._counting = None

    def on_counted(self, event: ev.HitsCounted) -> None:
        """More hits: what was said of the last one found, and what stands beside the token, follow."""
        if event.ticket != self._counting or event.problem is not None:
            return
        if not event.first:
            self.hits = Hits(self.hits.query)
        self.hits.add(event)
        if self._found is not None and self._told and self.screen.said == self._told:
            self._tell(self._found)
        elif not self.screen.said:
            self.screen.update_detail()

    def on_recipe(self) -> None:
        """Under another recipe other tokens may be hit."""
        self.hits = Hits(self.hits.query if self._counting is not None else None)

    def place(self) -> str:
        """Which hit the cursor is on, of how many; empty where it is on none, or that is not known."""
        tokens, found = self.screen.tokens, self._found
        if found is None or found.row != self.screen.status.row or tokens.state.hits != found.positions:
            return ""
        if tokens.state.cursor not in found.positions or self.query is None or self.query.kind == FINDING:
            return ""
        nth = bisect_right(hit_starts(found.positions), tokens.state.cursor) - 1
        return self.hits.place(found.row, nth)

    def _tell(self, found: _Hit) -> None:
        """What was found last, and which of all hits it is."""
        search, screen = found.search, self.screen
        starts = hit_starts(found.positions)
        row, n = f"row {found.row:,}", len(starts)
        place = self.hits.place(found.row, 0 if search.forward else max(0, n - 1))
        if search.query.kind == FINDING:
            shown = screen.look_commands.open_view == "findings"
            words = f"{row} has findings{'' if shown else ': f shows them'}{f' · {place} rows' if place else ''}"
        elif not n:
            words = f"{row} has it, outside its tokens{f' · hit {place}' if place else ''}"
        else:
            words = f"hit {place} · {row}" if place else f"{many(n, 'hit')} in {row}"
        told = words + (", search wrapped around" if search.wrapped else "") + " · n N"
        screen.say(told, Role.PLAIN)
        self._told = told

    def _at_the_end(self, search: _Search, unread: int) -> None:
        screen, query = self.screen, search.query
        self.ticket = None
        far = search.start > 0 if search.forward else search.start < screen.status.rows - 1
        if not search.wrapped and far:
            self._search(query, 0 if search.forward else screen.status.rows - 1, search.forward, wrapped=True)
        else:
            what = "an error or a warning" if query == SearchQuery(FINDING, "any") else f"{query.kind} {query.text}"
            rest = (
                f" in what can be read; {unread:,} {'rows' if unread > 1 else 'row'} could not be"
                if unread
                else " in the rows that can be read"
                if "damaged" in screen.status.data
                else ""
            )
            screen.say(f"no {'other ' if query.kind == FINDING else ''}row has {what}{rest}", Role.WARNING)
