"""A loop of a user's own, over the stand-in for torch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sftui.capture import CapturedRun, RunOutcome

STUB = Path(__file__).parent / "stub"
LOOP = """
import sys
import torch
from torch.utils.data import DataLoader

ROWS = [[number * 10 + place for place in range(4)] for number in range(1, 13)]

def collate(rows):
    ids = torch.Tensor([list(row) for row in rows])
    return {"input_ids": ids, "labels": torch.Tensor([[-100, *row[1:]] for row in rows])}

class Model(torch.nn.Module):
    def __init__(self):
        self.table = torch.nn.Embedding()
        self.weight = torch.Parameter()
    def forward(self, input_ids=None, labels=None, attention_mask=None, position_ids=None):
        return torch.Given()

class Marked(torch.optim.Optimizer):
    def step(self):
        open(sys.argv[1], "a").write("step\\n")

loader = DataLoader(ROWS, batch_size=2, collate_fn=collate)
model = Model()
optimizer = Marked(model.parameters())
"""
"""A set-up of six batches of two rows; a step writes to the file that the command names."""


Capture = Callable[..., tuple[RunOutcome, CapturedRun, str]]
