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
WHOLE, ASKED = "whole", "asked"
"""Fields of a set whose sides are whole conversations, and of the column that repeats their question."""
_AGAIN = ("messages", "conversations")
_READ_WHOLE = ("rejected_messages", "rejected_response")
_AROUND = ("tools", "system", "template_kwargs")


def reading_of(sample: Sequence[Row], recipe: Recipe, found: Detection) -> tuple[Recipe, Detection]:
    """How the first rows are read as preferences, and by which trainer: as `found`, as two whole conversations, or as
    another trainer reads them, for the recipe's objective or another; whichever reads most of them."""
    ways = [(recipe, found), (recipe, _whole(sample)), *_others(sample, recipe)]
    read = [_count(sample, one, way) for one, way in ways]
    return ways[read.index(max(read))] if any(read) else ways[0]


def _others(sample: Sequence[Row], recipe: Recipe) -> Iterator[tuple[Recipe, Detection]]:
    for objective in dict.fromkeys((recipe.loss.objective, "dpo", "kto")):
        for name in TRAINERS:
            if objective in trainer_named(name).objectives:
                reader = changed(preset(name), "loss.objective", objective)
                yield reader, trainer_of(reader).detect(sample, reader)


def _count(sample: Sequence[Row], recipe: Recipe, found: Detection) -> int:
    """How many of the first rows are a preference for the trainer of a recipe, of which the question is known and asked
    once."""
    count = 0
    for row in sample if found.refused is None else ():
        with suppress(SftuiError):
            if WHOLE not in found.fields:
                made = trainer_of(recipe).convert(row, found, recipe)
                if made.rejected is None and DESIRABLE not in made.extra:
                    continue
            read = reader_of(found, recipe.data)(row)
            sides = [[message.data for message in side.messages] for side in read.sides]
            begin = read.prompt_messages
            again = bool(begin) and all(side[begin : 2 * (begin or 0)] == side[:begin] for side in sides)
            count += len(sides) == 1 or (common_prefix(*sides) > 0 and not again)
    return count


def _whole(sample: Sequence[Row]) -> Detection:
    """Two conversations that begin alike, beside columns that hold the prompt or the chosen one again, as UltraFeedback
    has them."""
    found = detect(sample, Data(fields={"messages": SIDES[0]}))
    rows = [row.data or {} for row in sample]
    more = [name for name in _AGAIN if any(row.get(name) not in (None, row.get(SIDES[0])) for row in rows)]
    again = {f"{WHOLE}{name}": name for name in _AGAIN if name not in more and any(name in row for row in rows)}
    asked = {ASKED: "prompt"} if any("prompt" in row for row in rows) else {}
    fields = {WHOLE: SIDES[0], **again, **asked, **{name: name for name in SIDES}}
    return replace(found, format="preference", fields=fields)


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
            found = said("assistant", held.get(fields[name]), fields[name])
            if not found:
                raise ConversationError("an answer is an empty list", where=f"`{fields[name]}`", fix="drop the row")
            return found

        asked = _asked(held, fields, data, said)
        answered = next((answer(name) for name in ("chosen", "output", "completion") if name in fields), None)
        own, other = [*asked, *(answered or ())], None
        if "rejected" in fields:
            other = [*asked, *answer("rejected")]
        elif held.get(fields.get("rejected_messages", "")) is not None:
            other = answer("rejected_messages")
        elif "rejected_response" in fields:
            whose = [one.get(role) if isinstance(one, Mapping) else None for one in own]
            places = (at for at, one in enumerate(whose, 1) if data.role_map.get(str(one), one) == "user")
            other = [*own[: max(places, default=0)], *answer("rejected_response")]
        elif is_paired(found):
            raise ConversationError("the row has no rejected answer", where=row.where, fix="drop the row")
        made = _conversation(row, own, found, data)
        if asked and answered:
            made = with_fields(made, prompt_messages=len(made.messages) - len(answered))
        if other is not None:
            made = with_fields(made, rejected=_conversation(row, other, found, data))
            if ASKED in fields and not _asks(made, held.get(fields[ASKED])):
                what = f"`{fields[ASKED]}` is not what both sides begin with"
                raise ConversationError(what, where=row.where, fix="drop the row, or the column")
            return made
        label = held.get(fields.get(LABEL, LABEL))
        if not isinstance(label, (bool, int, float)) or label not in (0, 1):
            raise mistyped(fields.get(LABEL, LABEL), label, "true or false", row.where)
        return with_fields(made, extra={**made.extra, DESIRABLE: bool(label)})

    return read


def _asks(made: Conversation, prompt: Any) -> bool:
    """Whether the question that is in both sides is this one, or there is none beside them."""
    sides = [[message.data for message in side.messages] for side in made.sides]
    shared = sides[0][: common_prefix(*sides)]
    asked = shared[: len(prompt)] if isinstance(prompt, list) else [one.get("content") for one in shared]
    return prompt is None or prompt == asked or prompt in asked


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


@dataclass(slots=True)
class Apart:
    """Pairs as two rows each, the chosen answer first; none is left over."""

    columns: Mapping[str, str]
    waiting: int = 0

    def rows(self, row: RowData, line: bytes | None) -> Iterator[tuple[RowData, bytes | None]]:
        """The two rows of one, each with the line that it stood in."""
        rest = {name: value for name, value in row.items() if name != "rejected"}
        yield {**rest, self.columns[LABEL]: True}, line
        yield {**rest, self.columns["chosen"]: row["rejected"], self.columns[LABEL]: False}, line


_SEEN = ("tools", "system", "images", "videos", "audios", "documents", "chat_template_kwargs")
"""Columns besides the prompt without which two answers are not answers to the same."""


@dataclass(slots=True)
class Together:
    """Single answers as pairs: for each question the first desirable and the first undesirable one, and so on."""

    columns: Mapping[str, str]
    waiting: int = 0
    _open: dict[str, deque[tuple[RowData, bytes | None]]] = field(default_factory=lambda: defaultdict(deque))

    def rows(self, row: RowData, line: bytes | None) -> Iterator[tuple[RowData, bytes | None]]:
        """The pair that this answer completes, if any; its other columns are those of the desirable answer's row."""
        chosen, prompt = self.columns["chosen"], self.columns.get("prompt")
        asked = row[prompt] if prompt is not None else row[chosen][:-1]
        key = json.dumps([asked, *map(row.get, _SEEN)], sort_keys=True, default=str)
        others = self._open[key]
        if not others or others[0][0][LABEL] == row[LABEL]:
            others.append((row, line))
            self.waiting += 1
            return
        found = others.popleft()
        self.waiting -= 1
        if not others:
            del self._open[key]
        (good, line), (bad, _) = ((row, line), found) if row[LABEL] else (found, (row, line))
        rest = {name: value for name, value in good.items() if name != LABEL}
        yield {**rest, self.columns["rejected"]: bad[chosen]}, line
