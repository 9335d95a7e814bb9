"""How the rows of a JSON file come back from `datasets`, which gives every place of a file one type.

Source: datasets 4.7 to 5.2, utils/json.py (find_mixed_struct_types_field_paths) and features/features.py (Json).
`sftui/trainers/reading.py` says for which trainers, and since when.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from datetime import date, datetime, time, timedelta
from typing import Any, Literal

from sftui.values import lazy, value_class


@value_class
class PlaceConversion:
    """How the values of one place come back: of a place kept as JSON, of texts that become times, of numbers that
    become floats, of numbers that are rounded, too, because another place of the file is kept as JSON, or inside.

    `order` is that of an object's keys where the objects of the place do not agree on it, or on the keys.
    """

    what: Literal["json", "time", "float", "rounded", "list", "object"]
    inside: Mapping[str, PlaceConversion] = field(default_factory=dict)
    order: tuple[str, ...] = ()


_JSON, _FLOAT, _ROUNDED = PlaceConversion("json"), PlaceConversion("float"), PlaceConversion("rounded")


@value_class
class FileReading:
    """How a file's rows come back from `datasets`; `columns` are those that come back otherwise than they stand.

    `typed`: Arrow's types hold throughout, and no place is kept as JSON.
    """

    columns: Mapping[str, PlaceConversion]
    typed: bool = False

    def row(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """A row as the trainer is given it."""
        return {name: _back(one, self.columns[name]) if name in self.columns else one for name, one in data.items()}

    def times(self, columns: Sequence[str]) -> list[str]:
        """The places in some columns whose texts come back as times."""
        return [path for name in columns if name in self.columns for path in _times(self.columns[name], name)]


def _times(place: PlaceConversion, path: str) -> Iterator[str]:
    if place.what == "time":
        yield path
    for key, one in place.inside.items():
        yield from _times(one, f"{path}/{key or '[]'}")


_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d)(?::(\d\d)(?::(\d\d))?)?(?:Z|([+-])(\d\d)(?::?(\d\d))?)?)?", re.ASCII
)


def time_of(text: str) -> datetime | None:
    """The time that Arrow reads a text of JSON as, in UTC; None for any other text, such as a date that does not exist
    or a fraction of a second.

    Source: pyarrow 26.0, measured on the texts of tests/parity/sets_to_read.py (arrow/util/value_parsing.h).
    """
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    day, hour, minute, second, sign, *zone = found.groups()
    hours, minutes = (int(one or 0) for one in zone)
    try:
        moment = datetime.combine(date.fromisoformat(day), time(int(hour or 0), int(minute or 0), int(second or 0)))
        away = timedelta(hours=time(hours).hour, minutes=time(0, minutes).minute)
        return moment - away if sign == "+" else moment + away
    except (ValueError, OverflowError):
        return None


def kept(columns: Mapping[str, Sequence[Any]], *, listed: bool = False) -> dict[str, PlaceConversion]:
    """How the values of columns come back, of those that do not as they stand; `listed`: the file is one JSON list.

    Objects are kept as JSON where two have other keys, or the first has none; objects or lists next to others too. For
    one such place, and of a list always, pandas writes the rows anew, which rounds every fraction.
    """
    found = _changed(columns, listed)
    return _changed(columns, True) if not listed and any(map(_holds_json, found.values())) else found


def _changed(columns: Mapping[str, Sequence[Any]], rounds: bool) -> dict[str, PlaceConversion]:
    found = {name: _kept(values, rounds) for name, values in columns.items()}
    return {name: one for name, one in found.items() if one is not None}


def _holds_json(place: PlaceConversion) -> bool:
    return place.what == "json" or any(map(_holds_json, place.inside.values()))


def _kept(values: Sequence[Any], rounds: bool, as_json: bool = True) -> PlaceConversion | None:
    held = [value for value in values if value is not None]
    kinds = {kind_of(value) for value in held}
    if kinds == {"object"}:
        if as_json and (not held[0] or any(value.keys() != held[0].keys() for value in held)):
            return _JSON
        keys = tuple(held[0]) if as_json else tuple(dict.fromkeys(key for value in held for key in value))
        inside = {key: _kept([value.get(key) for value in held], rounds, as_json) for key in keys}
        changed = {key: one for key, one in inside.items() if one is not None}
        order = keys if any(tuple(value) != keys for value in held) else ()
        return PlaceConversion("object", changed, order) if changed or order else None
    if kinds == {"array"}:
        items = _kept([item for value in held for item in value], rounds, as_json)
        return PlaceConversion("list", {"": items}) if items is not None else None
    if len(kinds) > 1:
        return _JSON if as_json else None
    if kinds == {"number"} and any(map(_is_double, held)):
        return _ROUNDED if rounds else None if all(isinstance(value, float) for value in held) else _FLOAT
    return None


def typed(values: Sequence[Any]) -> PlaceConversion | None:
    """How the values of one place come back where no place is kept as JSON; None where as they stand.

    Objects have the keys of all objects of the place, in the order in which they first come, null where one has none.
    """
    return _kept(values, False, as_json=False)


@value_class
class ValueKind:
    """What kind of value a place of a file holds: Arrow's name of it, "whole" where every number is, "several", or None
    where nothing was seen.

    `inside` are an object's keys, or the items of a list as "".
    """

    kind: str | None
    inside: Mapping[str, ValueKind] = field(default_factory=dict)

    @lazy
    def texts(self) -> bool:
        """Whether nothing but texts was seen in its keys."""
        return all(place.kind == "string" for place in self.inside.values())


def place_of(values: Sequence[Any]) -> ValueKind:
    """The place that holds these values."""
    held = [value for value in values if value is not None]
    kinds = {kind_of(value) for value in held}
    if kinds == {"object"}:
        keys = dict.fromkeys(key for value in held for key in value)
        return ValueKind("object", {key: place_of([value.get(key) for value in held]) for key in keys})
    if kinds == {"array"}:
        return ValueKind("array", {"": place_of([item for value in held for item in value])})
    if kinds == {"number"} and not any(map(_is_double, held)):
        return ValueKind("whole")
    return ValueKind(next(iter(kinds)) if len(kinds) == 1 else "several" if kinds else None)


def joined(one: ValueKind, other: ValueKind) -> ValueKind:
    """The place that holds what two hold."""
    if one.kind is None or other.kind is None:
        return other if one.kind is None else one
    numbers = {one.kind, other.kind} == {"whole", "number"}
    kind = one.kind if one.kind == other.kind else "number" if numbers else "several"
    keys, nothing = dict.fromkeys((*one.inside, *other.inside)), ValueKind(None)
    return ValueKind(kind, {key: joined(one.inside.get(key, nothing), other.inside.get(key, nothing)) for key in keys})


_KINDS = {str: "string", bool: "boolean", float: "number", dict: "object", list: "array"}


def other_kind(value: Any, place: ValueKind) -> tuple[str, str, str] | None:
    """The first place inside a value that holds another kind than it was seen to hold: its path as Arrow writes it, the
    kind seen, and the kind that it has. Every row is looked at, so that the path is put together on the way back."""
    if value is None or place.kind is None or place.kind == "several":
        return None
    kind = _KINDS.get(type(value)) or kind_of(value)
    if kind != place.kind:
        alike = kind == "number" and place.kind == "whole" and not _is_double(value)
        return ("", place.kind, kind) if kind is not None and not alike else None
    if kind == "object":
        for key, one in value.items():
            inner = place.inside.get(key)
            if inner is not None and (type(one) is not str or inner.kind != "string"):
                found = other_kind(one, inner)
                if found is not None:
                    return f"/{key}{found[0]}", found[1], found[2]
    elif kind == "array":
        inner = place.inside[""]
        if inner.kind == "object" and _texts_alone(value, inner):
            return None
        for one in value:
            found = other_kind(one, inner)
            if found is not None:
                return f"/[]{found[0]}", found[1], found[2]
    return None


def brings(value: Any, place: ValueKind) -> bool:
    """Whether a value holds a key, or a kind of value, that a place was not seen to hold."""
    if value is None or place.kind == "several":
        return False
    kind = _KINDS.get(type(value)) or kind_of(value)
    if kind != place.kind:
        return kind != "number" or place.kind != "whole" or _is_double(value)
    if kind == "object":
        inside = place.inside
        return not inside.keys() >= value.keys() or any([brings(one, inside[key]) for key, one in value.items()])
    if kind != "array":
        return False
    inner = place.inside[""]
    if inner.kind == "object" and value and _texts_alone(value, inner):
        return not all([inner.inside.keys() >= one.keys() for one in value])
    return any([brings(one, inner) for one in value])


def _texts_alone(values: list[Any], place: ValueKind) -> bool:
    """Whether objects hold nothing but texts, and nothing else was seen in them: messages, mostly, at one look."""
    if not place.texts or not {dict}.issuperset(map(type, values)):
        return False
    return {str}.issuperset([type(held) for value in values for held in value.values()])


def _is_double(value: float) -> bool:
    """Whether Arrow needs a double for a number: it has a fraction, or is no signed 64-bit integer."""
    return isinstance(value, float) or not -(2**63) <= value < 2**63


def _back(value: Any, place: PlaceConversion) -> Any:
    """A value as it comes back."""
    if value is None:
        return None
    if place.what == "json":
        return parsed(value) if isinstance(value, str) else stored(value)
    if place.what == "time":
        return time_of(value) or value if isinstance(value, str) else value
    if place.what in ("float", "rounded"):
        number = float(value) if isinstance(value, int) and not isinstance(value, bool) else value
        if place.what == "float" or not isinstance(number, float):
            return number
        written = _written(number)  # beside a place kept as JSON: the text is read as it says
        return None if written == "null" else float(written)
    if place.what == "list":
        return [_back(item, place.inside[""]) for item in value] if isinstance(value, (list, tuple)) else value
    if not isinstance(value, Mapping):
        return value
    named = {key: value.get(key) for key in place.order} | dict(value) if place.order else value
    return {key: _back(one, place.inside[key]) if key in place.inside else one for key, one in named.items()}


_NUMBER = re.compile(r"(-?)(\d*)(?:(\.)(\d*))?(?:([eE])([+-]?\d*))?", re.ASCII)
_WORDS = {"null": None, "NaN": None, "true": True, "false": False, "Infinity": float("inf"), "-Infinity": -float("inf")}


def parsed(text: str) -> Any:
    """What pandas' ujson makes of a text: the value that it says, or the text where it is no JSON.

    Source: pandas 2.3 and 3.1, src/vendored/ujson/lib/ultrajsondec.c: whole numbers of up to 64 bits, fractions of 15
    digits, `01`, `1.` and `-` are numbers, NaN is nothing.
    """
    bare = text.strip(" \t\r\n")
    if not bare:
        return text
    if bare in _WORDS:
        return _WORDS[bare]
    if bare[0] in "-0123456789":
        found = _NUMBER.fullmatch(bare)
        number = _number(found) if found else None
        return text if number is None else number
    if bare[0] not in '"[{':
        return text
    try:
        return json.loads(bare, strict=False, parse_constant=lambda name: None if name == "NaN" else float(name))
    except (ValueError, RecursionError):
        return text


def _number(found: re.Match[str]) -> float | None:
    sign, whole, point, fraction, exponent, power = found.groups()
    number: float = int(whole or 0)
    if not point and not exponent:
        number = -number if sign else number
        return number if -(2**63) <= number < 2**64 else None
    digits = (fraction or "")[:15]
    number = float(number) + (int(digits) * 10.0 ** -len(digits) if digits else 0.0)
    try:
        number *= 10.0 ** int(power or 0) if power not in ("+", "-") else 1.0
    except OverflowError:
        number = float("inf")
    return -number if sign else number


def stored(value: Any) -> Any:
    """A value as it comes back from a column that keeps values as JSON text: fractions with ten decimals, very large
    and very small numbers with ten digits, zero without a sign.

    Source: pandas 2.3 and 3.1, src/vendored/ujson/lib/ultrajsonenc.c (Buffer_AppendDoubleUnchecked), by which datasets
    writes them (features/features.py, Json), and `parsed`, by which it reads them.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return parsed(_written(value))
    if isinstance(value, Mapping):
        return {key: stored(one) for key, one in value.items()}
    return [stored(one) for one in value] if isinstance(value, (list, tuple)) else value


_DECIMALS = 10
_LARGE, _SMALL = 1e16 - 1, 1e-15


def _written(value: float) -> str:
    """A number as that writes it."""
    size = abs(value)
    if not math.isfinite(value):
        return "null"
    if size > _LARGE or 0 < size < _SMALL:
        return f"{value:.{_DECIMALS}g}"
    whole, power = int(size), 10**_DECIMALS
    scaled = (size - whole) * power
    fraction = int(scaled)
    rest = scaled - fraction
    fraction += rest > 0.5 or (rest == 0.5 and (fraction == 0 or fraction % 2 == 1))
    if fraction >= power:
        whole, fraction = whole + 1, 0
    return f"{'-' * (value < 0)}{whole}.{f'{fraction:0{_DECIMALS}}'.rstrip('0') or '0'}"


def kind_of(value: Any) -> str | None:
    """Arrow's kind of a value; None of null."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, Mapping):
        return "object"
    return "array" if isinstance(value, (list, tuple)) else None
