"""Made files and folders through each trainer's own loader, in its own environment, beside what sftui says of them."""

from __future__ import annotations

import os

import environments
import pytest
import readings
from case import python_of

pytestmark = pytest.mark.parity


OFTEN = ("trl@1.16.0", "axolotl@0.19.0", "llamafactory@0.9.5", "unsloth@2026.10.9")
"""One for each `datasets` that trainers bring; `SFTUI_PARITY_ALL=1` takes all."""
ALL = bool(os.environ.get("SFTUI_PARITY_ALL"))


@pytest.mark.parametrize("name", readings.TRAINERS if ALL else OFTEN)
def test_a_set_is_loaded_or_refused_as_sftui_says(name: str) -> None:
    trainer, version = environments.split(name)
    if not python_of(trainer, version).exists():
        pytest.skip(f"no environment of {name}")
    paths = readings.sets(every=ALL)
    _, real = readings.theirs(name, paths)
    mine = [readings.ours(path, f"{trainer}@{'.'.join(version.split('.')[:2])}") for path in paths]
    refused = sum("error" in one for one in real)
    print(f"{name}: {len(paths)} sets, {refused} refused")
    assert refused >= 60 and len(paths) - refused >= 60
    assert [path.name for path, _ in readings.compared(paths, real, mine)] == []
