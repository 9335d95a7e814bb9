"""Why two recipes give a row otherwise: which of their settings, switched, make it the same.

Nothing is read out of the settings themselves. One recipe is given those of the other, and the row is prepared again:
the settings that must go over until both are equal are the cause.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

from sftui.comparison.rows import RowComparison, RowSide
from sftui.model import IGNORE_INDEX, NOWHERE, Part
from sftui.recipe import Recipe, changed, diff, get

TRAINER = "trainer"
"""The setting that is the trainer's own code, with its release and the options that no other trainer has."""
TOKENIZER = "tokenizer"
"""The setting that is another tokenizer: its name, its revision, its class, and the transformers that loads it."""
DRAWN = "drawn"
"""No setting: a tokenizer that cuts the same text otherwise each time."""
TRANSFORMERS = "transformers"
"""The setting that is the release of transformers alone."""
_NAMED = ("tokenizer.name", "tokenizer.revision", "tokenizer.type")

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

Version = Callable[[Recipe], str]
"""The release of transformers that a recipe means."""
Differs = Callable[[frozenset[str]], RowComparison | None]
"""A row under the first recipe next to the second one with some settings of the first; None where it cannot be made."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One difference of two recipes: a knob by its path, or one of the names above; `values` as either has it."""

    name: str
    values: tuple[Any, Any]


@dataclass(frozen=True, slots=True)
class Cause:
    """Rows that differ for one reason: the settings that must be switched together, none where no setting explains it.

    `bound` are those that go over only because the first trainer does not take the value of the second. `tokens` counts
    differing tokens, `trained` those that carry loss and `received` those that reach the trainer, a figure a side;
    `one_sided` are rows that only one of them gets. `first` are the first of the rows, by number.
    `ids` are differing tokens of other ids, `does` is what either side trains of these rows, `gone` why it does not get
    the first of those that it does not get.
    """

    settings: tuple[Setting, ...]
    bound: tuple[Setting, ...] = ()
    rows: int = 0
    tokens: int = 0
    trained: tuple[int, int] = (0, 0)
    received: tuple[int, int] = (0, 0)
    one_sided: int = 0
    first: tuple[int, ...] = ()
    ids: int = 0
    does: tuple[Doing, Doing] = (Counter(), Counter())
    gone: tuple[str, str] = ("", "")

    def plus(self, row: RowComparison) -> Cause:
        """The same with one more row, as the two recipes give it."""
        one, other = row.sides
        return replace(
            self,
            rows=self.rows + 1,
            tokens=self.tokens + row.differing_tokens,
            trained=(self.trained[0] + one.trained, self.trained[1] + other.trained),
            received=(self.received[0] + one.received, self.received[1] + other.received),
            one_sided=self.one_sided + row.one_sided,
            first=(*self.first, row.row)[:FIRST],
            ids=self.ids + row.ids_differing,
            does=(self.does[0] + doing(one), self.does[1] + doing(other)),
            gone=(self.gone[0] or one.gone or "", self.gone[1] or other.gone or ""),
        )


@dataclass(frozen=True, slots=True)
class Causes:
    """What was found of the rows that differ; `of` says how many there are, `looked_at` how many were tried."""

    found: tuple[Cause, ...]
    looked_at: int
    of: int


FIRST = 5
"""How many rows of a cause are named."""


@dataclass(frozen=True, slots=True)
class Switch:
    """The settings that make a row the same once all of them are switched, and of which none can be left out.

    `bound` are those of them without which the row cannot be prepared at all.
    """

    names: frozenset[str]
    bound: frozenset[str] = frozenset()


def settings_between(one: Recipe, other: Recipe, version: Version) -> tuple[Setting, ...]:
    """Every setting in which two recipes differ, the one that says least first: what remains at last is the cause."""
    changes = {change.path: (change.before, change.after) for change in diff(one, other)}
    found = []
    if "preset" in changes:
        found.append(Setting(TRAINER, changes["preset"]))
    releases = version(one), version(other)
    if any(path in changes for path in _NAMED):
        found.append(Setting(TOKENIZER, (one.tokenizer.name, other.tokenizer.name)))
    elif releases[0] != releases[1]:
        found.append(Setting(TRANSFORMERS, releases))
    named = {"preset", *_NAMED, "tokenizer.transformers"}
    alike = _options_alike(one, other)
    found += [
        Setting(path, values)
        for path, values in changes.items()
        if path not in named and (alike or not path.startswith("own."))
    ]
    return tuple(found)


def _options_alike(one: Recipe, other: Recipe) -> bool:
    """Whether both are of trainers with the same options of their own, which may go over one by one."""
    return type(one.own) is type(other.own)


def switched(one: Recipe, other: Recipe, names: Collection[str], version: Version) -> Recipe:
    """The second recipe with these settings as the first has them."""
    made = other
    if TRAINER in names:
        own = other.own if _options_alike(one, other) else one.own
        made = replace(made, trainer=one.trainer, version=one.version, own=own)
    loaded = one if TOKENIZER in names or TRANSFORMERS in names else other
    for path in (*(_NAMED if TOKENIZER in names else ()), *(name for name in names if "." in name)):
        made = changed(made, path, get(one, path))
    if version(made) != version(loaded):
        made = changed(made, "tokenizer.transformers", version(loaded))
    return made


def explained(names: Sequence[str], differs: Differs, known: Iterable[Switch]) -> Switch | None:
    """The switch that makes a row the same; None where all settings together do not.

    `known` are those of other rows, which are tried first, the smaller ones before. `names` in the order in which they
    are left out.
    """

    def equal(some: frozenset[str]) -> bool:
        made = differs(some)
        return made is not None and not made.differs

    for one in sorted(known, key=lambda one: (len(one.names), sorted(one.names))):
        if equal(one.names):
            return one
    left = frozenset(names)
    if not equal(left):
        return None
    for name in names:
        if equal(left - {name}):
            left = left - {name}
    bound = frozenset(name for name in left if TRAINER in left and name != TRAINER and _fails(differs(left - {name})))
    return Switch(left, bound)


def _fails(made: RowComparison | None) -> bool:
    return made is None or (made.sides[1].stopped and not made.sides[0].stopped)


def collect(
    rows: Iterable[tuple[RowComparison, Switch | None]], settings: Sequence[Setting]
) -> Iterator[tuple[Cause, ...]]:
    """The causes after each row, those of most rows first."""
    found: dict[Switch | None, Cause] = {}
    for row, switch in rows:
        if switch not in found:
            own = [setting for setting in settings if switch is not None and setting.name in switch.names]
            free = tuple(one for one in own if switch is not None and one.name not in switch.bound)
            found[switch] = Cause(free, tuple(one for one in own if one not in free))
        found[switch] = found[switch].plus(row)
        yield tuple(sorted(found.values(), key=lambda cause: -cause.rows))


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
