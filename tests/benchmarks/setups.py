"""What a user gives a trainer for the rows of the benchmarks: its own config, which both it and sftui read.

The config names the data and a copy of the tokenizer with the config of a tiny Llama beside it, so that the trainer
needs no model. `setup` gives None where a trainer has no way for such rows or such a tokenizer.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml
from measure import REPO

sys.path.insert(0, str(REPO))
sys.path.insert(0, str(REPO / "sftui" / "trainers" / "verify"))  # where runners find `exchange`

from sftui.trainers.verify.exchange import tiny_config

tokenizer_files = import_module("sftui.trainers.torchtune.run_torchtune").tokenizer_files
LONG = 8192
"""Longer than any row: nothing is cut or left out."""
LLAMAFACTORY = {"qwen2.5": "qwen", "llama-3-8b-instruct": "llama3", "phi-3-mini": "phi", "minimind": "chatml"}
TORCHTUNE = {
    "qwen2.5": "torchtune.models.qwen2_5.qwen2_5_tokenizer",
    "llama-3-8b-instruct": "torchtune.models.llama3.llama3_tokenizer",
}
TAGS = {
    "role_tag": "role",
    "content_tag": "content",
    "user_tag": "user",
    "assistant_tag": "assistant",
    "system_tag": "system",
    "observation_tag": "tool",
    "function_tag": "function_call",
}


def setup(trainer: str, shape: str, tokenizer: Path, data: Path, folder: Path) -> Path | None:
    """The config of a trainer for the rows in `data`, written into `folder`, which must be there."""
    model = folder / "model"
    if not model.exists():
        shutil.copytree(tokenizer, model)
        model.chmod(0o755)
        named = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", **tiny_config(1000)}
        (model / "config.json").write_text(json.dumps(named), encoding="utf-8")
    config = CONFIGS[trainer](shape, tokenizer.name, model, data, folder)
    if config is None:
        return None
    path = folder / f"{trainer}-{data.stem}.yml"
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    return path


def trl(shape: str, name: str, model: Path, data: Path, folder: Path) -> Mapping[str, Any] | None:
    return {
        "model_name_or_path": str(model),
        "datasets": [{"path": "json", "data_files": str(data), "split": "train"}],
        "max_length": None,
        "report_to": "none",
        "bf16": False,
        "use_cpu": True,
        "output_dir": str(folder / "out"),
    }


def axolotl(shape: str, name: str, model: Path, data: Path, folder: Path) -> Mapping[str, Any] | None:
    by_columns = {
        "field_instruction": "prompt",
        "field_output": "completion",
        "format": "{instruction}\n",
        "no_input_format": "{instruction}\n",
    }
    entry: dict[str, Any] = {"path": str(data), "ds_type": "json", "type": "chat_template"}
    if shape == "pair":
        entry["type"] = by_columns
    return {
        "base_model": str(model),
        "sequence_len": LONG,
        "micro_batch_size": 1,
        "gradient_accumulation_steps": 1,
        "num_epochs": 1,
        "learning_rate": 1e-4,
        "optimizer": "adamw_torch",
        "val_set_size": 0.0,
        "bf16": False,
        "fp16": False,
        "tf32": False,
        "dataset_num_proc": 1,
        "datasets": [entry],
        "dataset_prepared_path": str(folder / "prepared"),
        "output_dir": str(folder / "out"),
        **({"special_tokens": {"pad_token": "<|end_of_text|>"}} if name.startswith("llama") else {}),
    }


def llamafactory(shape: str, name: str, model: Path, data: Path, folder: Path) -> Mapping[str, Any] | None:
    formatted: Mapping[str, Any] = {
        "formatting": "openai",
        "columns": {"messages": "messages", **({"tools": "tools"} if shape == "tools" else {})},
        "tags": TAGS,
    }
    if shape == "pair":
        formatted = {"columns": {"prompt": "prompt", "response": "completion"}}
    info = folder / "dataset_info.json"
    known = json.loads(info.read_text(encoding="utf-8")) if info.exists() else {}
    info.write_text(json.dumps({**known, data.stem: {"file_name": str(data), **formatted}}), encoding="utf-8")
    return {
        "model_name_or_path": str(model),
        "stage": "sft",
        "do_train": True,
        "finetuning_type": "full",
        "template": LLAMAFACTORY[name],
        "cutoff_len": LONG,
        "dataset": data.stem,
        "dataset_dir": str(folder),
        "overwrite_cache": True,
        "output_dir": str(folder / "out"),
        "report_to": "none",
        "use_cpu": True,
        "bf16": False,
        "fp16": False,
    }


def torchtune(shape: str, name: str, model: Path, data: Path, folder: Path) -> Mapping[str, Any] | None:
    component = TORCHTUNE.get(name)
    if component is None or shape == "tools":
        return None
    chat = {
        "_component_": "torchtune.datasets.chat_dataset",
        "conversation_column": "messages",
        "conversation_style": "openai",
    }
    pair = {
        "_component_": "torchtune.datasets.instruct_dataset",
        "column_map": {"input": "prompt", "output": "completion"},
    }
    return {
        "tokenizer": {"_component_": component, **tokenizer_files(component, model)},
        "dataset": {
            **(pair if shape == "pair" else chat),
            "source": "json",
            "data_files": str(data),
            "split": "train",
        },
        "shuffle": True,  # both as in nearly all of the configs that torchtune brings
        "batch_size": 2,
    }


def unsloth(shape: str, name: str, model: Path, data: Path, folder: Path) -> Mapping[str, Any] | None:
    base = {"tokenizer": str(model), "data": str(data), "max_length": LONG}
    if shape == "pair":
        return base
    return {**base, "text_from": "messages", "responses": {}}


CONFIGS: Mapping[str, Callable[[str, str, Path, Path, Path], Mapping[str, Any] | None]] = {
    "trl": trl,
    "axolotl": axolotl,
    "llamafactory": llamafactory,
    "torchtune": torchtune,
    "unsloth": unsloth,
}
