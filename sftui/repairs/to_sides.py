"""Preferences of any shape → the columns of another one: pairs, or single answers with a label (KTO).

A trainer that knows preferences says which columns hold what; the messages themselves are read by no trainer's rules.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from sftui.conversations import Detection, detect
from sftui.conversations import convert as read_plainly
from sftui.conversations.convert import alpaca_prompt, history_of
from sftui.conversations.detected import mistyped
from sftui.conversations.openai import MESSAGES
from sftui.errors import ConversationError, SftuiError
from sftui.model import DESIRABLE, SIDES, Conversation, Row, common_prefix
from sftui.recipe import Data, Recipe, changed
from sftui.repairs.model import Data as RowData
from sftui.trainers import TRAINERS, preset, trainer_named, trainer_of
from sftui.values import with_fields

LABEL = "label"
_READ_WHOLE = ("rejected_messages", "rejected_response")
_AROUND = ("tools", "system", "template_kwargs")


def fields_of(sample: Sequence[Row], recipe: Recipe, found: Detection) -> Detection:
    """How the first rows are read as preferences: as `found`, else as the first trainer reads them that can, for the
    recipe's objective or another, else as two whole conversations."""
    ways = ((one, way) for one, way in ((recipe, found), *_others(sample, recipe)) if _reads(sample, one, way))
    return next((way for _, way in ways), None) or _whole(sample) or found


def _others(sample: Sequence[Row], recipe: Recipe) -> Iterator[tuple[Recipe, Detection]]:
    for objective in dict.fromkeys((recipe.loss.objective, "dpo", "kto")):
        for name in TRAINERS:
            if objective in trainer_named(name).objectives:
                reader = changed(preset(name), "loss.objective", objective)
                yield reader, trainer_of(reader).detect(sample, reader)


def _reads(sample: Sequence[Row], recipe: Recipe, found: Detection) -> bool:
    """Whether the trainer of a recipe makes a preference of one of the first rows, of which the question is known."""
    for row in sample if found.refused is None else ():
        with suppress(SftuiError):
            made = trainer_of(recipe).convert(row, found, recipe)
            if made.rejected is not None or DESIRABLE in made.extra:
                sides = [side.messages for side in reader_of(found, recipe.data)(row).sides]
                return len(sides) == 1 or common_prefix(*sides) > 0
    return False


def _whole(sample: Sequence[Row]) -> Detection | None:
    """Two conversations that begin alike, whatever text is their prompt (UltraFeedback); None: they do not."""
    found = detect(sample, Data(fields={"messages": SIDES[0]}))
    asked = {"question": "prompt"} if any("prompt" in (row.data or {}) for row in sample) else {}
    whole = replace(found, format="preference", fields={**asked, **{name: name for name in SIDES}})
    for row in sample if found.refused is None else ():
        with suppress(SftuiError):
            first, second = (side.messages for side in reader_of(whole, Data())(row).sides)
            prompt = (row.data or {}).get("prompt")
            shared = [one.content for one in first[: common_prefix(first, second)]]
            return whole if shared and prompt in (None, *shared) else None
    return None


def is_paired(found: Detection) -> bool:
    """Whether rows that are read so have two answers each."""
    return not {"rejected", *_READ_WHOLE}.isdisjoint(found.fields)


def reader_of(found: Detection, data: Data) -> Callable[[Row], Conversation]:
    """A row → its chosen side with the rejected one, or its only answer; ConversationError."""
    role, content = (found.message_keys.get(name, name) for name in ("role", "content"))

    def said(who: str, value: Any, column: str) -> list[Any]:
        if isinstance(value, str):
            return [{role: who, content: value}]
        if isinstance(value, Mapping):
            return [value]
        if isinstance(value, list):
            return value
        raise mistyped(column, value, "text, a message or a list of messages", "the row")

    def read(row: Row) -> Conversation:
        held, fields = row.data or {}, found.fields

        def answer(name: str) -> list[Any]:
            return said("assistant", held.get(fields[name]), fields[name]) if name in fields else []

        asked = _asked(held, fields, data, said)
        answered = answer("chosen") or answer("output") or answer("completion")
        own = [*asked, *answered]
        other = None
        if "rejected" in fields:
            other = [*asked, *answer("rejected")]
        elif held.get(fields.get("rejected_messages", "")) is not None:
            other = answer("rejected_messages")
        elif "rejected_response" in fields:
            places = (at for at, one in enumerate(own, 1) if isinstance(one, Mapping) and one.get(role) == "user")
            other = [*own[: max(places, default=0)], *answer("rejected_response")]
        elif is_paired(found):
            raise ConversationError("the row has no rejected answer", where=row.where, fix="drop the row")
        made = _conversation(row, own, found, data)
        if asked and answered:
            made = with_fields(made, prompt_messages=len(made.messages) - len(answered))
        if other is not None:
            return with_fields(made, rejected=_conversation(row, other, found, data))
        label = held.get(fields.get(LABEL, LABEL))
        if not isinstance(label, (bool, int, float)):
            raise mistyped(fields.get(LABEL, LABEL), label, "true or false", row.where)
        return with_fields(made, extra={**made.extra, DESIRABLE: bool(label)})

    return read


def _asked(held: RowData, fields: Mapping[str, str], data: Data, said: Callable[..., list[Any]]) -> list[Any]:
    """What stands before the answers, as messages."""
    history = [
        one
        for turn in history_of(held.get(fields.get("history", "")) or (), fields.get("history", ""), "the row")
        for one in said(turn.role, turn.content, turn.origin)
    ]
    if "messages" in fields:
        return said("user", held.get(fields["messages"]), fields["messages"])
    if "instruction" in fields:
        asked, given = held.get(fields["instruction"]), held.get(fields.get("input", "")) or ""
        if not isinstance(asked, str) or not isinstance(given, str):
            raise mistyped(fields["instruction"], asked, "text", "the row")
        return [*history, *said("user", alpaca_prompt(asked, given, data.alpaca_prompt), "")]
    return [*history, *said("user", held.get(fields["prompt"]), fields["prompt"])] if "prompt" in fields else history


def _conversation(row: Row, turns: Sequence[Any], found: Detection, data: Data) -> Conversation:
    around = {name: found.fields[name] for name in _AROUND if name in found.fields}
    keys = {name: found.message_keys.get(name, name) for name in ("role", "content")}
    plainly = Detection("messages", {MESSAGES: MESSAGES, **around}, {**data.message_keys, **keys}, data.role_map)
    held = {MESSAGES: list(turns), **{column: (row.data or {}).get(column) for column in around.values()}}
    return read_plainly(replace(row, data=held), plainly, data)


@dataclass(frozen=True, slots=True)
class Apart:
    """Pairs as two rows each, the chosen answer first."""

    columns: Mapping[str, str]

    def rows(self, row: RowData) -> Iterator[RowData]:
        """The two rows of one."""
        rest = {name: value for name, value in row.items() if name != "rejected"}
        yield {**rest, self.columns[LABEL]: True}
        yield {**rest, self.columns["chosen"]: row["rejected"], self.columns[LABEL]: False}

    @property
    def waiting(self) -> int:
        """None is left over."""
        return 0


@dataclass(slots=True)
class Together:
    """Single answers as pairs: for each question the first desirable and the first undesirable one, and so on."""

    columns: Mapping[str, str]
    _open: dict[str, deque[RowData]] = field(default_factory=lambda: defaultdict(deque))

    def rows(self, row: RowData) -> Iterator[RowData]:
        """The pair that this answer completes, if any; its other columns are those of the desirable answer's row."""
        chosen, prompt = self.columns["chosen"], self.columns.get("prompt")
        asked = row[prompt] if prompt is not None else row[chosen][:-1]
        key = json.dumps([asked, row.get("tools")], sort_keys=True, default=str)
        others = self._open[key]
        if not others or others[0][LABEL] == row[LABEL]:
            others.append(row)
            return
        good, bad = (row, others.popleft()) if row[LABEL] else (others.popleft(), row)
        if not others:
            del self._open[key]
        yield {**{name: value for name, value in good.items() if name != LABEL}, self.columns["rejected"]: bad[chosen]}

    @property
    def waiting(self) -> int:
        """Answers that no other one was found for."""
        return sum(map(len, self._open.values()))
