"""What ms-swift's own loader makes of configs: `swift sft FILE` as `swift` makes words of it, or the words in a script,
and SftArguments with what it makes of itself. Model and data are stand-ins. See open_common.py.
"""

import json
import os
import re
import shlex
import sys
from pathlib import Path

os.environ.update(ACCELERATE_USE_CPU="1", USE_HF="1")

import logging

import open_common
import transformers
from exchange import tiny_config

logging.disable(logging.CRITICAL)
transformers.TrainingArguments._validate_args = lambda self: None
transformers.training_args.is_torch_tf32_available = lambda: True

import swift.arguments.base_args.model_args as models
import swift.arguments.sft_args as arguments
from swift.arguments import SftArguments
from swift.arguments.pretrain_args import PretrainArguments
from swift.cli.main import parse_yaml_args
from swift.utils import parse_args

for module in (arguments, models, sys.modules["swift.trainers.arguments"]):
    for name in ("is_liger_available", "is_mp"):
        if hasattr(module, name):
            setattr(module, name, lambda name=name: name != "is_mp")
    if hasattr(module, "require_version"):
        module.require_version = lambda *given: None
sys.modules["swift.trainers.arguments"].TrainArgumentsMixin._init_liger = lambda self: None
arguments.SftArguments._init_deepspeed = arguments.SftArguments._init_fsdp = lambda self: None
arguments.SftArguments._init_device = lambda self: None
COMMAND = re.compile(r"(?:^|[\s;&|])(swift|megatron)\s+(sft|pt)(?=\s|$)|swift/cli/(sft|pt)\.py")
TUNER = (
    *("tuner_type", "lora_rank", "lora_alpha", "lora_dropout", "lora_bias", "use_rslora", "use_dora", "init_weights"),
    *("target_modules", "modules_to_save", "target_regex", "target_parameters", "quant_bits", "quant_method"),
)


def words_of(run):
    """The words behind `swift sft` or `swift pt`, and which of the two."""
    if run.path.endswith((".yaml", ".yml", ".json")):
        path = Path("config" + Path(run.path).suffix)
        path.write_text(run.text, encoding="utf-8")
        words = [str(path)]
        parse_yaml_args(words)
        return words, "sft"
    found = COMMAND.search(run.text)
    if found[1] == "megatron":
        run.kind = "megatron"
        return [], "sft"
    rest = re.sub(r"\\\r?\n", " ", run.text[found.end() :]).split("\n", 1)[0]
    words = shlex.split(re.sub(r"(?<!\S)#.*", "", rest))  # a `#` within a word begins no comment
    ends = [place for place, word in enumerate(words) if word in ("&", "&&", "|", ";", ">", "2>", "2>&1", ">>")]
    return words[: ends[0] if ends else None], found[2] or found[3]


def model_folder(name):
    """A folder of the model's name with a config of no weights."""
    folder = Path("models").resolve() / (name.rstrip("/").rpartition("/")[2] or "model")
    folder.mkdir(parents=True, exist_ok=True)
    config = {"architectures": ["NoModelForCausalLM"], "model_type": "llama", **tiny_config(1000)}
    (folder / "config.json").write_text(json.dumps({**config, "torch_dtype": "bfloat16"}), encoding="utf-8")
    return str(folder)


def open_one(run):
    for name in ("SWIFT_CONFIG_FILE", "TENSORBOARD_LOGGING_DIR"):
        os.environ.pop(name, None)
    run.at = "words"
    words, command = words_of(run)
    if run.kind:
        return
    if "--model" not in words and "--model_id_or_path" not in words:
        raise ValueError("Please set --model <model_id_or_path>")
    place = words.index("--model") + 1
    open_common.model_there(words[place])
    words[place] = model_folder(words[place])
    extra = ["--use_cpu", "true", "--add_version", "false", "--check_model", "false"]
    for flag in ("--attn_impl", "--model_type", "--template", "--packing", "--padding_free", "--deepspeed", "--fsdp"):
        while flag in words:
            at = words.index(flag)
            del words[at : at + 2]
    words += ["--model_type", "qwen2", "--template", "qwen2_5"]
    run.at = "arguments"
    kind = PretrainArguments if command == "pt" else SftArguments
    args, left = parse_args(kind, [*words, *extra])
    if left:
        raise ValueError(f"remaining_argv: {left}")
    run.reads = [word[2:] for word in words if word.startswith("--")]
    training = args.training_args
    run.values = {"max_length": args.max_length, "loss_scale": args.loss_scale}
    run.settings = {
        **open_common.of_arguments(training),
        "optimizer": training.optimizer,
        "output_dir": training.output_dir.removeprefix(f"{os.getcwd()}/"),
        "tuner": {name: getattr(args, name) for name in TUNER},
        "torch_dtype": str(args.torch_dtype) if "--torch_dtype" in words else "auto",
        "eval_rows": bool(args.split_dataset_ratio or args.val_dataset),
    }


open_common.answer_all(open_one)
