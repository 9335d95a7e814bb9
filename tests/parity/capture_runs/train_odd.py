"""A loop of everything that a recorder may trip over: `train_odd.py TOKENIZER ROWS OUT`.

A warm-up, a look at one batch, a teacher with gradients, a loader of tuples, checkpointing of the whole model, a
compiled step, and an optimizer that is given a closure.
"""

import sys

import torch
from common import model, rows, tokenizer
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader

folder, data, out = sys.argv[1:]
loaded = tokenizer(folder)
net, teacher, chats = model(loaded).train(), model(loaded).train(), rows(data)
optimizer = torch.optim.LBFGS(net.parameters(), max_iter=2)


def ids_of(messages, **options):
    text = loaded.apply_chat_template(messages, tokenize=False, **options)
    return loaded(text, add_special_tokens=False)["input_ids"]


def collate(some):
    whole = [ids_of(chat["messages"]) for chat in some]
    prompts = [len(ids_of(chat["messages"][:-1], add_generation_prompt=True)) for chat in some]
    longest, pad = max(map(len, whole)), loaded.pad_token_id
    labels = [[-100] * start + one[start:] + [-100] * (longest - len(one)) for one, start in zip(whole, prompts)]
    attention = torch.tensor([[1] * len(one) + [0] * (longest - len(one)) for one in whole])
    return attention, torch.tensor([one + [pad] * (longest - len(one)) for one in whole]), torch.tensor(labels)


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
