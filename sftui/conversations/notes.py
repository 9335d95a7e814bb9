"""What a user should know about a set that can be read: one sentence each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sftui.conversations.detected import Detection, find_column
from sftui.conversations.messages import CALL_NOTE, CALL_ROLE, KNOWN_ROLES, is_missing, parse_json
from sftui.conversations.refusals import MEDIA_COLUMNS

MEDIA_PARTS = frozenset(
    {"image", "image_url", "input_image", "video", "video_url", "audio", "audio_url", "input_audio"}
)
_TRAINER_COLUMNS = ("messages", "conversations", "prompt", "completion", "text")
_SYSTEM_COLUMNS = ("system", "system_prompt", "system_message")


def notes_on(
    detected: Detection,
    samples: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    *,
    fits: int,
    rivals: Sequence[tuple[str, int]],
) -> tuple[str, ...]:
    """The notes of a set: rows that do not fit, columns passed over, roles, media."""
    notes: list[str] = []
    if 0 < fits < len(samples):
        notes.append(
            f"{len(samples) - fits} of {len(samples)} sampled rows do not match the format; open one to see why"
        )
    also = [name for name, count in rivals if 2 * count >= len(samples)]
    if also:
        notes.append(
            f"the rows also match {', '.join(also)}; trainers differ in which they use, so remove the unused columns"
        )
    others = [f"`{name}`" for name in columns if name in _TRAINER_COLUMNS and name not in detected.fields.values()]
    if others and not also and detected.format in {"messages", "sharegpt"}:
        # CON006: TRL picks the first column it knows from an unordered set.
        notes.append(f"there is also {', '.join(others)}; some trainers take that instead, so remove it")
    pairs = [name for name in columns if name.lower() in {"chosen", "rejected"}]
    if len(pairs) == 2:
        notes.append("the columns `chosen` and `rejected` are not used")
    column = find_column(columns, _SYSTEM_COLUMNS)
    if (
        column is not None
        and "system" not in detected.fields
        and detected.format in {"messages", "sharegpt", "columns", "prompt_completion"}
    ):
        notes.append(f"the column `{column}` is not used; --field system={column} puts it first")
    if (
        detected.format == "columns"
        and (column := find_column(columns, ("context", "input"))) is not None
        and column not in detected.fields.values()
    ):
        notes.append(f"the column `{column}` is not part of the prompt")
    notes += _roles(detected, samples)
    media = find_column(columns, MEDIA_COLUMNS)
    if media is not None:
        notes.append(f"`{media}`: sftui does not know how many tokens a model makes of it; only the text is shown")
    elif any(_has_media(message) for message in _messages(detected, samples)):
        notes.append("messages hold images or sound: sftui does not know how many tokens a model makes of them")
    return tuple(notes)


def _roles(detected: Detection, samples: Sequence[Mapping[str, Any]]) -> list[str]:
    key = detected.message_keys.get("role", "role")
    seen = list(
        dict.fromkeys(role for message in _messages(detected, samples) if isinstance(role := message.get(key), str))
    )
    mapped = [f"{role} → {detected.role_map[role]}" for role in seen if detected.role_map.get(role, role) != role]
    unknown = [role for role in seen if detected.role_map.get(role, role) not in KNOWN_ROLES]
    notes = []
    if mapped:
        notes.append("roles are mapped: " + ", ".join(mapped))
    if unknown:
        notes.append("roles that most templates do not know: " + ", ".join(unknown[:8]))
    if detected.format == "sharegpt" and CALL_ROLE in seen and CALL_ROLE in detected.role_map:
        notes.append(CALL_NOTE)
    return notes


def _messages(detected: Detection, samples: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    columns = [detected.fields[name] for name in ("messages", "prompt", "completion") if name in detected.fields]
    for row in samples:
        for column in columns:
            value = row.get(column)
            if isinstance(value, str) and "messages" in detected.fields:
                value = parse_json(value)
            if is_missing(value) or not isinstance(value, (list, tuple)):
                continue
            yield from (item for item in value if isinstance(item, Mapping))


def _has_media(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    if not isinstance(content, (list, tuple)):
        return False
    return any(
        isinstance(part, Mapping) and part.get("type") in MEDIA_PARTS
        for part in content
        if isinstance(part, Mapping) and isinstance(part.get("type"), str)
    )
