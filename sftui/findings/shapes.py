"""What rows have in common whatever their messages say.

A check that can find nothing by the shape of one row finds nothing in any row of that shape, so that it is decided once
for all of them which checks are run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from sftui.conversations.messages import KNOWN_ROLES
from sftui.findings.manners import Manner
from sftui.model import Kind, Part

RESULT_ROLES = ("tool", "function", "ipython", "environment")
"""Roles of results; `function` is LLaMA-Factory's name for a call, and aliases are reported as such (ROL001)."""
NONE, SOME, ALL = range(3)
"""How many of some tokens the mask trains, their extent; of no tokens none."""


def extent_of(masked: int, tokens: int) -> int:
    """The extent of so many tokens, of which so many are masked."""
    return NONE if masked == tokens else SOME if masked else ALL


@dataclass(frozen=True, slots=True)
class Order:
    """What the roles of a row tell in their order, whatever the messages say: the numbers of the messages that are the
    system's, the assistant's, of an instruction (system, developer), of a turn (user, assistant)."""

    known: bool
    system: tuple[int, ...]
    answers: tuple[int, ...]
    instructions: frozenset[int]
    turns: frozenset[int]
    tools: bool


@lru_cache(maxsize=1000)
def order_of(roles: tuple[str, ...]) -> Order:
    """The order of roles, worked out once for all rows that have the same."""
    places: dict[str, list[int]] = {}
    for number, role in enumerate(roles):
        places.setdefault(role, []).append(number)
    system, answers = places.get("system", []), places.get("assistant", [])
    return Order(
        KNOWN_ROLES.issuperset(places),
        tuple(system),
        tuple(answers),
        frozenset([*system, *places.get("developer", [])]),
        frozenset([*places.get("user", []), *answers]),
        not places.keys().isdisjoint(RESULT_ROLES),
    )


class RowShape(NamedTuple):
    """The shape of a row: how far it came (`kind` None: it is no conversation), what its messages are made of, and
    where it is trained.

    `tools`, `extra`: the conversation has some. From `labelled` on the fields are of rows with tokens and labels:
    `known` as in `RowLook`, `whole`: the trainer receives all tokens, `dropped`: it drops the row, `pieces`: it encodes
    part by part, `merged`: the prompt alone has other tokens, `extent` of the whole row, and stretch by stretch who
    wrote it, which part it is, and its extent.
    """

    kind: Kind | None
    stopped: bool
    roles: tuple[str, ...] = ()
    manner: Manner = Manner()
    tools: bool = False
    extra: bool = False
    labelled: bool = False
    known: bool = False
    whole: bool = False
    dropped: bool = False
    pieces: bool = False
    merged: bool = False
    extent: int = NONE
    messages: tuple[int, ...] = ()
    parts: tuple[Part, ...] = ()
    extents: tuple[int, ...] = ()

    @property
    def order(self) -> Order:
        return order_of(self.roles)

    @property
    def placed(self) -> frozenset[int]:
        """The messages of whose content there are tokens: all of them are in `RowLook.placed`."""
        return frozenset([number for number, part in zip(self.messages, self.parts) if part is Part.CONTENT])

    def trained(self, part: Part, *roles: str) -> list[int]:
        """The messages of these roles of whose part some token is trained, in order."""
        return [number for number, extent in self._drawn(part).items() if extent and self.roles[number] in roles]

    def masked(self, part: Part, *roles: str) -> list[int]:
        """The same of which some token is not."""
        return [number for number, extent in self._drawn(part).items() if extent < ALL and self.roles[number] in roles]

    def _drawn(self, part: Part) -> Mapping[int, int]:
        """The extents of a part by message, from its first token to its last as `RowLook.turns` has it; empty where it
        is not known who wrote what."""
        if not self.known or self.kind is not Kind.CHAT:
            return {}
        places: dict[int, tuple[int, int]] = {}
        for at, (number, own) in enumerate(zip(self.messages, self.parts)):
            if own is part and 0 <= number < len(self.roles):
                places[number] = places.get(number, (at, at))[0], at + 1
        drawn = [0, *accumulate(int(extent > NONE) for extent in self.extents)]
        masked = [0, *accumulate(int(extent < ALL) for extent in self.extents)]
        return {
            number: NONE if drawn[start] == drawn[end] else SOME if masked[start] < masked[end] else ALL
            for number, (start, end) in sorted(places.items())
        }
