"""How the checks of one section are listed, by what they need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sftui.findings.context import Context
from sftui.findings.look import Look
from sftui.findings.model import Finding
from sftui.model import Inspection

RowCheck = Callable[[Look], Iterable[Finding]]
SetupCheck = Callable[[Context, Sequence[Inspection]], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class Checks:
    """The checks of a section.

    `data` needs the row only, `conversation` a conversation, `stopped` a row that failed at some stage,
    `labelled` tokens and labels. `slow` is like `labelled` and encodes or renders again. `setup` is run once.
    """

    data: tuple[RowCheck, ...] = ()
    conversation: tuple[RowCheck, ...] = ()
    stopped: tuple[RowCheck, ...] = ()
    labelled: tuple[RowCheck, ...] = ()
    slow: tuple[RowCheck, ...] = ()
    setup: tuple[SetupCheck, ...] = ()
