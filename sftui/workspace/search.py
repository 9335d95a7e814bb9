"""Looking for text, a pattern, a token or an id through the rows, a row at a time."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from sftui.errors import SftuiError
from sftui.model import RAW_LIMIT, SIDES, Inspection, Row, common_prefix
from sftui.session.opened import OpenData
from sftui.session.ready import Ready, tokenizer_of
from sftui.views.grid import hit_starts
from sftui.workspace.events import Answering, Answers, HitsCounted, SearchFound
from sftui.workspace.requests import HitsRequest, SearchRequest
from sftui.workspace.watching import Pace

if TYPE_CHECKING:
    from sftui.tokens import LoadedTokenizer

REPORT_EVERY, COUNT_EVERY = 0.2, 0.5
REGEX_LIMIT = 1_000_000
"""Characters of a row that a pattern is tried on; some patterns take quadratic time."""

Positions = tuple[int, ...]
Now = Callable[[], OpenData]
Matcher = Callable[[Inspection], Positions | None]


def search(now: Now, request: SearchRequest, answer: Answering[SearchFound]) -> Answers[SearchFound]:
    """The first row with a hit from `start` on, in one direction, without wrapping round; each row as it is `now`.

    Text and patterns are looked for in the rendered text (in the raw row where there is none);
    the positions are those of the tokens that a hit touches.
    """
    try:
        match = matcher(now, request)
    except (ValueError, re.error) as error:
        raise SftuiError(f"cannot search for `{request.query.text}`", why=str(error)) from error
    searched, unread, pace = 0, 0, Pace(REPORT_EVERY)
    for index in _indices(now, request):
        session = now()
        row = session.row(index)
        unread += row.problem is not None and not row.raw and not session.past_end(index)
        inspection = _candidate(session, row, request)
        found = match(inspection) if inspection is not None else None
        searched += 1
        if found is not None:
            yield answer(index, found, searched, True)
            return
        yield answer(None, (), searched) if pace.due() else None
    yield answer(None, (), searched, True, unread=unread)


def count_hits(session: OpenData, request: HitsRequest, answer: Answering[HitsCounted]) -> Answers[HitsCounted]:
    """The hits of every row from the first on, a row at a time; neighbouring tokens are one hit, and so is a row that
    is found by its findings or outside its tokens."""
    whole = SearchRequest(request.ticket, request.query, 0)
    try:
        match = matcher(lambda: session, whole)
    except (ValueError, re.error) as error:
        raise SftuiError("the matches cannot be counted", why=str(error)) from error
    first, searched, pace = 0, 0, Pace(COUNT_EVERY)
    rows, hits = array("L"), array("L")
    for index in _indices(lambda: session, whole):
        row = session.row(index)
        if row.problem is not None and not row.raw and session.past_end(index):
            break
        inspection = _candidate(session, row, whole)
        found = match(inspection) if inspection is not None else None
        if found is not None:
            rows.append(index)
            hits.append(1 if request.query.kind == "finding" else max(1, len(hit_starts(found))))
        searched = index + 1
        if pace.due():
            yield answer(first, searched, rows, hits)
            first, rows, hits = searched, array("L"), array("L")
        else:
            yield None
    yield answer(first, searched, rows, hits, True)


def matcher(now: Now, request: SearchRequest) -> Matcher:
    """What decides on a row, or on both its sides, whose tokens are then numbered through; ValueError or re.error for a
    needle that makes no sense."""
    match = _side_matcher(now, request)

    def both(inspection: Inspection) -> Positions | None:
        sides = inspection.alone if request.query.kind != "finding" else (inspection,)
        found = [match(side) for side in sides]
        tokens = [side.tokens for side in sides]
        if len(sides) < 2 or tokens[0] is None or tokens[1] is None or not found[1]:
            return found[0]
        alike = common_prefix(tokens[0].ids, tokens[1].ids)  # is looked through once
        return (*(found[0] or ()), *(len(tokens[0]) + at for at in found[1] if at >= alike))

    return both


def _side_matcher(now: Now, request: SearchRequest) -> Matcher:
    kind, needle = request.query.kind, request.query.text
    if not needle:
        raise ValueError("the search is empty")
    if kind in ("text", "regex"):
        any_case = kind == "text" and needle.lower() == needle
        pattern = re.compile(re.escape(needle) if kind == "text" else needle, re.IGNORECASE if any_case else 0)
        return lambda inspection: _text_hits(inspection, pattern)
    if kind == "finding":
        return _finding_matcher(now, needle)
    if kind == "id":
        wanted = int(needle)
    else:
        tokenizer = tokenizer_of(now())
        if tokenizer is None:
            raise ValueError("the tokenizer is not loaded yet")
        wanted = _token_id(tokenizer, needle)
    return lambda inspection: _id_hits(inspection, wanted)


def _token_id(tokenizer: LoadedTokenizer, needle: str) -> int:
    """The id of a token by its entry in the vocabulary, its text, or as the screen shows it (␣Vic); ValueError."""
    found = tokenizer.token_id(needle)
    if found is not None:
        return found
    for text in dict.fromkeys((needle, needle.translate(_SHOWN))):
        ids = tokenizer.encode(text).ids
        if len(ids) == 1:
            return int(ids[0])
    raise ValueError("it is not a single token of this tokenizer")


_SHOWN = str.maketrans({"␣": " ", "⏎": "\n", "⇥": "\t"})


def _indices(now: Now, request: SearchRequest) -> Iterator[int]:
    if not request.forward:
        yield from range(request.start, -1, -1)
        return
    index = max(0, request.start)
    while True:
        count = now().source.count()
        if index >= count.rows and count.exact:
            return
        yield index
        index += 1


def _candidate(session: OpenData, row: Row, request: SearchRequest) -> Inspection | None:
    """The row, inspected; a plain-text needle that the raw row cannot hold saves the work."""
    query = request.query
    if query.kind == "text" and query.text.isascii() and query.text.isalnum() and 0 < row.size <= RAW_LIMIT:
        # ASCII letters and digits are stored as they are; anything else may be escaped or come from the template.
        folded = row.raw if query.text.lower() != query.text else row.raw.lower()
        templates = session.tools.templates.values() if isinstance(session, Ready) else ()
        written = (template.source.lower() for template in templates)
        if query.text not in folded and not any(query.text.lower() in source for source in written):
            return None
    return session.inspect_row(row, spans=query.kind == "finding", text=False)


def _finding_matcher(now: Now, needle: str) -> Matcher:
    """Rows with a finding: of a severity, of a code or the beginning of one, or `any` but info."""
    from sftui.findings import CODES

    wanted = needle.strip()
    if wanted not in ("any", "error", "warning", "info") and not any(code.startswith(wanted.upper()) for code in CODES):
        raise ValueError("use any, error, warning, info, or a code such as TRU002")
    try:
        now().ready().checks()
    except SftuiError as error:
        raise ValueError(error.what) from error

    def match(inspection: Inspection) -> Positions | None:
        found = []
        for finding in now().ready().found(inspection):
            severity = finding.severity.value
            grave = wanted == "any" and severity != "info"
            if grave or severity == wanted or finding.code.startswith(wanted.upper()):
                before = len(inspection.tokens or ()) if finding.side == SIDES[1] else 0
                found.append([before + at for at in finding.tokens or (0, 0)])
        return tuple(sorted({i for tokens in found for i in range(*tokens)})) if found else None

    return match


def _text_hits(inspection: Inspection, pattern: re.Pattern[str]) -> Positions | None:
    text = inspection.rendered.text if inspection.rendered is not None else inspection.row.raw
    spans = [m.span() for m in pattern.finditer(text[:REGEX_LIMIT])]
    if not spans:
        return None
    tokens = inspection.tokens
    if tokens is None:
        return ()
    hits: list[int] = []
    at = 0
    for position, (start, end) in enumerate(zip(tokens.starts, tokens.ends)):
        while at < len(spans) and spans[at][1] <= start:
            at += 1
        if at == len(spans):
            break
        if start < spans[at][1] and end > spans[at][0] and start < end:
            hits.append(position)
    return tuple(hits)


def _id_hits(inspection: Inspection, wanted: int) -> Positions | None:
    if inspection.tokens is None:
        return None
    hits = tuple(i for i, token in enumerate(inspection.tokens.input_ids) if token == wanted)
    return hits or None
