"""What is told of whole datasets: wrong set-ups of real data each in one sentence, right ones in none."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import sftui
from sftui.audit.verdict import Verdicts
from sftui.findings import CODES, SCOPE_OF, Finding, Severity
from sftui.findings.model import Consequence

TURKISH, TOYS, GLAIVE = "turkish_daily_test.jsonl", "openai_toy_chat_fine_tuning.jsonl", "glaive_toolcall_en_demo.json"
FASTCHAT, WWDC, PARTS = (
    "fastchat_dummy_conversation.json",
    "mlx_wwdc25_prompt_completion.jsonl",
    "reason_tool_use_demo_50.jsonl",
)
QWEN, LLAMA = "qwen2.5", "llama-3-8b-instruct"
WRONG: tuple[tuple[str, str, str, dict[str, Any], tuple[str, ...]], ...] = (
    (GLAIVE, QWEN, "trl", {}, ("unread 297/300 ROL001", "garbled 3/300 ROL001")),
    (FASTCHAT, QWEN, "trl", {}, ("unread 500/500 ROL001",)),
    ("axolotl_conversation_missingturns.json", QWEN, "trl", {}, ("unread 1/1 ROL001",)),
    (GLAIVE, LLAMA, "axolotl", {}, ("garbled 153/300 ROL001", "lost 191/300 TOO003", "dropped 92/300 TRU006")),
    (GLAIVE, QWEN, "torchtune", {}, ("stops 153/300 ROW002", "lost 300/300 CON015")),
    (PARTS, QWEN, "trl", {}, ("garbled 50/50 CON002",)),
    (PARTS, QWEN, "torchtune", {}, ("stops 50/50 ROW002",)),
    (TURKISH, QWEN, "llamafactory", {"render.template": "llamafactory/llama3"}, ("unserved 525/525 TPL016",)),
    (
        TURKISH, LLAMA, "axolotl", {"render.template": "axolotl/chatml"},
        ("garbled 525/525 TPL013", "unserved 525/525 TPL016", "unstopped 525/525 EOS001"),
    ),
    (TURKISH, QWEN, "axolotl", {"render.template": "builtin:llama3"}, ("stops 525/525 TPL013",)),
    (TURKISH, QWEN, "trl", {}, ("questions 525/525 LAB002",)),
    (TURKISH, QWEN, "axolotl", {"mask.rule": "all"}, ("questions 525/525 LAB002",)),
    (TURKISH, QWEN, "axolotl", {"length.max": 64}, ("dropped 525/525 TRU006",)),
    (TURKISH, QWEN, "hf-trainer", {"mask.terminator": "mask"}, ("unstopped 525/525 EOS004",)),
    ("c4_demo.jsonl", LLAMA, "hf-trainer", {"tokenize.append_eos": "never"}, ("unstopped 300/300 EOS001",)),
    (
        TOYS, QWEN, "llamafactory", {"length.max": 64},
        ("lost 1/5 TRU003", "unstopped 1/5 TRU002", "dropped 1/5 TRU006"),
    ),
    (TOYS, QWEN, "torchtune", {}, ("stops 1/5 ROW004",)),
    (TOYS, "builtin:gemma", "hf-trainer", {}, ("stops 4/5 TPL002",)),
    (
        WWDC, QWEN, "trl", {"length.max": 16},
        ("untrained 204/1800 TRU001", "unstopped 1596/1800 TRU002", "dropped 204/1800 TRU006"),
    ),
    (
        TURKISH, QWEN, "unsloth", {"mask.rule": "markers", "mask.response_marker": "### Response:"},
        ("stops 525/525 ROW004",),
    ),
    ("alpaca_en_demo.json", QWEN, "torchtune", {}, ("questions 999/999 LAB002",)),
)  # fmt: skip
RIGHT: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    (TURKISH, QWEN, "axolotl", {}),
    (TURKISH, QWEN, "llamafactory", {"render.template": "llamafactory/qwen"}),
    (TURKISH, LLAMA, "llamafactory", {"render.template": "llamafactory/llama3"}),
    (TURKISH, QWEN, "torchtune", {}),
    (TURKISH, LLAMA, "torchtune", {}),
    (TURKISH, QWEN, "hf-trainer", {}),
    (WWDC, QWEN, "trl", {}),
    (WWDC, LLAMA, "hf-trainer", {}),
    (FASTCHAT, QWEN, "axolotl", {}),
    (FASTCHAT, QWEN, "llamafactory", {"render.template": "llamafactory/qwen"}),
    ("alpaca_en_demo.json", QWEN, "llamafactory", {"render.template": "llamafactory/qwen"}),
    ("alpaca_en_demo.json", QWEN, "axolotl", {"length.max": 4096}),
)


def checked(shared: Path, data: str, tokenizer: str, trainer: str, knobs: dict[str, Any]) -> sftui.Report:
    folder = shared / "testdata"
    name = tokenizer if ":" in tokenizer else str(folder / "tokenizers" / tokenizer)
    return sftui.check(str(folder / "datasets" / data), tokenizer=name, trainer=trainer, set=knobs)


@pytest.mark.one_of(16)
@pytest.mark.shared
@pytest.mark.parametrize(("data", "tokenizer", "trainer", "knobs", "expected"), WRONG)
def test_a_wrong_set_up_is_told_by_what_comes_of_it(
    data: str, tokenizer: str, trainer: str, knobs: dict[str, Any], expected: tuple[str, ...], shared: Path
) -> None:
    verdict = checked(shared, data, tokenizer, trainer, knobs).verdict
    assert tuple(f"{one.consequence} {one.rows}/{one.of} {one.code}" for one in verdict) == expected


@pytest.mark.one_of(16)
@pytest.mark.shared
@pytest.mark.parametrize(("data", "tokenizer", "trainer", "knobs"), RIGHT)
def test_nothing_is_told_of_a_right_set_up(
    data: str, tokenizer: str, trainer: str, knobs: dict[str, Any], shared: Path
) -> None:
    report = checked(shared, data, tokenizer, trainer, knobs)
    assert report.verdict == () and report.as_dict()["verdict"] == []


def finding(code: str, severity: Severity | None = None) -> Finding:
    return Finding(code, severity or CODES[code].severity, "")


def severities(*findings: Finding) -> tuple[tuple[str, Severity], ...]:
    return tuple((one.code, one.severity) for one in findings)


def test_rows_are_counted_once_for_each_consequence_however_they_are_merged() -> None:
    rows = [("EOS001", "EOS004"), ("ROW002", "LAB002"), ("LAB015", "ROL001", "LAB001"), ("LAB002",), ()]
    whole, parts = Verdicts(), [Verdicts() for _ in rows]
    for row, codes in enumerate(rows):
        whole.count(severities(*map(finding, codes)), row)
        parts[row].count(severities(*map(finding, codes)), row)
    merged = Verdicts()
    for part in reversed(parts):
        merged.merge(pickle.loads(pickle.dumps(part)))
    assert merged.verdicts(5) == whole.verdicts(5)
    assert [(one.consequence, one.rows, one.code, one.first) for one in whole.verdicts(5)] == [
        ("stops", 1, "ROW002", (1,)),
        ("unread", 1, "ROL001", (2,)),
        ("unstopped", 1, "EOS001", (0,)),
        ("questions", 1, "LAB002", (3,)),
    ]


def test_the_model_sees_no_text_of_rows_that_are_not_rendered() -> None:
    verdicts = Verdicts()
    verdicts.of_setup([finding("TPL013")])
    assert [one.consequence for one in verdicts.verdicts(5)] == ["garbled"]
    (one,) = verdicts.verdicts(5, stopped=True)
    assert (one.consequence, one.rows, one.code) == ("stops", 5, "TPL013")
    assert one.sentence == (
        "the trainer cannot use all 5 rows: the template writes a token that this tokenizer does not have"
    )


def test_what_is_wrong_with_the_set_up_is_wrong_in_every_row() -> None:
    verdicts = Verdicts()
    verdicts.of_setup([finding("EOS003")])
    verdicts.count(severities(finding("EOS001")), 3)
    (one,) = verdicts.verdicts(8)
    assert (one.rows, one.of, one.code) == (8, 8, "EOS003")
    assert one.sentence.startswith("the model won't learn to stop in all 8 rows: ")


@pytest.mark.parametrize(("code", "severity"), [("EOS001", Severity.INFO), ("ROW002", Severity.WARNING)])
def test_what_is_harmless_here_is_not_told(code: str, severity: Severity) -> None:
    verdicts = Verdicts()
    verdicts.count(severities(finding(code, severity)), 0)
    assert verdicts.verdicts(1) == ()


def test_every_rule_that_leads_somewhere_is_of_rows_or_the_set_up() -> None:
    leading = [one for one in CODES.values() if one.leads_to is not None]
    assert {SCOPE_OF[one.code] for one in leading} == {"row", "setup"}
    assert {one.leads_to for one in leading} == set(Consequence)
    assert all(one.severity is not Severity.INFO for one in leading)
