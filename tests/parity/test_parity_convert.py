"""Rows before and after `sftui convert` through the real, installed trainers.

Where a trainer reads both, it must make the same ids (and labels) of them; where it does not read the rows as they are,
it must raise what sftui says that it raises. What it makes of the converted rows is what sftui says, always.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import environments
import pytest
from case import python_of
from converting import IDS, MENDED, NEVER, OTHER, SAME, STOPS, UNREAD
from test_parity_fixes import Runners
from trainers import having, module_of

sys.path.append(str(Path(__file__).parents[1] / "unit" / "repairs"))
from conversions import SHAPES

from sftui import trainers
from sftui.findings.rule import TO_MESSAGES
from sftui.recipe import changed
from sftui.session.options import OpenOptions
from sftui.session.ready import Ready, open_data, tokenized
from sftui.session.repairing import conversion_of, reading_messages, session_plan, write_repaired
from sftui.session.verifying import Verification, verify

pytestmark = pytest.mark.parity
TOKENIZER = "builtin:chatml"
HELD = {trainer: module_of(trainer, "convert") for trainer in having("convert")}
CASES = [
    (trainer, name, told) for trainer, held in HELD.items() for name, told in (*held.FILES.items(), *held.MADE.items())
]
TRIED = CASES[:: int(os.environ.get("SFTUI_PARITY_EACH") or 1)]
"""Each goes through a trainer twice, whole: of all the share that `SFTUI_PARITY_EACH` asks for."""
PARQUET = ("gsm8k_test.jsonl", "sharegpt", "two calls behind a thought", "calls and tools as text")
"""What is also written as Parquet, for the trainer that reads nothing else."""


@pytest.fixture(scope="module")
def runners() -> Iterator[Runners]:
    made = Runners()
    yield made
    made.close()


class Asked:
    """One trainer's environment, and the last records that it gave."""

    def __init__(self, runners: Runners, preset: str, version: str) -> None:
        self.runners, self.preset, self.version = runners, preset, version
        self.error: Mapping[str, Any] | None = None
        self.rows: dict[int, tuple[list[int], list[int]]] = {}

    def __call__(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        head, records = self.runners.ask(self.preset, request)
        self.error = head["error"]
        self.rows = {one["row"]: (one["input_ids"], one["labels"]) for one in records if one["kind"] == "row"}
        return head, records

    def verified(self, session: Ready) -> Verification:
        """The real trainer on all rows: as sftui says, be it that it stops."""
        done = verify(session, range(session.source.count().rows), self)
        assert not done.differences, done.sentences
        return done


def opened(data: Path, preset: str, *, converted: bool = False, repairs: tuple[str, ...] = ()) -> Ready:
    recipe = changed(trainers.preset(preset), "length.max", 4096)
    recipe = changed(recipe, "render.template", getattr(HELD[recipe.trainer], "TEMPLATE", recipe.render.template))
    recipe = reading_messages(recipe) if converted else recipe
    options = OpenOptions((str(data),), recipe=changed(recipe, "tokenizer.name", TOKENIZER))
    session = tokenized(open_data(options, repairs=repairs)).ready()
    for _ in session.rows():
        pass
    return session


def material(name: str, shared: Path, folder: Path) -> Path:
    if name not in SHAPES:
        return shared / "testdata" / "datasets" / name
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(SHAPES[name][0]) + "\n" for _ in range(3)))
    return path


@pytest.mark.parametrize(("trainer", "name", "told"), TRIED, ids=[f"{trainer}-{name}" for trainer, name, _ in TRIED])
def test_a_trainer_makes_of_converted_rows_what_it_made_of_them(
    trainer: str, name: str, told: str, runners: Runners, shared: Path, tmp_path: Path, capsys: Any
) -> None:
    preset, version = HELD[trainer].PRESET, environments.version_of(HELD[trainer].PRESET)
    if not python_of(trainer, version).exists():
        pytest.skip(f"{trainer}@{version} has no environment: run tests/parity/environments.py {trainer}")
    asked = Asked(runners, preset, version)
    before = opened(material(name, shared, tmp_path), preset)
    count, out = before.source.count().rows, tmp_path / "new.jsonl"
    plan = session_plan(None, (TO_MESSAGES,), conversion=conversion_of(before.stored, before.recipe, before.detected))
    for _ in write_repaired(before, plan, out, None):
        pass
    was = asked.verified(before)
    rows, error = asked.rows, asked.error
    before.close()

    after = opened(out, preset, converted=True)
    now = asked.verified(after)
    after.close()
    if told == UNREAD:
        assert error is not None and was.refused is not None and before.refused is not None
        raised = " ".join(f"{error['type']}: {error['message']}".split())
        assert raised in before.refused.sentence(), (raised, before.refused.sentence())
        assert asked.error is None and now.units == count
    elif told == NEVER:
        assert error is not None and was.refused is not None and asked.error is not None and now.refused is not None
    elif told == MENDED:
        assert error is not None and was.refused is not None and asked.error is None
    elif told == STOPS:
        assert error is not None and asked.error is not None and error["message"] == asked.error["message"]
    else:
        assert error is None and asked.error is None, (error, asked.error)
        ids = sum(row in asked.rows and made[0] == asked.rows[row][0] for row, made in rows.items())
        same = sum(made == asked.rows.get(row) for row, made in rows.items())
        wanted = {SAME: (len(rows), len(rows)), IDS: (len(rows), same)}.get(told, (ids, same))
        assert (ids, same) == wanted and len(asked.rows) >= len(rows) and rows, (ids, same, len(rows), len(asked.rows))
        if told == IDS:
            assert same < len(rows)
        if told == OTHER:
            assert ids < len(rows)
    with capsys.disabled():
        print(f"\nconvert: {trainer} {version}, {name}: {count} rows, {told}")


@pytest.mark.parametrize("name", PARQUET)
def test_verl_reads_the_parquet_that_is_written_for_it(
    name: str, runners: Runners, shared: Path, tmp_path: Path, capsys: Any
) -> None:
    preset, version = HELD["verl"].PRESET, environments.version_of(HELD["verl"].PRESET)
    if not python_of("verl", version).exists():
        pytest.skip(f"verl@{version} has no environment: run tests/parity/environments.py verl")
    made = []
    for out in (tmp_path / "new.jsonl", tmp_path / "new.parquet"):
        before = opened(material(name, shared, tmp_path), preset)
        conversion = conversion_of(before.stored, before.recipe, before.detected)
        for _ in write_repaired(before, session_plan(None, (TO_MESSAGES,), conversion=conversion), out, None):
            pass
        before.close()
        asked = Asked(runners, preset, version)
        after = opened(out, preset, converted=True)
        assert asked.verified(after).units or asked.error is not None
        after.close()
        made.append((asked.rows, asked.error and asked.error["message"]))
    assert made[0] == made[1], "as where pandas stores the lines"
    with capsys.disabled():
        print(f"\nconvert: verl {version}, {name} as Parquet: {len(made[1][0])} rows")


def test_every_shape_and_every_trainer_is_held() -> None:
    asked: Sequence[str] = [trainer for trainer, _, _ in CASES]
    assert set(asked) == set(HELD) and len(CASES) > 50
