"""`preprocess.py`: a stand-alone script that prepares the data as the recipe does.

It needs transformers and datasets, not sftui, and reads like the scripts of the tutorials: of the code in `plain` only
the lines that this recipe and this data need. Whatever cannot be expressed is refused with a sentence.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from sftui.conversations import Detection
from sftui.conversations.detect import SHAPE_OF
from sftui.exports.copying import Code, copied
from sftui.exports.expressible import check_expressible
from sftui.exports.pinned import needed_version
from sftui.exports.prepared import ExportInput, correction_line
from sftui.recipe import Recipe, day_of
from sftui.sources.files import find_folder, find_glob, is_glob
from sftui.tokens.loading.locate import locate
from sftui.values import value_class

HEAD = '''\
# {correction}
"""Prepare the data for training: the ids and labels that sftui shows ({preset}).

    python preprocess.py --data DATA --tokenizer TOKENIZER --out prepared

Needs: pip install {transformers} datasets
OUT is a folder for datasets.load_from_disk, or a file ending in .jsonl or .parquet.
"""

'''


class ScriptColumns:
    """The data's name of each column that sftui knows by a name, e.g. of `messages`; the same where it has no other."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def __getattr__(self, name: str) -> str:
        return self._names.get(name, name)


@value_class
class Config(Recipe):
    """A recipe, and what of one dataset chooses between the lines of `plain`.

    In an exported script each `CONFIG.name` stands as its value and each branch that it rules out is left out. Names of
    columns and keys are the data's, empty where there is no such thing.
    """

    rows: str = "lines"
    """What reads the files: lines, list, or an expression (see `sources.Loading`)."""
    packed: bool = False
    """Some of the files end in .gz."""
    tokenizer_file: bool = False

    format: str = "messages"
    """messages, alpaca, pair, text or tokenized."""
    columns: ScriptColumns = field(default_factory=lambda: ScriptColumns({}))
    system: str = ""
    tools: str = ""
    variables: str = ""
    """The column of a row's own template variables."""
    role_key: str = "role"
    content_key: str = "content"
    function_calls: bool = False
    """A function_call turn becomes tool calls."""
    shifted: bool = False
    """The stored labels are."""

    bare: bool = True
    """Nothing goes to the chat template besides the messages."""
    prompt_alone: bool = True
    """The prompt is rendered and tokenized alone, to find where the completion begins."""


def script(recipe: Recipe, base: Recipe, prepared: ExportInput) -> str:
    """The text of preprocess.py; ExportError where something cannot be expressed in it."""
    check_expressible(recipe, prepared)
    needed = needed_version(recipe, prepared.tokenizer)
    head = HEAD.format(
        correction=correction_line(recipe, base),
        preset=recipe.preset,
        transformers="transformers" if needed is None else f"transformers=={needed[0]}",
    )
    return head + copied(plain_source(), config_of(recipe, prepared), constants_of(recipe, prepared))


def plain_source() -> str:
    """The code that scripts are copied from; it is read, not imported: it loads what a script loads."""
    return (files("sftui.exports") / "plain.py").read_text("utf-8")


def config_of(recipe: Recipe, prepared: ExportInput) -> Config:
    """What chooses between the lines of `plain`, for a recipe and data that it can express."""
    detected = prepared.reading()
    form = SHAPE_OF[detected.format]
    chat = form not in ("text", "tokenized")
    names, keys = detected.fields, detected.message_keys
    # rows may bring tools or template variables: JSON rows always may, a table says so
    around = chat and (prepared.loading.loader == "json" or not names.keys().isdisjoint(("tools", "template_kwargs")))
    # as in `conversations.convert`
    calls = recipe.data.function_calls == "tool_calls" and "function_call" in detected.role_map
    known: dict[str, Any] = {section.name: getattr(recipe, section.name) for section in fields(Recipe)}
    return Config(
        **known,
        rows=Code(prepared.loading.script),
        packed=any(path.endswith(".gz") for path in data_files(prepared)),
        tokenizer_file=locate(recipe.tokenizer.name or "", recipe.tokenizer.revision).kind == "file",
        format=form,
        columns=ScriptColumns(names),
        system=names.get("system", "system" if form == "alpaca" else ""),
        tools=names.get("tools", "tools") if around else "",
        variables=names.get("template_kwargs", "chat_template_kwargs") if around else "",
        bare=not (around or recipe.render.kwargs or prepared.template_source is not None),
        role_key=keys.get("role", "role"),
        content_key=keys.get("content", "content"),
        function_calls=calls,
        shifted=detected.given_labels == "shifted",
        prompt_alone=chat and recipe.mask.rule == "completion" and recipe.tokenize.mode == "prompt_and_full",
    )


def constants_of(recipe: Recipe, prepared: ExportInput) -> Mapping[str, Any]:
    """The values of what a reader may want to change: the names in capitals of `plain`."""
    detected = prepared.reading()
    dated = day_of(recipe) is not None and detected.format not in ("text", "tokenized")
    hub = {"name": prepared.subset, "split": prepared.split or "train", "revision": prepared.data_revision}
    return {
        "DATA": list(data_files(prepared)),
        "PARTS": list(prepared.ranges or ()),
        "DATASET": {name: value for name, value in hub.items() if value is not None},
        "TOKENIZER": tokenizer_argument(recipe.tokenizer.name or ""),
        "TOKENIZER_CLASS": recipe.tokenizer.type or "",
        "REVISION": recipe.tokenizer.revision or "",
        "DATE": recipe.render.date if dated else "",
        "IGNORE": recipe.mask.ignore_index,
        "MAX_LENGTH": recipe.length.max,
        "KEYS": renamed_keys(detected),
        "ROLES": {role: name for role, name in detected.role_map.items() if role != name},
        "TEMPLATE_VARIABLES": _plain(recipe.render.kwargs),
        "CHAT_TEMPLATE": prepared.template_source,
    }


def renamed_keys(detected: Detection) -> dict[str, str]:
    """The keys of a message that templates know by another name."""
    keys = detected.message_keys
    names = (("role", "role"), ("content", "content"), ("reasoning", "reasoning_content"))
    return {keys[ours]: name for ours, name in names if keys.get(ours, name) != name}


def data_files(prepared: ExportInput) -> tuple[str, ...]:
    """What DATA names: local files by their full paths, folders and globs as the files in them."""
    if prepared.loading.loader is None:
        return tuple(os.path.abspath(p) if os.path.exists(p) else p for p in prepared.paths)
    found: list[str] = []
    for path in prepared.paths:
        if os.path.isdir(path):
            found += find_folder(Path(path), prepared.split).files
        elif is_glob(path):
            found += find_glob(path).files
        else:
            found.append(path)
    return tuple(os.path.abspath(path) for path in found)


def tokenizer_argument(name: str) -> str:
    """What from_pretrained takes: a bundled tokenizer by its folder, a local one by its full path."""
    if name.startswith("builtin:"):
        return locate(name).argument
    return os.path.abspath(os.path.expanduser(name)) if os.path.exists(os.path.expanduser(name)) else name


def _plain(value: Any) -> Any:
    if isinstance(value, dict) or hasattr(value, "items"):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
