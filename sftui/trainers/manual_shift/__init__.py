"""The hand-written preparation for a loop that takes labels already shifted."""

from sftui.trainers.traits import Traits

TRAITS = Traits(
    name="manual-shift", title="manual-shift", home="sftui.trainers.manual_shift.trainer:ManualShift", by_hand=True
)
