"""What every test may use: the shared folder, and a clean home."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Machines are shared and noisy: how long an example takes to draw or to run decides nothing.
settings.register_profile("shared machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared machine")

REPO = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real tokenizers, templates, datasets and goldens; skips where it is absent."""
    folder = Path(os.environ.get("SFTUI_SHARED", REPO.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"the shared test data is not at {folder} (set SFTUI_SHARED)")
    return folder


@pytest.fixture(autouse=True)
def clean_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads the developer's own settings, caches or tokens."""
    for name, folder in (("XDG_CONFIG_HOME", "config"), ("XDG_STATE_HOME", "state")):
        monkeypatch.setenv(name, str(tmp_path / folder))
    for name in ("NO_COLOR", "HF_TOKEN", "SFTUI_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
