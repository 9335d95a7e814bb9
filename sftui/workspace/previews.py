"""What a row of the list begins with: the user's own words, past what many rows begin with."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from sftui.model import Conversation, Inspection, Kind, common_prefix
from sftui.session.opened import OpenData
from sftui.text import ELLIPSIS

PREVIEW = 200
READ = 4 * PREVIEW
"""Characters of a text that are looked at."""
LEAST = 24
"""Characters that rows begin with by chance."""
PART = 4
"""One row in so many begins alike, and three at least: that is the set's own wording and no row's."""


class Leads:
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


def leads_of(session: OpenData) -> Leads:
    """What the first rows of the data begin with."""
    return Leads(
        [_clip(_words(made.conversation)) for row in session.sample if (made := session.early(row)).conversation]
    )


def preview(inspection: Inspection, leads: Leads) -> str:
    """The first words that tell a row apart: of its user's messages, its prompt or text, or the row itself."""
    found = inspection.conversation
    text = _clip(_words(found)) if found is not None else ""
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
