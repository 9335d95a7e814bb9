"""TRL: its formats, masks, packing, training templates and config."""

from sftui.trainers.trl.trainer import Trl

__all__ = ["Trl"]
