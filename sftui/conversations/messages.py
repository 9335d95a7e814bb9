"""A list of message mappings → `Message`s: keys renamed, roles mapped, all else untouched."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

from sftui.conversations.detected import type_word
from sftui.errors import ConversationError
from sftui.model import Message
from sftui.nearest import did_you_mean
from sftui.side_files import object_of
from sftui.values import value_class

ROLE_KEYS = ("role", "from", "speaker")
CONTENT_KEYS = ("content", "value", "text")
FLAG_KEYS = ("train", "training", "trainable", "loss_mask", "step_loss_mask", "loss")
WEIGHT_KEYS = ("weight", "loss_weight", "loss", "loss_scale")
MASKED_KEY = "masked"
"""Of a message that is not to be trained it is true, as in torchtune's own messages."""
DETAIL_KEYS = ("training_detail", "reasoning_training_detail")
"""What Axolotl makes of parts that say whether they are trained: no keys of the data."""

_TOLD = object_of(Path(__file__).with_name("names.json"))
# The roles that published templates compare against; others reach the template as they are.
KNOWN_ROLES: frozenset[str] = frozenset(_TOLD["known roles"].split())

# Fixed by ROL001 of the failure catalogue and by what LLaMA-Factory, Axolotl and Unsloth accept.
SHAREGPT_ROLES: Mapping[str, str] = _TOLD["sharegpt roles"]
# More names that are recognised and repaired, but that no format maps by itself: `ai` is LangChain's.
ROLE_ALIASES: Mapping[str, str] = {**SHAREGPT_ROLES, "ai": "assistant"}
UNPACKED = "unpacked"
"""The key of `Conversation.extra` that says which pairs of a history are none, by place: `keys` or `characters`."""
CALL_ROLE = "function_call"
CALL_NOTE = (
    "data.function_calls is tool_calls: a `function_call` turn whose text is JSON with name and arguments becomes"
    " tool_calls with empty content; any other keeps its text as content"
)
_MISSING = object()
FEW = 64
"""Messages in a row of which it is kept where they stand."""


UNMODELLED = "sftui does not model what a template does with it"


def message_list(value: Any, column: str, where: str, *, verbatim: bool = False) -> tuple[Sequence[Any], str]:
    """The list under `column` and a note; JSON text that holds a list is parsed (CON007), and what Python printed read.

    `verbatim`: the trainer gives the template the value as it is, which goes through the characters of a text.
    """
    if isinstance(value, str):
        parsed = parse_json(value)
        if isinstance(parsed, list):
            return parsed, f"`{column}` is stored as JSON text and was parsed; not every trainer does that"
        if (printed := printed_list(value)) is not None:
            return printed, f"`{column}` is a Python list literal and was parsed; no trainer does that"
        held = "nor is it a JSON list" if parsed is _MISSING else f"it contains {type_word(parsed)}"
        raise ConversationError(
            f"`{column}` is text, not a list of messages",
            where=where,
            why=f"{held}, and {UNMODELLED}" if verbatim else held,
            fix="store the messages as a list",
        )
    if isinstance(value, (list, tuple)):
        return value, ""
    raise ConversationError(
        f"`{column}` is {type_word(value)}, not a list of messages",
        where=where,
        why=UNMODELLED if verbatim else "",
        fix="drop the row or fill in the column",
    )


def parse_json(text: str) -> Any:
    """The parsed value, or a private marker (see `is_missing`) where the text is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _MISSING


def printed_list(text: Any) -> list[Any] | None:
    """The list of mappings or lists that Python printed as this text, which is no JSON; None for any other value."""
    if not isinstance(text, str) or not text.lstrip().startswith(("[{", "[[")) or not is_missing(parse_json(text)):
        return None
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, list) else None


def joined_parts(content: Any, between: str = "") -> str | None:
    """A content that is a list of parts as one text, as published templates print the parts: one after the other. None
    where a part is something else than text."""
    texts = [
        part.get("text", part.get("value")) if isinstance(part, Mapping) and part_kind(part) == "text" else part
        for part in content
    ]
    said = [text for text in texts if isinstance(text, str)]
    return between.join(said) if said and len(said) == len(texts) else None


def no_text(content: Any, where: str) -> ConversationError:
    """The refusal to make a text of parts of which one is none."""
    kinds = dict.fromkeys(kind for part in content if (kind := part_kind(part)) != "text")
    named = " and ".join(f"`{kind}`" for kind in kinds) or "without text"
    fix = "drop the row, or write its content as text or tool_calls"
    return ConversationError(f"a part of the content is {named}, which is not text", where=where, fix=fix)


def part_kind(part: Any) -> str:
    """What a part of a content is: text, or the name of its type."""
    kind = part.get("type", "text") if isinstance(part, Mapping) else "text"
    return "text" if kind in (None, "text", "input_text", "output_text") else str(kind)


def is_missing(value: Any) -> bool:
    """Whether `parse_json` gave up."""
    return value is _MISSING


@value_class
class _Keys:
    """The keys of a message of this set; `renamed` holds only those whose name must change."""

    role: str
    content: str
    renamed: Mapping[str, str]
    flags: tuple[str, ...]
    weights: tuple[str, ...]
    marks: frozenset[str]


@lru_cache(maxsize=16)
def _planned(named: tuple[tuple[str, str], ...]) -> _Keys:
    """What follows from the keys of a set, looked up with every row of it."""
    keys = dict(named)
    role, content = keys.get("role", "role"), keys.get("content", "content")
    ours = {role: "role", content: "content"}
    if "reasoning" in keys:
        ours[keys["reasoning"]] = "reasoning_content"
    flags = (keys["train_flag"],) if "train_flag" in keys else FLAG_KEYS
    weights = (keys["weight"],) if "weight" in keys else WEIGHT_KEYS
    renamed = {key: name for key, name in ours.items() if key != name}
    return _Keys(role, content, renamed, flags, weights, frozenset((*flags, *weights)))


def read_messages(
    items: Sequence[Any],
    column: str,
    where: str,
    keys: Mapping[str, str],
    roles: Mapping[str, str],
    *,
    calls: bool = False,
    verbatim: bool = False,
) -> tuple[tuple[Message, ...], list[str]]:
    """Every item as a Message with its origin, and what is worth saying about them.

    `calls` turns a `function_call` role into tool calls: ShareGPT, where roles are mapped. Raises ConversationError at
    the message that is not a mapping, or has no role; with `verbatim` a role or content that is not there, or no text,
    is the template's to judge.
    """
    plan = _planned(tuple(keys.items()))
    notes: list[str] = []
    found: list[Message] = []
    as_they_stand, unmarked = not plan.renamed, plan.marks.isdisjoint
    origins = _origins if len(items) <= FEW else _origins.__wrapped__
    for item, origin in zip(items, origins(column, len(items))):
        if as_they_stand and type(item) is dict and "content" in item:
            role = item.get("role")
            # nothing to say of it, as of nearly every message
            if type(role) is str and role in KNOWN_ROLES and role not in roles and (len(item) == 2 or unmarked(item)):
                found.append(Message(item, origin))
                continue
        found.append(_read_message(item, origin, where, plan, roles, calls, notes, verbatim))
    return tuple(found), notes


@lru_cache(maxsize=FEW)
def _origins(column: str, count: int) -> Sequence[str]:
    """Where so many messages stand, kept for all rows of few: 40 are read in two thirds of the time."""
    return [f"{column}[{position}]" for position in range(count)]


def _read_message(
    item: Any,
    origin: str,
    where: str,
    keys: _Keys,
    roles: Mapping[str, str],
    calls: bool,
    notes: list[str],
    verbatim: bool,
) -> Message:
    if type(item) is not dict and not isinstance(item, Mapping):  # a dict needs no look at what is registered
        raise ConversationError(
            f"the message is {type_word(item)}, not an object",
            where=f"{where}, {origin}",
            why=UNMODELLED if verbatim else "",
            fix="each message needs a role and content",
        )
    role = item.get(keys.role, _MISSING)
    if not isinstance(role, str):
        if not verbatim:
            raise _no_role(item, role, keys.role, f"{where}, {origin}")
        stated = "has no role" if role is _MISSING else f"has {type_word(role)} as its role"
        notes.append(f"{origin} {stated}; the template receives it unchanged")
    data = _renamed(item, keys.renamed) if keys.renamed else dict(item)
    mapped = roles.get(role, role) if isinstance(role, str) else None
    if mapped is not None:
        data["role"] = mapped
    if keys.content not in item:
        if not verbatim:
            _check_content_key(item, keys.content, f"{where}, {origin}")
        if not item.get("tool_calls"):
            notes.append(f"{origin} has no content")
    if mapped is not None and mapped not in KNOWN_ROLES:
        notes.append(f"{origin} has the role `{role}`, which most templates do not handle")
    if calls and role == CALL_ROLE:
        tool_calls = tool_calls_in(data.get("content"))
        if tool_calls is not None:
            data["content"] = ""
            data["tool_calls"] = tool_calls
        if CALL_NOTE not in notes:
            notes.append(CALL_NOTE)
    if keys.marks.isdisjoint(item):
        return Message(data, origin)
    trained, weight = _flags(item, keys)
    return Message(data, origin, trained, weight)


def _renamed(item: Mapping[str, Any], renamed: Mapping[str, str]) -> dict[str, Any]:
    """A copy under the names that templates know, in the item's own order.

    A mapped key wins over a bystander that already has its name.
    """
    taken = {name for key, name in renamed.items() if key in item}
    return {renamed.get(key, key): value for key, value in item.items() if key in renamed or key not in taken}


def _no_role(item: Mapping[str, Any], role: Any, key: str, where: str) -> ConversationError:
    if role is not _MISSING:
        return ConversationError(f"`{key}` is {type_word(role)}, not text", where=where, fix="give the message a role")
    names = [str(name) for name in item]
    keys = "its keys are " + (", ".join(f"`{n}`" for n in names[:6]) or "none")
    return ConversationError(f"the message has no `{key}`", where=where, fix=did_you_mean(key, names, keys))


def _check_content_key(item: Mapping[str, Any], key: str, where: str) -> None:
    """A missing `content` is the template's to judge, a misspelt or renamed one is not."""
    names = [str(name) for name in item]
    close = get_close_matches(key, names, n=1, cutoff=0.75)
    other = [name for name in CONTENT_KEYS if name in item]
    if close or other or key != "content":
        keys = "its keys are " + ", ".join(f"`{name}`" for name in names[:6])
        fix = f"did you mean `{(close or other)[0]}`?" if close or other else keys
        raise ConversationError(f"the message has no `{key}`", where=where, fix=fix)


def tool_calls_in(text: Any) -> list[dict[str, Any]] | None:
    """OpenAI tool calls from the JSON of a `function_call` turn, or None where it is not that."""
    parsed = parse_json(text) if isinstance(text, str) else text
    calls = parsed if isinstance(parsed, list) else [parsed]
    if not calls:
        return None
    found: list[dict[str, Any]] = []
    for call in calls:
        if not isinstance(call, Mapping) or not isinstance(call.get("name"), str) or "arguments" not in call:
            return None
        found.append({"type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}})
    return found


def switches(item: Mapping[str, Any], *named: str | None) -> list[tuple[bool, str, Any]]:
    """What a message says of its own training, whoever reads it: yes or no, under which key, with which value. Those
    under keys that are `named` come first; other weights than 0 and 1 are no yes or no."""
    said = ((key, item.get(key)) for key in (*filter(None, named), *FLAG_KEYS, *WEIGHT_KEYS))
    found = [(bool(on), key, on) for key, on in said if isinstance(on, (bool, int, float)) and on in (0, 1)]
    return [*found, (False, MASKED_KEY, True)] if item.get(MASKED_KEY) is True else found


def _flags(item: Mapping[str, Any], keys: _Keys) -> tuple[bool | None, float | None]:
    """The message's train flag and weight, as information: the data stays as it is (LAB010)."""
    numbers = {key: value for key, value in item.items() if isinstance(value, (bool, int, float))}
    flags = [numbers[key] for key in keys.flags if key in numbers and numbers[key] in (0, 1)]
    weights = [numbers[key] for key in keys.weights if key in numbers and not isinstance(numbers[key], bool)]
    weight = None
    with suppress(OverflowError):
        weight = float(weights[0]) if weights else None
    trained = bool(flags[0]) if flags else weight != 0 if weight is not None else None
    return trained, weight
