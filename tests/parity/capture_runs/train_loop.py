"""A loop written by hand, which shifts by hand: `train_loop.py TOKENIZER ROWS OUT`; in several processes it is DDP.

The model gets no labels, and whatever is raised is caught.
"""

import os
import sys

import torch
from common import model, rows, tokenizer
from torch.utils.data import DataLoader, DistributedSampler

folder, data, out = sys.argv[1:]
loaded = tokenizer(folder)
net = model(loaded)
chats = rows(data)
sampler = None
if "RANK" in os.environ:
    torch.distributed.init_process_group("gloo")
    net = torch.nn.parallel.DistributedDataParallel(net)
    sampler = DistributedSampler(chats, shuffle=True, seed=3)
if "CAPTURE_COMPILE" in os.environ:
    net = torch.compile(net, backend="eager")
optimizer = torch.optim.AdamW(net.parameters())


def ids_of(messages, **options):
    text = loaded.apply_chat_template(messages, tokenize=False, **options)
    return loaded(text, add_special_tokens=False)["input_ids"]


def collate(some):
    whole = [ids_of(chat["messages"]) for chat in some]
    prompts = [len(ids_of(chat["messages"][:-1], add_generation_prompt=True)) for chat in some]
    longest, pad = max(map(len, whole)), loaded.pad_token_id
    ids = torch.tensor([one + [pad] * (longest - len(one)) for one in whole])
    labels = [[-100] * start + one[start:] + [-100] * (longest - len(one)) for one, start in zip(whole, prompts)]
    attention = torch.tensor([[1] * len(one) + [0] * (longest - len(one)) for one in whole])
    return {"input_ids": ids, "labels": torch.tensor(labels), "attention_mask": attention}


loader = DataLoader(chats, batch_size=2, sampler=sampler, shuffle=sampler is None, collate_fn=collate, num_workers=2)
net.train()
for batch in loader:
    try:
        logits = net(batch["input_ids"][:, :-1]).logits
        targets = batch["labels"][:, 1:]
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))
        loss.backward()
        optimizer.step()
    except BaseException as error:  # a framework that goes on whatever happens
        with open(os.environ["CAPTURE_MARKER"], "a", encoding="utf-8") as file:
            file.write(f"caught {error!r}\n")
    finally:
        optimizer.zero_grad()
with open(os.environ["CAPTURE_MARKER"], "a", encoding="utf-8") as file:
    file.write("the end\n")
