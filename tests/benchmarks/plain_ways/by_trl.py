"""DATA TOKENIZER OUT: TRL's own preparation, by `SFTTrainer(...)` in TRL's environment, written as parquet."""

import os
import sys
import tempfile

os.environ.update(HF_HUB_OFFLINE="1", WANDB_DISABLED="true", TRL_EXPERIMENTAL_SILENCE="1")
import torch
from datasets import load_dataset
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM
from trl import SFTConfig, SFTTrainer

data, folder, out = sys.argv[1:]
tokenizer = AutoTokenizer.from_pretrained(folder)
torch.set_num_threads(1)
rows = load_dataset("json", data_files=data, split="train")
tiny = LlamaConfig(
    vocab_size=len(tokenizer), hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1
)
with tempfile.TemporaryDirectory() as work:
    config = SFTConfig(
        output_dir=work, report_to="none", bf16=False, use_cpu=True, max_length=None, assistant_only_loss=False
    )
    trainer = SFTTrainer(model=LlamaForCausalLM(tiny), processing_class=tokenizer, train_dataset=rows, args=config)
    trainer.train_dataset.to_parquet(out)
