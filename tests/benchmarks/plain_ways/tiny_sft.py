"""TRL's `SFTTrainer` around a model that is next to nothing: what it prepares is all that is wanted of it."""

from typing import Any

from transformers import LlamaConfig, LlamaForCausalLM
from trl import SFTConfig, SFTTrainer


def sft_trainer(tokenizer: Any, rows: Any, work: str, **stated: Any) -> Any:
    """The trainer, which prepares the rows when it is made; `stated` goes into its SFTConfig."""
    tiny = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1
    )
    return SFTTrainer(
        model=LlamaForCausalLM(tiny),
        processing_class=tokenizer,
        train_dataset=rows,
        args=SFTConfig(output_dir=work, report_to="none", bf16=False, use_cpu=True, **stated),
    )
