from __future__ import annotations

from typing import Any


def cross_entropy(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, ignore_index: int = -100
) -> float:
    return 0.0


nll_loss = cross_entropy
