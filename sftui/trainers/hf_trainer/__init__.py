"""The hand-written preparation of the tutorials for transformers' Trainer."""

from sftui.trainers.traits import Traits

TRAITS = Traits(
    name="hf-trainer",
    title="hf-trainer",
    about="transformers' Trainer as the tutorials use it: the prompt masked, rows padded",
    home="sftui.trainers.hf_trainer.trainer:HfTrainer",
    by_hand=True,
    averages="step",  # num_items_in_batch (transformers 5.24.0, trainer.py, loss/loss_utils.py fixed_cross_entropy)
)
