"""One small Ray for all tests of a process."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sftui.crew import at_home
from sftui.engines import checking
from sftui.engines.cluster import Cluster
from sftui.sources import line_index


@pytest.fixture(scope="session")
def ray() -> Iterator[Cluster]:
    """Two workers, whose bounds are lowered (`../unit/costly`); the engines take what is connected already."""
    module = pytest.importorskip("ray", reason="Ray is not installed: pip install 'sftui[ray]'")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    with at_home(), pytest.MonkeyPatch.context() as costly:
        costly.setenv("PYTHONPATH", str(Path(__file__).parents[1] / "unit/costly"), prepend=os.pathsep)
        module.init(
            address="local",
            num_cpus=2,
            object_store_memory=100 << 20,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    yield Cluster(module, 2)
    module.shutdown()


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some dozens of pieces of a few thousand rows."""
    monkeypatch.setattr(checking, "SMALLEST", 20_000)
    monkeypatch.setattr(checking, "LARGEST", 20_000)
    monkeypatch.setattr(line_index, "APART", 4_000)
