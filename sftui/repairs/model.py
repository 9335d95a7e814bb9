"""What a repair works on, and what it says it did."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import is_not
from typing import Any, Protocol

Data = Mapping[str, Any]
Item = Mapping[str, Any]
Controls = Callable[[str], Sequence[str]]
"""Text → the control tokens typed in it."""
RepairContent = Callable[[str, Any], Any]
"""Place and text (or parts) → the text after."""


@dataclass(frozen=True, slots=True)
class RowChange:
    """One thing that a repair did: where in the row, and in words what became of it.

    `place` is a path such as `messages[2].content`, "" for the row; `what` may quote the data, so it is for
    `text.visible` before it is drawn.
    """

    repair: str
    place: str
    what: str

    def to_json(self) -> dict[str, str]:
        """The change as one entry of the log."""
        return {"repair": self.repair, "place": self.place, "what": self.what}


def put(data: Mapping[str, Any], key: str, value: Any) -> Mapping[str, Any]:
    """A mapping with this value; the very same where it has it."""
    return data if data.get(key) is value else {**data, key: value}


def each(items: Sequence[Any], repair: Callable[[int, Any], Any]) -> Sequence[Any]:
    """A list with `repair(number, item)` in place of each item; the very same where that gives each of them back."""
    made = [repair(number, item) for number, item in enumerate(items)]
    return made if any(map(is_not, made, items)) else items


@dataclass(frozen=True, slots=True)
class RepairLayout:
    """Where a set keeps what repairs touch.

    `columns` hold lists of messages, `texts` plain text; `tools` is the column of the tool list. `roles` maps the
    data's roles to those that templates see. `decisive` are all columns that the set is read from (None: `columns` and
    `texts`), `body` those of them that say something by themselves; `said` are the `texts` that become messages,
    `answer` is the column of the answer, `history` that of pairs that stand before them. `sides` are those of the
    chosen and the rejected answer of preferences, `prompt` that of their prompt.
    """

    columns: tuple[str, ...] = ("messages",)
    texts: tuple[str, ...] = ()
    tools: str | None = "tools"
    role: str = "role"
    content: str = "content"
    roles: Mapping[str, str] = field(default_factory=dict)
    decisive: tuple[str, ...] | None = None
    body: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    answer: str | None = None
    history: str | None = None
    prompt: str | None = None
    sides: tuple[str, ...] = ()

    def role_of(self, item: Any) -> str:
        """The role of a message as templates see it; "" for what has none."""
        role = item.get(self.role) if isinstance(item, Mapping) else None
        return self.roles.get(role, role) if isinstance(role, str) else ""

    def with_items(self, data: Data, repair: Callable[[str, Sequence[Any]], Sequence[Any]]) -> Data:
        """The row with `repair(column, messages)` in place of every list of messages."""
        for column in self.columns:
            items = data.get(column)
            if isinstance(items, (list, tuple)):
                data = put(data, column, repair(column, items))
        return data

    def each_item(self, data: Data, repair: Callable[[str, Item], Item]) -> Data:
        """The row with `repair(place, message)` in place of every message that is a mapping."""

        def in_list(column: str, items: Sequence[Any]) -> Sequence[Any]:
            return each(items, lambda n, item: repair(f"{column}[{n}]", item) if isinstance(item, Mapping) else item)

        for column in self.sides:  # LLaMA-Factory has one message there
            if isinstance(item := data.get(column), Mapping):
                data = put(data, column, repair(column, item))
        return self.with_items(data, in_list)

    def each_content(self, data: Data, columns: Sequence[str], repair: RepairContent) -> Data:
        """The row with `repair` made on what every message says, on these text columns and each turn of the history."""
        key = self.content
        data = self.each_item(data, lambda place, item: put(item, key, repair(f"{place}.{key}", item.get(key))))
        for column in columns:
            data = put(data, column, repair(column, data.get(column)))
        return self.each_turn(data, repair)

    def each_turn(self, data: Data, repair: RepairContent) -> Data:
        """The row with `repair` made on both sides of every pair of the history."""
        column = self.history
        pairs = data.get(column) if column else None
        if not column or not isinstance(pairs, (list, tuple)):
            return data

        def in_pair(number: int, pair: Any) -> Any:
            if not isinstance(pair, (list, tuple)) or len(pair) != 2:
                return pair
            return each(pair, lambda side, turn: repair(f"{column}[{number}][{side}]", turn))

        return put(data, column, each(pairs, in_pair))


@dataclass(slots=True)
class RepairLog:
    """What one repair did to a row, in order."""

    repair: str
    changes: list[RowChange] = field(default_factory=list)

    def note(self, place: str, what: str, repair: str = "") -> None:
        """One more change; `repair` where it goes by another name."""
        self.changes.append(RowChange(repair or self.repair, place, what))


class Regrouping(Protocol):
    """Rows put together, or taken apart; `waiting` are those that are left over so far."""

    waiting: int

    def rows(self, row: Data, line: bytes | None) -> Iterator[tuple[Data, bytes | None]]:
        """The rows that there are with this one, each with the line of JSON that most of it stood in."""
        ...


@dataclass(frozen=True, slots=True)
class Repair:
    """One repair: `work` makes new data of a row's and notes what changed; the same object where nothing did."""

    name: str
    title: str
    work: Callable[[Data, RepairLayout, RepairLog], Data]
    layout: RepairLayout | None = None
    """Where rows keep what other repairs touch once this one is made; None: where they kept it."""
    regroup: Callable[[], Regrouping] | None = None
    """What makes other rows of those that all repairs are made on: two of one, or one of two."""

    def apply(self, data: Data, layout: RepairLayout) -> tuple[Data, tuple[RowChange, ...]]:
        """The data after it, the same object where nothing changed, and what did."""
        log = RepairLog(self.name)
        made = self.work(data, layout, log)
        return (made if log.changes else data), tuple(log.changes)


def quote(value: Any, most: int = 60) -> str:
    """A value of the data in a log line, cut to a bearable length."""
    text = value if isinstance(value, str) else repr(value)
    return repr(text if len(text) <= most else text[:most] + "…")
