"""The first rows → how every row is read, with the reason the user is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

from sftui.conversations import messages
from sftui.conversations.detected import Detection, find_column, sentence
from sftui.conversations.refusals import MEDIA_COLUMNS, preference_set, scattered_set, unreadable_set
from sftui.conversations.tokenized import alignment, are_targets, attended
from sftui.model import Problem, Row
from sftui.nearest import did_you_mean
from sftui.recipe import Data
from sftui.side_files import object_of
from sftui.values import value_class

_TOLD = object_of(Path(__file__).with_name("names.json"))
MESSAGE_COLUMNS: tuple[str, ...] = tuple(_TOLD["message columns"].split())
PAIRS: tuple[tuple[str, str], ...] = tuple(tuple(pair.split()) for pair in _TOLD["pairs"])
TEXT_COLUMNS = ("text", "content", "document", "raw_content")
OPTIONAL = {"tools": ("tools",), "template_kwargs": ("chat_template_kwargs",)}
_OWNERS: Mapping[str, str] = _TOLD["owners"]
SHAPE_OF: Mapping[str, str] = _TOLD["shape of format"]
_REQUIRED = {name: tuple(words.split()) for name, words in _TOLD["required"].items()}

Sample = Mapping[str, Any]


@value_class
class Candidate:
    """One way to read the sample: how many rows fit, and what they have."""

    shape: str
    format: str
    fields: Mapping[str, str]
    fits: int
    has: str
    keys: Mapping[str, str]


def detect(rows: Sequence[Row], data: Data) -> Detection:
    """How the set is read, from its first rows, later ones unlike them, and what `data` says.

    A format or a field that `data` names is never guessed over. Nothing here raises: a set that
    cannot be read comes back with `refused`. Sentences are safe to draw, whatever columns are called.
    """
    found = _detect(rows, data)
    refused = found.refused
    if refused is not None:
        refused = Problem(sentence(refused.what), sentence(refused.why), sentence(refused.fix))
        first = next((row.problem for row in rows if row.problem), "")
        if first and not any(isinstance(row.data, Mapping) for row in rows):
            refused = Problem("no row could be read", sentence(first), "fix it, or check that this is the right file")
    notes = tuple(sentence(note) for note in found.notes)
    return replace(found, reason=sentence(found.reason), notes=notes, refused=refused)


def _detect(rows: Sequence[Row], data: Data) -> Detection:
    samples = [row.data for row in rows if isinstance(row.data, Mapping)]
    columns = list(dict.fromkeys(str(name) for row in samples for name in row))
    if data.format != "auto" and data.format not in SHAPE_OF:
        return Detection(
            "auto", refused=Problem(f"no data format `{data.format}`", fix=did_you_mean(data.format, SHAPE_OF))
        )
    shapes = _shapes(data)
    missing = _missing_column(shapes, data, columns) if samples else None
    if missing is not None:
        return Detection("auto", refused=missing)
    if data.format == "auto" and not shapes:
        refused = preference_set(samples, columns) or scattered_set(samples, columns)
        refused = None if _find_messages(samples, columns, {}) else refused
        if refused is not None:
            return Detection("auto", refused=refused)
    found = [
        candidate
        for shape, finder in _FINDERS
        if (not shapes or shape in shapes) and (candidate := finder(samples, columns, data.fields)) is not None
    ]
    best = next((one for one in found if 2 * one.fits >= len(samples)), None) or max(
        found, key=lambda one: one.fits, default=None
    )
    if best is None:
        shape = SHAPE_OF.get(data.format, "")
        named = {name: data.fields.get(name, name) for name in _REQUIRED.get(shape, ())}
        if data.format == "auto" or (samples and not set(columns).issuperset(named.values())):
            return Detection("auto", refused=unreadable_set(samples, columns))
        best = Candidate(shape, data.format, named, 0, "", {})
    return _finish(best, [one for one in found if one is not best], samples, columns, data)


def _finish(
    best: Candidate, others: Sequence[Candidate], samples: Sequence[Sample], columns: Sequence[str], data: Data
) -> Detection:
    format_name = best.format if data.format == "auto" else data.format
    fields = dict(best.fields)
    for name, defaults in OPTIONAL.items():
        column = find_column(columns, defaults)
        if column is not None and best.shape in {"messages", "pair", "alpaca"}:
            fields[name] = column
    fields.update(data.fields)
    roles = dict(data.role_map)
    if format_name == "sharegpt" and roles:
        # An empty role_map is a trainer that renames the keys but not the roles (TRL): then none is mapped.
        roles = {**messages.SHAREGPT_ROLES, **roles}
    if data.format != "auto":
        head = f"{format_name}: set by data.format"
        reason = f"{head}; {_how_many(best.fits, len(samples))} {best.has}" if best.has and best.fits else head
    else:
        reason = f"{format_name}: {_how_many(best.fits, len(samples))} {best.has}"
    detected = Detection(format_name, fields, {**best.keys, **data.message_keys}, roles, reason)
    if best.shape == "tokenized":
        detected = _with_alignment(detected, samples, data)
    used = set(detected.fields.values())
    rivals = [(other.format, other.fits) for other in others if not used.issuperset(other.fields.values())]
    return replace(detected, notes=notes_on(detected, samples, columns, fits=best.fits, rivals=rivals))


def _shapes(data: Data) -> frozenset[str]:
    """The shapes that the recipe leaves open; empty: all of them."""
    if data.format != "auto":
        return frozenset({SHAPE_OF[data.format]})
    return frozenset(_OWNERS[name] for name in data.fields if name in _OWNERS)


def _missing_column(shapes: frozenset[str], data: Data, columns: Sequence[str]) -> Problem | None:
    for shape in shapes:
        for name in _REQUIRED[shape]:
            column = data.fields.get(name)
            if column is not None and column not in columns:
                return Problem(
                    f"no column `{column}`",
                    f"data.fields maps {name} to it",
                    did_you_mean(column, columns) or "the row has no columns",
                )
    return None


def _how_many(fits: int, of: int) -> str:
    return "every sampled row has" if fits == of else f"{fits} of {of} sampled rows have"


def _columns_of(columns: Sequence[str], fields: Mapping[str, str], **names: Sequence[str]) -> dict[str, str]:
    """The columns that are there by our names: as `fields` names them, else the first of each's `names`."""
    found = {ours: find_column(columns, (fields[ours],) if ours in fields else some) for ours, some in names.items()}
    return {ours: column for ours, column in found.items() if column is not None}


def _find_tokenized(samples: Sequence[Sample], columns: Sequence[str], fields: Mapping[str, str]) -> Candidate | None:
    names = ("input_ids", "labels", "attention_mask")
    found = _columns_of(columns, fields, **{name: (name,) for name in names})
    column = found.get("input_ids")
    if column is None:
        return None
    return _candidate("tokenized", found, samples, lambda row: _is_ids(row.get(column)), f"whole numbers in `{column}`")


def _is_ids(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(type(one) is int for one in value[:8])


def _find_messages(samples: Sequence[Sample], columns: Sequence[str], fields: Mapping[str, str]) -> Candidate | None:
    if "messages" in fields:
        return _messages_in((fields["messages"],), samples)
    named = [name for name in columns if name.lower() in MESSAGE_COLUMNS]
    return _messages_in(sorted(named, key=lambda name: MESSAGE_COLUMNS.index(name.lower())), samples)


def _find_other_messages(
    samples: Sequence[Sample], columns: Sequence[str], fields: Mapping[str, str]
) -> Candidate | None:
    """Messages under a name that nobody agreed on: only after the columns that have a meaning."""
    taken = {*MESSAGE_COLUMNS, "prompt", "completion", "chosen", "rejected"}
    return None if "messages" in fields else _messages_in([one for one in columns if one.lower() not in taken], samples)


def _messages_in(names: Sequence[str], samples: Sequence[Sample]) -> Candidate | None:
    found = []
    for column in names:
        keys = _message_keys([row.get(column) for row in samples])
        if keys is None:
            continue
        role, content, fits, as_text = keys
        stored = " (stored as text)" if as_text else ""
        has = f"a list `{column}`{stored} whose items have {role} and {content}"
        format_name = "sharegpt" if role == "from" else "messages"
        found.append(Candidate("messages", format_name, {"messages": column}, fits, has, _key_map(role, content)))
    return max(found, key=attrgetter("fits"), default=None)


def _key_map(role: str, content: str) -> dict[str, str]:
    return {name: key for name, key in (("role", role), ("content", content)) if key != name}


def _message_keys(values: Sequence[Any]) -> tuple[str, str, int, bool] | None:
    """The commonest role and content keys, how many values are message lists, and if as text."""
    seen: Counter[tuple[str, str]] = Counter()
    fits = texts = 0
    for value in values:
        items = value
        if isinstance(value, str):
            items = messages.parse_json(value) if value.lstrip()[:1] == "[" else None
            items = messages.printed_list(value) if messages.is_missing(items) else items
        if messages.is_missing(items) or not isinstance(items, (list, tuple)):
            continue
        pairs = [pair for item in items[:8] if (pair := _pair_of_keys(item)) is not None]
        if pairs:
            fits += 1
            texts += isinstance(value, str)
            seen.update(pairs)
    if not seen:
        return None
    (role, content), _ = seen.most_common(1)[0]
    return role, content, fits, 2 * texts > fits


def _pair_of_keys(item: Any) -> tuple[str, str] | None:
    if not isinstance(item, Mapping):
        return None
    role = next((key for key in messages.ROLE_KEYS if isinstance(item.get(key), str)), None)
    content = next((key for key in messages.CONTENT_KEYS if key in item), None)
    return (role, content) if role is not None and content is not None else None


def _find_segments(samples: Sequence[Sample], columns: Sequence[str], fields: Mapping[str, str]) -> Candidate | None:
    found = _columns_of(columns, fields, segments=("segments",))
    column = found.get("segments")
    if column is None:
        return None

    def fits(row: Sample) -> bool:
        value = row.get(column)
        first = value[0] if isinstance(value, (list, tuple)) and value else None
        return isinstance(first, Mapping) and {"text", "label"} <= set(first)

    return _candidate("segments", found, samples, fits, f"`{column}` of text and label")


def _find_pair(samples: Sequence[Sample], columns: Sequence[str], fields: Mapping[str, str]) -> Candidate | None:
    prompt, completion = fields.get("prompt"), fields.get("completion")
    known = (("prompt", "completion"), *PAIRS) if not (prompt and completion) else (("", ""),)
    found = []
    for a, b in known:
        first, second = find_column(columns, (prompt or a,)), find_column(columns, (completion or b,))
        if first is None or second is None or first == second:
            continue
        text = sum(isinstance(row.get(first), str) and isinstance(row.get(second), str) for row in samples)
        values = [[row.get(column) for row in samples] for column in (first, second)]
        chats = [_message_keys([None if isinstance(one, str) else one for one in some]) for some in values]
        listed = min(chat[2] if chat else 0 for chat in chats)
        if not max(listed, text):
            continue
        what, keys = ("messages", _key_map(*chats[0][:2])) if chats[0] and listed > text else ("text", {})
        has = f"{what} in `{first}` and in `{second}`"
        name = "prompt_completion" if (first.lower(), second.lower()) == ("prompt", "completion") else "columns"
        read = {"prompt": first, "completion": second}
        found.append(Candidate("pair", name, read, max(listed, text), has, keys))
    return max(found, key=attrgetter("fits"), default=None)


def _find_alpaca(samples: Sequence[Sample], columns: Sequence[str], fields: Mapping[str, str]) -> Candidate | None:
    given = _columns_of(columns, fields, input=("input",))
    found = _columns_of(
        columns, fields, instruction=("instruction",), output=("output", "response") if given else ("output",)
    )
    if len(found) < 2:
        return None
    asked, answer = found.values()
    has = f"text in `{asked}` and `{answer}`" + (f" (and `{given['input']}`)" if given else "")
    found |= given | _columns_of(columns, {}, system=("system",), history=("history",))
    return _candidate(
        "alpaca", found, samples, lambda row: isinstance(row.get(asked), str) and isinstance(row.get(answer), str), has
    )


def _find_text(samples: Sequence[Sample], columns: Sequence[str], fields: Mapping[str, str]) -> Candidate | None:
    found = _columns_of(columns, fields, text=TEXT_COLUMNS)
    column = found.get("text", "")
    return _candidate("text", found, samples, lambda row: isinstance(row.get(column), str), f"text in `{column}`")


def _candidate(
    shape: str, fields: Mapping[str, str], samples: Sequence[Sample], fits: Callable[[Sample], bool], has: str
) -> Candidate | None:
    """The way to read a set as a shape that is a format, too; None where no row fits."""
    count = sum(map(fits, samples)) if fields else 0
    return Candidate(shape, shape, fields, count, has, {}) if count else None


def _with_alignment(detected: Detection, samples: Sequence[Sample], data: Data) -> Detection:
    """How stored labels are aligned: what the recipe says, else what the ids show."""
    labels, ids = detected.fields.get("labels", "labels"), detected.fields["input_ids"]
    pairs = [
        (row[ids][: attended(row.get("attention_mask"), len(row[ids]))], row[labels])
        for row in samples
        if isinstance(row.get(ids), (list, tuple))
        and isinstance(row.get(labels), (list, tuple))
        and not are_targets(row)
    ]
    if not pairs and not any(map(are_targets, samples)):
        return replace(detected, reason=f"{detected.reason}; there are no labels")
    if data.given_labels != "auto":
        return replace(
            detected,
            given_labels=data.given_labels,
            reason=f"{detected.reason}; labels {data.given_labels}, set by data.given_labels",
        )
    if all(map(are_targets, samples)):  # each row tells it of its own
        reason = "labels are the loss targets: each is the token its position must predict"
        return replace(detected, given_labels="shifted", reason=f"{detected.reason}; {reason}")
    found = alignment(pairs)
    if found.convention == "unknown":
        why = (
            f"sftui does not know whether labels are shifted (of {found.positions} informative positions"
            f" {found.unshifted:.0%} are unshifted, {found.shifted:.0%} shifted)"
        )
    else:
        share = found.unshifted if found.convention == "unshifted" else found.shifted
        why = f"labels are {found.convention} ({share:.1%} of {found.positions} positions)"
    return replace(detected, given_labels=found.convention, reason=f"{detected.reason}; {why}")


Finder = Callable[[Sequence[Sample], Sequence[str], Mapping[str, str]], Candidate | None]

# In this order: TRL and Axolotl take stored ids before anything else, and messages before a prompt.
_FINDERS: tuple[tuple[str, Finder], ...] = (
    ("tokenized", _find_tokenized),
    ("messages", _find_messages),
    ("segments", _find_segments),
    ("alpaca", _find_alpaca),
    ("pair", _find_pair),
    ("messages", _find_other_messages),
    ("text", _find_text),
)


MEDIA_PARTS = frozenset(
    {"image", "image_url", "input_image", "video", "video_url", "audio", "audio_url", "input_audio"}
)
_TRAINER_COLUMNS = ("messages", "conversations", "prompt", "completion", "text")
SYSTEM_COLUMNS = ("system", "system_prompt", "system_message")


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
        missed = len(samples) - fits
        notes.append(f"{missed} of {len(samples)} sampled rows do not match the format; open one to see why")
    also = [name for name, count in rivals if 2 * count >= len(samples)]
    if also:
        notes.append(
            f"the rows also match {', '.join(also)}; trainers differ in which they use, so remove the unused columns"
        )
    others = [f"`{name}`" for name in columns if name in _TRAINER_COLUMNS and name not in detected.fields.values()]
    if others and not also and detected.format in {"messages", "sharegpt"}:
        # CON006: TRL picks the first column it knows from an unordered set.
        notes.append(f"there is also {', '.join(others)}; some trainers use that instead, so remove it")
    pairs = [name for name in columns if name.lower() in {"chosen", "rejected"}]
    if len(pairs) == 2:
        notes.append("the columns `chosen` and `rejected` are not used")
    column = find_column(columns, SYSTEM_COLUMNS)
    chats = detected.format in {"messages", "sharegpt", "columns", "prompt_completion"}
    if column is not None and "system" not in detected.fields and chats:
        notes.append(f"the column `{column}` is not used; --field system={column} puts it first")
    column = find_column(columns, ("context", "input")) if detected.format == "columns" else None
    if column is not None and column not in detected.fields.values():
        notes.append(f"the column `{column}` is not part of the prompt")
    notes += _roles(detected, samples)
    media = find_column(columns, MEDIA_COLUMNS)
    if media is not None:
        notes.append(f"`{media}`: sftui does not know how many tokens a model uses for it, and shows only the text")
    elif any(_has_media(message) for message in _messages(detected, samples)):
        notes.append("messages contain images or sound: sftui does not know how many tokens a model uses for them")
    return tuple(notes)


def _roles(detected: Detection, samples: Sequence[Mapping[str, Any]]) -> list[str]:
    key = detected.message_keys.get("role", "role")
    seen = list(
        dict.fromkeys(role for message in _messages(detected, samples) if isinstance(role := message.get(key), str))
    )
    mapped = [f"{role} → {detected.role_map[role]}" for role in seen if detected.role_map.get(role, role) != role]
    unknown = [role for role in seen if detected.role_map.get(role, role) not in messages.KNOWN_ROLES]
    notes = []
    if mapped:
        notes.append("roles are mapped: " + ", ".join(mapped))
    if unknown:
        notes.append("roles that most templates do not handle: " + ", ".join(unknown[:8]))
    if detected.format == "sharegpt" and messages.CALL_ROLE in seen and messages.CALL_ROLE in detected.role_map:
        notes.append(messages.CALL_NOTE)
    return notes


def _messages(detected: Detection, samples: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    columns = [detected.fields[name] for name in ("messages", "prompt", "completion") if name in detected.fields]
    for row in samples:
        for column in columns:
            value = row.get(column)
            if isinstance(value, str) and "messages" in detected.fields:
                value = messages.parse_json(value)
            if messages.is_missing(value) or not isinstance(value, (list, tuple)):
                continue
            yield from (item for item in value if isinstance(item, Mapping))


def _has_media(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    if not isinstance(content, (list, tuple)):
        return False
    kinds = [part.get("type") for part in content if isinstance(part, Mapping)]
    return any(isinstance(kind, str) and kind in MEDIA_PARTS for kind in kinds)
