"""The two hand-written preparations of the tutorials: `hf-trainer` and `manual-shift`.

`hf-trainer`: render the whole conversation and the prompt alone with the generation prompt,
tokenize both without special tokens, mask the first len(prompt) labels, cut right at the longest
length, pad with DataCollatorForSeq2Seq. `manual-shift`: the BOS text is stripped, the mask is the
same, then the last input and the first label go, for a loop that does not shift inside the model.
"""

from __future__ import annotations

from dataclasses import replace

from sftui.errors import RecipeError
from sftui.recipe import Loss, Recipe, Tokenize
from sftui.trainers.base import Trainer


class HfTrainer(Trainer):
    """transformers' Trainer with labels made by hand."""

    name = "hf-trainer"

    def preset(self, version: str | None = None) -> Recipe:
        if version is not None:
            raise RecipeError(f"{self.name} has no versions", fix=f"say `{self.name}` without @{version}")
        return Recipe(preset=self.name)


class ManualShift(HfTrainer):
    """A hand-written loop that takes labels already shifted."""

    name = "manual-shift"

    def preset(self, version: str | None = None) -> Recipe:
        return replace(super().preset(version), tokenize=Tokenize(bos="strip_text"), loss=Loss(shift="preshifted"))
