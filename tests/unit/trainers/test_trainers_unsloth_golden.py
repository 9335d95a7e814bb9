"""Unsloth 2026.10 and 2026.8: every golden record, ids and labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from golden_records import Case, Pair, cases, inspect, rows_of, toolbox, with_knobs

from sftui import pipeline
from sftui.recipe import Recipe
from sftui.trainers import preset

VERSIONS = ("2026.10.7", "2026.8.13")


def recipe_of(case: Case, version: str) -> Recipe:
    """The recipe of a probe's call: U cases are train_on_responses_only alone, P cases the preparation alone."""
    recipe = preset("unsloth@" + ".".join(version.split(".")[:2]))
    keywords = dict(case.config.get("kw", {}))
    if case.name.startswith("P"):
        knobs: dict[str, Any] = {"length.max": keywords.get("max_length", 64)}
        if case.name.startswith("P4"):  # the formatting_func of the probe renders messages
            knobs |= {"own.text_from": "messages", "own.formatting_func": True}
        return with_knobs(recipe, knobs)
    return with_knobs(
        recipe,
        {
            "mask.rule": "markers",
            "mask.instruction_marker": keywords["instruction_part"],
            "mask.response_marker": keywords["response_part"],
            "mask.turns": "last" if keywords.get("last_response_only") else "all",
            "own.text_from": "messages" if case.rows else None,
        },
    )


def produced(case: Case, raw: Any, version: str, shared: Path) -> list[Pair]:
    """Ids and labels before a row is dropped: the probe called the masking function alone."""
    recipe, tools = recipe_of(case, version), toolbox(shared, case)
    rows: list[dict[str, Any]] = list(map(dict, case.rows))
    if case.name.startswith("U"):
        rows = [{"messages": rows}] if rows else [{"text": raw}]
    found = inspect(rows, recipe, tools)
    assert not [one.problem for one in found if one.problem], [one.problem for one in found]
    pairs = []
    for one in found:
        assert one.tokens is not None and one.labels is not None
        start, end = one.labels.kept[0]
        pairs.append((one.tokens.input_ids[start:end], one.labels.labels[start:end]))
        assert (one.example is None) == case.name.startswith("U8")  # Unsloth removes fully masked rows
    return pairs


@pytest.mark.shared
@pytest.mark.parametrize("version", VERSIONS)
def test_every_golden_record_of_unsloth(version: str, shared: Path) -> None:
    import json

    texts = {}
    for line in (shared / "golden" / "golden.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if isinstance(record["rows"], str):
            texts[record["trainer"], record["case"]] = record["rows"]
    equal = total = 0
    wrong: list[str] = []
    for case in cases(shared, f"unsloth_zoo {version}"):
        raw = texts.get((case.trainer, case.name))
        found = produced(case, raw, version, shared)
        for i, expected in enumerate(case.expected):
            total += 1
            if i < len(found) and expected == found[i]:
                equal += 1
            else:
                wrong.append(f"{case.name} record {i}: {expected}, sftui {found}")
    print(f"\n{equal} of {total} golden records equal (unsloth {version})")
    assert not wrong, "\n".join(wrong[:5])
    assert total >= 14


@pytest.mark.shared
def test_markers_are_found_in_the_template(shared: Path) -> None:
    case = next(one for one in cases(shared, "unsloth_zoo 2026.10.7") if one.name.startswith("U1"))
    recipe = with_knobs(preset("unsloth@2026.10"), {"mask.rule": "markers"})
    rows = rows_of([{"messages": list(case.rows)}])
    tools = pipeline.survey(rows[0], pipeline.detect(rows, recipe), recipe, toolbox(shared, case))
    assert (tools.survey.markers.instruction_text, tools.survey.markers.response_text) == (
        "<|im_start|>user\n",
        "<|im_start|>assistant\n",
    )
    assert pipeline.inspect(rows[0], pipeline.detect(rows, recipe), recipe, tools).labels.labels == case.expected[0][1]  # type: ignore[union-attr]


@pytest.mark.shared
def test_messages_need_a_script_before_2026_10(shared: Path) -> None:
    rows = rows_of([{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}])
    refused = pipeline.detect(rows, preset("unsloth@2026.8")).refused
    assert refused is not None and "formatting_func" in refused.what
    assert pipeline.detect(rows, preset("unsloth@2026.10")).refused is None
