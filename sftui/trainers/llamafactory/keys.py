"""The keys of LLaMA-Factory's YAML by what they are to sftui.

Source: llamafactory 0.9.5, hparams/parser.py `_TRAIN_ARGS`, the dataclasses that its train parser takes, of which
known_keys.json holds the names: what is there and not here decides neither rows nor ids nor labels.
"""

from __future__ import annotations

PLAIN = {
    "cutoff_len": "length.max",
    "preprocessing_batch_size": "pack.group",
    "default_system": "render.inject_system",
    "model_name_or_path": "tokenizer.name",
    "model_revision": "tokenizer.revision",
    "per_device_train_batch_size": "batch.size",
}
"""Keys that are one knob each."""

NUMBERS = ("cutoff_len", "preprocessing_batch_size", "per_device_train_batch_size")
"""Those of them that are numbers."""

OPTIONS = (
    "tool_format",
    "max_samples",
    "ignore_pad_token_for_loss",
    "add_tokens",
    "add_special_tokens",
    "val_size",
    "seed",
)
"""Keys that only LLaMA-Factory has; they stand in recipe.own under their own names."""

LISTED = ("add_tokens", "add_special_tokens")
"""Texts with commas, which it splits (hparams/model_args.py)."""

METHODS = ("lora", "oft", "freeze", "full")
"""hparams/finetuning_args.py."""

KWARGS = ("enable_thinking", "preserve_thinking")
"""Keys that stand in render.kwargs."""

TOGETHER = frozenset(
    {
        "template",
        "dataset",
        "dataset_dir",
        "train_on_prompt",
        "mask_history",
        "packing",
        "neat_packing",
        "stage",
        "do_train",
    }
)
"""Keys that are read together with others."""

UNSUPPORTED = {
    "tokenized_path": "where the folder exists, LLaMA-Factory ignores every other data key",
    "streaming": "rows are shuffled in a buffer: sftui shows file order",
    "mix_strategy": "datasets are shown one by one",
    "interleave_probs": "datasets are shown one by one",
    "split_special_tokens": "sftui keeps special tokens whole",
    "new_special_tokens_config": "special tokens added to the tokenizer",
    "use_fast_tokenizer": "sftui loads the fast tokenizer",
    "predict_with_generate": "evaluation data are then prepared without labels",
}
"""Keys about data that sftui does not model, and why, where they are set to something."""
