"""Every real dataset of the shared folder is detected as its table says, and converts."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sftui.conversations import convert, detect
from sftui.errors import ConversationError
from sftui.model import Row
from sftui.recipe import Data

# file, format, rows, rows that cannot be converted (tokenizer-oddities.md section 4)
TABLE = [
    ("alpaca_en_demo.json", "alpaca", 999, 0),
    ("alpaca_zh_demo.json", "alpaca", 1000, 0),
    ("identity_placeholders.json", "alpaca", 91, 0),
    ("glaive_toolcall_en_demo.json", "sharegpt", 300, 0),
    ("reason_tool_use_demo_50.jsonl", "messages", 50, 0),
    ("v1_sft_demo.jsonl", "messages", 500, 0),
    ("mllm_demo.json", "messages", 6, 0),
    ("c4_demo.jsonl", "text", 300, 0),
    ("fastchat_dummy_conversation.json", "sharegpt", 500, 0),
    ("gsm8k_test.jsonl", "columns", 1319, 0),
    ("mlx_wikisql_text.jsonl", "text", 1000, 0),
    ("mlx_wwdc25_prompt_completion.jsonl", "prompt_completion", 1800, 0),
    ("turkish_daily_train.parquet", "messages", 3950, 0),
    ("turkish_daily_test.jsonl", "messages", 525, 0),
    ("turkish_daily_test.parquet", "messages", 525, 0),
    ("axolotl_conversation.json", "sharegpt", 1, 0),
    ("axolotl_conversation_missingturns.json", "sharegpt", 1, 0),
    ("torchtune_alpaca_tiny.json", "alpaca", 100, 0),
    ("torchtune_chat_tiny.json", "sharegpt", 1, 0),
    ("toolset_tool_text_pairs.jsonl", "messages", 150, 0),
    ("openai_toy_chat_fine_tuning.jsonl", "messages", 5, 0),
]


def rows_of(path: Path) -> list[Row]:
    """The rows of a file, read plainly: sources are tested elsewhere."""
    records: list[Any]
    if path.suffix == ".parquet":
        import pyarrow.parquet

        records = pyarrow.parquet.read_table(path).to_pylist()
    elif path.suffix == ".jsonl":
        records = []
        for line in path.read_bytes().split(b"\n"):
            if line.strip():
                try:
                    records.append(json.loads(line.decode("utf-8", "surrogateescape")))
                except ValueError:
                    records.append(None)
    else:
        parsed = json.loads(path.read_text(encoding="utf-8"))
        records = parsed if isinstance(parsed, list) else [parsed]
    return [Row(i, record, "", f"row {i}") for i, record in enumerate(records)]


@pytest.mark.shared
@pytest.mark.parametrize(("name", "format_name", "count", "broken"), TABLE)
def test_detected_and_converted_as_the_table_says(
    shared: Path,
    name: str,
    format_name: str,
    count: int,
    broken: int,
) -> None:
    rows = rows_of(shared / "testdata" / "datasets" / name)
    before = json.dumps([row.data for row in rows[:50]], default=str)
    detected = detect(rows, Data())
    assert detected.refused is None
    assert detected.format == format_name
    assert "every sampled row has" in detected.reason
    failed = 0
    for row in rows:
        try:
            convert(row, detected, Data())
        except ConversationError:
            failed += 1
    assert json.dumps([row.data for row in rows[:50]], default=str) == before
    print(f"{name}: {len(rows) - failed} of {len(rows)} rows converted; {detected.reason}; {detected.notes}")
    assert (len(rows), failed) == (count, broken)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("torchtune_hh_rlhf_tiny.json", "preference set"),
        ("self_instruct_seed_tasks.jsonl", "nested in `instances`"),
    ],
)
def test_sets_that_are_not_sft_are_refused_in_one_sentence(shared: Path, name: str, what: str) -> None:
    detected = detect(rows_of(shared / "testdata" / "datasets" / name), Data())
    assert detected.refused is not None
    sentence = detected.refused.sentence()
    assert what in sentence
    assert "\n" not in sentence and ". " not in sentence


@pytest.mark.shared
def test_a_preference_set_loads_once_a_field_is_named(shared: Path) -> None:
    rows = rows_of(shared / "testdata" / "datasets" / "torchtune_hh_rlhf_tiny.json")
    data = Data(fields={"messages": "chosen"})
    detected = detect(rows, data)
    assert detected.refused is None
    assert convert(rows[0], detected, data).messages[-1].content == "Fix the hole."


@pytest.mark.shared
def test_images_load_with_a_note_that_their_tokens_are_not_known(shared: Path) -> None:
    detected = detect(rows_of(shared / "testdata" / "datasets" / "mllm_demo.json"), Data())
    assert any("`images`" in note and "does not know" in note for note in detected.notes)


@pytest.mark.shared
def test_the_dirty_set_fails_only_at_its_broken_rows(shared: Path) -> None:
    rows = rows_of(shared / "testdata" / "datasets" / "derived_dirty_messages.jsonl")
    detected = detect(rows, Data())
    assert (detected.format, detected.refused) == ("messages", None)
    outcome: Counter[str] = Counter()
    for row in rows:
        try:
            convert(row, detected, Data())
            outcome["converted"] += 1
        except ConversationError as error:
            assert str(error).startswith(row.where)
            outcome[error.what] += 1
            print(row.index, error)
    print(dict(outcome))
    assert outcome["converted"] >= 38
