"""TRL's SFTTrainer with a formatting function: `train_formatting.py TOKENIZER ROWS OUT`."""

import sys

from common import model, tokenizer
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer


def as_text(row):
    return f"Question: {row['prompt']}\nAnswer: {row['completion']}"


folder, data, out = sys.argv[1:]
loaded = tokenizer(folder)
args = SFTConfig(output_dir=out, report_to="none", bf16=False, use_cpu=True, max_length=24, completion_only_loss=False)
SFTTrainer(
    model=model(loaded),
    processing_class=loaded,
    train_dataset=load_dataset("json", data_files=data, split="train"),
    args=args,
    formatting_func=as_text,
).train()
