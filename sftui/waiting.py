"""How long something from the Hub has been loading, and how much of it came: told while it is waited for.

Apart from `sftui.hub`, whose client of the network takes longer to import than a local tokenizer's files to be found.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

NAMES = {"models": "tokenizer", "datasets": "dataset"}
"""What a repository is loaded for."""


def downloaded(repo: str, kind: str = "models") -> int:
    """Bytes of a repository in the local Hub cache, those of files under way too."""
    from huggingface_hub import constants

    folder = Path(constants.HF_HUB_CACHE, f"{kind}--{repo.replace('/', '--')}", "blobs")
    size = 0
    with suppress(OSError):
        for entry in os.scandir(folder):
            with suppress(OSError):
                size += entry.stat().st_size
    return size


@contextmanager
def watched(repo: str, kind: str, notify: Callable[[float, int], None], every: float = 1.0) -> Iterator[None]:
    """Call `notify`, from a thread, every so many seconds with the seconds passed and the bytes of a repository that
    came meanwhile; not any more once this has ended."""
    done, begun, first = threading.Event(), time.monotonic(), downloaded(repo, kind)

    def tick() -> None:
        while not done.wait(every):
            with suppress(OSError, ValueError):  # nobody reads any more
                notify(time.monotonic() - begun, max(0, downloaded(repo, kind) - first))

    ticking = threading.Thread(target=tick, name="sftui-waiting", daemon=True)
    ticking.start()
    try:
        yield
    finally:
        done.set()
        ticking.join()


def loading_words(repo: str, kind: str, seconds: float, came: int) -> str:
    """`loading dataset org/set … 7 s, 5.2 MB downloaded`; the end is left out where nothing came."""
    size = f"{came / 1e6:,.1f} MB" if came >= 1e6 else f"{came / 1e3:,.0f} kB"
    return f"loading {NAMES[kind]} {repo} … {seconds:,.0f} s" + (f", {size} downloaded" if came else "")
