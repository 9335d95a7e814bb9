"""What a recipe does to a handful of small datasets: the ground on which `does this knob act` is told."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from sftui import pipeline, trainers
from sftui.errors import SftuiError
from sftui.model import Row
from sftui.recipe import Recipe, changed, get
from sftui.tokens import load_tokenizer

TOOLS = [
    {
        "type": "function",
        "function": {"name": "weather", "description": "w", "parameters": {"type": "object", "properties": {}}},
    }
]


def chat(*turns: tuple[str, str], role: str = "role", content: str = "content", **more: Any) -> list[dict[str, Any]]:
    return [{role: who, content: text, **more} for who, text in turns]


LONG = "one two three four five six seven eight nine ten eleven twelve"
TOKENIZERS = ("builtin:chatml", "builtin:llama3")

DATASETS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "messages": (
        {
            "messages": chat(
                ("system", "Be brief."),
                ("user", "Hi there"),
                ("assistant", "Hello you."),
                ("user", LONG),
                ("assistant", "Goodbye now."),
            )
        },
        {"messages": chat(("user", "What is 2+2?"), ("assistant", "4"))},
        {"messages": chat(("user", "Q"), ("assistant", "A"), ("user", "and?"))},
        {"messages": chat(("user", "Q"), ("user", "again"), ("assistant", "A"))},
        {"messages": chat(("human", "Q"), ("gpt", "A"))},
        {"messages": chat(("user", LONG), ("assistant", LONG))},
    ),
    "plain": (
        {
            "messages": chat(
                ("user", "Hi there"), ("assistant", "Hello you."), ("user", LONG), ("assistant", "Goodbye now.")
            )
        },
        {"messages": chat(("user", LONG), ("assistant", LONG))},
        {"messages": chat(("user", "Hi"), ("assistant", "Hello you."))},
    ),
    "other_keys": (
        {
            "chat": [
                {"who": "user", "role": "assistant", "say": "Hi", "content": "x", "train": False, "loss": False},
                {"who": "assistant", "role": "user", "say": "Yo", "content": "y", "train": True, "loss": True},
            ],
            "messages": chat(("user", "Other"), ("assistant", "Column")),
            "tools": json.dumps(TOOLS),
        },
    ),
    "sharegpt": (
        {
            "conversations": chat(
                ("system", "S"),
                ("human", "hi"),
                ("gpt", "hello"),
                ("human", "bye"),
                ("gpt", "ciao"),
                role="from",
                content="value",
            )
        },
        {
            "conversations": chat(
                ("human", "hi"),
                ("function_call", '{"name": "weather", "arguments": {}}'),
                ("observation", "4"),
                ("gpt", "ciao"),
                role="from",
                content="value",
            )
        },
    ),
    "alpaca": (
        {"instruction": "Add", "input": "1 2", "output": "3"},
        {"instruction": "Say hi", "input": "", "output": "hi"},
        {"instruction": LONG, "input": "", "output": LONG},
    ),
    "pair": (
        {"prompt": "Q: 1+1\nA:", "completion": " 2"},
        {"prompt": "trail ", "completion": "x"},
        {"prompt": LONG, "completion": LONG},
    ),
    "chat_pair": (
        {"prompt": chat(("user", "hi")), "completion": chat(("assistant", "yo"))},
        {"prompt": chat(("user", "hi"), ("assistant", "a"), ("user", "b")), "completion": chat(("assistant", LONG))},
    ),
    "text": (
        {"text": "just a text"},
        {"text": "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nyo<|im_end|>\n"},
        {"text": f"{LONG} {LONG}"},
    ),
    "ids": (
        {"input_ids": [5, 6, 7, 8], "labels": [-100, 6, 7, 8], "attention_mask": [1, 1, 1, 1]},
        {"input_ids": list(range(5, 45)), "labels": [-100, *range(6, 45)], "attention_mask": [1] * 40},
        {"input_ids": [5, 6, 7], "labels": [-100, -100, -100], "attention_mask": [1, 1, 1]},
    ),
    "bare_ids": ({"input_ids": [5, 6, 7, 8]}, {"input_ids": list(range(5, 45))}),
    "split_word": (
        {"prompt": "The answer is mount", "completion": "ain"},
        {"prompt": "one two thr", "completion": "ee four"},
    ),
    "shifted_ids": ({"input_ids": list(range(5, 29)), "labels": list(range(6, 30)), "attention_mask": [1] * 24},),
    "segments": ({"segments": [{"text": "Q: a ", "label": False}, {"text": "b", "label": True}]},),
    "tools": (
        {
            "messages": [
                *chat(("user", "weather?")),
                {
                    "role": "assistant",
                    "content": "",
                    "reasoning": "hm",
                    "tool_calls": [{"id": "1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}],
                },
                {"role": "tool", "content": "4", "tool_call_id": "1"},
                *chat(("assistant", "4 degrees")),
            ],
            "tools": TOOLS,
        },
    ),
}
"""Small datasets, one for each way of reading rows."""


@cache
def tokenizer(name: str = "builtin:chatml") -> Any:
    return load_tokenizer(name)


def rows(name: str) -> list[Row]:
    return [Row(i, dict(data), json.dumps(data), f"line {i + 1}") for i, data in enumerate(DATASETS[name])]


Outcome = tuple[Any, ...]
"""What becomes of each row, then of the batch and of the packs; a refusal stands where something stops."""


def outcome(recipe: Recipe, data: str, tokens: str) -> Outcome:
    """Everything about ids, labels and rows that a recipe makes of a dataset."""
    given = rows(data)
    try:
        detected = pipeline.detect(given, recipe)
        if detected.refused is not None:
            return (("refused", detected.refused.what),)
        tools = pipeline.make_toolbox(recipe, tokenizer(tokens))
        tools = pipeline.survey(given[0], detected, recipe, tools)
    except SftuiError as error:
        return (("refused", error.what),)
    found = [pipeline.inspect(row, detected, recipe, tools) for row in given]
    made: list[Any] = []
    for one in found:
        if one.problem is not None or one.tokens is None or one.labels is None:
            made.append(("refused", one.problem.what if one.problem else ""))
        else:
            made.append(
                (one.tokens.input_ids, one.labels.labels, one.labels.kept, one.labels.dropped, one.example, one.more)
            )
    for make in (pipeline.make_batch, pipeline.make_packs):
        if make is pipeline.make_packs and recipe.pack.strategy == "none":
            continue
        try:
            made.append(_plain(make(found, recipe, tools)))
        except SftuiError as error:
            made.append(("refused", error.what))
    return tuple(made)


def _plain(made: Any) -> Any:
    """A batch, or packs and their batch, without the sentences on them."""
    if isinstance(made, tuple):
        return (made[0], _plain(made[1]))
    return (made.input_ids, made.labels, made.attention_mask, made.position_ids)


@cache
def _base(context: str, preset: str, data: str, tokens: str) -> Outcome:
    return outcome(under(preset, json.loads(context)), data, tokens)


def under(preset: str, context: Mapping[str, Any]) -> Recipe:
    """The preset with the knobs of a context: what another knob needs in order to act."""
    recipe = trainers.preset(preset)
    for path, value in context.items():
        recipe = changed(recipe, path, tuple(value) if isinstance(value, list) else value)
    return recipe


def changes_something(preset: str, path: str, value: Any, contexts: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a knob set to `value` changes what is made of some row, or stops one."""
    for tokens in TOKENIZERS:
        for context in contexts:
            before = under(preset, context)
            if get(before, path) == value:
                continue
            known, after = json.dumps(context), changed(before, path, value)
            if any(_base(known, preset, data, tokens) != outcome(after, data, tokens) for data in DATASETS):
                return True
    return False
