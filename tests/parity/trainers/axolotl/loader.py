"""What Axolotl's own loader makes of configs: its schema with the plugins', normalize_config, the tokenizer's loader
and the data preparation up to the prompt strategies. Model, tokenizer and data are stand-ins, so only the config
decides. See open_common.py for what goes in and out.
"""

import copy
import logging
import os
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from unittest.mock import MagicMock

import open_common

part = "llmcompressor.transformers.sparsification"
names = ("", ".core", ".core.session_functions", ".recipe", ".transformers", ".modifiers")
for name in (*("llmcompressor" + one for one in names), part, part + ".compressed_tensors_utils"):
    sys.modules[name] = MagicMock(__spec__=ModuleSpec(name, None), __path__=[])
sys.modules["ring_flash_attn"] = MagicMock(__spec__=ModuleSpec("ring_flash_attn", None))

logging.disable(logging.CRITICAL)
os.environ.update(AXOLOTL_DO_NOT_TRACK="1", AXOLOTL_IS_PREPROCESS="1")

import axolotl.loaders.tokenizer as tokenizers
import axolotl.utils.config as configs
import axolotl.utils.data.sft as sft
import axolotl.utils.data.shared as shared
import axolotl.utils.data.wrappers as wrappers
import transformers
import yaml
from axolotl.core.builders.causal import HFCausalTrainerBuilder
from axolotl.core.training_args import AxolotlTrainingArguments
from axolotl.integrations.base import PluginManager
from axolotl.integrations.config import merge_input_args
from axolotl.utils.dict import DictDefault
from datasets import Dataset

TOKENIZER = os.environ["STAND_IN_TOKENIZER"]
CAPABILITIES = {"bf16": True, "fp8": True, "tf32": True, "n_gpu": 1, "compute_capability": "sm_90"}
RUN = None

VALUES = [
    "sequence_len",
    "min_sample_len",
    "micro_batch_size",
    "sample_packing",
    "pad_to_sequence_len",
    "train_on_inputs",
    "val_set_size",
    "seed",
    "excess_length_strategy",
    "chat_template",
    "chat_template_jinja",
    "attn_implementation",
    "curriculum_sampling",
    "eot_tokens",
    "sample_packing_group_size",
    "sample_packing_bin_size",
    "sample_packing_sequentially",
    "multipack_real_batches",
    "tokens",
    "pad_to_multiple_of",
    "shuffle_merged_datasets",
    "dataset_exact_deduplication",
    "special_tokens",
    "added_tokens_overrides",
    "base_model",
    "tokenizer_config",
    "chat_template_kwargs",
    "revision_of_model",
    "tokenizer_type",
    "datasets",
    "pretraining_dataset",
]

# which tokens are new is a matter of the tokenizer, which is none of the config's
tokenizers.get_linear_embedding_layers = lambda kind: []
model_config = transformers.LlamaConfig(hidden_size=8, intermediate_size=8, num_attention_heads=1, num_hidden_layers=1)
configs.is_torch_bf16_gpu_available = lambda: True  # devices are taken as there
configs.load_model_config = tokenizers.load_model_config = lambda cfg: copy.deepcopy(model_config)
shared._check_if_hub_dataset = lambda config, token: not Path(config.path).suffix and "://" not in config.path


def rows_of(path, **asked):
    """A stand-in for load_dataset: 64 rows with the columns that anything here reads, and a note of what was asked."""
    RUN.asks.append({"path": path, **{key: value for key, value in asked.items() if value is not None}})
    columns = {name: ["one", "two"] * 32 for name in ("text", "instruction", "input", "output", "prompt", "completion")}
    data = Dataset.from_dict({**columns, **{name: ["a", "b"] * 32 for name in COLUMNS}})
    return data.to_iterable_dataset() if asked.get("streaming") else data


def load_anything(path, *, split=None, **asked):
    """As rows_of; a set without a split named is a mapping with the split `train`."""
    data = rows_of(path, split=split, **asked)
    return data if split else shared.DatasetDict({"train": data, "test": data})


def from_file(config, kwargs):
    return load_anything(config.path, data_files=config.data_files, **kwargs)


COLUMNS = ()
shared.load_dataset = sft.load_dataset = load_anything
shared._load_from_local_path = shared._load_from_url = shared._load_from_data_files = from_file
# the rows are not tokenized: what the config says is decided once the strategy is there
wrappers._handle_loaded_strategy = lambda strategy, dataset, kwargs: (dataset, None)
wrappers.wrap_dataset_for_tokenized_prompt = lambda strategy, dataset, **kwargs: dataset
sft.handle_long_seq_in_dataset = lambda dataset, length, cfg: dataset
sft.process_datasets_for_packing = lambda cfg, train, evaluation: (train, evaluation)
sft.save_preprocessed_dataset = lambda *given: None
sft.load_preprocessed_dataset = lambda cfg, name: None
sft.try_load_from_hub = lambda cfg, name, split: None


LORA = (
    *("adapter", "lora_r", "lora_alpha", "lora_dropout", "lora_target_modules", "lora_target_linear"),
    *("lora_modules_to_save", "peft_use_dora", "peft_use_rslora", "load_in_4bit", "load_in_8bit"),
    *("loraplus_lr_ratio", "relora", "lora_target_parameters", "lora_layers_to_transform"),
)


def settings_of(cfg):
    """What training does: TrainingArguments as the builder makes them, at two lengths of a run."""
    found = []
    for total in open_common.TOTALS:
        builder = HFCausalTrainerBuilder.__new__(HFCausalTrainerBuilder)
        builder.cfg = cfg
        builder._eval_dataset = ["a row"] if cfg.val_set_size or cfg.test_datasets else None
        builder._configure_reporting = builder._configure_accelerator_config = lambda given: None
        kwargs, own = builder._set_base_training_args(total)
        kwargs["max_steps"] = cfg.max_steps or -1
        kwargs["neftune_noise_alpha"] = cfg.neftune_noise_alpha  # HFCausalTrainerBuilder.build adds it
        for name in ("fsdp", "fsdp_config", "include_tkps", "dataset_num_proc", "tf32", "bf16_full_eval"):
            kwargs.pop(name, None)
        if "optimizer_cls_and_kwargs" in own:
            kwargs["optim"] = "adamw_torch"
        if kwargs.get("torch_compile_mode") is None:
            kwargs.pop("torch_compile_mode", None)
        made = AxolotlTrainingArguments(**kwargs, use_cpu=True)
        found.append({**open_common.of_arguments(made), "optimizer": str(cfg.optimizer)})
        found[-1]["cosine_min_lr_ratio"] = made.cosine_min_lr_ratio
        found[-1]["other_schedule"] = made.alternate_lr_scheduler_type
        found[-1]["warmup"] = found[-1]["warmup"][open_common.TOTALS.index(total)]
    told = {key: one for key, one in found[0].items() if key not in ("warmup", "logging_steps")}
    for key in ("warmup", "logging_steps"):
        told[key] = [one[key] for one in found]
    told.update(bf16=cfg.bf16, seed=cfg.seed, lora={name: cfg[name] for name in LORA})
    offloads = told["activation_offloading"] = cfg.activation_offloading or False
    if offloads not in (False, "hidden_states") and not cfg.adapter:  # ModelLoader wraps the blocks for recomputation
        told["gradient_checkpointing"] = True
    return told


def open_one(run):
    global RUN, COLUMNS
    RUN, COLUMNS = run, ()
    PluginManager._instance = None
    cfg = DictDefault(yaml.safe_load(run.text))
    run.at = "plugins"
    configs.prepare_plugins(cfg)
    fields = merge_input_args()[1].model_fields
    names = set(fields) | {one.alias for one in fields.values() if one.alias}
    run.reads = [str(key) for key in cfg if key in names]
    run.at = "schema"
    torch = {"torch_version": str(configs.torch.__version__).split("+", maxsplit=1)[0]}
    cfg = configs.validate_config(cfg, capabilities=CAPABILITIES, env_capabilities=torch)
    other = {key: cfg[key] for key in ("rl", "reward_model", "process_reward_model") if cfg[key]}
    run.kind = " ".join(f"{key}: {open_common.plain(value)}" for key, value in other.items())
    run.at = "normalize"
    configs.normalize_config(cfg)
    configs.normalize_cfg_datasets(cfg)
    run.values = {key: cfg[key] for key in VALUES if cfg[key] is not None}
    open_common.model_there(cfg.base_model)
    if not run.kind:
        run.at = "arguments"
        run.settings = settings_of(cfg)
    run.at = "tokenizer"
    if cfg.tokenizer_type:
        getattr(transformers, cfg.tokenizer_type)
        cfg.tokenizer_type = None
    cfg.tokenizer_config, cfg.revision_of_model, cfg.tokenizer_use_mistral_common = TOKENIZER, None, False
    cfg.lora_modules_to_save = cfg.lora_modules_to_save or ["lm_head"]
    overrides, cfg.added_tokens_overrides = cfg.added_tokens_overrides, None
    tokenizer = tokenizers.load_tokenizer(cfg)
    cfg.added_tokens_overrides = overrides
    tokenizer.add_tokens([str(one) for one in cfg.eot_tokens or ()], special_tokens=True)
    run.at = "data"
    if any(entry.get("type") is None for entry in cfg.datasets or ()):
        COLUMNS = ("input_ids", "attention_mask", "labels")
    cfg.dataset_num_proc = 1
    if run.kind:
        return
    sft.prepare_datasets.__wrapped__(cfg, tokenizer)


open_common.answer_all(open_one)
