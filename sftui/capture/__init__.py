"""Taking the batches of a real run: the recorder that runs inside it, and who starts that run and ends it."""

from __future__ import annotations

from sftui.capture.running import RECORDER, Outcome, run
from sftui.capture.stored import META, Captured, CapturedRow, read_folder

__all__ = ["META", "RECORDER", "Captured", "CapturedRow", "Outcome", "read_folder", "run"]
