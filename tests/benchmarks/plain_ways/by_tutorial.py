"""DATA… TOKENIZER OUT: the data preparation of the usual tutorial, on `datasets.map`, written as parquet.

Two renders and two tokenizer calls a row, and the labels of the prompt masked in Python.
"""

import sys

from datasets import load_dataset
from timed import say_each
from transformers import AutoTokenizer

IGNORE = -100
*files, folder, out = sys.argv[1:]
tokenizer = AutoTokenizer.from_pretrained(folder)


def prepare(row):  # type: ignore[no-untyped-def] # as a tutorial has it
    messages = row.get("messages")
    if messages is None:
        messages = [{"role": "user", "content": row["prompt"]}, {"role": "assistant", "content": row["completion"]}]
    tools = row.get("tools")
    full = tokenizer.apply_chat_template(messages, tools=tools, tokenize=False)
    prompt = tokenizer.apply_chat_template(messages[:-1], tools=tools, tokenize=False, add_generation_prompt=True)
    input_ids = tokenizer(full, add_special_tokens=False)["input_ids"]
    prompt_ids = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    labels = list(input_ids)
    for i in range(min(len(prompt_ids), len(labels))):
        labels[i] = IGNORE
    return {"input_ids": input_ids, "labels": labels, "attention_mask": [1] * len(input_ids)}


def whole(data: str) -> None:
    rows = load_dataset("json", data_files=data, split="train")
    rows.map(prepare, remove_columns=rows.column_names, load_from_cache_file=False).to_parquet(out)


say_each(whole, files)
