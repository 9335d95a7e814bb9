"""What mlx-lm's own loader makes of configs: `lora.main` with its flags, defaults and file, the optimizer and the
schedule that `train_model` builds of them. No model and no rows are read. See open_common.py.
"""

import sys
from pathlib import Path

import mlx.optimizers as optimizers
import open_common
from mlx_lm import lora
from mlx_lm.tuner.utils import build_schedule

NAMES = (
    *("seed", "iters", "batch_size", "grad_accumulation_steps", "learning_rate", "lr_schedule", "fine_tune_type"),
    *("num_layers", "lora_parameters", "grad_checkpoint", "steps_per_report", "steps_per_eval", "save_every"),
    *("val_batches", "adapter_path", "optimizer", "max_seq_length", "mask_prompt", "model", "data", "train"),
)
CLASSES = {name.lower(): getattr(optimizers, name) for name in ("Adam", "AdamW", "Muon", "SGD", "Adafactor")}


def open_one(run):
    import yaml

    Path("config.yaml").write_text(run.text, encoding="utf-8")
    given = yaml.load(run.text, lora.yaml_loader)
    known = {action.dest for action in lora.build_parser()._actions} | set(lora.CONFIG_DEFAULTS) | {"hf_dataset"}
    run.reads = [key for key in given if key in known]
    found = {}
    lora.run = lambda args, **_: found.update(vars(args))
    sys.argv = ["mlx_lm.lora", "--config", "config.yaml"]
    run.at = "arguments"
    lora.main()
    if not found["train"] and not found["test"]:
        raise ValueError("Must provide at least one of --train or --test")
    run.kind = "" if found["train"] else "no training"
    run.at = "model"
    open_common.model_there(found["model"])
    run.at = "optimizer"
    schedule = build_schedule(found["lr_schedule"]) if found["lr_schedule"] else found["learning_rate"]
    name = found["optimizer"].lower()
    if name not in CLASSES:
        raise ValueError(f"Unsupported optimizer: {name}")
    made = CLASSES[name](learning_rate=schedule, **found["optimizer_config"].get(name, {}))
    for name in ("rank", "scale", "dropout") if found["fine_tune_type"] != "full" else ():
        found["lora_parameters"][name]
    run.at = "run"
    range(1, found["iters"] + 1)
    told = {key: found[key] for key in NAMES}
    told["made"] = {
        key: getattr(made, key)
        for key in ("betas", "eps", "weight_decay", "momentum", "bias_correction")
        if hasattr(made, key)
    }
    run.settings = told
    run.values = {key: found[key] for key in ("max_seq_length", "mask_prompt", "batch_size")}


open_common.answer_all(open_one)
