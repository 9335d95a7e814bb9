"""sftui against the real trainers, in their own environments (marker parity).

Environments are built by `environments.py`; a trainer without one is skipped. References are
recorded on first use and kept, so a second run only runs sftui. Cases that are marked long are tried with
SFTUI_PARITY_ALL=1.
"""

from __future__ import annotations

import os

import environments
import pytest
import record as recorder
from case import cases_of, environment, shared_folder
from compare import Totals, compare
from rounds import cases_of_each_run

pytestmark = [pytest.mark.parity, pytest.mark.shared]
DEFAULT_ROWS, OTHER_SETTINGS = 2000 // int(os.environ.get("SFTUI_PARITY_EACH") or 1), 12
WHOLE = dict.fromkeys(("verl", "nemo-automodel", "ms-swift"), 10_000)
"""Rows that a trainer encodes in default settings when every case is tried, and every row."""
ALL = bool(os.environ.get("SFTUI_PARITY_ALL"))


@pytest.mark.parametrize("name", [*environments.PACKAGES, *environments.ALSO])
def test_every_case_is_equal(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    trainer, version = environments.split(name)
    if not environment(trainer, version).exists():
        pytest.skip(f"{name} has no environment: run tests/parity/environments.py {name}")
    if not shared_folder().is_dir():
        pytest.skip(f"the shared test data is not at {shared_folder()}")
    cases = [case for case in cases_of(trainer) if case.asked_of(trainer, version) and (ALL or not case.long)]
    cases += cases_of_each_run(trainer)
    assert recorder.record(trainer, version, cases) == 0, "a runner ended without an answer"
    totals = Totals()
    wrong: list[str] = []
    for case in cases:
        found = compare(trainer, version, case)
        wrong += [f"{case.name}: {difference}" for difference in found.differences]
        totals.add(case, found)
    with capsys.disabled():
        print(f"\n{name}: {totals}")
    assert not wrong, f"{len(wrong)} differences:\n" + "\n".join(wrong[:20])
    every = ALL and not os.environ.get("SFTUI_PARITY_EACH")
    assert totals.default >= (WHOLE.get(trainer, DEFAULT_ROWS) if every else DEFAULT_ROWS)
    assert len([case for case in cases if not case.default]) >= OTHER_SETTINGS
