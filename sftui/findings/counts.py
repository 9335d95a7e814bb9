"""What is counted of a row's tokens, once for all that gather rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from sftui.findings.calls import Tools, declared
from sftui.findings.look import RowLook
from sftui.findings.manners import Read, read
from sftui.findings.mask import Mask, stretches
from sftui.model import Inspection
from sftui.runs import Stretch
from sftui.values import value_class


@value_class
class RowCounts:
    """Counts of one row, 0 where it has no labels.

    `tokens` and `trained` are before anything is cut, `received` and `received_trained` of what the trainer gets.
    `drawn` are the trained tokens of those of `stretches` that have some, before anything is cut too (`trained_in`),
    `special` the places of trained special tokens, where they are known. `read` and `tools` are what its messages and
    its list of tools say, where it has one.
    """

    read: Read
    tools: Tools | None = None
    tokens: int = 0
    trained: int = 0
    received: int = 0
    received_trained: int = 0
    stretches: Sequence[Stretch] = ()
    drawn: Mapping[int, int] = field(default_factory=dict)
    special: Sequence[int] | None = None

    @property
    def roles(self) -> tuple[str, ...]:
        return self.read.roles

    @classmethod
    def of(cls, inspection: Inspection, look: RowLook | None = None) -> RowCounts:
        """The counts of a row; `look`: what its checks have worked out already."""
        conversation, tokens, labels = inspection.conversation, inspection.tokens, inspection.labels
        said = read(() if conversation is None else conversation.messages) if look is None else look.read
        offered = None
        if conversation is not None and conversation.tools:
            offered = declared(conversation.tools) if look is None else look.tools
        if tokens is None or labels is None:
            return cls(said, offered)
        mask = Mask(labels, stretches(tokens)) if look is None else look.mask
        n, trained = mask.size, mask.trained
        special = None if look is None else look.special_trained
        received = received_trained = 0
        for example in inspection.examples:
            received += example.size
            received_trained += example.trained
        return cls(said, offered, n, trained, received, received_trained, mask.stretches, mask.trained_in, special)
