"""What a finding leads to, in the terms of what the model learns: a rule names one of these, a verdict counts them."""

from __future__ import annotations

from enum import Enum


class Consequence(Enum):
    """What becomes of the rows that have a finding, the worst first.

    `sentence` goes with a count of rows, as in "no answer reaches the model in 300 of 300 rows"; `short` is of one row.
    """

    STOPS = ("stops", "the trainer cannot take", "the trainer cannot take it")
    UNREAD = ("unread", "no answer reaches the model in", "no answer reaches the model")
    UNTRAINED = ("untrained", "no answer is trained in", "no answer is trained")
    MISALIGNED = ("misaligned", "labels are not those of the tokens in", "labels of other tokens")
    GARBLED = ("garbled", "the model reads another text than the data says in", "read otherwise than it says")
    LOST = ("lost", "a part of what the data says never reaches the model in", "a part is left out")
    UNSERVED = ("unserved", "training writes otherwise than serving in", "served otherwise")
    UNSTOPPED = ("unstopped", "the model does not learn to stop in", "no stop is learnt")
    DROPPED = ("dropped", "the trainer drops", "dropped")
    QUESTIONS = ("questions", "more than the answers is trained in", "more than answers is trained")

    def __init__(self, label: str, sentence: str, short: str) -> None:
        self.label = label
        self.sentence = sentence
        self.short = short

    @property
    def lost(self) -> bool:
        """Whether the model then learns no answer of a row."""
        return self.name in ("STOPS", "UNREAD", "UNTRAINED", "DROPPED")

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return tuple(Consequence).index(self)


LOST = tuple(one.short for one in Consequence if one.lost)
