"""Signals handled in another way for a while."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def handled_by(handler: Any, *numbers: int) -> Iterator[None]:
    """Have signals handled so (as `signal.signal` takes it) as long as the block runs; nothing in another thread than
    the main one, where alone Python handles them."""
    before = {}
    with contextlib.suppress(ValueError):
        for number in numbers:
            before[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
