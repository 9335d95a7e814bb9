"""Which keys verl reads, asked in its own environment (see `record_keys`)."""

SCRIPT = r"""
from pathlib import Path
stub("verl.workers.engine_workers", "ray")
import verl.trainer.config as own
import verl.trainer.sft_trainer as trainer
import verl.utils.dataset.multiturn_sft_dataset as rows
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
def leaves(value, under=""):
    for key, one in value.items():
        if isinstance(one, dict) and one:
            yield from leaves(one, f"{under}{key}.")
        else:
            yield f"{under}{key}"
with initialize_config_dir(str(Path(own.__file__).parent), version_base=None):
    config = OmegaConf.to_container(compose("sft_trainer_engine"))
asked = {
    f"data.{node.args[0].value}"
    for module, holder in ((rows, "config"), (trainer, "config.data"))
    for node in ast.walk(ast.parse(Path(module.__file__).read_text(encoding="utf-8")))
    if asked_of(holder, node)
}
known = {"config": set(leaves(config)) | asked}
"""
