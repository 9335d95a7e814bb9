"""References within a config, as OmegaConf writes them: `${section.key}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sftui.errors import RecipeError

_REFERENCE = re.compile(r"\$\{([\w.]+)\}")


def resolved(value: Any, config: Mapping[str, Any], path: str, *, partly: bool = False, depth: int = 0) -> Any:
    """The value with every `${…}` replaced; a value that is one reference alone keeps its type.

    RecipeError for a reference to what the config does not hold; `partly`: it stays, since another file may hold it.
    """
    if depth > 20:
        raise RecipeError("the config's references go in a circle", where=path)
    if isinstance(value, Mapping):
        return {str(key): resolved(one, config, path, partly=partly, depth=depth) for key, one in value.items()}
    if isinstance(value, list):
        return [resolved(one, config, path, partly=partly, depth=depth) for one in value]
    if not isinstance(value, str):
        return value

    def found(reference: re.Match[str]) -> Any:
        there, said = _looked_up(reference.group(1), config)
        if there:
            return resolved(said, config, path, partly=partly, depth=depth + 1)
        if partly:
            return reference.group()
        raise RecipeError(f"the config refers to {reference.group()}, which it does not hold", where=path)

    whole = _REFERENCE.fullmatch(value)
    return found(whole) if whole else _REFERENCE.sub(lambda one: str(found(one)), value)


def _looked_up(name: str, config: Mapping[str, Any]) -> tuple[bool, Any]:
    found: Any = config
    for step in name.split("."):
        if not isinstance(found, Mapping) or step not in found:
            return False, None
        found = found[step]
    return True, found
