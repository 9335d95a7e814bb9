"""What LLaMA-Factory's own loader makes of configs: `get_train_args`, the data sets of dataset_info.json, the template
on a stand-in tokenizer and what `load_dataset` is asked for. The environment's devices and optional packages are taken
as there, so only the config decides. See open_common.py for what goes in and out.
"""

import contextlib
import copy
import dataclasses
import os
import sys
from pathlib import Path

os.environ.update(LLAMAFACTORY_VERBOSITY="ERROR", DISABLE_VERSION_CHECK="1", ACCELERATE_USE_CPU="1")
import logging
from importlib.machinery import ModuleSpec
from unittest.mock import MagicMock

import open_common

sys.modules["torchaudio"] = MagicMock(__spec__=ModuleSpec("torchaudio", None))

logging.disable(logging.CRITICAL)

import llamafactory.data.loader as loader
import llamafactory.hparams.parser as parser
import transformers
from llamafactory.data.parser import get_dataset_list
from llamafactory.data.template import TEMPLATES, get_template_and_fix_tokenizer
from omegaconf import OmegaConf

RUN, UNTOUCHED = None, copy.deepcopy(TEMPLATES)
transformers.TrainingArguments._validate_args = lambda self: None
transformers.training_args.is_torch_tf32_available = lambda: True
parser._check_extra_dependencies = lambda *given: None
parser.is_torch_bf16_gpu_available = lambda: True
parser.get_current_device = lambda: "cpu"
parser.ParallelMode = type("Anything", (), {"NOT_DISTRIBUTED": "never", "DISTRIBUTED": None})
parser._set_transformers_logging = lambda: None
NAMES = {one.name for kind in parser._TRAIN_ARGS for one in dataclasses.fields(kind) if one.init}
VALUES = [
    "cutoff_len",
    "template",
    "train_on_prompt",
    "mask_history",
    "packing",
    "neat_packing",
    "val_size",
    "max_samples",
    "tool_format",
    "default_system",
    "enable_thinking",
    "preserve_thinking",
    "ignore_pad_token_for_loss",
    "preprocessing_batch_size",
    "dataset",
    "mix_strategy",
    "streaming",
    "tokenized_path",
    "eval_dataset",
]


TOKENIZER = transformers.AutoTokenizer.from_pretrained(os.environ["STAND_IN_TOKENIZER"])


class Stop(Exception):
    """The rows themselves are not read."""


def ask(path, **given):
    RUN.asks.append({"path": path, **{key: value for key, value in given.items() if value is not None}})
    raise Stop


loader.load_dataset = ask


def open_one(run):
    global RUN
    RUN = run
    info = os.environ.get("DATASET_INFO")
    if info and not Path("data").exists():
        Path("data").symlink_to(info)
    Path("config.yaml").write_text(run.text, encoding="utf-8")
    given = OmegaConf.to_container(OmegaConf.load("config.yaml"))
    run.reads = [str(key) for key in given if key in NAMES]
    run.at = "arguments"
    if given.get("deepspeed"):  # the file and its package are none of the config's
        given = {key: value for key, value in given.items() if key != "deepspeed"}
    model, data, training, tuning, _ = parser.get_train_args(given)
    run.values = {key: getattr(data, key, None) for key in VALUES}
    run.values.update(
        stage=tuning.stage,
        model=model.model_name_or_path,
        batch_size=training.per_device_train_batch_size,
        seed=training.seed,
        do_train=training.do_train,
        add_tokens=model.add_tokens,
        add_special_tokens=model.add_special_tokens,
    )
    if tuning.stage not in ("sft", "pt"):
        run.kind = f"stage: {tuning.stage}"
    elif not training.do_train:
        run.kind = "no training"
    run.settings = {
        **open_common.of_arguments(training),
        "tuning": dataclasses.asdict(tuning),
        "model": {
            name: getattr(model, name) for name in ("quantization_bit", "disable_gradient_checkpointing", "use_unsloth")
        },
    }
    run.at = "model"
    open_common.model_there(model.model_name_or_path)
    run.at = "datasets"
    found = get_dataset_list(data.dataset, data.dataset_dir)
    run.at = "template"
    tokenizer = copy.deepcopy(TOKENIZER)
    TEMPLATES.update(copy.deepcopy(UNTOUCHED))  # a config's default_system is written into the registry
    template = get_template_and_fix_tokenizer(tokenizer, data)
    if tuning.stage == "sft" and training.do_train:  # what is no text in a template stops at the first row
        turns = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
        template.encode_multiturn(tokenizer, turns)
    run.at = "load"
    for one in found:
        if (tuning.stage in ("sft", "pt") and one.ranking) or (
            tuning.stage in ("rm", "dpo", "orpo") and not one.ranking
        ):
            raise ValueError("The dataset is not applicable in the current training stage.")
        run.values.setdefault("entries", []).append({key: value for key, value in vars(one).items()})
        if one.load_from == "file":
            run.asks.append({"path": os.path.join(data.dataset_dir, one.dataset_name)})
            continue
        with contextlib.suppress(Stop):
            loader._load_single_dataset(one, model, data, training)


open_common.answer_all(open_one)
