"""Unsloth: its dataset preparation, train_on_responses_only, and its arguments."""

from sftui.trainers.traits import Finds, Traits
from sftui.trainers.trl import BEST_FIT
from sftui.trainers.unsloth.own_keys import claimed

TRAITS = Traits(
    name="unsloth",
    title="Unsloth",
    about="SFTTrainer as Unsloth changes it, with train_on_responses_only and standardize",
    home="sftui.trainers.unsloth.trainer:Unsloth",
    versions=("2026.10", "2026.8"),
    first=(2026, 8),
    package="unsloth_zoo",  # where its preparation is
    bos_by_first_row=True,
    finds=Finds.MARKERS,
    assistant_rule="markers",
    completion_rule="completion",
    packing="bfd",
    separate=BEST_FIT,
    whole=BEST_FIT,
    training_arguments=(99,),
    names_template=False,
    reads="sftui.trainers.unsloth.options",
    writes="sftui.trainers.unsloth.options",
    claims=claimed,
)
