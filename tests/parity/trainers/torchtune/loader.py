"""What torchtune's own loader makes of configs: OmegaConf, `config.validate`, and the fine-tuning recipes' tokenizer,
dataset and collator, instantiated. Model files and data are stand-ins, so only the config decides; `reads` counts
what a recipe asks of its config. See open_common.py for what goes in and out.
"""

import ast
import inspect
import json
import os
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from unittest.mock import MagicMock

import open_common


def stub(*names):
    for name in names:
        sys.modules[name] = MagicMock(__spec__=ModuleSpec(name, None), __path__=[])


stub("bitsandbytes", "bitsandbytes.optim")
stub(*(f"torchvision{one}" for one in ("", ".transforms", ".transforms.v2", ".transforms.v2.functional")))
import torchao.dtypes
import torchao.quantization as quantization

stub(*(f"torchao.quantization.quantize_{one}" for one in ("", ".workflows", ".workflows.nf4")))
stub("torchao.quantization.quantize_.workflows.nf4.nf4_tensor")
quantization.__getattr__ = lambda name: getattr(torchao.dtypes, name, quantization)

import datasets
import torch
import torchtune
import torchtune.config as configs
import torchtune.datasets
import torchtune.training
from omegaconf import ListConfig, OmegaConf

tokenizer_files = open_common.runner("torchtune").tokenizer_files
from torchtune._recipe_registry import get_all_recipes
from torchtune.config._utils import _get_component_from_path
from torchtune.models.llama3._tokenizer import LLAMA3_SPECIAL_TOKENS

RUN, FILES, STAND_IN = None, {}, {}
real = datasets.load_dataset
LOADERS = ("json", "csv", "parquet", "text", "arrow")
FIELDS = {
    name: set(
        inspect.signature(
            getattr(__import__(f"datasets.packaged_modules.{name}.{name}", fromlist=["x"]), kind)
        ).parameters
    )
    for name, kind in (
        ("json", "JsonConfig"),
        ("csv", "CsvConfig"),
        ("parquet", "ParquetConfig"),
        ("text", "TextConfig"),
    )
}
FIELDS["arrow"] = {"name", "version", "data_dir", "data_files", "description", "features"}
ASKED = set(inspect.signature(real).parameters)


def stand_in(source, **given):
    """`load_dataset` on a file of two rows with the columns that anything here reads; what was asked is noted.

    A source on the Hub is of an unknown kind, so a keyword is taken there that any kind of file takes. What is no name
    stops as there (datasets/load.py, dataset_module_factory; no split gives a mapping, which no dataset can index).
    """
    RUN.asks.append({"path": source, **given})
    [part for part in os.fspath(source).split("/") if part][-1]
    split, rows = given.get("split"), datasets.Dataset.from_list([STAND_IN] * 2)
    if split is None:
        return datasets.DatasetDict({"train": rows})
    if not isinstance(split, str):
        raise ValueError(f"Unknown split {split}")
    datasets.Split(split)
    kinds = FIELDS.values() if source not in FIELDS else [FIELDS[source]]
    for name in given:
        if name not in ASKED and name != "trust_remote_code" and not any(name in one for one in kinds):
            raise ValueError(f"BuilderConfig of {source} doesn't have a {name!r} key.")
    return rows


def row_for(entry):
    """A row that a dataset's component can read."""
    turns = [("user", "a"), ("assistant", "b")]
    messages = [{"role": role, "content": text} for role, text in turns]
    sharegpt = [{"from": {"user": "human"}.get(role, "gpt"), "value": text} for role, text in turns]
    names = [
        "instruction",
        "input",
        "output",
        "text",
        "dialogue",
        "summary",
        "source",
        "target",
        "prompt",
        "completion",
    ]
    row = {
        **dict.fromkeys(names, "one two"),
        "question": "one",
        "answer": "two #### 2",
        "messages": messages,
        "conversations": sharegpt,
    }
    columns = entry.get("column_map")
    row.update({str(one): "one two" for one in columns.values()} if isinstance(columns, dict) else {})
    if isinstance(entry.get("column"), str):
        row[entry["column"]] = "one two"
    if isinstance(entry.get("conversation_column"), str):
        row[entry["conversation_column"]] = messages if entry.get("conversation_style") == "openai" else sharegpt
    return row


for module in ("_sft", "_text_completion", "_preference"):
    sys.modules[f"torchtune.datasets.{module}"].load_dataset = stand_in


class Pieces:
    """A stand-in for sentencepiece's processor: characters for pieces."""

    def load(self, path):
        open(path).close()

    bos_id, eos_id, pad_id, vocab_size = (lambda self: 1), (lambda self: 2), (lambda self: -1), (lambda self: 32000)

    def encode(self, text, **given):
        return [3 + ord(one) % 1000 for one in text]


torchtune.modules.transforms.tokenizers._sentencepiece.SentencePieceProcessor = Pieces


def files_of(component):
    """The arguments that stand for the model's files: Qwen's vocabulary, Llama 3's ranks, or any file."""
    kind = (
        "llama3"
        if "llama3" in component or "llama4" in component
        else "qwen2"
        if "qwen" in component or "phi4" in component
        else "pieces"
    )
    if kind not in FILES:
        folder = Path(os.environ["OPEN_WORK"]) / kind
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("tokenizer.json", "tokenizer_config.json"):
            (folder / name).write_bytes((Path(os.environ["STAND_IN_TOKENIZER"]) / name).read_bytes())
        if kind == "llama3":  # its builder reads the added tokens alone, and stops where one of its own is missing
            added = [{"content": name, "id": place} for name, place in LLAMA3_SPECIAL_TOKENS.items()]
            (folder / "special.json").write_text(json.dumps({"added_tokens": added}), encoding="utf-8")
        FILES[kind] = {**tokenizer_files(kind if kind != "pieces" else "qwen2", folder), "folder": str(folder)}
    return FILES[kind]


def with_files(block):
    """A tokenizer's block with stand-ins for its files: those that it names, under the same keys."""
    files = files_of(str(block.get("_component_")))
    names = {key: files.get(key) for key in ("path", "merges_file") if block.get(key) is not None}
    for key, theirs in (("vocab_path", "path"), ("merges_path", "merges_file")):
        if block.get(key) is not None:
            names[key] = files.get(theirs)
    for key in ("tokenizer_json_path", "tokenizer_config_json_path"):
        if key in block:
            names[key] = f"{files['folder']}/{key.removesuffix('_json_path').removesuffix('_path')}.json"
    if block.get("special_tokens_path"):
        own = Path(files["folder"]) / "special.json"
        names["special_tokens_path"] = str(own if own.exists() else own.with_name("tokenizer.json"))
    return {**block, **names}


def asked_by_recipes():
    """What any recipe reads of its config, as names."""
    found = set()
    folder = Path(torchtune.__file__).parent.parent / "recipes"
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            for holder in ("cfg", "self._cfg", "self.cfg"):
                if isinstance(node, ast.Attribute) and ast.unparse(node.value) == holder:
                    found.add(node.attr)
                called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
                if called and ast.unparse(node.func.value) == holder and node.args:
                    name = node.args[0]
                    found.add(
                        name.value
                        if isinstance(name, ast.Constant)
                        else getattr(torchtune.training, getattr(name, "id", ""), None)
                    )
    return found


ASKED_OF_CONFIG = asked_by_recipes()
RECIPES = {one.name: recipe.name for recipe in get_all_recipes() for one in recipe.configs}
TUNING = ("full_finetune", "lora_finetune", "qat", "knowledge_distillation")


TOLD = (
    *("seed", "epochs", "max_steps_per_epoch", "batch_size", "gradient_accumulation_steps", "clip_grad_norm"),
    *("dtype", "enable_activation_checkpointing", "log_every_n_steps", "output_dir", "optimizer_in_bwd"),
    *("save_every_n_steps", "run_val_every_n_steps", "batch_size_val", "optimizer", "lr_scheduler", "model"),
    "enable_activation_offloading",
)
ASKED_BY_ALL = (
    *("seed", "epochs", "max_steps_per_epoch", "batch_size", "gradient_accumulation_steps", "dtype", "output_dir"),
    *("device", "log_level", "resume_from_checkpoint", "shuffle", "metric_logger", "loss", "model", "checkpointer"),
    *("optimizer", "tokenizer", "dataset"),
)
"""What the fine-tuning recipes take as an attribute: one that is absent stops them."""


def settings_of(cfg, recipe):
    """What a recipe does by the config, its components built with a parameter of a stand-in."""
    for name in (*ASKED_BY_ALL, *(["lr_scheduler"] if "lora" in str(cfg.model._component_) else [])):
        if name not in cfg:
            raise AttributeError(f"Missing key {name}")
    told = {name: OmegaConf.to_container(OmegaConf.create({"x": cfg.get(name)}), resolve=True)["x"] for name in TOLD}
    component = cfg.optimizer._component_
    parameter = torch.nn.Parameter(torch.zeros(1))
    if component.startswith("torch.optim."):
        block = OmegaConf.to_container(cfg.optimizer, resolve=True)
        made = configs.instantiate(OmegaConf.create(block), [parameter])
        told["optimizer"] = {**block, **made.defaults}
    if told["lr_scheduler"]:
        scheduler = _get_component_from_path(told["lr_scheduler"]["_component_"])
        names = inspect.signature(scheduler).parameters.values()
        defaults = {one.name: one.default for one in names if one.default is not inspect.Parameter.empty}
        told["lr_scheduler"] = {**defaults, **told["lr_scheduler"]}
        left = set(told["lr_scheduler"]) - {one.name for one in inspect.signature(scheduler).parameters.values()}
        if left != {"_component_"}:
            raise TypeError(f"{told['lr_scheduler']['_component_']}() got an unexpected keyword argument {left}")
        needed = {"num_warmup_steps"} - set(told["lr_scheduler"])
        if needed:
            raise TypeError(f"{told['lr_scheduler']['_component_']}() missing argument: {needed}")
    builder = _get_component_from_path(cfg.model._component_)
    names = inspect.signature(builder).parameters
    left = [name for name in cfg.model if name != "_component_" and name not in names]
    if left and not any(one.kind is one.VAR_KEYWORD for one in names.values()):
        raise TypeError(f"{cfg.model._component_}() got an unexpected keyword argument {left[0]!r}")
    defaults = {name: one.default for name, one in names.items() if one.default is not inspect.Parameter.empty}
    asked = [one.name for one in names.values() if one.kind is one.POSITIONAL_OR_KEYWORD and one.name not in defaults]
    absent = [name for name in asked if name not in cfg.model]
    if absent:
        raise TypeError(f"{cfg.model._component_}() missing required argument: {absent[0]!r}")
    told["model"] = {**defaults, **told["model"]}
    return {**told, "recipe": recipe}


def open_one(run):
    global RUN, STAND_IN
    RUN = run
    name = run.path.removeprefix("recipes/configs/").removesuffix(".yaml")
    Path("config.yaml").write_text(run.text, encoding="utf-8")
    cfg = OmegaConf.load("config.yaml")
    run.reads = [key for key in cfg if key in ASKED_OF_CONFIG]
    run.values["recipe"] = RECIPES.get(name)
    OmegaConf.resolve(cfg)
    run.at = "recipe"
    recipe = run.values["recipe"]
    if recipe and (not recipe.startswith(TUNING) or recipe.endswith("_multi_dataset")):
        run.kind = f"recipe {recipe}"
        return
    entries = cfg.get("dataset") if isinstance(cfg.get("dataset"), ListConfig) else [cfg.get("dataset") or {}]
    if any(".multimodal" in str(entry.get("_component_")) for entry in entries):
        run.kind = "images"
    run.at = "validate"
    configs.validate(cfg)
    run.settings = settings_of(cfg, recipe or "")
    run.at = "tokenizer"
    tokenizer = configs.instantiate(OmegaConf.create(with_files(OmegaConf.to_container(cfg.tokenizer, resolve=True))))
    run.values.update(max_seq_len=tokenizer.max_seq_len, batch_size=cfg.batch_size)
    run.at = "dataset"
    for entry in entries:
        if run.kind:
            return
        STAND_IN = row_for(OmegaConf.to_container(entry, resolve=True))
        made = configs.instantiate(entry, tokenizer)
        inner = getattr(made, "ds", made)
        told = getattr(inner, "_message_transform", None)
        marked = {key: getattr(told, key) for key in ("train_on_input", "masking_strategy") if hasattr(told, key)}
        marked.update(add_eos=inner.add_eos) if hasattr(inner, "add_eos") else None
        shown = made[0]
        columns = getattr(told, "column_map", None) or getattr(told, "_column_map", None)
        run.values.setdefault("datasets", []).append(
            {
                "kind": type(inner).__name__,
                "packed": made is not inner or type(made).__name__ == "PackedDataset",
                "split_across_pack": getattr(made, "split_across_pack", None),
                "system": str(getattr(told, "new_system_prompt", None)),
                "columns": columns,
                "trained": [int(one) for one in shown["labels"] if int(one) != -100][:40],
                **marked,
            }
        )
    run.at = "collate"
    named = cfg.get("collate_fn", "torchtune.data.padded_collate_sft")
    if "left_pad_sequence" in named:
        raise RuntimeError("left_pad_sequence collator is only for inference.")
    _get_component_from_path(named)


open_common.answer_all(open_one)
