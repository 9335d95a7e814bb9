"""What rows have in common whatever their messages say.

A check that can find nothing by the shape of one row finds nothing in any row of that shape, so that it is decided once
for all of them which checks are run.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from sftui.conversations.messages import KNOWN_ROLES
from sftui.findings.words import REASONING, content_texts, texts_beside
from sftui.model import Kind, Labels, Message, Part, Stage, Tokens
from sftui.runs import Ranges, Stretch, covered, stretches_of, together
from sftui.text import visible
from sftui.values import lazy

_REASONING = frozenset(REASONING)
PARTS = (Part.HEADER, Part.CONTENT, Part.TERMINATOR, Part.SEPARATOR)
"""The parts of a message in its order."""


class MessageTraits(NamedTuple):
    """What some message of a row is, or none of them; a part of the row's shape.

    `plain`: every one is a role and a text. `edged`: so, and some text is empty or has white space at its ends.
    `bordered`: some text that is not empty has. `silent`: so has one of the assistant, or it says nothing and calls
    nothing. `other`: there is content that is no text. `unsaid`: one has no text as content, and calls nothing.
    `called`: one calls tools; `beside`: and says something, too. `reasoned`: one keeps reasoning next to its content.
    `flagged`: one says of itself whether, or with which weight, it is trained. `mute` are those that say nothing.
    """

    plain: bool = True
    edged: bool = False
    bordered: bool = False
    silent: bool = False
    other: bool = False
    unsaid: bool = False
    called: bool = False
    beside: bool = False
    reasoned: bool = False
    flagged: bool = False
    mute: tuple[int, ...] = ()


class MessageSummary(NamedTuple):
    """The role of each message, all texts that they hold in their order (see `words.texts`), and their manner."""

    roles: tuple[str, ...]
    said: tuple[str, ...]
    manner: MessageTraits


def read(messages: Sequence[Message]) -> MessageSummary:
    """All that one go through the messages of a row tells."""
    roles: list[str] = []
    said: list[str] = []
    mute: list[int] = []
    plain = True
    empty = bordered = silent = other = unsaid = called = beside = reasoned = flagged = False
    for message in messages:
        data, calls = message.data, None
        role, content = data.get("role", ""), data.get("content")
        if type(role) is not str:
            role = str(role)
        if message.trained is not None or message.weight is not None:
            flagged = True
        if type(content) is str:
            said.append(content)
        else:
            said += content_texts(message)
        if type(content) is not str or len(data) != 2 or "role" not in data:
            plain = False
            calls, reasons = data.get("tool_calls"), not _REASONING.isdisjoint(data)
            if calls:
                called = True
                beside = beside or (content is not None and content != "")
            if reasons:
                reasoned = True
            if calls or reasons:
                said += texts_beside(message)
        if type(content) is str:
            bare = content.strip()
            if not bare or len(bare) < len(content):
                empty = empty or not content
                bordered = bordered or bool(content)
                silent = silent or (role == "assistant" and bool(bare or not calls))
                if not bare:
                    mute.append(len(roles))
        else:
            other = other or "content" in data
            unsaid = unsaid or content is not None or not calls
            if isinstance(content, str):  # of a kind of its own: what it says is for the checks to see
                bordered = silent = True
            else:
                mute.append(len(roles))
        roles.append(role)
    edged = plain and (empty or bordered)
    manner = MessageTraits(
        plain, edged, bordered, silent, other, unsaid, called, beside, reasoned, flagged, tuple(mute)
    )
    return MessageSummary(tuple(roles), tuple(said), manner)


LONGEST_NAME = 200
"""Characters of a name under which rows, or tokens, are counted."""
NONE, SOME, ALL = range(3)
"""How many of some tokens the mask trains, their extent; of no tokens none."""


@dataclass(frozen=True, slots=True)
class Order:
    """What the roles of a row tell in their order, whatever the messages say: the numbers of the messages that are the
    system's, the assistant's, of an instruction (system, developer), of a turn (user, assistant)."""

    known: bool
    system: tuple[int, ...]
    answers: tuple[int, ...]
    instructions: frozenset[int]
    turns: frozenset[int]


class _ShapeFields(NamedTuple):
    kind: Kind | None
    stopped: Stage | None
    ids: bool = False
    columns: tuple[str, ...] = ()
    types: tuple[type, ...] = ()
    rendered: bool = False
    roles: tuple[str, ...] = ()
    manner: MessageTraits = MessageTraits()
    tools: bool = False
    extra: bool = False
    labelled: bool = False
    known: bool = False
    whole: bool = False
    dropped: bool = False
    pieces: bool = False
    merged: bool = False
    ascii: bool = False
    cut_out: bool = False
    trains: bool = False
    messages: tuple[int, ...] = ()
    parts: tuple[Part, ...] = ()
    extents: tuple[int, ...] = ()


class RowShape(_ShapeFields):
    """The shape of a row: how far it came (`kind` None: it is no conversation), what its messages are made of, and
    where it is trained. Rows of one shape share one under a context, with all that is worked out for it.

    `ids`: its data hold a column of ids, `columns` are all of them and `types` those of their values. `rendered`: there
    is a text of it. `tools`, `extra`: the conversation has some. From `labelled` on the fields are of rows with tokens
    and labels: `known` and `cut_out` as in `RowLook` and `Spelling`, `whole`: the trainer receives all tokens,
    `dropped`: it drops the row, `pieces`: it encodes part by part, `merged`: the prompt alone has other tokens,
    `ascii`: the rendered text is, `trains`: some token is trained, and stretch by stretch who wrote it, which part it
    is, and its extent.
    """

    @lazy
    def asked(self) -> dict[frozenset[str] | None, Sequence[Any]]:
        """The checks of rows of this shape, by the signs that their texts hold (None: all)."""
        return {}

    @lazy
    def order(self) -> Order:
        """What the roles in their order tell."""
        places: dict[str, list[int]] = {}
        for number, role in enumerate(self.roles):
            places.setdefault(role, []).append(number)
        system, answers = places.get("system", []), places.get("assistant", [])
        return Order(
            KNOWN_ROLES.issuperset(places),
            tuple(system),
            tuple(answers),
            frozenset([*system, *places.get("developer", [])]),
            frozenset([*places.get("user", []), *answers]),
        )

    @lazy
    def owners(self) -> Sequence[tuple[str, int, str]]:
        """Who wrote each stretch: the role as it is counted, "" where it is of no message, the message and the part."""
        roles = dict(enumerate(self.roles))
        return [_owner(roles.get(message, ""), message, part) for message, part in zip(self.messages, self.parts)]

    @lazy
    def trained_roles(self) -> Sequence[tuple[tuple[str, str], Sequence[int]]]:
        """The roles of which something is trained, as the loss counts them, each with the stretches where it is."""
        found: dict[tuple[str, str], list[int]] = {}
        for at, owner in enumerate(self.owners):
            if self.extents[at] > NONE:
                found.setdefault(("role", owner[0]), []).append(at)
        return tuple(found.items())

    @lazy
    def turns_trained(self) -> bool | None:
        """Whether all answers of the chat are trained, or none, where it has several, in tokens; else None."""
        answers, places = self.order.answers, zip(self.messages, self.parts, self.extents)
        if self.kind is not Kind.CHAT or len(answers) < 2 or not self.placed.issuperset(answers):
            return None
        trained = {number for number, part, extent in places if extent and part is Part.CONTENT}
        return not trained or trained.issuperset(answers)

    @lazy
    def after_answers(self) -> Sequence[tuple[int, int]]:
        """The stretches of answers' content behind which more content comes, each with the next stretch of content."""
        own = [at for at, number in enumerate(self.messages) if self.parts[at] is Part.CONTENT and number >= 0]
        answers = self.order.answers
        return [(at, later) for at, later in pairwise(own) if self.messages[at] in answers]

    @lazy
    def placed(self) -> frozenset[int]:
        """The messages of whose content there are tokens: all of them are in `RowLook.placed`."""
        return frozenset([number for number, part in zip(self.messages, self.parts) if part is Part.CONTENT])

    def trained(self, part: Part, *roles: str) -> list[int]:
        """The messages of these roles of whose part some token is trained, in order."""
        return [number for number, extent in self._drawn(part).items() if extent and self.roles[number] in roles]

    def masked(self, part: Part, *roles: str) -> list[int]:
        """The same of which some token is not."""
        return [number for number, extent in self._drawn(part).items() if extent < ALL and self.roles[number] in roles]

    @lazy
    def stands(self) -> Mapping[tuple[int, Part], tuple[int, int]]:
        """From which stretch to which each part of a message stands, by the message and the part, half open; empty
        where it is not known who wrote what."""
        found: dict[tuple[int, Part], tuple[int, int]] = {}
        for at, owner in enumerate(zip(self.messages, self.parts) if self.known and self.kind is Kind.CHAT else ()):
            if 0 <= owner[0] < len(self.roles):
                found[owner] = found.get(owner, (at,))[0], at + 1
        return found

    @lazy
    def placed_parts(self) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
        """The messages that stand in the text, and of each of `PARTS` of each its first stretch and its last, counted
        from 1; 0 where it has none."""
        numbers = [n for n in range(len(self.roles)) if any((n, part) in self.stands for part in PARTS)]
        places = [self.stands.get((number, part), (-1, 0)) for number in numbers for part in PARTS]
        return numbers, [first + 1 for first, _ in places], [behind for _, behind in places]

    def _drawn(self, part: Part) -> Mapping[int, int]:
        """The extents of a part by message, from its first token to its last as `RowLook.turns` has it; empty where it
        is not known who wrote what."""
        drawn = [0, *accumulate(int(extent > NONE) for extent in self.extents)]
        masked = [0, *accumulate(int(extent < ALL) for extent in self.extents)]
        return {
            number: NONE if drawn[start] == drawn[end] else SOME if masked[start] < masked[end] else ALL
            for (number, own), (start, end) in sorted(self.stands.items())
            if own is part
        }


@lru_cache(maxsize=1000)
def _owner(role: str, message: int, part: Part) -> tuple[str, int, str]:
    return visible(role)[:LONGEST_NAME], message, part.value


SHOWN_ROLES = 40
MORE = " …"
"""Behind a signature that is shown in part."""


def signature_of(roles: Iterable[object]) -> str:
    """The roles of a row in order, joined by spaces and safe to draw."""
    return visible(" ".join(map(str, roles)))


def clipped(signature: str) -> str:
    """A signature for display: the first roles of a very long one."""
    roles = signature.split(" ", SHOWN_ROLES)
    return signature if len(roles) <= SHOWN_ROLES else " ".join(roles[:SHOWN_ROLES]) + MORE


def stretches(tokens: Tokens) -> Sequence[Stretch]:
    """The tokens that follow each other and are of one message and one part, in order."""
    if not tokens.placed:
        return ()
    known = stretches_of(tokens.messages, tokens.parts)
    return tuple(together(tokens.messages, tokens.parts)) if known is None else known


def trained_in(stretches: Sequence[Stretch], ranges: Ranges) -> Sequence[int]:
    """How many tokens of each stretch are trained; `ranges` are where tokens are."""
    last = stretches[-1][1] if stretches else 0
    if ranges == ((0, last),):
        return [end - start for start, end, _, _ in stretches]
    found = [0] * len(stretches)
    for start, end in ranges:
        at = bisect_left(stretches, (start + 1,)) - 1
        while start < end and start < last:
            until = stretches[at][1]
            if end < until:
                until = end
            found[at] += until - start
            start, at = until, at + 1
    return found


class Mask:
    """What the mask trains: `runs` are the ranges of tokens that carry loss, `trained` how many tokens, and
    `trained_in` how many of each of `stretches`. Every row with labels is asked for all of these."""

    def __init__(self, labels: Labels, stretches: Sequence[Stretch]) -> None:
        self.runs, self.size, self.stretches = labels.carrying, len(labels.values), stretches
        self.trained = covered(self.runs)
        self.trained_in = trained_in(stretches, self.runs)

    @property
    def extents(self) -> tuple[int, ...]:
        """How many tokens of each stretch it trains: NONE, SOME or ALL."""
        if self.trained == self.size:
            return (ALL,) * len(self.stretches)
        counted = zip(self.trained_in, self.stretches)
        return tuple([(count > 0) + (count == end - start) for count, (start, end, _, _) in counted])

    @lazy
    def drawn(self) -> tuple[bool, ...]:
        """Which tokens it trains."""
        found = [False] * self.size
        for start, end in self.runs:
            found[start:end] = [True] * (end - start)
        return tuple(found)
