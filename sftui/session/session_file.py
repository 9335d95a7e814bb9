"""A session of the inspector as a file: the options that open the same again, by their own names, and where one was.

    sftui_session: 1
    data: [train.jsonl]
    tokenizer: builtin:chatml
    trainer: trl@1.16
    set: {mask.rule: assistant}
    apply: [trim]
    where: len(messages) > 4
    row: 41

A name that is no path is taken as it is; a relative path counts from the folder of the file. The state folder keeps one
for each dataset that was open (`sessions/NAME.yml`, JSON), beside its marks.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from sftui.errors import RecipeError, SftuiError, without_secrets
from sftui.nearest import hint
from sftui.recipe_io import quoted, shown
from sftui.safe_yaml import YamlProblem, load_yaml
from sftui.session.arguments import Arguments
from sftui.session.command_line import InForce, opening_of
from sftui.session.declared import OptionDeclaration
from sftui.session.options import state_folder
from sftui.side_files import read_side_file

KEY, FORMAT = "sftui_session", 1
ENDINGS = (".yml", ".yaml")
HEAD = re.compile(rb'^\s*\{?\s*"?sftui_session"?\s*:', re.MULTILINE)
HEAD_BYTES = 4096
RUNS_CODE = ("env", "transformers")
"""Options that start another Python or install one, which no file may do."""
NAMES = {"recipe_file": "recipe", "knobs": "set"}
"""What options are called here and in Python, where that is another name than theirs."""
PATHS = ("data", "recipe", "edits", "serve", "tokenizer", "template")
"""Options that may name a file or a folder."""


class SavedSession(NamedTuple):
    """What a session file says: what to open, the row, the open view, and
    what the data was when it was left (see `marks.state_of`)."""

    path: str
    text: str
    arguments: Arguments
    row: int = 0
    view: str = ""
    seen: tuple[str, ...] = ()

    def placed(self, error: SftuiError) -> SftuiError:
        """An error about what the file says, with its place."""
        named = re.search(r"`([\w.-]+)`", error.what)
        error.where = error.where or _place(self.path, self.text, named[1] if named is not None else KEY)
        return error


def is_session(path: str) -> bool:
    """Whether a file is a session, by its name and first lines; a pipe is not opened, as it would wait for a writer."""
    if not path.lower().endswith(ENDINGS) or not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            return HEAD.search(file.read(HEAD_BYTES)) is not None
    except (OSError, ValueError):
        return False


def session_named(data: tuple[str, ...]) -> SavedSession | None:
    """The session that is named as the data; None where none is. RecipeError for one that cannot be read."""
    return read_session(data[0]) if len(data) == 1 and is_session(data[0]) else None


# — written —


def session_tree(now: InForce, folder: Path) -> dict[str, Any]:
    """What is in force, for a file in a folder; RecipeError for piped rows, which no file opens again."""
    arguments, _ = opening_of(replace(now, options=replace(now.options, env=None)))
    if "-" in arguments.data:
        raise RecipeError("rows that came through a pipe cannot be opened again", fix="save them in a file and open it")
    set_to = {path: quoted(value) if isinstance(value, str) else value for path, value in arguments.knobs}
    own = {"knobs": set_to, "apply": list(arguments.apply)}
    tree: dict[str, Any] = {KEY: FORMAT, "data": list(arguments.data)}
    for one in fields(OptionDeclaration):
        tree[_key(one.name)] = own.get(one.name, getattr(arguments, one.name))
    tree |= {"waivers": arguments.waivers, "where": now.where, "view": now.view}
    tree = {name: value for name, value in tree.items() if value not in (None, False, "", (), [], {})}
    here = os.path.realpath(folder) == os.path.realpath(os.curdir)

    def lasting(path: str) -> str:
        return without_secrets(path) if here or not os.path.exists(path) else os.path.abspath(path)

    return {**_with_paths(tree, lasting), "row": now.row}


def as_yaml(tree: Mapping[str, Any], name: str) -> str:
    """A session as a person reads it."""
    from ruamel.yaml import YAML

    stream = io.StringIO()
    stream.write(f"# `sftui {name}` opens this again; review marks stay with the data\n")
    writer = YAML(typ="safe", pure=True)
    writer.default_flow_style = None
    writer.sort_base_mapping_type_on_output = False
    writer.allow_unicode = True
    writer.dump(json.loads(json.dumps(tree)), stream)
    return stream.getvalue()


def _with_paths(tree: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """The same with every path in it changed."""

    def one(value: Any) -> Any:
        if isinstance(value, str):
            kind, colon, path = value.rpartition(":")
            return f"file:{change(path)}" if (kind, colon) == ("file", ":") else change(value)
        return [one(path) for path in value] if isinstance(value, list) else value

    return {name: one(value) if name in PATHS else value for name, value in tree.items()}


# — read —


def read_session(path: str) -> SavedSession:
    """A session from its file; RecipeError says in a sentence, with the line, what it cannot be."""
    text = read_side_file(path, "the session", RecipeError)
    try:
        tree = load_yaml(text)
    except YamlProblem as error:
        raise RecipeError(f"the session {error.what}", where=error.where(path), why=error.why, fix=error.fix) from error
    if not isinstance(tree, Mapping):
        raise RecipeError("a session is a mapping", where=path, fix=f"begin with `{KEY}: {FORMAT}`")
    for name, value in tree.items():
        _check(str(name), value, _place(path, text, str(name)))
    folder = os.path.dirname(path)

    def found(name: str) -> str:
        beside = os.path.join(folder, name)
        return beside if folder and not os.path.isabs(name) and os.path.exists(beside) else name

    tree = _with_paths(tree, found)
    named = {one.name: tree[_key(one.name)] for one in fields(OptionDeclaration) if _key(one.name) in tree}
    lists: dict[str, Any] = {name: tuple(tree.get(name, ())) for name in ("data", "apply")}
    lists |= {"knobs": tuple(tree.get("set", {}).items()), "waivers": tuple(tree.get("waivers", ())) or None}
    place = tree.get("row", 0), tree.get("view", ""), tuple(tree.get("as", ()))
    return SavedSession(path, text, Arguments(**{**named, **lists}), *place)


def _key(option: str) -> str:
    return NAMES.get(option, option)


_KINDS = {"str | None": "text", "int | None": "number", "bool": ""}
KNOWN = {
    KEY: "number",
    "data": "texts",
    **{_key(one.name): _KINDS.get(str(one.type), "mapping") for one in fields(OptionDeclaration)},
    **{"apply": "texts", "as": "texts", "waivers": "mappings", "row": "number", "view": "text"},
}
"""Every key of a session, and what it holds."""


def _check(name: str, value: Any, where: str) -> None:
    """RecipeError for a key that no session has, or that holds something else."""
    kind = KNOWN.get(name)
    if name in RUNS_CODE:
        fix = f"give --{name} on the command line"
        raise RecipeError(f"a session cannot set `{name}`", where=where, why="it would run code", fix=fix)
    if not kind:
        raise RecipeError(f"a session has no `{name}`{hint(name, KNOWN)}", where=where)
    right = {
        "text": lambda: isinstance(value, str),
        "number": lambda: type(value) is int and value >= 0,
        "texts": lambda: isinstance(value, list) and all(isinstance(one, str) for one in value),
        "mappings": lambda: isinstance(value, list) and all(isinstance(one, dict) for one in value),
        "mapping": lambda: (
            isinstance(value, dict)
            and all(isinstance(one, str) for one in value)
            and (name != "fields" or all(isinstance(one, str) for one in value.values()))
        ),
    }[kind]()
    if not right or (name == KEY and not 1 <= value <= FORMAT):
        newer = name == KEY and right and value > FORMAT
        fix = "a newer sftui wrote it: update this one" if newer else f"give {GIVE[kind]}"
        raise RecipeError(f"`{name}` cannot be {shown(value)}", where=where, fix=fix)


GIVE = {
    "text": "a text",
    "number": "a whole number",
    "texts": "a list of texts",
    "mappings": "a list of mappings",
    "mapping": "a mapping of names to values",
}


def _place(path: str, text: str, key: str) -> str:
    """The file, and the line of a key in it."""
    named = re.compile(rf"""(?:^|[\s{{,"'-]){re.escape(key)}["']?\s*:""")
    lines = (number for number, line in enumerate(text.splitlines(), 1) if named.search(line))
    return f"{path} line {number}" if (number := next(lines, 0)) else path


# — over what a command line says —


def over(saved: SavedSession, said: Arguments) -> Arguments:
    """The options of a session with those of a command line on top."""
    usual = Arguments()
    named = {one.name: getattr(said, one.name) for one in fields(OptionDeclaration)}
    changed = {name: value for name, value in named.items() if value != getattr(usual, name)}
    knobs = (*saved.arguments.knobs, *said.knobs)
    return replace(saved.arguments, **{**changed, "knobs": knobs})


# — where one was —


MOST_LEFT = 100
"""Datasets of which it is known where one was."""


def last_sessions(most: int) -> list[SavedSession]:
    """The sessions that were left last, the newest first, of data that is still there."""
    found: list[SavedSession] = []
    for path in _left():
        try:
            saved = read_session(str(path))
        except SftuiError:
            continue
        if all(os.path.exists(one) or not os.path.isabs(one) for one in saved.arguments.data):
            found.append(saved)
        if len(found) == most:
            break
    return found


def leave(now: InForce, file: Path, seen: list[str]) -> None:
    """Keep in `file` where one was in a dataset, which was so (see `marks.state_of`); the oldest of too many go.
    SftuiError, OSError."""
    from sftui.exports.files import write_atomically

    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    tree = {**session_tree(now, file.parent), "as": seen}
    write_atomically(file, json.dumps(tree, indent=1).encode("utf-8", "backslashreplace"))
    for path in _left()[MOST_LEFT:]:
        path.unlink(missing_ok=True)


def _left() -> list[Path]:
    folder = state_folder() / "sessions"
    return sorted(folder.glob("*.yml"), key=lambda path: path.stat().st_mtime, reverse=True)
