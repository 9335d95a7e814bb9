"""CONFIG… OUT: TRL's own preparation, by `SFTTrainer(...)` in TRL's environment, written as parquet."""

import json
import os
import sys
import tempfile

os.environ.update(HF_HUB_OFFLINE="1", WANDB_DISABLED="true", TRL_EXPERIMENTAL_SILENCE="1")
import torch
import yaml
from datasets import load_dataset
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM
from trl import SFTConfig, SFTTrainer

*configs, out = sys.argv[1:]
spent: list[float] = []
torch.set_num_threads(1)


def prepare(path: str) -> None:
    with open(path, encoding="utf-8") as file:
        config = yaml.safe_load(file)
    tokenizer = AutoTokenizer.from_pretrained(config["model_name_or_path"])
    (data,) = config["datasets"]
    rows = load_dataset(data["path"], data_files=data["data_files"], split=data["split"])
    tiny = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1
    )
    named = {name: config[name] for name in ("max_length", "report_to", "bf16", "use_cpu")}
    with tempfile.TemporaryDirectory() as work:
        asked = SFTConfig(output_dir=work, **named)
        trainer = SFTTrainer(model=LlamaForCausalLM(tiny), processing_class=tokenizer, train_dataset=rows, args=asked)
        trainer.train_dataset.to_parquet(out)


for config in configs:
    begun = sum(os.times()[:4])
    prepare(config)
    spent.append(sum(os.times()[:4]) - begun)
print(json.dumps(spent))
