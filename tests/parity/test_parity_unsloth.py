"""Unsloth: every recorded case, every row; `pytest -m parity -s tests/parity/test_parity_unsloth.py`.

train_on_responses_only removes the column that numbers the rows, so its rows are compared in order,
dropped rows left out on both sides. Where the real trainer stops because every row is fully masked,
sftui must drop every row.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import emulate as emulator
from case import Case, cases_of, result_path
from emulate import Emulated, folder_of, short, through

from sftui import pipeline
from sftui.errors import SftuiError
from sftui.recipe import changed
from sftui.sources import SourceSpec, open_source
from sftui.tokens import load_tokenizer
from sftui.trainers import trainer_named
from sftui.trainers.verify.session import read_result

pytestmark = [pytest.mark.parity]
VERSIONS = ("2026.10.7", "2026.8.13")
# unsloth's own loader gives every tokenizer a pad token; without it DataCollatorForSeq2Seq stops after the rows were made.
EVERYTHING_MASKED = ("masked every label", "masked all/most labels")


def emulated(version: str, case: Case, trl: str, tmp_path: Path) -> Emulated:
    """sftui's reading; the environment's TRL is told, and padding as unsloth_zoo alone does it, by the tokenizer's side."""
    text, path = emulator.config_text("unsloth", case, tmp_path)
    trainer = trainer_named("unsloth")
    try:
        opened = trainer.read_config(str(path), f"{text}\ntrl_version: '{trl}'\n", short(version))
        recipe = changed(opened.recipe, "batch.pad_side", "tokenizer") if opened.recipe.mask.rule == "markers" else opened.recipe
        source = open_source(SourceSpec(opened.datasets[0].paths))
        rows = list(source.rows())
        source.close()
        tools = pipeline.make_toolbox(recipe, load_tokenizer(str(folder_of(case))))
        detected = pipeline.detect(rows[:200], recipe)
        return through("unsloth", rows, detected, recipe, pipeline.survey(rows[0], detected, recipe, tools))
    except SftuiError as error:
        return Emulated(refused=str(error))


def differences(head: Mapping[str, Any], records: Sequence[Mapping[str, Any]], ours: Emulated) -> tuple[int, int, list[str]]:
    """(rows equal, rows in all, what differs)."""
    if head["error"] is not None and not ("Asking to pad" in head["error"]["message"] and head.get("kept")):
        masked = any(words in head["error"]["message"] for words in EVERYTHING_MASKED)
        refused = (not ours.rows and not ours.problems) if masked else bool(ours.refused or ours.problems)
        return int(refused), 1, [] if refused else [f"Unsloth stops with {head['error']['message'][:120]}; sftui does not"]
    if ours.refused is not None:
        return 0, head["rows_in"], [f"sftui refuses: {ours.refused}"]
    wrong = [f"row {row}: sftui stops: {problem}" for row, problem in ours.problems.items()]
    rows = [record for record in records if record["kind"] in ("row", "pack")]
    packed = ours.recipe is not None and ours.recipe.pack.strategy != "none"
    mine = [(list(pack.input_ids), list(pack.labels)) for pack in ours.packs]
    if not packed:
        mine = [(list(one.input_ids), list(one.labels)) for made in ours.rows.values() for one in made]
        numbers = [record["row"] for record in rows]
        if None not in numbers and numbers != list(ours.rows):
            wrong.append("other rows are kept")
    equal = sum((record["input_ids"], record["labels"]) == pair for record, pair in zip(rows, mine))
    wrong += [f"record {i} differs" for i, (record, pair) in enumerate(zip(rows, mine)) if (record["input_ids"], record["labels"]) != pair][:5]
    if len(rows) != len(mine):
        wrong.append(f"{len(rows)} kept by Unsloth, {len(mine)} by sftui")
    wrong += batches([record for record in records if record["kind"] == "batch"], ours, packed)
    dropped = 0 if packed else max(0, head["rows_in"] - len(rows)) if len(rows) == len(mine) else 0
    return equal + dropped, (len(rows) if packed else head["rows_in"]), wrong


def batches(found: Sequence[Mapping[str, Any]], ours: Emulated, packed: bool) -> list[str]:
    """Differences of the first batches, tensor by tensor."""
    assert ours.recipe is not None and ours.tools is not None
    trainer, done, wrong = trainer_named("unsloth"), 0, []
    examples = [one for made in ours.rows.values() for one in made]
    for number, batch in enumerate(found):
        size = len(batch["rows"])
        chosen: Any = (ours.packs if packed else examples)[done : done + size]
        made = trainer.collate_packs(chosen, ours.recipe, ours.tools) if packed else trainer.collate(chosen, range(size), ours.recipe, ours.tools)
        done += size
        for name in ("input_ids", "labels", "attention_mask", "position_ids"):
            if name in batch and [list(row) for row in getattr(made, name) or ()] != batch[name]:
                wrong.append(f"batch {number}: {name} differ")
    return wrong


@pytest.mark.parametrize("version", VERSIONS)
def test_every_recorded_case(version: str, tmp_path: Path) -> None:
    wanted = [case for case in cases_of("unsloth") if not case.only or version in case.only]
    recorded = [case for case in wanted if result_path("unsloth", version, case).exists()]
    if not recorded:
        pytest.skip(f"no references of unsloth {version}: run `python tests/parity/record.py unsloth@{version}`")
    equal = total = 0
    wrong: list[str] = []
    for case in recorded:
        head, records = read_result(result_path("unsloth", version, case))
        ours = emulated(version, case, head["versions"]["trl"], tmp_path)
        same, rows, found = differences(head, records, ours)
        print(f"{'ok  ' if not found else 'DIFF'} {case.name:40} {same} of {rows}{' (refused by both)' if head['error'] and same else ''}", flush=True)
        if head["error"] is None:
            equal, total = equal + same, total + rows
        wrong += [f"{case.name}: {one}" for one in found]
    print(f"unsloth {version}: {equal} of {total} rows equal in {len(recorded)} of {len(wanted)} cases")
    assert not wrong, "\n".join(wrong)
