"""What a side trains of rows, counted by who wrote it: from this it is told in words what a trainer does."""

from __future__ import annotations

from collections import Counter
from itertools import repeat

from sftui.comparison.rows import RowSide
from sftui.model import IGNORE_INDEX, NOWHERE, Part

ANSWERS = ("assistant", "completion")
"""Roles whose messages are answers."""
LAST, EARLIER, TEXT, REST = "-last", "-earlier", "-text", "-rest"
"""Who wrote a token, where no role says it: the last answer of a row, one before it, text without messages, and what
nothing says, as a template's own words."""
Doing = Counter[tuple[str, str, bool]]
"""Tokens by who wrote them, by what of an answer they are (`content`, `header`, `end`, `behind` it) and by whether they
are trained. With "" for what, beside these: tokens that are `cut`, and rows whose `first` token is masked, that are set
`aside`, that are `gone`, whose labels are `others` than the ids at their place."""
_PARTS = {Part.CONTENT: "content", Part.HEADER: "header", Part.TERMINATOR: "end"}


def doing(side: RowSide) -> Doing:
    """What a side trains of one row."""
    tokens, roles = side.tokens, side.roles
    if side.gone is not None or tokens is None:
        return Counter({("gone", "", True): 1})
    known = len(tokens.messages) == len(tokens.parts) == len(side.labels)
    last = max((number for number, role in enumerate(roles) if role in ANSWERS), default=NOWHERE)
    carry = [None if label is None else label != IGNORE_INDEX for label in side.labels]
    kept = [i for i, carries in enumerate(carry) if carries is not None]
    written = zip(tokens.messages, tokens.parts) if known else repeat((NOWHERE, Part.INJECTED))
    made: Doing = Counter()
    for ((number, part), trained), count in Counter(zip(written, carry)).items():
        who = roles[number] if NOWHERE < number < len(roles) else TEXT
        if who in ANSWERS:
            who, what = LAST if number == last else EARLIER, _PARTS.get(part, "behind")
        else:
            who, what = who if part is Part.CONTENT else REST, "content"
        made[("cut", "", True) if trained is None else (who, what, trained)] += count
    made["first", "", True] += bool(kept) and not carry[kept[0]]
    made["aside", "", True] += bool(side.evaluates)
    made["others", "", True] += any(carry[i] and side.labels[i] != side.ids[i] for i in kept)
    return made
