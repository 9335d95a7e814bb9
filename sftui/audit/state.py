"""An audit that was interrupted, kept in the cache folder under what decided it."""

from __future__ import annotations

import contextlib
import os
import pickle
import tempfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from sftui.audit.audit import Audit
from sftui.findings import Context

FORMAT = 1
MOST_STATES = 20
"""Audits kept; the oldest go."""


def state_key(context: Context, paths: Sequence[str], *more: object) -> str:
    """The name of an audit: its data (by path, size and time of change), recipe, tokenizer and sftui's version."""
    from sftui import __version__

    parts: list[str] = [str(FORMAT), __version__, repr(context.recipe), repr(context.detected), repr(context.facts), repr(more)]
    for path in paths:
        parts.append(path)
        parts.extend(_marks(Path(path)))
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def save_state(audit: Audit, key: str, folder: Path) -> None:
    """Keep an audit, whole or not at all; a cache that cannot be written costs only the resuming."""
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, suffix=".part")
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


def _marks(path: Path) -> list[str]:
    """Size and time of change of a file, or of the files of a folder; nothing for a name of the Hub."""
    try:
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        return [f"{one}:{one.stat().st_size}:{one.stat().st_mtime_ns}" for one in files if one.is_file()]
    except OSError:
        return []
