"""What verl's own loader makes of configs: Hydra composes the trainer's config with a file over it, or with the words
of the command line that a script holds, and its dataclasses check the parts. See open_common.py.
"""

import os
import re
from pathlib import Path

import open_common
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from omegaconf import OmegaConf

run_verl = open_common.runner("verl")
run_verl.setup()
import verl.trainer.config as own
from verl.utils.config import omega_conf_to_dataclass

PLACE = str(Path(own.__file__).parent)


def composed(run):
    """The config: of a YAML by `--config-path` and `--config-name`, of a script by its words."""
    GlobalHydra.instance().clear()
    if run.path.endswith((".yaml", ".yml")):
        place = Path("verl_sft.yaml").resolve()
        place.write_text(run.text, encoding="utf-8")
        with initialize_config_dir(str(place.parent), version_base=None):
            search = [] if "searchpath" in run.text else [f"hydra.searchpath=[file://{PLACE}]"]
            return compose(place.stem, overrides=search)
    with initialize_config_dir(PLACE, version_base=None):
        return compose(run_verl.NAME, overrides=words_of(run.text))


def words_of(text):
    """The overrides in a script, its variables filled in by the shell itself; arguments of the script are `ARG`."""
    import subprocess

    stand_in = Path("bin")
    stand_in.mkdir(exist_ok=True)
    for name in ("torchrun", "python", "python3", "ray", "nvidia-smi", "huggingface-cli", "uv"):
        (stand_in / name).write_text('#!/bin/sh\nfor one in "$@"; do printf "%s\\n" "WORD $one"; done\n')
        (stand_in / name).chmod(0o755)
    Path("run.sh").write_text(re.sub(r"(?m)^set -.*$", "", text), encoding="utf-8")
    env = {"PATH": f"{stand_in.resolve()}:/usr/bin:/bin", "HOME": os.environ.get("HOME", "/root")}
    done = subprocess.run(
        ["bash", "run.sh", "1", "save"], capture_output=True, text=True, env=env, timeout=20, check=False
    )
    said = [line[5:] for line in done.stdout.splitlines() if line.startswith("WORD ")]
    start = max((place for place, word in enumerate(said) if "sft_trainer" in word), default=-1)
    if start < 0:
        raise ValueError(f"no command of verl in the script: {done.stderr[-300:]}")
    return [word for word in said[start + 1 :] if "=" in word and not word.startswith("-")]


def open_one(run):
    run.at = "compose"
    config = composed(run)
    run.at = "resolve"
    for name in ("model", "engine", "optim", "checkpoint", "data", "trainer"):
        missing = OmegaConf.missing_keys(config[name])
        if missing:
            raise ValueError(f"Missing mandatory value: {name}.{sorted(missing)[0]}")
    told = {
        name: OmegaConf.to_container(config[name], resolve=True)
        for name in ("data", "trainer", "optim", "engine", "model")
    }
    run.at = "dataclasses"
    optim = omega_conf_to_dataclass(config.optim)
    omega_conf_to_dataclass(config.engine)
    omega_conf_to_dataclass(config.checkpoint)
    run.values = {key: told["data"].get(key) for key in ("max_length", "train_batch_size", "truncation", "pad_mode")}
    kind = str(config.optim._target_).rpartition(".")[2]
    told["optim"] = {**{k: v for k, v in vars(optim).items() if not k.startswith("_")}, "kind": kind}
    open_common.model_there(told["model"]["path"])
    told["warmup"] = [
        optim.lr_warmup_steps if (optim.lr_warmup_steps or -1) > 0 else int(optim.lr_warmup_steps_ratio * total)
        for total in open_common.TOTALS
    ]
    run.settings = told


open_common.answer_all(open_one)
