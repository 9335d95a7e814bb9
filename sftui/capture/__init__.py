"""Taking the batches of a real run: the recorder that runs inside it, and who starts that run and ends it."""

from __future__ import annotations

from sftui.capture.running import RECORDER, RunOutcome, run
from sftui.capture.stored import META, CapturedRun, read_folder

__all__ = ["META", "RECORDER", "CapturedRun", "RunOutcome", "read_folder", "run"]
