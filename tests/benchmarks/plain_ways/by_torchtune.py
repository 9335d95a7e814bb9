"""CONFIG… OUT: torchtune's own dataset, every item once, as its recipes ask for them while they train.

torchtune prepares rows as it trains and writes nothing, so OUT is not written.
"""

import json
import os
import sys

os.environ.update(HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="")
import torch
from omegaconf import OmegaConf
from torchtune import config as components

*configs, _ = sys.argv[1:]
spent: list[float] = []
torch.set_num_threads(1)


def prepare(config: str) -> None:
    given = OmegaConf.load(config)
    tokenizer = components.instantiate(given.tokenizer)
    dataset = components.instantiate(given.dataset, tokenizer)
    for number in range(len(dataset)):
        dataset[number]


for config in configs:
    begun = sum(os.times()[:4])
    prepare(config)
    spent.append(sum(os.times()[:4]) - begun)
print(json.dumps(spent))
