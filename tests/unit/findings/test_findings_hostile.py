"""Whatever a row holds, the checks neither raise nor let a byte of it through raw."""

from __future__ import annotations

import random
from typing import Any

import pytest
from case_runner import open_case

from sftui.errors import SftuiError
from sftui.findings import DatasetChecks, Finding, check_dataset, check_row, check_setup
from sftui.findings.look import RowLook
from sftui.findings.rule import CALLING, GOOD, Case, chatml, tagged
from sftui.text import visible

ATOMS: tuple[Any, ...] = (
    None,
    True,
    0,
    1.5,
    float("nan"),
    "",
    "x",
    "<|im_end|>",
    "</think>",
    "<think>a",
    "\ud83d",
    "\x1b[31m",
    " a ",
    "[[",
    "é\u202e",
    [],
    {},
    [1],
    {"type": "text", "text": "hi"},
    {"name": "f"},
    {"function": {"name": "f", "arguments": "{"}},
    '{"a": 1}',
    10**30,
    -1,
    "<image>",
    "[/INST]",
)
KEYS = ("role", "content", "function", "name", "arguments", "id", "type", "text", "")
PRESETS = (
    "hf-trainer",
    "manual-shift",
    "trl@1.16",
    "trl@1.8",
    "axolotl@0.19",
    "llamafactory@0.9",
    "unsloth@2026.10",
    "torchtune@0.6",
)


def value(pick: random.Random, depth: int = 0) -> Any:
    if depth < 3 and pick.random() < 0.35:
        return [value(pick, depth + 1) for _ in range(pick.randint(0, 3))]
    if depth < 3 and pick.random() < 0.3:
        return {pick.choice(KEYS): value(pick, depth + 1) for _ in range(pick.randint(0, 3))}
    return pick.choice(ATOMS)


def message(pick: random.Random) -> dict[str, Any]:
    roles: tuple[Any, ...] = (
        ("user", "assistant")
        if pick.random() < 0.5
        else ("system", "tool", "gpt", "Assistant", "", None, 5, "narrator")
    )
    made = {"role": pick.choice(roles), "content": pick.choice(["hi", "Hello.", value(pick)])}
    for key in ("tool_calls", "weight", "train", "reasoning_content", "thinking", "name", "tool_call_id", "loss_mask"):
        if pick.random() < 0.15:
            made[key] = value(pick)
    if pick.random() < 0.1:
        made.pop(pick.choice(list(made)))
    return made


def row(pick: random.Random) -> dict[str, Any]:
    if pick.random() < 0.8:
        made: dict[str, Any] = {"messages": [message(pick) for _ in range(pick.randint(0, 5))]}
    else:
        ids = [pick.choice([1, 2, 300, 3001, 3002, 10**9]) for _ in range(pick.randint(0, 30))]
        made = {
            "input_ids": ids,
            "labels": [pick.choice([-100, -1, 300]) for _ in ids],
            "attention_mask": [pick.choice([0, 1]) for _ in ids],
            "seq_lengths": value(pick),
            "position_ids": value(pick),
        }
    for key in ("tools", "images", "text", "prompt", "completion", "input_ids", "chat_template_kwargs"):
        if pick.random() < 0.1:
            made.setdefault(key, value(pick))
    return made


@pytest.mark.parametrize("seed", range(16))
def test_checks_never_raise(seed: int) -> None:
    pick = random.Random(seed)
    rows = [GOOD] * 3 + [row(pick) for _ in range(20)]
    changes: dict[str, Any] = {"length.max": pick.choice([None, 5, 60])}
    if pick.random() < 0.5:
        changes["mask.rule"] = pick.choice(["all", "assistant", "generation_tag", "completion", "given", "markers"])
    case = Case(
        rows,
        tokenizer=pick.choice(["chatml", "gemma", "llama3", "media"]),
        preset=PRESETS[seed % len(PRESETS)],
        changes=changes,
        template=pick.choice([None, tagged(), chatml("<think>\n</think>{{ m.content }}"), CALLING]),
    )
    try:
        context, inspections = open_case(case, rows)
    except SftuiError:
        return
    checks = DatasetChecks(context)
    found: list[Finding] = []
    for inspection in inspections:
        found.extend(check_row(inspection, context))
        checks.add(RowLook(inspection, context))
    found.extend(check_setup(context, inspections))
    found.extend(check_dataset(checks))
    for finding in found:
        assert visible(finding.sentence) == finding.sentence and visible(finding.evidence) == finding.evidence, (
            finding.code
        )
        assert finding.fix is None or visible(finding.fix.title) == finding.fix.title, finding.code
