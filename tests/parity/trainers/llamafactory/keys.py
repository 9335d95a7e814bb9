"""Which keys LLaMA-Factory reads, asked in its own environment (see `record_keys`)."""

from record_keys import DATACLASSES

SCRIPT = (
    DATACLASSES
    + r"""
from llamafactory.hparams import parser
known = {"config": names(*parser._TRAIN_ARGS)}
"""
)
