"""What the scripts of `test_parity_capture.py` share: a tokenizer, rows, and the smallest Llama with random weights."""

import json
import sys

import torch
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

TINY = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}


def model(tokenizer):
    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=len(tokenizer), num_key_value_heads=2, max_position_embeddings=4096, **TINY)
    return LlamaForCausalLM(config)


def tokenizer(folder):
    return AutoTokenizer.from_pretrained(folder)


def rows(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


if __name__ == "__main__":  # a folder with both, for trainers that load their model by name
    source, folder = sys.argv[1:]
    loaded = tokenizer(source)
    loaded.save_pretrained(folder)
    model(loaded).save_pretrained(folder)
