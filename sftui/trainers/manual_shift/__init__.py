"""The hand-written preparation for a loop that takes labels already shifted."""

from sftui.trainers.traits import Traits

TRAITS = Traits(
    name="manual-shift",
    title="manual-shift",
    about="hf-trainer for a loop that shifts labels by itself",
    home="sftui.trainers.manual_shift.trainer:ManualShift",
    by_hand=True,
)
