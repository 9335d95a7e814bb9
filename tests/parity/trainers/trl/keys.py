"""Which keys TRL reads, asked in its own environment (see `record_keys`)."""

from record_keys import DATACLASSES

SCRIPT = (
    DATACLASSES
    + r"""
from trl import SFTConfig, ModelConfig, ScriptArguments
from trl.scripts import utils
from accelerate.commands.launch import launch_command_parser
# what SFTConfig and its like do not hold goes to `accelerate launch` (trl/cli/commands/training.py)
launch = {action.dest for action in launch_command_parser()._actions}
launch -= {"help", "training_script", "training_script_args"}
config = names(ScriptArguments, SFTConfig, ModelConfig, utils.DatasetMixtureConfig)
known = {"config": config | {"env"}, "launch": (launch | {"accelerate_config"}) - config}
known["dataset"] = names(utils.DatasetConfig)
# argparse puts a default that is text through the type of its argument, and a config's values are defaults
from trl.scripts import sft
known["types"] = {}
for action in sft.make_parser()._actions:
    kind = getattr(action.type, "__name__", "str")
    kind = "none_or_" + kind if "_accept_none" in getattr(action.type, "__qualname__", "") else kind
    if kind.removeprefix("none_or_") in ("int", "float", "loads", "string_to_bool"):
        known["types"].setdefault(kind, set()).add(action.dest)
known["choices"] = {one.dest: set(map(str, one.choices)) for one in launch_command_parser()._actions if one.choices}
"""
)
