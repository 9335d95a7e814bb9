"""The hand-written preparation of the tutorials for transformers' Trainer."""

from sftui.trainers.traits import Traits

TRAITS = Traits(name="hf-trainer", title="hf-trainer", home="sftui.trainers.hf_trainer.trainer:HfTrainer", by_hand=True)
