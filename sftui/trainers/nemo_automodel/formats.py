"""How NeMo Automodel's datasets read rows: columns by fixed names, each row by itself.

Source: nemo-automodel 0.7.0, components/datasets/llm: chat_dataset.py (ChatDataset.__getitem__, _normalize_messages,
_conversations_to_messages), agent_chat.py (_format_example_impl, _convert_messages),
column_mapped_text_instruction_dataset.py, squad.py, xlam.py. What stops a dataset stops the run when the row is drawn.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from sftui.conversations import Detection
from sftui.conversations.detected import NO_ROW, find_column, refusal, sentence, type_word
from sftui.errors import ConversationError
from sftui.model import Conversation, Kind, Message, Problem, Row
from sftui.recipe import Recipe
from sftui.side_files import object_of
from sftui.sources.records import ONE_LIST, OVER_LINES, AsStored
from sftui.trainers.nemo_automodel import NemoOptions
from sftui.trainers.reading import by_python

Raw = Mapping[str, Any]
ROLES = ("system", "user", "assistant", "tool")
_TOLD = object_of(Path(__file__).with_name("keys.json"))
OF_CHAT: Mapping[str, str] = _TOLD["roles of chats"]
"""`from` → role of ChatDataset."""
OF_AGENTS: Mapping[str, str] = _TOLD["roles of agents"]
"""`from` → role of make_agent_chat_dataset."""
AGENT_ROLES = ("system", "user", "assistant", "tool_call", "tool_response", "tool")
MAPPED = ("context", "question", "answer")
"""What column_mapping names."""
GUESSES = {
    "context": ("context", "system", "input"),
    "question": ("question", "prompt", "instruction", "query", "input"),
    "answer": ("answer", "completion", "response", "output"),
}
"""Columns that are taken for them where the recipe names none: the config must name them."""
NEEDED = {"squad": ("question", "context", "answers"), "xlam": ("query", "tools", "answers")}
KEYS = {"messages": ("role", "content"), "conversations": ("from", "value")}
"""The columns of chats → the keys of a turn's role and text."""
MISSING = {
    "ChatDataset": "ValueError: Each sample must contain a `messages` list (OpenAI format) or a `conversations` list"
    " (ShareGPT format)",
    "make_agent_chat_dataset": "ValueError: Example missing both `messages` and `conversations` fields",
}
"""What each dataset of chats raises at a row that has none."""
SEPARATORS = ("\x85", "\u2028", "\u2029")
"""What str.splitlines takes for ends of lines and JSON allows in a text as it is."""
PLAIN = "plain"
"""In `extra`: prompt and answer of a chat that is no chat where the tokenizer has no template."""
LEFT_OUT = "skipped"
"""In `extra`: why the dataset leaves the row out."""
SKIPPED = "the line is not JSON (skip_invalid_samples)"
NO_ANSWER = "the row has no answer (filter_no_assistant)"


def cut_line(row: Row) -> Problem | None:
    """Why ChatDataset cannot read the file of a row: it cuts JSON lines by str.splitlines, at more than line feeds."""
    found = next((char for char in SEPARATORS if char in row.raw), None) if " line " in row.where else None
    if found is None:
        return None
    return Problem(
        f"NeMo Automodel stops at this file: {row.where} contains the character U+{ord(found):04X} unescaped",
        "ChatDataset treats it as the end of the line (str.splitlines), and the pieces are not JSON (JSONDecodeError)",
        f"write it as \\u{ord(found):04x}, which means the same in JSON",
    )


def skipped(row: Row, options: NemoOptions) -> Conversation | None:
    """A line that ChatDataset skips (skip_invalid_samples), since it is no JSON; None for another."""
    whole = row.size <= len(row.raw.encode("utf-8", "surrogatepass")) + 2  # what is cut for the eye may be JSON
    if options.dataset != "chat" or not options.skip_invalid_samples or " line " not in row.where or not whole:
        return None
    try:
        json.loads(row.raw)
    except ValueError:
        return Conversation(Kind.CHAT, "messages", (), extra={LEFT_OUT: SKIPPED})
    return None


def detect(rows: Sequence[Row], recipe: Recipe) -> Detection:
    """The dataset's own reading, or the refusal that its error amounts to."""
    held = [row.data for row in rows if isinstance(row.data, Mapping)]
    if not held:
        return NO_ROW
    dataset = NemoOptions.of(recipe).dataset
    if recipe.data.format != "auto":
        return _refused(
            f"data.format is {recipe.data.format}, but NeMo Automodel chooses how to read rows only by its dataset"
            " class",
            f"own.dataset is {dataset}",
            "set data.format to auto, and own.dataset to the class",
        )
    if dataset == "columns":
        return _mapped(held[0], recipe)
    if dataset in NEEDED:
        return _named(dataset, held)
    broken = next((problem for row in rows if (problem := cut_line(row)) is not None), None)
    if dataset == "chat" and broken is not None and not NemoOptions.of(recipe).skip_invalid_samples:
        return Detection("auto", refused=broken)
    return _chats(dataset, held)


def _chats(dataset: str, held: Sequence[Raw]) -> Detection:
    named = "messages" if any(row.get("messages") is not None for row in held) else "conversations"
    title = "ChatDataset" if dataset == "chat" else "make_agent_chat_dataset"
    if not any(row.get(named) is not None for row in held):
        columns = ", ".join(f"`{name}`" for name in list(held[0])[:6]) or "none"
        return _refused(
            f"NeMo Automodel stops at this dataset: its first row has {columns}",
            f"{title} reads `messages` or `conversations` ({MISSING[title]})",
            "convert the rows to messages with `sftui convert`, or set own.dataset to columns with data.fields for"
            " question and answer",
        )
    keys = KEYS[named]
    said = f"NeMo Automodel's {title}: `{named}` with {keys[0]} and {keys[1]}"
    fields = {"messages": named, "tools": "tools", "template_kwargs": "", "system": ""}
    read_as = "messages" if named == "messages" else "sharegpt"
    return Detection(read_as, fields, dict(zip(("role", "content"), keys)), {}, said, verbatim=True)


def _mapped(first: Raw, recipe: Recipe) -> Detection:
    named = {ours: column for ours, column in recipe.data.fields.items() if ours in MAPPED}
    given = bool(named)
    if not named:
        for ours in ("answer", "question", "context"):
            column = find_column((name for name in first if name not in named.values()), GUESSES[ours])
            if column is not None:
                named[ours] = column
    if "answer" not in named or len(named) < 2:
        columns = ", ".join(f"`{name}`" for name in list(first)[:6]) or "none"
        return _refused(
            f"column_mapping names {', '.join(named) or 'nothing'}, but the rows have {columns}",
            "ColumnMappedTextInstructionDataset needs an answer, with a question or a context",
            "set data.fields, e.g. {question: COLUMN, answer: COLUMN}",
        )
    fields = {ours: named[ours] for ours in MAPPED if ours in named}
    stored = ", ".join(f"{ours} from `{column}`" for ours, column in fields.items())
    said = f"NeMo Automodel's column_mapping: {stored}" + ("" if given else " (found; a config must name them)")
    return Detection("columns", fields, {}, {}, said, verbatim=True)


def _named(dataset: str, held: Sequence[Raw]) -> Detection:
    missing = [name for name in NEEDED[dataset] if name not in held[0]]
    if missing:
        return _refused(
            f"NeMo Automodel stops at this dataset: its first row has no `{missing[0]}`",
            f"make_{dataset}_dataset reads {', '.join(NEEDED[dataset])} (KeyError: '{missing[0]}')",
            "rename the columns accordingly, or set own.dataset to chat or columns",
        )
    said = f"NeMo Automodel's make_{dataset}_dataset: {', '.join(NEEDED[dataset])}"
    fields = {name: name for name in NEEDED[dataset]}
    return Detection("columns", fields, {}, {}, said, verbatim=True)


def _refused(what: str, why: str, fix: str) -> Detection:
    return refusal(sentence(what), sentence(why), fix)


def convert(row: Row, detected: Detection, recipe: Recipe) -> Conversation:
    """A row as the dataset makes it; ConversationError where that stops."""
    data = row.data
    if not isinstance(data, Mapping):
        raise ConversationError("the row is not a JSON object", why="NeMo Automodel stops at it", fix="drop the row")
    options = NemoOptions.of(recipe)
    most = options.limit_dataset_samples
    if most is not None and row.index >= most:
        why = f"limit_dataset_samples {most}: NeMo Automodel reads no further rows"
        return Conversation(Kind.CHAT, "messages", (), extra={LEFT_OUT: why})
    if options.dataset == "chat":  # which reads its lines by itself
        broken = cut_line(row)
        if broken is not None and options.skip_invalid_samples:
            return Conversation(Kind.CHAT, "messages", (), extra={LEFT_OUT: SKIPPED})
        if broken is not None:
            raise ConversationError(broken.what, why=broken.why, fix=broken.fix)
        data = by_python(row).data or {}
    return CONVERTERS[options.dataset](data, detected, options)


USUAL = "fix the row, or drop it"


def _stop(what: str, why: str, fix: str = USUAL) -> ConversationError:
    return ConversationError(f"NeMo Automodel stops at this row: {sentence(what)}", why=sentence(why), fix=fix)


def _parsed(value: Any, broken: str, fix: str = USUAL) -> Any:
    """A value, read where it is JSON text; `broken` is what is said of it where that cannot be read."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError as error:
        raise _stop(broken, str(error), fix) from None


def _chat(row: Raw, detected: Detection, options: NemoOptions) -> Conversation:
    column, stored = "messages", row.get("messages")
    if stored is None and row.get("conversations") is not None:
        column, stored = "conversations", _turns(row["conversations"])
    if not isinstance(stored, list):
        why, fix = "ChatDataset needs a list of messages", "store the messages as a list"
        raise _stop(f"`{column}` is {type_word(stored)}", why, fix)
    messages = tuple(Message(_normalized(one, f"{column}[{i}]"), f"{column}[{i}]") for i, one in enumerate(stored))
    read_as = "messages" if column == "messages" else "sharegpt"
    return Conversation(Kind.CHAT, read_as, messages, tools=_tools(row.get("tools")))


def _turns(stored: Any) -> list[dict[str, Any]]:
    """ShareGPT's turns as messages (_conversations_to_messages): role and content alone."""
    if not isinstance(stored, list):
        raise _stop(f"`conversations` is {type_word(stored)}", "it must be a list of turns")
    found = []
    for i, turn in enumerate(stored):
        if not isinstance(turn, Mapping):
            raise _stop(f"conversations[{i}] is {type_word(turn)}", "each turn must be a mapping")
        source = turn.get("from", turn.get("role"))
        role = OF_CHAT.get(source) if isinstance(source, str) else None
        if role is None:
            raise _stop(
                f"conversations[{i}] is from `{source}`",
                f"ChatDataset accepts {', '.join(OF_CHAT)}",
                "set own.dataset to agent if the turns are tool calls and results, else rename the role",
            )
        found.append({"role": role, "content": turn.get("value", turn.get("content", ""))})
    return found


def _normalized(message: Any, where: str) -> dict[str, Any]:
    """A message as _normalize_messages leaves it: texts for contents, arguments of calls as JSON text."""
    if not isinstance(message, Mapping):
        raise _stop(f"{where} is {type_word(message)}", "each message must be a mapping")
    role = message.get("role")
    if not isinstance(role, str) or role not in ROLES:
        raise _stop(
            f"{where} is from `{role}`",
            f"ChatDataset accepts {', '.join(ROLES)}",
            "rename the role; own.dataset agent also accepts tool_call and tool_response",
        )
    made = dict(message)
    made["content"] = _content(message.get("content"), where)
    if role == "assistant":
        if "reasoning_content" in message:
            thought = message["reasoning_content"]
            if thought is not None and not isinstance(thought, str):
                raise _stop(f"{where}.reasoning_content is {type_word(thought)}", "it must be text")
            made["reasoning_content"] = thought or ""
        if "tool_calls" in message:
            made["tool_calls"] = _calls(message["tool_calls"], f"{where}.tool_calls")
    if role == "tool":
        named = message.get("tool_call_id")
        if not isinstance(named, str) or not named:
            raise _stop(
                f"{where} has no tool_call_id",
                "ChatDataset needs the id of the tool call that the message answers, as text",
                "add the call's id to each result, as `sftui convert` does; own.dataset agent creates ids itself",
            )
    return made


def _content(value: Any, where: str) -> str:
    if not isinstance(value, list):
        return "" if value is None else str(value)
    texts = [part["text"] for part in value if isinstance(part, Mapping) and "text" in part]
    if not all(isinstance(text, str) for text in texts):
        raise _stop(f"{where}.content has a part whose text is not text", "its parts are joined")
    return " ".join(texts)


def _calls(stored: Any, where: str) -> list[dict[str, Any]]:
    if not isinstance(stored, list):
        raise _stop(
            f"{where} is {type_word(stored)}",
            "ValueError: assistant message `tool_calls` must be a list",
            "omit the key if there are no calls",
        )
    found = []
    for i, call in enumerate(stored):
        at = f"{where}[{i}]"
        if not isinstance(call, Mapping):
            raise _stop(f"{at} is {type_word(call)}", "each call must be a mapping")
        named = {"id": f"call_{i}", "type": "function"}
        for key in named:
            value = call.get(key)
            if value is not None and not isinstance(value, str):
                raise _stop(f"{at}.{key} is {type_word(value)}", "it must be text")
            named[key] = value or named[key]
        function = call.get("function")
        if not isinstance(function, Mapping):
            raise _stop(f"{at}.function is {type_word(function)}", "it must be a mapping with name and arguments")
        name, arguments = function.get("name"), function.get("arguments")
        if not isinstance(name, str) or not name:
            raise _stop(f"{at}.function has no name", "it must be text")
        if arguments is None:
            raise _stop(f"{at}.function has no arguments", "they are required", "use {} if there are none")
        inside = dict(function)
        if not isinstance(arguments, str):
            inside["arguments"] = json.dumps(arguments)
        found.append({**call, **named, "function": inside})
    return found


def _tools(stored: Any, blank: bool = False) -> list[Any] | None:
    """The tool list, or None where there is none; `blank`: an empty text says as much."""
    if blank and isinstance(stored, str) and not stored.strip():
        return None
    fix = "store the tools as a list, or null"
    stored = _parsed(stored, "`tools` is text, but not valid JSON", fix)
    if stored is not None and not isinstance(stored, list):
        raise _stop(f"`tools` is {type_word(stored)}", "it must be a list", fix)
    return stored or None


def _agent(row: Raw, detected: Detection, options: NemoOptions) -> Conversation:
    if options.filter_no_assistant and not _answers(row):
        return _left_out(row)
    tools = _tools(row.get("tools"), blank=True)
    column = "messages" if row.get("messages") is not None else "conversations"
    stored = row.get(column)
    if stored is None:
        raise _stop("it has neither `messages` nor `conversations`", "make_agent_chat_dataset reads one of them")
    if not isinstance(stored, list):
        raise _stop(f"`{column}` is {type_word(stored)}", "it must be a list")
    turns = [_turn(one, f"{column}[{i}]", column) for i, one in enumerate(stored)]
    if options.trim_incomplete_last_turn:
        last = max((i for i, turn in enumerate(turns) if turn.role == "assistant"), default=len(turns) - 1)
        turns = turns[: last + 1]
    messages = _merged(turns, row.get("id"))
    if options.drop_history_reasoning_content:
        last = max((i for i, message in enumerate(messages) if message.role == "assistant"), default=-1)
        for i, message in enumerate(messages):
            if i != last and message.role == "assistant":
                data = {key: value for key, value in message.data.items() if key != "reasoning_content"}
                messages[i] = replace(message, data=data)
    return Conversation(Kind.CHAT, "messages" if column == "messages" else "sharegpt", tuple(messages), tools=tools)


def _answers(row: Raw) -> bool:
    """Whether a row has an answer by name (_has_assistant_message): a tool call alone is none."""
    for column, key, names in (("messages", "role", ("assistant",)), ("conversations", "from", ("assistant", "gpt"))):
        stored = row.get(column)
        if isinstance(stored, list):
            return any(isinstance(turn, Mapping) and turn.get(key) in names for turn in stored)
    return False


def _left_out(row: Raw) -> Conversation:
    """A row that the dataset drops before it looks at it, for a person to read."""
    column = "messages" if isinstance(row.get("messages"), list) else "conversations"
    stored, (role, text) = row.get(column), KEYS[column]
    shown = tuple(
        Message({"role": str(turn.get(role)), "content": str(turn.get(text) or "")}, f"{column}[{i}]")
        for i, turn in enumerate(stored if isinstance(stored, list) else ())
        if isinstance(turn, Mapping)
    )
    return Conversation(Kind.CHAT, "messages", shown, extra={LEFT_OUT: NO_ANSWER})


@dataclass(frozen=True, slots=True)
class _AgentTurn:
    """A turn of an agent's row: its role as the dataset calls it, what it holds, and where it stands."""

    role: str
    held: Raw
    origin: str


def _turn(stored: Any, where: str, column: str) -> _AgentTurn:
    if not isinstance(stored, Mapping):
        raise _stop(f"{where} is {type_word(stored)}", "each turn must be a mapping")
    if column == "messages":
        role = stored.get("role")
        if not isinstance(role, str) or role not in AGENT_ROLES:
            raise _stop(f"{where} is from `{role}`", f"make_agent_chat_dataset accepts {', '.join(AGENT_ROLES)}")
        return _AgentTurn(role, stored, where)
    source = stored.get("from")
    if not isinstance(source, str) or source not in OF_AGENTS:
        raise _stop(f"{where} is from `{source}`", f"make_agent_chat_dataset accepts {', '.join(OF_AGENTS)}")
    held = {"content": stored.get("value", "")}
    if stored.get("reasoning_content"):
        held["reasoning_content"] = stored["reasoning_content"]
    return _AgentTurn(OF_AGENTS[source], held, where)


def _call_prefix(number: Any) -> str:
    return f"call_{number}" if number is not None else "call"


def _merged(turns: Sequence[_AgentTurn], number: Any) -> list[Message]:
    """OpenAI's messages of an agent's turns (_convert_messages): calls in a row become one answer with all of them,
    joined to a text that the assistant said before them; results get the ids of those calls, in order."""
    prefix = _call_prefix(number)
    made: list[Message] = []
    ids: list[str] = []
    count = 0
    for role, group in groupby(turns, lambda turn: "tool" if turn.role == "tool_response" else turn.role):
        some = [*group]
        if role == "tool_call":
            ids = [f"{prefix}_{count + i}" for i in range(len(some))]
            calls = [_call(number, *_said_call(turn)) for number, turn in zip(ids, some)]
            count += len(ids)
            if made and made[-1].role == "assistant" and "tool_calls" not in made[-1].data:
                made[-1] = replace(made[-1], data={**made[-1].data, "tool_calls": calls})
            else:
                made.append(Message({"role": "assistant", "content": "", "tool_calls": calls}, some[0].origin))
            continue
        for place, turn in enumerate(some):
            if role == "tool":
                made.append(_result(turn, ids, f"{prefix}_response_{count}", place))
            else:
                message, ids = _spoken(turn, prefix, count)
                count += len(ids)
                made.append(message)
    return made


def _said_call(turn: _AgentTurn) -> tuple[str, Any]:
    """Name and arguments of a call that is told as JSON text or as a mapping."""
    stored = _parsed(turn.held.get("content") or "{}", f"{turn.origin} is a tool call that is not JSON")
    name = stored.get("name") if isinstance(stored, Mapping) else None
    if not isinstance(name, str) or not name:
        raise _stop(f"{turn.origin} is a tool call without a name", "its content must be {name, arguments}")
    return name, stored.get("arguments", "")


def _call(number: str, name: str, arguments: Any) -> dict[str, Any]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {"id": number, "type": "function", "function": {"name": name, "arguments": text}}


def _result(turn: _AgentTurn, ids: Sequence[str], other: str, place: int) -> Message:
    stored = turn.held.get("tool_call_id")
    number = stored if isinstance(stored, str) and stored else ids[place] if place < len(ids) else f"{other}_{place}"
    content = turn.held.get("content", "")
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    made = {"role": "tool", "content": text, "tool_call_id": number}
    name = turn.held.get("name")
    if isinstance(name, str) and name:
        made["name"] = name
    return Message(made, turn.origin)


def _spoken(turn: _AgentTurn, prefix: str, count: int) -> tuple[Message, list[str]]:
    """A message of system, user or assistant, and the ids of its calls."""
    content = turn.held.get("content", "")
    made: dict[str, Any] = {"role": turn.role, "content": "" if content is None else str(content)}
    held = turn.held if turn.role == "assistant" else {}
    if thought := held.get("reasoning_content"):
        made["reasoning_content"] = str(thought)
    stored = held.get("tool_calls")
    if stored is None:
        return Message(made, turn.origin), []
    if not isinstance(stored, list):
        raise _stop(f"{turn.origin}.tool_calls is {type_word(stored)}", "it must be a list")
    calls, ids = [], []
    for i, call in enumerate(stored):
        function = call.get("function") if isinstance(call, Mapping) else None
        name = function.get("name") if isinstance(function, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(name, str) or not name:
            raise _stop(f"{turn.origin}.tool_calls[{i}] has no function with a name", "each call must have one")
        number = call.get("id")
        ids.append(number if isinstance(number, str) and number else f"{prefix}_{count + i}")
        calls.append(_call(ids[-1], name, function.get("arguments", "")))
    return Message({**made, "tool_calls": calls}, turn.origin), ids


def _columns(row: Raw, detected: Detection, options: NemoOptions) -> Conversation:
    fields = detected.fields
    found = {ours: row[column] for ours, column in fields.items() if column in row}
    if "answer" not in found or len(found) < 2:
        missing = next(column for column in fields.values() if column not in row)
        raise _stop(f"it has no `{missing}`", "column_mapping names it")
    context, question, answer = (found.get(ours) for ours in MAPPED)
    if options.use_hf_chat_template:
        contents = (context or "", question or "", answer)
        chat = tuple(
            Message({"role": role, "content": content}, fields.get(ours, ""))
            for role, content, ours in zip(("system", "user", "assistant"), contents, MAPPED)
        )
        try:
            extra = {PLAIN: _prompted(context, question, answer)}
        except ConversationError:
            extra = {}
        return Conversation(Kind.CHAT, "columns", chat, extra=extra)
    prompt, completion = _prompted(context, question, answer)
    origins = {"prompt": fields.get("question") or fields["context"], "completion": fields["answer"]}
    return Conversation(Kind.STRINGS, "columns", prompt=prompt, completion=completion, extra={"origins": origins})


def _prompted(context: Any, question: Any, answer: Any) -> tuple[str, str]:
    """The prompt, which ends with a space, and the answer; ConversationError for what cannot be joined."""
    parts = [part for part in (context, question, "") if part is not None]
    if not all(isinstance(part, str) for part in (*parts, answer)):
        other = next(part for part in (*parts, answer) if not isinstance(part, str))
        raise _stop(f"a column contains {type_word(other)}", "prompt and answer are joined as text", "write it as text")
    prompt = " ".join(parts)
    if len(prompt) < 2:
        raise _stop("its prompt is empty", "AssertionError: Expected prompt to be non-empty", "drop the row")
    return prompt, answer


def _squad(row: Raw, detected: Detection, options: NemoOptions) -> Conversation:
    answers = row.get("answers")
    texts = answers.get("text") if isinstance(answers, Mapping) else None
    if not isinstance(texts, (list, tuple)) or (texts and not isinstance(texts[0], str)):
        raise _stop("its `answers` are not in SQuAD's format", "answers.text must be a list of strings")
    answer = texts[0].strip() if texts else ""
    context, question = row.get("context"), row.get("question")
    said = f"Context: {context or ''} Question: {question or ''} Answer: "
    chat = (
        Message({"role": "user", "content": said}, "context + question"),
        Message({"role": "assistant", "content": answer}, "answers.text[0]"),
    )
    plain = (f"Context: {context} Question: {question} Answer: ", answer)
    return Conversation(Kind.CHAT, "columns", chat, extra={PLAIN: plain})


TYPES = {
    **dict.fromkeys(("str", "string"), "string"),
    **dict.fromkeys(("int", "integer"), "integer"),
    **dict.fromkeys(("float", "double", "number"), "number"),
    **dict.fromkeys(("bool", "boolean"), "boolean"),
    **dict.fromkeys(("list", "array"), "array"),
    "object": "object",
}
"""xLAM's types → those of a JSON schema; any other is a string."""


def _xlam(row: Raw, detected: Detection, options: NemoOptions) -> Conversation:
    for name in NEEDED["xlam"]:
        if name not in row:
            raise _stop(f"it has no `{name}`", f"KeyError: '{name}'")
    tools, answers = (_parsed(row[name], f"its `{name}` are not JSON") for name in ("tools", "answers"))
    prefix = _call_prefix(row.get("id"))
    try:
        schemas = [made for tool in tools or () if (made := _schema(tool)) is not None]
        calls = [
            _call(f"{prefix}_{i}", call["name"], call.get("arguments", ""))
            for i, call in enumerate(answers or ())
            if call.get("name")
        ]
    except (AttributeError, TypeError) as error:
        raise _stop("its tools or answers are not in xLAM's format", str(error)) from None
    chat = (
        Message({"role": "user", "content": row["query"]}, "query"),
        Message({"role": "assistant", "content": "", "tool_calls": calls}, "answers"),
    )
    return Conversation(Kind.CHAT, "columns", chat, tools=schemas)


def _schema(tool: Any) -> dict[str, Any] | None:
    """One tool as OpenAI has it (_convert_tools); None for one without a name."""
    name = tool.get("name")
    if not name:
        return None
    properties: dict[str, Any] = {}
    required: list[str] = []
    for key, stored in (tool.get("parameters") or {}).items():
        if stored is None:
            continue
        kind = TYPES.get(str(stored.get("type", "string")).lower(), "string")
        kept = {name: stored[name] for name in ("enum", "default") if name in stored}
        required += [key] if "default" not in kept else []
        properties[key] = {"type": kind, "description": stored.get("description", ""), **kept}
    parameters: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        parameters["required"] = required
    function = {"name": name, "description": tool.get("description", ""), "parameters": parameters}
    return {"type": "function", "function": function}


CONVERTERS = {"chat": _chat, "agent": _agent, "columns": _columns, "squad": _squad, "xlam": _xlam}


def unread_layout(stored: AsStored) -> str:
    """Why ChatDataset does not read the rows of a JSON file that holds them so; "" where it does.

    Source: NeMo Automodel 0.7.0, components/datasets/llm/chat_dataset.py (_load_openai_messages).
    """
    if stored.unit == "row" and not stored.layout:
        return ""
    if stored.name.lower().endswith((".jsonl", ".ndjson")):
        return "it reads each line as one JSON value, and each value as one row (json.loads)" if stored.layout else ""
    if stored.name.lower().endswith((".gz", ".zst")):
        return "it reads the file as text, without decompressing it (UnicodeDecodeError)"
    if stored.layout == ONE_LIST or (stored.layout in ("", OVER_LINES) and stored.rows == 1):
        return ""
    return "it reads the file as one JSON value, a list of rows or one row (json.loads)"
