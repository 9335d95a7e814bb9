"""NeMo Automodel's datasets through `sftui encode`: what its rows and packs hold beside the ids of one row."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

LLM = "nemo_automodel.components.datasets.llm"
AGENT, CHAT = f"{LLM}.agent_chat.make_agent_chat_dataset", f"{LLM}.chat_dataset.ChatDataset"
COLUMNS = f"{LLM}.column_mapped_text_instruction_dataset.ColumnMappedTextInstructionDataset"


def turns(count: int, words: int = 3) -> dict[str, Any]:
    made = []
    for number in range(count):
        made += [
            {"role": "user", "content": f"question {number} " * words},
            {"role": "assistant", "content": f"answer {number} " * words},
        ]
    return {"messages": made}


@pytest.fixture
def encode(sftui: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """A dataset block over some rows, encoded."""

    def run(target: str, lines: Sequence[Any], more: str = "", other: str = "", *words: str) -> Any:
        text = "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in lines)
        (tmp_path / "d.jsonl").write_text(text)
        key = "path" if target == AGENT else "path_or_dataset_id"
        (tmp_path / "c.yaml").write_text(
            f"model: {{pretrained_model_name_or_path: 'builtin:chatml'}}\n"
            f"dataset: {{_target_: {target}, {key}: d.jsonl{more}}}\n{other}"
        )
        monkeypatch.chdir(tmp_path)
        return sftui("encode", "c.yaml", "--trainer", "nemo-automodel", "-o", "-", *words)

    return run


def test_history_goes_wherever_a_length_is_set(encode: Callable[..., Any]) -> None:
    """agent_chat.py: `if truncate_history and seq_length is not None`, whatever `truncation` says."""
    rows = [turns(1), turns(6)]
    whole = encode(AGENT, rows, ", seq_length: 60").records()
    cut = encode(AGENT, rows, ", seq_length: 60, truncate_history: true").records()
    both = encode(AGENT, rows, ", seq_length: 60, truncate_history: true, truncation: true").records()
    assert cut[0]["input_ids"] == whole[0]["input_ids"]
    assert len(whole[1]["input_ids"]) > 100 and len(cut[1]["input_ids"]) <= 60
    assert cut[1]["input_ids"] == both[1]["input_ids"]
    last = turns(6)["messages"][-2:]
    assert cut[1]["input_ids"][-10:] == encode(AGENT, [{"messages": last}]).records()[0]["input_ids"][-10:]


@pytest.mark.parametrize("truncation", ["", ", truncation: true"])
def test_rows_are_padded_by_the_dataset(encode: Callable[..., Any], truncation: str) -> None:
    bare = encode(CHAT, [turns(1), turns(2)], "", "", "--explain").records()
    done = encode(CHAT, [turns(1), turns(2)], f", seq_length: 90, padding: max_length{truncation}", "", "--explain")
    for plain, one in zip(bare, done.records()):
        count = len(plain["input_ids"])
        assert one["input_ids"][:count] == plain["input_ids"] and one["labels"][:count] == plain["labels"]
        assert {len(one[name]) for name in ("input_ids", "labels", "attention_mask", "tokens", "reasons", "spans")} == {
            90
        }
        assert set(one["labels"][count:]) == {-100} and set(one["reasons"][count:]) == {"pad"}
        assert one["attention_mask"][-1] == 0 and one["attention_mask"][count - 1] == 1


def test_the_next_row_is_trained_in_the_place_of_one_without_labels(encode: Callable[..., Any]) -> None:
    """ColumnMappedTextInstructionDataset.__getitem__ goes on to the next row, behind the last one to the first."""
    rows = [{"q": "word " * (40 if number in (1, 2, 5) else 2), "a": f"yes {number}"} for number in range(6)]
    mapping = ", column_mapping: {question: q, answer: a}, seq_length: 12, truncation: true"
    records = encode(COLUMNS, rows, mapping).records()
    assert [one["row"] for one in records if "dropped" in one] == [1, 2, 5]
    kept = [one["row"] for one in records if "input_ids" in one]
    assert kept == [0, 3, 3, 3, 4, 0]
    pack = "packed_sequence: {packed_sequence_size: 400, packing_strategy: thd}\n"
    [packed] = [one for one in encode(COLUMNS, rows, mapping, pack).records() if "pack" in one]
    assert [document["row"] for document in packed["documents"]] == kept


def test_lines_that_are_no_json_are_skipped_where_the_config_says_so(encode: Callable[..., Any]) -> None:
    lines = [turns(1), '{"messages": [', "5", turns(2)]
    stopped = encode(CHAT, lines[:2])
    assert stopped.code == 2 and "row 1" in stopped.err
    skipped = encode(CHAT, [lines[0], lines[1], lines[3]], ", skip_invalid_samples: true")
    assert skipped.code == 0 and "1 dropped by the trainer" in skipped.err, skipped.err
    assert "skip_invalid_samples" in skipped.records()[1]["dropped"]
    number = encode(CHAT, lines, ", skip_invalid_samples: true")  # JSON all the same: it stops where it reads messages
    assert number.code == 2 and "row 2" in number.err
    other = encode(AGENT, lines[:2])
    assert other.code == 2


def test_packs_are_aligned_and_no_more_than_asked_for(encode: Callable[..., Any]) -> None:
    rows = [turns(1 + number % 3) for number in range(12)]
    base = "packed_sequence: {packed_sequence_size: 128, packing_strategy: %s%s}\n"
    for strategy in ("thd", "neat"):
        every = [one for one in encode(CHAT, rows, "", base % (strategy, "")).records() if "pack" in one]
        few = [one for one in encode(CHAT, rows, "", base % (strategy, ", max_packs: 2")).records() if "pack" in one]
        assert len(every) > 2 and [one["input_ids"] for one in few] == [one["input_ids"] for one in every[:2]]
    aligned = [
        one for one in encode(CHAT, rows, "", base % ("thd", ", pad_to_multiple_of: 16")).records() if "pack" in one
    ]
    assert all(length % 16 == 0 for one in aligned for length in one["seq_lens"])
    done = encode(CHAT, rows, "", base % ("thd", ", pad_to_multiple_of: 100"))
    assert done.code == 2 and "must be divisible" in done.err
