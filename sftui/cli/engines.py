"""The options that say where the work is done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from sftui.cli.grouped import WORK, option
from sftui.errors import RecipeError

F = TypeVar("F", bound=Callable[..., Any])
LOCAL, RAY = "local", "ray"


def engine_options(command: F) -> F:
    """Decorate a command whose work a cluster can do."""
    for one in (
        option(
            "--address", group=WORK, metavar="ADDRESS", help="the Ray cluster, e.g. auto; default: one of this machine"
        ),
        option(
            "--engine",
            group=WORK,
            type=click.Choice([LOCAL, RAY]),
            default=LOCAL,
            help="where the work is done: here, or on a Ray cluster; default: local",
        ),
    ):
        command = one(command)
    return command


def on_ray(engine: str, address: str | None, workers: int | None = None) -> bool:
    """Whether Ray is requested; RecipeError for what is wanted of a cluster without one, SftuiError where Ray is not
    installed."""
    if engine == RAY:
        from sftui.engines.cluster import required

        required()
        return True
    if address is not None:
        raise RecipeError("--address names a Ray cluster, and the engine is local", fix="add --engine ray")
    if workers is not None:
        raise RecipeError("--jobs are the workers of a Ray cluster, and the engine is local", fix="add --engine ray")
    return False
