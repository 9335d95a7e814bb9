"""Compare sftui with the recorded references: `python compare.py TRAINER[@VERSION] [CASE…]`.

`--new`, `--two`, `--three`, `--four`, `--five` and `--shared` take those of `rounds`;
without them a trainer's own are taken, the long ones too.

A row is equal when both keep it with the same ids and labels (every piece of it, where the trainer
splits rows), or both drop it. Where the trainer stopped with an error, sftui must refuse: as a
whole, or at least one row, or drop every row. Packs and batches are compared in order. Nothing is hidden.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import environments
import record as recorder
import rounds
from case import Case, cases_of, result_path
from emulate import Emulated, Way, emulate, in_chunks

from sftui.errors import SftuiError
from sftui.model import Batch
from sftui.recipe import changed
from sftui.session.verifying import piece
from sftui.trainers import preset, trainer_named, trainer_of
from sftui.trainers.llamafactory.trainer import LlamaFactory
from sftui.trainers.ms_swift.trainer import MsSwift
from sftui.trainers.verify.difference import pack_differences, parting, row_differences
from sftui.trainers.verify.session import read_result

ALL_BATCHES = 1000
"""A case that asks for more has every batch of the dataset recorded."""


@dataclass
class Comparison:
    """How one case compares: rows (or packs) equal of all, and what differs.

    `made` are those of all that the trainer made samples of, `stopped` those that it stops at; the rest it leaves out.
    """

    case: str
    equal: int = 0
    total: int = 0
    made: int = 0
    differences: list[str] = field(default_factory=list)
    refusal: bool = False
    packs: int = 0
    batches: int = 0
    stopped: int = 0


@dataclass
class Totals:
    """Comparisons together: rows or packs of cases that are not refused as a whole, and those in default settings."""

    rows: int = 0
    equal: int = 0
    made: int = 0
    default: int = 0
    stopped: int = 0
    packs: int = 0
    batches: int = 0

    def add(self, case: Case, found: Comparison) -> None:
        self.packs, self.batches = self.packs + found.packs, self.batches + found.batches
        if found.refusal:
            return
        self.rows, self.equal = self.rows + found.total, self.equal + found.equal
        self.made, self.stopped = self.made + found.made, self.stopped + found.stopped
        self.default += found.made if case.default else 0

    def __str__(self) -> str:
        return (
            f"{self.equal} of {self.rows} rows or packs equal; {self.made} encoded ({self.default} in default"
            f" settings), {self.stopped} stop the trainer; {self.packs} packs and {self.batches} batches compared"
        )


def compare(trainer: str, version: str, case: Case, way: Way = in_chunks) -> Comparison:
    """One case, the reference on disk against sftui, which prepares its rows in this way."""
    head, records = read_result(result_path(trainer, version, case))
    on_its_day(trainer, version, case)
    return judge(trainer, case, head, records, emulate(trainer, version, case, way=way))


def on_its_day(trainer: str, version: str, case: Case) -> None:
    """Let a trainer of which some template or tool format writes the day take that of the recording."""
    day, usual = date.fromtimestamp(result_path(trainer, version, case).stat().st_mtime), preset(trainer)
    for objective in ("sft", *trainer_named(trainer).objectives):
        behind = trainer_of(changed(usual, "loss.objective", objective))
        if isinstance(behind, (LlamaFactory, MsSwift)):
            behind.today = lambda: day


def judge(
    trainer: str, case: Case, head: Mapping[str, Any], records: Sequence[Mapping[str, Any]], ours: Emulated
) -> Comparison:
    """What a trainer made of a case against what sftui made of it."""
    found = Comparison(case.name)
    if head["error"] is not None:
        if any(record["kind"] == "refused" for record in records):
            _told_row_by_row(head["rows_in"], records, ours, found)
            return found
        found.refusal, found.total = True, 1
        found.equal = int(ours.refused is not None or bool(ours.problems) or not _trains(ours))
        made = [record for record in records if record["kind"] == "row"]
        if not found.equal and made:  # it stopped in its collator, after the rows were made: those are compared
            found.refusal = False
            _rows(head["rows_in"], made, ours, found)
        elif not found.equal:
            found.differences.append(
                f"{trainer} stops with {head['error']['type']}: {head['error']['message'][:200]}; sftui does not"
            )
        return found
    if ours.refused is not None:
        found.total = head["rows_in"]
        found.differences.append(f"sftui refuses the case: {ours.refused}")
        return found
    packs = [record for record in records if record["kind"] == "pack"]
    if packs:
        _packs(packs, ours, found)
    else:
        _rows(head["rows_in"], [record for record in records if record["kind"] == "row"], ours, found)
    batches = [record for record in records if record["kind"] == "batch"]
    if ours.recipe is not None and ours.recipe.pack.strategy == "multipack":
        found.differences += _multipack(
            [record for record in records if record["kind"] == "row"], batches, case, ours, found
        )
    else:
        found.differences += _batches(trainer, batches, packs, ours, found)
    return found


def _trains(ours: Emulated) -> bool:
    """Whether sftui has anything that trains; no row of no ids is one where rows are packed."""
    packs = ours.recipe is not None and ours.recipe.pack.strategy != "none"
    return bool(ours.packs) or any(one.input_ids or not packs for made in ours.rows.values() for one in made)


def _multipack(
    rows: Sequence[Mapping[str, Any]],
    batches: Sequence[Mapping[str, Any]],
    case: Case,
    ours: Emulated,
    found: Comparison,
) -> Iterator[str]:
    """Axolotl's bins of the rows in the order in which its dataset has them, and each batch made of them."""
    assert ours.recipe is not None and ours.tools is not None
    behind = trainer_named("axolotl")
    left = {row: list(made) for row, made in ours.rows.items()}
    examples, names = [], []
    for record in rows:
        pieces = left.get(record["row"], [])
        place = next((i for i, one in enumerate(pieces) if list(one.input_ids) == record["input_ids"]), None)
        if place is None:
            return  # a row that differs was told before
        examples.append(pieces.pop(place))
        names.append(record["row"])
    packs = list(behind.pack(examples, ours.recipe, ours.tools))
    size = behind.packs_in_a_batch(ours.recipe)
    packs = packs[: len(packs) // size * size]
    bins = [[names[i] for i, _, _ in pack.documents] for pack in packs]
    at = 0
    for number, batch in enumerate(batches):
        theirs, start = [], 0
        for count in batch["bins"]:
            theirs.append(batch["rows"][start : start + count])
            start += count
        mine = packs[at : at + len(theirs)]
        if bins[at : at + len(theirs)] != theirs:
            yield f"batch {number}: the bins differ: the trainer has {theirs[:2]}, sftui {bins[at : at + 2]}"
            return
        at += len(theirs)
        yield from _rectangle(number, batch, behind.collate_packs(mine, ours.recipe, ours.tools))
        found.batches += 1
        found.packs += len(theirs)
    if case.batch.get("count", 0) >= ALL_BATCHES and at != len(packs):
        yield f"the trainer makes {at} packs, sftui {len(packs)}"


def _rows(count: int, records: Sequence[Mapping[str, Any]], ours: Emulated, found: Comparison) -> None:
    mine = {row: [piece(example) for example in made] for row, made in ours.rows.items()}
    different = row_differences(count, records, mine, ours.problems)
    found.total, found.equal, found.made = count, count - len(different), _made(records)
    found.differences += [difference.sentence() for difference in different]


def _made(records: Sequence[Mapping[str, Any]]) -> int:
    """How many rows a trainer made samples of, each of them one or several."""
    return len({record["row"] for record in records if record["kind"] == "row"})


def _told_row_by_row(count: int, records: Sequence[Mapping[str, Any]], ours: Emulated, found: Comparison) -> None:
    """Rows of a trainer that says at which of them it stops: sftui must stop at those and at no others."""
    stopped = {record["row"]: record["error"] for record in records if record["kind"] == "refused"}
    mine = {row: [piece(example) for example in made] for row, made in ours.rows.items() if row not in stopped}
    problems = {row: problem for row, problem in ours.problems.items() if row not in stopped}
    different = [one.sentence() for one in row_differences(count, records, mine, problems) if one.row not in stopped]
    different += [
        f"row {row}: the trainer stops at it ({error[:120]}), sftui does not"
        for row, error in stopped.items()
        if row not in ours.problems and ours.refused is None
    ]
    found.total, found.equal, found.stopped = count, count - len(different), len(stopped)
    found.made = _made(records)
    found.differences += different


def _packs(packs: Sequence[Mapping[str, Any]], ours: Emulated, found: Comparison) -> None:
    different = pack_differences(packs, [piece(pack) for pack in ours.packs])
    found.total, found.equal, found.made = len(packs), len(packs) - len(different), len(packs)
    found.differences += [difference.sentence() for difference in different]
    for number, (theirs, mine) in enumerate(zip(packs, ours.packs)):
        for name in ("position_ids", "attention_mask"):
            values = getattr(mine, name)
            if name in theirs and values is not None and list(values) != theirs[name]:
                found.differences.append(f"pack {number}: {name} differ")
        lengths = [*(mine.seq_lens or (end - start for _, start, end in mine.documents))]
        if lengths != theirs.get("seq_lengths", lengths):
            found.differences.append(f"pack {number}: the lengths of documents differ")
    found.packs = len(packs)
    found.differences += [f"row {row}: sftui stops: {problem}" for row, problem in ours.problems.items()]


def _batches(
    trainer: str, batches: Sequence[Mapping[str, Any]], packs: Sequence[Any], ours: Emulated, found: Comparison
) -> Iterator[str]:
    """Differences between the trainer's first batches and sftui's of the same rows."""
    if ours.recipe is None or ours.tools is None:
        return
    behind, done = trainer_of(ours.recipe), 0
    examples = [one for _, made in sorted(ours.rows.items()) for one in made]
    for number, batch in enumerate(batches):
        size = len(batch["rows"])
        try:
            if packs:
                mine = behind.collate_packs(ours.packs[done : done + size], ours.recipe, ours.tools)
            elif ours.recipe.paired:
                sides = [(r, one) for r in batch["rows"] for one in ours.rows.get(r, ())]
                mine = behind.collate([one for _, one in sides], [r for r, _ in sides], ours.recipe, ours.tools)
            elif all(len(ours.rows.get(r, ())) == 1 for r in batch["rows"]):
                mine = behind.collate([ours.rows[r][0] for r in batch["rows"]], batch["rows"], ours.recipe, ours.tools)
            elif "loss_weights" in batch:  # a row may give several examples, in their order
                mine = behind.collate(examples[done : done + size], batch["rows"], ours.recipe, ours.tools)
            else:
                return
        except SftuiError as error:
            yield f"batch {number}: sftui stops: {error}"
            return
        done += size
        yield from _rectangle(number, batch, mine)
        found.batches += 1


def _sees(documents: Sequence[int]) -> list[list[int]]:
    """What each position sees where documents are told by a mask of every position against every other."""
    first = [documents.index(one) for one in documents]
    return [[at, place, place - at + 1] if documents[place] else [] for place, at in enumerate(first)]


def _rectangle(number: int, batch: Mapping[str, Any], mine: Batch) -> Iterator[str]:
    """What differs in one batch."""
    seen = None if mine.documents is None else [_sees(row) for row in mine.documents]
    if seen != batch.get("seen"):
        yield f"batch {number}: what a position sees differs"
    weights = None if mine.weights is None else [list(row) for row in mine.weights]
    pairs = zip(weights or (), batch.get("loss_weights", ()))
    if (weights is None) != ("loss_weights" not in batch) or any(
        parting(ours, theirs, weights=True) is not None for ours, theirs in pairs
    ):
        yield f"batch {number}: loss_weights differ"
    partners = {name[3:]: values for name, values in batch.items() if name.startswith("KL_")}
    if (mine.partners is None) != (not partners):
        yield f"batch {number}: KL partners differ"
    elif mine.partners is not None:
        yield from _rectangle(number, partners, mine.partners)
    for name in ("input_ids", "labels", "attention_mask", "position_ids"):
        got = getattr(mine, name)
        if name in batch and (got is None or [list(row) for row in got] != batch[name]):
            yield f"batch {number}: {name} differ"
        if name == "attention_mask" and name not in batch and f"{name}_shape" not in batch and got is not None:
            yield f"batch {number}: sftui makes an attention mask, the trainer none"


def asked(arguments: Sequence[str] | None, description: str | None) -> tuple[argparse.Namespace, str, str, list[Case]]:
    """The options of a command line, its trainer and version, and the cases that it names."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("trainer", help="trainer or trainer@version")
    parser.add_argument("cases", nargs="*")
    for name, text in rounds.ROUNDS.items():
        parser.add_argument(f"--{name}", action="store_const", dest="round", const=name, help=text)
    parser.add_argument("--show", type=int, default=3, help="differences shown a case")
    options = parser.parse_args(arguments)
    trainer, version = environments.split(options.trainer)
    table = rounds.cases(trainer, options.round) if options.round else cases_of(trainer)
    cases = [c for c in table if (not options.cases or c.name in options.cases) and c.asked_of(trainer, version)]
    return options, trainer, version, cases


def main(arguments: Sequence[str] | None = None) -> int:
    options, trainer, version, cases = asked(arguments, __doc__)
    missing = [case for case in cases if not recorder.current(trainer, version, case)]
    if missing:
        recorder.record(trainer, version, missing)
    bad, totals = 0, Totals()
    for case in cases:
        one = compare(trainer, version, case)
        totals.add(case, one)
        bad += bool(one.differences)
        print(
            f"{'ok  ' if not one.differences else 'DIFF'} {case.name:42} {one.equal} of"
            f" {one.total}{' (refused by both)' if one.refusal and one.equal else ''}"
            f"{f', {one.stopped} of them stop both' if one.stopped else ''}",
            flush=True,
        )
        for difference in one.differences[: options.show]:
            print(f"       {difference}")
    print(f"{trainer} {version}: {totals}, {bad} of {len(cases)} cases with differences")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
