"""Which configs are torchtune's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def claimed(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The paths of `_component_` keys in a parsed config that name something of torchtune."""
    return tuple(_components(config))


def _components(value: Any, path: str = "", depth: int = 0) -> Iterator[str]:
    """The paths of torchtune's `_component_` keys that name something of torchtune."""
    if isinstance(value, Mapping) and depth < 4:
        for key, inner in value.items():
            here = f"{path}.{key}" if path else str(key)
            if key == "_component_" and str(inner).startswith("torchtune."):
                yield here
            else:
                yield from _components(inner, here, depth + 1)
    elif isinstance(value, list) and depth < 4:
        for number, inner in enumerate(value[:10]):
            yield from _components(inner, f"{path}[{number}]", depth + 1)
