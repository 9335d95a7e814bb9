"""What was tried and helps, put in force for a Python call: nothing is asked, and nothing written over unasked."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sftui.exports.files import refuse_existing
from sftui.exports.report_model import AuditReport, FixOutcome
from sftui.repairs.run import RunCounts
from sftui.session.fixing import plan_fix, put_in_force
from sftui.session.inputs import inputs_of
from sftui.session.ready import Ready
from sftui.session.repairing import WriteProgress, write_repaired

NAMES = {"knobs": "set", "recipe_file": "recipe"}
"""What options of the command line are called in a call, where that is not the same."""


def fixed(
    session: Ready,
    found: AuditReport,
    folder: str,
    drop: Sequence[str],
    overwrite: bool,
    named: bool,
    again: Callable[[Any, Mapping[str, Any]], AuditReport],
) -> FixOutcome:
    """What came of the cures of a check. `named`: the tokenizer was given by its name; `again` opens what was written,
    with other options, and checks it. SftuiError."""
    plan = plan_fix(session, found, Path(folder), drop)
    inputs = inputs_of(session.options)
    for file in plan.written:
        inputs.refuse(file)
        refuse_existing(file, overwrite)
    more = {NAMES.get(name, name): value or None for name, value in plan.opening.items()}
    data = more.pop("data", None) or session.options.paths
    if not named:
        more.pop("tokenizer", None)

    def rows(target: Path, log: Path) -> WriteProgress:
        last = deque(write_repaired(plan.session, plan.rows, target, log), maxlen=1)
        return last[0] if last else WriteProgress(RunCounts())

    return put_in_force(plan, rows, lambda: again(data, more))
