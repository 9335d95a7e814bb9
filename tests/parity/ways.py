"""sftui by every way in which it prepares rows, against one reference: `python ways.py TRAINER [--three …] [CASE…]`.

    one by one   each row alone, its template rendered, by `tokenizers`: what the screen shows
    tokenizers   in chunks, with skeletons, without gigatoken
    gigatoken    the same with gigatoken from the first row on
    encode       `sftui encode` itself, in a process of its own, row by row against `one by one` (packing switched off)

The references are those of compare.py, which takes the same options; the whole of its tables by `--new`, `--two`,
`--three` and `--shared`. Counts are printed for each way.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import compare as comparing
import record as recorder
from case import REPO, Case, python_of, result_path
from compare import judge
from emulate import Emulated, Way, emulate, environment_of, folder_of

from sftui import pipeline, recipe_io
from sftui.conversations import Detection
from sftui.model import Inspection, Row
from sftui.recipe import Recipe
from sftui.session.verifying import piece
from sftui.tokens.shortcuts.bulk import Bulk
from sftui.trainers import Toolbox, preset
from sftui.trainers.verify.difference import Piece, piece_of
from sftui.trainers.verify.session import read_result

ENCODE = "encode"


@dataclass
class Used:
    """Which rows each way took by which means: what a run that says nothing differs must have used."""

    rows: Counter[str] = field(default_factory=Counter)

    def one_by_one(self, rows: Sequence[Row], detected: Detection, recipe: Recipe, tools: Toolbox) -> list[Inspection]:
        with mock.patch("sftui.templates.shortcuts.skeletons.Skeletons.see", lambda self, asked: None):
            return [pipeline.inspect(row, detected, recipe, tools) for row in rows]

    def tokenizers(self, rows: Sequence[Row], detected: Detection, recipe: Recipe, tools: Toolbox) -> list[Inspection]:
        return self._chunks(rows, detected, recipe, tools, Bulk("never"))

    def gigatoken(self, rows: Sequence[Row], detected: Detection, recipe: Recipe, tools: Toolbox) -> list[Inspection]:
        bulk = Bulk("never")
        bulk.faster(tools.tokenizer, ())
        self.rows["encoded by gigatoken"] += len(rows) * (bulk.engine == Bulk.FAST)
        return self._chunks(rows, detected, recipe, tools, bulk)

    def _chunks(
        self, rows: Iterable[Row], detected: Detection, recipe: Recipe, tools: Toolbox, bulk: Bulk
    ) -> list[Inspection]:
        found = list(pipeline.inspect_all(rows, detected, recipe, tools, bulk))
        assert bulk.mismatch is None, bulk.mismatch
        for template in tools.templates.values():
            assert template.skeletons.mismatch is None, template.skeletons.mismatch
            self.rows["put together by skeletons"] += template.skeletons.put_together
        return found


def encoded(trainer: str, version: str, case: Case, ours: Emulated) -> list[str]:
    """What `sftui encode` writes otherwise than `ours` has it, row by row."""
    assert ours.recipe is not None
    with tempfile.TemporaryDirectory() as folder:
        recipe, out = Path(folder, "recipe.yml"), Path(folder, "out.jsonl")
        recipe.write_text(recipe_io.dump(ours.recipe, preset), encoding="utf-8")
        command = [sys.executable, "-m", "sftui", "encode", str(case.data_path()), "--recipe", str(recipe)]
        command += ["-t", str(folder_of(case)), "--unpacked", "-o", str(out)]
        if environment_of(trainer, version) is not None:  # torchtune's has no transformers
            command += ["--env", str(python_of(trainer, version))]
        done = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=False)
        if not out.exists():
            return [f"sftui encode ends with {done.returncode}: {done.stderr[-300:]}"]
        written: dict[int, list[Piece]] = {}
        for line in out.read_text(encoding="utf-8").split("\n"):
            made = json.loads(line) if line else {}
            if "input_ids" in made:
                written.setdefault(made["row"], []).append(piece_of(made))
    mine = {row: [piece(example) for example in made] for row, made in ours.rows.items()}
    return [f"row {row} differs" for row in sorted({*mine, *written}) if mine.get(row) != written.get(row)]


def main(arguments: Sequence[str] | None = None) -> int:
    options, trainer, version, cases = comparing.asked(arguments, __doc__)
    used = Used()
    ways: dict[str, Way] = {
        "one by one": used.one_by_one,
        "tokenizers": used.tokenizers,
        "gigatoken": used.gigatoken,
    }
    rows: Counter[str] = Counter()
    differing: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    recorder.record(trainer, version, cases)
    for case in cases:
        head, records = read_result(result_path(trainer, version, case))
        told: list[str] = []
        first: Emulated | None = None
        for name, way in ways.items():
            begun = time.process_time()
            comparing.on_its_day(trainer, version, case)
            ours = emulate(trainer, version, case, way=way)
            first = first or ours
            one = judge(trainer, case, head, records, ours)
            seconds[name] += round(time.process_time() - begun)
            rows[name] += 0 if one.refusal else one.total
            differing[name] += len(one.differences)
            told += [f"{name}: {difference}" for difference in one.differences[: options.show]]
            if (ours.rows, ours.packs, ours.problems) != (first.rows, first.packs, first.problems):
                differing[name] += not one.differences
                told.append(f"{name}: other than one by one")
        if first is not None and first.refused is None:
            found = encoded(trainer, version, case, first)
            rows[ENCODE] += len(first.rows)
            differing[ENCODE] += len(found)
            told += [f"{ENCODE}: {difference}" for difference in found[: options.show]]
        error = head["error"] and f"; {trainer} stops: {head['error']['type']}: {head['error']['message'][:120]}"
        kept = len(first.rows) if first is not None else 0
        print(
            f"{'DIFF' if told else 'ok  '} {case.name:48} {head['rows_in']} rows, {kept} kept{error or ''}", flush=True
        )
        for difference in told:
            print(f"       {difference}", flush=True)
    for name in (*ways, ENCODE):
        print(
            f"{trainer} {version}, {name}: {rows[name]} rows or packs, {differing[name]} differing, {seconds[name]} s"
        )
    print("; ".join(f"{count} rows {what}" for what, count in used.rows.items()))
    return int(bool(differing.total()))


if __name__ == "__main__":
    sys.exit(main())
