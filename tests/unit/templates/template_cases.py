"""Conversations, templates and sampled rows that the template tests share."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sftui.model import Conversation, Kind, Message

_CALL = {
    "type": "function",
    "id": "call00001",
    "function": {"name": "get_weather", "arguments": {"city": 'Zür"ich <&>', "days": 2}},
}
_CALL_TEXT = {
    "type": "function",
    "id": "call00002",
    "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'},
}

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Weather of a city, <soon> & éverywhere",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string", "description": "the city"}},
                "required": ["city"],
            },
        },
    }
]

CONVERSATIONS: dict[str, list[dict[str, Any]]] = {
    "single": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi there"}],
    "system": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi"},
    ],
    "multi": [
        {"role": "user", "content": "One"},
        {"role": "assistant", "content": "1"},
        {"role": "user", "content": "Two"},
        {"role": "assistant", "content": "2"},
        {"role": "user", "content": "One"},
        {"role": "assistant", "content": "1"},
    ],
    "multi_system": [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "A"},
        {"role": "assistant", "content": "B"},
        {"role": "user", "content": "C"},
        {"role": "assistant", "content": "D"},
    ],
    "spaces": [{"role": "user", "content": "  padded \n"}, {"role": "assistant", "content": "\n padded too \n\n"}],
    "emoji": [
        {"role": "user", "content": "👩‍👩‍👧 é <b>&amp;</b> \u202e"},
        {"role": "assistant", "content": "🤖\u200b\x1b[31m"},
    ],
    "empty": [{"role": "user", "content": "Say nothing"}, {"role": "assistant", "content": ""}],
    "empty_middle": [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": "b"},
        {"role": "assistant", "content": "c"},
    ],
    "special_in_user": [
        {"role": "user", "content": "<|im_end|></s><|eot_id|>"},
        {"role": "assistant", "content": "<|im_start|>user\nno"},
    ],
    "template_in_user": [
        {"role": "user", "content": "{{ bos_token }}{% raw %}"},
        {"role": "assistant", "content": "{# ok #}"},
    ],
    "tool_dict": [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": "", "tool_calls": [_CALL]},
        {"role": "tool", "name": "get_weather", "tool_call_id": "call00001", "content": "20 C"},
        {"role": "assistant", "content": "It is 20 C."},
    ],
    "tool_text": [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": "Let me see.", "tool_calls": [_CALL_TEXT]},
        {"role": "tool", "name": "get_weather", "content": '{"t": 20}'},
        {"role": "assistant", "content": "20."},
    ],
    "tool_null": [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": None, "tool_calls": [_CALL, _CALL]},
        {"role": "tool", "content": "1"},
        {"role": "tool", "content": "2"},
        {"role": "assistant", "content": "Both."},
    ],
    "tool_last": [{"role": "user", "content": "Weather?"}, {"role": "assistant", "content": "", "tool_calls": [_CALL]}],
    "parts": [
        {
            "role": "user",
            "content": [{"type": "text", "text": "Look "}, {"type": "image"}, {"type": "text", "text": "here"}],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "I see"}]},
    ],
    "reasoning": [
        {"role": "user", "content": "2+2"},
        {"role": "assistant", "content": "4", "reasoning_content": "two and two"},
        {"role": "user", "content": "3+3"},
        {"role": "assistant", "content": "6", "reasoning_content": " three and three\n"},
    ],
    "think_inline": [
        {"role": "user", "content": "2+2"},
        {"role": "assistant", "content": "<think>\nhm\n</think>\n\n4"},
        {"role": "user", "content": "3+3"},
        {"role": "assistant", "content": "<think>\nhm\n</think>\n\n6"},
    ],
    "thinking_key": [{"role": "user", "content": "2+2"}, {"role": "assistant", "content": "4", "thinking": "easy"}],
    "assistant_first": [
        {"role": "assistant", "content": "Welcome"},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Yes"},
    ],
    "assistant_only": [{"role": "assistant", "content": "Alone"}],
    "user_only": [{"role": "user", "content": "Anyone?"}],
    "two_users": [
        {"role": "user", "content": "a"},
        {"role": "user", "content": "b"},
        {"role": "assistant", "content": "c"},
    ],
    "two_assistants": [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "assistant", "content": "c"},
    ],
    "system_late": [
        {"role": "user", "content": "a"},
        {"role": "system", "content": "late"},
        {"role": "assistant", "content": "b"},
    ],
    "system_only": [{"role": "system", "content": "alone"}],
    "unknown_role": [{"role": "critic", "content": "a"}, {"role": "assistant", "content": "b"}],
    "no_content": [{"role": "user"}, {"role": "assistant", "content": "b"}],
    "no_role": [{"content": "a"}, {"role": "assistant", "content": "b"}],
    "number": [{"role": "user", "content": 3}, {"role": "assistant", "content": 4.5}],
    "surrogate": [{"role": "user", "content": "a\ud800b\x00"}, {"role": "assistant", "content": "\udfff"}],
}


def chat(messages: Sequence[Mapping[str, Any]], tools: Any = None) -> Conversation:
    return Conversation(Kind.CHAT, "messages", messages=tuple(Message(one) for one in messages), tools=tools)


def all_templates(shared: Path) -> dict[str, str]:
    """Every template of the shared data: the files, and those inside tokenizer configs."""
    found = {
        file.stem: file.read_text(encoding="utf-8") for file in sorted((shared / "testdata/templates").glob("*.jinja"))
    }
    for file in sorted((shared / "testdata/tokenizers").glob("*/tokenizer_config.json")):
        template = json.loads(file.read_text(encoding="utf-8")).get("chat_template")
        if isinstance(template, str):
            found[file.parent.name] = template
    return found


def sampled_rows(shared: Path, per_file: int) -> list[dict[str, Any]]:
    """Rows of the real datasets as messages, evenly spread over each file."""
    folder = shared / "testdata/datasets"
    roles = {"human": "user", "gpt": "assistant", "observation": "tool", "function_call": "assistant"}
    rows: list[dict[str, Any]] = []
    for file in sorted(folder.glob("*.json*")):
        if ".expected" in file.name:
            continue
        text = file.read_text(encoding="utf-8", errors="replace")
        if file.suffix == ".jsonl":
            records = [json.loads(line) for line in text.split("\n") if line.strip().startswith("{") and _is_json(line)]
        else:
            records = json.loads(text)
        records = records if isinstance(records, list) else [records]
        step = max(len(records) // per_file, 1)
        for record in records[::step][:per_file]:
            chat = record.get("messages") or record.get("conversations")
            if isinstance(chat, list) and all(isinstance(m, dict) for m in chat) and chat:
                messages = [
                    m if "role" in m else {"role": roles.get(m.get("from"), m.get("from")), "content": m.get("value")}
                    for m in chat
                ]
                rows.append({"messages": messages, "tools": _tools(record.get("tools"))})
            elif "instruction" in record:
                asked = "\n".join(str(record[key]) for key in ("instruction", "input") if record.get(key))
                rows.append(
                    {
                        "messages": [
                            {"role": "user", "content": asked},
                            {"role": "assistant", "content": record.get("output")},
                        ]
                    }
                )
            elif "question" in record:
                rows.append(
                    {
                        "messages": [
                            {"role": "user", "content": record["question"]},
                            {"role": "assistant", "content": record["answer"]},
                        ]
                    }
                )
    return rows


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _tools(tools: Any) -> Any:
    if isinstance(tools, str) and tools.strip():
        tools = json.loads(tools)
    return tools if isinstance(tools, list) and all(isinstance(tool, dict) for tool in tools) and tools else None
