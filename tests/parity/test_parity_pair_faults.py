"""What the docs say that releases do to preferences is what they do (marker parity)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from case import environment, python_of
from staying_runner import runner_stays  # noqa: F401 — of every test here

from sftui.cli import main

sys.path.append(str(Path(__file__).parents[1] / "docs"))
from pair_faults import FAULTS, Fault

pytestmark = pytest.mark.parity
RELEASES = {"trl@1.16": "1.16.0", "llamafactory@0.9": "0.9.5", "axolotl@0.21": "0.21.0"}
"""Of others the recorded cases of ../shared are compared (test_trainers_trl_pairs.py)."""


@pytest.mark.parametrize("fault", [one for one in FAULTS if one.trainer in RELEASES], ids=lambda one: one.says[:40])
def test_the_trainer_makes_the_same(fault: Fault, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trainer = fault.trainer.partition("@")[0]
    if not environment(trainer, RELEASES[fault.trainer]).exists():
        pytest.skip(f"{fault.trainer} has no environment: run tests/parity/environments.py {trainer}")
    data = tmp_path / "pairs.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in fault.rows))
    words = ["verify", str(data), "-t", f"builtin:{fault.tokenizer}", "--trainer", fault.trainer]
    words += ["--set", f"loss.objective={fault.objective}"]
    for path, value in fault.knobs.items():
        words += ["--set", f"{path}={json.dumps(value) if not isinstance(value, str) else value}"]
    with pytest.raises(SystemExit) as done:
        main([*words, "--python", str(python_of(trainer, RELEASES[fault.trainer]))])
    out, err = capsys.readouterr()
    assert not done.value.code and f"{len(fault.rows)} of {len(fault.rows)} row" in out, out + err
