"""The way to a Ray cluster: one that runs already, or one of this machine alone."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from sftui.crew import at_home
from sftui.errors import SftuiError
from sftui.signals import handled_by

LOCAL = "local"
PATIENCE = 10.0
"""Seconds in which a cluster must answer."""
STORE = 512 << 20
"""Bytes of memory for results on their way, in a Ray of our own; more of them go to disk."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """The `ray` module, connected, and how many workers it has room for."""

    ray: Any
    workers: int


def required() -> None:
    """SftuiError where Ray is not installed."""
    if find_spec("ray") is None:
        raise SftuiError(
            "Ray is not installed", why="--engine ray needs it", fix="install it with pip install 'sftui[ray]'"
        )


@contextlib.contextmanager
def connected(address: str | None, workers: int | None = None) -> Iterator[Cluster]:
    """Connect to the Ray at `address` (`auto`: the one of this machine's cluster), by default that of RAY_ADDRESS, else
    start one here that ends with the block. Where the program has connected already, that is taken. SftuiError where
    there is no Ray, or none at the address.

    `workers` None: one for each processor that it has.
    """
    required()
    import ray

    ours = not ray.is_initialized()
    if ours:
        _start(ray, address or os.environ.get("RAY_ADDRESS") or LOCAL, workers)
    try:
        yield Cluster(ray, workers or max(1, int(ray.cluster_resources().get("CPU", 1))))
    finally:
        if ours:
            ray.shutdown()


def _start(ray: Any, address: str, workers: int | None) -> None:
    given: dict[str, Any] = {"address": address, "log_to_driver": False, "logging_level": logging.ERROR}
    if address == LOCAL:
        # Ray tells its makers what is run with it, unless it is set not to.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        given |= {"include_dashboard": False, "num_cpus": max(workers or 0, cores), "object_store_memory": STORE}
    try:
        _answers(address)
        with at_home(), contextlib.ExitStack() as signals:  # workers import from the folder in which Ray is started
            for number in (signal.SIGINT, signal.SIGTERM):  # which Ray takes for itself: they end us as before
                signals.enter_context(handled_by(signal.getsignal(number), number))
            ray.init(**given)
        from ray._private import worker

        worker._worker_logs_enabled = False  # it would say on stdout, where our output goes, that an actor was lost
    except (ConnectionError, OSError, RuntimeError, ValueError) as error:
        where = "Ray cannot be started" if address == LOCAL else f"there is no Ray cluster at {address}"
        why = (getattr(error, "strerror", None) or "").lower() or " ".join(str(error).split()) or type(error).__name__
        fix = "" if address == LOCAL else "start one with `ray start --head`, or omit --address"
        raise SftuiError(where, why=why.rstrip("."), fix=fix) from error


def _answers(address: str) -> None:
    """OSError where nobody listens at an address, for which Ray itself would wait for minutes."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdigit() and "/" not in host:
        socket.create_connection((host, int(port)), timeout=PATIENCE).close()
