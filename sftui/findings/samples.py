"""Rows of which a trainer makes several samples: what a later one says again is of no message to the checks.

Each sample holds the messages of the one before it once more. A check that asks where a message stands, and whether it
is trained there, means the sample in which the message is new.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sftui.model import NOWHERE, Part, RenderedText, Span, Tokens
from sftui.runs import joined, together


def said_once(rendered: RenderedText) -> RenderedText:
    """The text with the spans of messages that an earlier sample holds marked as nobody's."""
    if not rendered.samples:
        return rendered
    spans: list[Span] = []
    seen: set[int] = set()
    at, left = 0, list(rendered.spans)
    for sample in rendered.samples:
        at += len(sample.text)
        own = [span for span in left if span.end <= at]
        left = left[len(own) :]
        spans += [span._replace(message=NOWHERE, part=Part.INJECTED) if span.message in seen else span for span in own]
        seen |= _of(span.message for span in own)
    return replace(rendered, spans=(*spans, *left))


def tokens_once(tokens: Tokens) -> Tokens:
    """The same of tokens."""
    if not tokens.samples or not tokens.placed:
        return tokens
    owners: list[tuple[int, int, Part]] = []
    seen: set[int] = set()
    for sample in tokens.samples:
        messages = tokens.messages[sample.start : sample.end]
        own = list(together(messages, tokens.parts[sample.start : sample.end]))
        for start, end, message, part in own:
            again = message in seen
            owners.append((end - start, NOWHERE if again else message, Part.INJECTED if again else part))
        seen |= _of(message for _, _, message, _ in own)
    return replace(
        tokens,
        messages=joined((length, message) for length, message, _ in owners),
        parts=joined((length, part) for length, _, part in owners),
    )


def _of(messages: Iterable[int]) -> set[int]:
    return {message for message in messages if message != NOWHERE}
