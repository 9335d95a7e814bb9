"""What a repair works on, and what it says it did."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Data = Mapping[str, Any]
Item = Mapping[str, Any]
Controls = Callable[[str], Sequence[str]]
"""Text → the control tokens typed in it."""


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


@dataclass(frozen=True, slots=True)
class RepairLayout:
    """Where a set keeps what repairs touch.

    `columns` hold lists of messages, `texts` plain text; `tools` is the column of the tool list. `roles` maps the
    data's roles to those that templates see. `decisive` are all columns that the set is read from (None: `columns` and
    `texts`), `body` those of them that say something by themselves; `said` are the `texts` that become messages,
    `answer` is the column of the answer, `history` that of pairs that stand before them.
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

    def role_of(self, item: Any) -> str:
        """The role of a message as templates see it; "" for what has none."""
        role = item.get(self.role) if isinstance(item, Mapping) else None
        return self.roles.get(role, role) if isinstance(role, str) else ""


@dataclass(frozen=True, slots=True)
class Repair:
    """One repair: a pure function from a row's data to new data and what changed; the same object where nothing did."""

    name: str
    title: str
    apply: Callable[[Data, RepairLayout], tuple[Data, tuple[RowChange, ...]]]


def with_items(
    data: Data, layout: RepairLayout, repair: Callable[[str, Sequence[Any]], tuple[Sequence[Any], list[RowChange]]]
) -> tuple[Data, tuple[RowChange, ...]]:
    """The row with `repair(column, messages)` in place of every list of messages."""
    changes: list[RowChange] = []
    new: dict[str, Any] = {}
    for column in layout.columns:
        items = data.get(column)
        if isinstance(items, (list, tuple)):
            repaired, some = repair(column, items)
            if some:
                new[column] = repaired
                changes += some
    return ({**data, **new} if changes else data), tuple(changes)


def each_item(
    data: Data, layout: RepairLayout, repair: Callable[[str, Item], tuple[Item, list[RowChange]]]
) -> tuple[Data, tuple[RowChange, ...]]:
    """The row with `repair(place, message)` in place of every message that is a mapping."""

    def one_list(column: str, items: Sequence[Any]) -> tuple[Sequence[Any], list[RowChange]]:
        changes: list[RowChange] = []
        out = []
        for number, item in enumerate(items):
            if isinstance(item, Mapping):
                item, some = repair(f"{column}[{number}]", item)
                changes += some
            out.append(item)
        return out, changes

    return with_items(data, layout, one_list)


RepairContent = Callable[[str, Any], tuple[Any, list[RowChange]]]
"""Place and text (or parts) → the text after, and what changed."""


def each_content(
    data: Data, layout: RepairLayout, columns: Sequence[str], repair: RepairContent
) -> tuple[Data, tuple[RowChange, ...]]:
    """The row with `repair` made on what every message says, on these text columns, and on each turn of the history."""

    def one_item(place: str, item: Item) -> tuple[Item, list[RowChange]]:
        content, some = repair(f"{place}.{layout.content}", item.get(layout.content))
        return ({**item, layout.content: content} if some else item), some

    repaired, changes = each_item(data, layout, one_item)
    for column in columns:
        content, some = repair(column, repaired.get(column))
        if some:
            repaired, changes = {**repaired, column: content}, (*changes, *some)
    repaired, more = each_turn(repaired, layout, repair)
    return repaired, (*changes, *more)


def each_turn(data: Data, layout: RepairLayout, repair: RepairContent) -> tuple[Data, tuple[RowChange, ...]]:
    """The row with `repair` made on both sides of every pair of the history."""
    pairs = data.get(layout.history) if layout.history else None
    if not layout.history or not isinstance(pairs, (list, tuple)):
        return data, ()
    changes: list[RowChange] = []
    out: list[Any] = []
    for number, pair in enumerate(pairs):
        if isinstance(pair, (list, tuple)) and len(pair) == 2:
            turns = [repair(f"{layout.history}[{number}][{side}]", turn) for side, turn in enumerate(pair)]
            some = [change for _, made in turns for change in made]
            changes += some
            out.append([turn for turn, _ in turns] if some else pair)
        else:
            out.append(pair)
    return ({**data, layout.history: out} if changes else data), tuple(changes)


def quote(value: Any, most: int = 60) -> str:
    """A value of the data in a log line, cut to a bearable length."""
    text = value if isinstance(value, str) else repr(value)
    return repr(text if len(text) <= most else text[:most] + "…")
