"""Runs of a user's own loops over the stand-in for torch, captured."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from capture_runs import LOOP, STUB, Capture

from sftui.capture import CapturedRun, RunOutcome, read_folder, run
from sftui.capture.recorder.sftui_recorder import CaptureOptions
from sftui.capture.running import _alive


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in is what `import torch` finds in a run."""
    monkeypatch.setenv("PYTHONPATH", str(STUB))


@pytest.fixture
def capture(stub: None, tmp_path: Path) -> Capture:
    """`capture(code)` runs LOOP and then `code`; how it ended, what it gave, and what its steps and handlers wrote."""

    def captured(
        code: str,
        *,
        batches: int = 3,
        no_model: bool = False,
        clip: int | None = None,
        python: tuple[str, ...] = (),
        packages: tuple[str, ...] = (),
    ) -> tuple[RunOutcome, CapturedRun, str]:
        script, marker, folder = tmp_path / "train.py", tmp_path / "marker", tmp_path / "run"
        script.write_text(LOOP + code, encoding="utf-8")
        folder.mkdir(mode=0o700)
        command = [*(python or (sys.executable,)), str(script), str(marker), "--token", "hf_secretsecret"]
        outcome = run(command, folder, CaptureOptions(batches, no_model, clip, packages))
        assert not [*_alive(folder)]
        return outcome, read_folder(folder), marker.read_text() if marker.exists() else ""

    return captured
