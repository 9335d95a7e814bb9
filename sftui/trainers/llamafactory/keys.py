"""The keys of LLaMA-Factory's YAML by what they are to sftui.

Source: llamafactory 0.9.5, hparams/parser.py `_TRAIN_ARGS`, the dataclasses that its train parser takes, of which
known_keys.json holds the names: what is there and not here decides neither rows nor ids nor labels.
"""

from __future__ import annotations

LISTED = ("add_tokens", "add_special_tokens")
"""Texts with commas, which it splits (hparams/model_args.py)."""

METHODS = ("lora", "oft", "freeze", "full")
"""hparams/finetuning_args.py."""

NO_KNOB = frozenset({"dataset", "dataset_dir", "do_train"})
"""Keys that say which data is read, and that it is trained on."""

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
