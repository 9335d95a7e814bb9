"""TRL's SFTTrainer: `train_trl.py TOKENIZER ROWS OUT JSON`, the last of them arguments of SFTConfig."""

import json
import sys

from common import model, tokenizer
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

folder, data, out, more = sys.argv[1:]
loaded = tokenizer(folder)
SFTTrainer(
    model=model(loaded),
    processing_class=loaded,
    train_dataset=load_dataset("json", data_files=data, split="train"),
    args=SFTConfig(output_dir=out, report_to="none", bf16=False, use_cpu=True, **json.loads(more)),
).train()
