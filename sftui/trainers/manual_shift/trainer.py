"""The hand-written preparation for a loop that does not shift inside the model.

The BOS text is stripped, the mask is that of `hf-trainer`, then the last input and the first label go.
"""

from __future__ import annotations

from dataclasses import replace

from sftui.recipe import Loss, Tokenize
from sftui.trainers.hf_trainer.trainer import HfTrainer
from sftui.trainers.manual_shift import TRAITS


class ManualShift(HfTrainer):
    """A hand-written loop that takes labels already shifted."""

    traits = TRAITS
    usual = replace(
        HfTrainer.usual, trainer=TRAITS.name, tokenize=Tokenize(bos="strip_text"), loss=Loss(shift="preshifted")
    )
