"""Axolotl: its dataset types, masks, multipack, templates and config."""

from sftui.trainers.axolotl.trainer import Axolotl

__all__ = ["Axolotl"]
