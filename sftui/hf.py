"""Capturing the batches of a training that goes on: a callback for transformers' Trainer, and so for TRL's.

    trainer = SFTTrainer(…, callbacks=[CaptureCallback("batches.parquet", batches=8)])
    trainer.train()

The file is what `sftui capture` writes, and opens alike. Nothing is stopped and nothing is changed: to end a run before
its first optimizer step say `sftui capture`. `sftui help batches` has the rest.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformers import TrainerCallback

if TYPE_CHECKING:
    from sftui.capture.recorder.sftui_recorder import Recorder


class CaptureCallback(TrainerCallback):  # type: ignore[misc,unused-ignore]  # where transformers is not followed
    """Writes the first batches that the model receives in training to `path`, a new .parquet file that only its owner
    may read; `overwrite` takes the place of one that is there. `clip` keeps so many tokens of each sequence.

    The process of rank 0 records. SftuiError where the file cannot be written, before anything is trained.
    """

    def __init__(
        self, path: str | os.PathLike[str], batches: int = 8, *, clip: int | None = None, overwrite: bool = False
    ) -> None:
        from sftui.errors import ExportError
        from sftui.exports.files import refuse_existing

        self.path, self.batches, self.clip = Path(path), batches, clip
        if self.path.suffix.lower() != ".parquet":
            raise ExportError(f"{path} does not name a format for batches", fix="name it OUT.parquet")
        if batches < 1 or (clip is not None and clip < 1):
            raise ExportError("batches and clip must be 1 or more")
        refuse_existing(self.path, overwrite)
        self._recorder: Recorder | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """Begin to watch."""
        if not state.is_world_process_zero or self._recorder is not None:
            return
        import torch

        from sftui.capture.recorder.sftui_recorder import CaptureOptions, Recorder
        from sftui.trainers import packages

        folder = tempfile.mkdtemp(prefix="sftui-capture-")
        os.mkdir(os.path.join(folder, "pids"), 0o700)
        named = [*dict.fromkeys(packages().values())]
        wanted = CaptureOptions(self.batches, clip=self.clip, packages=named, goes_on=True)
        self._recorder = Recorder(folder, wanted, self._write)
        self._recorder.watch(torch)

    def on_train_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """Write what there is, where there were fewer batches than requested."""
        if self._recorder is not None and not self._recorder.over:
            self._recorder.ended()
            self._write()

    def _write(self) -> None:
        """Take the hooks out and write the file; what keeps it from being written does not end the training."""
        from sftui.capture.stored import read_folder, write_captured
        from sftui.errors import SftuiError
        from sftui.exports.files import atomic_file

        recorder = self._recorder
        if recorder is None:
            return
        recorder.unwatch()
        try:
            captured = read_folder(Path(recorder.folder))
            if not captured.rows:
                warnings.warn("sftui: no batch was captured", stacklevel=1)
                return
            with atomic_file(self.path, private=True) as file:
                write_captured(captured, file)
        except SftuiError as error:
            warnings.warn(f"sftui: {error}", stacklevel=1)
        finally:
            shutil.rmtree(recorder.folder, ignore_errors=True)
