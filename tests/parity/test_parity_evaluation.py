"""Evaluation sets of configs: what the real trainers make of them, row by row, against `--dataset eval`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from case import home, shared_folder

import sftui

TOKENIZER = shared_folder() / "testdata" / "tokenizers" / "qwen2.5"
VERIFY = Path(sftui.__file__).parent / "trainers" / "verify"
pytestmark = [pytest.mark.parity, pytest.mark.skipif(not TOKENIZER.is_dir(), reason=f"{TOKENIZER} is not here")]
HEAD = """
import json, os, sys
from pathlib import Path
from exchange import put_config, tiny_model
put_config(Path('model'))
"""
TAIL = "print('TOLD ' + json.dumps([[row['input_ids'], row.get('labels')] for row in held]))\n"
AXOLOTL = """
from axolotl.cli.args import PreprocessCliArgs
from axolotl.cli.config import load_cfg
from axolotl.common.datasets import load_datasets
cfg = load_cfg('config.yml', is_preprocess=True)
cfg.is_preprocess, cfg.dataset_num_proc = True, None
held = load_datasets(cfg=cfg, cli_args=PreprocessCliArgs(debug_num_examples=0)).eval_dataset
"""
LLAMAFACTORY = """
sys.path.append(os.environ['RUNNER'])
import run_llamafactory, yaml
run_llamafactory.setup()
from llamafactory.data import get_dataset, get_template_and_fix_tokenizer
from llamafactory.hparams import get_train_args
from llamafactory.model import load_tokenizer
model, data, training, tuning, _ = get_train_args(yaml.safe_load(open('config.yml')))
module = load_tokenizer(model)
template = get_template_and_fix_tokenizer(module['tokenizer'], data)
held = get_dataset(template, model, data, training, stage='sft', **module)['eval_dataset']
"""
TRL = """
import yaml
from datasets import load_dataset
from transformers import AutoTokenizer
from trl import SFTConfig, SFTTrainer
given = yaml.safe_load(open('config.yml'))
split, own = given.pop('dataset_test_split', 'test'), {'model_name_or_path', 'dataset_name'}
data = load_dataset(given['dataset_name'])
args = SFTConfig(**{k: v for k, v in given.items() if k not in own}, output_dir='out', report_to='none', use_cpu=True,
                 bf16=False)
tokenizer = AutoTokenizer.from_pretrained('model')
made = SFTTrainer(tiny_model(len(tokenizer)), args, train_dataset=data['train'], eval_dataset=data[split],
                  processing_class=tokenizer)
held = [{**row, 'labels': None} for row in made.eval_dataset]
"""


def chat(number: int, words: int) -> dict[str, Any]:
    said = " ".join(f"so it goes {n}" for n in range(words))
    return {"messages": [{"role": "user", "content": f"Tell {number}."}, {"role": "assistant", "content": said}]}


def alpaca(number: int, words: int) -> dict[str, Any]:
    asked, answer = (one["content"] for one in chat(number, words)["messages"])
    return {"instruction": asked, "input": "", "output": answer}


LENGTHS = (1, 30, 3, 9, 14, 2, 5, 22)
OWN: dict[str, tuple[str, str, dict[str, Any]]] = {
    "axolotl test_datasets": (
        "axolotl-0.19.0",
        AXOLOTL,
        {
            "base_model": "model",
            "chat_template": "chatml",
            "datasets": [{"path": "train.jsonl", "ds_type": "json", "type": "chat_template"}],
            "test_datasets": [{"path": "held.jsonl", "ds_type": "json", "type": "alpaca"}],
            "sequence_len": 512,
            "eval_sequence_len": 110,
            "sample_packing": True,
            "eval_sample_packing": False,
            "micro_batch_size": 1,
            "gradient_accumulation_steps": 1,
            "num_epochs": 1,
            "learning_rate": 0.0001,
            "optimizer": "adamw_torch",
            "bf16": False,
            "dataset_prepared_path": "prepared",
            "output_dir": "out",
        },
    ),
    "llamafactory eval_dataset": (
        "llamafactory-0.9.5",
        LLAMAFACTORY,
        {
            "model_name_or_path": "model",
            "stage": "sft",
            "do_train": True,
            "finetuning_type": "full",
            "dataset_dir": ".",
            "dataset": "train",
            "eval_dataset": "held",
            "template": "qwen",
            "cutoff_len": 64,
            "output_dir": "out",
            "report_to": "none",
            "use_cpu": True,
            "bf16": False,
        },
    ),
    "trl eval_packing": (
        "trl-1.16.0",
        TRL,
        {
            "model_name_or_path": "model",
            "dataset_name": "data",
            "eval_strategy": "steps",
            "packing": True,
            "eval_packing": False,
            "max_length": 48,
        },
    ),
}


@pytest.mark.parametrize("name", OWN)
def test_an_evaluation_set_is_prepared_as_the_trainer_does(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment, ask, config = OWN[name]
    python = home() / environment / "bin" / "python"
    if not python.exists():
        pytest.skip(f"{python} is not here")
    shutil.copytree(TOKENIZER, tmp_path / "model", copy_function=shutil.copyfile)
    (tmp_path / "model").chmod(0o755)
    (tmp_path / "data").mkdir()
    for place in ("train.jsonl", "data/train.jsonl", "data/test.jsonl"):
        rows = [chat(number, words) for number, words in enumerate(LENGTHS)]
        (tmp_path / place).write_text("".join(json.dumps(row) + "\n" for row in rows))
    held = [alpaca(number, words) for number, words in enumerate(LENGTHS)]
    (tmp_path / "held.jsonl").write_text("".join(json.dumps(row) + "\n" for row in held))
    tags = {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"}
    info = {
        "train": {
            "file_name": "train.jsonl",
            "formatting": "sharegpt",
            "columns": {"messages": "messages"},
            "tags": tags,
        },
        "held": {"file_name": "held.jsonl"},
    }
    (tmp_path / "dataset_info.json").write_text(json.dumps(info))
    (tmp_path / "config.yml").write_text(yaml.safe_dump(config))
    quiet = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "DO_NOT_TRACK": "1",
        "AXOLOTL_DO_NOT_TRACK": "1",
        "PYTHONPATH": str(VERIFY),
        "RUNNER": str(VERIFY.parent / "llamafactory"),
    }
    done = subprocess.run(
        [python, "-c", HEAD + ask + TAIL], capture_output=True, text=True, cwd=tmp_path, env=quiet, check=False
    )
    told = [line for line in done.stdout.splitlines() if line.startswith("TOLD ")]
    assert told, done.stderr[-3000:]
    theirs = json.loads(told[0].removeprefix("TOLD "))
    monkeypatch.chdir(tmp_path)
    with sftui.open(config="config.yml", dataset="eval", tokenizer="model") as opened:
        ours = [
            [list(row["input_ids"]), list(row["labels"])] for row in opened.encode().records() if "input_ids" in row
        ]
    assert len(theirs) > 4
    if theirs[0][1] is None:  # TRL's collator makes the labels
        ours, theirs = [[ids] for ids, _ in ours], [[ids] for ids, _ in theirs]
    assert sorted(ours) == sorted(theirs)
