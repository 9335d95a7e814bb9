"""Distinct rows for the benchmarks, in four shapes of about 200 tokens (turns: about 2,000), from a seed.

The sentences are those of the datasets of ../shared, so that they split into tokens as real ones do; each row puts
others together and holds its own number, so that no cache of a tokenizer sees a whole text twice.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[2]
SHARED = REPO.parent / "shared" / "testdata"
SOURCES = ("alpaca_en_demo.json", "gsm8k_test.jsonl", "turkish_daily_test.jsonl")


def sentences() -> list[str]:
    """Every sentence of 20 to 200 characters in the sources; ValueError where they are absent."""
    found: dict[str, None] = {}
    for name in SOURCES:
        path = SHARED / "datasets" / name
        if not path.is_file():
            raise ValueError(f"{path} is not there: the benchmarks need ../shared")
        text = path.read_text(encoding="utf-8")
        rows = [json.loads(line) for line in text.splitlines()] if name.endswith("l") else json.loads(text)
        for row in rows:
            for value in row.values():
                if isinstance(value, str):
                    for sentence in re.split(r"(?<=[.!?])\s+|\n+", value):
                        if 20 <= len(sentence) <= 200:
                            found[sentence] = None
    return list(found)


class Writer:
    """Texts of about so many characters, none like another."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._sentences = sentences()
        self._number = 0

    def text(self, characters: int) -> str:
        self._number += 1
        parts = [f"({self._number:x})"]
        while sum(map(len, parts)) < characters:
            parts.append(self._random.choice(self._sentences))
        return " ".join(parts)

    def number(self) -> int:
        return self._random.randrange(10**6)


def chat(write: Writer) -> dict[str, Any]:
    turns = [("system", 20), ("user", 60), ("assistant", 120), ("user", 20), ("assistant", 110)]
    return {"messages": [{"role": role, "content": write.text(size)} for role, size in turns]}


def turns(write: Writer) -> dict[str, Any]:
    return {
        "messages": [
            {"role": role, "content": write.text(size)}
            for _ in range(20)
            for role, size in (("user", 40), ("assistant", 160))
        ]
    }


def pair(write: Writer) -> dict[str, Any]:
    return {"prompt": write.text(200), "completion": write.text(280)}


TOOL = {
    "type": "function",
    "function": {
        "name": "look_up",
        "description": "Look a city up.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def tools(write: Writer) -> dict[str, Any]:
    call = {"type": "function", "function": {"name": "look_up", "arguments": {"city": write.text(1)}}}
    return {
        "messages": [
            {"role": "user", "content": write.text(1)},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "name": "look_up", "content": json.dumps({"people": write.number()})},
            {"role": "assistant", "content": write.text(20)},
        ],
        "tools": [TOOL],
    }


SHAPES: dict[str, Callable[[Writer], dict[str, Any]]] = {"chat": chat, "turns": turns, "pair": pair, "tools": tools}


def rows(shape: str, count: int, seed: int = 1) -> Iterator[dict[str, Any]]:
    """So many rows of a shape; the same ones for the same seed."""
    write = Writer(seed)
    for _ in range(count):
        yield SHAPES[shape](write)


def write_rows(path: Path, shape: str, count: int) -> None:
    """The same as a JSON Lines file."""
    with path.open("w", encoding="utf-8") as file:
        for row in rows(shape, count):
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
