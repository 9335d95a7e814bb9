"""Which configs are NeMo Automodel's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

PACKAGE = "nemo_automodel."


def claimed(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The paths of `_target_` keys in a parsed config that name something of NeMo Automodel."""
    return tuple(_targets(config))


def _targets(value: Any, path: str = "", depth: int = 0) -> Iterator[str]:
    if isinstance(value, Mapping) and depth < 4:
        for key, inner in value.items():
            here = f"{path}.{key}" if path else str(key)
            if key == "_target_" and str(inner).startswith(PACKAGE):
                yield here
            else:
                yield from _targets(inner, here, depth + 1)
