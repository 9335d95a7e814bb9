"""CONFIG… OUT: Axolotl's own preparation, as `axolotl preprocess` calls it in its environment, written as parquet.

Not its own saving (`save_preprocessed_dataset`), which starts a manager process: parquet is written instead.
"""

import os
import sys

os.environ.update(
    HF_HUB_OFFLINE="1",
    AXOLOTL_DO_NOT_TRACK="1",
    AXOLOTL_IS_PREPROCESS="1",
    AXOLOTL_LOG_LEVEL="WARNING",
    LOG_LEVEL="ERROR",
    TRL_EXPERIMENTAL_SILENCE="1",
    ACCELERATE_USE_CPU="1",
    CUDA_VISIBLE_DEVICES="",
)
import axolotl.utils.data.sft as sft
import torch
from axolotl.cli.args import PreprocessCliArgs
from axolotl.cli.config import load_cfg
from axolotl.common.datasets import load_datasets
from timed import say_each

*configs, out = sys.argv[1:]
torch.set_num_threads(1)
sft.save_preprocessed_dataset = lambda *_, **__: None


def prepare(config: str) -> None:
    cfg = load_cfg(config, is_preprocess=True)
    cfg.is_preprocess, cfg.dataset_num_proc = True, None  # in this process, not in a spawned one
    load_datasets(cfg=cfg, cli_args=PreprocessCliArgs(debug_num_examples=0)).train_dataset.to_parquet(out)


say_each(prepare, configs)
