"""Capturing the batches of Axolotl's own training, by two lines of its config.

    plugins: [sftui.axolotl.CapturePlugin]
    sftui_capture: batches.parquet

`sftui_capture_batches` says how many (8). The training goes on: to end it before its first optimizer step say
`sftui capture -o batches.parquet -- axolotl train config.yml`. The plugin's methods are those of Axolotl 0.21,
integrations/base.py.
"""

from __future__ import annotations

from typing import Any

from axolotl.integrations.base import BasePlugin
from pydantic import BaseModel


class CaptureArgs(BaseModel):
    """What the config says to the plugin."""

    sftui_capture: str | None = None
    sftui_capture_batches: int = 8


class CapturePlugin(BasePlugin):  # type: ignore[misc]  # Axolotl is not installed where types are checked
    """Adds the callback that captures."""

    def get_input_args(self) -> str:
        """Where the keys of the config are declared."""
        return "sftui.axolotl.CaptureArgs"

    def add_callbacks_post_trainer(self, cfg: Any, trainer: Any) -> list[Any]:
        """The callback, where the config names a file; an older file of that name is written over, as its cache is."""
        from sftui.hf import CaptureCallback

        if not cfg.sftui_capture:
            return []
        return [CaptureCallback(cfg.sftui_capture, cfg.sftui_capture_batches or 8, overwrite=True)]
