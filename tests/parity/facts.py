"""What the ordinary tests are told of a trainer, `FACTS` in `facts.py` of its folder, and rows to say it by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sftui.trainers.table import KeyEntry


@dataclass(frozen=True, kw_only=True)
class Facts:
    """`back`: how many knobs of the `table` of the `preset`'s config come back at least from what they are written as;
    the rest is read together with others. `deciding`: tokenizers, rows and knobs under which labels are turned over.
    `transformers`: the newest that it admits, where it pins one. `converted`: the preset whose recipe becomes every
    other trainer's config, where it reads what they read. `audited`: the one under which all real datasets are audited
    (`real_errors.md`). `own_json`: it parses JSON by itself, so that no `datasets` is among its pins."""

    preset: str
    table: tuple[KeyEntry, ...]
    back: int
    deciding: tuple[tuple[str, Mapping[str, Any], Mapping[str, Any]], ...]
    transformers: str = ""
    converted: str = ""
    audited: str = ""
    own_json: bool = False


def turns(*said: tuple[str, str], **more: Any) -> list[dict[str, Any]]:
    return [{"role": role, "content": text, **more} for role, text in said]


CHAT = {
    "messages": turns(
        ("system", "Be brief."),
        ("user", "Hi"),
        ("assistant", "Hello you."),
        ("user", "And now?"),
        ("assistant", "Bye."),
    )
}
FLAGGED = {
    "messages": [
        {"role": "user", "content": "Hi", "train": False},
        {"role": "assistant", "content": "Hello.", "train": False, "weight": 0},
        {"role": "user", "content": "More?", "train": False},
        {"role": "assistant", "content": "Yes.", "train": True, "weight": 1},
    ]
}
PAIR = {"prompt": "What is two and two?", "completion": "It is four."}
CHATS = {"prompt": turns(("user", "Hi")), "completion": turns(("assistant", "Hello you."))}
ALPACA = {"instruction": "Say hello", "input": "", "output": "Hello you."}
TEXT = {"text": "Once upon a time there was a king."}
STORED = {"input_ids": [5, 6, 7, 8], "labels": [-100, -100, 7, 8]}
