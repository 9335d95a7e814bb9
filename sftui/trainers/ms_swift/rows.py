"""How ms-swift reads rows: columns renamed by themselves, then one of three preprocessors, chosen by the columns.

Source: ms-swift 4.6.0, dataset/preprocessor/core.py (AutoPreprocessor, safe_rename_columns, MessagesPreprocessor,
AlpacaPreprocessor, ResponsePreprocessor, _check_messages, _normalize_tools), template/template_inputs.py
(normalize_openai_tool_calls, StdTemplateInputs.from_dict). `data.format` stands for the preprocessor: `messages`,
`alpaca`, `columns`. A row at which any of it raises is left out (`strict`: stops the run). Messages, tools and
chat_template_kwargs of what is left are written as JSON text (_patch_arrow_writer), which numbers do not all survive,
once more with their lengths (dataset/utils.py, AddLengthPreprocessor), and go to the template as `RowInput`.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from sftui.conversations import Detection
from sftui.conversations.detected import MESSAGE_KEYS, NO_ROW, refusal, type_word
from sftui.conversations.reading import stored
from sftui.errors import ConversationError
from sftui.model import Conversation, Kind, Message, Problem, Row
from sftui.recipe import Data
from sftui.text import clip, visible

TITLE = "ms-swift"
GIVEN = "ms-swift row"
"""The key of `Conversation.extra` that holds the row as the template gets it, a `RowInput`."""
DROPPED = "ms-swift dropped"
"""The key of `Conversation.extra` that says why the row is left out."""
SYSTEMS = ("system", "system_prompt")
MESSAGE_COLUMNS = ("messages", "conversation", "conversations")
QUERIES = ("query", "prompt", "input", "instruction", "question", "problem")
RESPONSES = (
    *("response", "answer", "output", "targets", "target", "answer_key", "answers", "solution"),
    *("text", "completion", "content"),
)
MEDIA = {name: f"{kind}s" for kind in ("image", "audio", "video") for name in (f"{kind}s", kind)}
REJECTED = "rejected_response"
REJECTED_COLUMNS = ("rejected_messages", "rejected_tools")
PAIRS = ("rejected_", "positive_", "negative_")
USERS, ASSISTANTS = ("user", "human"), ("assistant", "gpt", "bot")
CALLS, RESULTS = ("function_call",), ("function_response", "observation", "observations")
KEPT = frozenset({"role", "content", "loss", "loss_scale"})
ROLES = frozenset({"system", "user", "tool_call", "tool_response", "tool", "assistant"})
RENAMED: Mapping[str, Mapping[str, str]] = {
    "messages": {**MEDIA, **dict.fromkeys(MESSAGE_COLUMNS, "messages"), **dict.fromkeys(SYSTEMS, "system")},
    "columns": {
        **MEDIA,
        **dict.fromkeys(SYSTEMS, "system"),
        **dict.fromkeys(QUERIES, "query"),
        **dict.fromkeys(RESPONSES, "response"),
    },
}
"""Preprocessor → the columns that it renames by itself; `alpaca` has those of `columns`."""


class DroppedRow(Exception):
    """A row that ms-swift leaves out, and why."""


@dataclass(frozen=True, slots=True)
class RowInput:
    """A row as it reaches the template: messages (the system text taken out), where each stands, tools, variables."""

    messages: tuple[Mapping[str, Any], ...]
    system: Any
    tools: Any
    variables: Mapping[str, Any]


def renames(columns: Iterable[str], wanted: Mapping[str, str]) -> dict[str, str]:
    """Which columns get which name; of several that would get the same one none gets it."""
    spelled = {column.lower(): column for column in columns}
    found = {spelled[name.lower()]: new for name, new in wanted.items() if name.lower() in spelled}
    count = Counter(found.values())
    return {name: new for name, new in found.items() if count[new] == 1 and name != new}


def detect(
    rows: Sequence[Row], data: Data, mapping: Mapping[str, str], by_itself: bool, *, paired: bool = False
) -> Detection:
    """How rows are read; `mapping` is `columns` of the config, `by_itself` whether others are renamed, too, `paired`
    whether each has a rejected side."""
    samples = [row.data for row in rows if isinstance(row.data, Mapping)]
    columns = list(dict.fromkeys(str(key) for row in samples for key in row))
    if not columns:
        return NO_ROW
    first = renames(columns, mapping)
    named = [first.get(column, column) for column in columns]
    known = (REJECTED, *REJECTED_COLUMNS) if paired else (REJECTED,)
    pair = next((column for column in named if column.startswith(PAIRS) and column not in known), None)
    if paired and not {*known} & {*named}:
        return refusal(
            f"{TITLE} drops every row: none has a rejected answer (ValueError: inputs.rejected is None)",
            fix="add a column rejected_response, or set loss.objective to sft",
        )
    if pair is not None:
        return refusal(
            f"the rows contain preference pairs (`{visible(pair)}`)",
            "`swift sft` reads them in addition to the answers it trains, and sftui does not model that",
            "remove the columns" + ", or set loss.objective to dpo" * (not paired and pair in REJECTED_COLUMNS),
        )
    kind = "columns"
    if any(column in named for column in MESSAGE_COLUMNS):
        kind = "messages"
    elif "instruction" in named and "input" in named:
        kind = "alpaca"
    if data.format not in ("auto", kind):
        return refusal(
            f"data.format is {data.format}, but {TITLE} reads these rows as {kind}",
            "it decides only by the column names",
            "set data.format to auto",
        )
    more = renames(named, RENAMED["messages" if kind == "messages" else "columns"]) if by_itself else {}
    last = [more.get(column, column) for column in named]
    double = next((column for column in last if last.count(column) > 1), None)
    if double is not None:
        return refusal(
            f"{TITLE} stops: two columns would be called `{visible(double)}`",
            "`columns` (data.fields) renames one column to the name of another",
            "rename or remove the other one",
        )
    renamed = dict(zip(last, columns))
    found = {ours: renamed[theirs] for ours, theirs in _fields(kind, renamed).items()}
    problem = _missing(kind, renamed, columns)
    said = {"messages": "messages", "alpaca": "instruction, input and output", "columns": "query and response"}[kind]
    shown = ", ".join(f"`{visible(value)}`" for value in found.values())
    keys = MESSAGE_KEYS if kind == "messages" else {}
    if kind == "messages" and "messages" in found:
        keys = _keys(samples, found["messages"]) or keys
    return Detection(kind, found, keys, {}, f"{TITLE}: {said}, in {shown or 'no column'}", refused=problem)


def _keys(rows: Sequence[Mapping[str, Any]], column: str) -> dict[str, str] | None:
    """Which keys of the first message are its role and content."""
    for row in rows:
        turns = row.get(column)
        if isinstance(turns, list) and turns and isinstance(turns[0], Mapping):
            role = "from" if "from" in turns[0] else "role"
            return {"role": role, "content": "value" if "value" in turns[0] else "content"}
    return None


def _fields(kind: str, columns: Mapping[str, str]) -> dict[str, str]:
    """sftui's names of fields → the names that the columns have after renaming, of those that are there."""
    around = {"system": "system", "tools": "tools", "template_kwargs": "chat_template_kwargs"}
    around |= {name: name for name in (REJECTED, *REJECTED_COLUMNS)}
    own = {
        "messages": {"messages": "messages"},
        "alpaca": {"instruction": "instruction", "input": "input", "output": "response", "history": "history"},
        "columns": {"prompt": "query", "completion": "response", "history": "history"},
    }[kind]
    found = {ours: theirs for ours, theirs in {**own, **around}.items() if theirs in columns}
    if kind == "alpaca" and "output" in columns:
        found["output"] = "output"
    return found


EMPTY = "ZeroDivisionError: integer division or modulo by zero"
"""What it raises over a dataset of which it reads no row (dataset/utils.py, sample_dataset)."""


def _missing(kind: str, columns: Mapping[str, str], given: Sequence[str]) -> Problem | None:
    """Why no row can be read, where that is known from the columns."""
    names = ", ".join(f"`{visible(one)}`" for one in given[:6])
    found, fix = "no `messages`", "keep one of them, or name it with `columns`"
    wanted: tuple[str, ...] = ("messages",)
    if kind != "messages":
        found, wanted = "neither query nor response", ("response", "query", "history")
        fix = "name them with `columns`, or convert the rows to messages with `sftui convert`"
    if kind == "alpaca" or any(name in columns for name in wanted):
        return None
    return Problem(
        f"{TITLE} drops every row: it finds {found} in {names}",
        f"if several columns would get the same name, it renames none; then it stops ({EMPTY})",
        fix,
    )


def convert(row: Row, detected: Detection, *, strict: bool, writes: int = 2, paired: bool = False) -> Conversation:
    """One row as ms-swift's messages, after its dataset was written so many times; where it would be left out, `extra`
    says why. `paired`: with its rejected side."""
    data = row.data or {}
    fields = detected.fields
    try:
        return _converted(data, detected, writes, paired)
    except DroppedRow as left:
        refuse(str(left), strict)
        stored_values = ((column, data.get(column)) for column in fields.values())
        shown = tuple(  # to be seen
            Message({"role": "user", "content": value if isinstance(value, str) else clip(str(value), 2000)}, column)
            for column, value in stored_values
            if value is not None
        )
        return Conversation(Kind.CHAT, detected.format, shown, extra={DROPPED: str(left)})


def refuse(why: str, strict: bool) -> None:
    """ConversationError for a row that is left out where that stops the run."""
    if strict:
        raise ConversationError(
            f"{TITLE} stops the whole run at this row: {why}",
            why="`strict` is set",
            fix="fix or remove the row, or set strict to false",
        )


def _converted(data: Mapping[str, Any], detected: Detection, writes: int, paired: bool) -> Conversation:
    for column in (*MEDIA, "objects"):
        if data.get(column):
            raise ConversationError(
                f"the row has `{column}`", why="sftui shows only text rows", fix="open the rows without that column"
            )
    fields = detected.fields
    rejected = _rejected_messages(data, detected) if paired and REJECTED_COLUMNS[0] in fields else None
    made = _messages(data, fields) if detected.format == "messages" else _pairs(data, detected.format, fields)
    if REJECTED in fields:
        _refuse_rejected(data.get(fields[REJECTED]), [message for message, _ in made])
    held = [_checked(message, origin) for message, origin in made]
    if not held:
        raise DroppedRow("it has no messages (AssertionError)")
    tools = _tools(data.get(fields["tools"]) if "tools" in fields else None)
    variables = data.get(fields["template_kwargs"]) if "template_kwargs" in fields else None
    variables = variables or {}
    if not isinstance(variables, Mapping):
        raise DroppedRow(f"its chat_template_kwargs are {type_word(variables)}")
    for _ in range(writes):
        held, tools, variables = _stored(held), stored(tools), stored(variables)
        rejected = None if rejected is None else _stored(rejected)
    chosen = _conversation(held, tools, variables, detected)
    if not paired:
        return chosen
    others = _tools(data.get(fields["rejected_tools"])) if "rejected_tools" in fields else None
    if rejected is not None:  # then nothing is taken over from the chosen side
        tools, variables = others, {}
    elif others is not None:
        tools = others
    if REJECTED in fields:
        rejected = _answered(held, data[fields[REJECTED]], fields[REJECTED])
    turns = _openai(held if rejected is None else rejected)
    missing = next((place for turn, place in turns if "content" not in turn), None)
    if missing is not None:
        raise DroppedRow(f"{missing} has no content (KeyError: 'content')")
    if [(turn["role"], turn["content"] is None) for turn, _ in turns[-2:]] == [("user", False), ("assistant", True)]:
        turns = turns[:-1]  # _get_std_messages puts the same behind a last question
    return replace(chosen, rejected=_conversation(turns, tools, variables, detected))


def _stored(placed: list[Placed]) -> list[Placed]:
    """Messages as they are read again once they are written."""
    return list(zip(stored([message for message, _ in placed]), [place for _, place in placed]))


def _conversation(
    placed: Sequence[Placed], tools: Any, variables: Mapping[str, Any], detected: Detection
) -> Conversation:
    """Messages as the template gets them."""
    given = _given([message for message, _ in placed], tools, variables)
    system = () if given.system is None else ({"role": "system", "content": given.system},)
    shown = tuple(_message(message, origin) for message, (_, origin) in zip((*system, *given.messages), placed))
    extra = {GIVEN: given}
    return Conversation(Kind.CHAT, detected.format, shown, tools=tools, template_kwargs=variables, extra=extra)


def _rejected_messages(data: Mapping[str, Any], detected: Detection) -> list[Placed] | None:
    """The column `rejected_messages`, which MessagesPreprocessor reads as it does `messages`, others leave as it is;
    None where that finds none: the rejected side is then the chosen one (TemplateInputs.from_dict)."""
    column = detected.fields[REJECTED_COLUMNS[0]]
    if data.get(column) is None or (detected.format == "messages" and not data[column]):
        return None
    if detected.format == "messages":
        return _messages(data, {"messages": column})
    if (
        not data[column]
        or not isinstance(data[column], list)
        or not all({"role", "content"} <= {*one} for one in data[column])
    ):
        raise DroppedRow(f"`{column}` is not a list of messages")
    return [(dict(one), f"{column}[{number}]") for number, one in enumerate(data[column])]


def _answered(placed: Sequence[Placed], rejected: Any, column: str) -> list[Placed]:
    """The messages up to the last question, and the rejected answer."""
    asked = max((at for at, (message, _) in enumerate(placed, 1) if message["role"] == "user"), default=0)
    text = isinstance(rejected, str)
    turns = [{"role": "assistant", "content": rejected}] if text else [{"content": None, **one} for one in rejected]
    places = [column] if text else [f"{column}[{number}]" for number in range(len(turns))]
    return [*((dict(message), place) for message, place in placed[:asked]), *zip(turns, places)]


def _refuse_rejected(rejected: Any, messages: Sequence[Mapping[str, Any]]) -> None:
    """The answer that is not wanted, which `swift sft` looks at all the same (_check_rejected_response and
    _compat_rejected_response): it must be text or messages, and none that is the answer."""
    asked = next((at for at in range(len(messages), 0, -1) if messages[at - 1].get("role") == "user"), 0)
    answer = messages[-1].get("content") if messages else None
    if isinstance(rejected, (list, tuple)):
        if any(not isinstance(one, Mapping) or one.get("role", "user") == "user" for one in rejected):
            raise DroppedRow(f"its `{REJECTED}` contains something that is not an answer message")
        same = len(rejected) == 1 == len(messages) - asked and rejected[0].get("content") == answer
    elif isinstance(rejected, str):
        same = rejected == answer
    else:
        raise DroppedRow(f"its `{REJECTED}` is {type_word(rejected)} (ValueError)")
    if same:
        raise DroppedRow(f"its `{REJECTED}` is the answer itself (ValueError)")


def _message(message: Mapping[str, Any], origin: str) -> Message:
    data = {key: value for key, value in message.items() if key in ("role", "content", "name")}
    loss, scale = message.get("loss"), message.get("loss_scale")
    weight = float(scale) if isinstance(scale, (int, float)) and not isinstance(scale, bool) else None
    return Message(data, origin, None if loss is None else bool(loss), weight)


Placed = tuple[dict[str, Any], str]
"""A message, and where it stands in the row."""


def _pairs(data: Mapping[str, Any], kind: str, fields: Mapping[str, str]) -> list[Placed]:
    """query, response and history as messages (ResponsePreprocessor and AlpacaPreprocessor)."""
    at = {name: data.get(column) for name, column in fields.items()}
    if kind == "alpaca":
        asked, given = at.get("instruction"), at.get("input")
        query: Any = f"{asked}\n{given}" if asked and given else asked or given
        if not isinstance(query, str):
            raise DroppedRow("it has neither an instruction nor an input (AssertionError)")
        answer, asked_at, answered_at = at.get("output"), "instruction", fields.get("output", "output")
    else:
        query, answer = at.get("prompt"), at.get("completion")
        asked_at, answered_at = fields.get("prompt", "query"), fields.get("completion", "response")
    if isinstance(answer, (list, tuple)):
        if not answer:
            raise DroppedRow(f"`{answered_at}` is an empty list (IndexError)")
        answer = answer[0]
    history = at.get("history") or []
    if isinstance(history, str):
        try:
            history = ast.literal_eval(history)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError) as error:
            raise DroppedRow(f"`history` is text that Python cannot read ({type(error).__name__})") from None
    if not isinstance(history, list):
        raise DroppedRow(f"`history` is {type_word(history)} (AttributeError)")
    found: list[Placed] = []
    system = at.get("system")
    if system is not None:
        found.append(({"role": "system", "content": system}, fields["system"]))
    places = [(f"history[{i}]", f"history[{i}]") for i in range(len(history))]
    for pair, (asked_in, answered_in) in zip([*history, [query, answer]], [*places, (asked_at, answered_at)]):
        if not isinstance(pair, (list, tuple)) or len(pair) < 2:
            raise DroppedRow(f"`{asked_in}` is not a pair of strings")
        for role, said, place in (("user", pair[0], asked_in), ("assistant", pair[1], answered_in)):
            if said is not None:
                found.append(({"role": role, "content": said}, place))
    return found


def _messages(data: Mapping[str, Any], fields: Mapping[str, str]) -> list[Placed]:
    """A list of messages, of whatever dialect (MessagesPreprocessor)."""
    column = fields["messages"]
    held = data.get(column)
    if isinstance(held, str):
        held = _read(held, column)
    if not held or isinstance(held, str):
        raise DroppedRow(f"`{column}` is empty")
    if isinstance(held, Mapping) or not isinstance(held, (list, tuple)):
        raise DroppedRow(f"`{column}` is {type_word(held)}, not a list of messages")
    if not all(isinstance(one, Mapping) for one in held):
        raise DroppedRow(f"`{column}` contains {type_word(next(one for one in held if not isinstance(one, Mapping)))}")
    placed: list[Placed] = [(dict(one), f"{column}[{i}]") for i, one in enumerate(held)]
    placed = _of_provider(placed)
    if not placed:
        raise DroppedRow("none of its messages is left (IndexError)")
    for message, _ in placed:
        _rename(message, "role", ("role", "from"))
        _rename(message, "content", ("content", "value"))
    system, at = (data.get(fields["system"]), fields["system"]) if "system" in fields else (None, "")
    if "role" not in placed[0][0] and "content" not in placed[0][0]:
        return _of_turns(placed, system, at)
    if "role" not in placed[0][0]:
        raise DroppedRow("its first message has no role (KeyError: 'role')")
    if placed[0][0]["role"] != "system" and system is not None:
        placed.insert(0, ({"role": "system", "content": system}, at))
    for message, _ in placed:
        if "role" not in message:
            raise DroppedRow("a message has no role (KeyError: 'role')")
        message["role"] = _role(message["role"])
    return placed


def _rename(message: dict[str, Any], key: str, names: Sequence[str]) -> None:
    """Give the last of some keys that a message has this name."""
    for name in names:
        if name in message:
            message[key] = message.pop(name)


def _role(role: Any) -> Any:
    if isinstance(role, (list, dict)):
        raise DroppedRow(f"a role is {type_word(role)}")
    if role in (*USERS, *ASSISTANTS):
        return "user" if role in USERS else "assistant"
    if not isinstance(role, str):
        raise DroppedRow(f"a role is {type_word(role)} (AttributeError)")
    named = role.replace("-", "_")
    return "tool_call" if named in CALLS else "tool_response" if named in RESULTS else role


def _of_turns(placed: list[Placed], system: Any, at: str) -> list[Placed]:
    """Turns of two texts each, by the names of the roles ({"human": …, "assistant": …})."""
    found: list[Placed] = [] if system is None else [({"role": "system", "content": system}, at)]
    for message, place in placed:
        for ours, names in (("user", USERS), ("assistant", ASSISTANTS)):
            _rename(message, ours, names)
            if ours not in message:
                raise DroppedRow(f"{place} has no `{ours}` (KeyError)")
            found.append(({"role": ours, "content": message[ours]}, place))
    return found


def _read(text: str, column: str) -> Any:
    """Messages that are kept as text."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        pass
    except RecursionError:
        raise DroppedRow(f"`{column}` is nested too deeply") from None
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError) as error:
        raise DroppedRow(f"`{column}` is text, but not valid JSON ({type(error).__name__})") from None


def _of_provider(placed: list[Placed]) -> list[Placed]:
    """OpenAI's tool_calls and Anthropic's blocks as messages of their own."""
    if any(message.get("tool_calls") for message, _ in placed):
        return _openai(placed)
    contents = (message.get("content") for message, _ in placed)
    for block in (block for content in contents if isinstance(content, list) for block in content):
        if not isinstance(block, Mapping):
            raise DroppedRow("a content part is not a mapping (AttributeError)")
        kind = block.get("type")
        if kind in ("tool_use", "tool_result") or (kind == "image" and "source" in block):
            return _anthropic(placed)
    return placed


def _openai(placed: list[Placed]) -> list[Placed]:
    """Each call a message; results in the order of the calls, where their ids are those of all calls."""
    placed = list(placed)
    found: list[Placed] = []
    for index, (message, place) in enumerate(placed):
        calls = message.get("tool_calls") if message.get("role") == "assistant" else None
        if not calls:
            found.append((message, place))
            continue
        if not isinstance(calls, (list, tuple)) or not all(isinstance(call, Mapping) for call in calls):
            raise DroppedRow(f"the tool_calls in {place} are not a list of mappings")
        end = index + 1
        while end < len(placed) and placed[end][0].get("role") in ("tool", "tool_response"):
            end += 1
        placed[index + 1 : end] = _in_order(
            [call.get("id") for call in calls], placed[index + 1 : end], lambda one: one[0].get("tool_call_id")
        )
        if message.get("content"):
            kept = {key: value for key, value in message.items() if key in KEPT}
            found.append((kept, place))
        for call in calls:
            function = call.get("function", call)
            if not isinstance(function, Mapping):
                raise DroppedRow(f"a tool call in {place} is {type_word(function)}")
            if "name" not in function:
                raise DroppedRow(f"a tool call in {place} has no name (KeyError: 'name')")
            arguments = function.get("arguments", {})
            if isinstance(arguments, str):
                with suppress(json.JSONDecodeError):
                    arguments = json.loads(arguments)
            said = {"role": "tool_call", "content": {"name": function["name"], "arguments": arguments}}
            found.append((said | {key: message[key] for key in ("loss", "loss_scale") if key in message}, place))
    return found


def _in_order(calls: Sequence[Any], results: list[Any], identity: Any) -> list[Any]:
    """Results in the order of their calls; as they stand where ids are missing, double, or others."""
    try:
        order = {call: i for i, call in enumerate(calls)}
        ids = [identity(result) for result in results]
        whole = None not in order and len(order) == len(calls) == len(results) and set(order) == set(ids)
    except TypeError:
        raise DroppedRow("the id of a tool call is not text (TypeError)") from None
    return sorted(results, key=lambda one: order[identity(one)]) if whole else results


def _anthropic(placed: list[Placed]) -> list[Placed]:
    """Blocks of text, tool_use and tool_result, each run of texts and each other block a message."""
    found: list[Placed] = []
    uses: list[Mapping[str, Any]] = []
    for message, place in placed:
        content = message.get("content")
        if not isinstance(content, list):
            found.append((message, place))
            uses = []
            continue
        if not all(isinstance(block, Mapping) for block in content):
            raise DroppedRow(f"a part in {place} is not a mapping (AttributeError)")
        if uses:
            end = next((i for i, one in enumerate(content) if one.get("type") != "tool_result"), len(content))
            moved = _in_order([use.get("id") for use in uses], content[:end], lambda one: one.get("tool_use_id"))
            content = [*moved, *content[end:]]
        uses = [block for block in content if block.get("type") == "tool_use"]
        said: list[str] = []
        kept: dict[str, Any] = {key: message[key] for key in ("loss", "loss_scale") if key in message}
        for block in content:
            kind = block.get("type")
            if kind == "text":
                said.append(block.get("text", ""))
                continue
            if kind == "image":
                raise ConversationError(f"{place} contains an image", why="sftui shows only text rows")
            found += _spoken(message, said, kept, place)
            said = []
            if kind == "tool_use":
                if "name" not in block:
                    raise DroppedRow(f"a tool call in {place} has no name (KeyError: 'name')")
                call = {"name": block["name"], "arguments": block.get("input", {})}
                found.append(({"role": "tool_call", "content": call, **kept}, place))
            elif kind == "tool_result":
                result = {"role": "tool_response", "content": _result(block.get("content", ""), place), **kept}
                found.append((result, place))
            else:
                raise DroppedRow(f"a part in {place} has the type {visible(clip(str(kind), 40))} (ValueError)")
        found += _spoken(message, said, kept, place)
    return found


def _spoken(message: Mapping[str, Any], said: list[Any], kept: Mapping[str, Any], place: str) -> list[Placed]:
    """The texts before a block as one message; nothing where there are none."""
    if not said:
        return []
    if not all(isinstance(one, str) for one in said):
        raise DroppedRow(f"the text in {place} is {type_word(next(one for one in said if not isinstance(one, str)))}")
    if "role" not in message:
        raise DroppedRow(f"{place} has no role (KeyError: 'role')")
    return [({"role": message["role"], "content": "".join(said), **kept}, place)]


def _result(content: Any, place: str) -> Any:
    if not isinstance(content, list):
        return content
    parts: list[str] = []
    for block in content:
        if not isinstance(block, Mapping):
            raise DroppedRow(f"a part in {place} is not a mapping (AttributeError)")
        if block.get("type") == "image":
            raise ConversationError(f"{place} contains an image", why="sftui shows only text rows")
        if block.get("type") != "text" or not isinstance(block.get("text", ""), str):
            raise DroppedRow(f"a part of the tool result in {place} is not text (ValueError)")
        parts.append(block.get("text", ""))
    return "".join(parts)


def _checked(message: dict[str, Any], origin: str) -> Placed:
    """A message with the keys that stay, as _check_messages leaves it."""
    named = message.get("role") in ("tool", "tool_response") if not isinstance(message.get("role"), list) else False
    kept = {key: value for key, value in message.items() if key in KEPT or (named and key == "name")}
    for key in ("role", "content"):
        if key not in kept:
            raise DroppedRow(f"{origin} has no {key} (KeyError: '{key}')")
    role = kept["role"]
    if not isinstance(role, str) or role not in ROLES:
        shown = visible(clip(repr(role), 40))
        raise DroppedRow(f"{origin} has the role {shown}, which it does not support (AssertionError)")
    if kept["content"] is None:
        raise DroppedRow(f"the content of {origin} is null (AssertionError)")
    return kept, origin


def _tools(tools: Any) -> Any:
    """The tools as a list, without the nulls that a file of one type for each place has (_normalize_tools)."""
    if tools is None:
        return None
    if isinstance(tools, str):
        try:
            with suppress(json.JSONDecodeError):
                tools = json.loads(tools)
        except RecursionError:
            raise DroppedRow("its tools are nested too deeply") from None
    if not isinstance(tools, (list, tuple)):
        tools = [tools]
    return [unpadded(tool) for tool in tools]


_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")


def unpadded(schema: Any) -> Any:
    """A schema without nulls, where null says nothing (utils/schema_utils.py, remove_arrow_padding)."""
    if isinstance(schema, (list, tuple)):
        return [unpadded(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    found: dict[str, Any] = {}
    for key, value in schema.items():
        if key in ("default", "const") or str(key).startswith("x-"):
            found[key] = value
        elif value is None:
            continue
        elif key in ("enum", "examples"):
            found[key] = value
        elif key in _MAPS and isinstance(value, Mapping):
            found[key] = {name: unpadded(one) for name, one in value.items() if one is not None}
        else:
            found[key] = unpadded(value)
    return found


def _given(messages: list[dict[str, Any]], tools: Any, variables: Mapping[str, Any]) -> RowInput:
    """The row as StdTemplateInputs has it."""
    system = None
    if messages and messages[0]["role"] == "system":
        system, messages = messages[0]["content"], messages[1:]
    found = []
    for message in messages:
        role, content = message["role"], message["content"]
        role = "tool" if role == "tool_response" else role
        if role in ("tool_call", "tool") and not isinstance(content, str):
            content = _dumped(content)
        found.append({**message, "role": role, "content": _text(content, role)})
    if system is not None and not isinstance(system, str):
        if system and tools:
            raise ConversationError(
                f"its system text is {type_word(system)}", why="sftui does not model how tools are written after it"
            )
        if system:
            raise DroppedRow(f"its system text is {type_word(system)} (AssertionError)")
        system = ""
    return RowInput(tuple(found), system, tools, variables)


def _dumped(content: Any) -> str:
    try:
        return json.dumps(content, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise DroppedRow(f"a tool call or result cannot be written as JSON ({type(error).__name__})") from None


def _text(content: Any, role: str) -> str:
    """A content as text: parts of text joined (remove_messages_media)."""
    if isinstance(content, str):
        return content
    ids = isinstance(content, list) and bool(content) and isinstance(content[0], int)
    if ids or (isinstance(content, Mapping) and ("token_ids" in content or "input_ids" in content)):
        raise ConversationError(
            "the content of a message is a list of ids",
            why=f"{TITLE} trains them as they are, which sftui does not model",
            fix="use text rows, or record the run with `sftui capture`",
        )
    if not isinstance(content, (list, tuple)):
        raise DroppedRow(f"the content of a message is {type_word(content)} (TypeError)")
    parts: list[str] = []
    for part in content:
        if not isinstance(part, Mapping) or "type" not in part:
            raise DroppedRow("a content part has no type")
        kind = part["type"]
        if not isinstance(kind, str):
            raise DroppedRow(f"a content part has the type {type_word(kind)} (AttributeError)")
        if kind != "text":
            parts.append(_tag(kind.removesuffix("_url"), part.get(kind)))
            continue
        if not isinstance(part.get("text"), str):
            raise DroppedRow(f"the text in a content part is {type_word(part.get('text'))} (TypeError)")
        parts.append(part["text"])
    return "".join(parts)


def _tag(kind: str, value: Any) -> str:
    """What stands for a part that is no text, where it brings nothing."""
    if isinstance(value, Mapping):
        if "url" not in value:
            raise DroppedRow(f"a content part of the type {visible(clip(kind, 40))} has no url (KeyError: 'url')")
        value = value["url"]
    if value and kind in ("image", "audio", "video"):
        raise ConversationError(f"a message contains a content part of type {kind}", why="sftui shows only text rows")
    if value:
        raise DroppedRow(f"a content part has the type {visible(clip(kind, 40))} (KeyError)")
    return f"<{kind}>"
