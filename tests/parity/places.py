"""Files in `SFTUI_PARITY_HOME`, which CI's two runs at a time and others share."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path


def made_once(path: Path, make: Callable[[Path], object]) -> Path:
    """A file or folder that `make` writes where it is told to, if there is none yet.

    It appears whole or not at all; of two runs that make it at once either may win.
    """
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".part-", dir=path.parent) as own:
        part = Path(own) / path.name
        make(part)
        try:
            part.replace(path)
        except OSError:  # a folder that the other run filled meanwhile
            if not path.exists():
                raise
    return path
