"""torchtune: its dataset builders, message tokenizers, masks, packing and config."""

from sftui.trainers.torchtune.trainer import Torchtune

__all__ = ["Torchtune"]
