"""TRL's SFTTrainer with sftui's callback, three steps long: `train_callback.py TOKENIZER ROWS OUT`."""

import sys

from common import model, tokenizer
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

from sftui.hf import CaptureCallback

folder, data, out = sys.argv[1:]
loaded = tokenizer(folder)
SFTTrainer(
    model=model(loaded),
    processing_class=loaded,
    train_dataset=load_dataset("json", data_files=data, split="train"),
    args=SFTConfig(
        output_dir=out, report_to="none", bf16=False, use_cpu=True, max_steps=3, per_device_train_batch_size=4
    ),
    callbacks=[CaptureCallback("batches.parquet", 3)],
).train()
