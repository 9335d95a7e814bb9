"""Files on their way: written under another name, locked as long as someone writes, swept where nobody does any more.

A process that is killed leaves its part behind. The lock goes with the process, so whoever writes to the same place
next knows which parts are dead, whatever became of process numbers meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

SUFFIX = ".part"
_RANDOM = 8
"""Characters that mkstemp puts between prefix and suffix."""


def begin_part(folder: Path, prefix: str) -> tuple[int, str]:
    """A new file in `folder` that is ours alone: its descriptor and name. Dead ones of the same prefix go; OSError."""
    sweep_parts(folder, prefix)
    while True:
        handle, name = tempfile.mkstemp(dir=folder, prefix=prefix, suffix=SUFFIX)
        if _locked(handle) is not False and os.fstat(handle).st_nlink:
            return handle, name
        os.close(handle)  # someone who swept took it for a dead one


def sweep_parts(folder: Path, prefix: str) -> None:
    """Take away the parts of this prefix that no process writes."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            own = entry.name.startswith(prefix) and entry.name.endswith(SUFFIX)
            whole = len(entry.name) == len(prefix) + _RANDOM + len(SUFFIX)
            if own and whole and entry.is_file(follow_symlinks=False):
                _sweep(entry.path)


def _sweep(name: str) -> None:
    with contextlib.suppress(OSError):
        handle = os.open(name, os.O_RDWR | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0))
        try:
            if _locked(handle):
                os.unlink(name)
        finally:
            os.close(handle)


def _locked(handle: int) -> bool | None:
    """Whether the file is ours alone now; None where the system cannot tell, False where another process has it."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return None
    return True
