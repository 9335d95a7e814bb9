"""Sets that are not SFT sets, each refused in one sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sftui.conversations.detected import find_column, type_word
from sftui.conversations.messages import CONTENT_KEYS, KNOWN_ROLES, ROLE_KEYS, SHAREGPT_ROLES
from sftui.model import Problem
from sftui.side_files import object_of

MEDIA_COLUMNS = ("images", "image", "videos", "video", "audios", "audio", "pixel_values")
_CANDIDATES = ("completions", "responses", "candidates", "answers", "generations", "outputs")
_RANKS = ("scores", "ranks", "ranking", "rankings", "rewards", "labels", "preference", "ratings")
_PROMPTS = ("prompt", "prompts", "instruction", "question", "query", "input", "problem")
_ANSWERS = ("completion", "answer", "response", "output", "solution", "target")
_NAME_THEM = "name the columns to use, e.g. --field prompt=question --field completion=answer, or --field text=body"


_PAIRED = "this is a preference set, not an SFT set"
_LABELLED = "this is an unpaired preference set (KTO), not an SFT set"
OBJECTIVES = {_PAIRED: ("dpo", "kto"), _LABELLED: ("kto",)}
"""The objectives that train on such a set, by what it is."""


def preference_set(samples: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Problem | None:
    """Chosen/rejected pairs, judged completions (KTO, PRM) and ranked lists."""
    chosen = next((name for name in columns if "chosen" in name.lower()), None)
    rejected = next((name for name in columns if "reject" in name.lower()), None)
    prompt = find_column(columns, _PROMPTS)
    if chosen and rejected:
        example = _first(samples, chosen)
        if isinstance(example, (list, tuple)):
            use = f"messages={chosen}"
        else:
            use = f"prompt={prompt} --field completion={chosen}" if prompt else f"text={chosen}"
        named = ((chosen, "chosen"), (rejected, "rejected"), (prompt or "prompt", "prompt"))
        renamed = [f"`{one}` named {name}" for one, name in named if one != name]
        shown = f", with {', '.join(renamed)}" if renamed else ""
        return Problem(
            _PAIRED,
            f"each row has a `{chosen}` and a `{rejected}` answer",
            f"to train on the pairs, use --trainer trl --set loss.objective=dpo{shown};"
            f" to train on the chosen ones alone, use --field {use} (data.fields in a recipe)",
        )
    if {"prompt", "completion", "label"} <= set(columns) and isinstance(_first(samples, "label"), bool):
        return Problem(
            _LABELLED,
            "each completion has a `label` that says whether it is wanted",
            "to train on them, use --trainer trl --set loss.objective=kto; to train on the wanted ones alone, keep"
            " those rows and remove the column `label`",
        )
    listed = find_column(columns, _CANDIDATES)
    rank = find_column(columns, _RANKS)
    if prompt and listed and rank and isinstance(_first(samples, listed), (list, tuple)):
        return Problem(
            "this is a ranking or reward set, not an SFT set",
            f"`{listed}` has several answers to one `{prompt}`, ranked by `{rank}`",
            "keep one answer per row as prompt and completion",
        )
    return None


_TOLD = object_of(Path(__file__).with_name("names.json"))
_HOLDERS: frozenset[str] = frozenset(_TOLD["holders"].split())
"""Keys of one JSON object around all rows, or around those of a split."""


_ROLES = frozenset((*KNOWN_ROLES, *SHAREGPT_ROLES))
_GROUPS = ("conversation_id", "conv_id", "session_id", "sessionid", "thread_id", "message_tree_id", "dialog_id")
_BRANCHES = ("replies", "children", "branches")


def scattered_set(samples: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Problem | None:
    """Rows that are parts of a conversation (its turns, the events of an agent's session), or trees of several."""
    group = find_column(columns, _GROUPS) or find_column(columns, ("id",))
    of_each = f"of one `{group}`" if group else "of each conversation"
    held = "a list under `messages`, one conversation per row"
    role = find_column(columns, ROLE_KEYS)
    said = find_column(columns, CONTENT_KEYS)
    if role and said and all(isinstance(row.get(role), str) and row[role].lower() in _ROLES for row in samples[:8]):
        return Problem(
            "each row is one turn, not a conversation",
            f"`{role}` says whose turn it is, and `{said}` has its text",
            f"put the turns {of_each} into {held}",
        )
    inner = next((name for name in ("message", "payload", "event") if isinstance(_first(samples, name), Mapping)), "")
    if inner and isinstance(_first(samples, "type"), str):
        kinds = ", ".join(dict.fromkeys(str(row.get("type")) for row in samples[:8]))
        return Problem(
            "each row is one event of a session, as coding agents log them",
            f"each entry has its kind in `type` ({kinds}) and its message nested under `{inner}`",
            f"put the messages {of_each} into {held}, with calls as `tool_calls` and results under the role tool",
        )
    if samples and (branch := _branch(samples[0])):
        return Problem(
            "each row is a tree of messages, not a conversation",
            f"each message has a list of replies in `{branch}`",
            f"write each path from the root to a leaf as {held}",
        )
    return None


def _branch(value: Any, path: str = "", depth: int = 3) -> str:
    """The path of the list of what follows a message inside; "" where there is none."""
    if not isinstance(value, Mapping) or not depth:
        return ""
    for key, one in value.items():
        place = f"{path}{key}"
        if key in _BRANCHES and isinstance(one, (list, tuple)):
            return place
        if found := _branch(one, f"{place}.", depth - 1):
            return found
    return ""


def unreadable_set(samples: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Problem:
    """Why nothing here looks like an SFT row; always gives a sentence."""
    if not samples:
        return Problem(
            "no row could be read", "the first rows are not JSON objects", "check that this is the right file"
        )
    printed = next((name for name in columns if _is_printed(_first(samples, name))), None)
    if printed is not None:
        return Problem(
            f"`{printed}` contains lists of mappings as numpy prints them, not data",
            "the entries have no commas between them, and long lists are shortened",
            'write the DataFrame again with to_json(FILE, orient="records", lines=True)',
        )
    nested = [name for name in columns if name.lower() in _HOLDERS and _nested(_first(samples, name))]
    if nested:
        return Problem(
            "expected one example per row",
            f"its examples are nested in {' and '.join(f'`{name}`' for name in nested)}",
            "write each entry as its own row, or for one JSON object use"
            f" {' or '.join(f'--rows-in {name}' for name in nested)}",
        )
    if len(columns) == 1 and (sign := next((sign for sign in ";\t|" if sign in columns[0]), "")):
        separator = "tabs" if sign == "\t" else f"`{sign}`"
        return Problem(
            f"the data has only one column, `{columns[0]}`",
            f"its fields appear to be separated by {separator} instead of commas",
            "write them with commas, which datasets.load_dataset reads too (it takes this file only with"
            f" sep={sign!r})",
        )
    text = [name for name in columns if isinstance(_first(samples, name), str)]
    media = find_column(columns, MEDIA_COLUMNS)
    if media and not [name for name in text if name != media]:
        return Problem(
            "this dataset has no text to train on",
            f"it contains only `{media}`",
            "sftui shows text rows; add messages or text",
        )
    prompt = find_column(text, _PROMPTS)
    listed = find_column(columns, _CANDIDATES)
    if prompt and listed and isinstance(_first(samples, listed), (list, tuple)):
        return Problem(
            "each row has a list of answers, not one",
            f"`{listed}` is a list",
            "keep one answer per row as prompt and completion",
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
    return Problem("sftui does not recognise this as an SFT dataset", f"its columns are {shown}{more}", _NAME_THEM)


def _is_printed(value: Any) -> bool:
    return isinstance(value, str) and re.match(r"\s*\[\s*\{\s*'\w+'\s*:", value) is not None


def _nested(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and any(isinstance(item, Mapping) for item in value[:4])


def _first(samples: Sequence[Mapping[str, Any]], column: str) -> Any:
    return next((row[column] for row in samples if row.get(column) is not None), None)
