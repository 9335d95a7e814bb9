"""Which change of the recipe would train a token that is masked, or mask one that is trained: found by trying.

No table says which knob decides a label under which trainer: every knob that the trainer can express is changed, the
row is prepared anew, and a change counts only where the label of that very token turns over.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sftui.comparison import compare_row
from sftui.comparison.rows import RowSide
from sftui.errors import SftuiError
from sftui.model import IGNORE_INDEX, NOWHERE, Inspection, RecipeChange
from sftui.recipe import Recipe, changed, diff, knobs_of
from sftui.session.opened import OpenData
from sftui.session.ready import Ready, under, waits
from sftui.trainers import trainer_named
from sftui.trainers.own_config import losses_of, other_choices

DECIDING = ("mask", "own", "length", "loss")
"""The sections of a recipe in which a knob may decide a label and leave the ids as they are."""
DATA_FLAGS = ("train_flag", "train_detail", "weight")
"""Keys of a message by which the data decides; they may be left unread."""


@dataclass(frozen=True, slots=True)
class LabelFlip:
    """Changes that turn the label of a token over, tried on its row: `recipe` has them, `tokens` of the row are then
    trained otherwise, and `keys` are those of the trainer's own config with what they say then, None for one that
    goes."""

    changes: tuple[RecipeChange, ...]
    recipe: Recipe
    tokens: int
    keys: tuple[tuple[str, Any], ...] = ()


class Decision(NamedTuple):
    """The ways to turn a token's label over, the smallest first, and the mask rules under which the row cannot be
    prepared, each with why."""

    ways: tuple[LabelFlip, ...] = ()
    failing: tuple[tuple[str, str], ...] = ()


def decide(session: Ready, index: int, token: int) -> Generator[None, None, Decision]:
    """Every change of one knob that turns the label of a token of a row over, the smallest first; of two knobs where
    no single one does. No way where nothing that the trainer can express does, and for a row that is set aside for
    evaluation or left out.

    The ids stay as they are, and a token is not masked at the price of a row of which nothing is trained. Yields after
    each recipe that was tried.
    """
    now = session.inspect(index)
    if now.tokens is None or now.labels is None or now.evaluates or now.row.left_out is not None:
        return Decision()
    if not 0 <= token < len(now.tokens):
        return Decision()
    recipe, failing = session.recipe, dict[str, str]()
    said = set(losses_of(recipe))
    singles = (changed(recipe, path, value) for path, value in _values(recipe, now, token))
    for alone, several in ((True, singles), (False, pairs(recipe))):
        found: list[LabelFlip] = []
        for other in several:
            if other == recipe or not said.issuperset(losses_of(other)):
                continue
            way = _tried(session, now, token, other)
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


def _values(recipe: Recipe, now: Inspection, token: int) -> Iterator[tuple[str, Any]]:
    """What one knob may be set to: a choice, a role more or less, the length that the row needs, a flag of the data
    that is not read."""
    for info in knobs_of(recipe):
        if info.path.partition(".")[0] in DECIDING:
            yield from ((info.path, choice) for choice in other_choices(recipe, info))
    role = _role(now, token)
    if role is not None:
        yield "mask.roles", toggled(recipe.mask.roles, role)
    if now.tokens is not None and recipe.length.max is not None and len(now.tokens) > recipe.length.max:
        yield "length.max", len(now.tokens)
    keys: Mapping[str, str] = recipe.data.message_keys
    for flag in DATA_FLAGS:
        if flag in keys:
            yield "data.message_keys", {name: key for name, key in keys.items() if name != flag}


def pairs(recipe: Recipe) -> Iterator[Recipe]:
    """The recipe with another mask rule and one more knob of the mask changed."""
    rules = next(info for info in knobs_of(recipe) if info.path == "mask.rule")
    for rule in other_choices(recipe, rules):
        first = changed(recipe, rules.path, rule)
        for info in knobs_of(first):
            if info.path.startswith("mask.") and info.path != rules.path:
                for choice in other_choices(first, info):
                    yield changed(first, info.path, choice)


def toggled(roles: tuple[str, ...], role: str) -> tuple[str, ...]:
    """The roles without one of them, or with one more."""
    return tuple(one for one in roles if one != role) if role in roles else (*roles, role)


def _role(now: Inspection, token: int) -> str | None:
    """The role of the message that a token belongs to."""
    if now.tokens is None or now.conversation is None:
        return None
    message = now.tokens.messages[token]
    messages = now.conversation.messages
    return messages[message].role if NOWHERE < message < len(messages) else None


def _tried(session: Ready, now: Inspection, token: int, recipe: Recipe) -> LabelFlip | str | None:
    """What a recipe changes in the row; None where the token's label does not turn over under it, and why where the row
    cannot be prepared."""
    try:
        opened: OpenData = under(session, recipe)
        if waits(opened):
            return None
        then = opened.ready().inspect_row(now.row)
    except SftuiError as error:
        return str(error)
    if then.problem is not None:
        return then.problem.sentence()
    if then.tokens is None or now.tokens is None or then.tokens.input_ids != now.tokens.input_ids:
        return None
    compared = compare_row([now, then])
    before, after = compared.sides
    trained = trains(before, token)
    if after.gone is not None or trains(after, token) == trained or (trained and not after.trained):
        return None
    if trained and after.labels[token] is None:
        return None  # it is cut away
    changes = diff(session.recipe, recipe)
    return LabelFlip(changes, recipe, compared.turned)


def trains(side: RowSide, token: int) -> bool:
    """Whether a token carries loss."""
    return side.gone is None and side.labels[token] not in (None, IGNORE_INDEX)


def keys_between(before: Recipe, after: Recipe) -> tuple[tuple[str, Any], ...]:
    """The keys of the trainer's config that say something else under another recipe, with what they say then; None for
    one that goes, or says null."""
    (old, _), (new, _) = (trainer_named(recipe.preset).keys_of(recipe) for recipe in (before, after))
    return tuple((key, new.get(key)) for key in dict.fromkeys((*old, *new)) if old.get(key) != new.get(key))
