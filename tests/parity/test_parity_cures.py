"""What sftui offers against the findings of all bad examples and broken sets, put in force and prepared by the real,
installed trainer (marker parity).

The trainer makes of the rows as they are what sftui shows. Then the cure is applied, as `check --fix` applies it, and
the trainer, given the config of the new recipe and the repaired rows, again makes what sftui shows; in it the finding
is gone, and no row, answer or error is worse.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from pathlib import Path

import environments
import pytest
from case import python_of
from test_parity_fixes import Runners, verified
from trainers import having, module_of

sys.path.append(str(Path(__file__).parents[1] / "unit" / "findings"))
from test_findings_trial import cases, cured, problems_of, symptoms

from sftui import trainers
from sftui.errors import SftuiError
from sftui.findings import Fix
from sftui.findings.catalogue import cures_of
from sftui.findings.rule import Case
from sftui.session.ready import Ready, ready_under
from sftui.session.trial import changed_by

pytestmark = pytest.mark.parity
RECIPES = {"ms-swift": {"render.template": "ms-swift/qwen2_5"}}
"""What a trainer must be told that has no model to go by."""
UNSTORABLE = "with no child field to Parquet"
"""What pyarrow says of an object without keys: verl reads only Parquet, so that such rows never come to it."""
OVER = "the chat template exceeds its limits"
"""Of rows that are too much for sftui, which says so and not what the trainer does; and these can fill the memory."""


def cases_of(trainer: str, preset: str) -> Iterator[tuple[str, Case]]:
    """The bad examples under a trainer, and its broken sets; of the examples the share that SFTUI_PARITY_EACH asks
    for."""
    own = (
        one
        for one in cases(presets=(preset,))
        if one[1].preset == preset and "tokenizer.transformers" not in one[1].changes  # the environment has its own
    )
    for code, case in islice(own, 0, None, int(os.environ.get("SFTUI_PARITY_EACH") or 1)):
        yield code, replace(case, changes={**RECIPES.get(trainer, {}), **case.changes})
    for one in module_of(trainer, "broken").BROKEN:
        if one.preset == preset:
            yield one.code, Case(list(one.rows), preset=preset, changes=one.changes, template=one.template)


def agrees(session: Ready, runners: Runners, count: int) -> str:
    """How the trainer's rows differ from those of sftui; "" where they do not."""
    try:
        verified(session, runners, count)
    except SftuiError as error:
        return str(error)
    except (AssertionError, pytest.fail.Exception) as error:
        runners.close()  # where it died, another one goes on
        return " … ".join((str(error)[:200], str(error)[-100:]))
    return ""


@pytest.mark.parametrize("trainer", having("broken"))
def test_an_offered_cure_is_what_the_trainer_does(
    trainer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    preset = next(
        (
            one
            for version in trainers.traits_of(trainer).versions
            if python_of(trainer, environments.version_of(one := f"{trainer}@{version}")).exists()
        ),
        None,
    )
    if preset is None:
        pytest.skip(f"{trainer} has no environment: run tests/parity/environments.py {trainer}")
    told, wrong, runners = Counter[str](), list[str](), Runners()
    try:
        for name, session, before, finding in symptoms(cases_of(trainer, preset), tmp_path):
            if any(row.problem is not None and OVER in row.problem.sentence() for row in before.rows):
                continue
            cure = next(iter(cures_of(cured(session, finding))), None)
            if cure is None or (isinstance(cure, Fix) and any(change.path == "preset" for change in cure.changes)):
                continue
            told["tried"] += 1
            with ExitStack() as files:
                after = ready_under(session, *changed_by(session, (cure,), files))
                here = [*problems_of(session, before, finding, cure)]
                unlike = agrees(session, runners, len(before.rows))
                why = next(iter(here), "") or agrees(after, runners, len(before.rows))
            if UNSTORABLE in f"{unlike}{why}":
                told["tried"] -= 1
                continue
            told["unlike before" if unlike else "not held" if why else "held"] += 1
            if unlike or why:
                wrong.append(f"{name}, {cure}: {unlike and f'before: {unlike}; '}{why}")
    finally:
        runners.close()
    with capsys.disabled():
        print(f"\n{preset}:", ", ".join(f"{count} {what}" for what, count in told.items()), *wrong, sep="\n  ")
    assert not wrong and told["held"]
