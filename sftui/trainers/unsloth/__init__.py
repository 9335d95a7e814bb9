"""Unsloth: its dataset preparation, train_on_responses_only, and its arguments."""

from sftui.trainers.unsloth.trainer import Unsloth

__all__ = ["Unsloth"]
