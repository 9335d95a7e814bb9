"""Search: text, regex, token or id, across rows, cancelled by Esc, wrapping at the ends."""

from __future__ import annotations

from bisect import bisect_right
from functools import partial

from sftui.text import many
from sftui.tui.commands import rows, tokens
from sftui.tui.commands.command import Command, both_ways
from sftui.tui.contexts import ANY, FINDINGS
from sftui.tui.inspector import Inspector
from sftui.tui.state import Hit, Hits, Search, StatusMessage, unless
from sftui.views.cells import Role
from sftui.views.grid import Action, hit_starts
from sftui.workspace import SearchQuery
from sftui.workspace import events as ev
from sftui.workspace import requests as rq

KINDS = {"re": "regex", "token": "token", "id": "id", "text": "text", "finding": "finding"}
FINDING = "finding"


def parse_query(text: str) -> SearchQuery:
    """`re:`, `token:`, `id:`, `finding:` and `text:` choose what is looked for; anything else is text."""
    prefix, _, rest = text.partition(":")
    return SearchQuery(KINDS[prefix], rest) if rest and prefix in KINDS else SearchQuery("text", text)


@Command("search", ("/",), "search", "Search", means="search")
def ask(here: Inspector, count: int | None) -> None:
    """Search for text, or re:PATTERN, token:TEXT, id:NUMBER, finding:CODE; Esc cancels."""
    here.ask("search: text, re:PATTERN, token:TEXT, id:NUMBER, finding:CODE", partial(_answer, here), raw=True)


def _answer(here: Inspector, text: str) -> None:
    from sftui.views.search import check_query

    if text:
        query = parse_query(text)
        if query.kind != FINDING:
            check_query(query.kind, query.text)
        _search(here, Search(query, here.state.row, True))


def _step(here: Inspector, hits: int) -> None:
    """The next or previous hit; in this row while it has more and its tokens are on screen."""
    query, pane = here.state.searching.query, here.panes.tokens
    within = pane.display and pane.act(Action.NEXT_HIT if hits > 0 else Action.PREVIOUS_HIT, abs(hits))
    other = here.panes.other.state.hits
    if pane.display and not within and other and here.state.open.side == (hits < 0):
        here.take_side(int(hits > 0))
        here.panes.tokens.act(Action.GOTO, hit_starts(other)[0 if hits > 0 else -1])
        within = True
    if query is not None and not within:
        start(here, query, hits > 0)
    tokens.follow(here)


def _hit(name: str, key: str) -> Command:
    def nothing_searched(here: Inspector) -> StatusMessage | None:
        return unless(here.state.searching.query, "No search yet; press /")

    title, words = f"{name} hit", f"Go to the {name} match, across rows."
    return Command(f"search.{name}", (key,), title, "Search", ANY, words, True, when=nothing_searched)


HITS = both_ways(_step, _hit("next", "n"), _hit("previous", "N"))


def start(here: Inspector, query: SearchQuery, forward: bool) -> None:
    """Look for something from the next row on (before); `n` and `N` go on."""
    _search(here, Search(query, here.state.row + (1 if forward else -1), forward))


def _search(here: Inspector, search: Search) -> None:
    search = search.within(here.state.status)
    ticket = here.workspace.ask(rq.SearchRequest, search.query, search.start, search.forward)
    here.put(here.state.searching.began(search, ticket))
    here.say("searching … Esc cancels", Role.DIM)


def cancel(here: Inspector) -> bool:
    """Gives a running search up, and the counting of its hits; False where no search runs."""
    _stop_counting(here)
    ticket = here.state.searching.ticket
    if ticket is None:
        return False
    here.workspace.cancel(ticket)
    here.put(here.state.searching.ended())
    here.say("search cancelled", Role.DIM)
    return True


def on_found(here: Inspector, event: ev.SearchFound) -> None:
    now = here.state.searching
    search = now.running
    if event.ticket != now.ticket or search is None:
        return
    if event.problem is not None:
        here.put(now.ended())
        here.say(event.problem.sentence(), Role.ERROR)
    elif event.row is not None:
        found = Hit(search, event.row, event.positions)
        here.put(now.ended(found))
        _count(here)
        rows.go(here, event.row, hits=event.positions, backwards=not search.forward)
        _say_place(here, found)
    elif not event.finished:
        here.say(f"searching … {event.searched:,} rows, Esc cancels", Role.DIM)
    else:
        here.put(now.ended())
        _at_the_end(here, search, event.unread)


# — how many hits there are —


def _count(here: Inspector) -> None:
    """Counts the hits of the query over all rows, behind everything else; once."""
    now = here.state.searching
    if now.query is not None and now.query != now.hits.query:
        _stop_counting(here)
        ticket = here.workspace.ask(rq.HitsRequest, now.query)
        here.put(here.state.searching._replace(hits=Hits(now.query), counting=ticket))


def _stop_counting(here: Inspector) -> None:
    here.workspace.cancel(here.state.searching.counting)
    here.put(here.state.searching._replace(counting=None))


def on_counted(here: Inspector, event: ev.HitsCounted) -> None:
    """More hits: what was said of the last one found, and what stands next to the token, follow."""
    if event.ticket != here.state.searching.counting or event.problem is not None:
        return
    now = here.state.searching._replace(hits=here.state.searching.hits.plus(event))
    here.put(now)
    if now.found is not None and now.reported and here.state.said.text == now.reported:
        _say_place(here, now.found)


def place(here: Inspector) -> str:
    """Which hit the cursor is on, of how many; empty where it is on none, or that is not known."""
    grid, now = here.panes.tokens.state, here.state.searching
    found = now.found
    before = here.panes.tokens.before
    cursor = before + grid.cursor
    if found is None or found.row != here.state.row or not {before + hit for hit in grid.hits} <= {*found.positions}:
        return ""
    if cursor not in found.positions or now.query is None or now.query.kind == FINDING:
        return ""
    return now.hits.place(found.row, bisect_right(hit_starts(found.positions), cursor) - 1)


def _say_place(here: Inspector, found: Hit) -> None:
    """What was found last, and which of all hits it is."""
    search, starts = found.search, hit_starts(found.positions)
    row, n = f"row {found.row:,}", len(starts)
    place = here.state.searching.hits.place(found.row, 0 if search.forward else max(0, n - 1))
    if search.query.kind == FINDING:
        shown = here.state.open.view == FINDINGS
        words = f"{row} has findings{'' if shown else ': f shows them'}{f' · {place} rows' if place else ''}"
    elif not n:
        words = f"{row} matches outside its tokens{f' · hit {place}' if place else ''}"
    else:
        words = f"hit {place} · {row}" if place else f"{many(n, 'hit')} in {row}"
    reported = words + (", search wrapped around" if search.wrapped else "") + " · n N"
    here.say(reported)
    here.put(here.state.searching._replace(reported=reported))


def _at_the_end(here: Inspector, search: Search, unread: int) -> None:
    again, query = search.again(here.state.status), search.query
    if again is not None:
        _search(here, again)
        return
    what = "an error or a warning" if query == SearchQuery(FINDING, "any") else f"{query.kind} {query.text}"
    rest = " in the readable rows" if "damaged" in here.state.reading.data else ""
    if unread:
        rest = f" in the readable rows; {many(unread, 'row')} could not be read"
    here.say(f"no {'other ' if query.kind == FINDING else ''}row has {what}{rest}", Role.WARNING)
