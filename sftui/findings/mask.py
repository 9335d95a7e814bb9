"""What the mask of a row trains, before anything is cut."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from sftui.findings.shapes import extent_of
from sftui.flat import Ranges, covered
from sftui.model import Labels, Tokens
from sftui.runs import Stretch, stretches_of, together
from sftui.values import lazy


def stretches(tokens: Tokens) -> Sequence[Stretch]:
    """The tokens that follow each other and are of one message and one part, in order."""
    if not tokens.placed:
        return ()
    known = stretches_of(tokens.messages, tokens.parts)
    return tuple(together(tokens.messages, tokens.parts)) if known is None else known


def trained_in(stretches: Sequence[Stretch], ranges: Ranges) -> Mapping[int, int]:
    """Of which stretches tokens are trained, by their numbers in order, and of how many tokens each; `ranges` are where
    tokens are."""
    found: dict[int, int] = {}
    last = stretches[-1][1] if stretches else 0
    for start, end in ranges:
        at = bisect_left(stretches, (start + 1,)) - 1
        while start < end and start < last:
            until = stretches[at][1]
            if end < until:
                until = end
            found[at] = found.get(at, 0) + until - start
            start, at = until, at + 1
    return found


class Mask:
    """What the mask trains: `runs` are the ranges of tokens that carry loss, `trained` how many tokens, and
    `trained_in` how many in which of `stretches`. Every row with labels is asked for all of these."""

    def __init__(self, labels: Labels, stretches: Sequence[Stretch]) -> None:
        self.runs, self.size, self.stretches = labels.carrying, len(labels.values), stretches
        self.trained = covered(self.runs)
        self.trained_in = trained_in(stretches, self.runs)

    @lazy
    def extent(self) -> int:
        """How much of the row it trains."""
        return extent_of(self.size - self.trained, self.size)

    @lazy
    def drawn(self) -> tuple[bool, ...]:
        """Which tokens it trains."""
        found = [False] * self.size
        for start, end in self.runs:
            found[start:end] = [True] * (end - start)
        return tuple(found)
