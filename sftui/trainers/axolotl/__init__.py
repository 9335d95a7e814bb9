"""Axolotl: its dataset types, masks, multipack, templates and config."""

from sftui.trainers.axolotl.own_keys import claimed
from sftui.trainers.traits import Finds, Traits

TRAITS = Traits(
    name="axolotl",
    title="Axolotl",
    about="Axolotl, as its YAML says",
    home="sftui.trainers.axolotl.trainer:Axolotl",
    versions=("0.21", "0.20", "0.19", "0.18"),
    first=(0, 18),
    parses_json_text=True,
    named_keys_only=True,
    flag_by_key=True,
    placed=True,
    finds=Finds.DUMMY,
    assistant_rule="turn_content",
    packing="multipack",
    separates=("multipack",),
    separates_by_numbers=True,
    empty_stop="",  # not the same with and without sample_packing (utils/data/sft.py, utils/trainer.py)
    reads="sftui.trainers.axolotl.config",
    writes="sftui.trainers.axolotl.config_write",
    claims=claimed,
)
