"""Python source from values: nothing that a dataset or a template holds can become code."""

from __future__ import annotations

from typing import Any


def literal(value: Any) -> str:
    """A Python literal in plain ASCII, strings in double quotes; only plain data is taken."""
    if isinstance(value, str):
        return '"' + "".join(_escaped(char) for char in value) + '"'
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(key)}: {literal(item)}" for key, item in value.items()) + "}"
    raise TypeError(f"{type(value).__name__} has no literal here")


def assign(name: str, value: Any) -> str:
    """`NAME = literal`."""
    return f"{name} = {literal(value)}"


def _escaped(char: str) -> str:
    if char == '"':
        return '\\"'
    return char if " " <= char <= "~" and char != "\\" else ascii(char)[1:-1].replace("\\'", "'")
