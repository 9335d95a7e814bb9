"""The two tutorials, token for token: `hf-trainer` and `manual-shift` against plain transformers.

The reference is written here the way tutorials write it, on AutoTokenizer and nothing of sftui:
render the whole and the prompt, tokenize both without special tokens, mask min(len(prompt), len)
labels; for the second BOS is removed and `input_ids[:-1]`, `labels[1:]` are taken. Every tokenizer
of ../shared/testdata with every SFT-shaped dataset there; a tokenizer without template gets one.
SFTUI_TUTORIAL_ROWS limits the rows a dataset (default: all).
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sftui import pipeline
from sftui.model import Inspection
from sftui.recipe import changed
from sftui.sources import SourceSpec, open_source
from sftui.templates import builtin_template
from sftui.tokens import load_tokenizer
from sftui.tokens.shortcuts.bulk import Bulk
from sftui.trainers import preset

pytestmark = [pytest.mark.parity, pytest.mark.shared]

DATASETS = (
    "alpaca_en_demo.json",
    "alpaca_zh_demo.json",
    "identity_placeholders.json",
    "glaive_toolcall_en_demo.json",
    "reason_tool_use_demo_50.jsonl",
    "v1_sft_demo.jsonl",
    "mllm_demo.json",
    "fastchat_dummy_conversation.json",
    "gsm8k_test.jsonl",
    "mlx_wwdc25_prompt_completion.jsonl",
    "turkish_daily_train.parquet",
    "turkish_daily_test.jsonl",
    "turkish_daily_test.parquet",
    "axolotl_conversation.json",
    "axolotl_conversation_missingturns.json",
    "torchtune_alpaca_tiny.json",
    "torchtune_chat_tiny.json",
    "toolset_tool_text_pairs.jsonl",
    "openai_toy_chat_fine_tuning.jsonl",
)
TOKENIZERS = {
    "bert-base-cased": "chatml",
    "llama-3-8b-instruct": None,
    "minimind": None,
    "phi-3-mini": None,
    "qwen2.5": None,
    "t5-small": "vicuna",
}
ROLES = {"human": "user", "gpt": "assistant", "function_call": "assistant", "observation": "tool"}
WITH_INPUT = (
    "Below is an instruction that describes a task, paired with an input that provides further context. Write a"
    " response that appropriately completes the request.\n\n### Instruction:\n{}\n\n### Input:\n{}\n\n### Response:"
)
WITHOUT_INPUT = (
    "Below is an instruction that describes a task. "
    "Write a response that appropriately completes the request.\n\n### Instruction:\n{}\n\n### Response:"
)


def read(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file, read as plainly as can be."""
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        yield from pq.read_table(path).to_pylist()
    elif path.suffix == ".csv":
        yield from csv.DictReader(path.open(encoding="utf-8"))
    else:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".jsonl":
            yield from (json.loads(line) for line in text.splitlines() if line.strip())
        else:
            value = json.loads(text)
            yield from value if isinstance(value, list) else [value]


def chat(row: dict[str, Any]) -> list[dict[str, Any]]:
    """A row as messages, as a tutorial would write it for that dataset."""
    if "messages" in row:
        return list(row["messages"])
    if "conversations" in row:
        turns = row["conversations"]
        if "from" not in turns[0]:
            return list(turns)
        return [{"role": ROLES.get(t["from"], t["from"]), "content": t["value"]} for t in turns]
    if "instruction" in row:
        prompt = (
            WITH_INPUT.format(row["instruction"], row["input"])
            if row.get("input")
            else WITHOUT_INPUT.format(row["instruction"])
        )
        return [{"role": "user", "content": prompt}, {"role": "assistant", "content": row["output"]}]
    question, answer = ("question", "answer") if "question" in row else ("prompt", "completion")
    return [{"role": "user", "content": row[question]}, {"role": "assistant", "content": row[answer]}]


def tutorial(tokenizer: Any, row: dict[str, Any], *, manual: bool) -> tuple[list[int], list[int]] | str:
    """(input_ids, labels), or why the row gives none."""
    messages = chat(row)
    if messages[-1]["role"] != "assistant":
        return "dropped"
    tools = row.get("tools")
    tools = json.loads(tools) if isinstance(tools, str) and tools.strip() else tools
    try:
        full = tokenizer.apply_chat_template(messages, tools=tools or None, tokenize=False)
        prompt = tokenizer.apply_chat_template(
            messages[:-1], tools=tools or None, tokenize=False, add_generation_prompt=True
        )
    except Exception:
        return "error"
    if manual and tokenizer.bos_token:
        full, prompt = full.removeprefix(tokenizer.bos_token), prompt.removeprefix(tokenizer.bos_token)
    input_ids = tokenizer(full, add_special_tokens=False)["input_ids"]
    prompt_ids = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    labels = list(input_ids)
    for i in range(min(len(prompt_ids), len(labels))):
        labels[i] = -100
    return (input_ids[:-1], labels[1:]) if manual else (input_ids, labels)


def ours(one: Inspection) -> tuple[list[int], list[int]] | str:
    if one.problem is not None:
        return "error"
    return (list(one.example.input_ids), list(one.example.labels)) if one.example else "dropped"


@pytest.mark.parametrize("name", list(TOKENIZERS))
def test_tutorials_token_for_token(name: str, shared: Path) -> None:
    from transformers import AutoTokenizer, DataCollatorForSeq2Seq

    folder = shared / "testdata" / "tokenizers" / name
    limit = int(os.environ.get("SFTUI_TUTORIAL_ROWS", "0")) or None
    reference = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    base = preset()
    given = TOKENIZERS[name]
    if given:
        reference.chat_template = builtin_template(given).source
        base = changed(base, "render.template", f"builtin:{given}")
    if reference.pad_token is None:
        reference.pad_token = reference.eos_token
    loaded = load_tokenizer(str(folder))
    collator = DataCollatorForSeq2Seq(reference, pad_to_multiple_of=8, return_tensors="np")
    compared = dropped = refused = batches = 0
    wrong: list[str] = []
    for trainer in ("hf-trainer", "manual-shift"):
        recipe = changed(changed(preset(trainer), "render.template", base.render.template), "batch.multiple", 8)
        tools = pipeline.make_toolbox(recipe, loaded)
        for dataset in DATASETS:
            source = open_source(SourceSpec((str(shared / "testdata" / "datasets" / dataset),)))
            rows = [row for row, _ in zip(source.rows(), range(limit or 10**9))]
            detected = pipeline.detect(rows[:64], recipe)
            inspections = list(pipeline.inspect_all(rows, detected, recipe, tools, Bulk("soon")))
            kept: list[Inspection] = []
            for row, one in zip(read(shared / "testdata" / "datasets" / dataset), inspections):
                want, got = tutorial(reference, row, manual=trainer == "manual-shift"), ours(one)
                compared += 1
                dropped += want == "dropped"
                refused += want == "error"
                if want != got:
                    wrong.append(
                        f"{trainer} {dataset} row {one.row.index}: {str(want)[:200]} != {str(got)[:200]} {one.problem}"
                    )
                elif one.example is not None:
                    kept.append(one)
            for start in range(0, min(len(kept), 16), 4):
                group = kept[start : start + 4]
                batch = pipeline.make_batch(group, recipe, tools)
                theirs = collator(
                    [
                        {
                            "input_ids": list(e.input_ids),
                            "labels": list(e.labels),
                            "attention_mask": list(e.attention_mask),
                        }
                        for e in (one.example for one in group)
                        if e
                    ]
                )
                batches += 1
                same = (
                    [list(r) for r in batch.input_ids] == theirs["input_ids"].tolist()
                    and [list(r) for r in batch.labels] == theirs["labels"].tolist()
                    and [list(r) for r in batch.attention_mask or ()] == theirs["attention_mask"].tolist()
                )
                if not same:
                    wrong.append(f"{trainer} {dataset}: the batch of rows {batch.rows} differs")
            source.close()
    print(
        f"\n{name}: {compared} rows compared ({dropped} dropped by both, {refused} refused by both), {batches} batches,"
        f" {len(wrong)} differ"
    )
    assert compared > 0 and not wrong, "\n".join(wrong[:10])
