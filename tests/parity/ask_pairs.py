"""What TRL's DPOTrainer makes of preferences: `python ask_pairs.py TOKENIZER < cases.json`, with the Python of its
environment.

A case is {"rows", "max_length", "template"}; each answer is a JSON line behind `MARK`, the rows that the trainer keeps,
each with its sides as the collator cuts them. Of the trainer's `self` its preparation reads the tokenizer alone, so
that no model is needed.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
import types
from typing import Any

MARK = "pairs: "


def main(folder: str) -> None:
    import torch

    with contextlib.suppress(RuntimeError):  # a torchvision that is built for another torch asks for these
        stub = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            stub.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    import datasets
    from transformers import AutoTokenizer
    from trl import DPOConfig, DPOTrainer
    from trl.trainer.dpo_trainer import DataCollatorForPreference

    datasets.disable_progress_bars()
    for case in json.load(sys.stdin):
        tokenizer = AutoTokenizer.from_pretrained(folder)
        tokenizer.chat_template = case["template"] or tokenizer.chat_template
        with tempfile.TemporaryDirectory() as out:
            config = DPOConfig(
                output_dir=out, report_to="none", use_cpu=True, bf16=False, max_length=case["max_length"]
            )
            this: Any = types.SimpleNamespace(_tokenizer=tokenizer)
            rows = datasets.Dataset.from_list(case["rows"])
            kept = list(DPOTrainer._prepare_dataset(this, rows, tokenizer, config, "train"))
        collator = DataCollatorForPreference(tokenizer.pad_token_id or 0, config.max_length, config.truncation_mode)
        made = []
        for row in kept:
            batch = collator([row])
            sides = []
            for ids, attention, trained in zip(batch["input_ids"], batch["attention_mask"], batch["completion_mask"]):
                one, mask = ids[attention.bool()].tolist(), trained[attention.bool()].tolist()
                at = mask.index(1) if 1 in mask else len(one)
                sides.append({"ids": one, "prompt": tokenizer.decode(one[:at]), "answer": tokenizer.decode(one[at:])})
            made.append(sides)
        print(MARK + json.dumps(made), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
