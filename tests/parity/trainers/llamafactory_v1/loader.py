"""What LLaMA-Factory's v1 engine makes of configs: `get_args`, as `USE_V1=1 llamafactory-cli sft FILE` calls it. Models
and rows are left out. See open_common.py.
"""

import os
from dataclasses import asdict, fields
from pathlib import Path

os.environ.update(LLAMAFACTORY_VERBOSITY="ERROR", DISABLE_VERSION_CHECK="1", ACCELERATE_USE_CPU="1", USE_V1="1")

import open_common
from llamafactory.v1.config import arg_parser
from llamafactory.v1.config.data_args import DataArguments
from llamafactory.v1.config.model_args import ModelArguments
from llamafactory.v1.config.training_args import TrainingArguments
from omegaconf import OmegaConf

NAMES = {one.name for kind in (ModelArguments, DataArguments, TrainingArguments) for one in fields(kind)}


def open_one(run):
    Path("config.yaml").write_text(run.text, encoding="utf-8")
    given = OmegaConf.to_container(OmegaConf.load("config.yaml"))
    run.reads = [str(key) for key in given if key in NAMES]
    run.at = "arguments"
    model, data, training, _ = arg_parser.get_args(given)
    if not data.train_dataset:
        raise ValueError("no train_dataset")
    run.kind = "pairs of answers" if "dpo" in run.path else ""
    run.at = "model"
    open_common.model_there(model.model)
    names = ("peft_config", "quant_config")
    run.settings = {**asdict(training), **{name: getattr(model, name) for name in names}}


open_common.answer_all(open_one)
