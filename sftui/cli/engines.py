"""Where the work is done."""

from __future__ import annotations

from sftui.errors import RecipeError

LOCAL, RAY = "local", "ray"


def on_ray(engine: str, address: str | None, workers: int | None = None, where: str | None = None) -> bool:
    """Whether Ray is requested; RecipeError for what is wanted of a cluster without one, and for rows that are chosen
    by an expression (`where`) with one, SftuiError where Ray is not installed."""
    if engine == RAY:
        from sftui.session.matching import refuse_where

        refuse_where(where, "workers on a Ray cluster take whole files")
        from sftui.engines.cluster import required

        required()
        return True
    if address is not None:
        raise RecipeError("--address names a Ray cluster, but the engine is local", fix="add --engine ray")
    if workers is not None:
        raise RecipeError("--jobs sets the workers of a Ray cluster, but the engine is local", fix="add --engine ray")
    return False
