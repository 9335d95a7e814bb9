"""The hand-written preparation of the tutorials for transformers' Trainer."""

from sftui.trainers.traits import Traits

TRAITS = Traits(
    name="hf-trainer",
    title="hf-trainer",
    about="transformers' Trainer as the tutorials use it: the prompt masked, rows padded",
    home="sftui.trainers.hf_trainer.trainer:HfTrainer",
    by_hand=True,
)
