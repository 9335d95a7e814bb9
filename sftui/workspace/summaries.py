"""The lines of the row list, computed a row at a time."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from sftui.errors import SftuiError
from sftui.model import Conversation, Inspection, Kind, Row, RowSummary, common_prefix
from sftui.session.opened import HEAVY, OpenData
from sftui.session.ready import Ready
from sftui.text import ELLIPSIS
from sftui.views.strip import row_summary
from sftui.workspace.events import Answering, Answers, SummariesReady
from sftui.workspace.requests import SummariesRequest
from sftui.workspace.watching import Pace

TOO_HEAVY = 256 << 10
"""Bytes above which a row is tokenized only when it is opened: a row requested meanwhile would wait too long."""
SEND_EVERY = 0.05


def summaries(
    session: OpenData, request: SummariesRequest, answer: Answering[SummariesReady]
) -> Answers[SummariesReady]:
    """Lines in parts, light rows first, then all again with their findings, those that are too heavy apart; None where
    nothing is to be reported yet."""
    leads = leads_of(session)
    heavy: list[int] = []
    light: list[int] = []

    def listed() -> Iterator[RowSummary]:
        for index in request.rows or range(max(0, request.start), request.stop):
            row = session.row(index)
            if row.data is None and row.size == 0 and not row.raw and index >= session.source.count().rows:
                break
            if row.size > HEAVY:
                heavy.append(index)
                yield RowSummary(index, clipped(row.raw), repaired=bool(row.repairs))
            else:
                light.append(index)
                yield _summary(session, row, leads)

    yield from _in_parts(listed(), answer)
    heavy = [index for index in heavy if session.row(index).size <= TOO_HEAVY]
    for index in heavy:
        yield answer((_summary(session, session.row(index), leads),))
    try:
        session.ready().checks()
    except SftuiError:
        return
    yield from _in_parts(_checked(session.ready(), [*light, *heavy], leads), answer)


def _in_parts(lines: Iterable[RowSummary | None], answer: Answering[SummariesReady]) -> Answers[SummariesReady]:
    """Lines, those of a moment together; None for a row that has none."""
    ready: list[RowSummary] = []
    pace = Pace(SEND_EVERY)
    for line in lines:
        ready += [line] if line is not None else []
        if pace.due():
            yield answer(tuple(ready))
            ready = []
        else:
            yield None
    yield answer(tuple(ready))


def _checked(session: Ready, indices: list[int], leads: SharedBeginnings) -> Iterator[RowSummary | None]:
    """The same lines again with their findings counted."""
    from sftui.audit.verdict import of_row

    for index in indices:
        try:
            inspection = session.inspect(index)
            found = session.found(inspection)
        except Exception:
            yield None  # its line already exists; opened, the row says what is wrong
            continue
        grades, verdict = Counter(finding.severity.value for finding in found), of_row(found)
        badge = (verdict[0].value, verdict[1].short) if verdict is not None else None
        yield replace(summary(inspection, leads), errors=grades["error"], warnings=grades["warning"], verdict=badge)


def _summary(session: OpenData, row: Row, leads: SharedBeginnings) -> RowSummary:
    """One line, whatever happens: the list does not wait for a row on which sftui itself fails."""
    try:
        return summary(session.inspect_row(row, spans=False), leads)
    except Exception as error:
        problem = f"sftui could not prepare it ({type(error).__name__}: {error})"
        return RowSummary(row.index, clipped(row.raw), problem=problem)


def summary(inspection: Inspection, leads: SharedBeginnings) -> RowSummary:
    """One line of the row list; figures as far as the inspection went."""
    return row_summary(inspection, preview(inspection, leads))


# — what a row begins with: the user's own words, past what many rows begin with —

PREVIEW = 200
READ = 4 * PREVIEW
"""Characters of a text that are looked at."""
LEAST = 24
"""Characters that rows begin with by chance."""
PART = 4
"""One row in so many begins alike, and three at least: that is the set's own wording and no row's."""


class SharedBeginnings:
    """The beginnings that rows of a set share, such as the wording around each instruction of Alpaca."""

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._sorted = sorted(text for text in texts if text)
        self._alike = max(3, -(-len(self._sorted) // PART))

    def past(self, text: str) -> str:
        """A text after the longest beginning, of whole words, that enough rows share; itself where nothing is left."""
        at, alike = bisect_left(self._sorted, text), self._alike
        longest = 0
        for start in range(max(0, at - alike), min(at + 1, len(self._sorted) - alike + 1)):
            first, last = self._sorted[start], self._sorted[start + alike - 1]
            longest = max(longest, min(common_prefix(text, first), common_prefix(text, last)))
        whole = text.rfind(" ", 0, longest) + 1
        return f"{ELLIPSIS}{text[whole:]}" if whole >= LEAST and len(text) > longest else text


def leads_of(session: OpenData) -> SharedBeginnings:
    """What the first rows of the data begin with."""
    return SharedBeginnings(
        [_clip(_words(made.conversation)) for row in session.sample if (made := session.early(row)).conversation]
    )


def preview(inspection: Inspection, leads: SharedBeginnings) -> str:
    """The first words that tell a row apart: of its user's messages, its prompt or text, or the row itself."""
    text = _clip(_words(inspection.conversation))
    return leads.past(text)[:PREVIEW] if text else clipped(inspection.row.raw)


def clipped(text: str) -> str:
    """The beginning of a row as it is stored."""
    return _clip(text)[:PREVIEW]


def _words(found: Conversation | None) -> str:
    if found is None:
        return ""
    if found.kind is not Kind.CHAT:
        return found.prompt or found.text or ""
    prompts = [message for message in found.messages if message.role == "user"] or list(found.messages[:1])
    return " · ".join(filter(None, (_text(message.content) for message in prompts[:PREVIEW])))


def _text(content: object) -> str:
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content[:PREVIEW] if isinstance(part, dict))
    return content[:READ] if isinstance(content, str) else ""


def _clip(text: str) -> str:
    return " ".join(text[:READ].split())
