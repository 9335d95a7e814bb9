"""The waste table against the real TRL: its own packs and its own collator, on the same lengths (marker parity)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from case import python_of

from sftui.audit.waste import by_length
from sftui.recipe import changed
from sftui.session.options import OpenOptions
from sftui.session.ready import open_data, tokenized
from sftui.session.waste import sizes_of, waste_lines, waste_table
from sftui.trainers import preset
from sftui.trainers.held_out import permuted

LENGTHS = [3, 40, 9, 120, 5, 60, 33, 64, 65, 1, 200, 17] * 120
REAL = """
import json, sys
from datasets import Dataset
from trl.data_utils import pack_dataset
from trl.trainer.sft_trainer import DataCollatorForLanguageModeling
lengths, limits, size = json.load(sys.stdin)
for strategy in ("none", "bfd", "bfd_split", "wrapped"):
    for limit in limits:
        rows = Dataset.from_dict({"input_ids": [[7] * (min(n, limit) if strategy == "none" else n) for n in lengths]})
        if strategy != "none":
            rows = pack_dataset(rows, limit, strategy)
        flat = strategy.startswith("bfd")
        collate = DataCollatorForLanguageModeling(pad_token_id=0, padding_free=flat)
        made, steps, tokens, positions = list(rows), 0, 0, 0
        for at in range(0, len(made), size):
            batch = made[at : at + size]
            steps += 1
            tokens += sum(len(row["input_ids"]) for row in batch)
            positions += collate(batch)["input_ids"].numel()
        print(json.dumps([strategy, limit, tokens, positions - tokens, steps]))
"""


GROUPS = """
import json, sys
import torch
from transformers.trainer_pt_utils import get_length_grouped_indices
lengths, order, size = json.load(sys.stdin)
torch.randperm = lambda count, generator=None: torch.tensor(order)
print(json.dumps(get_length_grouped_indices(lengths, size)))
"""


@pytest.mark.parity
def test_transformers_groups_rows_by_length_so() -> None:
    python = python_of("trl", "1.16.0")
    if not python.exists():
        pytest.skip("trl@1.16.0 has no environment: run tests/parity/environments.py trl")
    for lengths in (LENGTHS, LENGTHS[:10]):
        asked = json.dumps([lengths, permuted(0, len(lengths)), 4])
        done = subprocess.run([python, "-c", GROUPS], input=asked, capture_output=True, text=True, check=True)
        assert by_length(lengths, 4) == json.loads(done.stdout)


@pytest.mark.parity
def test_trl_packs_and_pads_so(tmp_path: Path) -> None:
    python = python_of("trl", "1.16.0")
    if not python.exists():
        pytest.skip("trl@1.16.0 has no environment: run tests/parity/environments.py trl")
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"input_ids": [7] * length}) + "\n" for length in LENGTHS))
    recipe = changed(preset("trl@1.16"), "tokenizer.name", "builtin:chatml")
    ready = tokenized(open_data(OpenOptions((str(path),), recipe=recipe)), "provisional").ready()
    *_, sizes = sizes_of(ready)
    table = waste_table(ready, sizes, (64, 100), ("none", "bfd", "bfd_split", "wrapped"))
    lines = [step() for step in waste_lines(ready, sizes, table)]
    ours = [[line.strategy, line.limit, line.tokens, line.padding, line.steps] for line in lines]
    asked = json.dumps([LENGTHS, table.limits, recipe.batch.size])
    done = subprocess.run([python, "-c", REAL], input=asked, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert ours == [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
