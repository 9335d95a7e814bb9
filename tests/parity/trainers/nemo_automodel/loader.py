"""What NeMo Automodel's own loader makes of configs: its ConfigNode, and the typed parts that the recipe asks for.
Models, tokenizers, devices and data are left out. See open_common.py.
"""

import importlib.machinery
import importlib.util
import sys
from dataclasses import asdict, is_dataclass
from pathlib import Path
from unittest.mock import MagicMock

import open_common
import torch
from nemo_automodel.components.config._arg_parser import parse_args_and_load_config
from nemo_automodel.recipes._typed_config import RecipeConfig


class Absent:
    """Stands for packages that only training asks for, where this environment has none of them."""

    roots = tuple(
        name
        for name in ("torchao", "transformer_engine", "flashoptim", "dion", "bitsandbytes", "mamba_ssm", "deep_ep")
        if importlib.util.find_spec(name) is None
    )

    def find_spec(self, name, path=None, target=None):
        held = name.partition(".")[0] in self.roots
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if held else None

    def create_module(self, spec):
        return MagicMock(__spec__=spec, __path__=[], __name__=spec.name)

    def exec_module(self, module):
        pass


sys.meta_path.append(Absent())

TRAINS = ("TrainFinetuneRecipeForNextTokenPrediction",)


def plain_of(value):
    """A part as a mapping of values that JSON has words for."""
    if is_dataclass(value):
        value = asdict(value)
    return {
        str(key): one if isinstance(one, (int, float, str, list, type(None))) else str(one)
        for key, one in value.items()
    }


def open_one(run):
    path = Path("automodel.yaml")
    path.write_text(run.text, encoding="utf-8")
    run.at = "load"
    raw = parse_args_and_load_config(argv=["--config", str(path)])
    recipe = raw.get("recipe", None)
    name = str(recipe.get("_target_", "") if hasattr(recipe, "get") else recipe).rpartition(".")[2]
    if recipe is not None and name not in TRAINS:
        run.kind = f"recipe {name}"
        return
    run.at = "typed"
    typed = RecipeConfig(raw)
    scheduler = typed.step_scheduler
    optimizer = typed.optimizer
    if optimizer is None:
        raise AttributeError("optimizer: 'NoneType' object has no attribute 'build'")
    run.at = "model"
    open_common.model_there(raw.get("model.pretrained_model_name_or_path", ""))
    run.at = "optimizer"
    made = optimizer.build(torch.nn.Linear(2, 2))[0]
    run.at = "schedule"
    schedule = typed.lr_scheduler
    peft = raw.get("peft", None)
    local = raw.get("step_scheduler.local_batch_size", 1)
    if scheduler.global_batch_size % local:
        raise ValueError(f"global_batch_size ({scheduler.global_batch_size}) must be divisible by {local}")
    told = {
        "scheduler": {**asdict(scheduler), "local_batch_size": local},
        "optimizer": {"class": f"{type(made).__module__}.{type(made).__name__}", **plain_of(made.defaults)},
        "lr_scheduler": asdict(schedule) if schedule is not None else None,
        "peft": plain_of(peft.instantiate()) if peft is not None else None,
        "seed": raw.get("seed", 42),
        "max_grad_norm": raw.get("clip_grad_norm.max_norm", None) or 1.0,
        "checkpoint": {
            k: str(v)
            for k, v in asdict(typed.checkpoint).items()
            if k in ("enabled", "checkpoint_dir", "max_recent_checkpoints")
        },
        "activation_checkpointing": raw.get("distributed.activation_checkpointing", False),
        "torch_dtype": str(raw.get("model.torch_dtype", raw.get("model.dtype", "auto"))),
        "quantization": bool(raw.get("quantization", None)),
        "validation": bool(raw.get("validation_dataset", None)),
    }
    if schedule is not None:
        told["warmup"] = [
            schedule.lr_warmup_steps if schedule.lr_warmup_steps is not None else min(1000, total // 10)
            for total in open_common.TOTALS
        ]
    run.settings = told
    run.values = {"local_batch_size": local, "global_batch_size": scheduler.global_batch_size}


open_common.answer_all(open_one)
