"""LLaMA-Factory 0.9.5: every golden record, ids and labels, read from its own keys and dataset entries."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from golden_records import Case, Pair, cases, inspect, kept, tokenizer

from sftui import pipeline
from sftui.recipe import Recipe
from sftui.templates import compile_template
from sftui.trainers import Toolbox, trainer_named

BEFORE = "<|endoftext|>"
"""The EOS of the probe's tokenizer; the records hold the one that the template put in its place."""


def recipe_of(case: Case, folder: Path) -> Recipe:
    """The recipe of the config and entry that the probe wrote."""
    import yaml

    (folder / "dataset_info.json").write_text(json.dumps({"x": {"file_name": "x.json", **case.config.get("info", {})}}))
    config = {"model_name_or_path": "golden", "dataset": "x", "dataset_dir": str(folder), **case.config["da"]}
    return trainer_named("llamafactory").read_config("c.yaml", yaml.safe_dump(config), "0.9").recipe


def produced(case: Case, shared: Path, folder: Path) -> list[Pair]:
    recipe = recipe_of(case, folder)
    tools = pipeline.make_toolbox(recipe, tokenizer(shared, eos=BEFORE, pad=case.pad))
    assert tools.tokenizer.facts.eos_token == case.eos
    if not tools.templates:
        tools = Toolbox(tools.tokenizer, {"default": compile_template(case.template, "golden")}, "golden")
    inspections = inspect(case.rows, recipe, tools)
    problems = [one.problem for one in inspections if one.problem]
    assert not problems, problems
    if recipe.pack.strategy == "none":
        return kept(inspections)
    examples = [one.example for one in inspections if one.example]
    return [(pack.input_ids, pack.labels) for pack in trainer_named("llamafactory").pack(examples, recipe, tools)]


@pytest.mark.shared
def test_every_golden_record_of_llamafactory(shared: Path, tmp_path: Path) -> None:
    equal = total = 0
    wrong: list[str] = []
    for case in cases(shared, "llamafactory"):
        found = produced(case, shared, tmp_path)
        for i, expected in enumerate(case.expected):
            total += 1
            if i < len(found) and expected == found[i]:
                equal += 1
            else:
                wrong.append(f"{case.name} record {i}: {expected}, sftui {found}")
        if len(found) > len(case.expected) and len(case.expected) < 3:
            wrong.append(f"{case.name}: {len(found)} rows kept, LLaMA-Factory keeps {len(case.expected)}")
    print(f"\n{equal} of {total} golden records equal (llamafactory 0.9.5)")
    assert not wrong, "\n".join(wrong[:5])
