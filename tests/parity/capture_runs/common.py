"""What the scripts of `test_parity_capture.py` share: a tokenizer, rows, their collating, and the smallest Llama with
random weights."""

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


def encoded(tokenizer, chats):
    """The ids of each chat, and its labels: what stands before the last answer is masked, as the tutorials do."""

    def ids_of(messages, **options):
        text = tokenizer.apply_chat_template(messages, tokenize=False, **options)
        return tokenizer(text, add_special_tokens=False)["input_ids"]

    whole = [ids_of(chat["messages"]) for chat in chats]
    prompts = [len(ids_of(chat["messages"][:-1], add_generation_prompt=True)) for chat in chats]
    return whole, [[-100] * start + ids[start:] for ids, start in zip(whole, prompts)]


def padded(tokenizer, whole, labels):
    """A batch of ids, labels and attention mask."""
    longest, pad = max(map(len, whole)), tokenizer.pad_token_id
    return {
        "input_ids": torch.tensor([ids + [pad] * (longest - len(ids)) for ids in whole]),
        "labels": torch.tensor([own + [-100] * (longest - len(own)) for own in labels]),
        "attention_mask": torch.tensor([[1] * len(ids) + [0] * (longest - len(ids)) for ids in whole]),
    }


if __name__ == "__main__":  # a folder with both, for trainers that load their model by name
    source, folder = sys.argv[1:]
    loaded = tokenizer(source)
    loaded.save_pretrained(folder)
    model(loaded).save_pretrained(folder)
