"""Rows that were edited and exported, through the real, installed trainers: they make of the copy what the inspector
showed of the edits (marker parity)."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import environments
import pytest
from case import python_of
from test_parity_convert import HELD, Asked, opened
from test_parity_fixes import Runners

sys.path.append(str(Path(__file__).parents[1] / "unit" / "workspace"))
from test_workspace_written import SHAPES

from sftui.repairs.edits import edit_name
from sftui.session.repairing import session_plan, write_repaired

pytestmark = pytest.mark.parity
EDITS: tuple[Callable[[str, str], tuple[str, str]], ...] = (
    lambda asked, said: (asked, said.replace("teh", "the")),
    lambda asked, said: (f"{asked}\n\nAnswer in one line.", said),
    lambda asked, said: (asked, "No."),
    lambda asked, said: ("¿Cuánto es — 東京?", f"  {said}\n"),
)
"""A word, a longer question, another answer, other scripts with white space at the edges."""
TRIED = [*product(SHAPES, HELD)][:: int(os.environ.get("SFTUI_PARITY_EACH") or 1)]


@pytest.fixture(scope="module")
def runners() -> Iterator[Runners]:
    made = Runners()
    yield made
    made.close()


@pytest.mark.parametrize(("shape", "trainer"), TRIED)
def test_the_trainer_makes_of_the_copy_what_was_shown(
    trainer: str, shape: str, runners: Runners, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fifty rows, each edited, a fifth of the edits undone; where the trainer cannot read the shape, it stops."""
    preset, version = HELD[trainer].PRESET, environments.version_of(HELD[trainer].PRESET)
    if not python_of(trainer, version).exists():
        pytest.skip(f"{trainer}@{version} has no environment: run tests/parity/environments.py {trainer}")
    make, data, out = SHAPES[shape], tmp_path / "data.jsonl", tmp_path / "edited.jsonl"
    texts = [(f"What is {at}?", f"It is {at}, teh end.") for at in range(50)]
    data.write_text("".join(json.dumps(make(*text)) + "\n" for text in texts))
    before = data.read_bytes()
    stored = opened(data, preset)
    names = [edit_name(row, make(*EDITS[row.index % 4](*texts[row.index]))) for row in stored.rows()]
    stored.close()
    shown = opened(data, preset, repairs=tuple(name for at, name in enumerate(names) if at % 5))
    rows = [shown.inspect(at).examples for at in range(50)]
    assert [bool(shown.row(at).repairs) for at in range(50)] == [bool(at % 5) for at in range(50)]
    *_, last = write_repaired(shown, session_plan(None, shown.repairs), out, None)
    shown.close()
    assert last.counts.changed == 40 and data.read_bytes() == before
    asked, copy = Asked(runners, preset, version), opened(out, preset)
    asked.verified(copy)
    copy.close()
    assert (asked.error is None) == any(rows), asked.error
    ids: list[Any] = [(list(one.input_ids), list(one.labels)) for examples in rows for one in examples]
    assert [asked.rows[at] for at in sorted(asked.rows)] == ids
    with capsys.disabled():
        print(f"\nedits: {trainer} {version}, {shape}: {len(ids)} rows equal")
