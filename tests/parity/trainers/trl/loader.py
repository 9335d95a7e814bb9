"""What TRL's own loader makes of configs: the parser of `trl sft --config`, what it leaves to `accelerate launch`, and
what is asked of `load_dataset`. Devices are taken as there, so only the config decides. See open_common.py.
"""

import dataclasses
import os
import re
from pathlib import Path

os.environ.update(ACCELERATE_USE_CPU="1")
import contextlib
import io

import datasets
import open_common
import transformers
import yaml
from accelerate.commands.launch import launch_command_parser
from trl.cli.accelerate_config import resolve_accelerate_config_argument
from trl.scripts import sft, utils

RUN = None
transformers.TrainingArguments._validate_args = lambda self: None
transformers.training_args.is_torch_tf32_available = lambda: True
VALUES = [
    "max_length",
    "truncation_mode",
    "packing",
    "packing_strategy",
    "padding_free",
    "pad_to_multiple_of",
    "eos_token",
    "pad_token",
    "completion_only_loss",
    "assistant_only_loss",
    "dataset_text_field",
    "chat_template_path",
    "shuffle_dataset",
    "per_device_train_batch_size",
    "eval_packing",
]


def ask(path, name=None, **given):
    RUN.asks.append({"path": path, "name": name, **{key: value for key, value in given.items() if value is not None}})
    rows = datasets.Dataset.from_list([{"text": "one"}, {"text": "two"}] * 5)
    return rows if given.get("split") else datasets.DatasetDict({"train": rows})


datasets.load_dataset = ask


def open_one(run):
    global RUN
    RUN = run
    text = re.sub(r"(?m)^deepspeed:.*$", "", run.text)  # its package and file are none of the config's
    Path("config.yaml").write_text(text, encoding="utf-8")
    run.at = "arguments"
    told = io.StringIO()
    try:
        with contextlib.redirect_stderr(told):
            parser = sft.make_parser()
            names = {action.dest for action in parser._actions} | {"env"}
            launch = {action.dest for action in launch_command_parser()._actions}
            launch -= {"help", "training_script", "training_script_args"}
            script, training, model, mixture, left = parser.parse_args_and_config(
                ["--config", "config.yaml"], return_remaining_strings=True
            )
            given = yaml.safe_load(run.text)
            run.reads = [key for key in given if key in names | launch | {"accelerate_config"}]
            run.at = "launch"
            launch_args = resolve_accelerate_config_argument(left)
            launch_command_parser().parse_args([*launch_args, "sft.py"])
    except SystemExit:
        raise ValueError(told.getvalue().strip().split("\n")[-1]) from None
    run.values = {key: getattr(training, key) for key in VALUES}
    run.values.update(model=model.model_name_or_path, revision=model.model_revision)
    offloads = {"activation_offloading": training.activation_offloading}
    run.settings = {**open_common.of_arguments(training), **offloads, "model": dataclasses.asdict(model)}
    run.at = "model"
    open_common.model_there(model.model_name_or_path)
    run.at = "data"
    if mixture.datasets and script.dataset_name:
        pass
    if mixture.datasets:
        utils.get_dataset(mixture)
    elif script.dataset_name:
        ask(script.dataset_name, name=script.dataset_config, streaming=script.dataset_streaming or None)
        RUN.asks[-1]["split"] = script.dataset_train_split
    else:
        raise ValueError("Either `datasets` or `dataset_name` must be provided.")
    run.values["mixture"] = [dataclasses.asdict(one) for one in mixture.datasets]


open_common.answer_all(open_one)
