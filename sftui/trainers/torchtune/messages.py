"""How torchtune's dataset builders make messages of a row, and which conversations they refuse.

Source: torchtune 0.6.1, torchtune/data/_messages.py (OpenAIToMessages, ShareGPTToMessages, InputOutputToMessages,
AlpacaToMessages, validate_messages). torchtune is told the builder by its config; data.format stands for it: messages
and sharegpt are chat_dataset, columns instruct_dataset, alpaca alpaca_dataset, text text_completion_dataset.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sftui.conversations import Detection, detect
from sftui.conversations.detected import FROM_VALUE, refusal, sentence
from sftui.errors import ConversationError
from sftui.model import Conversation, Kind, Message, Row
from sftui.recipe import Data

BUILDERS = {
    "messages": "chat_dataset (openai)",
    "sharegpt": "chat_dataset (sharegpt)",
    "columns": "instruct_dataset",
    "alpaca": "alpaca_dataset",
    "text": "text_completion_dataset",
}
COLUMNS: Mapping[str, Mapping[str, str]] = {
    "messages": {"messages": "messages"},
    "sharegpt": {"messages": "conversations"},
    "columns": {"input": "input", "output": "output"},
    "alpaca": {"instruction": "instruction", "input": "input", "output": "output"},
    "text": {"text": "text"},
}
SHAREGPT_ROLES = {"system": "system", "human": "user", "gpt": "assistant"}
STOPS = "stops"
"""The key of a message that torchtune cannot tokenize: the sentence that says so. With max_seq_len set it stops only
where it comes as far as that message."""
_BEGIN = "Below is an instruction that describes a task"
_PAIRED = ", paired with an input that provides further context"
_REQUEST = "Write a response that appropriately completes the request.\n\n### Instruction:\n"


def detect_builder(rows: Sequence[Row], data: Data) -> Detection:
    """The builder that the recipe names; where it names none, the one that fits the columns."""
    chosen, fields, reason = data.format, dict(data.fields), "set in torchtune's config"
    if chosen == "prompt_completion":
        chosen = "columns"
    if chosen == "auto":
        found = detect(rows, data)
        if found.refused is not None:
            return found
        chosen = "columns" if found.format == "prompt_completion" else found.format
        fields = {**found.fields, **fields}
        reason = f"it fits the columns ({found.reason}); torchtune itself follows its config"
    if chosen not in BUILDERS:
        return refusal(f"torchtune has no dataset builder for {chosen} rows", fix="use messages, columns or text")
    if chosen == "columns":
        fields = {name: column for name, column in pair_of(fields).items() if column}
    wanted = {**COLUMNS[chosen], **{name: column for name, column in fields.items() if name in COLUMNS[chosen]}}
    columns = {key for row in rows if isinstance(row.data, Mapping) for key in row.data}
    needed = [column for name, column in wanted.items() if not (chosen == "alpaca" and name == "input")]
    for column in needed if columns else ():
        if column not in columns:
            what = f"torchtune's {BUILDERS[chosen]} stops: there is no column `{column}`"
            fix = "set column_map in its config, or convert the rows to messages with `sftui convert`"
            return refusal(what, fix=fix)
    if "image" in columns and chosen != "text":
        return refusal("the dataset has images", "sftui does not model torchtune's multimodal datasets", "")
    keys = FROM_VALUE if chosen == "sharegpt" else {}
    return Detection(chosen, wanted, keys, dict(data.role_map), f"torchtune: {BUILDERS[chosen]}; {reason}")


def pair_of(fields: Mapping[str, str]) -> dict[str, str | None]:
    """The columns of instruct_dataset, by its names, of columns by ours."""
    return {
        "input": fields.get("input") or fields.get("prompt"),
        "output": fields.get("output") or fields.get("completion"),
    }


def convert(row: Row, detected: Detection, new_system: str | None) -> Conversation:
    """One row as torchtune's messages; ConversationError where its transform would raise."""
    where, fields, kind = row.where or f"row {row.index}", detected.fields, detected.format
    data = row.data
    if not isinstance(data, Mapping):
        raise ConversationError(row.problem or "the row is not a JSON object", where=where)
    notes: list[str] = []
    if kind == "text":
        return Conversation(Kind.TEXT, kind, text=_text(data, fields["text"], where))
    if kind == "alpaca":
        messages = _alpaca(data, fields, where)
    elif kind == "columns":
        asked, answer = fields["input"], fields["output"]
        messages = [_untokenized("user", data.get(asked), asked), _untokenized("assistant", data.get(answer), answer)]
    else:
        sharegpt, drops = kind == "sharegpt", new_system is not None
        messages, notes = _turns(data, fields["messages"], where, sharegpt, detected.role_map, drop_system=drops)
    if new_system is not None and kind != "alpaca":
        messages.insert(0, Message({"role": "system", "content": new_system}, "new_system_prompt", trained=False))
    return Conversation(Kind.CHAT, kind, messages=tuple(messages), notes=tuple(notes))


def _turns(
    data: Mapping[str, Any], column: str, where: str, sharegpt: bool, role_map: Mapping[str, str], *, drop_system: bool
) -> tuple[list[Message], list[str]]:
    """The messages, and a sentence on each whose content torchtune takes from the one before."""
    turns = data.get(column)
    if not isinstance(turns, list) or not all([type(turn) is dict or isinstance(turn, Mapping) for turn in turns]):
        raise ConversationError(f"`{column}` is not a list of messages", where=where)
    role_key, content_key = ("from", "value") if sharegpt else ("role", "content")
    messages: list[Message] = []
    notes: list[str] = []
    as_it_stands = not sharegpt and not role_map and not drop_system
    for number, turn in enumerate(turns):
        origin = f"{column}[{number}]"
        if as_it_stands:
            stated, value = turn.get("role"), turn.get("content")
            if type(stated) is str and type(value) is str:  # as nearly every message is
                messages.append(Message({"role": stated, "content": value}, origin))
                continue
        place = f"{where}, {origin}"
        for key in (role_key, content_key):
            if key not in turn:
                why = f"torchtune raises KeyError '{key}'"
                raise ConversationError(f"the message has no `{key}`", where=place, why=why)
        stated = str(turn[role_key])
        role = str(role_map.get(stated, stated))
        if sharegpt and (stated not in role_map or role not in SHAREGPT_ROLES.values()):
            if role not in SHAREGPT_ROLES:
                what = f"torchtune's ShareGPT does not support the role {role!r}"
                raise ConversationError(what, where=place, why="its roles are system, human and gpt")
            role = SHAREGPT_ROLES[role]
        if drop_system and role == "system":
            continue
        value = turn[content_key]
        if sharegpt and isinstance(value, list) and value:
            messages.append(_untokenized(role, value, origin))
            continue
        if not sharegpt and not isinstance(value, (str, list)) and messages:
            value = messages[-1].content  # OpenAIToMessages goes on with what it converted last
            why = "torchtune repeats the previous message's content"
            notes.append(f"the content of {sentence(origin)} is neither text nor parts: {why}")
        else:
            value = _content(value, place, sharegpt)
        messages.append(Message({"role": role, "content": value}, origin))
    return messages, notes


def _untokenized(role: str, value: Any, origin: str) -> Message:
    """A message of text, or one at which torchtune's tokenizer stops once it comes there."""
    if isinstance(value, str):
        return Message({"role": role, "content": value}, origin)
    return Message({"role": role, "content": [], STOPS: f"`{origin}` is not text"}, origin)


def _content(value: Any, where: str, sharegpt: bool) -> Any:
    """A text, or the texts of content parts (each is encoded alone)."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and (not sharegpt or not value):
        if all(
            isinstance(part, Mapping) and part.get("type") == "text" and isinstance(part.get("text"), str)
            for part in value
        ):
            return [{"type": "text", "text": part["text"]} for part in value]
        if any(isinstance(part, Mapping) and part.get("type") == "text" and "text" not in part for part in value):
            why, fix = "torchtune raises KeyError 'text'", "put the text under `text`"
            raise ConversationError("a text part has no `text`", where=where, why=why, fix=fix)
        why = "sftui does not model torchtune's multimodal messages"
        raise ConversationError("a content part is not text", where=where, why=why)
    raise ConversationError(
        "the content is neither text nor a list of parts",
        where=where,
        why="torchtune stops there: no message before it has content to repeat",
        fix="fix the row",
    )


def _alpaca(data: Mapping[str, Any], fields: Mapping[str, str], where: str) -> list[Message]:
    # The prompt is made with str.format, which writes whatever stands there: a null as `None`.
    instruction, given = data.get(fields["instruction"]), data.get(fields["input"])
    output = data.get(fields["output"])
    if not isinstance(output, list):
        output = _text(data, fields["output"], where)
    paired, asked = (_PAIRED, f"\n\n### Input:\n{given}") if given else ("", "")
    prompt = f"{_BEGIN}{paired}. {_REQUEST}{instruction}{asked}\n\n### Response:\n"
    answer = _untokenized("assistant", output, fields["output"])
    if output == []:
        answer = Message({"role": "assistant", "content": output}, fields["output"])
    return [Message({"role": "user", "content": prompt}, fields["instruction"]), answer]


def _text(data: Mapping[str, Any], column: str, where: str) -> str:
    value = data.get(column)
    if not isinstance(value, str):
        why = "torchtune cannot tokenize it"
        raise ConversationError(f"`{column}` is not text", where=where, why=why, fix="fix the row")
    return value


def invalid(roles: Sequence[str]) -> str | None:
    """What `validate_messages` raises for a conversation of these roles, or None."""
    if len(roles) < 2:
        return f"a conversation needs at least two messages, but this one has {len(roles)}"
    last = "assistant"
    for number, role in enumerate(roles):
        if role == "assistant" and last != "user":
            return f"message {number} is the assistant's but no user message comes before it"
        if role == "user" and last == "user":
            return f"messages {number - 1} and {number} are both the user's"
        if role == "system" and number:
            return f"message {number} is a system message, which must come first"
        last = role
    return None


def flagged(
    messages: Sequence[Message], roles: Sequence[str], strategy: str, *, mask_system: bool
) -> tuple[Message, ...]:
    """The messages, of these roles, with `trained` set: strategy all, assistant or last; a flag already set stays."""
    every = strategy == "all"
    last = max((i for i, role in enumerate(roles) if role == "assistant"), default=-1) if strategy == "last" else -1
    found = []
    for number, (message, role) in enumerate(zip(messages, roles)):
        trained = every or (role == "assistant" and (strategy == "assistant" or number == last))
        if message.trained is not None:
            trained = message.trained
        if mask_system and role == "system":
            trained = False
        found.append(Message(message.data, message.origin, trained, message.weight))
    return tuple(found)
