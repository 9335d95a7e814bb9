"""Where the work is done."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from sftui.errors import RecipeError

LOCAL, RAY = "local", "ray"
NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})


def on_ray(engine: str, address: str | None, workers: int | None = None, given: Mapping[str, Any] = NO_OPTIONS) -> bool:
    """Whether Ray is requested; RecipeError for what is wanted of a cluster without one, and for rows that the options
    `given` choose or repair with one, SftuiError where Ray is not installed."""
    if engine == RAY:
        from sftui.session.facets import refuse_where

        refuse_where(given, "workers on a Ray cluster process whole files")
        from sftui.engines.cluster import required

        required()
        return True
    if address is not None:
        raise RecipeError("--address names a Ray cluster, but the engine is local", fix="add --engine ray")
    if workers is not None:
        raise RecipeError("--jobs sets the workers of a Ray cluster, but the engine is local", fix="add --engine ray")
    return False
