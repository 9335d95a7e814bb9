"""An audit that was interrupted, kept in the cache folder under what decided it."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date
from enum import Enum
from hashlib import sha256
from pathlib import Path

from sftui.audit.audit import Audit
from sftui.conversations.identity import KEYS_BY
from sftui.errors import SftuiError
from sftui.findings import Context
from sftui.part_files import begin_part
from sftui.recipe import TODAY
from sftui.trainers import release_of, traits_of

FORMAT = 15
MOST_STATES = 20
"""Audits kept; the oldest go."""


def state_key(context: Context, files: Sequence[str], *more: object) -> str:
    """The name of an audit, from all that decides what it finds; the same in every process.

    `files` are the data, which count by path, size and time of change. The recipe, how rows are read, the text of
    the templates, the tokenizer's files with the model's own configs, the libraries' and sftui's versions count as
    they are, and so do what tells rows apart and `more` (see `_plain`).
    """
    from sftui import __version__
    from sftui.tokens.loading.environments import versions

    outside = release_of(context.recipe.trainer)
    templates = {name: template.source for name, template in context.tools.templates.items()}
    decided = [
        FORMAT,
        __version__,
        versions(),
        KEYS_BY,
        context.recipe,
        context.detected,
        context.facts,
        templates,
        _tokenizer_files(context),
        context.generation_config,
        context.model_config,
        _day(context),
        [(file, _mark(file)) for file in files],
        more,
        *([outside] if outside else []),
        *([context.tools.served.decided] if context.tools.served is not None else []),
    ]
    return sha256(json.dumps(_plain(decided)).encode("ascii")).hexdigest()[:32]


def _day(context: Context) -> str | None:
    """The day that rows of today's audit write, where they may write one: yesterday's are other rows."""
    templates = context.tools.templates.values()
    own_code = not traits_of(context.recipe.preset).renders_templates  # LLaMA-Factory's tool format llama3
    dated = own_code or any("strftime_now" in template.source for template in templates)
    return date.today().isoformat() if dated and context.recipe.render.date == TODAY else None


def _plain(value: object) -> object:
    """A value as JSON whose text hangs on nothing but what it says: sets and mappings in an order of their own."""
    if isinstance(value, Enum):
        return [type(value).__name__, value.name]
    if is_dataclass(value):
        return [type(value).__name__, *([field.name, _plain(getattr(value, field.name))] for field in fields(value))]
    if isinstance(value, Mapping):
        return {"mapping": sorted(([_plain(key), _plain(held)] for key, held in value.items()), key=json.dumps)}
    if isinstance(value, (set, frozenset)):
        return {"set": sorted(map(_plain, value), key=json.dumps)}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


def _tokenizer_files(context: Context) -> Mapping[str, str]:
    from sftui.tokens.loading.locate import fingerprint, locate

    try:
        return fingerprint(locate(context.recipe.tokenizer.name or "", context.recipe.tokenizer.revision))
    except (OSError, SftuiError):
        return {}


def save_state(audit: Audit, key: str, folder: Path) -> None:
    """Keep an audit, whole or not at all; a cache that cannot be written costs only the resuming."""
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = begin_part(folder, "audit.")
        try:
            with os.fdopen(handle, "wb") as file:
                pickle.dump((FORMAT, audit), file, pickle.HIGHEST_PROTOCOL)
            os.replace(name, folder / f"{key}.audit")
        except OSError:
            os.unlink(name)
            raise
        kept = sorted(folder.glob("*.audit"), key=lambda one: one.stat().st_mtime)
        for old in kept[:-MOST_STATES]:
            old.unlink()


def load_state(key: str, folder: Path) -> Audit | None:
    """The audit kept under `key`, or None where there is none that this version can read."""
    try:
        with open(folder / f"{key}.audit", "rb") as file:
            made, audit = pickle.load(file)
    except Exception:  # a damaged pickle raises whatever it likes; the audit then starts anew
        return None
    return audit if made == FORMAT and isinstance(audit, Audit) else None


def drop_state(key: str, folder: Path) -> None:
    """Forget an audit that is finished."""
    with contextlib.suppress(OSError):
        (folder / f"{key}.audit").unlink(missing_ok=True)


def _mark(file: str) -> tuple[int, int] | None:
    """Size and time of change of a file; None for one that is not there."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns
