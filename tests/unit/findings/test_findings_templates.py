"""What is found in the published templates, against the property matrix of the project's reference (appendix A)."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from case_runner import run

from sftui.findings.rule import Case, chat

THINK = chat("hi", "<think>They greet me.</think>Hello.", "Bye.", "<think>So do I.</think>Bye!")
ROWS = [
    chat("hi", "Hello.", "Bye.", "Bye!"),
    chat(("system", "Be kind."), ("user", "hi"), ("assistant", "Hello.")),
    THINK,
]
NEMOTRON = {"nemotron_3_nano", "nemotron_3_super", "nemotron_3_ultra"}
QWEN3 = {"qwen3", "qwen3_5_nothink", "qwen3_5_think", "qwen3_6"}
STOCK = {
    "TPL002": {"gemma"},
    "TPL005": {"gptoss", "llama3_1", "llama3_2"},
    "TPL007": {"deepseekv3", "qwen3_5_nothink", *NEMOTRON},
    "TPL008": {"gptoss", "phi3", "phi3_5", "diffusion_gemma", "glm4moe", "lfm2_2_5", *NEMOTRON, *QWEN3},
    "THK001": {"glm4moe", "lfm2_2_5", *NEMOTRON, *QWEN3},
    "THK004": {"deepseekv3"},
    "BND002": {"glm4moe", "qwen3_5_think", "qwen3_6"},
    "GEN000": set(),
}
TRAINING = {
    "GEN002": {"deepseekv3", "glm4moe", "gptoss", "qwen2_5"},
    "GEN011": {"glm4moe", *NEMOTRON, *QWEN3},
    "GEN000": set(),
    "GEN003": set(),
    "GEN005": set(),
}


@pytest.mark.shared
@pytest.mark.parametrize("training", [False, True])
def test_published_templates(shared: Path, training: bool) -> None:
    found: dict[str, set[str]] = defaultdict(set)
    for file in sorted((shared / "testdata" / "templates").glob("trl_*.jinja")):
        name = file.stem.removeprefix("trl_")
        if name.endswith("_training") is not training or name == "tiny_aya":
            continue
        changes = {"mask.rule": "generation_tag"} if training else {}
        outcome = run(Case(ROWS, template=file.read_text(encoding="utf-8"), changes=changes))
        for code in outcome.codes:
            # Idefics prints no content that is a plain string, so its reasoning is lost for another reason.
            if not (name.startswith("idefics") and code.startswith("THK")):
                found[code].add(name.removesuffix("_training"))
    expected = TRAINING if training else STOCK
    assert {code: found[code] for code in expected} == expected


def test_the_day_that_a_template_writes_is_shown_with_its_tokens() -> None:
    from case_runner import run

    from sftui.findings import CODES

    (found,) = run(CODES["TPL005"].bad).of("TPL005")
    assert "on the day of the run" in found.sentence
    assert "[02 Jan 2026 ↔ 23 Nov 2031], tokens 0 to " in found.evidence


def test_a_day_is_offered_where_it_can_be_told_and_ends_the_finding() -> None:
    from dataclasses import replace

    from case_runner import run

    from sftui.findings import CODES

    case = CODES["TPL005"].bad
    (found,) = run(case).of("TPL005")
    assert found.fix is not None and [change.path for change in found.fix.changes] == ["render.date"]
    pinned = {"render.date": "2026-11-01"}
    assert run(replace(case, changes={**case.changes, **pinned})).of("TPL005") == []
    told = run(replace(case, preset="trl@1.16", changes={**case.changes, **pinned})).of("TPL005")
    assert [one.fix.title for one in told if one.fix] == ["write the date into a copy of the template"]
