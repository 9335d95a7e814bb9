"""Every finding of severity error on the clean real datasets is listed, with why it is real, in real_errors.md.

The ordinary run takes the small sets. `-m parity` takes every row of every set, for each tokenizer a fifth of the
recipes so that every recipe comes once or twice, a ninth in `.ci/run`; SFTUI_PASS=all takes all recipes (a quarter of
an hour), and with SFTUI_GOLDEN=write beside it writes the list anew: read the diff, look at the rows, and say why.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from real_pass import LIST, RECIPES, TOKENIZERS, Cells, Listed, clean_sets, errors, place

FEW = ("builtin:chatml", "builtin:gemma", "phi-3-mini")
LITTLE = (
    "axolotl_conversation.json",
    "axolotl_conversation_missingturns.json",
    "identity_placeholders.json",
    "mllm_demo.json",
    "openai_toy_chat_fine_tuning.jsonl",
    "reason_tool_use_demo_50.jsonl",
    "self_instruct_seed_tasks.jsonl",
    "toolset_tool_text_pairs.jsonl",
    "torchtune_alpaca_tiny.json",
    "torchtune_chat_tiny.json",
    "torchtune_hh_rlhf_tiny.json",
)
"""Sets of at most 175 rows."""


def seen(name: str, presets: tuple[str, ...], files: list[Path], shared: Path) -> Cells:
    found: Cells = {}
    for preset in presets:
        found |= errors(name, preset, files, shared)
    return found


def compare(found: Cells, listed: Cells) -> None:
    flat = [
        {(*section, file, told) for section, sets in cells.items() for file, told in sets.items()}
        for cells in (found, listed)
    ]
    assert flat[0] == flat[1], {"not listed": sorted(flat[0] - flat[1]), "not found": sorted(flat[1] - flat[0])}


@pytest.mark.one_of(3)
@pytest.mark.shared
@pytest.mark.parametrize("name", FEW)
def test_errors_on_small_sets_are_the_listed_ones(name: str, shared: Path) -> None:
    files = [file for file in clean_sets(shared) if file.name in LITTLE]
    listed = Listed.read()
    compare(seen(name, RECIPES, files, shared), listed.of(name, RECIPES, [file.name for file in files]))


@pytest.mark.parity
@pytest.mark.shared
@pytest.mark.parametrize("name", TOKENIZERS)
def test_errors_on_all_rows_are_the_listed_ones(name: str, shared: Path) -> None:
    whole = os.environ.get("SFTUI_PASS") == "all"
    share = 5 if int(os.environ.get("SFTUI_PARITY_EACH") or 1) == 1 else len(TOKENIZERS)
    presets = tuple(
        preset for number, preset in enumerate(RECIPES) if whole or (number + TOKENIZERS.index(name)) % share == 0
    )
    files = clean_sets(shared)
    found = seen(name, presets, files, shared)
    listed = Listed.read()
    if os.environ.get("SFTUI_GOLDEN") == "write":
        listed.put(name, presets, found)
        LIST.write_text(listed.text(), encoding="utf-8")
    compare(found, listed.of(name, presets, [file.name for file in files]))


@pytest.mark.parity
@pytest.mark.shared
def test_processes_find_the_same(shared: Path, tmp_path: Path) -> None:
    """The path of `sftui check` for large sets, against the list."""
    from sftui import trainers
    from sftui.audit.found import Filter
    from sftui.cli.auditing import audited
    from sftui.recipe import changed
    from sftui.session.options import OpenOptions

    name, preset = "phi-3-mini", "axolotl@0.19"
    recipe = changed(trainers.preset(preset), "tokenizer.name", place(name, shared))
    file = shared / "testdata" / "datasets" / "turkish_daily_train.parquet"
    audit = audited(OpenOptions((str(file),), recipe=recipe), Filter(), jobs=2).audit
    [error] = [one for one in audit.found.codes.values() if one.severity.value == "error"]
    assert Listed.read().cells[error.code, preset][name][file.name] == f"{len(set(error.rows))} of {audit.rows}"


def test_every_section_says_why_and_is_in_use() -> None:
    listed = Listed.read()
    assert not [section for section, why in listed.reasons.items() if len(why) < 20 or "WHY?" in why]
    assert not [section for section, by_name in listed.cells.items() if not by_name]
    assert {preset for _, preset in listed.cells} == set(RECIPES)
    assert listed.text() == LIST.read_text(encoding="utf-8")
