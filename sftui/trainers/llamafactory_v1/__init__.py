"""LLaMA-Factory's v1 engine (USE_V1=1), which shares neither its config nor its labels with the engine of 0.9."""

from sftui.trainers.llamafactory_v1.own_keys import claimed
from sftui.trainers.traits import Finds, Traits

TRAITS = Traits(
    name="llamafactory-v1",
    title="LLaMA-Factory v1",
    about="LLaMA-Factory's v1 engine (USE_V1), as its YAML says",
    home="sftui.trainers.llamafactory_v1.trainer:LlamaFactoryV1",
    versions=("0.9.6",),
    first=(0, 9, 6),
    package="llamafactory",
    named_keys_only=True,
    renders_without_template=True,  # ChatML stands in for a template that is missing
    finds=Finds.PROMPTS,
    assistant_rule="completion",
    completion_rule="completion",
    data_file="dataset_info.yaml",
    empty_stop="",  # it drops while it fills batches, and then trains on none
    reads="sftui.trainers.llamafactory_v1.config",
    writes="sftui.trainers.llamafactory_v1.config_write",
    claims=claimed,
)
