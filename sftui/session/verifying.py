"""sftui against the real, installed trainer: the same rows through both, and where they differ."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sftui.errors import SftuiError
from sftui.exports.plan import facts_of
from sftui.model import IGNORE_INDEX, Example, Inspection, Pack
from sftui.pipeline import pack_rows
from sftui.recipe import Recipe
from sftui.session.ready import Ready, stood_in
from sftui.text import many, visible_token
from sftui.tokens import LoadedTokenizer
from sftui.trainers import Toolbox, trainer_of
from sftui.trainers.base import Totals
from sftui.trainers.config import WrittenConfig
from sftui.trainers.own_config import write_config
from sftui.trainers.training import stand_ins
from sftui.trainers.traits import Quirk
from sftui.trainers.verify.difference import DifferenceKind, Piece, RowDifference, pack_differences, row_differences
from sftui.trainers.verify.request import make_request

RunnerAnswer = tuple[dict[str, Any], list[dict[str, Any]]]
"""The head and the records of what a trainer's runner made."""
Ask = Callable[[Mapping[str, Any]], RunnerAnswer]
"""A request to a trainer's runner, and its answer."""

ELSEWHERE = ("ModuleNotFoundError", "ImportError", "MemoryError", "RunnerDied", "OutOfMemoryError")
"""Errors that say something of the environment and nothing of the rows."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What sftui says of some rows, by their place: examples, packs, and the rows at which it stops."""

    examples: Mapping[int, tuple[Example, ...]] = field(default_factory=dict)
    packs: tuple[Pack, ...] = ()
    problems: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verification:
    """The outcome: `units` (rows or packs) compared, what differs, in sentences too, and what is to be known.

    `refused`: the trainer stops with an error at these rows, as sftui says it does. `made`: how many packs the trainer
    and sftui make, where these are not as many; `units` is then the larger number, since what only one side makes is
    compared, too.
    """

    units: int
    unit: str
    differences: tuple[RowDifference, ...]
    sentences: tuple[str, ...]
    versions: Mapping[str, str]
    notes: tuple[str, ...] = ()
    refused: str | None = None
    made: tuple[int, int] | None = None


def verify(session: Ready, numbers: Sequence[int], ask: Ask) -> Verification:
    """Rows of an open session through the real trainer; SftuiError where it could not do its work.

    `numbers` are dataset row numbers; rows that cannot be read are left out and reported in the notes.
    """
    rows = [session.row(number) for number in numbers]
    readable = [row for row in rows if row.data is not None]
    lost = len(rows) - len(readable)
    notes = [f"{many(lost, 'row')} cannot be read and {'is' if lost == 1 else 'are'} left out"] if lost else []
    if not readable:
        raise SftuiError("there are no rows to verify")
    inspections = [session.inspect_row(row, spans=False) for row in readable]
    with tempfile.TemporaryDirectory(prefix="sftui-verify-") as folder:
        request, losses = _request(session, [dict(row.data or {}) for row in readable], Path(folder))
        head, records = ask(request)
    notes += losses
    expected = through(inspections, session.recipe, session.tools)
    if head["error"] is not None:
        return _stopped(head, expected, inspections, tuple(notes), session.recipe)
    packs = [record for record in records if record["kind"] == "pack"]
    made = (len(packs), len(expected.packs))
    if packs or (expected.packs and not records):
        found = pack_differences(packs, [piece(pack) for pack in expected.packs])
        units, unit = max(made), "pack"
    else:
        mine = {place: [piece(example) for example in made] for place, made in expected.examples.items()}
        found = row_differences(len(readable), records, mine, expected.problems)
        units, unit = len(readable), "row"
    sentences = tuple(_in_words(difference, inspections, session.tools.tokenizer) for difference in found)
    differ = made if unit == "pack" and made[0] != made[1] else None
    return Verification(units, unit, tuple(found), sentences, head.get("versions", {}), tuple(notes), made=differ)


def through(inspections: Iterable[Inspection], recipe: Recipe, tools: Toolbox) -> Expectation:
    """Inspections as what reaches the trainer, by their place, packed where the trainer packs while it prepares. A row
    whose place another takes that stops the trainer stops it, too."""
    rows, trainer = tuple(inspections), trainer_of(recipe)
    examples: dict[int, tuple[Example, ...]] = {}
    problems: dict[int, str] = {}
    reached = (row.problem for row in rows if row.problem is not None or row.example is not None)
    following = next(reached, None)  # behind the last row comes the first
    for place, inspection in reversed([*enumerate(rows)]):
        if inspection.example is not None:
            examples[place] = inspection.examples
        if inspection.problem is not None or inspection.example is not None:
            following = inspection.problem
        if following is not None and (inspection.problem is not None or trainer.takes_next(inspection)):
            problems[place] = following.sentence()
    packs: tuple[Pack, ...] = ()
    if recipe.pack.strategy not in ("none", "multipack"):  # multipack packs while it samples batches
        packs = tuple(pack_rows(stood_in(rows, recipe), recipe, tools))
    return Expectation(dict(sorted(examples.items())), packs, dict(sorted(problems.items())))


def piece(made: Example | Pack) -> Piece:
    """Ids, labels and weights as the trainer's records hold them."""
    return list(made.input_ids), list(made.labels), [] if made.weights is None else list(made.weights)


def _request(session: Ready, rows: Sequence[Mapping[str, Any]], work: Path) -> tuple[dict[str, Any], list[str]]:
    recipe, prepared = session.recipe, session.prepared()
    trainer, opened = trainer_of(recipe), session.options.config
    number = 0 if opened is None else opened.chosen
    if opened is not None and opened.trainer != trainer.name:
        opened = None
    facts = replace(facts_of(recipe, prepared, opened), source=None, given=stand_ins(recipe))
    written = write_config(recipe, opened, facts)
    data_file = trainer.traits.data_file
    if opened is not None and data_file:
        info = [file for file in write_config(recipe, None, facts).files if file.name == data_file]
        written = WrittenConfig(
            (*(file for file in written.files if file.name != data_file), *info), written.losses, written.notes
        )
    own = recipe.render.template.startswith((f"{trainer.name}/", "tokenizer"))
    source = prepared.template_source if Quirk.TEMPLATE_BY_SCRIPT in trainer.traits.quirks else facts.template_source
    request = make_request(
        recipe, written, rows, work, template=None if own else source, dataset=number, here=Path.cwd()
    )
    held = trainer.held_out(recipe)
    if held is not None:  # all of the rows that are verified are prepared, not those alone that would be trained
        request["config"] = {**request.get("config", {}), **held.undone}
    return request, [f"the config does not say: {loss}" for loss in written.losses]


def _stopped(
    head: Mapping[str, Any],
    expected: Expectation,
    inspections: Sequence[Inspection],
    notes: tuple[str, ...],
    recipe: Recipe,
) -> Verification:
    """The trainer raised: as sftui says of a row or since it drops every one, or SftuiError."""
    error = head["error"]
    message = " ".join(str(error["message"]).split())[:400]
    what = f"{head.get('trainer', 'the trainer')} fails with {error['type']}: {message}"
    said = None
    if expected.problems:
        place, problem = next(iter(expected.problems.items()))
        said = f" of row {inspections[place].row.index}: {problem}"
    elif not expected.examples:
        tokens = sum(len(inspection.tokens or ()) for inspection in inspections)
        stop = trainer_of(recipe).stop_of(recipe, Totals(len(inspections), tokens))
        said = stop and f": {stop}"
    if said is not None and error["type"] not in ELSEWHERE:
        return Verification(
            len(inspections), "row", (), (), head.get("versions", {}), notes, f"{what}; sftui says{said}"
        )
    unexpected = "the run raised an error that sftui did not expect for these rows"
    why = "its environment is not complete" if error["type"] in ELSEWHERE else unexpected
    raise SftuiError(what, why=why, fix="--debug shows its output")


def _in_words(found: RowDifference, inspections: Sequence[Inspection], tokenizer: LoadedTokenizer) -> str:
    """A difference with the row's own number, the token as text, and both labels in words."""
    if found.unit != "row":
        return found.sentence()
    inspection = inspections[found.row]
    where = f"row {inspection.row.index}"
    if found.what not in (DifferenceKind.IDS, DifferenceKind.LABELS, DifferenceKind.WEIGHTS) or found.position is None:
        return found.sentence().replace(f"row {found.row}", where, 1)
    token = _token(inspection, found.position, tokenizer) if not found.piece else f" of piece {found.piece}"
    at = f"{where}, token {found.position}{token}"
    if found.what is DifferenceKind.IDS:
        return f"{at}: the trainer has ids {list(found.theirs)}, sftui {list(found.ours)}"
    if found.what is DifferenceKind.WEIGHTS:
        return f"{at}: the trainer {_weight(found.theirs)}, sftui {_weight(found.ours)}"
    return f"{at}: the trainer {_label(found.theirs)}, sftui {_label(found.ours)}"


def _label(labels: Sequence[float]) -> str:
    if not labels:
        return "has no more labels"
    return "masks it (-100)" if labels[0] == IGNORE_INDEX else f"trains it (label {labels[0]})"


def _weight(weights: Sequence[float]) -> str:
    return f"weighs it {weights[0]}" if weights else "has no loss weight for it"


def _token(inspection: Inspection, position: int, tokenizer: LoadedTokenizer) -> str:
    """What the token at a position of the example stands for."""
    tokens, labels = inspection.tokens, inspection.labels
    if tokens is None or labels is None:
        return ""
    kept = [i for start, end in labels.kept for i in range(start, end)]
    if position >= len(kept):
        return ""
    token = tokens.input_ids[kept[position]]
    return f" `{visible_token(tokenizer.surface(token), tokenizer.piece(token))}`"
