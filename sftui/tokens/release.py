"""Read a serialised backend, give the memory that reading took back to the system, and collect no more what stays."""

from __future__ import annotations

import ctypes
import gc
import sys
from pathlib import Path
from typing import Any

from sftui.errors import TokenizerError

NEW = 50_000
"""New objects after which cycles are looked for: the hundreds that a row makes end with it, and none of them is in a
cycle."""


def read_backend(path: Path, name: str) -> Any:
    """The `tokenizers.Tokenizer` of a tokenizer.json; TokenizerError where it is none."""
    from tokenizers import Tokenizer

    try:
        backend = Tokenizer.from_file(str(path))
    except BaseException as error:  # tokenizers raises bare Exception for what it cannot read, and panics on the rest
        from sftui.tokens.loaded import is_panic

        if not isinstance(error, Exception) and not is_panic(error):
            raise
        raise TokenizerError(
            "the tokenizer cannot be loaded",
            where=name,
            why=f"{path.name} cannot be read ({str(error)[:200]})",
            fix="download the file again",
        ) from error
    give_back()
    return backend


def give_back() -> None:
    """Return freed heap to the system where the C library can (glibc); elsewhere do nothing.

    Parsing a 128k vocabulary leaves tens of MB of freed but unreturned heap behind.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):
        return


def settle() -> None:
    """After all is loaded that stays, and before rows go through it: what stays is not looked through for cycles any
    more, and seldom what comes."""
    gc.collect(1)  # the oldest generation, what was imported, holds no garbage and takes twenty times as long
    gc.freeze()
    gc.set_threshold(NEW, *gc.get_threshold()[1:])
    give_back()
