"""Row → Conversation, by what `detect` found. Originals are never changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sftui.conversations.detected import Detection, mistyped, sentence, type_word
from sftui.conversations.messages import CALL_ROLE, is_missing, message_list, parse_json, read_messages
from sftui.conversations.tensors import as_labels, is_tensors
from sftui.conversations.tokenized import read_tokenized
from sftui.errors import ConversationError
from sftui.model import SIDES, Conversation, Kind, Message, Row
from sftui.nearest import did_you_mean
from sftui.recipe import Data
from sftui.values import with_fields

# PROMPT_DICT of Stanford Alpaca (tatsu-lab/stanford_alpaca, train.py): nothing follows "### Response:".
_WITH_INPUT = (
    "Below is an instruction that describes a task, paired with an input that provides further context. "
    "Write a response that appropriately completes the request.\n\n"
    "### Instruction:\n{instruction}\n\n### Input:\n{input}\n\n### Response:"
)
_WITHOUT_INPUT = (
    "Below is an instruction that describes a task. "
    "Write a response that appropriately completes the request.\n\n"
    "### Instruction:\n{instruction}\n\n### Response:"
)


def alpaca_prompt(instruction: str, given: str, style: str) -> str:
    """The user's content for one Alpaca row; `style` is the recipe's `data.alpaca_prompt`.

    newline joins the two as LLaMA-Factory does, blank_line with an empty line between; both give
    the instruction alone where there is no input.
    """
    if style == "stanford":
        text = _WITH_INPUT if given else _WITHOUT_INPUT
        return text.format(instruction=instruction, input=given)
    if not given:
        return instruction
    gap = "\n" if style == "newline" else "\n\n"
    return f"{instruction}{gap}{given}"


def as_chat(conversation: Conversation) -> Conversation:
    """STRINGS as a user and an assistant message, as the tutorials do; any other kind unchanged.

    Origins are the columns the strings came from (`extra["origins"]`).
    """
    if conversation.kind is not Kind.STRINGS:
        return conversation
    origins: Mapping[str, Any] = conversation.extra.get("origins", {})
    user = _turn("user", conversation.prompt, str(origins.get("prompt", "prompt")))
    answer = _turn("assistant", conversation.completion, str(origins.get("completion", "completion")))
    return with_fields(
        conversation, kind=Kind.CHAT, messages=(user, answer), prompt_messages=1, prompt=None, completion=None
    )


def _turn(role: str, content: Any, origin: str) -> Message:
    return Message({"role": role, "content": content}, origin)


def convert(row: Row, detected: Detection, data: Data, at: int | None = None) -> Conversation:
    """One row as a conversation; ConversationError says what is wrong with it and where.

    `at` is where the prompt of a preference ends in its sides (None: it has a column of its own). Sentences (the
    error's and the notes) are safe to draw: they quote keys and roles of the data.
    """
    if detected.refused is not None:
        problem = detected.refused
        raise ConversationError(problem.what, why=problem.why, fix=problem.fix)
    try:
        conversation = _read(row, detected, data, at)
    except ConversationError as error:
        where, why, fix = (sentence(text) for text in (error.where, error.why, error.fix))
        raise ConversationError(sentence(error.what), where=where, why=why, fix=fix) from None
    if conversation.notes:
        notes, rejected = tuple(sentence(note) for note in conversation.notes), conversation.rejected
        rejected = None if rejected is None else with_fields(rejected, notes=notes)
        return with_fields(conversation, notes=notes, rejected=rejected)
    return conversation


def _read(row: Row, detected: Detection, data: Data, at: int | None) -> Conversation:
    where = row.where or f"row {row.index}"
    if row.data is None:
        raise ConversationError(row.problem or "the row could not be read", where=where)
    if type(row.data) is not dict and not isinstance(row.data, Mapping):
        raise ConversationError(f"the row is {type_word(row.data)}, not a JSON object", where=where, fix="drop the row")
    if detected.format == "preference":
        return _from_sides(row.data, where, detected, data, at)
    conversation = _READERS[detected.format](row.data, where, detected, data)
    if data.strict_turns == "error" and conversation.kind is Kind.CHAT:
        broken = turns_problem(conversation.messages)
        if broken is not None:
            raise ConversationError(broken, where=where, why="data.strict_turns is error", fix="correct the turns")
    return conversation


def _from_messages(row: Mapping[str, Any], where: str, detected: Detection, data: Data) -> Conversation:
    column = detected.fields.get("messages", "messages")
    messages, notes = _messages(row, column, where, detected, data)
    system = _optional_text(row, detected.fields.get("system"), where)
    if system and messages[0].role != "system":
        messages = (_turn("system", system, detected.fields["system"]), *messages)
    return _chat(row, where, detected, messages, None, notes)


def _from_alpaca(row: Mapping[str, Any], where: str, detected: Detection, data: Data) -> Conversation:
    names = {name: detected.fields.get(name, name) for name in ("instruction", "output", "input", "system", "history")}
    instruction, output = _text(row, names["instruction"], where), _text(row, names["output"], where)
    given = _optional_text(row, names["input"], where) or ""
    system = _optional_text(row, names["system"], where)
    raw: dict[str, Any] = {"instruction": instruction, "input": given, "output": output}
    messages: list[Message] = []
    if system:
        raw["system"] = system
        messages.append(_turn("system", system, names["system"]))
    history = row.get(names["history"])
    if history:
        raw["history"] = history
        messages += history_of(history, names["history"], where)
    origin = names["instruction"] + (f" + {names['input']}" if given else "")
    messages.append(_turn("user", alpaca_prompt(instruction, given, data.alpaca_prompt), origin))
    messages.append(_turn("assistant", output, names["output"]))
    return _chat(row, where, detected, tuple(messages), None, [], raw)


def history_of(history: Any, column: str, where: str) -> list[Message]:
    """Earlier turns as [[user, assistant], …]: they stand before the instruction, as they are."""
    if not isinstance(history, (list, tuple)):
        raise mistyped(column, history, "a list of pairs", where)
    messages: list[Message] = []
    for i, pair in enumerate(history):
        if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not all(isinstance(turn, str) for turn in pair):
            raise ConversationError(
                f"`{column}[{i}]` is not a pair of strings", where=where, fix="each entry is [question, answer]"
            )
        messages += [_turn("user", pair[0], f"{column}[{i}][0]"), _turn("assistant", pair[1], f"{column}[{i}][1]")]
    return messages


def _from_pair(row: Mapping[str, Any], where: str, detected: Detection, data: Data) -> Conversation:
    """A prompt and a completion: two texts, or two lists of messages (TRL's conversational kind)."""
    names = {name: detected.fields.get(name, name) for name in ("prompt", "completion")}
    prompt, completion = (_value(row, names[name], where) for name in ("prompt", "completion"))
    chat = [isinstance(value, (list, tuple)) for value in (prompt, completion)]
    if all(chat):
        first, notes = _messages(row, names["prompt"], where, detected, data)
        second, more = _messages(row, names["completion"], where, detected, data)
        return _chat(row, where, detected, (*first, *second), len(first), notes + more)
    if any(chat):
        listed, plain = ("prompt", "completion") if chat[0] else ("completion", "prompt")
        raise ConversationError(
            f"`{names[listed]}` is a list of messages but `{names[plain]}` is {type_word(row[names[plain]])}",
            where=where,
            fix="store both as text, or both as messages",
        )
    texts: dict[str, Any] = {name: _text(row, column, where) for name, column in names.items()}
    system = _optional_text(row, detected.fields.get("system"), where)
    if system:
        messages = (
            _turn("system", system, detected.fields["system"]),
            _turn("user", texts["prompt"], names["prompt"]),
            _turn("assistant", texts["completion"], names["completion"]),
        )
        return _chat(row, where, detected, messages, 2, [])
    return Conversation(Kind.STRINGS, detected.format, **texts, **_around(row, where, detected, [], {"origins": names}))


def _from_sides(record: Mapping[str, Any], where: str, detected: Detection, data: Data, at: int | None) -> Conversation:
    """A preference as its chosen side, with the rejected one: texts or messages, behind the column `prompt`, or behind
    the first `at` messages of each side, or characters of the chosen one."""
    chosen, rejected = (detected.fields.get(side, side) for side in SIDES)
    prompt = detected.fields.get("prompt", "prompt") if at is None else chosen
    if isinstance(record[chosen], str):
        asked = _text(record, prompt, where)[:at]

        def texts(column: str) -> dict[str, Any]:
            return {"prompt": asked, "completion": _text(record, column, where)[at or 0 :]}

        around = _around(record, where, detected, [], {"origins": {"prompt": prompt, "completion": chosen}})
        made = Conversation(Kind.STRINGS, detected.format, **texts(chosen), **around)
        origins = {"prompt": prompt, "completion": rejected}
        return with_fields(
            made, rejected=with_fields(made, **texts(rejected), extra={**made.extra, "origins": origins})
        )
    first, notes = _messages(record, prompt, where, detected, data) if at is None else ((), [])
    count = len(first) if at is None else at

    def messages(column: str) -> tuple[Message, ...]:
        found, more = _messages(record, column, where, detected, data)
        notes.extend(more)
        return (*first, *found)

    own, other = messages(chosen), messages(rejected)
    made = _chat(record, where, detected, own, count, notes)
    return with_fields(made, rejected=with_fields(made, messages=other))


def _from_text(row: Mapping[str, Any], where: str, detected: Detection, data: Data) -> Conversation:
    return Conversation(Kind.TEXT, "text", text=_text(row, detected.fields.get("text", "text"), where))


def _from_segments(row: Mapping[str, Any], where: str, detected: Detection, data: Data) -> Conversation:
    """Axolotl's `input_output`: pieces of text, each with whether it is trained."""
    column = detected.fields.get("segments", "segments")
    value = _value(row, column, where)
    if not isinstance(value, (list, tuple)) or not value:
        raise mistyped(column, value, "a non-empty list of segments", where)
    segments: list[tuple[str, bool]] = []
    for i, item in enumerate(value):
        text, label = (item.get("text"), item.get("label")) if isinstance(item, Mapping) else (None, None)
        if not isinstance(text, str) or not isinstance(label, bool):
            raise ConversationError(
                "the segment needs `text` and `label` (true or false)",
                where=f"{where}, {column}[{i}]",
                fix="drop the row",
            )
        segments.append((text, label))
    return Conversation(
        Kind.TEXT, "segments", text="".join(text for text, _ in segments), extra={"segments": tuple(segments)}
    )


def _from_tokens(row: Mapping[str, Any], where: str, detected: Detection, data: Data) -> Conversation:
    moved = data.given_labels == "shifted"
    if is_tensors(detected):
        return read_tokenized(as_labels(row, where, detected), where, replace(detected, fields={}), moved)
    _value(row, detected.fields.get("input_ids", "input_ids"), where)
    return read_tokenized(row, where, detected, moved)


def _messages(
    row: Mapping[str, Any], column: str, where: str, detected: Detection, data: Data
) -> tuple[tuple[Message, ...], list[str]]:
    items, note = message_list(_value(row, column, where), column, where, verbatim=detected.verbatim)
    if not items:
        raise ConversationError(f"`{column}` is empty", where=where, fix="drop the row")
    calls = data.function_calls == "tool_calls" and CALL_ROLE in detected.role_map
    messages, notes = read_messages(
        items, column, where, detected.message_keys, detected.role_map, calls=calls, verbatim=detected.verbatim
    )
    return messages, [note, *notes] if note else notes


def _chat(
    row: Mapping[str, Any],
    where: str,
    detected: Detection,
    messages: tuple[Message, ...],
    prompt_messages: int | None,
    notes: list[str],
    extra: Mapping[str, Any] | None = None,
) -> Conversation:
    around = _around(row, where, detected, notes, extra or {})
    return Conversation(Kind.CHAT, detected.format, messages, prompt_messages, **around)


def _around(
    row: Mapping[str, Any], where: str, detected: Detection, notes: list[str], extra: Mapping[str, Any]
) -> dict[str, Any]:
    """What a conversation has besides its turns: the row's tools and template variables, each of which may be stored as
    JSON text, its documents, and notes."""
    column, tools = _parsed(row, detected.fields.get("tools", "tools"), where)
    if tools is not None and isinstance(row[column], str):
        notes = [*notes, f"`{column}` is stored as JSON text and was parsed"]
    if detected.verbatim and isinstance(tools, Mapping) and not tools:
        tools = []  # transformers goes through whatever it is given
    if tools is not None and not isinstance(tools, (list, tuple)):
        raise mistyped(column, tools, "a list", where, "store a list of tools")
    column, kwargs = _parsed(row, detected.fields.get("template_kwargs", "chat_template_kwargs"), where)
    if kwargs is not None and not isinstance(kwargs, Mapping):
        raise mistyped(column, kwargs, "a mapping of template variables", where, "store a mapping")
    if (documents := row.get("documents")) is not None:
        extra = {**extra, "documents": documents}
    return {"tools": tools, "template_kwargs": kwargs or {}, "extra": extra, "notes": tuple(notes)}


def _parsed(row: Mapping[str, Any], column: str, where: str) -> tuple[str, Any]:
    """A column and what it holds, which may be stored as JSON text; a column `""` is read by nobody."""
    text = row.get(column) if column else None
    if not isinstance(text, str):
        return column, text
    if not text.strip():
        return column, None
    parsed = parse_json(text)
    if is_missing(parsed):
        raise ConversationError(f"`{column}` is text that is not JSON", where=where, fix="store it as JSON, or drop it")
    return column, parsed


def _value(row: Mapping[str, Any], column: str, where: str) -> Any:
    if column in row:
        return row[column]
    raise ConversationError(
        f"no column `{column}`", where=where, fix=did_you_mean(column, row) or "the row has no columns"
    )


def _text(row: Mapping[str, Any], column: str, where: str) -> str:
    value = _value(row, column, where)
    if not isinstance(value, str):
        raise mistyped(column, value, "text", where, "drop the row or fill in the column")
    return value


def _optional_text(row: Mapping[str, Any], column: str | None, where: str) -> str | None:
    return None if column is None or row.get(column) is None else _text(row, column, where)


_READERS = {
    "messages": _from_messages,
    "sharegpt": _from_messages,
    "alpaca": _from_alpaca,
    "prompt_completion": _from_pair,
    "columns": _from_pair,
    "unpaired": _from_pair,
    "text": _from_text,
    "segments": _from_segments,
    "tokenized": _from_tokens,
}


_ASKING = frozenset({"user", "tool", "function", "ipython"})


def turns_problem(messages: Sequence[Message]) -> str | None:
    """What breaks `[system] (user|tool, assistant)…`, or None.

    The rule of LLaMA-Factory's ShareGPT converter: after a leading system message, asking roles
    (user, tool) and the assistant take turns, the asking one first and the assistant last.
    """
    turns = messages[1:] if messages and messages[0].role in {"system", "developer"} else messages
    for i, message in enumerate(turns):
        asking = i % 2 == 0
        fits = message.role in _ASKING if asking else message.role == "assistant"
        if not fits:
            wanted = "a user or tool message" if asking else "an assistant message"
            return f"{message.origin or f'message {i}'} is `{message.role}` where {wanted} is expected"
    if not turns:
        return "the only message is a system message"
    return "the last message is not from the assistant" if len(turns) % 2 else None
