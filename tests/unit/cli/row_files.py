"""Chats, and files with a row in each line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def chat(*turns: tuple[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": role, "content": text} for role, text in turns]}


def put(name: str, rows: list[Any]) -> str:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return name


def rows_of(name: str) -> list[Any]:
    return [json.loads(line) for line in Path(name).read_text().splitlines()]
