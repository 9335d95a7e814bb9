"""Calls of tools held against what the tools declare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sftui.conversations.detected import type_word
from sftui.findings.checks import CONVERSATION, Fault, row_check
from sftui.findings.look import RowLook, shown
from sftui.findings.model import Severity
from sftui.findings.rule import CALL, CALLING, DROP, case, chat, major
from sftui.findings.rules.tools import parsed, tooled

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (Mapping,),
}
_PYTHON = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array", "dict": "object"}
_DEEP, _ENTRIES, _CHOICES = 4, 50, 200
"""How deep a value is held against its schema, and how many entries of a list are; longer lists of choices
are not looked through."""


def _declared(**more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    return {"type": "function", "function": {"name": "get_weather", "parameters": schema | more}}


TOO008 = major(
    "call-against-schema",
    "a tool call does not match its tool's schema",
    "A required argument is missing, a value has the wrong type or is not one of the choices, or the tool has"
    " no such argument. The code that runs the tools may reject such calls.",
    data="correct the call or the tool",
    repair=(DROP,),
    inherent=True,
    bad=case(chat("Weather?", CALL, tools=[_declared(required=["city", "day"], properties={"city": {}, "day": {}})])),
    good=case(chat("Weather?", CALL, tools=[_declared()]), template=CALLING),
    more=(
        case(chat("Weather?", CALL, tools=[_declared(properties={"city": {"type": "integer"}})]), template=CALLING),
        case(chat("Weather?", CALL, tools=[_declared(properties={"town": {}}, required=[])]), template=CALLING),
    ),
)


@row_check(CONVERSATION, TOO008, shape=lambda shape, context: shape.tools and tooled(shape, context), several=True)
def against_schema(look: RowLook) -> Iterator[Fault]:
    """TOO008: the first misfit of each call; an argument that no property names is one only where the schema says so,
    else an information."""
    schemas = look.tools.schemas
    for number, calls in look.calls.items() if schemas else ():
        for name, arguments, _ in calls:
            schema, given = schemas.get(name), parsed(arguments)
            if schema is None or (arguments and not given):
                continue  # TOO006
            for what, severity in _misfits(given, schema):
                sentence = f"the call to {shown(name, 40)} in message {number} {what}"
                yield Fault(sentence, shown(str(arguments)), severity, message=number)
                break


def _misfits(
    given: Mapping[str, Any], schema: Mapping[str, Any], inside: str = "", deep: int = 0
) -> Iterator[tuple[str, Severity | None]]:
    """What is wrong with a mapping, the worst first, each with its severity where it is not the rule's."""
    properties, required = schema["properties"], schema.get("required")
    for key in required if isinstance(required, (list, tuple)) else ():
        if key in properties and key not in given:
            yield f"lacks the required argument {_named(key, inside)}", None
    for key, value in given.items():
        if isinstance(properties.get(key), Mapping):
            yield from _wrong(value, properties[key], _named(key, inside), deep)
    closed = schema.get("additionalProperties") is False
    for key in given if not schema.get("patternProperties") else ():
        if key not in properties:
            yield f"passes {_named(key, inside)}, which the tool does not declare", None if closed else Severity.INFO


def _wrong(value: Any, schema: Mapping[str, Any], name: str, deep: int) -> Iterator[tuple[str, Severity | None]]:
    """The same of a value; null is what Arrow fills in (CON009)."""
    declared, choices = schema.get("type"), schema.get("enum")
    names = [str(one).lower() for one in (declared if isinstance(declared, (list, tuple)) else [declared])]
    kinds = [_TYPES.get(_PYTHON.get(one, one)) for one in names]
    if value is None or deep > _DEEP:
        return
    if None not in kinds and not any(kind is not None and _is(value, kind) for kind in kinds):
        yield f"passes {name} as {type_word(value)}; the tool declares {' or '.join(map(shown, names))}", None
    elif isinstance(choices, (list, tuple)) and 0 < len(choices) <= _CHOICES and value not in choices:
        yield f"passes {name} as {shown(str(value), 30)}, which is not one of its {len(choices)} choices", None
    elif isinstance(value, Mapping) and isinstance(schema.get("properties"), Mapping):
        yield from _misfits(value, schema, name, deep + 1)
    elif isinstance(value, (list, tuple)) and isinstance(schema.get("items"), Mapping):
        for entry in value[:_ENTRIES]:
            yield from _wrong(entry, schema["items"], f"an entry of {name}", deep + 1)


def _is(value: Any, kind: tuple[type, ...]) -> bool:
    """As JSON Schema has it: 3.0 is an integer, and true is no number."""
    if isinstance(value, bool) and bool not in kind:
        return False
    return isinstance(value, kind) or (kind == (int,) and isinstance(value, float) and value.is_integer())


def _named(key: Any, inside: str) -> str:
    return f"`{shown(str(key), 40)}`" + (f" in {inside}" if inside else "")
