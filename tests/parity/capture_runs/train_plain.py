"""transformers' Trainer with a collator of one's own: `train_plain.py TOKENIZER ROWS OUT prompt|odd`.

`prompt` masks the prompt of the last answer, as the tutorials do; `odd` trains every third token besides.
"""

import sys

from common import encoded, model, padded, rows, tokenizer
from transformers import Trainer, TrainingArguments

folder, data, out, how = sys.argv[1:]
loaded = tokenizer(folder)


class Collator:
    """Renders, tokenizes, masks and pads the rows of a batch."""

    tokenizer = loaded

    def __call__(self, chats):
        whole, labels = encoded(loaded, chats)
        if how == "odd":
            for ids, own in zip(whole, labels):
                own[::3] = ids[::3]
        return padded(loaded, whole, labels)


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
