"""torchtune in the fuzzer: presets that rows go through, and configs that are bent."""

from __future__ import annotations

PRESETS = (
    "torchtune@0.6",
    "torchtune@0.7",
)
CONFIGS = (
    {
        "tokenizer": {
            "_component_": "torchtune.models.qwen2_5.qwen2_5_tokenizer",
            "path": "/tmp/m/vocab.json",
            "merges_file": "/tmp/m/merges.txt",
            "max_seq_len": 64,
            "prompt_template": None,
            "special_tokens_path": "x",
        },
        "dataset": {
            "_component_": "torchtune.datasets.chat_dataset",
            "source": "json",
            "data_files": "a.json",
            "conversation_column": "messages",
            "conversation_style": "openai",
            "packed": False,
            "train_on_input": False,
            "split": "train",
        },
        "seed": None,
        "batch_size": 2,
        "output_dir": "/tmp/${name}",
        "name": "x",
        "collate_fn": "torchtune.data.padded_collate_sft",
    },
    {
        "tokenizer": {
            "_component_": "torchtune.models.llama3.llama3_tokenizer",
            "path": "/tmp/original/tokenizer.model",
        },
        "dataset": [
            {
                "_component_": "torchtune.datasets.instruct_dataset",
                "source": "x/y",
                "column_map": {"input": "q", "output": "a"},
                "new_system_prompt": "s",
            },
            {
                "_component_": "torchtune.datasets.text_completion_dataset",
                "source": "json",
                "column": "text",
                "add_eos": True,
                "packed": True,
            },
        ],
        "shuffle": True,
    },
)
