"""Axolotl 0.19 and 0.18: every golden record, ids and labels, read from the trainer's own keys."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from golden_records import Case, Pair, cases, inspect, kept, tokenizer

from sftui import pipeline
from sftui.recipe import Recipe
from sftui.templates import compile_template
from sftui.trainers import Toolbox, trainer_named
from sftui.trainers.versions import rendering_by

VERSIONS = ("0.19.0", "0.18.0")


def recipe_of(case: Case, version: str) -> Recipe:
    """The recipe of the config that the probe wrote."""
    import yaml

    dataset: Mapping[str, Any] = case.dataset or {"type": "chat_template"}
    config = {
        "base_model": "golden",
        "sequence_len": 256,
        "shuffle_merged_datasets": False,
        **case.config.get("cfg", {}),
        "datasets": [{"path": "x.jsonl", "ds_type": "json", **dataset}],
    }
    return trainer_named("axolotl").read_config("c.yml", yaml.safe_dump(config), version).recipe


def produced(case: Case, version: str, shared: Path) -> list[Pair]:
    recipe = recipe_of(case, version)
    # The record holds the template and EOS that were in force; the model's own came from the probe.
    eos = (
        "<|im_end|>" if "X8" not in case.name and "X9" not in case.name and "X10" not in case.name else "<|endoftext|>"
    )
    tools = pipeline.make_toolbox(recipe, tokenizer(shared, eos=eos, pad=case.pad))
    if not tools.templates:
        rendering = rendering_by(recipe)
        template = compile_template(case.template, "golden", rendering=rendering)
        tools = Toolbox(tools.tokenizer, {"default": template}, "golden")
    inspections = inspect(case.rows, recipe, tools)
    problems = [one.problem for one in inspections if one.problem]
    assert not problems, problems
    return kept(inspections)[:3]


@pytest.mark.shared
@pytest.mark.parametrize("version", VERSIONS)
def test_every_golden_record_of_axolotl(version: str, shared: Path) -> None:
    equal = total = 0
    wrong: list[str] = []
    for case in cases(shared, f"axolotl {version}"):
        found = produced(case, version, shared)
        for i, expected in enumerate(case.expected):
            total += 1
            if i < len(found) and expected == found[i]:
                equal += 1
            else:
                wrong.append(f"{case.name} record {i}: {expected}, sftui {found}")
        if len(case.expected) < 3 and len(found) != len(case.expected):
            wrong.append(f"{case.name}: {len(found)} rows kept, Axolotl keeps {len(case.expected)}")
    print(f"\n{equal} of {total} golden records equal (axolotl {version})")
    assert not wrong, "\n".join(wrong[:5])
