"""How the v1 engine reads rows: by the converter that the dataset's entry names, or as its own samples.

Source: llamafactory 0.9.6.dev0 (ff6d4d1), v1/core/data_engine.py and v1/plugins/data_plugins/converter.py. A sample is
`messages`, each with a role, a list of parts ({type, value}) and a `loss_weight`, and `tools` as JSON text. Columns
have the converter's names; whatever else a row holds is passed over. `data.format` stands for the converter: `messages`
for none, `alpaca`, `sharegpt`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sftui.conversations import Detection
from sftui.conversations.detected import FROM_VALUE, refusal, type_word
from sftui.errors import ConversationError
from sftui.model import Conversation, Kind, Message, Row
from sftui.recipe import Data
from sftui.text import clip, many, visible

TITLE = "LLaMA-Factory v1"
STOPS = f"{TITLE} stops the whole run at such a row"
SAMPLE = "v1 sample"
"""The key of `Conversation.extra` that holds the row as the engine has it, a `V1Sample`."""
LEAST = 1e-6
"""The smallest weight of an answer that is trained."""
MEDIA = {"<image>": ("image_url", "images"), "<video>": ("video_url", "videos"), "<audio>": ("audio_url", "audios")}
"""Tags in a text → what they stand for, and the column of the files (v1/utils/constants.py)."""
_TAGS = re.compile("(" + "|".join(map(re.escape, MEDIA)) + ")")
ROLES = {"system": "system", "human": "user", "gpt": "assistant", "observation": "tool", "function_call": "assistant"}
FIELDS = {
    "messages": {"messages": "messages"},
    "sharegpt": {"messages": "conversations"},
    "alpaca": {"instruction": "instruction", "input": "input", "output": "output"},
}
CONVERTERS = {"alpaca": "alpaca", "sharegpt": "sharegpt"}
"""The converters that make samples for supervised fine-tuning; `pair` makes pairs of answers."""


@dataclass(frozen=True, slots=True)
class V1Sample:
    """A row as the engine has it: its messages, the places behind each answer that is trained, and its tools.

    `cuts` is empty where no answer is trained: the row then is one sample of all of its messages.
    """

    messages: tuple[Any, ...]
    cuts: tuple[int, ...]
    tools: Any = None

    @property
    def lengths(self) -> tuple[int, ...]:
        """How many messages each sample of the row has."""
        return self.cuts or (len(self.messages),)

    @property
    def weights(self) -> tuple[float, ...]:
        """The weight of the answer of each of them."""
        return tuple(self.messages[length - 1].get("loss_weight", 1.0) for length in self.lengths)


def detect(rows: Sequence[Row], data: Data) -> Detection:
    """How rows are read. The engine itself never guesses: `auto` is the entry that fits the first row."""
    samples = [row.data for row in rows if isinstance(row.data, Mapping)]
    if not samples:
        return refusal("no row could be read", fix="fix the file")
    columns = list(dict.fromkeys(key for row in samples for key in row))
    kind = data.format if data.format != "auto" else _guess(samples[0], columns)
    if kind not in FIELDS:
        if kind:
            why = "it has alpaca and sharegpt, and reads its native format without one"
            fix = "set data.format to messages, alpaca or sharegpt"
            return refusal(f"{TITLE} has no converter for `{data.format}` rows", why, fix)
        shown = ", ".join(visible(str(name)) for name in columns[:6])
        why = "its converters read `instruction`, `input`, `output` or `conversations`; `messages` need none"
        why += f"; the columns are {shown}"
        return refusal(f"{TITLE} needs different columns", why, "rename the columns accordingly")
    pairs = next((name for name in ("chosen_messages", "chosen") if name in columns), None)
    if kind == "messages" and "messages" not in columns:
        why = f"it contains preference pairs (`{pairs}`)" if pairs else "the column `messages` is missing"
        return refusal(f"{TITLE} builds no `sft` samples from these rows", why, "")
    if kind == "messages" and _all_text(samples):
        return refusal(
            f"the content of a message is text, not a list of parts: {TITLE} raises TypeError: string indices must be"
            " integers, not 'str'",
            fix='write content as [{"type": "text", "value": …}], or write the rows in alpaca or sharegpt format',
        )
    beside = "system" if kind == "alpaca" else "tools"
    fields = {**FIELDS[kind], beside: beside}
    read_by = "its native format, no converter" if kind == "messages" else f"converter {kind}"
    return Detection(
        kind,
        {ours: theirs for ours, theirs in fields.items() if theirs in columns},
        FROM_VALUE if kind == "sharegpt" else {},
        ROLES if kind == "sharegpt" else {},
        f"{TITLE}: {read_by}",
        verbatim=True,
    )


def _all_text(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether every row has a message whose content is text, as in OpenAI's shape."""
    listed = [row.get("messages") for row in rows]
    held = [one for one in listed if isinstance(one, (list, tuple)) and one]
    return bool(held) and all(
        any(isinstance(turn, Mapping) and isinstance(turn.get("content"), str) and turn["content"] for turn in turns)
        for turns in held
    )


def _guess(first: Mapping[str, Any], columns: Sequence[str]) -> str:
    if "messages" in columns:
        return "messages"
    if "conversations" in columns:
        return "sharegpt"
    return "alpaca" if "instruction" in columns or "output" in columns else ""


def convert(row: Row, detected: Detection) -> Conversation:
    """One row as the messages that reach a sample; ConversationError where the engine stops while it indexes."""
    data, notes = row.data or {}, list[str]()
    if detected.format == "alpaca":  # a column that some row has is there, as null, in every row of the loaded dataset
        messages, tools = _alpaca({**dict.fromkeys(detected.fields.values()), **data}), None
    elif detected.format == "sharegpt":
        messages, tools = _sharegpt(data, notes)
    else:  # a sample already
        given = data.get("messages")
        if given and not isinstance(given, (list, tuple)):
            raise _stop(f"`messages` is {type_word(given)}, not a list of messages")
        messages, tools = tuple(given or ()), data.get("tools")
    sample = V1Sample(messages, _cuts(messages), tools)
    column = FIELDS[detected.format].get("messages", "")
    seen = messages[: sample.cuts[-1]] if sample.cuts else messages
    shown = tuple(_shown(message, f"{column}[{i}]" if column else "") for i, message in enumerate(seen))
    if len(seen) < len(messages):
        notes.append(f"{many(len(messages) - len(seen), 'message')} after the last trained answer: not in any sample")
    return Conversation(
        Kind.CHAT, detected.format, shown, tools=_listed(tools), extra={SAMPLE: sample}, notes=tuple(notes)
    )


def _stop(what: str, fix: str = "fix or remove the row") -> ConversationError:
    return ConversationError(what, why=STOPS, fix=fix)


def _alpaca(data: Mapping[str, Any]) -> tuple[Any, ...]:
    media = _files(data)
    messages: list[Any] = []
    if "system" in data:
        messages.append(_message("system", [_text(data["system"])], 0.0))
    if "instruction" in data or "input" in data:
        asked = [data.get(name, "") for name in ("instruction", "input")]
        if not all(isinstance(one, str) for one in asked):
            raise _stop("the instruction or the input is not text")
        messages.append(_message("user", _parts("".join(asked), media), 0.0))
    if "output" in data:
        messages.append(_message("assistant", [_text(data["output"])], 1.0))
    _all_used(media)
    return tuple(messages)


def _sharegpt(data: Mapping[str, Any], notes: list[str]) -> tuple[tuple[Any, ...], Any]:
    media = _files(data)
    turns = data.get("conversations", ())
    if not isinstance(turns, (list, tuple)) or not all(isinstance(turn, Mapping) for turn in turns):
        raise _stop("`conversations` is not a list of messages")
    messages: list[Any] = []
    for number, turn in enumerate(turns):
        if "from" not in turn or "value" not in turn:
            raise _stop(f"conversations[{number}] has no `from` or no `value`")
        tag, value = turn["from"], turn["value"]
        if isinstance(tag, (list, dict)):
            raise _stop(f"conversations[{number}] has {type_word(tag)} as `from`")
        if not isinstance(tag, str) or tag not in ROLES:
            shown = visible(clip(str(tag), 40))
            notes.append(f"conversations[{number}] is dropped: {TITLE} has no role `{shown}`")
        elif tag == "function_call":
            calls = _json(value, f"the tool call in conversations[{number}]")
            if calls is None:
                notes.append(f"conversations[{number}] is dropped: the tool call is not JSON")
                continue
            listed = calls[0] if isinstance(calls[0], list) else calls
            parts = [{"type": "tool_call", "value": json.dumps(call)} for call in listed]
            messages.append(_message("assistant", parts, 1.0))
        elif not isinstance(value, str):
            raise _stop(f"conversations[{number}] is {type_word(value)}, not text")
        else:
            messages.append(_message(ROLES[tag], _parts(value, media), 1.0 if tag == "gpt" else 0.0))
    _all_used(media)
    tools = data.get("tools")
    if not tools:
        return tuple(messages), None
    read = _json(tools, "`tools`")
    if read is None:
        notes.append("`tools` is not JSON: the row is read without tools")
        return tuple(messages), None
    return tuple(messages), json.dumps(read[0])


def _json(value: Any, what: str) -> list[Any] | None:
    """What a text of JSON says, in a list of one; None where it is no JSON."""
    if not isinstance(value, str):
        raise _stop(f"{what} is {type_word(value)}, not JSON text", "write it as JSON text")
    try:
        return [json.loads(value)]
    except ValueError:
        return None
    except RecursionError:
        raise _stop(f"{what} is nested too deeply") from None


def _message(role: str, parts: list[Any], weight: float) -> dict[str, Any]:
    return {"role": role, "content": parts, "loss_weight": weight}


def _text(value: Any) -> dict[str, Any]:
    return {"type": "text", "value": value}


Files = dict[str, Iterator[Any]]


def _files(data: Mapping[str, Any]) -> Files:
    """The files of each kind that a row names, to be taken in the order of the tags."""
    found: Files = {}
    for tag, (_, column) in MEDIA.items():
        value = data.get(column)
        found[tag] = iter(value if isinstance(value, (list, tuple)) else () if value is None else (value,))
    return found


def _parts(text: str, media: Files) -> list[Any]:
    """A text, cut at the tags of media, each of which takes a file."""
    if not _TAGS.search(text):
        return [_text(text)]
    found: list[Any] = []
    for piece in _TAGS.split(text):
        if piece in MEDIA:
            file = next(media[piece], None)
            if file is None:
                fix = f"write {piece} differently if it is only text"
                raise _stop(f"there are more {piece} tags than files", fix)
            found.append({"type": MEDIA[piece][0], "value": file})
        elif piece:
            found.append(_text(piece))
    return found


def _all_used(media: Files) -> None:
    for tag, left in media.items():
        if next(left, None) is not None:
            raise _stop(f"there are fewer {tag} tags than files")


def _cuts(messages: Sequence[Any]) -> tuple[int, ...]:
    """The places behind the answers that are trained, as the engine's index has them; ConversationError where it
    stops."""
    found: list[int] = []
    for number, message in enumerate(messages):
        if not isinstance(message, Mapping) or "role" not in message:
            raise _stop(f"messages[{number}] has no role")
        if message["role"] != "assistant":
            continue
        weight = message.get("loss_weight", 1.0)
        if not isinstance(weight, (int, float)):
            absent = "is null, as happens when other messages in the file have one"
            held = absent if weight is None else "is not a number"
            raise _stop(f"the loss_weight of messages[{number}] {held}", "set a number for every answer")
        if weight > LEAST:
            found.append(number + 1)
    return tuple(found)


def _shown(message: Mapping[str, Any], origin: str) -> Message:
    """A message as far as it can be read, for the eye: the texts that are rendered are made in `samples`."""
    content = message.get("content")
    parts = [part for part in content if isinstance(part, Mapping)] if isinstance(content, (list, tuple)) else []
    said = {"text": list[str](), "reasoning": list[str]()}
    calls: list[dict[str, Any]] = []
    for part in parts:
        kind, value = part.get("type"), part.get("value")
        if isinstance(kind, str) and kind in said and isinstance(value, str):
            said[kind].append(value)
        elif kind == "tool_call" and isinstance(value, str):
            with suppress(ValueError, RecursionError):
                call = json.loads(value)
                if isinstance(call, dict) and {"name", "arguments"} <= call.keys():
                    calls.append(called(call))
    data: dict[str, Any] = {"role": message.get("role"), "content": "".join(said["text"])}
    if calls:
        data["tool_calls"] = calls
    if any(said["reasoning"]):
        data["reasoning_content"] = "".join(said["reasoning"])
    weight = message.get("loss_weight")
    if data["role"] != "assistant" or not isinstance(weight, (int, float)):
        return Message(data, origin)
    return Message(data, origin, weight > LEAST, float(weight))


def called(call: Mapping[str, Any]) -> dict[str, Any]:
    """A call as chat templates get it."""
    return {"type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}


def _listed(tools: Any) -> Any:
    """The tools as far as they can be read."""
    if isinstance(tools, str) and tools:
        with suppress(ValueError, RecursionError):
            read = json.loads(tools)
            return read if isinstance(read, list) else [read]
    return None
