"""transformers' Trainer with a collator of one's own: `train_plain.py TOKENIZER ROWS OUT prompt|odd`.

`prompt` masks the prompt of the last answer, as the tutorials do; `odd` trains every third token besides.
"""

import sys

import torch
from common import model, rows, tokenizer
from transformers import Trainer, TrainingArguments

folder, data, out, how = sys.argv[1:]
loaded = tokenizer(folder)


def ids_of(messages, **options):
    text = loaded.apply_chat_template(messages, tokenize=False, **options)
    return loaded(text, add_special_tokens=False)["input_ids"]


class Collator:
    """Renders, tokenizes, masks and pads the rows of a batch."""

    tokenizer = loaded

    def __call__(self, chats):
        whole = [ids_of(chat["messages"]) for chat in chats]
        prompts = [len(ids_of(chat["messages"][:-1], add_generation_prompt=True)) for chat in chats]
        longest = max(map(len, whole))
        pad = loaded.pad_token_id
        labels = [[-100] * start + ids[start:] for ids, start in zip(whole, prompts)]
        if how == "odd":
            for ids, own in zip(whole, labels):
                own[::3] = ids[::3]
        return {
            "input_ids": torch.tensor([ids + [pad] * (longest - len(ids)) for ids in whole]),
            "labels": torch.tensor([own + [-100] * (longest - len(own)) for own in labels]),
            "attention_mask": torch.tensor([[1] * len(ids) + [0] * (longest - len(ids)) for ids in whole]),
        }


Trainer(
    model=model(loaded),
    args=TrainingArguments(
        output_dir=out,
        report_to="none",
        use_cpu=True,
        per_device_train_batch_size=3,
        remove_unused_columns=False,
        max_steps=1 if how == "step" else -1,
    ),
    train_dataset=rows(data),
    data_collator=Collator(),
).train()
