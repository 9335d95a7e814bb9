"""CONFIG OUT: torchtune's own dataset, every item once, as its recipes ask for them while they train.

torchtune prepares rows as it trains and writes nothing, so OUT is not written.
"""

import os
import sys

os.environ.update(HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="")
import torch
from omegaconf import OmegaConf
from torchtune import config as components

config, _ = sys.argv[1:]
torch.set_num_threads(1)
given = OmegaConf.load(config)
tokenizer = components.instantiate(given.tokenizer)
dataset = components.instantiate(given.dataset, tokenizer)
for number in range(len(dataset)):
    dataset[number]
