"""`sftui capture`: the user's own training command, run up to its first optimizer step, and its batches kept."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path

from sftui.capture import CapturedRun, RunOutcome, read_folder, run
from sftui.capture.recorder.sftui_recorder import CaptureOptions
from sftui.capture.stored import about_run, counted, write_captured
from sftui.cli.terminal import narrate
from sftui.cli.writing import STDOUT, outputs
from sftui.errors import ExportError, SftuiError
from sftui.session.inputs import Inputs
from sftui.trainers import packages


def capture(command: Sequence[str], out: str, batches: int, no_model: bool, clip: int | None, force: bool) -> int:
    """Write what the run gave; SftuiError, which says why, where it gave nothing."""
    if out == STDOUT or not out.lower().endswith(".parquet"):
        raise ExportError(f"{out} does not name a format for batches", fix="name it OUT.parquet")
    target, _ = outputs(Inputs(tuple(word for word in command if os.path.isfile(word))), force, out)
    with target.open(folders=False, private=True) as file:  # before anything runs: what cannot be written is told then
        narrate(f"running your own code: {shlex.join(command)}; sftui stops it before its first optimizer step")
        with tempfile.TemporaryDirectory(prefix="sftui-capture-") as folder:
            options = CaptureOptions(batches, no_model, clip, [*dict.fromkeys(packages().values())])
            outcome = run(command, Path(folder), options, (file.name,))
            captured = read_folder(Path(folder))
        if not captured.rows:
            why, fix = outcome.nothing(no_model=no_model), outcome.remedy(no_model=no_model)
            raise SftuiError("nothing was captured", why=why, fix=fix)
        write_captured(captured, file)
    narrate(*summary(captured, outcome, batches), f"written to {out}, which only you can read")
    return 0


def summary(captured: CapturedRun, outcome: RunOutcome, wanted: int) -> list[str]:
    """What was captured, and what is not known of it, in sentences."""
    ended = {
        "step": "before its first optimizer step",
        "enough": "at the last batch",
        "loader": "at the data loader",
        "updated": "as soon as something other than a torch optimizer changed its weights",
    }
    sentences = [*about_run(captured.about)]
    if captured.batches < wanted:
        sentences.append(f"{counted(wanted)} requested; {outcome.missing()}")
    stopped = f"the run was stopped {ended[outcome.why]}" if outcome.why else ""
    how = stopped or f"the command ended with code {outcome.code}"
    sentences.append(f"{how}; no optimizer took a step")
    return sentences
