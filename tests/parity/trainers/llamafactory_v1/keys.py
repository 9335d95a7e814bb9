"""Which keys LLaMA-Factory's v1 engine reads, asked in its own environment (see `record_keys`)."""

from record_keys import DATACLASSES

SCRIPT = (
    DATACLASSES
    + r"""
from llamafactory.v1.config import DataArguments, ModelArguments, SampleArguments, TrainingArguments
known = {"config": names(ModelArguments, DataArguments, TrainingArguments, SampleArguments)}
"""
)
