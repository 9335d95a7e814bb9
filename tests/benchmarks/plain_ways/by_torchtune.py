"""CONFIG… OUT: every batch of torchtune's own data loader once, as its recipes ask for them while they train.

torchtune prepares rows as it trains and writes nothing, so OUT is not written. What a recipe does to a row is: take it
from the dataset, and make tensors of it with the others of its batch (torchtune 0.6.1,
recipes/lora_finetune_single_device.py `_setup_data`, on which this is modelled line by line). `ITEMS=1` in the
environment leaves the loader out: the dataset's items alone, of which no training can be made.
"""

import os
import sys

os.environ.update(HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="")
from functools import partial

import torch
from omegaconf import OmegaConf
from timed import say_each
from torchdata.stateful_dataloader import StatefulDataLoader
from torchdata.stateful_dataloader.sampler import StatefulDistributedSampler
from torchtune import config as components
from torchtune.data import CROSS_ENTROPY_IGNORE_IDX, padded_collate_sft

*configs, _ = sys.argv[1:]
torch.set_num_threads(1)


def prepare(config: str) -> None:
    given = OmegaConf.load(config)
    tokenizer = components.instantiate(given.tokenizer)
    dataset = components.instantiate(given.dataset, tokenizer)
    if os.environ.get("ITEMS"):
        for number in range(len(dataset)):
            dataset[number]
        return
    collate = partial(padded_collate_sft, padding_idx=tokenizer.pad_id, ignore_idx=CROSS_ENTROPY_IGNORE_IDX)
    sampler = StatefulDistributedSampler(dataset, num_replicas=1, rank=0, shuffle=given.shuffle, seed=0)
    for _ in StatefulDataLoader(
        dataset=dataset, batch_size=given.batch_size, sampler=sampler, collate_fn=collate, drop_last=True
    ):
        pass


say_each(prepare, configs)
