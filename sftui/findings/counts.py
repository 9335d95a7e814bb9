"""What is counted of a row's tokens, once for all that gather rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sftui.findings.look import Look, stretches
from sftui.model import IGNORE_INDEX, Inspection
from sftui.runs import Stretch


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of one row, 0 where it has no labels.

    `tokens` and `trained` are before anything is cut, `received` and `received_trained` of what the trainer gets.
    `drawn` are the trained tokens of each of `stretches`, before anything is cut too.
    """

    roles: tuple[str, ...]
    tokens: int = 0
    trained: int = 0
    received: int = 0
    received_trained: int = 0
    stretches: Sequence[Stretch] = ()
    drawn: Sequence[int] = ()

    @classmethod
    def of(cls, inspection: Inspection, look: Look | None = None) -> Counts:
        """The counts of a row; `look`: what its checks have worked out already."""
        conversation, tokens, labels = inspection.conversation, inspection.tokens, inspection.labels
        if look is not None:
            roles = look.roles
        else:
            roles = tuple([message.role for message in conversation.messages]) if conversation is not None else ()
        if tokens is None or labels is None:
            return cls(roles)
        values = labels.labels
        n = len(values)
        trained = n - values.count(IGNORE_INDEX)
        received = received_trained = 0
        for example in inspection.examples:
            received += len(example.input_ids)
            same = example.labels is values and example.ignore_index == IGNORE_INDEX
            received_trained += trained if same else example.trained
        runs = stretches(tokens) if look is None else look.stretches
        return cls(roles, n, trained, received, received_trained, runs, drawn_in(runs, values, trained))


def drawn_in(runs: Sequence[Stretch], labels: Sequence[int], trained: int) -> list[int]:
    """How many tokens of each stretch have a label, of `trained` in all."""
    found = []
    for start, end, _, _ in runs:
        here = end - start - labels[start:end].count(IGNORE_INDEX) if trained else 0
        trained -= here
        found.append(here)
    return found
