"""Change keys of a YAML file and nothing else: comments, order, anchors and quoting stay.

A round-trip dump still moves white space and long lines, so the text itself is edited: ruamel.yaml
parses it and says where each key and value stands.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from typing import Any

from sftui.errors import RecipeError
from sftui.safe_yaml import is_text, load_yaml

Path = tuple[str | int, ...]


REMOVE = object()
"""Stands for a key that is to go."""
LONGEST_LIST = 80
"""Characters of a list that stands on one line."""


def edit(text: str, changes: Mapping[Path, Any], where: str = "the config") -> str:
    """The text with each path set to its value (or gone, for REMOVE); mappings as blocks, as people write them.

    Missing parents are made. RecipeError where the text is no YAML mapping or a path goes through a scalar.
    """
    in_json = where.lower().endswith(".json")  # its white space may be none of YAML's, and it needs its quotes again
    text = json.dumps(json.loads(text), ensure_ascii=False) if in_json else text
    fresh, rest = _new(_compose(text, where), changes)
    for path, value in rest.items():
        for finer, one in _finer(_held(text, path, where), path, value):
            text = _edit_one(text, finer, one, where)
    text = _edit_one(text, (), fresh, where) if fresh else text
    return json.dumps(load_yaml(text), ensure_ascii=False, indent=2) + "\n" if in_json else text


def _new(root: Any, changes: Mapping[Path, Any]) -> tuple[dict[str, Any], dict[Path, Any]]:
    """The changes that only add keys, as one mapping (each of the others is a parse of the whole), and the others."""
    fresh, rest = dict[str, Any](), dict[Path, Any]()
    odd = {
        path[0] for path, value in changes.items() if value is REMOVE or not all(isinstance(one, str) for one in path)
    }
    odd |= {path[0] for path in changes for end in range(1, len(path)) if path[:end] in changes}
    for path, value in changes.items():
        if path[0] in odd or (root is not None and (root.flow_style or _child(root, path[0]) is not None)):
            rest[path] = value
            continue
        put(fresh, path, value)
    return fresh, rest


def put(config: dict[str, Any], path: Path, value: Any) -> None:
    """Set a key of a config; blocks that are missing, or null, are made."""
    for step in path[:-1]:
        config[str(step)] = config.get(str(step)) or {}
        config = config[str(step)]
    config[str(path[-1])] = value


def commented(text: str, comments: Mapping[Path, str]) -> str:
    """The text with a comment behind the line of each key; the keys are there."""
    lines, root = text.split("\n"), _compose(text, "the config") if comments else None
    for path, comment in comments.items():
        node, key = root, None
        for step in path:
            key, node = _child(node, step) or (key, node)
        if key is not None:
            lines[key.start_mark.line] += f"  # {comment}"
    return "\n".join(lines).rstrip("\n") + "\n"


_MISSING = object()


def _held(text: str, path: Path, where: str) -> Any:
    """What stands at a path that is to become a mapping or a list: only then is it asked for."""
    node = _compose(text, where)
    for step in path:
        found = _child(node, step) if node is not None and node.id != "scalar" else None
        if found is None or (found[0] is not None and found[1].start_mark.index < found[0].end_mark.index):
            return _MISSING  # not there, or an alias: its block stands elsewhere, for others too
        node = found[1]
    return _plain(node)


def _plain(node: Any) -> Any:
    """A node as mappings and lists where they can be changed in part; as one value else, a list on a line as a
    tuple."""
    if node.id == "mapping" and not any(key.value == "<<" for key, _ in node.value):
        return {_read(key): _plain(value) for key, value in node.value}
    if node.id == "sequence" and not node.flow_style:
        return [_plain(value) for value in node.value]
    return tuple(_read(node)) if node.id == "sequence" else _read(node)


def _read(node: Any) -> Any:
    """What a node is read as, an alias or anchor aside."""
    from ruamel.yaml import YAML

    constructor: Any = YAML(typ="safe", pure=True).constructor
    # The constructor writes the keys of `<<` into a mapping, and the next change looks at these nodes again.
    return constructor.construct_document(node if node.id == "scalar" else deepcopy(node))


def _finer(held: Any, path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    """A change as the smaller ones within a block of the same kind, so that what it keeps keeps its comments."""
    if isinstance(held, Mapping) and isinstance(value, Mapping) and held and value:
        for key in held:
            if key not in value:
                yield (*path, key), REMOVE
        for key, one in value.items():
            yield from _finer(held.get(key, _MISSING), (*path, key), one)
    elif isinstance(held, list) and isinstance(value, (list, tuple)) and held and value:
        for number in reversed(range(len(value), len(held))):
            yield (*path, number), REMOVE
        for number, one in enumerate(value):
            yield from _finer(held[number] if number < len(held) else _MISSING, (*path, number), one)
    elif not _same(held, value):
        yield path, value


def _same(held: Any, value: Any) -> bool:
    held, value = (list(one) if isinstance(one, tuple) else one for one in (held, value))
    return type(held) is type(value) and bool(held == value)


def scalar(value: Any) -> str:
    """A value as YAML reads it back in versions 1.1 and 1.2 alike, on one line."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str) and not _unquoted(value):
        return _quoted(value)
    if isinstance(value, float) and "." not in (text := repr(value)) and "e" in text:
        return text.replace("e", ".0e")  # YAML 1.1 takes 2e-05 for a text
    if not all(map(_unquoted, _texts(value))):
        return _flow(value)
    return _plain_text(value) if isinstance(value, str) else _dumped(value)


def _dumped(value: Any) -> str:
    from ruamel.yaml import YAML

    writer = YAML(typ="safe", pure=True)
    writer.default_flow_style = True
    writer.allow_unicode = True
    writer.width = 1_000_000
    stream = io.StringIO()
    writer.dump(list(value) if isinstance(value, tuple) else value, stream)
    return stream.getvalue().removesuffix("\n").removesuffix("...").rstrip("\n")


_plain_text = lru_cache(maxsize=256)(_dumped)
"""Keys come again and again, and a writer of ruamel takes a millisecond."""


_WORDS = {"yes", "no", "on", "off", "y", "n", "true", "false", "null"}


def _unquoted(text: str) -> bool:
    """Whether a text is ruamel's to write: it quotes what YAML 1.2 needs quoted, but not `:0` or `a?` as an entry, at
    which PyYAML stops, nor does it escape every line separator."""
    odd = not text.isprintable() or text.startswith(":") or "?" in text
    return not odd and text.lower() not in _WORDS and is_text(text)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts((*value, *value.values()))
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _texts(one)


def _flow(value: Any) -> str:
    """A value on one line of a mapping or a list, in which some text needs quotes for its form."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_flow(key)}: {_flow(one)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_flow, value))}]"
    if isinstance(value, str):
        return scalar([value])[1:-1] if _unquoted(value) else _quoted(value)
    return scalar(value)


def _quoted(value: str) -> str:
    return '"' + "".join(map(_escaped, value)) + '"'


def _escaped(letter: str) -> str:
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    if letter.isprintable():
        return letter
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}


def _edit_one(text: str, path: Path, value: Any, where: str) -> str:
    root = _compose(text, where)
    if root is None:
        before = text.rstrip("\n") + "\n" if text.strip() else ""
        return "" if value is REMOVE else before + _block(path, value, 0)
    if not path:
        return _insert(text, root, path, value, where)
    node, parent, key_node, depth = root, None, None, 0
    for depth, step in enumerate(path):
        parent = node
        found = _child(node, step)
        if found is None:
            return text if value is REMOVE else _insert(text, node, path[depth:], value, where)
        key_node, node = found
    if value is REMOVE:
        return _delete(text, parent, key_node, node)
    start, end = _value_range(text, key_node, node)
    colon = text.rfind(":", 0, start)
    in_block = _is_block(value) and not (parent is None or parent.flow_style or text[colon + 1 : start].strip())
    if in_block and key_node is not None and colon >= key_node.end_mark.index:
        return text[: colon + 1] + "\n" + "\n".join(_lines(value, key_node.start_mark.column + 2)) + text[end:]
    gap = " " if text[start - 1 : start] == ":" else ""
    return text[:start] + gap + scalar(value) + text[end:]


@lru_cache(maxsize=1)  # a change looks at the text that the one before it left
def _compose(text: str, where: str) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        node = YAML(pure=True).compose(io.StringIO(text))
    except YAMLError as error:
        raise RecipeError("the config is not valid YAML", where=where, why=str(error).splitlines()[0]) from error
    if node is not None and node.id != "mapping":
        raise RecipeError("the config is not a mapping of keys", where=where)
    return node


def _child(node: Any, step: str | int) -> tuple[Any, Any] | None:
    if node.id == "mapping":
        return next(((key, value) for key, value in node.value if key.value == step), None)
    if node.id == "sequence" and isinstance(step, int) and 0 <= step < len(node.value):
        return None, node.value[step]
    return None


def _value_range(text: str, key: Any, node: Any) -> tuple[int, int]:
    """Where the value stands; an alias is found behind its key, an anchor is left in place."""
    start, end = node.start_mark.index, _end(text, node)
    if key is not None and start < key.end_mark.index:  # an alias: its node is the anchored one
        start = text.index("*", key.end_mark.index)
        return start, start + len(re.split(r"[\s,\]}]", text[start:], maxsplit=1)[0])
    if (anchor := re.compile(r"&\S* *").match(text, start, end)) is not None:
        start = anchor.end()
    if start == end and key is not None:  # an empty value: `key:`
        colon = text.index(":", key.end_mark.index)
        return colon + 1, colon + 1
    return start, end


def _end(text: str, node: Any) -> int:
    """Where a value ends, without the comments and blank lines that a block takes in."""
    if node.id == "scalar" or node.flow_style or not node.value:
        end: int = node.end_mark.index
        return len(text[:end].rstrip("\n")) if node.id == "scalar" and node.style in ("|", ">") else end
    last = node.value[-1]
    if isinstance(last, tuple):
        return _value_range(text, *last)[1]  # an alias stands here, and its node elsewhere
    if last.start_mark.index >= node.start_mark.index:
        return _end(text, last)
    lines = text[: node.end_mark.index].split("\n")  # an alias is the last that stands there beside comments
    while not lines[-1].partition("#")[0].strip():
        lines.pop()
    return len("\n".join(lines))


def _insert(text: str, node: Any, path: Path, value: Any, where: str) -> str:
    if node.id == "sequence" and path[0] == len(node.value) and node.value and not node.flow_style:
        column = node.start_mark.column
        at = _line_end(text, _end(text, node))
        return text[:at] + "\n" + "\n".join(_lines([_nested(path[1:], value)], column)) + text[at:]
    if node.id != "mapping":
        what = f"the config has no place for `{'.'.join(map(str, path))}`"
        raise RecipeError(what, where=where, fix="set it by hand")
    if node.flow_style:
        at = node.end_mark.index - 1
        inner = scalar(value) if len(path) == 1 else scalar(_nested(path[1:], value))
        return text[:at] + (", " if node.value else "") + f"{path[0]}: {inner}" + text[at:]
    column = node.value[0][0].start_mark.column if node.value else node.start_mark.column
    at = _line_end(text, _end(text, node))
    return text[:at] + "\n" + _block(path, value, column).rstrip("\n") + text[at:]


def _block(path: Path, value: Any, column: int) -> str:
    return "\n".join(_lines(_nested(path, value), column)) + "\n"


def _lines(value: Any, column: int) -> list[str]:
    """A mapping or a list as a block that stands at `column`."""
    blank, made = " " * column, list[str]()
    for key in value if isinstance(value, Mapping) else range(len(value)):
        block = _lines(value[key], column + 2) if _is_block(value[key]) else []
        if isinstance(value, Mapping):
            made += [f"{blank}{scalar(key)}:", *block] if block else [f"{blank}{scalar(key)}: {scalar(value[key])}"]
        else:
            first, *rest = block or [f"{blank}  {scalar(value[key])}"]
            made += [f"{blank}- {first[column + 2 :]}", *rest]
    return made


def _is_block(value: Any) -> bool:
    """Whether a value is written over lines: what holds a mapping, and a list too long for one line."""
    if isinstance(value, (list, tuple)):
        return any(_is_block(one) for one in value) or len(scalar(value)) > LONGEST_LIST
    return isinstance(value, Mapping) and bool(value)


def _nested(path: Sequence[str | int], value: Any) -> Any:
    for step in reversed(path):
        value = {step: value}
    return value


def _delete(text: str, parent: Any, key: Any, node: Any) -> str:
    start = key.start_mark.index if key is not None else node.start_mark.index
    _, end = _value_range(text, key, node)
    if parent.flow_style:
        tail = len(text[end:]) - len(text[end:].lstrip(" ,"))
        return text[:start] + text[end + tail :]
    line = text.rfind("\n", 0, start) + 1
    return text[:line] + text[_line_end(text, end) + 1 :]


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found
