"""LLaMA-Factory's supervised stage, 0.9.5 (the v0 engine)."""

from sftui.trainers.llamafactory.own_keys import claimed
from sftui.trainers.traits import Finds, Traits

TRAITS = Traits(
    name="llamafactory",
    title="LLaMA-Factory",
    about="LLaMA-Factory's stages sft and pt, as its YAML and dataset_info.json say",
    home="sftui.trainers.llamafactory.trainer:LlamaFactory",
    versions=("0.9",),
    first=(0, 9),
    named_keys_only=True,
    reads_tool_calls=False,
    own_roles=("observation", "function", "function_call"),  # each with a slot in its templates
    call_roles=("function",),
    renders_templates=False,
    renders_without_template=True,  # its template `empty`
    thinking_option=True,
    piecewise=True,
    finds=Finds.SLOTS,
    assistant_rule="parts",
    packing="knapsack",
    separates=("neat",),
    separate=(("pack.strategy", "neat"), ("pack.isolate", True)),
    groups_hold_dropped=True,  # it drops and packs in one step, `preprocessing_batch_size` rows at a time
    training_arguments=(5, 6, 1),  # llamafactory 0.9.5, extras/misc.py check_dependencies
    data_file="dataset_info.json",
    empty_stop="RuntimeError: Cannot find valid samples, check `data/README.md` for the data format.",
    reads="sftui.trainers.llamafactory.config",
    writes="sftui.trainers.llamafactory.write",
    claims=claimed,
)
