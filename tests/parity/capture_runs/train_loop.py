"""A loop written by hand, which shifts by hand: `train_loop.py TOKENIZER ROWS OUT`; in several processes it is DDP.

The model gets no labels, and whatever is raised is caught.
"""

import os
import sys

import torch
from common import encoded, model, padded, rows, tokenizer
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


def collate(some):
    return padded(loaded, *encoded(loaded, some))


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
