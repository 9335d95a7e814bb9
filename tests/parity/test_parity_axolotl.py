"""Axolotl's packed batches against sftui's: bins, ids, labels, attention mask and position ids (marker parity).

The other rows of Axolotl are compared in test_parity_trainers.py, as every trainer's are.
"""

from __future__ import annotations

from typing import Any

import pytest
import record as recorder
from case import Case, cases_of, result_path, shared_folder
from emulate import Emulated, emulate

from sftui.trainers import trainer_named
from sftui.trainers.axolotl.packing import packs_of
from sftui.trainers.verify.session import read_result

pytestmark = [pytest.mark.parity, pytest.mark.shared]
CASES = [case for case in cases_of("axolotl") if case.config.get("sample_packing")]


@pytest.mark.parametrize("version", ["0.19.0", "0.18.0"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_packed_batches_are_equal(version: str, case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    if not shared_folder().is_dir() or not recorder.current("axolotl", version, case):
        pytest.skip(f"there is no reference of {case.name}: run record.py axolotl@{version}")
    head, records = read_result(result_path("axolotl", version, case))
    if head["error"] is not None:
        pytest.skip(f"Axolotl stops: {head['error']['message'][:80]}")
    ours = emulate("axolotl", version, case)
    batches = [one for one in records if one["kind"] == "batch"]
    assert batches
    for number, batch in enumerate(batches):
        compare(number, batch, ours, case)
    with capsys.disabled():
        print(f"\n{case.name} (axolotl {version}): {len(batches)} batches of {sum(len(b['bins']) for b in batches)} packs equal")


def compare(number: int, batch: dict[str, Any], ours: Emulated, case: Case) -> None:
    """One recorded batch: its bins where the sampler is sequential, and the rectangle in any case."""
    assert ours.recipe is not None and ours.tools is not None, ours.refused
    trainer = trainer_named("axolotl")
    rows = [row for row in ours.rows]
    examples = [ours.rows[row][0] for row in rows]
    bins, at = [], 0
    for size in batch["bins"]:
        bins.append([rows.index(row) for row in batch["rows"][at : at + size]])
        at += size
    packs = packs_of(examples, bins, ours.recipe.batch.attention)
    if case.config.get("curriculum_sampling"):
        made = trainer.pack(examples, ours.recipe, ours.tools)
        per_batch = len(batch["bins"])
        assert [[index for index, _, _ in pack.documents] for pack in made[number * per_batch : (number + 1) * per_batch]] == bins
        packs = made[number * per_batch : (number + 1) * per_batch]
    mine = trainer.collate_packs(packs, ours.recipe, ours.tools)
    for name in ("input_ids", "labels", "attention_mask", "position_ids"):
        got = getattr(mine, name)
        assert (got is not None) == (name in batch), name
        if got is not None:
            assert [list(row) for row in got] == batch[name], f"batch {number}: {name}"
