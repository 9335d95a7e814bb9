"""Which change of the recipe would train a token that is masked, or mask one that is trained: found by trying.

No table says which knob decides a label under which trainer: every knob that the trainer can express is changed, the
row is prepared anew, and a change counts only where the label of that very token turns over.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from sftui.comparison.rows import RowSide, side_of, turned
from sftui.errors import SftuiError
from sftui.model import IGNORE_INDEX, Inspection
from sftui.recipe import Recipe, changed, diff
from sftui.session.candidates import pairs, single_knobs, with_role
from sftui.session.opened import OpenData
from sftui.session.ready import Ready, under, waits
from sftui.trainers.own_config import keys_between, losses_of
from sftui.views.knobs import LabelFlip


class Decision(NamedTuple):
    """The ways to turn a token's label over, the smallest first, and the mask rules under which the row cannot be
    prepared, each with why."""

    ways: tuple[LabelFlip, ...] = ()
    failing: tuple[tuple[str, str], ...] = ()


def decide(session: Ready, index: int, token: int) -> Generator[None, None, Decision]:
    """Every change of one knob that turns the label of a token of a row over, the smallest first; of two knobs where
    no single one does. No way where nothing that the trainer can express does, and for a row that is set aside for
    evaluation or left out.

    The tokens of a preference are numbered through, those of its chosen side first. The ids stay as they are, and a
    token is not masked at the price of a row of which nothing is trained. Yields after each recipe that was tried.
    """
    sides = session.inspect(index).alone
    side = int(len(sides) > 1 and token >= len(sides[0].tokens or ()))
    now, token = sides[side], token - side * len(sides[0].tokens or ())
    if now.labels is None or now.evaluates or now.row.left_out is not None or not 0 <= token < len(now.tokens or ()):
        return Decision()
    recipe, failing, before = session.recipe, dict[str, str](), side_of(now, now.evaluates)
    said = set(losses_of(recipe))
    knobs = chain(single_knobs(recipe, [now]), with_role(recipe, now, token))
    singles = (changed(recipe, path, value) for path, value in knobs)
    with session.tokenizer.remembering():
        for alone, several in ((True, singles), (False, pairs(recipe))):
            found: list[LabelFlip] = []
            for other in several:
                if other == recipe or not said.issuperset(losses_of(other)):
                    continue
                way = _tried(session, now, side, before, token, other)
                if isinstance(way, LabelFlip):
                    found.append(replace(way, keys=keys_between(recipe, other)))
                elif alone and way and other.mask.rule != recipe.mask.rule:
                    failing.setdefault(other.mask.rule, way)
                yield None
            if found:
                return Decision(_distinct(sorted(found, key=lambda one: one.tokens)))
    return Decision(failing=tuple(failing.items()))


def _distinct(found: Sequence[LabelFlip]) -> tuple[LabelFlip, ...]:
    """Without those that say the same to the trainer as one before."""
    kept: list[LabelFlip] = []
    for way in found:
        if not way.keys or way.keys not in [flip.keys for flip in kept]:
            kept.append(way)
    return tuple(kept)


def _tried(
    session: Ready, now: Inspection, side: int, before: RowSide, token: int, recipe: Recipe
) -> LabelFlip | str | None:
    """What a recipe changes in the row, so far `before`; None where the token's label does not turn over under it, and
    why where the row cannot be prepared."""
    try:
        opened: OpenData = under(session, recipe)
        if waits(opened):
            return None
        then = opened.ready().inspect_row(now.row, spans=False)
    except SftuiError as error:
        return str(error)
    if then.problem is not None:
        return then.problem.sentence()
    then = then.alone[side if then.rejected is not None else 0]
    if then.tokens is None or now.tokens is None or then.tokens.input_ids != now.tokens.input_ids:
        return None
    after = side_of(then, then.evaluates)
    trained = trains(before, token)
    if after.gone is not None or trains(after, token) == trained or (trained and not after.trained):
        return None
    if trained and after.labels[token] is None:
        return None  # it is cut away
    return LabelFlip(diff(session.recipe, recipe), recipe, turned(before, after))


def trains(side: RowSide, token: int) -> bool:
    """Whether a token carries loss."""
    return side.gone is None and side.labels[token] not in (None, IGNORE_INDEX)
