"""CONFIG… OUT: Unsloth's own preparation in its environment, written as parquet: the notebooks' script.

As in tests/parity, `unsloth_zoo`'s preparation takes the place of TRL's, as unsloth's compiled trainer does it:
`unsloth` itself needs a GPU to import.
"""

import os
import sys
import tempfile

os.environ.update(
    HF_HUB_OFFLINE="1",
    WANDB_DISABLED="true",
    UNSLOTH_ZOO_DISABLE_GPU_INIT="1",
    UNSLOTH_ALLOW_CPU="1",
    CUDA_VISIBLE_DEVICES="",
)
import torch
import trl.data_utils
import unsloth_zoo.dataset_utils
import yaml
from datasets import load_dataset
from timed import say_each
from tiny_sft import sft_trainer
from transformers import AutoTokenizer
from trl import SFTTrainer
from unsloth_zoo import dataset_utils

*configs, out = sys.argv[1:]
torch.set_num_threads(1)
unsloth_zoo.dataset_utils.pack_dataset = trl.data_utils.pack_dataset
SFTTrainer._unsloth_assistant_mask_fallback = False
SFTTrainer._prepare_dataset = dataset_utils.sft_prepare_dataset


def prepare(config: str) -> None:
    with open(config, encoding="utf-8") as file:
        given = yaml.safe_load(file)
    tokenizer = AutoTokenizer.from_pretrained(given["tokenizer"])
    tokenizer.padding_side = "right"
    rows = load_dataset("json", data_files=given["data"], split="train")
    column = given.get("text_from")

    def render(examples):  # type: ignore[no-untyped-def] # as the notebooks have it
        return {"text": [tokenizer.apply_chat_template(one, tokenize=False) for one in examples[column]]}

    if column is not None:
        rows = rows.map(render, batched=True)
    with tempfile.TemporaryDirectory() as work:
        trainer = sft_trainer(tokenizer, rows, work, max_length=given["max_length"], dataset_num_proc=1)
        if given.get("responses") is not None:
            trainer = dataset_utils.train_on_responses_only(trainer, num_proc=1, **given["responses"])
        trainer.train_dataset.to_parquet(out)


say_each(prepare, configs)
