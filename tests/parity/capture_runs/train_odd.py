"""A loop of everything that a recorder may trip over: `train_odd.py TOKENIZER ROWS OUT`.

A warm-up, a look at one batch, a teacher with gradients, a loader of tuples, checkpointing of the whole model, a
compiled step, and an optimizer that is given a closure.
"""

import sys

import torch
from common import encoded, model, padded, rows, tokenizer
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader

folder, data, out = sys.argv[1:]
loaded = tokenizer(folder)
net, teacher, chats = model(loaded).train(), model(loaded).train(), rows(data)
optimizer = torch.optim.LBFGS(net.parameters(), max_iter=2)


def collate(some):
    batch = padded(loaded, *encoded(loaded, some))
    return batch["attention_mask"], batch["input_ids"], batch["labels"]


def forward(ids, attention, labels):
    return net(ids, attention_mask=attention, labels=labels).loss


@torch.compile(backend="eager")
def loss_of(ids, attention, labels):
    return checkpoint(forward, ids, attention, labels, use_reentrant=False)


loader = DataLoader(chats, batch_size=2, shuffle=True, collate_fn=collate, num_workers=2, persistent_workers=True)
net(torch.zeros(1, 8, dtype=torch.long))
net(next(iter(loader))[1])
net.load_state_dict(teacher.state_dict())
for attention, ids, labels in loader:
    taught = teacher(ids.flip(1)).logits.detach().mean()

    def closure():
        optimizer.zero_grad()
        loss = loss_of(ids, attention, labels) + taught  # noqa: B023
        loss.backward()
        return loss

    optimizer.step(closure)
