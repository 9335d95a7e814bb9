"""Datasets of a fifth round, made from seeds, on the tokenizers of the first: columns of every instruction type of
Axolotl with wild texts, texts and answers of which some are empty or blank, ids of which some rows have none, and chats
with tools for LLaMA-Factory's templates by name.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from new_material import Rows, answer, turns

ODD = (
    "",
    "",
    " ",
    "\n",
    "\u3000",
    "x ",
    " x",
    "\nx\n",
    "</s>",
    "[INST]",
    "### Response:",
    "{instruction}",
    "{0}",
    "%s",
)


def _said(chance: random.Random, middle: float = 9) -> str:
    """A text, now and then an odd one, or one with odd ends."""
    if chance.random() < 0.15:
        return chance.choice(ODD)
    return chance.choice(("", "", "", *ODD)) + answer(chance, middle, 60) + chance.choice(("", "", "", *ODD))


def columns(chance: random.Random) -> Rows:
    """Every column that one of Axolotl's instruction types reads; now and then none is said."""
    names = (
        *("instruction", "output", "response", "INSTRUCTION", "RESPONSE", "question", "category", "answer", "article"),
        *("summary", "unanswerable_question", "message_1", "message_2", "prompt", "generation", "solution"),
    )
    found = []
    for i in range(90):
        row: dict[str, Any] = {name: _said(chance) for name in names}
        row["input"] = _said(chance) if i % 3 else chance.choice(("", None))
        row["system"] = ("", "Be brief.", " Say it\n", "{x}")[i % 4]
        row["system_prompt"] = ("", "Say it in one line.", "\n")[i % 3]
        row["choices"] = [_said(chance, 3) for _ in range(i % 4)]
        found.append(row)
    return found


def filled(chance: random.Random) -> Rows:
    """The same, an answer in each row."""
    return [
        {
            name: value if value or name in ("input", "system", "system_prompt", "choices") else "Yes."
            for name, value in row.items()
        }
        for row in columns(chance)
    ]


def texts(chance: random.Random) -> Rows:
    """Texts, every fourth empty or blank."""
    return [{"text": chance.choice(ODD) if i % 4 == 1 else answer(chance, 20, 200)} for i in range(120)]


def pairs(chance: random.Random) -> Rows:
    """Prompts and completions, some of either empty."""
    return [
        {
            "prompt": chance.choice(ODD) if i % 4 == 1 else answer(chance, 8, 40),
            "completion": chance.choice(ODD) if i % 5 == 2 else answer(chance, 8, 40),
        }
        for i in range(120)
    ]


def blanks(chance: random.Random) -> Rows:
    """Chats, some contents empty or blank."""
    found = [{"messages": turns(chance, 1 + i % 3, i % 4 == 0)} for i in range(90)]
    for i, row in enumerate(found):
        if i % 3 == 1:
            row["messages"][chance.randrange(len(row["messages"]))]["content"] = chance.choice(ODD)
    return found


def _ready(chance: random.Random) -> Rows:
    made = []
    for i in range(60):
        ids = [chance.randrange(3, 250) for _ in range(1 + i % 23)]
        labels = [-100 if chance.random() < 0.4 else one for one in ids]
        made.append({"input_ids": ids, "labels": labels, "attention_mask": [1] * len(ids)})
    return made


def _emptied(*names: str, to: Any = (), each: int = 4) -> Callable[[random.Random], Rows]:
    """Rows of ids and what goes along them; in every `each`th all of it is empty, or null."""

    def make(chance: random.Random) -> Rows:
        value = None if to is None else [*to]
        return [
            {name: value if i % each == min(1, each - 1) else row[name] for name in names}
            for i, row in enumerate(_ready(chance))
        ]

    return make


def first_empty(chance: random.Random) -> Rows:
    rows = _ready(chance)
    return [{name: [] for name in rows[0]}, *rows[1:]]


def masked(chance: random.Random) -> Rows:
    """Rows of ids of which every fourth is masked whole."""
    return [
        {**row, "labels": [-100] * len(row["labels"])} if i % 4 == 1 else row for i, row in enumerate(_ready(chance))
    ]


def masks_empty(chance: random.Random) -> Rows:
    """Rows of ids with a mask of the completion, every fourth of them empty."""
    return [
        {"input_ids": [], "completion_mask": []}
        if i % 4 == 1
        else {"input_ids": row["input_ids"], "completion_mask": [int(label >= 0) for label in row["labels"]]}
        for i, row in enumerate(_ready(chance))
    ]


TOOL = json.dumps(
    [
        {
            "type": "function",
            "function": {
                "name": "find",
                "description": "Finds a word, \u00e7abuk.",
                "parameters": {
                    "type": "object",
                    "properties": {"word": {"type": "string", "description": "the word"}, "n": {"type": "integer"}},
                    "required": ["word"],
                },
            },
        }
    ],
    ensure_ascii=False,
)


def talks(chance: random.Random) -> Rows:
    """from/value conversations with a column `system` and one `tools`; some call the tool."""
    found = []
    for i in range(40):
        made: list[dict[str, str]] = []
        for turn in range(1 + i % 3):
            made.append({"from": "human", "value": _said(chance) or "Go."})
            if i % 4 == 3 and turn == 0:
                word = answer(chance, 2, 4)
                call = json.dumps({"name": "find", "arguments": {"word": word, "n": i}}, ensure_ascii=False)
                made.append({"from": "function_call", "value": call})
                made.append({"from": "observation", "value": answer(chance, 5, 20)})
            made.append({"from": "gpt", "value": _said(chance) or "Yes."})
        found.append(
            {
                "conversations": made,
                "system": ("", "Be brief.", " Say it.\n")[i % 3],
                "tools": TOOL if i % 4 == 3 or i % 7 == 0 else "",
            }
        )
    return found


ALONG = ("input_ids", "labels", "attention_mask")
DATASETS: dict[str, Callable[[random.Random], Rows]] = {
    "columns": columns,
    "filled": filled,
    "texts": texts,
    "pairs": pairs,
    "blanks": blanks,
    "talks": talks,
    "ids_empty": _emptied("input_ids"),
    "ids_null": _emptied("input_ids", to=None),
    "ids_all_empty": _emptied("input_ids", each=1),
    "labels_empty": _emptied("input_ids", "labels"),
    "along_empty": _emptied(*ALONG),
    "along_null": _emptied(*ALONG, to=None),
    "along_all_empty": _emptied(*ALONG, each=1),
    "first_empty": first_empty,
    "masked": masked,
    "masks_empty": masks_empty,
}


def rows(name: str) -> Rows:
    """The rows of a dataset, the same each time."""
    return DATASETS[name](random.Random(f"sftui five {name}"))
