"""Unsloth's preparation and response masking on TRL's SFTTrainer, as its compiled trainer has them.

`unsloth` itself needs a GPU to import; what it does to data is in `unsloth_zoo`, which takes the place of TRL's own
method here. On CPU TRL 1.15 cannot call the model where triton is installed: its batches are taken with --no-model.
"""

import os
import sys

os.environ.update(UNSLOTH_ZOO_DISABLE_GPU_INIT="1", UNSLOTH_ALLOW_CPU="1")
import trl.data_utils
import unsloth_zoo.dataset_utils as zoo
from common import model, tokenizer
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

folder, data, out = sys.argv[1:]
loaded = tokenizer(folder)
loaded.padding_side = "right"  # as unsloth's compiled trainer sets it (unsloth, models/rl.py)
zoo.pack_dataset = trl.data_utils.pack_dataset
SFTTrainer._unsloth_assistant_mask_fallback = False
SFTTrainer._prepare_dataset = zoo.sft_prepare_dataset
dataset = load_dataset("json", data_files=data, split="train").map(
    lambda some: {"text": [loaded.apply_chat_template(one, tokenize=False) for one in some["messages"]]}, batched=True
)
trainer = SFTTrainer(
    model=model(loaded),
    processing_class=loaded,
    train_dataset=dataset,
    args=SFTConfig(
        output_dir=out,
        report_to="none",
        bf16=False,
        use_cpu=True,
        dataset_num_proc=1,
        dataset_text_field="text",
        per_device_train_batch_size=2,
    ),
)
zoo.train_on_responses_only(
    trainer, instruction_part="<|im_start|>user\n", response_part="<|im_start|>assistant\n", num_proc=1
).train()
