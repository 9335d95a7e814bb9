"""NeMo Automodel in the fuzzer: presets that rows go through, and configs that are bent."""

from __future__ import annotations

PRESETS = ("nemo-automodel",)
CONFIGS = (
    {
        "recipe": "TrainFinetuneRecipeForNextTokenPrediction",
        "model": {"pretrained_model_name_or_path": "builtin:chatml"},
        "step_scheduler": {"local_batch_size": 2},
        "dataset": {
            "_target_": "nemo_automodel.components.datasets.llm.chat_dataset.ChatDataset",
            "path_or_dataset_id": "a.jsonl",
            "seq_length": 64,
            "truncation": True,
            "mask_history": "True",
            "chat_template": "{{ messages }}",
            "tokenizer": {"tokenizer_backend": "nemo_wrapped_auto"},
        },
        "packed_sequence": {"packed_sequence_size": 128, "packing_strategy": "neat"},
        "dataloader": {"collate_fn": "nemo_automodel.components.datasets.utils.default_collater"},
    },
    {
        "dataset": {
            "_target_": "nemo_automodel.components.datasets.llm.ColumnMappedTextInstructionDataset",
            "path_or_dataset_id": ["a.jsonl", "b.jsonl"],
            "column_mapping": {"question": "q", "answer": "a"},
            "padding": "max_length",
        },
        "dataloader": {"batch_size": 2, "collate_fn": {"_target_": "x", "pad_seq_len_divisible": 8}},
    },
)
