"""The datasets of ../shared as rows that every trainer takes: `messages`, or `text` where there is nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]
ROLES = {"human": "user", "gpt": "assistant", "function_call": "assistant", "observation": "user", "tool": "user"}


def rows(path: Path) -> Iterator[Row]:
    """The rows of a shared dataset as `messages` that alternate from the user on, or as `text`."""
    for row in _stored(path):
        if not isinstance(row, dict):
            continue
        if isinstance(row.get("text"), str):
            yield {"text": row["text"]}
            continue
        made = list(_turns(row))
        if made:
            yield {"messages": made}


def _stored(path: Path) -> list[Any]:
    if path.suffix == ".parquet":
        import pyarrow.parquet

        return list(pyarrow.parquet.read_table(path).to_pylist())
    whole = path.read_text(encoding="utf-8", errors="replace")
    try:
        found = json.loads(whole)
        return found if isinstance(found, list) else [found]
    except ValueError:
        return list(_lines(whole))


def _lines(whole: str) -> Iterator[Any]:
    """The lines that are JSON; those that are none are for other tests."""
    for line in whole.split("\n"):
        try:
            yield json.loads(line)
        except ValueError:
            continue


def _turns(row: Row) -> Iterator[dict[str, str]]:
    """User and assistant by turns, after a system message; what breaks the order is left out."""
    expected = "user"
    for number, (role, content) in enumerate(_spoken(row)):
        if role == "system" and number == 0:
            yield {"role": role, "content": content}
        elif role == expected:
            yield {"role": role, "content": content}
            expected = "assistant" if role == "user" else "user"


def _spoken(row: Row) -> Iterator[tuple[str, str]]:
    stored = row.get("messages") or row.get("conversations") or row.get("chosen")
    if isinstance(stored, list):
        for message in stored:
            if isinstance(message, dict):
                role = str(message.get("role") or message.get("from"))
                yield ROLES.get(role, role), _text(message.get("content", message.get("value")))
        return
    for ask, answer in (("instruction", "output"), ("question", "answer"), ("prompt", "completion")):
        if ask in row:
            instance = (row.get("instances") or [{}])[0]
            given = row.get("input") or instance.get("input") or ""
            yield "user", "\n".join(part for part in (row[ask], given) if part)
            yield "assistant", _text(row.get(answer, instance.get("output")))
            return


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("value", part.get("text", ""))) for part in content if isinstance(part, dict))
    return content.encode("utf-8", "replace").decode("utf-8") if isinstance(content, str) else ""
