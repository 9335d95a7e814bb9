"""How LLaMA-Factory reads rows: by a dataset_info.json entry, with strict turns.

Source: llamafactory 0.9.5, data/parser.py (DatasetAttr) and data/converter.py. `data.format` is
its `formatting`: alpaca or sharegpt; `messages` is sharegpt with tags for role and content.
`formatting: openai` has rules of its own and stands in own. Fields, message keys and
roles that are given replace its defaults as a whole, as `columns` and `tags` do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeGuard

from sftui.conversations import Detection
from sftui.conversations.detected import FROM_VALUE, MESSAGE_KEYS, NO_ROW, refusal
from sftui.conversations.messages import UNPACKED
from sftui.errors import ConversationError
from sftui.model import DESIRABLE, SIDES, Conversation, Kind, Message, Row
from sftui.recipe import Data
from sftui.trainers.llamafactory.registry import stop
from sftui.trainers.llamafactory.tools import calls_in

ALPACA_FIELDS = {"instruction": "instruction", "input": "input", "output": "output"}
MESSAGE_FIELDS = {"messages": "conversations"}
ROLES = {
    "human": "user",
    "gpt": "assistant",
    "observation": "observation",
    "function_call": "function",
    "system": "system",
}
CHAT_ROLES = {
    "user": "user",
    "assistant": "assistant",
    "tool": "observation",
    "function_call": "function",
    "system": "system",
}
TURNS = (("user", "observation"), ("assistant", "function"))
_OURS = (*TURNS[0], *TURNS[1], "system")
DROPPED = "llamafactory_dropped"
"""The key of `Conversation.extra` that says why the row is dropped."""
PROMPTED = "llamafactory_prompted"
"""The key of the rejected side's `Conversation.extra` that has the chosen answer, by which its prompt is written."""
ONE_RESPONSE = "Dropped invalid example: without a kto_tag of true or false it has one response"
NEXT_STOPS = " at the next row that it keeps, with IndexError: list index out of range"
TWO_RESPONSES = "Dropped invalid example: a kto_tag of true or false gives it two responses"

UNEVEN_HISTORY = (
    "the history has objects with different keys from row to row: LLaMA-Factory's datasets (4.0) gives all rows"
    " of a JSON file the same keys in the same order, and LLaMA-Factory trains on their names; sftui uses those"
    " of the first rows (write the history as pairs of strings)"
)
UNEVEN = (
    "tools or tool calls stored as objects have different keys from row to row: LLaMA-Factory's datasets (4.0)"
    " gives all rows of a JSON file the same keys, null where a row has none, and writes them; sftui uses those"
    " of the first rows (keep tools and arguments as JSON text)"
)
"""What is not known of `formatting: openai`: Arrow has one schema for the whole file."""


THINKING_OFF = "detailed thinking off"
AT_ONCE = 1000
"""Rows that `datasets` writes together (arrow_writer.py)."""
THINKING_ON = "detailed thinking on"


def detect(rows: Sequence[Row], data: Data, *, openai: bool, objective: str = "sft") -> Detection:
    """How rows are read. LLaMA-Factory itself never guesses: `auto` is the entry that fits the first row."""
    samples = [row.data for row in rows if isinstance(row.data, Mapping)]
    columns = list(dict.fromkeys(key for row in samples for key in row))
    if not samples:
        return NO_ROW
    answers = answers_of(objective, columns)
    if data.format == "auto":
        found = _guess(samples[0], columns, data, answers)
    elif data.format == "alpaca":
        fields = data.fields or alpaca_fields(answers)
        found = Detection("alpaca", fields, reason="LLaMA-Factory: formatting alpaca")
    elif openai or data.format == "sharegpt":
        formatting = "openai" if openai else "sharegpt"
        found = _of_turns(data, data.fields or {**MESSAGE_FIELDS, **answers}, data.format, formatting)
    elif data.format == "messages":
        found = _of_messages(data, data.fields or {"messages": "messages", **answers})
    else:
        return refusal(
            f"LLaMA-Factory has no formatting for `{data.format}` rows",
            "it supports alpaca, sharegpt and openai",
            "set data.format to alpaca, sharegpt or messages",
        )
    if found.refused is not None:
        return found
    if found.format != "alpaca" and "messages" not in found.fields:
        return refusal(
            "the dataset_info.json entry names no messages column",
            "LLaMA-Factory raises KeyError: None",
            "add messages to its columns",
        )
    for ours in answers:
        if ours not in found.fields:
            named = "kto_tag" if ours == "label" else ours
            why = "LLaMA-Factory drops every row" if ours == "label" else "LLaMA-Factory raises KeyError: None"
            return refusal(f"the dataset_info.json entry names no {named} column", why, f"add {named} to its columns")
    if "chosen" in answers and "label" in found.fields:
        why = "LLaMA-Factory then compares the response with an empty answer"
        return refusal("the dataset_info.json entry is ranking and names kto_tag", why, "remove kto_tag from it")
    for ours, theirs in found.fields.items():
        unread = ("output",) if "chosen" in answers else SIDES
        if theirs not in columns and ours not in unread:
            return refusal(
                f"there is no column `{theirs}`: LLaMA-Factory raises KeyError: '{theirs}'",
                "",
                "name the dataset's columns in dataset_info.json",
            )
    if found.format != "alpaca" and (absent := _absent_keys(samples, found)):
        return absent
    uneven = UNEVEN if openai and "messages" in found.fields and _uneven(samples, found.fields) else ""
    if found.format == "alpaca" and "history" in found.fields:
        histories = [row.get(found.fields["history"]) for row in samples]
        pairs = (pair for history in histories if isinstance(history, list) for pair in history)
        # objects with other keys, or the same in another order, in another place
        uneven = UNEVEN_HISTORY if len({tuple(pair) for pair in pairs if isinstance(pair, Mapping)}) > 1 else ""
    return replace(found, notes=(*found.notes, uneven)) if uneven else found


def _absent_keys(samples: Sequence[Mapping[str, Any]], found: Detection) -> Detection | None:
    """The refusal of a set of whose messages none has the key of a tag: `datasets` fills one that any of them has."""
    lists = [turns for row in samples if isinstance(turns := row.get(found.fields["messages"]), (list, tuple))]
    keys = {str(key): None for turns in lists for turn in turns if isinstance(turn, Mapping) for key in turn}
    for ours, theirs in found.message_keys.items():
        if keys and theirs not in keys:
            others = ", ".join(f"`{key}`" for key in keys)
            return refusal(
                f"no message has `{theirs}`: LLaMA-Factory raises KeyError: '{theirs}'",
                f"they have {others}",
                f"name the {ours} key as tags.{ours}_tag in dataset_info.json",
            )
    return None


def unless_late(rows: Sequence[Row], found: Detection, most: int | None) -> Detection:
    """What was found, or why one process stops where it converts the rows: `datasets` types a column by the first 1,000
    of them, and no text goes into one of nulls (converter.py, align_dataset). The system text of chats may be a
    message's."""
    for part in ("tools", "system") if found.format == "alpaca" else ("tools",):
        first = next((row.index for row in rows if row.data is not None and part in row.data), 0)
        if found.fields.get(part) == part and AT_ONCE <= first < (most or first + 1):
            return refusal(
                f"LLaMA-Factory stops: none of the first {first:,} rows has `{part}`",
                "it converts 1,000 rows at a time (TypeError: Couldn't cast array of type string to null)",
                f'add `"{part}": ""` to the first row',
            )
    return found


def _uneven(rows: Sequence[Mapping[str, Any]], fields: Mapping[str, str]) -> bool:
    """Whether tools or calls that are objects have other keys, or the same in another order, in another place."""
    keys: dict[tuple[str, ...], tuple[str, ...]] = {}

    def same(value: Any, path: tuple[str, ...]) -> bool:
        if isinstance(value, Mapping):
            held = tuple(map(str, value))
            return keys.setdefault(path, held) == held and all(
                same(item, (*path, str(key))) for key, item in value.items()
            )
        return all(same(item, (*path, "")) for item in value) if isinstance(value, (list, tuple)) else True

    for row in rows:
        turns = row.get(fields["messages"])
        listed = turns if isinstance(turns, (list, tuple)) else ()
        calls = [turn.get("tool_calls") for turn in listed if isinstance(turn, Mapping)]
        tools = row.get(fields["tools"]) if "tools" in fields else None
        if not same(calls, ("calls",)) or not same(tools, ("tools",)):
            return True
    return False


def _of_messages(data: Data, fields: Mapping[str, str]) -> Detection:
    reason = "LLaMA-Factory: formatting sharegpt with role and content tags"
    roles = CHAT_ROLES if dict(data.role_map) == ROLES else data.role_map  # the preset's are those of from and value
    return Detection("messages", fields, data.message_keys or MESSAGE_KEYS, roles, reason)


def _of_turns(data: Data, fields: Mapping[str, str], kind: str = "sharegpt", formatting: str = "sharegpt") -> Detection:
    reason = f"LLaMA-Factory: formatting {formatting}"
    return Detection(kind, fields, data.message_keys or FROM_VALUE, data.role_map, reason)


def answers_of(objective: str, columns: Sequence[str] = ()) -> Mapping[str, str]:
    """The fields of the answers of a preference, or of what KTO is told of one; none of supervised rows."""
    if objective == "kto":
        return {"label": "label" if "label" in columns and "kto_tag" not in columns else "kto_tag"}
    return {} if objective == "sft" else {name: name for name in SIDES}


def alpaca_fields(answers: Mapping[str, str]) -> Mapping[str, str]:
    """The usual columns of instructions, with what `answers_of` gives."""
    prompt = {name: ALPACA_FIELDS[name] for name in ("instruction", "input")}
    return {**(prompt if "chosen" in answers else ALPACA_FIELDS), **answers}


def _guess(first: Mapping[str, Any], columns: Sequence[str], data: Data, answers: Mapping[str, str]) -> Detection:
    around = {**answers, **{name: name for name in ("system", "tools") if name in columns}}
    paired = "chosen" in answers
    if data.fields and "messages" not in data.fields:
        return Detection("alpaca", data.fields, reason="LLaMA-Factory: formatting alpaca, by data.fields")
    if paired and (side := next((name for name in SIDES if isinstance(first.get(name), (list, tuple))), None)):
        return refusal(
            f"LLaMA-Factory reads no list of messages in `{side}`: it drops the row",
            "an answer is text next to an instruction, or one message next to the messages of the prompt",
            "write the prompt in a column of its own, and each answer as text or one message",
        )
    places = ("conversations", "messages", *["prompt"] * paired)
    listed = (name for name in places if _is_list(first.get(name)))
    column = data.fields.get("messages") or next(listed, None)
    if column is not None:
        turns = first.get(column)
        fields = data.fields or {"messages": column, **around}
        if _is_list(turns) and "role" in turns[0]:
            return _of_messages(data, fields)
        return _of_turns(data, fields)
    if "instruction" in columns and (paired or "output" in columns):
        names = ("instruction", "input", *(() if paired else ("output",)), "history")
        fields = {name: name for name in names if name in columns}
        return Detection("alpaca", {**fields, **around}, reason="LLaMA-Factory: formatting alpaca")
    pairs = (("prompt", "completion"), ("prompt", "response"), ("question", "answer"))
    for prompt, response in (("prompt", "chosen"), ("question", "chosen")) if paired else pairs:
        if isinstance(first.get(prompt), str) and isinstance(first.get(response), str):
            answer = {} if paired else {"output": response}
            return Detection(
                "alpaca",
                {"instruction": prompt, **answer, **around},
                reason=f"LLaMA-Factory: formatting alpaca with `{prompt}` and `{response}`",
            )
    return refusal(
        "LLaMA-Factory does not find these columns by itself: it raises KeyError: 'instruction'",
        f"its default is instruction, input, output; the columns are {', '.join(columns[:6])}",
        "set data.format and data.fields, or convert the rows to messages with `sftui convert`",
    )


def convert(row: Row, detected: Detection, *, openai: bool, objective: str = "sft") -> Conversation:
    """One row as messages with LLaMA-Factory's roles; a row it skips says why in `extra`.

    `openai` is `formatting: openai`, which has rules of its own for tools and the system text.
    """
    paired = "chosen" in answers_of(objective)
    tag = (row.data or {}).get(detected.fields["label"]) if "label" in detected.fields else None
    made = _converted(row, detected, openai, paired, isinstance(tag, bool))
    if objective == "kto":
        return _tagged(made, tag)
    if DROPPED in made.extra:
        return made
    if paired:
        return _with_sides(made, row, detected)
    return replace(made, extra={DROPPED: TWO_RESPONSES}) if isinstance(tag, bool) else made


def _tagged(made: Conversation, tag: Any) -> Conversation:
    """A row of KTO (data/processor/feedback.py): a desired answer is the first of two of which one is empty, so that an
    empty one is read as the other. A row that is dropped still gives the next one its answer, which stops the run where
    there is none."""
    why = made.extra.get(DROPPED)
    if why is not None or not (isinstance(tag, bool) or made.messages[-1].content):
        fix = "drop the row, or trim it to its last answer"
        raise stop(ConversationError, why or "it has neither an answer nor a kto_tag", NEXT_STOPS, fix=fix)
    if not isinstance(tag, bool):
        return replace(made, extra={DROPPED: ONE_RESPONSE})
    *prompt, answer = made.messages
    notes = made.notes
    if tag and not answer.content:
        answer, tag = _message("assistant", "", answer.origin), False
        notes = (*notes, "the desired answer is empty: LLaMA-Factory takes it for an undesired one")
    notes = (*notes, f"the answer is {'desirable' if tag else 'undesirable'}")
    extra, messages = {**made.extra, DESIRABLE: tag}, (*prompt, answer)
    return replace(made, messages=messages, prompt_messages=len(prompt), notes=notes, extra=extra)


def _converted(row: Row, detected: Detection, openai: bool, paired: bool, tagged: bool) -> Conversation:
    """The conversation of `convert`; of a preference its prompt alone."""
    data = row.data or {}
    fields = detected.fields
    system = data.get(fields["system"]) if "system" in fields else ""
    tools = data.get(fields["tools"]) if "tools" in fields else ""
    if detected.format == "alpaca":
        messages, why = _alpaca(data, fields, paired, tagged)
        made = _conversation("alpaca", messages, _system(system, fields.get("system", "")), tools, why)
        unpacked = _unpacked(data.get(fields["history"])) if "history" in fields else {}
        return replace(made, extra={**made.extra, UNPACKED: unpacked}) if unpacked else made
    turns = data.get(fields["messages"])
    if isinstance(turns, (str, Mapping)) and not turns:
        turns = []  # LLaMA-Factory asks for its length alone
    if not isinstance(turns, (list, tuple)) or not all(isinstance(turn, Mapping) for turn in turns):
        raise stop(ConversationError, f"`{fields['messages']}` is not a list of messages", where=row.where)
    tags = _tags(detected)
    role_key, content_key = detected.message_keys.get("role"), detected.message_keys.get("content")
    if role_key is None or content_key is None:
        raise ConversationError(
            "the tags in the dataset_info.json entry lack a role_tag or a content_tag",
            why="setting `tags` clears those that it does not name",
            fix="add them",
        )
    origin = fields.get("system", "")
    first = 0
    if tags["system"] and turns and turns[0].get(role_key) == tags["system"]:
        system, origin, first = turns[0].get(content_key), f"{fields['messages']}[0]", 1
    numbered = [
        (f"{fields['messages']}[{i}]", _role(turn.get(role_key)), turn.get(content_key), turn)
        for i, turn in enumerate(turns)
    ][first:]
    if openai:
        messages, why = _openai(numbered, tags, paired)
        tools = _json(tools, "tools") if isinstance(tools, (dict, list)) else tools
        wanted = _with_thinking(system, tools)
        if wanted != system and not system:
            origin = "formatting: openai"
        notes = ("formatting: openai adds to the system text for every model",) if wanted != system else ()
        return replace(_conversation(detected.format, messages, _system(wanted, origin), tools, why), notes=notes)
    messages, why = _sharegpt(numbered, tags, paired)
    return _conversation(detected.format, messages, _system(system, origin), tools, why)


def _tags(detected: Detection) -> dict[str, str | None]:
    """The data's name of each of LLaMA-Factory's roles, None for the ones without."""
    named: dict[str, str] = {}
    for theirs, ours in detected.role_map.items():
        named.setdefault("observation" if ours == "tool" else ours, theirs)
    return {ours: named.get(ours) for ours in _OURS}


def _role(value: Any) -> str | None:
    """A role as it stands; what is no text matches no tag."""
    return value if value is None or isinstance(value, str) else f"{value!r:.40} (no text)"


def _json(value: Any, what: str) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise stop(ConversationError, f"the {what} cannot be written as JSON", f": {error}") from error


def _conversation(
    name: str, messages: list[Message], system: Message | None, tools: Any, why: str | None
) -> Conversation:
    held = [system, *messages] if system is not None else messages
    return Conversation(Kind.CHAT, name, tuple(held), tools=tools or None, extra={DROPPED: why} if why else {})


def _system(text: Any, origin: str) -> Message | None:
    return Message({"role": "system", "content": text}, origin) if text else None


def _unpacked(history: Any) -> dict[int, str]:
    """The pairs of a history, by their place, of which LLaMA-Factory takes keys or characters for the two texts."""
    return {
        number: "keys" if isinstance(pair, Mapping) else "characters"
        for number, pair in enumerate(history if isinstance(history, list) else ())
        if isinstance(pair, (str, Mapping))
    }


def _message(role: str, content: Any, origin: str) -> Message:
    return Message({"role": role, "content": content}, origin)


def _with_sides(prompt: Conversation, row: Row, detected: Detection) -> Conversation:
    """The prompt with each of the two answers: texts beside an instruction, else a message each, of which a role that
    does not answer is only warned of."""
    data, texts = row.data or {}, detected.format == "alpaca"
    mapping = {theirs: ours for ours, theirs in _tags(detected).items()}
    answers: list[Message] = []
    notes = prompt.notes
    for origin in (detected.fields[name] for name in SIDES):
        answer = data.get(origin)
        if not isinstance(answer, str if texts else Mapping):
            word = "text" if texts else "a message"
            why = f"Dropped invalid example: `{origin}` is not {word}"
            return replace(prompt, messages=(*prompt.messages, *answers), extra={DROPPED: why})
        if isinstance(answer, str):
            answers.append(_message("assistant", answer, origin))
            continue
        theirs, content = (answer.get(detected.message_keys[key]) for key in ("role", "content"))
        role = mapping.get(_role(theirs))
        if role is None or role == "system":
            why = f" with KeyError: {theirs!r}" if role is None else ": Unexpected role: system"
            raise stop(ConversationError, f"`{origin}` has the role `{theirs}`", why)
        if role not in TURNS[1]:
            notes = (*notes, f"`{origin}` has the role `{theirs}`: LLaMA-Factory warns, and trains it in that role")
        answers.append(_message(role, content, origin))
    chosen, rejected = (
        replace(prompt, messages=(*prompt.messages, one), prompt_messages=len(prompt.messages), notes=notes)
        for one in answers
    )
    extra = {**prompt.extra, PROMPTED: chosen.messages[-1].content}
    return replace(chosen, rejected=replace(rejected, extra=extra))


def _alpaca(
    data: Mapping[str, Any], fields: Mapping[str, str], paired: bool, tagged: bool
) -> tuple[list[Message], str | None]:
    messages = []
    history = data.get(fields["history"]) if "history" in fields else None
    for number, pair in enumerate(history if isinstance(history, list) else ()):
        # `for old_prompt, old_response in history`: whatever gives two things, a mapping the names of its keys
        if not isinstance(pair, (list, tuple, str, Mapping)) or len(pair) != 2:
            raise stop(ConversationError, f"history[{number}] is not a [question, answer] pair")
        origin = f"{fields['history']}[{number}]"
        messages += [_message(role, text, origin) for role, text in zip(("user", "assistant"), pair)]
    named = [fields[name] for name in ("instruction", "input") if name in fields and data.get(fields[name])]
    texts = [data[name] for name in named]
    if not all(isinstance(text, str) for text in texts):
        raise stop(ConversationError, "the prompt or query is not text", fix="fix the row")
    messages.append(_message("user", "\n".join(texts), " + ".join(named)))
    if paired:
        return messages, None
    answer = data.get(fields["output"]) if "output" in fields else None
    if not isinstance(answer, str) and not tagged:
        return messages, "Dropped invalid example: there is no response"
    return [*messages, _message("assistant", answer, fields["output"])], None


Numbered = Sequence[tuple[str, Any, Any, Mapping[str, Any]]]


def _sharegpt(turns: Numbered, tags: Mapping[str, str | None], paired: bool) -> tuple[list[Message], str | None]:
    mapping = {theirs: ours for ours, theirs in tags.items()}
    accepted = tuple(tuple(tags[ours] for ours in pair) for pair in TURNS)
    messages: list[Message] = []
    for number, (origin, role, content, _) in enumerate(turns):
        if role not in accepted[number % 2]:
            rest = [_message(mapping.get(r) or str(r), c, o) for o, r, c, _ in turns[number:]]
            return messages + rest, _invalid_role(origin, role)
        messages.append(_message(mapping[role], content, origin))
    why = _invalid_count(messages, paired)
    if why is None and (stray := next((message for message in messages if message.role == "system"), None)) is not None:
        # A null role is taken for that of a tag without a name: the system's where system_tag has none.
        raise stop(ConversationError, f"{stray.origin} has no role", ": Unexpected role: system")
    return messages, why


def _openai(turns: Numbered, tags: Mapping[str, str | None], paired: bool) -> tuple[list[Message], str | None]:
    """Tool results are joined into one observation; tool_calls become the content of a function turn."""
    mapping = {theirs: ours for ours, theirs in tags.items()}
    messages: list[Message] = []
    results: list[tuple[str, Any]] = []
    for origin, role, content, turn in turns:
        calls = turn.get("tool_calls")
        if role in (tags["assistant"], tags["function"]) and calls:
            listed = calls if isinstance(calls, list) else [None]
            if not all(isinstance(call, Mapping) and "function" in call for call in listed):
                raise stop(ConversationError, f"the tool_calls in {origin} are not a list of functions")
            content, role = _json([call["function"] for call in calls], "tool_calls"), tags["function"]
        if role == tags["observation"]:
            results.append((origin, content))
            continue
        if results:
            empty = next((where for where, text in results if not isinstance(text, str)), None)
            if empty is not None:
                raise stop(ConversationError, f"the content of {empty} is not text", ": it joins tool results")
            joined = "\n</tool_response>\n<tool_response>\n".join(text for _, text in results)
            messages.append(_message("observation", joined, results[0][0]))
            results = []
        if role not in mapping:
            raise stop(
                ConversationError,
                f"{origin} has the role `{role}`",
                f" with KeyError '{role}'",
                fix="name the role under `tags` in dataset_info.json",
            )
        messages.append(_message(mapping[role], content, origin))
    for number, message in enumerate(messages):
        if message.role not in TURNS[number % 2]:
            return messages, _invalid_role(message.origin, message.role)
    return messages, _invalid_count(messages, paired)


def _with_thinking(system: Any, tools: Any) -> Any:
    """The system text of `formatting: openai`: without tools it switches thinking off unless it speaks of it."""
    if not system:
        return system if tools else THINKING_OFF
    if not isinstance(system, str):
        return system
    if tools:
        return f"{system}\n"
    return system if THINKING_ON in system or THINKING_OFF in system else f"{system}\n{THINKING_OFF}"


def _invalid_role(origin: str, role: Any) -> str:
    why = "questions and answers must alternate. LLaMA-Factory skips this example"
    return f"Invalid role tag: `{role}` at {origin}; {why}"


def _invalid_count(messages: Sequence[Message], paired: bool) -> str | None:
    if not messages:
        return "Dropped invalid example: there are no messages"
    what = "the prompt must end with a question" if paired else "not pairs"
    uneven = f"Invalid message count: {len(messages)}, {what}. LLaMA-Factory skips this example"
    return uneven if len(messages) % 2 != paired else None


def _is_list(value: Any) -> TypeGuard[Sequence[Mapping[str, Any]]]:
    """Whether it is a list that begins with a mapping."""
    return isinstance(value, (list, tuple)) and bool(value) and isinstance(value[0], Mapping)


def as_chat(conversation: Conversation) -> tuple[list[Mapping[str, Any]], Any] | None:
    """Its messages and tools as chat templates take them: calls beside the content, results by the role `tool`; None
    where a call or the tools are no JSON."""
    messages: list[Mapping[str, Any]] = []
    try:
        for message in conversation.messages:
            role = message.role
            if role == "function":
                calls = [
                    {"type": "function", "function": {"name": name, "arguments": arguments}}
                    for name, arguments in calls_in(str(message.content))
                ]
                messages.append({"role": "assistant", "content": "", "tool_calls": calls})
            else:
                messages.append({**message.data, "role": "tool" if role == "observation" else role})
        tools = json.loads(conversation.tools) if conversation.tools else None
        wrapped = [tool if "function" in tool else {"type": "function", "function": tool} for tool in tools or ()]
    except (ValueError, TypeError, KeyError):
        return None
    return messages, wrapped or None
