"""What the mask of a row trains, before anything is cut."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from sftui.findings.shapes import extent_of
from sftui.model import IGNORE_INDEX, Tokens, Trained
from sftui.runs import Stretch, stretches_of, together
from sftui.values import lazy


def stretches(tokens: Tokens) -> Sequence[Stretch]:
    """The tokens that follow each other and are of one message and one part, in order."""
    if not tokens.placed:
        return ()
    known = stretches_of(tokens.messages, tokens.parts)
    return tuple(together(tokens.messages, tokens.parts)) if known is None else known


def trained_in(stretches: Sequence[Stretch], labels: Sequence[int], trained: int) -> Mapping[int, int]:
    """Of which stretches tokens have a label, by their numbers in order, and of how many tokens each; `trained` have
    one in all."""
    found: dict[int, int] = {}
    if type(labels) is Trained and stretches:
        last = stretches[-1][1]
        for start, end in labels.ranges:
            at = bisect_left(stretches, (start + 1,)) - 1
            while start < end and start < last:
                until = stretches[at][1]
                if end < until:
                    until = end
                found[at] = found.get(at, 0) + until - start
                start, at = until, at + 1
        return found
    for at, (start, end, _, _) in enumerate(stretches):
        if not trained:
            break
        count = end - start - labels[start:end].count(IGNORE_INDEX)
        if count:
            found[at] = count
            trained -= count
    return found


class Mask:
    """What the mask trains: `labels`, masked also where a weight of 0 takes a token out of the loss, how many of them
    train, and how many in which of `stretches`. Every row with labels is asked for all of these."""

    def __init__(self, labels: tuple[int, ...], stretches: Sequence[Stretch]) -> None:
        self.labels, self.stretches = labels, stretches
        if type(labels) is Trained:
            self.trained = sum([end - start for start, end in labels.ranges])
        else:
            self.trained = len(labels) - labels.count(IGNORE_INDEX)
        self.trained_in = trained_in(stretches, labels, self.trained)

    @lazy
    def extent(self) -> int:
        """How much of the row it trains."""
        n = len(self.labels)
        return extent_of(n - self.trained, n)

    @lazy
    def drawn(self) -> tuple[bool, ...]:
        """Which tokens it trains."""
        return tuple([label != IGNORE_INDEX for label in self.labels])

    @lazy
    def runs(self) -> tuple[tuple[int, int], ...]:
        """The half-open ranges of tokens that it trains."""
        if type(self.labels) is Trained:
            return self.labels.ranges
        found: list[tuple[int, int]] = []
        drawn, at, n = self.drawn, 0, len(self.drawn)
        while at < n:
            try:
                start = drawn.index(True, at)
            except ValueError:
                break
            try:
                at = drawn.index(False, start)
            except ValueError:
                at = n
            found.append((start, at))
        return tuple(found)
