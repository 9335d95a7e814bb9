"""torchtune 0.6.1 and 0.7: every golden record, ids and labels; the rows are those of the probe."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from golden_records import Pair, inspect, tokenizer

from sftui import pipeline
from sftui.model import Example
from sftui.recipe import Recipe, changed
from sftui.tokens import LoadedTokenizer
from sftui.trainers import Toolbox, trainer_named

MESSAGES = [
    {"role": "system", "content": "You are helpful."},
    {"role": "user", "content": "What is 2+2?"},
    {"role": "assistant", "content": "The answer is 4."},
    {"role": "user", "content": "Add 3"},
    {"role": "assistant", "content": "seven"},
]
CHAT = {
    "_component_": "torchtune.datasets.chat_dataset",
    "conversation_column": "messages",
    "conversation_style": "openai",
}
SHAREGPT = {**CHAT, "conversation_column": "conversations", "conversation_style": "sharegpt"}
INSTRUCT = {"_component_": "torchtune.datasets.instruct_dataset"}
ALPACA = {"_component_": "torchtune.datasets.alpaca_dataset"}
TEXT = {"_component_": "torchtune.datasets.text_completion_dataset"}
ROW = [{"messages": MESSAGES}]
ONE = [{"input": "What is 2+2?", "output": "The answer is 4."}]
HAIKU = [{"text": "Old pond, a frog"}]
PACKED, HF = "packed=True max_seq_len=120", "HuggingFaceModelTokenizer"

STRATEGIES = {
    "train_on_all": ("all", "all"),
    "train_on_assistant": ("turn_full", "all"),
    "train_on_last": ("turn_full", "last"),
}
"""An argument of 0.7's message transforms → the knobs; the probe called those, no dataset builder hands it on."""

# The probe's calls by the number in the record's case name: dataset block, tokenizer block, rows.
CALLS: dict[str, tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]] = {
    "T1": (CHAT, {}, ROW),
    "T2": ({**CHAT, "train_on_input": True}, {}, ROW),
    "T3": ({**CHAT, "new_system_prompt": "one two"}, {}, ROW),
    "T4": (CHAT, {"max_seq_len": 24}, ROW),
    "T4b": (CHAT, {"max_seq_len": 27}, ROW),
    "T4c": (CHAT, {"max_seq_len": 24, "truncation_type": "left"}, ROW),
    "T6": (INSTRUCT, {}, ONE),
    "T7": (ALPACA, {}, [{"instruction": "Write a haiku", "input": "", "output": "Old pond"}]),
    "T8": (TEXT, {}, HAIKU),
    "T11": (CHAT, {}, [{"messages": MESSAGES[:4]}]),
    "T12": (
        SHAREGPT,
        {},
        [{"conversations": [{"from": "human", "value": "Add 3"}, {"from": "gpt", "value": "seven"}]}],
    ),
    PACKED: ({**CHAT, "packed": True}, {"max_seq_len": 120}, ROW * 3),
    "T17": (CHAT, {"max_seq_len": 500}, ROW),
    "T18": (INSTRUCT, {"max_seq_len": 500}, ONE),
    "T19": (TEXT, {"max_seq_len": 4}, HAIKU),
    **{f"T5 {name}": (CHAT, {}, ROW) for name in STRATEGIES},
}


SPECIAL = {"special_tokens_path": "golden/tokenizer.json"}
"""The probes gave the tokenizer its own special tokens."""


def config(dataset: dict[str, Any], block: dict[str, Any]) -> str:
    tokens = {
        "_component_": "torchtune.models.qwen2_5.qwen2_5_tokenizer",
        "path": "golden/vocab.json",
        **SPECIAL,
        **block,
    }
    return str(yaml.safe_dump({"tokenizer": tokens, "dataset": {**dataset, "source": "json", "data_files": "x.json"}}))


def call_of(case: str | None, ids: list[int]) -> str:
    """The probe's call of a record; two were recorded without a name, the pack and the jinja tokenizer."""
    if case is None:
        return PACKED if len(ids) == 120 else HF
    number = case.split()[0]
    return f"T5 {case.rpartition('=')[2]}" if number == "T5" else number


def tools_of(recipe: Recipe, shared: Path) -> Toolbox:
    return pipeline.make_toolbox(recipe, tokenizer(shared, eos="<|im_end|>", pad="<pad>"))


def produced(call: str, version: str, shared: Path) -> Pair:
    dataset, block, rows = CALLS[call]
    recipe = trainer_named("torchtune").read_config("t.yaml", config(dataset, block), version).recipe
    for knob, value in zip(("mask.rule", "mask.turns"), STRATEGIES.get(call.removeprefix("T5 "), ())):
        recipe = changed(recipe, knob, value)
    tools = tools_of(recipe, shared)
    found = inspect(rows, recipe, tools)
    assert not [one.problem for one in found if one.problem], [one.problem for one in found]
    examples = [one.example for one in found if one.example]
    if recipe.pack.strategy == "none":
        return examples[0].input_ids, examples[0].labels
    pack = next(trainer_named("torchtune").pack(examples, recipe, tools))
    return pack.input_ids, pack.labels


def jinja(version: str, shared: Path) -> Pair:
    """The probe's call of HuggingFaceModelTokenizer.tokenize_messages, which aligned labels by hand."""
    block = {"_component_": "torchtune.modules.transforms.tokenizers.HuggingFaceModelTokenizer", "max_seq_len": 500}
    recipe = trainer_named("torchtune").read_config("t.yaml", config(CHAT, block), version).recipe
    loaded = tokenizer(shared, eos="<|im_end|>", pad="<pad>", bos=True)
    template = next(
        json.loads(line)["chat_template"] for line in (shared / "golden" / "golden.jsonl").open() if '"unsloth' in line
    )
    facts = replace(loaded.facts, chat_templates={"default": template})
    tools = pipeline.make_toolbox(recipe, LoadedTokenizer(facts, loaded.engine))
    example = inspect(ROW, recipe, tools)[0].example
    assert example is not None
    return example.input_ids, example.labels


@pytest.mark.shared
@pytest.mark.parametrize("version", ["0.6.1", "0.7.0"])
def test_every_golden_record_of_torchtune(version: str, shared: Path) -> None:
    equal = total = 0
    wrong: list[str] = []
    for line in (shared / "golden" / "golden.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if not record["trainer"].startswith(f"torchtune {version}"):
            continue
        total += 1
        call = call_of(record["case"], record["input_ids"])
        found = jinja(version, shared) if call == HF else produced(call, version, shared)
        expected = (tuple(record["input_ids"]), tuple(record["labels"]))
        if found == expected:
            equal += 1
        else:
            wrong.append(f"{record['case']}: {expected}, sftui {found}")
    print(f"\n{equal} of {total} golden records equal (torchtune {version})")
    assert total >= 14 and not wrong, "\n".join(wrong[:5])


@pytest.mark.shared
@pytest.mark.parametrize(
    "rows",
    [
        [{"messages": [*MESSAGES[1:3], {"role": "tool", "content": "4"}, {"role": "assistant", "content": "ok"}]}],
        [{"messages": [MESSAGES[1], MESSAGES[1], MESSAGES[2]]}],
    ],
)
def test_conversations_that_torchtune_refuses(rows: list[dict[str, Any]], shared: Path) -> None:
    recipe = trainer_named("torchtune").read_config("t.yaml", config(CHAT, {}), "0.6.1").recipe
    found = inspect(rows, recipe, tools_of(recipe, shared))
    assert found[0].problem is not None and "torchtune stops" in found[0].problem.what


@pytest.mark.shared
def test_a_batch_has_no_attention_mask_and_pads_a_whole_block_more(shared: Path) -> None:
    trainer = trainer_named("torchtune")
    recipe = trainer.read_config("t.yaml", config(CHAT, {}) + "pad_to_multiple_of: 8\n", "0.7").recipe
    batch = trainer.collate([Example((1,) * 8, (1,) * 8, (1,) * 8)], [0], recipe, tools_of(recipe, shared))
    assert (len(batch.input_ids[0]), batch.attention_mask) == (16, None)
    assert batch.labels[0][6:8] == (1, -100)  # stored one place earlier
