"""Rows of any shape that sftui reads → rows of `messages` and `tools` in OpenAI's shape.

A row is read as the trainer reads it where its reading is a chat (which columns, which roles, how an instruction and
its input are joined), so that it trains the same after; else by no trainer's rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from sftui.conversations import Detection, as_chat, detect
from sftui.conversations import convert as read_plainly
from sftui.conversations.messages import CALL_ROLE, ROLE_ALIASES, part_kind
from sftui.conversations.openai import LEGACY_RESULT, MESSAGES, TOOLS, columns_of, openai_row
from sftui.errors import ConversationError, SftuiError
from sftui.findings.rule import TO_MESSAGES
from sftui.model import SIDES, Conversation, Kind, Problem, Row
from sftui.recipe import Data, Recipe
from sftui.repairs.model import Data as RowData
from sftui.repairs.model import Repair, RepairLayout, RepairLog
from sftui.repairs.to_sides import Apart, Together, is_paired, reader_of, reading_of
from sftui.text import many
from sftui.trainers import Trainer, preset, trainer_of
from sftui.trainers.base import MessagesTarget
from sftui.trainers.traits import MessageKind

TITLE = "convert rows to messages, tool_calls and tools"
THE_ROW = "the row"
_CHATS = ("messages", "sharegpt")
_JOINED = "newline"
"""How an instruction and its input are joined where neither trainer nor recipe says so: as LLaMA-Factory does, the one
that makes a question for a chat template of them."""
_OURS = {"observation": "tool"}


@dataclass(frozen=True, slots=True)
class MessageReading:
    """How the rows of a set become messages: `read` gives the conversation of a row, which is made of the columns
    `used`. `refused` is set where no row of it can."""

    read: Callable[[Row], Conversation]
    used: tuple[str, ...]
    refused: Problem | None = None
    tools: bool = False
    """Whether rows of the set have tool lists."""
    parts: bool = False
    """Whether contents have parts that are no text, so that lists of parts stay lists."""
    paired: bool = False
    """Whether rows have two answers each."""


def target_of(recipe: Recipe) -> MessagesTarget:
    """What the trainer of a recipe makes of messages, as the recipe has it."""
    return trainer_of(recipe).messages_target(recipe)


def way_of(sample: Sequence[Row], recipe: Recipe, found: Detection) -> MessageReading:
    """The way of a set whose first rows are given and which the trainer of a recipe reads as `found`."""
    trainer, parts = trainer_of(recipe), _other_parts(sample)
    bare = replace(recipe, render=replace(recipe.render, inject_system=None))
    if not recipe.supervised:
        reader, found = reading_of(sample, recipe, found)
        if "system" not in found.fields and any(isinstance((row.data or {}).get("system"), str) for row in sample):
            found = replace(found, fields={**found.fields, "system": "system"})
        data, used = _plain_data(bare, found, trainer_of(reader)), columns_of(found.fields)
        return MessageReading(
            reader_of(found, data), used, found.refused, _has_tools(sample, found), parts, is_paired(found)
        )
    if found.refused is None and found.format not in _CHATS and _reads_chats(sample, bare, found, trainer):
        used, tools = columns_of(found.fields), _has_tools(sample, found)
        return MessageReading(lambda row: trainer.convert(row, found, bare), used, tools=tools, parts=parts)
    data = _plain_data(recipe, found, trainer)
    plainly = _with_system(detect(sample, data), sample, found)
    used, tools = columns_of(plainly.fields), _has_tools(sample, plainly)
    return MessageReading(lambda row: as_chat(read_plainly(row, plainly, data)), used, plainly.refused, tools, parts)


def _other_parts(sample: Sequence[Row]) -> bool:
    """Whether messages have contents with parts that are no text."""
    values = (value for row in sample for value in (row.data or {}).values() if isinstance(value, (list, tuple)))
    contents = (one.get("content") for value in values for one in value if isinstance(one, Mapping))
    return any(part_kind(part) != "text" for held in contents if isinstance(held, (list, tuple)) for part in held)


def _has_tools(sample: Sequence[Row], found: Detection) -> bool:
    return bool(found.fields.get("tools")) or any("functions" in (row.data or {}) for row in sample)


def _reads_chats(sample: Sequence[Row], recipe: Recipe, found: Detection, trainer: Trainer) -> bool:
    """Whether the trainer makes messages of the first row that it can read."""
    for row in sample:
        if row.data is None:
            continue
        try:
            made = trainer.convert(row, found, recipe)
        except SftuiError:
            continue
        return made.kind is Kind.CHAT and made.prompt_messages is None
    return False


def _plain_data(recipe: Recipe, found: Detection, trainer: Trainer) -> Data:
    """How rows are read by no trainer's rules: with the columns, keys and roles of the recipe and its trainer."""
    data = recipe.data
    fields, keys, chosen = dict(data.fields), dict(data.message_keys), data.format
    roles = {**ROLE_ALIASES, CALL_ROLE: CALL_ROLE}
    if found.refused is None and found.format in _CHATS:
        fields = {ours: found.fields[ours] for ours in ("messages", "system", "tools") if found.fields.get(ours)}
        keys = {**keys, **found.message_keys}
        chosen = "sharegpt" if keys.get("role") == "from" else "messages"
    elif found.refused is None and chosen in _CHATS:
        chosen = "auto"
    if keys.get("role", "role") == "role" and LEGACY_RESULT not in found.role_map:
        roles.pop(LEGACY_RESULT)  # a result's role before there were tool calls, which templates may know
    own = trainer.traits.own_roles
    named = {**found.role_map, **data.role_map}
    roles |= {
        theirs: CALL_ROLE if own.get(ours) is MessageKind.CALL else _OURS.get(ours, ours)
        for theirs, ours in named.items()
    }
    roles[CALL_ROLE] = CALL_ROLE
    chosen_style = trainer.traits.by_hand or data.alpaca_prompt != preset(recipe.preset).data.alpaca_prompt
    style = data.alpaca_prompt if chosen_style else _JOINED
    return Data(format=chosen, fields=fields, message_keys=keys, role_map=roles, alpaca_prompt=style)


def _with_system(plainly: Detection, sample: Sequence[Row], found: Detection) -> Detection:
    """With a column `system` as the system message, but where the trainer reads messages and passes it over."""
    if plainly.refused is not None or "system" in plainly.fields or plainly.format in ("text", "segments", "tokenized"):
        return plainly
    if found.refused is None and found.format == "messages":
        return plainly
    held = [
        row.data["system"] for row in sample if isinstance(row.data, Mapping) and row.data.get("system") is not None
    ]
    if not held or not all(isinstance(one, str) for one in held):
        return plainly
    return replace(plainly, fields={**plainly.fields, "system": "system"})


def to_messages(way: MessageReading, target: MessagesTarget, without: Sequence[str] = ()) -> Repair:
    """The repair, for what the target reads; the columns `without` are left out."""

    def apply(data: RowData, layout: RepairLayout, log: RepairLog) -> RowData:
        if way.refused is not None:
            raise ConversationError(way.refused.what, why=way.refused.why, fix=way.refused.fix)
        kept = {name: value for name, value in data.items() if name not in without}
        made = openai_row(
            kept,
            way.read(Row(0, kept if target.columns else data, "", THE_ROW)),
            way.used,
            tools_as_text=target.tools_as_text,
            arguments_as_text=target.arguments_as_text,
            empty_tools=target.tools_in_each_row and way.tools,
            name_calls=target.names_calls,
            between=None if way.parts else target.between,
            columns=target.columns,
            single=target.single and "rejected" in target.columns,
        )
        row = made.row
        if row == data:
            return data
        if target.loses_calls and has_calls(row):
            lost = lost_calls(target)
            raise ConversationError(lost.what, why=lost.why, fix=lost.fix)
        read = " and ".join(f"`{column}`" for column in way.used if column in data)
        became = ", ".join(f"`{column}`" for column in target.columns.values() if column in row)
        log.note("", f"{read} became {became or many(len(row[MESSAGES]), 'message')}")
        for kind, number in made.done.items():
            log.note("", f"{number} written in OpenAI's format", kind)
        return row

    columns, regroup = target.columns, None
    if columns and ("rejected" in columns) is not way.paired:
        regroup = partial(Apart if way.paired else Together, columns)
    last = "rejected" if way.paired else "label"  # until they are put together or taken apart
    return Repair(TO_MESSAGES, TITLE, apply, _layout({last: last, **columns} if columns else {}, way.paired), regroup)


def _layout(columns: Mapping[str, str], paired: bool) -> RepairLayout:
    """Where converted rows keep what other repairs touch."""
    lists = tuple(columns[name] for name in ("prompt", *SIDES) if name in columns and (paired or name != "rejected"))
    lists = lists or (MESSAGES,)
    sides = tuple(columns[name] for name in SIDES if paired and name in columns)
    decisive = (*lists, *columns.values(), TOOLS)
    return RepairLayout(lists, decisive=decisive, body=lists, prompt=columns.get("prompt"), sides=sides)


def has_calls(row: RowData | None) -> bool:
    """Whether a row of messages has tool calls."""
    lists = (value if isinstance(value, list) else [value] for value in (row or {}).values())
    return any(isinstance(one, Mapping) and one.get("tool_calls") for some in lists for one in some)


def lost_calls(target: MessagesTarget, where: str = "the row") -> Problem:
    """Why a row with tool calls does not become messages for a target that loses them."""
    return Problem(
        f"{where} has tool calls, which {target.title} would lose after conversion to messages",
        target.loses_calls,
        "leave such rows as they are, or convert them for another trainer",
    )


def each_alone(data: RowData, layout: RepairLayout, log: RepairLog) -> RowData:
    """A row converted by itself, where nothing is known of its set."""
    row, recipe = Row(0, data, "", THE_ROW), preset()
    way = way_of([row], recipe, detect([row], recipe.data))
    return to_messages(way, target_of(recipe)).work(data, layout, log)
