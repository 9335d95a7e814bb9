"""TRL: its formats, masks, packing, training templates and config."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from sftui.recipe import Own, knob
from sftui.trainers.traits import Changes, Finds, Packing, Quirk, Traits, own_keys


@dataclass(frozen=True, slots=True)
class SftOptions(Own):
    """Keys of SFTConfig without an equal elsewhere (trl 1.16.0, trl/trainer/sft_config.py)."""

    completion_only_loss: bool | None = knob(None, "with generation tags or markers: whether prompts are masked too")
    dataset_text_field: str | None = knob(None, "the plain-text column; null: `text`")
    loss_type: str | None = knob(
        None, "KTO's loss; null: kto", choices={"apo_zero_unpaired": "answers need no KL partners"}
    )


@dataclass(frozen=True, slots=True)
class TrlOptions(SftOptions):
    """Those that unsloth_zoo's preparation, which takes the place of TRL's, does not read."""

    shuffle_dataset: bool = knob(False, "rows are shuffled before packing, and packs again afterwards")
    seed: int | None = knob(42, "the shuffle seed; null: a new one each run")


OBJECTIVES = {
    "dpo": "sftui.trainers.trl.preference:TrlDpo",
    "kto": "sftui.trainers.trl.preference:TrlKto",
    "reward": "sftui.trainers.trl.preference:TrlReward",
    **dict.fromkeys(("orpo", "cpo"), "sftui.trainers.trl.odds:TrlOdds"),
}
BEST_FIT: Changes = (("pack.strategy", "bfd"), ("pack.isolate", True), ("batch.flatten", True))
"""packing_strategy: bfd, whose collator is told padding_free (trl 1.16.0, sft_trainer.py)."""


TRAITS = Traits(
    name="trl",
    title="TRL",
    about="TRL's SFTTrainer, configured by SFTConfig",
    home="sftui.trainers.trl.trainer:Trl",
    versions=("1.16", "1.14", "1.8"),
    first=(1, 0),
    finds=Finds.TAGS,
    averages="step",  # num_items_in_batch (trl 1.16.0, trainer/sft_trainer.py compute_loss)
    rules={"assistant": "generation_tag", "completion": "completion"},
    packing=Packing(
        usual="bfd",
        separates=("bfd", "bfd_split"),
        separates_by="positions",
        separate=BEST_FIT,
        whole=BEST_FIT,
        places="sftui.trainers.trl.packing:places",
        groups_hold_dropped=True,  # rows of no ids, which packing leaves out (data_utils.py)
    ),
    training_arguments=(99,),
    quirks=(Quirk.READS_MASK_COLUMNS, Quirk.ENDS_TEXTS_ALONE),
    config="sftui.trainers.trl.config",
    claims=partial(own_keys, __file__),
)
