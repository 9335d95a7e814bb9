"""TRL 1.16: every golden record, ids and labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from golden_records import Case, Pair, cases, inspect, kept, toolbox, with_knobs

from sftui.recipe import Recipe
from sftui.trainers import preset, trainer_named

KNOBS: Mapping[str, Any] = {
    "max_length": "length.max",
    "packing_strategy": "pack.strategy",
    "pad_to_multiple_of": "batch.multiple",
    "padding_free": "batch.flatten",
    "eos_token": "tokenizer.eos_token",
}


def recipe_of(case: Case) -> Recipe:
    """The recipe that a TRL config stands for, by hand (the config reader has tests of its own)."""
    recipe = preset("trl@1.16")
    cfg = dict(case.config.get("cfg", {}))
    knobs: dict[str, Any] = {}
    options: dict[str, Any] = {}
    if cfg.pop("assistant_only_loss", False):
        knobs["mask.rule"] = "generation_tag"
        if cfg.get("completion_only_loss") is not None:
            options["completion_only_loss"] = cfg["completion_only_loss"]
    elif cfg.get("completion_only_loss") is not None:
        knobs["mask.rule"] = "completion" if cfg["completion_only_loss"] else "all"
    cfg.pop("completion_only_loss", None)
    if cfg.pop("truncation_mode", "keep_start") == "keep_end":
        knobs["length.over"] = "cut_left"
    if "dataset_text_field" in cfg:
        options["dataset_text_field"] = cfg.pop("dataset_text_field")
    if cfg.pop("packing", False):
        knobs["pack.strategy"] = cfg.pop("packing_strategy", "bfd")
        knobs["batch.flatten"] = knobs["pack.strategy"] != "wrapped"
    for key, value in cfg.items():
        knobs[KNOBS[key]] = value
    knobs |= {f"own.{name}": value for name, value in options.items()}
    return with_knobs(recipe, knobs)


def rows_of(case: Case) -> list[dict[str, Any]]:
    """The rows; a formatting_func, which is Python, is applied here as TRL would."""
    rows = [dict(row) for row in case.rows]
    if case.name.startswith("H2"):
        rows = [{**row, "text": f"Q: {row['q']} A: {row['a']}"} for row in rows]
    return rows


def produced(case: Case, shared: Path) -> list[Pair]:
    """Dataset rows first, as TRL stores them, then its first batch: what the probe recorded."""
    recipe = recipe_of(case)
    tools = toolbox(shared, case, bos="BOS" in case.name)
    if recipe.tokenizer.eos_token:
        tools = replace(tools, tokenizer=tools.tokenizer.overriding(eos=recipe.tokenizer.eos_token))
    inspections = inspect(rows_of(case), recipe, tools)
    problems = [one.problem for one in inspections if one.problem]
    assert not problems, problems
    trainer = trainer_named("trl")
    examples = [one.example for one in inspections if one.example]
    if recipe.pack.strategy == "none":
        batch = trainer.collate(examples[:2], range(len(examples[:2])), recipe, tools)
        return [*kept(inspections)[:3], (batch.input_ids[0], batch.labels[0])]
    packs = tuple(trainer.pack(examples, recipe, tools))
    stored = [(pack.input_ids, pack.labels) for pack in packs][:3]
    batch = trainer.collate_packs(packs[:2], recipe, tools)
    return [*stored, (batch.input_ids[0], batch.labels[0])]


@pytest.mark.shared
def test_every_golden_record_of_trl(shared: Path) -> None:
    equal = total = 0
    wrong: list[str] = []
    for case in cases(shared, "trl 1.16"):
        found = produced(case, shared)
        for i, expected in enumerate(case.expected):
            total += 1
            if i < len(found) and expected == found[i]:
                equal += 1
            else:
                wrong.append(f"{case.name} record {i}: {expected}, sftui {found}")
    print(f"\n{equal} of {total} golden records equal (trl 1.16.0)")
    assert not wrong, "\n".join(wrong[:5])
