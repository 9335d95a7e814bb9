"""What a Parquet file says of the run that its batches were captured of, told without reading its rows."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from sftui.capture import META

PARQUET = b"PAR1"
MOST = 64 << 20
"""A longer footer is read by nobody in advance."""


def run_of(paths: tuple[str, ...]) -> Mapping[str, Any] | None:
    """The description of the run (see `sftui.capture.stored`); None for what is no file of captured batches."""
    if len(paths) != 1 or not os.path.isfile(paths[0]):
        return None
    try:
        if META.encode() not in _footer(paths[0]):
            return None
        import pyarrow.parquet as pq

        about = json.loads((pq.read_schema(paths[0]).metadata or {})[META.encode()])
    except (OSError, ValueError, KeyError):
        return None
    return about if isinstance(about, dict) and _sound(about) else None


def _footer(path: str) -> bytes:
    """The metadata at a Parquet file's end; empty for any other file."""
    with open(path, "rb") as file:
        if file.read(4) != PARQUET:
            return b""
        end = file.seek(-8, os.SEEK_END)
        tail = file.read(8)
        length = int.from_bytes(tail[:4], "little")
        if tail[4:] != PARQUET or length > min(end, MOST):
            return b""
        file.seek(end - length)
        return file.read(length)


def _sound(about: Mapping[str, Any]) -> bool:
    """Whether what is read of it is as the recorder writes it: the file may come from anywhere."""
    batches, tokenizer = about.get("batches"), about.get("tokenizer")
    return (
        isinstance(batches, list)
        and bool(batches)
        and all(_batch(batch) for batch in batches)
        and (tokenizer is None or (isinstance(tokenizer, dict) and isinstance(tokenizer.get("name"), str)))
        and isinstance(about.get("versions", {}), dict)
        and isinstance(about.get("trainer") or "", str)
    )


def _batch(one: Any) -> bool:
    shape = (
        one.get("shapes", {}).get("input_ids") if isinstance(one, dict) and isinstance(one.get("shapes"), dict) else 0
    )
    return (
        isinstance(shape, list)
        and len(shape) == 2
        and all(type(size) is int and size > 0 for size in shape)
        and one.get("from") in ("model", "loader")
        and one.get("labels_from") in ("model", "loader", "loss", None)
    )
