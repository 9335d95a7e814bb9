"""CONFIG… OUT: TRL's own preparation, by `SFTTrainer(...)` in TRL's environment, written as parquet."""

import os
import sys
import tempfile

os.environ.update(HF_HUB_OFFLINE="1", WANDB_DISABLED="true", TRL_EXPERIMENTAL_SILENCE="1")
import torch
import yaml
from datasets import load_dataset
from timed import say_each
from tiny_sft import sft_trainer
from transformers import AutoTokenizer

*configs, out = sys.argv[1:]
torch.set_num_threads(1)


def prepare(path: str) -> None:
    with open(path, encoding="utf-8") as file:
        config = yaml.safe_load(file)
    tokenizer = AutoTokenizer.from_pretrained(config["model_name_or_path"])
    (data,) = config["datasets"]
    rows = load_dataset(data["path"], data_files=data["data_files"], split=data["split"])
    with tempfile.TemporaryDirectory() as work:
        trainer = sft_trainer(tokenizer, rows, work, max_length=config["max_length"])
        trainer.train_dataset.to_parquet(out)


say_each(prepare, configs)
