"""The part of preprocess.py that reads rows and makes a conversation of each."""

from __future__ import annotations

import os

from sftui.conversations import Detected
from sftui.errors import ExportError
from sftui.exports.prepared import Prepared
from sftui.exports.script_text import literal
from sftui.recipe import Recipe

READ_LINES = '''\
def read_rows(paths):
    """Every line of the JSON Lines files; None for one that is not a JSON object."""
    for path in paths:
        with {opener} as file:
            for line in file:
                if line.strip():
                    try:
                        row = json.loads(line.decode("utf-8-sig"))
                    except ValueError:
                        row = None
                    yield row if isinstance(row, dict) else None
'''

READ_ARRAY = '''\
def read_rows(paths):
    """Every element of the JSON arrays; None for one that is not an object."""
    for path in paths:
        with {opener} as file:
            rows = json.loads(file.read().decode("utf-8-sig"))
        for row in rows if isinstance(rows, list) else [rows]:
            yield row if isinstance(row, dict) else None
'''

READ_DATASET = '''\
def read_rows(paths):
    """Every row of the dataset."""
    return {call}
'''

READ_PARTS = '''\
def read_rows(paths):
    """The rows of {split}."""
    for start, stop in PARTS:
        yield from itertools.islice(all_rows(paths), start, stop)
'''

JSON_TEXT = '''\
def from_text(value):
    """A column that may be stored as JSON text."""
    if isinstance(value, str):
        return json.loads(value) if value.strip() else None
    return value
'''

TURNS = '''\
def read_turns(turns):
    """Messages as the chat template takes them."""
    if isinstance(turns, str):
        turns = json.loads(turns)
    if not isinstance(turns, (list, tuple)) or not turns:
        raise ValueError("no messages")
    messages = []
    for turn in turns:
        if not isinstance(turn[{role}], str):
            raise ValueError("a message without a role")
{content_check}\
{message}\
{calls}\
        messages.append(message)
    return messages
'''

CALLS = """\
        if turn[{role}] == "function_call":
            add_calls(message)
"""

ADD_CALLS = '''\
def add_calls(message):
    """A ShareGPT function_call holds JSON: it becomes the tool_calls of an assistant message."""
    try:
        calls = json.loads(message["content"]) if isinstance(message.get("content"), str) else message.get("content")
    except ValueError:
        return
    calls = calls if isinstance(calls, list) else [calls]
    if calls and all(isinstance(c, dict) and isinstance(c.get("name"), str) and "arguments" in c for c in calls):
        message["content"] = ""
        message["tool_calls"] = [
            {"type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}} for c in calls
        ]
'''

TEXT_OF = '''\
def text_of(row, column):
    """A column that must hold text."""
    if not isinstance(row[column], str):
        raise ValueError(f"{column} is not text")
    return row[column]
'''


def data_files(prepared: Prepared) -> tuple[str, ...]:
    """What DATA names: local files by their full paths, folders and globs as the files in them."""
    from sftui.sources.files import find_folder, find_glob, is_glob

    if prepared.kind in ("hub", "arrow"):
        return tuple(os.path.abspath(p) if os.path.exists(p) else p for p in prepared.paths)
    found: list[str] = []
    for path in prepared.paths:
        if os.path.isdir(path):
            from pathlib import Path

            found += find_folder(Path(path), prepared.split).files
        elif is_glob(path):
            found += find_glob(path).files
        else:
            found.append(path)
    return tuple(os.path.abspath(path) for path in found)


def read_function(prepared: Prepared) -> str:
    """`read_rows(paths)`; JSON is read with `json`, because Arrow would fill in keys that a row lacks."""
    whole = _read_whole(prepared)
    if prepared.ranges is None:
        raise ExportError(
            f"preprocess.py cannot express the split {prepared.split}",
            why="it is of several splits",
            fix="name parts of one split, or export the recipe instead",
        )
    if not prepared.ranges:
        return whole
    return "\n\n".join([whole.replace("def read_rows(", "def all_rows("), READ_PARTS.format(split=prepared.split)])


def _read_whole(prepared: Prepared) -> str:
    files = data_files(prepared)
    opener = (
        'gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb")'
        if any(path.endswith(".gz") for path in files)
        else 'open(path, "rb")'
    )
    if prepared.kind == "jsonl":
        return READ_LINES.format(opener=opener)
    if prepared.kind == "json":
        return READ_ARRAY.format(opener=opener)
    if prepared.kind in ("csv", "parquet"):
        separator = (
            ', sep="\\t"' if prepared.kind == "csv" and any(".tsv" in os.path.basename(p) for p in files) else ""
        )
        return READ_DATASET.format(
            call=f'datasets.load_dataset("{prepared.kind}", data_files=paths, split="train"{separator})'
        )
    if prepared.kind == "hub":
        given = [("name", prepared.subset), ("split", prepared.split or "train"), ("revision", prepared.data_revision)]
        options = "".join(f", {key}={literal(value)}" for key, value in given if value is not None)
        return READ_DATASET.format(call=f"datasets.load_dataset(paths[0]{options})")
    if prepared.kind == "arrow":
        from pathlib import Path

        from sftui.sources.files import choose_split
        from sftui.sources.saved import saved_splits

        splits = saved_splits(Path(prepared.paths[0]))
        split = f"[{literal(choose_split(splits, prepared.split, prepared.paths[0]))}]" if splits else ""
        return READ_DATASET.format(call=f"datasets.load_from_disk(paths[0]){split}")
    raise ExportError(f"preprocess.py cannot read {prepared.kind or 'this'} data", fix="export the recipe instead")


def maps_calls(detected: Detected, recipe: Recipe) -> bool:
    """Whether a function_call turn becomes tool calls (`conversations.convert` has the same rule)."""
    return recipe.data.function_calls == "tool_calls" and "function_call" in detected.role_map


def row_functions(recipe: Recipe, prepared: Prepared) -> list[str]:
    """`to_messages(row)` and what it needs; nothing for data without messages."""
    detected = prepared.detected
    assert detected is not None
    if detected.format in ("text", "tokenized"):
        return []
    if detected.format in ("messages", "sharegpt"):
        made = [*_turn_functions(detected, recipe), _messages_function(detected)]
    elif detected.format == "alpaca":
        made = [TEXT_OF, _alpaca_function(detected, recipe)]
    elif detected.format in ("prompt_completion", "columns"):
        made = [*_turn_functions(detected, recipe), TEXT_OF, _pair_function(detected, recipe)]
    else:
        raise ExportError(
            f"preprocess.py cannot express data.format {detected.format}", fix="export the recipe instead"
        )
    if recipe.data.strict_turns != "off":
        raise ExportError(
            f"preprocess.py cannot express data.strict_turns {recipe.data.strict_turns}",
            fix="export the recipe instead",
        )
    return [JSON_TEXT, *made] if reads_around(prepared) else made


def reads_around(prepared: Prepared) -> bool:
    """Whether rows may bring tools or template variables: JSON rows always may, a table says so."""
    detected = prepared.detected
    assert detected is not None
    return prepared.kind in ("json", "jsonl") or bool({"tools", "template_kwargs"} & set(detected.fields))


def renamed_keys(detected: Detected) -> dict[str, str]:
    """The keys of a message that templates know by another name."""
    keys = detected.message_keys
    names = (("role", "role"), ("content", "content"), ("reasoning", "reasoning_content"))
    return {keys[ours]: name for ours, name in names if keys.get(ours, name) != name}


def renamed_roles(detected: Detected) -> dict[str, str]:
    """The roles of the data that templates know by another name."""
    return {role: name for role, name in detected.role_map.items() if role != name}


def _turn_functions(detected: Detected, recipe: Recipe) -> list[str]:
    role, content = detected.message_keys.get("role", "role"), detected.message_keys.get("content", "content")
    if renamed_keys(detected):
        lines = [
            "        taken = {KEYS[key] for key in KEYS if key in turn}\n",
            "        message = {KEYS.get(k, k): v for k, v in turn.items() if k in KEYS or k not in taken}\n",
        ]
    else:
        lines = ["        message = dict(turn)\n"]
    if renamed_roles(detected):
        lines.append(f'        message["role"] = ROLES.get(turn[{literal(role)}], turn[{literal(role)}])\n')
    check = f"        if {literal(content)} not in turn:\n" + (
        f"            raise ValueError({literal(f'a message without {content}')})\n"
        if content != "content"
        else (
            '            if difflib.get_close_matches("content", turn, cutoff=0.75) or "value" in turn or "text" in'
            ' turn:\n                raise ValueError("a message without content")\n'
        )
    )
    calls = maps_calls(detected, recipe)
    turns = TURNS.format(
        role=literal(role),
        content_check=check,
        message="".join(lines),
        calls=CALLS.format(role=literal(role)) if calls else "",
    )
    return [ADD_CALLS, turns] if calls else [turns]


def _messages_function(detected: Detected) -> str:
    column = literal(detected.fields.get("messages", "messages"))
    lines = [
        "def to_messages(row):",
        '    """The conversation of a row."""',
        f"    messages = read_turns(row[{column}])",
    ]
    system = detected.fields.get("system")
    if system is not None:
        lines += [
            f"    system = row.get({literal(system)})",
            '    if system and messages[0]["role"] != "system":',
            '        messages.insert(0, {"role": "system", "content": system})',
        ]
    return "\n".join([*lines, "    return messages", ""])


def _alpaca_function(detected: Detected, recipe: Recipe) -> str:
    from sftui.conversations.strings import alpaca_prompt

    name = {
        key: literal(detected.fields.get(key, key)) for key in ("instruction", "input", "output", "system", "history")
    }
    style = recipe.data.alpaca_prompt
    with_input = alpaca_prompt("\0", "\1", style)
    without = alpaca_prompt("\0", "", style)

    def pieces(prompt: str) -> str:
        lines = (
            prompt.replace("{", "{{")
            .replace("}", "}}")
            .replace("\0", "{instruction}")
            .replace("\1", "{given}")
            .splitlines(True)
        )
        return "\n".join(f"            f{literal(line)}" for line in lines)

    return "\n".join(
        [
            "def to_messages(row):",
            '    """The Alpaca row as messages, with the prompt text around its instruction."""',
            f"    instruction, output = text_of(row, {name['instruction']}), text_of(row, {name['output']})",
            f'    given = row.get({name["input"]}) or ""',
            "    messages = []",
            f"    if row.get({name['system']}):",
            f'        messages.append({{"role": "system", "content": text_of(row, {name["system"]})}})',
            f"    for question, answer in row.get({name['history']}) or []:",
            '        messages.append({"role": "user", "content": question})',
            '        messages.append({"role": "assistant", "content": answer})',
            "    if given:",
            "        prompt = (",
            pieces(with_input),
            "        )",
            "    else:",
            "        prompt = (",
            pieces(without),
            "        )",
            '    messages.append({"role": "user", "content": prompt})',
            '    messages.append({"role": "assistant", "content": output})',
            "    return messages",
            "",
        ]
    )


def _pair_function(detected: Detected, recipe: Recipe) -> str:
    if recipe.data.strings != "chat":
        raise ExportError("preprocess.py cannot express data.strings plain", fix="export the recipe instead")
    prompt, completion = (literal(detected.fields.get(key, key)) for key in ("prompt", "completion"))
    lines = [
        "def to_messages(row):",
        '    """The prompt and the completion as a user and an assistant message."""',
        f"    if isinstance(row[{prompt}], (list, tuple)):",
        f"        return read_turns(row[{prompt}]) + read_turns(row[{completion}])",
        "    messages = [",
        f'        {{"role": "user", "content": text_of(row, {prompt})}},',
        f'        {{"role": "assistant", "content": text_of(row, {completion})}},',
        "    ]",
    ]
    system = detected.fields.get("system")
    if system is not None:
        lines += [
            f"    if row.get({literal(system)}):",
            f'        messages.insert(0, {{"role": "system", "content": text_of(row, {literal(system)})}})',
        ]
    return "\n".join([*lines, "    return messages", ""])
