"""Sets that are not SFT sets, each refused in one sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sftui.conversations.detected import find_column, type_word
from sftui.model import Problem

MEDIA_COLUMNS = ("images", "image", "videos", "video", "audios", "audio", "pixel_values")
_CANDIDATES = ("completions", "responses", "candidates", "answers", "generations", "outputs")
_RANKS = ("scores", "ranks", "ranking", "rankings", "rewards", "labels", "preference", "ratings")
_PROMPTS = ("prompt", "prompts", "instruction", "question", "query", "input", "problem")
_ANSWERS = ("completion", "answer", "response", "output", "solution", "target")
_NAME_THEM = "name the columns to use, e.g. --field prompt=question --field completion=answer, or --field text=body"


def preference_set(samples: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Problem | None:
    """Chosen/rejected pairs, judged completions (KTO, PRM) and ranked lists."""
    chosen = next((name for name in columns if "chosen" in name.lower()), None)
    rejected = next((name for name in columns if "reject" in name.lower()), None)
    if chosen and rejected:
        example = _first(samples, chosen)
        prompt = find_column(columns, _PROMPTS)
        if isinstance(example, (list, tuple)):
            use = f"messages={chosen}"
        else:
            use = f"prompt={prompt} --field completion={chosen}" if prompt else f"text={chosen}"
        return Problem(
            "this is a preference set, not an SFT set",
            f"its rows hold `{chosen}` and `{rejected}` answers",
            f"to train on the chosen ones give --field {use} (data.fields in a recipe)",
        )
    if {"prompt", "completion", "label"} <= set(columns) and isinstance(_first(samples, "label"), bool):
        return Problem(
            "this is an unpaired preference set (KTO), not an SFT set",
            "each completion has a `label` that says whether it is wanted",
            "keep the wanted rows and remove the column `label`",
        )
    prompt = find_column(columns, _PROMPTS)
    listed = find_column(columns, _CANDIDATES)
    rank = find_column(columns, _RANKS)
    if prompt and listed and rank and isinstance(_first(samples, listed), (list, tuple)):
        return Problem(
            "this is a ranking or reward set, not an SFT set",
            f"`{listed}` holds several answers to one `{prompt}`, judged by `{rank}`",
            "keep one answer a row as prompt and completion",
        )
    return None


_HOLDERS = frozenset(
    {
        "instances",
        "examples",
        "tasks",
        "samples",
        "data",
        "rows",
        "train",
        "training",
        "validation",
        "valid",
        "dev",
        "val",
        "test",
        "eval",
    }
)
"""Keys of one JSON object around all rows, or around those of a split."""


def unreadable_set(samples: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Problem:
    """Why nothing here looks like an SFT row; always gives a sentence."""
    if not samples:
        return Problem(
            "no row could be read", "the first rows are not JSON objects", "check that this is the right file"
        )
    nested = [name for name in columns if name.lower() in _HOLDERS and _nested(_first(samples, name))]
    if nested:
        return Problem(
            "expected one example per row",
            f"its examples are nested in {' and '.join(f'`{name}`' for name in nested)}",
            "write each entry as a row of its own, or for one JSON object say"
            f" {' or '.join(f'--rows-in {name}' for name in nested)}",
        )
    if len(columns) == 1 and (sign := next((sign for sign in ";\t|" if sign in columns[0]), "")):
        separator = "tabs" if sign == "\t" else f"`{sign}`"
        return Problem(
            f"the data has only one column, `{columns[0]}`",
            f"its fields seem to be separated by {separator} and not by commas",
            "write them with commas, which datasets.load_dataset reads too (it takes this file only with"
            f" sep={sign!r})",
        )
    text = [name for name in columns if isinstance(_first(samples, name), str)]
    media = find_column(columns, MEDIA_COLUMNS)
    if media and not [name for name in text if name != media]:
        return Problem(
            "this set has no text to train on",
            f"it holds only `{media}`",
            "sftui shows text rows; add messages or text",
        )
    prompt = find_column(text, _PROMPTS)
    listed = find_column(columns, _CANDIDATES)
    if prompt and listed and isinstance(_first(samples, listed), (list, tuple)):
        return Problem(
            "each row has a list of answers, not one",
            f"`{listed}` is a list",
            "keep one answer a row as prompt and completion",
        )
    answer = find_column(columns, _ANSWERS)
    if prompt and answer and answer not in text:
        return Problem(f"`{answer}` is {type_word(_first(samples, answer))}, not text", fix="store the answers as text")
    if prompt and len(text) == 1:
        return Problem(
            "the rows have a prompt but no answer",
            f"`{prompt}` is the only text column",
            "name the answer's column, e.g. --field completion=answer",
        )
    shown = ", ".join(f"`{name}` ({type_word(_first(samples, name))})" for name in columns[:8]) or "none"
    more = f" and {len(columns) - 8} more" if len(columns) > 8 else ""
    return Problem("sftui does not recognise this as an SFT set", f"its columns are {shown}{more}", _NAME_THEM)


def _nested(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and any(isinstance(item, Mapping) for item in value[:4])


def _first(samples: Sequence[Mapping[str, Any]], column: str) -> Any:
    return next((row[column] for row in samples if row.get(column) is not None), None)
